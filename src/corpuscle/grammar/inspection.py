"""What there is to look at in a grammar: trees of short sentences, as pictures show them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corpuscle.figures import NodeShown
from corpuscle.grammar import Parsed, TreeMetric, trees_of
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees

Nodes = list[NodeShown]


def _nodes(trees: Trees, sure: np.ndarray | None = None) -> Nodes:
    values = [None] * trees.n_nodes if sure is None else [round(float(each), 3) for each in sure]
    rows = zip(trees.labels.strings(), trees.parents.tolist(), trees.spans.tolist(), values, strict=True)
    return [NodeShown(label, parent, first, end, value) for label, parent, (first, end), value in rows]


def in_trees(gold: Trees, found: Parsed, longest: int, most: int) -> list[tuple[list[str], Nodes, Nodes]]:
    """Short sentences, of at most the ``longest`` number of words, with the right tree and the one that was found: some
    with mistakes first."""
    right = gold.without_functions().without_root()
    lengths = right.words.lengths
    fitting = np.flatnonzero((lengths > 3) & (lengths <= longest))
    same = [np.array_equal(right[i : i + 1].spans, found.trees[i : i + 1].spans) for i in fitting.tolist()]
    chosen, starts = fitting[np.lexsort((fitting, np.array(same, bool)))][:most].tolist(), found.trees.tree_starts
    sure = (found.confidence[starts[i] : starts[i + 1]] for i in chosen)
    return [
        (right.words.words(i), _nodes(right[i : i + 1]), _nodes(found.trees[i : i + 1], each))
        for i, each in zip(chosen, sure, strict=True)
    ]


def surest(model: TreeMetric, bank: Treebank, most: int) -> list[tuple[list[str], Nodes]]:
    """The surest of the short sentences, with their trees."""
    lengths = model.sentences(bank).lengths
    short = bank.select((lengths >= 5) & (lengths <= 9))
    if len(short) == 0:
        return []
    trees, sure = trees_of(model.sentences(short), model.brackets(short, confidence=True))
    starts = trees.tree_starts
    inner = trees.spans[:, 1] - trees.spans[:, 0] > 1
    means = np.array([float(sure[a:b][inner[a:b]].mean()) for a, b in pairwise(starts.tolist())])
    rows = []
    for i in np.argsort(-means, kind="stable")[:most].tolist():
        nodes = _nodes(trees[i : i + 1], sure[starts[i] : starts[i + 1]])
        shown = [node._replace(label="") if node.label == "W" else node for node in nodes]
        rows.append((trees.words.words(i), shown))
    return rows
