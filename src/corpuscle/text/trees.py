"""Trees: constituent trees of a corpus as flat arrays.

The nodes of all trees stand one after the other, each tree in preorder (a node before its children, children from left
to right). Words are not nodes: they are a Corpus of their own, and a node covers a span of them. Every node covers at
least one word, so the order of a node's children, be they nodes or bare words, follows from their spans. A tree without
nodes belongs to an empty sentence.

Transformations return new Trees. Those at the end are what parsers with binary rules need, with exact inverses:

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.layers import Layer
from corpuscle.text.origin import Origin, Sourced

TRACE = "-NONE-"
"""The tag of a word that is not there: a trace or another empty element."""

ROOTS = ("", "TOP", "ROOT", "S1")
"""Labels of an outermost node that says nothing."""


@dataclass(frozen=True, eq=False)
class Trees(Sourced):
    """Constituent trees. Positions are relative to the tree: its first node is 0, its first word is 0.

    - ``words``: the sentences, int32 tokens and so on;
    - ``labels``: a Layer over nodes; id 0 is the empty label;
    - ``parents``: int32 (n_nodes,), the parent of each node, -1 for the root;
    - ``spans``: int32 (n_nodes, 2), first word and the word after the last;
    - ``tree_starts``: int64 (n_trees + 1,), where each tree begins in the node arrays;
    - ``word_parents``: int32 (n_words,), the node that a word hangs from.
    """

    words: Corpus
    labels: Layer
    parents: np.ndarray
    spans: np.ndarray
    tree_starts: np.ndarray
    word_parents: np.ndarray

    def __len__(self) -> int:
        return len(self.tree_starts) - 1

    @property
    def origin(self) -> Origin | None:
        return self.words.origin

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all trees."""
        return len(self.parents)

    def __getitem__(self, trees: slice) -> Trees:
        return self._part(self.words[trees], np.arange(len(self))[trees])

    def select(self, trees: np.ndarray) -> Trees:
        """Any trees by index or mask, in that order."""
        return self._part(self.words.select(trees), np.arange(len(self))[trees])

    def _part(self, words: Corpus, chosen: np.ndarray) -> Trees:
        nodes, starts = items_of(self.tree_starts, chosen)
        parents = self.word_parents[items_of(self.words.sentence_starts, chosen)[0]]
        return Trees(words, self.labels[nodes], self.parents[nodes], self.spans[nodes], starts, parents)

    @cached_property
    def _node_parents(self) -> np.ndarray:
        """Parents as indices into all nodes, int64; ``n_nodes`` for roots."""
        first = np.repeat(self.tree_starts[:-1], np.diff(self.tree_starts))
        return np.where(self.parents < 0, self.n_nodes, self.parents + first)

    @cached_property
    def _word_nodes(self) -> np.ndarray:
        """The node of each word as an index into all nodes, int64."""
        return self.word_parents + np.repeat(self.tree_starts[:-1], self.words.lengths)

    @cached_property
    def children(self) -> tuple[np.ndarray, np.ndarray]:
        """The children of all nodes in CSR form: starts, int64 (n_nodes + 1,), and items, int64.

        An item is the index of a node among all nodes, or ``~w`` for the word that is number w of all words.
        """
        nodes = np.flatnonzero(self.parents >= 0)
        items = np.concatenate([nodes, ~np.arange(len(self.word_parents))])
        parents = np.concatenate([self._node_parents[nodes], self._word_nodes])
        order = np.lexsort((np.concatenate([self.spans[nodes, 0], self.words.positions]), parents))
        return starts_of(np.bincount(parents, minlength=self.n_nodes)), items[order]

    @property
    def preterminals(self) -> np.ndarray:
        """Which nodes have a single word as their only child, bool (n_nodes,)."""
        starts, items = self.children
        return (np.diff(starts) == 1) & (items[starts[:-1]] < 0)

    @property
    def word_tags(self) -> list[str]:
        """The label of the pre-terminal above each word; empty for a word that has none of its own."""
        values, own = self.labels.values, self.preterminals[self._word_nodes]
        ids = np.where(own, self.labels.ids[self._word_nodes], 0)
        return [values[id] for id in ids.tolist()]

    @property
    def unaries(self) -> np.ndarray:
        """Which nodes have another node as their only child, bool (n_nodes,); that child is the next node."""
        starts, items = self.children
        return (np.diff(starts) == 1) & (items[starts[:-1]] >= 0)

    @property
    def roots(self) -> np.ndarray:
        """The index of the root of every tree that has nodes, int64."""
        return self.tree_starts[:-1][np.diff(self.tree_starts) > 0]

    def relabel(self, function: Callable[[str], str]) -> Trees:
        """Another label for each node, computed once for each distinct label; empty labels stay empty."""
        return dataclasses.replace(self, labels=self.labels.map(function))

    def without_nodes(self, drop: np.ndarray) -> Trees:
        """Take out the marked nodes, bool (n_nodes,); their children go to the nearest ancestor that stays.

        A root may be marked only if the tree has another root without it, or vanishes as a whole.
        """
        n = self.n_nodes
        up = np.append(np.where(drop, self._node_parents, np.arange(n)), n)
        gone = np.append(drop, False)
        while gone[up].any():
            up = up[up]
        number = np.append(np.cumsum(~drop) - 1, -1)
        kept = np.flatnonzero(~drop)
        trees = np.repeat(np.arange(len(self)), np.diff(self.tree_starts))
        starts = starts_of(np.bincount(trees[kept], minlength=len(self)))
        parents = up[self._node_parents[kept]]
        heads = up[self._word_nodes]
        if (np.bincount(trees[kept][parents == n], minlength=len(self)) > 1).any() or (heads == n).any():
            raise ValueError("a tree would be left with several roots")
        parents = np.where(parents == n, -1, number[parents] - np.repeat(starts[:-1], np.diff(starts)))
        words = number[heads] - np.repeat(starts[:-1], self.words.lengths)
        return Trees(
            self.words, self.labels[kept], parents.astype(np.int32), self.spans[kept], starts, words.astype(np.int32)
        )

    def without_words(self, drop: np.ndarray) -> Trees:
        """Take out the marked words, bool (n_words,), and all nodes that are left without a word."""
        starts = self.words.sentence_starts
        before = np.concatenate([[0], np.cumsum(~drop)])
        first = np.repeat(starts[:-1], np.diff(self.tree_starts))
        spans = (before[self.spans + first[:, None]] - before[first][:, None]).astype(np.int32)
        empty = spans[:, 0] == spans[:, 1]
        # The words go first, so that no word hangs from a node that is taken out.
        offsets = None if self.words.offsets is None else self.words.offsets[~drop]
        tokens = self.words.tokens[~drop]
        words = dataclasses.replace(self.words, tokens=tokens, sentence_starts=before[starts], offsets=offsets)
        stripped = Trees(words, self.labels, self.parents, spans, self.tree_starts, self.word_parents[~drop])
        return stripped.without_nodes(empty)

    def without_traces(self) -> Trees:
        """Take out empty elements (words under a node with the tag ``TRACE``) and what is left empty without them."""
        id = self.labels.vocab.id(TRACE)
        if id == 0:
            return self
        return self.without_words(self.labels.ids[self._word_nodes] == id)

    def without_functions(self) -> Trees:
        """Cut the labels of phrases at the first ``-`` or ``=``: ``NP-SBJ-1`` becomes ``NP``. Labels that begin with
        one are kept, and so are tags, whose parts say what a word is (``N-D``, a noun in the dative)."""
        tags = self.preterminals.tolist()
        short = self.relabel(lambda label: re.split("[-=]", label, maxsplit=1)[0] or label).labels.strings()
        labels = [old if tag else new for old, new, tag in zip(self.labels.strings(), short, tags, strict=True)]
        return dataclasses.replace(self, labels=Layer.from_strings(labels, missing=""))

    def without_root(self) -> Trees:
        """Take out outermost nodes whose label says nothing (``ROOTS``), where a single node is below."""
        trees = self
        while True:
            names = np.array([label in ROOTS for label in trees.labels.values])
            drop = np.zeros(trees.n_nodes, bool)
            drop[trees.roots] = (trees.unaries & names[trees.labels.ids])[trees.roots]
            if not drop.any():
                return trees
            trees = trees.without_nodes(drop)

    def with_root(self, label: str = "TOP") -> Trees:
        """Put a node with this label above every tree that has nodes."""
        at = self.roots
        has = np.diff(self.tree_starts) > 0
        whole = np.stack([np.zeros(len(at)), self.words.lengths[has]], axis=1)
        labels = self.labels.strings()
        for i in reversed(at.tolist()):
            labels.insert(i, label)
        return Trees(
            self.words,
            Layer.from_strings(labels, missing=""),
            np.insert(self.parents + 1, at, -1).astype(np.int32),
            np.insert(self.spans, at, whole, axis=0).astype(np.int32),
            starts_of(np.diff(self.tree_starts) + has),
            (self.word_parents + 1).astype(np.int32),
        )

    def without_repeats(self) -> Trees:
        """Make one node of a node and its only child where both have the same label (``X`` over ``X``)."""
        drop = np.zeros(self.n_nodes, bool)
        above = np.flatnonzero(self.unaries)
        drop[above + 1] = self.labels.ids[above] == self.labels.ids[above + 1]
        return self.without_nodes(drop)


