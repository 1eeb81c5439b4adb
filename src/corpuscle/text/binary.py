"""Binary trees and back: what parsers with binary rules need of a treebank, and exact inverses.

``binarise`` factors a node with more than two children. To the right, ``A -> B C D`` becomes ``A -> B @A|B`` and
``@A|B -> C D``: the new node remembers its label and the ``horizontal`` siblings generated last (none by default, so
its label is ``@A``). With ``vertical`` = 2 a phrase remembers its parent, ``A^P``, with 3 its grandparent too,
``A^P^G``. Pre-terminals are left alone. (Johnson 1998; Klein and Manning 2003.)

``collapse_unaries`` makes one node of a chain: ``A`` over ``B`` becomes ``A+B``.

Marks that occur in labels are escaped with a backslash, so ``unbinarise(binarise(t))`` and
``expand_unaries(collapse_unaries(t))`` are t for all trees.
"""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.text.corpus import starts_of
from corpuscle.text.layers import Layer
from corpuscle.text.trees import Trees

_MARKS = "@|^"


def _escape(label: str, marks: str) -> str:
    return re.sub(f"[{re.escape(marks)}\\\\]", r"\\\g<0>", label)


def _unescape(label: str) -> str:
    return re.sub(r"\\(.)", r"\1", label, flags=re.DOTALL)


def _split(label: str, mark: str) -> list[str]:
    """The parts between marks that are not escaped; the parts stay escaped."""
    parts, begin, position = [], 0, 0
    while position < len(label):
        if label[position] == "\\":
            position += 1
        elif label[position] == mark:
            parts.append(label[begin:position])
            begin = position + 1
        position += 1
    return [*parts, label[begin:]]


def binarise(trees: Trees, side: str = "right", horizontal: int | None = 0, vertical: int = 1) -> Trees:
    """Trees whose nodes have at most two children.

    ``side`` is where the rest goes: ``right`` splits off the first child, ``left`` the last. ``horizontal`` is how many
    siblings a new node remembers, None for all; ``vertical`` how many levels a phrase knows, itself included.
    """
    if side not in ("left", "right"):
        raise SettingError(f"side is 'left' or 'right', not {side!r}")
    if (horizontal is not None and horizontal < 0) or vertical < 1:
        raise SettingError("horizontal is at least 0 (or None), vertical at least 1")
    return _Binariser(trees, side, horizontal, vertical).run()


class _Binariser:
    """Walks through all trees with a stack of its own, and writes the nodes of the binary trees in preorder."""

    def __init__(self, trees: Trees, side: str, horizontal: int | None, vertical: int):
        self.trees, self.right, self.horizontal = trees, side == "right", horizontal
        escaped = [_escape(label, _MARKS) for label in trees.labels.values]
        self.names = [escaped[id] for id in trees.labels.ids.tolist()]
        self.phrases = self._with_ancestors(vertical)
        starts, items = trees.children
        self.starts, self.items = starts.tolist(), items.tolist()
        self.spans = trees.spans.tolist()
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.new_spans: list[tuple[int, int]] = []
        self.word_parents = [0] * len(trees.word_parents)
        self.offsets = (-np.repeat(trees.words.sentence_starts[:-1], trees.words.lengths)).tolist()

    def _with_ancestors(self, vertical: int) -> list[str]:
        """The names of nodes with those of their ancestors; pre-terminals without."""
        names, parents = list(self.names), self.trees._node_parents.tolist()
        if vertical == 1:
            return names
        for node in np.flatnonzero(~self.trees.preterminals).tolist():
            above = parents[node]
            for _ in range(vertical - 1):
                if above == len(names):
                    break
                names[node] += f"^{self.names[above]}"
                above = parents[above]
        return names

    def run(self) -> Trees:
        """The binary trees."""
        lengths = []
        starts = self.trees.tree_starts.tolist()
        for first, last in pairwise(starts):
            base = len(self.labels)
            if last > first:
                self._tree(first, base)
            lengths.append(len(self.labels) - base)
        return dataclasses.replace(
            self.trees,
            labels=Layer.from_strings(self.labels, missing=""),
            parents=np.array(self.parents, np.int32),
            spans=np.array(self.new_spans, np.int32).reshape(-1, 2),
            tree_starts=starts_of(lengths),
            word_parents=np.array(self.word_parents, np.int32),
        )

    def _tree(self, root: int, base: int) -> None:
        # An entry of the stack: a node or ~word, its new parent, and None; or a node, a parent, and which of its
        # children (as a range of all children) a new node is to cover.
        stack: list[tuple[int, int, tuple[int, int] | None]] = [(root, -1, None)]
        while stack:
            item, parent, rest = stack.pop()
            if item < 0:
                self.word_parents[~item] = parent
                continue
            first, last = rest or (self.starts[item], self.starts[item + 1])
            if rest is None:
                label, (begin, end) = self.phrases[item], self.spans[item]
            else:
                label = self._factored(item, first, last)
                begin, end = self._edge(self.items[first])[0], self._edge(self.items[last - 1])[1]
            node = len(self.labels) - base
            self.labels.append(label)
            self.parents.append(parent)
            self.new_spans.append((begin, end))
            if last - first <= 2:
                stack.extend((child, node, None) for child in reversed(self.items[first:last]))
            elif self.right:
                stack += [(item, node, (first + 1, last)), (self.items[first], node, None)]
            else:
                stack += [(self.items[last - 1], node, None), (item, node, (first, last - 1))]

    def _factored(self, node: int, first: int, last: int) -> str:
        """The label of a new node: that of its phrase and the siblings that it remembers, in their order."""
        begin, end = (self.starts[node], first) if self.right else (last, self.starts[node + 1])
        if self.horizontal is not None and self.right:
            begin = max(begin, end - self.horizontal)
        elif self.horizontal is not None:
            end = min(end, begin + self.horizontal)
        near = self.items[begin:end]
        return f"@{self.phrases[node]}" + "".join(f"|{self.names[i] if i >= 0 else ''}" for i in near)

    def _edge(self, item: int) -> tuple[int, int]:
        """The span of a child, be it a node or a word."""
        if item >= 0:
            begin, end = self.spans[item]
            return begin, end
        position = ~item + self.offsets[~item]
        return position, position + 1


