"""Accelerated proximal gradients: the least of a smooth loss plus a penalty whose proximal operator is known.

One update from a point X goes against the gradient, then to where the penalty is content:

    W = prox( X - gradient(X) / (h d) ),   thresholds divided by h d

with a scale h and a metric d, float64 (n,), that says how steep the loss is in each direction relative to the others.
Both methods take their next update not from W but from a point beyond it, further in the direction of the last move.

``Fista`` has the exact gradient. It finds h by trying (the quadratic of scale h has to lie above the loss), and forgets
its momentum when that points uphill. ``Stochastic`` has gradients of some part of the data, whose noise a growing h
averages out.

Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", 2009, eq. 4.1-4.3
(their L is h); O'Donoghue and Candes, "Adaptive restart for accelerated gradient schemes", 2015, eq. 13; Hu, Kwok and
Pan, "Accelerated gradient methods for stochastic optimization and online learning", 2009, algorithm 1 (their L, mu,
alpha are ``steepness``, ``convexity``, ``share``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from corpuscle.compiled import kernel

_COOLING = 0.95
_RAISE = 1.5
_SLACK = 1e-13


class Problem(Protocol):
    """A loss with a penalty.

    ``metric``: float64 (n,), see above; ``sizes``: int32 (n,), how many coordinates of one value each number stands
    for, so that sums over coordinates count it so often. A gradient is that of one of them.
    """

    metric: np.ndarray
    sizes: np.ndarray

    def loss(self, point: np.ndarray) -> float:
        """The loss at a point; infinite where it cannot be computed."""
        ...

    def gradient(self, point: np.ndarray, out: np.ndarray) -> float:
        """The loss at a point, and its gradient."""
        ...

    def update(self, point: np.ndarray, gradient: np.ndarray, scale: float, out: np.ndarray) -> None:
        """A step against the gradient and the proximal step: the formula above with ``scale`` as h."""
        ...


@kernel
def _moves(sizes, metric, gradient, before, at, after):
    """Three inner products: of the gradient with the update; of the update with itself, by the metric; and of the
    update with the move that it makes, by the metric, with the opposite sign."""
    slope, square, turn = 0.0, 0.0, 0.0
    for i in range(len(at)):
        update = after[i] - at[i]
        if update != 0.0:
            slope += sizes[i] * gradient[i] * update
            square += sizes[i] * metric[i] * update * update
            turn -= sizes[i] * metric[i] * update * (after[i] - before[i])
    return slope, square, turn


@kernel
def _go_beyond(before, after, share, out):
    for i in range(len(out)):
        out[i] = after[i] + share * (after[i] - before[i])


@kernel
def _between(a, b, share, out):
    for i in range(len(out)):
        out[i] = (1.0 - share) * a[i] + share * b[i]


@kernel
def _follow(ahead, at, after, weights):
    """``ahead`` becomes a sum of the three with these weights."""
    for i in range(len(ahead)):
        ahead[i] = weights[0] * ahead[i] + weights[1] * at[i] + weights[2] * after[i]


class Fista:
    """Proximal gradients with momentum, a scale found by trying, and restarts; ``weights`` is where it stands."""

    def __init__(self, problem: Problem, weights: np.ndarray, scale: float = 1.0):
        self.problem, self.weights, self.point = problem, weights.copy(), weights.copy()
        self.scale, self.momentum = scale, 1.0
        self._gradient, self._after = np.empty_like(weights), np.empty_like(weights)

    def step(self) -> float:
        """One iteration; the loss at ``weights`` after it."""
        problem, point, after = self.problem, self.point, self._after
        height = problem.gradient(point, self._gradient)
        self.scale *= _COOLING
        while True:
            problem.update(point, self._gradient, self.scale, after)
            slope, square, turn = _moves(problem.sizes, problem.metric, self._gradient, self.weights, point, after)
            loss = problem.loss(after)
            if loss <= height + slope + 0.5 * self.scale * square + _SLACK * abs(height):
                break
            self.scale *= _RAISE
        if turn > 0.0:  # the move goes back where the momentum came from
            self.momentum = 1.0
            self.point[:] = after
        else:
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.momentum**2))
            _go_beyond(self.weights, after, (self.momentum - 1.0) / following, self.point)
            self.momentum = following
        self.weights, self._after = after, self.weights
        return loss

    def state(self) -> dict[str, np.ndarray]:
        """All that it needs to go on."""
        numbers = np.array([self.scale, self.momentum])
        return {"weights": self.weights, "point": self.point, "numbers": numbers}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Stand where a kept state stands."""
        self.weights, self.point = np.array(arrays["weights"]), np.array(arrays["point"])
        self.scale, self.momentum = arrays["numbers"].tolist()


class Stochastic:
    """Accelerated gradients of parts of the data, which ``problem`` has been shown before each step.

    ``steepness`` is a bound of the curvature by the metric, ``convexity`` one from below: 0, or what a squared l2
    penalty has. Without convexity the scale grows as ``noise`` times the number of steps to the power of 1.5.
    """

    def __init__(
        self, problem: Problem, weights: np.ndarray, steepness: float, convexity: float = 0.0, noise: float = 1e-4
    ):
        self.problem, self.weights, self.point = problem, weights.copy(), weights.copy()
        self.steepness, self.convexity, self.noise = steepness, convexity, noise
        self.steps, self.share, self.decay = 0, 1.0, 1.0
        self._gradient, self._at = np.empty_like(weights), np.empty_like(weights)

    def step(self) -> float:
        """One step; the loss, of the part that is shown, at the point that it is taken from."""
        convexity = self.convexity
        if convexity > 0.0:
            scale = self.steepness + convexity / self.decay
        else:
            self.share, scale = 2.0 / (self.steps + 2.0), self.steepness + self.noise * (self.steps + 1.0) ** 1.5
        _between(self.weights, self.point, self.share, self._at)
        loss = self.problem.gradient(self._at, self._gradient)
        self.problem.update(self._at, self._gradient, scale, self.weights)
        moved = np.array([self.share * scale, convexity - scale, scale]) / (self.share * scale + convexity)
        _follow(self.point, self._at, self.weights, moved)
        self.share = 0.5 * (math.sqrt(4.0 * self.decay + self.decay**2) - self.decay)
        self.decay *= 1.0 - self.share
        self.steps += 1
        return loss

    def state(self) -> dict[str, np.ndarray]:
        """All that it needs to go on."""
        numbers = np.array([self.steps, self.share, self.decay])
        return {"weights": self.weights, "point": self.point, "numbers": numbers}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Stand where a kept state stands."""
        self.weights, self.point = np.array(arrays["weights"]), np.array(arrays["point"])
        steps, self.share, self.decay = arrays["numbers"].tolist()
        self.steps = int(steps)