_MARKS = "@|^"


def _escape(label: str, marks: str) -> str:
    return re.sub(f"[{re.escape(marks)}\\\\]", r"\\\g<0>", label)


def _unescape(label: str) -> str:
    return re.sub(r"\\(.)", r"\1", label, flags=re.DOTALL)


def _split(label: str, mark: str) -> list[str]:
    """The parts between marks that are not escaped; the parts stay escaped."""
    cuts = [found.start() for found in re.finditer(rf"(?s)\\.|({re.escape(mark)})", label) if found[1]]
    return [label[begin + 1 : end] for begin, end in pairwise([-1, *cuts, len(label)])]


def binarise(trees: Trees, side: str = "right", horizontal: int | None = 0, vertical: int = 1) -> Trees:
    """Trees whose nodes have at most two children.

    ``side`` is where the rest goes: ``right`` splits off the first child, ``left`` the last. ``horizontal`` is how many
    siblings a new node remembers, None for all; ``vertical`` how many levels a phrase knows, itself included.
    """
    if side not in ("left", "right"):
        raise SettingError(f"side is 'left' or 'right', not {side!r}")
    if (horizontal is not None and horizontal < 0) or vertical < 1:
        raise SettingError("horizontal is at least 0 (or None), vertical at least 1")
    right = side == "right"
    escaped = [_escape(label, _MARKS) for label in trees.labels.values]
    names = [escaped[id] for id in trees.labels.ids.tolist()]
    phrases, up = list(names), trees._node_parents.tolist()  # with the names of their ancestors
    for node in np.flatnonzero(~trees.preterminals).tolist() if vertical > 1 else ():
        above = up[node]
        for _ in range(vertical - 1):
            if above < len(names):
                phrases[node] += f"^{names[above]}"
                above = up[above]
    starts, items = (array.tolist() for array in trees.children)
    spans, places = trees.spans.tolist(), trees.words.positions.tolist()
    labels: list[str] = []
    parents: list[int] = []
    new_spans: list[tuple[int, int]] = []
    word_parents = [0] * len(trees.word_parents)
    new_starts = [0]

    def edges(item: int) -> tuple[int, int]:
        return spans[item] if item >= 0 else (places[~item], places[~item] + 1)

    for root, end in pairwise(trees.tree_starts.tolist()):
        # An entry of the stack: a node or ~word, its new parent, and None; or a node, a parent, and which of its
        # children (as a range of all children) a new node is to cover.
        stack: list[tuple[int, int, tuple[int, int] | None]] = [(root, -1, None)] if end > root else []
        while stack:
            item, parent, rest = stack.pop()
            if item < 0:
                word_parents[~item] = parent
                continue
            label = phrases[item]
            first, last = rest or (starts[item], starts[item + 1])
            if rest is not None:  # a new node remembers siblings in their order
                begin, after = (starts[item], first) if right else (last, starts[item + 1])
                most = after - begin if horizontal is None else min(horizontal, after - begin)
                near = items[after - most : after] if right else items[begin : begin + most]
                label = f"@{label}" + "".join(f"|{names[i] if i >= 0 else ''}" for i in near)
            node = len(labels) - new_starts[-1]
            labels.append(label)
            parents.append(parent)
            new_spans.append((edges(items[first])[0], edges(items[last - 1])[1]))
            if last - first <= 2:
                stack.extend((child, node, None) for child in reversed(items[first:last]))
            elif right:
                stack += [(item, node, (first + 1, last)), (items[first], node, None)]
            else:
                stack += [(items[last - 1], node, None), (item, node, (first, last - 1))]
        new_starts.append(len(labels))
    return dataclasses.replace(
        trees,
        labels=Layer.from_strings(labels, missing=""),
        parents=np.array(parents, np.int32),
        spans=np.array(new_spans, np.int32).reshape(-1, 2),
        tree_starts=np.array(new_starts, np.int64),
        word_parents=np.array(word_parents, np.int32),
    )


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
