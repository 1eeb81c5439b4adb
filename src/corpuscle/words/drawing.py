"""The class tree of a model as a picture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corpuscle.figures import LeafShown, merge_tree
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import clip
from corpuscle.words.classes import WordClasses

__all__ = ["draw_tree", "tree_shown"]


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
