"""Merging classes, as Brown clustering does: words come into a window of classes, then all classes become one.

The state of this learner is the place of every word in the window, and what was merged so far; everything else follows
from the places, to the last bit. It can stop between any two words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corpuscle import learning
from corpuscle.learning import Checkpoint
from corpuscle.model import Array
from corpuscle.words.kernels import brown, exchange
from corpuscle.words.trees import ClassTree, tops

__all__ = ["Merging", "class_tree", "merging_state"]

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
