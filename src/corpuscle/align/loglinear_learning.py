"""What learns the log-linear model: both directions side by side, slice by slice, pass by pass.

Slices depend on the text alone, and each direction is learned by one thread at a time: the same bytes on any number of
workers. Between slices the state of both directions can be kept and taken up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle.align.kernels import loglinear_batches as batches
from corpuscle.align.kernels.loglinear import OUTPUTS, STATES, Shape, Work, workspace
from corpuscle.align.loglinear_agreement import guided
from corpuscle.align.loglinear_data import Encoded
from corpuscle.align.settings import LogLinearSettings
from corpuscle.engine.optim import online
from corpuscle.errors import SettingError
from corpuscle.model import Array
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers, chunks_of

__all__ = ["PARTIAL", "Passes"]

_WORK_A_CALL = 100_000_000
"""About how many multiplications one call of a kernel makes."""

_SIDES = ("forward", "backward")

PARTIAL = learning.partial(
    "align.loglinear",
    {
        f"{name}/{side}": Array("float64", (f"{side}_features",), finite=True, optional=name == "before")
        for name in ("weights", "paid", "before")
        for side in _SIDES
    }
    | {
        "squares/forward": Array("float64", ("forward_squares",), low=0, finite=True),
        "squares/backward": Array("float64", ("backward_squares",), low=0, finite=True),
        "owed": Array("float64", (2,), low=0, finite=True),
        "so_far": Array("float64", (2,), finite=True),
    },
)
"""The kind of file that keeps unfinished work."""


@dataclass
class _Direction:
    """One direction of the text, and what learns its weights. ``encoded`` is guided by the other direction where they
    agree, ``alone`` is not."""

    alone: Encoded
    shape: Shape
    learner: online.Online

    def __post_init__(self) -> None:
        self.encoded = self.alone
        self.work: Work = workspace(*self.alone, self.shape)

    @property
    def cost(self) -> np.ndarray:
        """About how much work each sentence pair is, int64 (n_pairs,)."""
        text, hood = self.alone
        sizes = np.concatenate([[0], np.cumsum(np.diff(hood.row_starts)[text.states])])
        m, n = np.diff(text.starts[STATES]), np.diff(text.starts[OUTPUTS])
        return 8 * (m + 1) ** 2 * (n + 10) + 10 * np.diff(sizes[text.starts[STATES]])

    def learn(self, job: _Job) -> float:
        """Learn from some sentence pairs; their log-likelihood before that. Without rates nothing is learned."""
        sums, share = np.zeros(2), float(len(job.rates) > 0)
        batches.learn(
            *self.encoded, self.shape, self.learner, self.work, *job, share, share, sums,
        )  # fmt: skip
        return float(sums[0] - sums[1])


class _Job(NamedTuple):
    """Sentence pairs first..last-1 of an order, in batches, with the rate of each batch and the penalty."""

    order: np.ndarray
    first: int
    last: int
    batch: int
    rates: np.ndarray
    penalty: float


class Passes:
    """A learner (see ``corpuscle.learning``) whose sweeps are passes over the text and whose steps are slices of it.

    A row of its history has, for each direction, the mean log-likelihood a token that the batches of the pass had
    before they were learned from, in agreement with what the other direction thought of their links. ``weights``:
    those of both directions, at first those to begin with.
    """

    def __init__(
        self,
        encoded: list[Encoded],
        shapes: list[Shape],
        weights: list[np.ndarray],
        settings: LogLinearSettings,
        pool: Workers,
    ):
        self.settings, self.pool, self.encoded, self.shapes, self.weights = settings, pool, encoded, shapes, weights
        self.n = encoded[0].text.starts.shape[1] - 1
        self.tokens = np.array([each.text.starts[OUTPUTS, -1] for each in encoded], np.float64)
        self.so_far = np.zeros(2)
        self._before: list[np.ndarray] = []
        self._pass = -1
        self._begin({})
        self.cost = self.directions[0].cost + self.directions[1].cost

    def _begin(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Both directions at the start, or as they were kept."""
        owed, self.directions = arrays.get("owed", np.zeros(2)), []
        for d, (side, each) in enumerate(zip(_SIDES, self.encoded, strict=True)):
            size = len(self.weights[d])
            first = {"weights": self.weights[d], "paid": np.zeros(size)}
            first["squares"] = np.zeros(size * self.settings.adaptive)
            state = {name: np.array(arrays.get(f"{name}/{side}", array)) for name, array in first.items()}
            if any(len(state[name]) != len(array) for name, array in first.items()):
                raise ValueError("it does not fit the text")
            self.weights[d] = state["weights"]
            learner = online.learner_of(state["weights"], state["paid"], state["squares"], float(owed[d]))
            self.directions.append(_Direction(each, self.shapes[d], learner))

    def steps(self, sweep: int) -> int:
        """How many slices the text has, in the order of this pass."""
        self._enter(sweep)
        return len(self._slices)

    def _enter(self, sweep: int) -> None:
        """Prepare a pass: the order of its sentence pairs."""
        if sweep != self._pass:
            self._pass, self._order = sweep, np.arange(self.n)
            shuffle(Random(self.settings.seed, "align.loglinear", sweep).array(), self._order)
            self._slices = _slices(self.cost[self._order], self.settings.batch)

    def step(self, sweep: int, number: int) -> None:
        """Learn from a slice."""
        settings, n = self.settings, self.n
        self._enter(sweep)
        if number == 0 and settings.agreement:
            self._before = [_settled(one.learner) for one in self.directions]
            self._guide()
        per_pass = -(-n // settings.batch)
        progress = (sweep * per_pass + np.arange(per_pass)) * settings.batch / n
        rates = settings.rate * settings.decay**progress
        job = _Job(self._order, *self._slices[number], settings.batch, rates, settings.beta / n)
        self.so_far += list(self.pool.scatter(self.directions).map(_Direction.learn, job))
        if not np.isfinite(self.so_far).all():
            raise SettingError(f"the weights ran away; try a smaller rate than {settings.rate}")

    def _guide(self) -> None:
        """Let each direction know what the other one thought before the pass."""
        for one, both in zip(self.directions, guided(self.encoded, self.shapes, self._before, self.pool), strict=True):
            one.encoded = both

    def finish(self, sweep: int) -> np.ndarray:
        """End a pass: its row of the history."""
        row, self.so_far = self.so_far / self.tokens, np.zeros(2)
        return row

    def likelihood(self) -> np.ndarray:
        """The log-likelihood a token of the final weights, float64 (2,); nothing is learned any more."""
        for one in self.directions:
            online.settle(one.learner)
            one.learner.clock[0] = -1  # from now on it only reads
            one.encoded = one.alone
        total, batch = np.zeros(2), self.settings.batch
        for first, last in _slices(self.cost, batch):
            job = _Job(np.arange(self.n), first, last, batch, np.zeros(0), 0.0)
            total += list(self.pool.scatter(self.directions).map(_Direction.learn, job))
        return total / self.tokens

    def state(self) -> dict[str, np.ndarray]:
        """What both directions have learned, and what they thought before the pass."""
        state = {f"before/{side}": each for side, each in zip(_SIDES, self._before, strict=False)}
        for side, one in zip(_SIDES, self.directions, strict=True):
            weights, paid, squares = one.learner.weights, one.learner.paid, one.learner.squares
            state |= {f"weights/{side}": weights, f"paid/{side}": paid, f"squares/{side}": squares}
        state["owed"] = np.array([float(one.learner.owed[0]) for one in self.directions])
        return state | {"so_far": self.so_far}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Take back what ``state`` gave."""
        self._begin(arrays)
        self.so_far = np.array(arrays["so_far"])
        if number > 0 and self.settings.agreement:
            self._before = [np.array(arrays[f"before/{side}"]) for side in _SIDES]
            if [len(each) for each in self._before] != [len(each) for each in self.weights]:
                raise ValueError("it does not fit the text")
            self._guide()


def _settled(learner: online.Online) -> np.ndarray:
    """A copy of the weights after all have paid what they owe."""
    online.settle(learner)
    return learner.weights.copy()


def _slices(cost: np.ndarray, batch: int) -> list[tuple[int, int]]:
    """Where to cut an order of sentence pairs into calls of a kernel: between batches."""
    starts = np.arange(0, len(cost), batch)
    bounds = chunks_of(np.add.reduceat(cost, starts), _WORK_A_CALL)
    return list(pairwise([*starts[bounds[:-1]].tolist(), len(cost)]))
