"""L-BFGS: the minimum of a smooth function of many variables, from values and gradients alone.

The direction of a step is -H g, where H approximates the inverse of the matrix of second derivatives by the last few
steps s and changes of the gradient y (two loops over them, H is never formed). Along it a step is looked for that
lowers the function enough (f(t) <= f(0) + c1 t f'(0)) and leaves little of the slope (f'(t) >= c2 f'(0)): doubled while
it is too short, halved between the last one too short and the last one too long else. So y . s > 0 always holds.

Everything that the next step depends on is in a few arrays, so that a run can stop after any step and go on.

Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989, algorithm 2.1 (s, y, c1, c2);
the search along a line as in Lewis and Overton, "Nonsmooth optimization via quasi-Newton methods", 2013, algorithm 2.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from corpuscle.learning import Learner

MEMORY = 7
_ENOUGH, _SLOPE, _TRIALS = 1e-4, 0.9, 40

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Minimiser(Learner):
    """A learner whose sweeps are steps; ``function``: point -> its value and gradient,
    float64 (n,). ``tolerance``: it has converged when a step gains less than this part of the value."""

    def __init__(self, function: Function, start: np.ndarray, *, tolerance: float = 1e-6):
        self.function, self.tolerance = function, tolerance
        self.point = np.array(start, np.float64)
        self.value, self.gradient = np.inf, np.zeros_like(self.point)
        self.before = np.inf
        self._moves: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []

    def converged(self) -> bool:
        """Whether the last step gained next to nothing."""
        return bool(self.before - self.value <= self.tolerance * max(1.0, abs(self.value)) and np.isfinite(self.before))

    def _direction(self) -> np.ndarray:
        """-H g by the two loops."""
        direction, products = -self.gradient, []
        pairs = list(zip(self._moves, self._changes, strict=True))
        for move, change in reversed(pairs):
            products.append((move @ direction) / (move @ change))
            direction -= products[-1] * change
        if pairs:
            move, change = pairs[-1]
            direction *= (move @ change) / (change @ change)
        else:
            direction /= max(1.0, float(np.linalg.norm(direction)))
        for move, change in pairs:
            direction += (products.pop() - (change @ direction) / (move @ change)) * move
        return direction

    def finish(self, sweep: int) -> float:
        """One step; returns the value that it reaches."""
        if not np.isfinite(self.value):
            self.value, self.gradient = self.function(self.point)
        direction = self._direction()
        slope, length, low, high = float(self.gradient @ direction), 1.0, 0.0, np.inf
        found = self.value, self.gradient, self.point
        for _ in range(_TRIALS):
            point = self.point + length * direction
            value, gradient = self.function(point)
            if value > self.value + _ENOUGH * length * slope:
                high = length
            else:
                found = value, gradient, point
                if gradient @ direction >= _SLOPE * slope:
                    break
                low = length
            length = 2.0 * length if high == np.inf else (low + high) / 2.0
        move, change = found[2] - self.point, found[1] - self.gradient
        if move @ change > 0.0:
            self._moves, self._changes = [*self._moves, move][-MEMORY:], [*self._changes, change][-MEMORY:]
        self.before = self.value
        self.value, self.gradient, self.point = found
        return self.value

    def state(self) -> dict[str, np.ndarray]:
        shape = len(self._moves), len(self.point)
        moves, changes = (np.array(each).reshape(shape) for each in (self._moves, self._changes))
        found = {"point": self.point, "gradient": self.gradient, "moves": moves, "changes": changes}
        return found | {"values": np.array([self.value, self.before])}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if len(arrays["point"]) != len(self.point):
            raise ValueError("it does not fit the text")
        self.point, self.gradient = np.array(arrays["point"]), np.array(arrays["gradient"])
        self._moves, self._changes = ([np.array(row) for row in arrays[name]] for name in ("moves", "changes"))
        self.value, self.before = map(float, arrays["values"])
