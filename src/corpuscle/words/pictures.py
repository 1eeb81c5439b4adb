"""Pictures of words: the class tree of a model, and a map on which words with like vectors stand near each other.

Classical scaling finds points in a plane, given nothing but the distances between them. If D holds Euclidean distances,
B = -1/2 J D^2 J with J = I - 11'/n holds the inner products of the points around their mean, whose coordinates are the
eigenvectors of B times the square roots of its eigenvalues. The first two are the plane that keeps most. It is exact
where the points lie in a plane, and there is no chance in it.

Torgerson, "Multidimensional scaling: I. Theory and method", 1952.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from corpuscle.figures import LeafShown, merge_tree
from corpuscle.figures.maps import Place, place_map
from corpuscle.text.scripts import isolated
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip
from corpuscle.words.classes import WordClasses
from corpuscle.words.vectors import WordVectors


def tree_shown(model: WordClasses, k: int = 10) -> dict[str, Any]:
    """The arguments of ``merge_tree`` for all classes of a model, with ``k`` words each, as plain data."""
    tree, counts = model.class_tree(), model.class_counts_
    left = model.mutual_information_ - np.cumsum([0.0, *tree.losses])
    leaves = []
    for number, path in enumerate(tree.paths):
        words = [clip(word) for word, _ in model.words_of(number, k)]
        tip = f"class {number}, {counts[number]:,} tokens: {' '.join(map(isolated, words))}"
        leaves.append((path, words, tip))
    return {"leaves": leaves, "merges": tree.merges.tolist(), "values": (left / math.log(2)).tolist()}


def draw_tree(model: WordClasses, k: int = 10) -> str:
    """The class tree as an SVG element, with the ``k`` most frequent words of each class."""
    shown = tree_shown(model, k)
    leaves = [LeafShown(*leaf) for leaf in shown.pop("leaves")]
    return merge_tree(leaves, **shown)


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


def classical_scaling(distances: np.ndarray, dimensions: int = 2) -> tuple[np.ndarray, float]:
    """Coordinates of points with the given distances (n, n), float64 (n, dimensions), and which share of the squared
    distances they keep; the coordinate furthest from 0 on each axis is positive."""
    squares = np.asarray(distances, np.float64) ** 2
    inner = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(inner)
    order = np.argsort(-values, kind="stable")[:dimensions]
    kept = np.maximum(values[order], 0.0)
    places = np.zeros((len(squares), dimensions))
    places[:, : len(order)] = vectors[:, order] * np.sqrt(kept)
    furthest = np.abs(places).argmax(axis=0)
    places *= np.where(places[furthest, np.arange(dimensions)] < 0, -1.0, 1.0)
    total = np.maximum(values, 0.0).sum()
    return places, float(kept.sum() / total) if total > 0 else 1.0
