"""A map of words: those with like vectors stand near each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.figures.maps import Place, place_map
from corpuscle.text.vocab import FIRST
from corpuscle.words.vectors import WordVectors

__all__ = ["draw_map"]

FREQUENT, NEIGHBOURS = 100, 12


def draw_map(model: WordVectors, words: Sequence[str] = (), k: int | None = None, title: str = "") -> str:
    """An SVG of the ``k`` most frequent words (default: 100), or of given words and the ``k`` nearest of each (default:
    12), which share the colour of theirs; ``SettingError`` for a word of which nothing is known."""
    if not words:
        shown = [word for word in model.vocab_.strings[FIRST:] if model.vectors_of([word]).any()][: k or FREQUENT]
        groups = [0] * len(shown)
    else:
        found: dict[str, int] = dict.fromkeys((word for word in words), 0)
        for group, word in enumerate(found):
            found[word] = group
        for group, word in enumerate(list(found)):
            for near, _ in model.nearest(word, k or NEIGHBOURS):
                found.setdefault(near, group)
        shown, groups = list(found), list(found.values())
    places = model.coordinates(shown)
    size = max(1, int(model.vocab_.counts.max()))
    counts = model.vocab_.counts[model.vocab_.encode(map(model.spelled, shown))]
    given = set(words)
    points = [
        Place(word, float(x), float(y), group, f"{word}: {count:,} times in the text", word in given)
        for word, (x, y), group, count in zip(shown, places, groups, np.minimum(counts, size).tolist(), strict=True)
    ]
    return place_map(points, title=title or "Words by their vectors")