def unbinarise(trees: Trees) -> Trees:
    """The inverse of ``binarise``, whatever its settings were."""
    new = np.array([label.startswith("@") for label in trees.labels.values])
    drop = new[trees.labels.ids]
    # A parser may give a tree whose very root is such a node; it stays, as the phrase that it is a part of.
    drop[trees.roots] = False

    return trees.without_nodes(drop).relabel(original_label)


def original_label(label: str) -> str:
    """The label that ``binarise`` made this one of; that of the split node for a part of it.

    >>> original_label("@NP|DT"), original_label("NP^S")
    ('NP', 'NP')
    """
    plain = _split(label[1:], "|")[0] if label.startswith("@") else label
    return _unescape(_split(plain, "^")[0])


def chain_of(label: str, joint: str = "+") -> list[str]:
    """The labels that ``collapse_unaries`` made this one of, outermost first.

    >>> chain_of("S+VP")
    ['S', 'VP']
    """
    return [_unescape(part) for part in _split(label, joint)]


def collapse_unaries(trees: Trees, joint: str = "+", preterminals: bool = True, root: bool = True) -> Trees:
    """One node for each chain of nodes with a single child, with their labels joined.

    ``preterminals`` False keeps a pre-terminal out of the chain above it, ``root`` False keeps the root out of the
    chain below it.
    """
    _check_joint(joint)
    above = trees.unaries
    if not preterminals:
        above = above & ~np.append(trees.preterminals[1:], False)
    if not root:
        above = above.copy()
        above[trees.roots] = False
    escaped = [_escape(label, joint) for label in trees.labels.values]
    labels = [escaped[id] for id in trees.labels.ids.tolist()]
    drop = np.append(False, above[:-1]) if trees.n_nodes else above
    last = np.flatnonzero(~above)
    for first, end in zip(np.flatnonzero(~drop).tolist(), last.tolist(), strict=True):
        if end > first:
            labels[first : end + 1] = [joint.join(labels[first : end + 1]), *[""] * (end - first)]
    return dataclasses.replace(trees, labels=Layer.from_strings(labels, missing="")).without_nodes(drop)


def expand_unaries(trees: Trees, joint: str = "+") -> Trees:
    """The inverse of ``collapse_unaries``."""
    _check_joint(joint)
    parts = [chain_of(label, joint) for label in trees.labels.values]
    times = np.array([len(chain) for chain in parts])[trees.labels.ids]
    ends = np.cumsum(times)
    lengths = np.diff(np.concatenate([[0], ends])[trees.tree_starts])
    starts = starts_of(lengths)
    first = np.repeat(starts[:-1], np.diff(trees.tree_starts))
    # Below a node hang things from the last of its copies; the first copy hangs from where the node hung.
    last = np.append(ends - 1, -1)
    parents = np.arange(len(np.repeat(times, times))) - 1 - np.repeat(first, times)
    parents[ends - times] = np.where(trees.parents < 0, -1, last[trees._node_parents] - first)
    labels = [part for id in trees.labels.ids.tolist() for part in parts[id]]
    words = last[trees._word_nodes] - np.repeat(starts[:-1], trees.words.lengths)
    return dataclasses.replace(
        trees,
        labels=Layer.from_strings(labels, missing=""),
        parents=parents.astype(np.int32),
        spans=np.repeat(trees.spans, times, axis=0),
        tree_starts=starts,
        word_parents=words.astype(np.int32),
    )


def _check_joint(joint: str) -> None:
    if len(joint) != 1 or joint in "\\() \t\n":
        raise SettingError(f"the joint of labels is a single character, not {joint!r}")
