"""A map of words: those with like vectors stand near each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.figures.maps import Place, place_map
from corpuscle.text.scripts import isolated
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.words.vectors import WordVectors

__all__ = ["draw_map", "map_shown"]

FREQUENT, NEIGHBOURS = 100, 12


def map_shown(model: WordVectors, words: Sequence[str] = (), k: int | None = None) -> list[Place]:
    """The points of a map: the ``k`` most frequent words (default: 100), or given words and the ``k`` nearest of each
    (default: 12), which share the colour of theirs; ``SettingError`` for a word of which nothing is known."""
    given = list(dict.fromkeys(words))
    found = {word: group for group, word in enumerate(given)}
    for group, word in enumerate(given):
        for near, _ in model.nearest(word, k or NEIGHBOURS):
            found.setdefault(near, group)
    if not given:
        ids = np.flatnonzero(model.vectors_.any(axis=1))
        found = dict.fromkeys(model.vocab_.decode(ids[ids >= FIRST][: k or FREQUENT]), 0)
    shown = list(found)
    ids = model.vocab_.encode(map(model.spelled, shown))
    counts = np.where(ids == UNKNOWN, 0, model.vocab_.counts[ids])
    return [
        Place(word, float(x), float(y), group, f"{isolated(word)}: {count:,} times in the text", word in given)
        for (word, group), (x, y), count in zip(found.items(), model.coordinates(shown), counts, strict=True)
    ]


def draw_map(model: WordVectors, words: Sequence[str] = (), k: int | None = None, title: str = "") -> str:
    """An SVG of the words of ``map_shown``."""
    return place_map(map_shown(model, words, k), title=title or "Words by their vectors")
