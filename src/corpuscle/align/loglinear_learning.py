"""The loop that learns the log-linear model: both directions side by side, slice by slice, pass by pass.

Slices depend on the text alone, and each direction is learned by one thread at a time: the same bytes on any number of
workers. Between slices the state of both learners can be kept and taken up again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.align.kernels import loglinear_batches as batches
from corpuscle.align.kernels.loglinear import OUTPUTS, STATES, Shape, Work, workspace
from corpuscle.align.loglinear_agreement import guided
from corpuscle.align.loglinear_data import Encoded
from corpuscle.align.settings import LogLinearSettings
from corpuscle.engine.optim import online
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Kind
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers, chunks_of

__all__ = ["PARTIAL", "learn_weights"]

_WORK_A_CALL = 100_000_000
"""About how many multiplications one call of a kernel makes."""

PARTIAL = Kind(
    "align.loglinear.partial",
    1,
    {
        f"{name}/{direction}": Array("float64", (f"{direction}_features",), finite=True)
        for name in ("weights", "paid")
        for direction in ("forward", "backward")
    }
    | {
        "squares/forward": Array("float64", ("forward_squares",), low=0, finite=True),
        "squares/backward": Array("float64", ("backward_squares",), low=0, finite=True),
        "before/forward": Array("float64", ("forward_features",), finite=True, optional=True),
        "before/backward": Array("float64", ("backward_features",), finite=True, optional=True),
        "owed": Array("float64", (2,), low=0, finite=True),
        "so_far": Array("float64", (2,), finite=True),
        "history": Array("float64", ("iterations", 2), finite=True),
    },
)
"""The state of an unfinished run."""


@dataclass
class _Direction:
    encoded: Encoded
    shape: Shape
    learner: online.Online
    work: Work

    @property
    def cost(self) -> np.ndarray:
        """About how much work each sentence pair is, int64 (n_pairs,)."""
        text, hood = self.encoded.text, self.encoded.hood
        sizes = np.concatenate([[0], np.cumsum(np.diff(hood.row_starts)[text.states])])
        m, n = np.diff(text.starts[STATES]), np.diff(text.starts[OUTPUTS])
        return 8 * (m + 1) ** 2 * (n + 10) + 10 * np.diff(sizes[text.starts[STATES]])


def _order(n: int, seed: int, iteration: int) -> np.ndarray:
    """The order of the sentence pairs in one pass over them."""
    order = np.arange(n)
    shuffle(Random(seed, "align.loglinear", iteration).array(), order)
    return order


def learn_weights(
    encoded: list[Encoded],
    shapes: list[Shape],
    start: list[np.ndarray],
    settings: LogLinearSettings,
    checkpoint: Checkpoint,
    pool: Workers,
    bar: Any,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Learn the weights of both directions, and say how the log-likelihood a token went in every pass.

    ``start`` are the weights to begin with. In the history, float64 (iterations + 1, 2), each pass has the mean of what
    its batches had before they were learned from, in agreement with what the other direction thought of their links;
    the last row is the log-likelihood of the final weights.
    """
    arrays = {} if checkpoint.state is None else checkpoint.state.arrays
    sizes = [len(each) for each in start]
    nothing = [np.zeros(n) for n in sizes]
    squares = [np.zeros(n * settings.adaptive) for n in sizes]
    state = {
        name: [np.array(arrays.get(f"{name}/{side}", each)) for side, each in zip(_NAMES, first, strict=True)]
        for name, first in (("weights", start), ("paid", nothing), ("squares", squares))
    }
    if any([len(each) for each in state[name]] != sizes for name in ("weights", "paid")):
        raise SettingError("the unfinished run does not fit this text")
    owed = arrays.get("owed", np.zeros(2)).tolist()
    learners = [online.learner_of(*each) for each in zip(*state.values(), owed, strict=True)]
    directions = [
        _Direction(each, shape, learner, workspace(*each, shape))
        for each, shape, learner in zip(encoded, shapes, learners, strict=True)
    ]
    history = [tuple(row) for row in arrays.get("history", np.zeros((0, 2))).tolist()]
    so_far = np.array(arrays.get("so_far", np.zeros(2)))
    n = encoded[0].text.starts.shape[1] - 1
    tokens = np.array([each.text.starts[OUTPUTS, -1] for each in encoded], np.float64)
    cost = directions[0].cost + directions[1].cost
    per_pass = -(-n // settings.batch)
    before: list[np.ndarray] = []
    for iteration in range(checkpoint.iteration, settings.iterations):
        order = _order(n, settings.seed, iteration)
        if settings.agreement:
            if iteration == checkpoint.iteration and checkpoint.position > 0:
                before = [np.array(arrays.get(f"before/{side}", [])) for side in _NAMES]
                if [len(each) for each in before] != sizes:
                    raise SettingError("the unfinished run does not fit this text")
            else:
                before = [_settled(one.learner) for one in directions]
            for one, both in zip(directions, guided(encoded, shapes, before, pool), strict=True):
                one.encoded = both
        rates = settings.rate * settings.decay ** ((iteration * per_pass + np.arange(per_pass)) * settings.batch / n)
        slices = _slices(cost[order], settings.batch)
        begin = checkpoint.position if iteration == checkpoint.iteration else 0
        for number in range(begin, len(slices)):
            first, last = slices[number]
            step = partial(_learn, order, first, last, settings.batch, rates, settings.beta / n)
            so_far += list(pool.scatter(directions).map(step))
            if not np.isfinite(so_far).all():
                raise SettingError(f"the weights ran away; try a smaller rate than {settings.rate}")
            bar.advance(last - first, note=f"{so_far[0] / tokens[0] * n / last:.3f}")
            if number + 1 < len(slices):
                checkpoint.after(iteration, partial(_state, directions, before, so_far, history), position=number + 1)
        history.append(tuple(so_far / tokens))
        so_far = np.zeros(2)
        checkpoint.after(iteration + 1, partial(_state, directions, before, so_far, history))
    for one, alone in zip(directions, encoded, strict=True):
        online.settle(one.learner)
        one.learner.clock[0] = -1  # from now on it only reads
        one.encoded = alone
    history.append(tuple(_likelihoods(directions, cost, settings.batch, pool) / tokens))
    return state["weights"], np.array(history)


_NAMES = ("forward", "backward")


def _settled(learner: online.Online) -> np.ndarray:
    """A copy of the weights after all have paid what they owe."""
    online.settle(learner)
    return learner.weights.copy()


def _slices(cost: np.ndarray, batch: int) -> list[tuple[int, int]]:
    """Where to cut an order of sentence pairs into calls of a kernel: between batches."""
    starts = np.arange(0, len(cost), batch)
    bounds = chunks_of(np.add.reduceat(cost, starts), _WORK_A_CALL)
    return list(pairwise([*starts[bounds[:-1]].tolist(), len(cost)]))


def _learn(
    order: np.ndarray, first: int, last: int, batch: int, rates: np.ndarray, penalty: float, one: _Direction
) -> float:
    """Learn from some sentence pairs; their log-likelihood before that. Without rates nothing is learned."""
    sums, share = np.zeros(2), float(len(rates) > 0)
    batches.learn(
        *one.encoded, one.shape, one.learner, one.work, order, first, last, batch, rates, penalty, share, share, sums
    )
    return float(sums[0] - sums[1])


def _likelihoods(directions: list[_Direction], cost: np.ndarray, batch: int, pool: Workers) -> np.ndarray:
    """The log-likelihood of all sentence pairs, both directions."""
    order, none = np.arange(len(cost)), np.zeros(0)

    def of(one: _Direction) -> float:
        return sum(_learn(order, first, last, batch, none, 0.0, one) for first, last in _slices(cost, batch))

    return np.array(list(pool.scatter(directions).map(of)))


def _state(
    directions: list[_Direction], before: list[np.ndarray], so_far: np.ndarray, history: list[tuple[float, ...]]
) -> dict[str, np.ndarray]:
    state: dict[str, np.ndarray] = {f"before/{name}": each for name, each in zip(_NAMES, before, strict=False)}
    for name, one in zip(_NAMES, directions, strict=True):
        learner = one.learner
        state |= {f"weights/{name}": learner.weights, f"paid/{name}": learner.paid, f"squares/{name}": learner.squares}
    state["owed"] = np.array([float(one.learner.owed[0]) for one in directions])
    state["so_far"] = so_far
    state["history"] = np.array(history, np.float64).reshape(-1, 2)
    return state
