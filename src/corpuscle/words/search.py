"""The search of the exchange algorithm: passes over the words, on several threads, that can stop and go on.

The state of a search is the class of every word, and where in which pass it stands; all counts follow from the classes.
It is cut into calls of kernels that are short enough for Ctrl-C, and between any two of them it can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from itertools import pairwise

import numpy as np

from corpuscle.errors import InputError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Kind
from corpuscle.progress import Bar
from corpuscle.random import Random, shuffle
from corpuscle.words.classes import HISTORY, Pass, history_arrays, history_from
from corpuscle.words.kernels import exchange

__all__ = ["PARTIAL", "Search"]

PARALLEL = 1_000_000
"""A batch that adds up this many numbers (about a millisecond) is worth handing to threads."""
LONGEST = 100_000_000
"""No call of a kernel adds up many more numbers than this, so that Ctrl-C is heard."""

_STATE = {"classes": Array("int32", ("words",), low=0, high="n_classes"), **HISTORY}
_RIVAL = {
    f"rival/{name}": replace(
        array, shape=tuple("rival_passes" if size == "passes" else size for size in array.shape), optional=True
    )
    for name, array in _STATE.items()
}
PARTIAL = Kind("words.classes.partial", 1, _STATE | _RIVAL)


def first_classes(start: str, words: int, n_classes: int, seed: int) -> np.ndarray:
    """The classes of the words, by falling frequency, before the first pass, int32 (words,); none is empty."""
    ranks = np.arange(words, dtype=np.int32)
    if start == "frequent":
        return np.minimum(ranks, np.int32(n_classes - 1))
    if start == "random":
        shuffle(Random(seed, "exchange start").array(), ranks)
    return ranks % np.int32(n_classes)


class Search:
    """Moves words between classes until nothing moves; ``climb`` does everything."""

    def __init__(
        self,
        near: exchange.Neighbours,
        n_classes: int,
        checkpoint: Checkpoint,
        progress: Bar,
        pool: Executor | None,
        count: int,
    ):
        self.near, self.n_classes, self.checkpoint, self.progress = near, n_classes, checkpoint, progress
        self.pool, self.count = pool, count
        self.words = len(near.selves) - 1
        self.total = int(near.degrees[exchange.UP].sum())
        self.starts = exchange.batches(near)
        self.proposals = np.zeros(self.words, np.int32)
        rows = np.minimum(np.diff(near.starts, axis=1)[:, :-1], n_classes).sum(axis=0)
        # A word costs a row of numbers for each class that it occurs with, and a few rows in any case.
        self.work = np.concatenate([[0], np.cumsum(n_classes * (rows + 4))])
        self.large = np.diff(self.work[self.starts]) >= PARALLEL
        self.rival: tuple[np.ndarray, list[Pass]] | None = None
        self.stage, self.position, self.moved = 0, 0, 0

    def climb(self, stages: list[tuple[str, int]], seed: int) -> tuple[np.ndarray, list[Pass]]:
        """Go through stages, (start, number of passes); returns the class of each word and the history.

        The start ``best`` is where the better one of the two stages before it has come.
        """
        if self.checkpoint.state is not None:
            self._restore(stages)
            self._passes(stages[self.stage][1])
            stages = [("done", 0)] * (self.stage + 1) + stages[self.stage + 1 :]
        for stage, (start, passes) in enumerate(stages):
            if start == "done":
                continue
            self.stage = stage
            if start != "best":
                if stage > 0:
                    self.rival = self._result()
                self._begin(first_classes(start, self.words, self.n_classes, seed), [])
            elif self.rival is not None:
                classes, history = self.rival
                if history[-1].mutual_information >= self.history[-1].mutual_information:
                    self._begin(classes, history)
                self.rival = None
            self._passes(passes)
        return self._result()

    def _result(self) -> tuple[np.ndarray, list[Pass]]:
        return self.table.classes[:-1].copy(), self.history

    def _begin(self, classes: np.ndarray, history: list[Pass]) -> None:
        self.table = exchange.tables(self.near, classes, self.n_classes)
        self.history = history or [Pass(self._information(), 0)]
        self.position, self.moved = 0, 0

    def _information(self) -> float:
        return exchange.objective(self.table) / self.total + float(np.log(self.total))

    def _passes(self, passes: int) -> None:
        """Go on until ``passes`` passes are done, or one has moved nothing."""
        while len(self.history) <= passes and (len(self.history) == 1 or self.history[-1].moved > 0):
            self._pass()
            self.history.append(Pass(self._information(), self.moved))
            self.position, self.moved = 0, 0
            self._keep()

    def _pass(self) -> None:
        """One pass over the words, from the present position on."""
        note, last = f"I {self.history[-1].mutual_information:.4f}", len(self.starts) - 1
        while self.position < last:
            end, moved = self._step(self.position, last)
            self.progress.advance(int(self.starts[end] - self.starts[self.position]), note)
            self.position, self.moved = end, self.moved + moved
            if end < last:
                self._keep()

    def _step(self, first: int, last: int) -> tuple[int, int]:
        """One call: many small batches one after the other, or a large one by all threads together.

        Returns the next batch, and how many words moved.
        """
        if self.pool is not None and self.large[first]:
            return first + 1, self._together(self.pool, first)
        work = self.work[self.starts]
        end = min(max(int(np.searchsorted(work, work[first] + LONGEST)), first + 1), last)
        if self.pool is not None and self.large[first:end].any():
            end = first + int(self.large[first:end].argmax())
        return end, exchange.sweep(self.near, self.table, self.starts, first, end, self.proposals)

    def _together(self, pool: Executor, batch: int) -> int:
        """All threads propose, each for its share of the words; then the proposals are settled in order."""
        first, last = self.starts[batch], self.starts[batch + 1]
        shares = np.linspace(self.work[first], self.work[last], self.count + 1)[1:-1]
        ends = [first, *np.clip(np.searchsorted(self.work, shares), first, last), last]
        calls = [
            pool.submit(exchange.propose, self.near, self.table, a, b, self.proposals) for a, b in pairwise(ends)
        ]
        for call in calls:
            call.result()
        return exchange.settle(self.near, self.table, first, last, self.proposals)

    def _keep(self) -> None:
        extra = {"n_classes": self.n_classes, "stage": self.stage, "moved": self.moved}
        self.checkpoint.after(len(self.history) - 1, self._arrays, position=self.position, extra=extra)

    def _arrays(self) -> dict[str, np.ndarray]:
        """The state as a file keeps it."""
        arrays = {"classes": self.table.classes[:-1].copy(), **history_arrays(self.history)}
        if self.rival is not None:
            classes, history = self.rival
            arrays |= {"rival/" + name: array for name, array in history_arrays(history).items()}
            arrays["rival/classes"] = classes
        return arrays

    def _restore(self, stages: list[tuple[str, int]]) -> None:
        """Stand where the kept state stands."""
        state = self.checkpoint.state
        assert state is not None
        arrays: Mapping[str, np.ndarray] = state.arrays
        stage, moved = state.extra.get("stage"), state.extra.get("moved")
        rival = [name in arrays for name in _RIVAL]
        if (
            type(stage) is not int
            or type(moved) is not int
            or not 0 <= stage < len(stages)
            or all(rival) != (stages[stage][0] == "cyclic" and stage > 0)
            or any(rival) != all(rival)
            or len(arrays["classes"]) != self.words
            or len(arrays["history/moved"]) == 0
            or self.checkpoint.position >= len(self.starts)
        ):
            raise InputError(self.checkpoint.path, None, "a damaged file: it does not fit the text")
        if all(rival):
            history = history_from({name: arrays["rival/" + name] for name in HISTORY})
            self.rival = arrays["rival/classes"], history
        self._begin(arrays["classes"], history_from(arrays))
        self.stage, self.position, self.moved = stage, self.checkpoint.position, moved
