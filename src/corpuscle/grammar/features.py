"""Features of nodes: what their own tree looks like (inside), and what is around it (outside).

A feature is a template with a value, seen at nodes of one label. Inside: the ``left`` and the ``right`` child; the
``rule``; the rule with the rule or word at its left (``rule-left``) or right child; the tag of the ``head``; the
``width``. Of tags the ``word`` (or what it looks like, if it is rare) and its last letters (``suffix``). Outside: the
rule ``above`` with the node marked, with the one above that (``two-above``) and a third; the labels of ``parent`` and
``grandparent``; the tag of the first other ``head`` on the way up; the ``widths`` to both sides; the word ``before``
and ``after``. Nothing of a node's own tree is outside of it.

Cohen, Stratos, Collins, Foster and Ungar, "Experiments with spectral learning of latent-variable PCFGs", 2013,
section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpuscle.errors import SettingError
from corpuscle.grammar.tables import Counted

_BUCKETS = np.array([0, 1, 2, 3, 4, 5, 7, 11, 21])


def _bucket(numbers: np.ndarray) -> np.ndarray:
    return np.searchsorted(_BUCKETS, numbers, "right")


def _joined(*values: np.ndarray) -> np.ndarray:
    """One number for each combination of values, int64; -1 where one of them is -1."""
    result = values[0].astype(np.int64)
    for more in values[1:]:
        missing = (result < 0) | (more < 0)
        _, here = np.unique(result, return_inverse=True)
        width = int(more.max(initial=0)) + 1
        result = np.where(missing, -1, here.ravel().astype(np.int64) * width + more)
    return result


def inside_values(
    counted: Counted, heads: np.ndarray, words: np.ndarray, suffixes: np.ndarray
) -> dict[str, np.ndarray]:
    """Template -> the value of each node, int64 (n_nodes,), -1 for none. ``heads``: the tag of the head of each node;
    ``words``: entries of tags' words; ``suffixes``: numbers of their last letters."""
    nodes, rules = counted.nodes, counted.rules
    phrase = rules >= 0
    left, right = (np.where(phrase, nodes.symbols[child], -1) for child in (nodes.lefts, nodes.rights))
    content = np.where(phrase, rules, rules.max(initial=0) + 1 + words)
    at_left, at_right = (np.where(phrase, content[child], -1) for child in (nodes.lefts, nodes.rights))
    return {
        "left": left, "right": right, "rule": rules, "rule-left": _joined(rules, at_left),
        "rule-right": _joined(rules, at_right), "head": np.where(phrase, heads, -1),
        "width": np.where(phrase, _bucket(nodes.spans[:, 1] - nodes.spans[:, 0]), -1),
        "word": np.where(phrase, -1, words), "suffix": np.where(phrase, -1, suffixes),
    }  # fmt: skip


def outside_values(
    counted: Counted, heads: np.ndarray, head_words: np.ndarray, lengths: np.ndarray, entries: np.ndarray
) -> dict[str, np.ndarray]:
    """Template -> the value of each node, int64 (n_nodes,). ``heads``, ``head_words``: tag and number of the head of
    each node; ``lengths``: of the sentence of each node; ``entries``: of all words."""
    nodes, rules = counted.nodes, counted.rules
    up, root = np.maximum(nodes.parents, 0), nodes.parents < 0
    none = int(rules.max(initial=0)) + 1
    side = np.where(root, 2, nodes.lefts[up] == np.arange(len(up)))
    above = np.where(root, none * 3, rules[up] * 3 + side)
    top = int(nodes.symbols.max(initial=0)) + 1
    parent = np.where(root, top, nodes.symbols[up])
    two = _joined(above, above[up])
    other = np.full(len(up), int(heads.max(initial=0)) + 1)
    climbing = up.copy()
    waiting = ~root
    while waiting.any():
        differs = waiting & (head_words[climbing] != head_words)
        other[differs] = heads[climbing[differs]]
        waiting &= ~differs & (nodes.parents[climbing] >= 0)
        climbing = np.where(waiting, np.maximum(nodes.parents[climbing], 0), climbing)
    first, end = nodes.spans[:, 0], nodes.spans[:, 1]
    begin = head_begin(counted, lengths)
    edge = int(entries.max(initial=0)) + 1
    before = np.where(first > 0, entries[np.maximum(begin + first - 1, 0)], edge)
    after = np.where(end < lengths, entries[np.minimum(begin + end, len(entries) - 1)], edge)
    return {
        "above": above, "two-above": two, "three-above": _joined(two, above[up[up]]), "parent": parent,
        "grandparent": _joined(parent, parent[up]), "head": other,
        "widths": _bucket(first) * 16 + _bucket(lengths - end), "before": before, "after": after,
    }  # fmt: skip


def head_begin(counted: Counted, lengths: np.ndarray) -> np.ndarray:
    """Where the sentence of each node begins among all words, int64 (n_nodes,)."""
    starts = counted.nodes.tree_starts
    of_tree = np.zeros(len(starts) - 1, np.int64)
    filled = np.diff(starts) > 0
    of_tree[filled] = lengths[starts[:-1][filled]]
    return np.repeat(np.cumsum(of_tree) - of_tree, np.diff(starts))


class NodesSeen(NamedTuple):
    """All nodes of the binary trees in preorder, for features of one's own: their ``labels``; ``parents``, ``lefts``
    and ``rights`` int64 (n_nodes,), nodes or -1; ``spans`` int64 (n_nodes, 2), their words among all ``words``;
    ``sentences`` int64 (n_nodes, 2), those of their sentence."""

    labels: list[str]
    parents: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    spans: np.ndarray
    sentences: np.ndarray
    words: list[str]


Features = Callable[[NodesSeen], Mapping[str, Sequence[str]]]
"""Name -> a value for each node, empty for none."""


def user_values(function: Features | None, nodes: NodesSeen) -> dict[str, np.ndarray]:
    """What a function of the user says, as numbers: int64 (n_nodes,), -1 for none."""
    found = {}
    for name, values in (function(nodes) if function else {}).items():
        if len(values) != len(nodes.labels):
            raise SettingError(f"the feature {name!r} has {len(values):,} values for {len(nodes.labels):,} nodes")
        _, numbers = np.unique(["", *values], return_inverse=True)
        found[f"user {name}"] = numbers.ravel()[1:].astype(np.int64) - 1
    return found


def feature_matrix(
    symbols: np.ndarray, values: dict[str, np.ndarray], names: tuple[str, ...], min_count: int
) -> csr_array:
    """Which node has which feature: 0 and 1, float64 (n_nodes, n_features), the first of which all nodes have."""
    rows, columns, count = [np.arange(len(symbols))], [np.zeros(len(symbols), np.int64)], 1
    for name in names:
        has = np.flatnonzero(values[name] >= 0)
        keys = _joined(symbols[has], values[name][has])
        _, number, counts = np.unique(keys, return_inverse=True, return_counts=True)
        number = number.ravel()
        keep = counts >= min_count
        places = np.cumsum(keep) - 1 + count
        chosen = keep[number]
        rows.append(has[chosen])
        columns.append(places[number[chosen]])
        count += int(keep.sum())
    where = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(where[0])), where), shape=(len(symbols), count))
