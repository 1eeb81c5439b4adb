"""The search of the exchange algorithm: passes over the words, on several threads, that can stop and go on.

The state of a search is the class of every word, and where in which pass it stands; all counts follow from the classes.
A pass is cut into steps that are short enough for Ctrl-C: many small batches one after the other, or a large one, for
whose words all threads make proposals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from corpuscle import learning
from corpuscle.learning import Checkpoint
from corpuscle.model import Array
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers
from corpuscle.words.classes import Pass
from corpuscle.words.kernels import exchange

__all__ = ["STATE", "Search", "first_classes"]

PARALLEL = 1_000_000
"""A batch that adds up this many numbers (about a millisecond) is worth handing to threads."""
LONGEST = 100_000_000
"""No call of a kernel adds up many more numbers than this, so that Ctrl-C is heard."""

STATE = {
    "classes": Array("int32", ("words",), low=0, high="n_classes"),
    "moved": Array("int64", (1,), low=0),
}
"""The arrays of unfinished work."""


def first_classes(start: str, words: int, n_classes: int, seed: int) -> np.ndarray:
    """The classes of the words, by falling frequency, before the first pass, int32 (words,); none is empty."""
    ranks = np.arange(words, dtype=np.int32)
    if start == "frequent":
        return np.minimum(ranks, np.int32(n_classes - 1))
    if start == "random":
        shuffle(Random(seed, "exchange start").array(), ranks)
    return ranks % np.int32(n_classes)


class Search(learning.Learner):
    """Moves words between classes; ``converged`` when a pass has moved none."""

    converged: bool

    def __init__(self, near: exchange.Neighbours, n_classes: int, pool: Workers):
        self.near, self.n_classes, self.pool = near, n_classes, pool
        self.words = len(near.selves) - 1
        self.total = int(near.degrees[exchange.UP].sum())
        self.starts = exchange.batches(near)
        self.proposals = np.zeros(self.words, np.int32)
        rows = np.minimum(np.diff(near.starts, axis=1)[:, :-1], n_classes).sum(axis=0)
        # A word costs a row of numbers for each class that it occurs with, and a few rows in any case.
        self.work = np.concatenate([[0], np.cumsum(n_classes * (rows + 4))])
        self.large = np.diff(self.work[self.starts]) >= PARALLEL
        self.bounds = self._bounds()

    def _bounds(self) -> list[int]:
        """The batches with which steps begin, and their number."""
        work, bounds = self.work[self.starts], [0]
        while (first := bounds[-1]) < len(self.large):
            end = min(max(int(np.searchsorted(work, work[first] + LONGEST)), first + 1), len(self.large))
            if self.large[first:end].any():
                end = first + max(1, int(self.large[first:end].argmax()))
            bounds.append(end)
        return bounds

    def begin(self, classes: np.ndarray) -> None:
        """Start from given classes, int (words,)."""
        self.table = exchange.class_counts(self.near, classes, self.n_classes)
        self.moved, self.converged = 0, False

    def passes(
        self,
        classes: np.ndarray,
        most: int,
        checkpoint: Checkpoint,
        facts: Mapping[str, int],
        before: Sequence[Pass] = (),
    ) -> tuple[np.ndarray, list[Pass]]:
        """Passes from given classes until nothing moves, at most so many: the class of each word, int32 (words,), and
        the history, which goes on from the passes ``before``."""
        self.begin(classes)
        start = [*before] or [Pass(self.information, 0)]
        history, _ = checkpoint.run(
            self, most, columns=2, facts=facts, converged=lambda: self.converged, lasting=True, title="exchange",
            note="I {:.4f}",
        )  # fmt: skip
        return self.classes.copy(), start + [Pass(known, int(moved)) for known, moved in history.tolist()]

    @property
    def classes(self) -> np.ndarray:
        """The present class of each word, int32 (words,)."""
        return self.table.classes[:-1]

    @property
    def information(self) -> float:
        """The mutual information of the classes of parent and child, in nats."""
        return exchange.objective(self.table) / self.total + float(np.log(self.total))

    def steps(self, sweep: int) -> int:
        return len(self.bounds) - 1

    def step(self, sweep: int, number: int) -> None:
        """Some small batches one after the other, or a large one by all threads together."""
        first, last = self.bounds[number : number + 2]
        if self.large[first]:
            self.moved += self._together(first)
        else:
            self.moved += exchange.sweep(self.near, self.table, self.starts, first, last, self.proposals)

    def _together(self, batch: int) -> int:
        """All threads propose, each for its share of the words; then the proposals are settled in order."""
        first, last = self.starts[batch], self.starts[batch + 1]
        shares = np.linspace(self.work[first], self.work[last], self.pool.count + 1)[1:-1]
        ends = [first, *np.clip(np.searchsorted(self.work, shares), first, last), last]
        for _ in self.pool.scatter(list(pairwise(ends))).map(
            lambda share: exchange.propose(self.near, self.table, share[0], share[1], self.proposals)
        ):
            pass
        return exchange.settle(self.near, self.table, first, last, self.proposals)

    def finish(self, sweep: int) -> tuple[float, int]:
        """End a pass: the mutual information, and how many words have moved."""
        row, self.moved = (self.information, self.moved), 0
        self.converged = row[1] == 0
        return row

    def state(self) -> dict[str, np.ndarray]:
        """The classes, and how many words have moved in this pass."""
        return {"classes": self.classes.copy(), "moved": np.array([self.moved])}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        moved, history = np.append(arrays["history"][:, 1], arrays["moved"][0]), arrays["history"]
        if len(arrays["classes"]) != self.words or not np.isfinite(history).all():
            raise ValueError("it does not fit the text")
        if not ((moved >= 0) & (moved <= self.words)).all():
            raise ValueError("more words have moved than there are")
        self.begin(arrays["classes"])
        self.moved, self.converged = int(arrays["moved"][0]), sweep > 0 and history[-1, 1] == 0
