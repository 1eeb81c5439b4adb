"""ClassTree: in which order classes merge until one is left, and the bit strings that follow from it.

Leaves are numbered 0..n-1; node n + m is made by merger m of two nodes, the first of which has more tokens (bit 0). The
path of a leaf is the bits from the top to it. A tree that is cut after some mergers gives fewer, larger classes.

``Merging`` finds it, as Brown clustering does: words come into a window of classes, then all classes become one. The
state of this learner is the place of every word in the window, and what was merged so far; everything else follows
from the places, to the last bit. It can stop between any two words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array
from corpuscle.words.kernels import brown, exchange

TREE = {
    "tree/merges": Array("int32", ("mergers", 2), low=0, optional=True),
    "tree/losses": Array("float64", ("mergers",), finite=True, optional=True),
}
"""How a model file keeps a tree."""


def tops(merges: np.ndarray, leaves: int) -> np.ndarray:
    """The node above each leaf that is part of no other, int64 (leaves,), after all mergers; ``ValueError`` if they are
    impossible: every node is merged once, and after it was made.

    >>> tops(np.array([[1, 2], [4, 0]]), 4).tolist()
    [5, 5, 5, 3]
    """
    made = leaves + np.arange(len(merges))
    if len(merges) and ((merges < 0).any() or (merges >= made[:, None]).any()):
        raise ValueError("a class is merged before it is there")
    if len(np.unique(merges)) < merges.size:
        raise ValueError("a class is merged twice")
    above = list(range(leaves + len(merges)))
    for node, (first, second) in zip(reversed(made.tolist()), reversed(merges.tolist()), strict=True):
        above[first] = above[second] = above[node]
    return np.array(above[:leaves], np.int64)


def paths_below(merges: np.ndarray, leaves: int, top: int) -> Iterator[tuple[str, int]]:
    """The path from the node ``top`` to each leaf below it, and the leaf, by rising paths."""
    pairs = merges.tolist()
    waiting = [(top, "")]
    while waiting:
        node, path = waiting.pop()
        if node < leaves:
            yield path, node
        else:
            first, second = pairs[node - leaves]
            waiting += [(second, path + "1"), (first, path + "0")]


class ClassTree(NamedTuple):
    """The mergers of n classes into one.

    - ``merges`` int32 (n - 1, 2): the two nodes of each, see above;
    - ``losses`` float64 (n - 1,): the mutual information that each loses, in nats.
    """

    merges: np.ndarray
    losses: np.ndarray

    @property
    def leaves(self) -> int:
        """n, the number of classes."""
        return len(self.merges) + 1

    @property
    def paths(self) -> list[str]:
        """The bit string of each class.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).paths
        ['1', '00', '01']
        """
        paths = [""] * self.leaves
        for path, leaf in paths_below(self.merges, self.leaves, 2 * self.leaves - 2):
            paths[leaf] = path
        return paths

    def groups(self, classes: int) -> np.ndarray:
        """The node of each class, int64 (n,), when so many are left.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).groups(2).tolist()
        [0, 3, 3]
        """
        if not 1 <= classes <= self.leaves:
            raise SettingError(f"{self.leaves} classes can become 1 to {self.leaves}, not {classes}")
        return tops(self.merges[: self.leaves - classes], self.leaves)

    def cut(self, numbers: np.ndarray) -> ClassTree:
        """The tree of fewer classes, of which each class belongs to the one in ``numbers``, int (n,): new numbers, from
        0 on, of the ``groups``."""
        classes = int(numbers.max()) + 1
        done = self.leaves - classes
        names = np.zeros(2 * self.leaves - 1, np.int32)
        names[self.groups(classes)] = numbers
        names[self.leaves + done :] = classes + np.arange(classes - 1)
        return ClassTree(names[self.merges[done:]], self.losses[done:])

    @staticmethod
    def check(arrays: Mapping[str, np.ndarray], classes: int) -> None:
        """``ValueError`` unless the arrays of a model file are a tree of so many classes, or none is there."""
        if ("tree/merges" in arrays) != ("tree/losses" in arrays):
            raise ValueError("half of its class tree is missing")
        if "tree/merges" in arrays:
            if len(arrays["tree/merges"]) != classes - 1:
                raise ValueError("its class tree does not fit the number of classes")
            tops(arrays["tree/merges"], classes)


LONGEST = 20_000_000
"""No call of a kernel looks at many more numbers than this, so that Ctrl-C is heard."""


def merging_state(words: str) -> dict[str, Array]:
    """The arrays of unfinished work; ``words`` names the number of words, ``n_classes`` is that of classes."""
    return {
        "places": Array("int32", (words,), low=-1, high="n_classes+1"),
        "nodes": Array("int32", ("n_classes+1",), low=0),
        "merges": Array("int32", (f"{words}-1", 2), low=0),
        "losses": Array("float64", (f"{words}-1",), finite=True),
        "n_merges": Array("int64", (1,), low=0, high=words),
    }


class Merging(learning.Learner):
    """Merges words by falling frequency: sweep 0 until ``n_classes`` are left, sweep 1 until one is."""

    def __init__(self, near: exchange.Neighbours, n_classes: int):
        self.near, self.n_classes = near, n_classes
        self.words, self.slots = len(near.selves) - 1, n_classes + 1
        self.total = int(near.degrees[exchange.UP].sum())
        self.window = brown.empty_window(near, self.slots, self.total)
        self.log = brown.empty_log(self.words, self.slots)
        rows = np.minimum(np.diff(near.starts, axis=1)[:, :-1], n_classes).sum(axis=0)
        # A word costs a row for each class that it meets, when it comes and when it is merged, and a few in any case.
        work = np.cumsum(n_classes * (rows + 8))
        self.bounds = np.append(np.flatnonzero(np.diff(work // LONGEST, prepend=-1)), self.words)
        self.at_once = max(1, LONGEST // (4 * n_classes * n_classes))

    @property
    def classes(self) -> np.ndarray:
        """The present class of each word, int32 (words,), from 0 on in the order of slots; all words are in."""
        return np.unique(brown.places(self.window), return_inverse=True)[1].astype(np.int32)

    @property
    def merges(self) -> np.ndarray:
        """What was merged so far, int32 (mergers, 2); leaves are the words."""
        return self.log.merges[: self.log.n_merges[0]]

    def steps(self, sweep: int) -> int:
        return len(self.bounds) - 1 if sweep == 0 else -(-(self.n_classes - 1) // self.at_once)

    def step(self, sweep: int, number: int) -> None:
        """Some words, or some mergers."""
        first, last, mergers = 0, 0, 0
        if sweep == 0:
            first, last = self.bounds[number : number + 2]
        else:
            mergers = min(self.at_once, self.n_classes - 1 - number * self.at_once)
        brown.merge(self.near, self.window, self.log, first, last, mergers)

    def finish(self, sweep: int) -> float:
        """The mutual information that all mergers so far have lost."""
        return float(self.log.losses.sum()) / self.total

    def state(self) -> dict[str, np.ndarray]:
        """The place of each word and the mergers so far."""
        log = {name: array.copy() for name, array in self.log._asdict().items()}
        return {"places": brown.places(self.window), **log}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        places, count = arrays["places"], int(arrays["n_merges"][0])
        come = self.bounds[number] if sweep == 0 else self.words
        if len(places) != self.words or ((places >= 0) != (np.arange(self.words) < come)).any():
            raise ValueError("it does not fit the text")
        nodes = arrays["nodes"][places[:come]]
        if (tops(arrays["merges"][:count], self.words)[:come] != nodes).any():
            raise ValueError("what was merged does not fit the classes")
        self.log = brown.Log(*(np.array(arrays[name]) for name in brown.Log._fields))
        self.window = brown.filled_window(self.near, places, self.slots)


def class_tree(
    near: exchange.Neighbours, classes: np.ndarray, n_classes: int, checkpoint: Checkpoint, facts: Mapping[str, int]
) -> ClassTree:
    """The tree of given classes, int (W,) in 0..n_classes-1, by falling frequency: they are merged like words."""
    merging = Merging(brown.grouped(near, classes, n_classes), n_classes)
    checkpoint.run(merging, 2, facts=facts, title="class tree", note="")
    return ClassTree(merging.log.merges, merging.log.losses / merging.total)
