"""Finding the weights of a log-linear model, and on a development text how strong its penalty should be.

A *trial* has a strength and a weight by depth. It begins with the best weights so far and takes passes, ten at a time,
until they gain nothing: of the objective, or on the development text if there is one. From the first trial on, the
strength goes up by steps as long as that helps, or else down; then the weight by depth does. All decisions follow from
the history alone, so a run that was stopped finds its way from its history, and ends where it would have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.suffixes import longest_matches
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.engine.optim.accelerated import Fista, Stochastic
from corpuscle.lm.kernels.loglinear import score_rows
from corpuscle.lm.objective import Objective
from corpuscle.model import Array
from corpuscle.random import Random

__all__ = ["BLOCK", "STATE", "Batches", "Development", "Fitting", "Rules", "Search"]

BLOCK = 10
"""So many passes are one sweep of the learner, after which it looks where it stands."""
_WINDOW = 5
"""The tolerance is about so many blocks."""
_PATIENCE = 4
"""So many blocks may pass without a gain on the development text."""
_GAIN = 1e-4
"""In log probability a word, what counts as a gain on the development text."""
STRENGTHS, WEIGHTS = 1.4, 1.15
"""The steps of strengths, and of weights by depth."""

_FAR = 1e9
"""No step is so long, and no run."""

COLUMNS = 4
STATE = {
    "weights": Array("float64", ("entries",), finite=True),
    "point": Array("float64", ("entries",), finite=True),
    "best": Array("float64", ("entries",), finite=True),
    "numbers": Array("float64", ("numbers",), finite=True),
}
"""What unfinished work keeps."""


class Development:
    """A development text, by the longest context and the longest n-gram of every event."""

    def __init__(self, ngrams: Ngrams, symbols: np.ndarray, predictable: np.ndarray, start: int, end: int):
        contexts, rows = longest_matches(ngrams, symbols, start, end)
        self.ngrams, self.contexts, self.rows = ngrams, contexts[rows >= 0], rows[rows >= 0]
        self.base = frozen(np.where(predictable, 0.0, -np.inf), np.float64)

    def log_probability(self, added: np.ndarray) -> float:
        """The mean log probability of an event, given what every n-gram adds to its score."""
        scores, totals = np.empty(len(added)), np.empty(len(self.ngrams.first_child))
        score_rows(self.ngrams, frozen(added, np.float64), self.base, scores, totals)
        return float((scores[self.rows] - totals[self.contexts]).mean())


class Batches:
    """The positions of a text, some of them at a time, as the counts of a suffix tree.

    ``entries``: int32 (positions,), the longest n-gram at each position, as an entry of the tree.
    """

    def __init__(self, entries: np.ndarray, size: int, seed: int):
        self.entries, self.size, self.seed = entries, size, seed
        self.number = -(-len(entries) // size)

    def show(self, objective: Objective, number: int, step: int) -> None:
        """Let an objective see the batch ``step`` of the pass ``number``."""
        if step == 0 or number != getattr(self, "_pass", None):
            uniforms = Random(self.seed, "lm.loglinear", number, 0).uniforms(len(self.entries))
            self._pass, self._order = number, np.argsort(uniforms, kind="stable")
        objective.see(self.entries[self._order[step * self.size : (step + 1) * self.size]])


class Rules(NamedTuple):
    """When a trial ends: after so many ``passes``, when less than ``tolerance`` is gained, or, ``early``, when the
    development text gains nothing; ``tuned`` says whether strength and weight are to be chosen."""

    passes: int
    tolerance: float
    tuned: tuple[bool, bool] = (False, False)
    early: bool = True


class Search:
    """Where the trials go, from rows of the history: strength, weight by depth, objective, log probability of the
    development text (0 if there is none)."""

    def __init__(self, rules: Rules, strength: float, weighted: float):
        self.rules, self.first = rules, (strength, weighted)
        self.trial, self.over = self.first, False
        self.rows: list[tuple[float, ...]] = []
        self.best: tuple[float, tuple[float, float]] = (-np.inf, self.first)
        self._axis = 0 if rules.tuned[0] else 1
        self._factor = (STRENGTHS, WEIGHTS)[self._axis]
        self._tried, self._improved = {self.first}, False

    def see(self, row: tuple[float, ...]) -> tuple[bool, bool]:
        """Take a row in: whether it is the best so far, and whether another trial begins with it (or none)."""
        self.rows.append(row)
        is_done = self._is_done()
        counts = self.rules.early or is_done  # else a trial is judged by its end
        is_best = counts and (row[3] > self.best[0] or row[3] == 0.0)
        self._improved = self._improved or (counts and row[3] > self.best[0] + _GAIN)
        if is_best:
            self.best = (row[3], self.trial)
        if is_done:
            self._next()
        return is_best, is_done

    def _is_done(self) -> bool:
        """Whether the present trial gains nothing any more."""
        rows = self.rows
        if len(rows) * BLOCK >= self.rules.passes:
            return True
        if self.rules.early and rows[-1][3] != 0.0 and len(rows) > _PATIENCE:
            gains = [row[3] for row in rows]
            if max(gains[-_PATIENCE:]) < max(gains[:-_PATIENCE]) + _GAIN:
                return True
        return len(rows) > _WINDOW and rows[-1 - _WINDOW][2] - rows[-1][2] < self.rules.tolerance * abs(rows[-1][2])

    def _next(self) -> None:
        """Choose the next trial, or none."""
        improved, self.rows, self._improved = self._improved, [], False
        while any(self.rules.tuned):
            if not improved and self._factor > 1.0:  # not this way: try the other
                self._factor, improved = 1.0 / self._factor, True
            elif not improved:  # neither way: the other axis
                if self._axis == 1 or not self.rules.tuned[1]:
                    break
                self._axis, self._factor, improved = 1, WEIGHTS, True
            trial = list(self.best[1])
            trial[self._axis] *= self._factor
            self.trial = (trial[0], trial[1])
            if self.trial not in self._tried:
                self._tried.add(self.trial)
                return
            improved = False
        self.over = True


class Fitting:
    """The learner, see ``corpuscle.learning``: a sweep is a block of passes.

    ``make(strength, weighted)`` gives the objective of a trial; ``batches`` are shown by the stochastic method.
    """

    def __init__(
        self, make: Callable[[float, float], Objective], weights: np.ndarray, search: Search,
        dev: Development | None = None, batches: Batches | None = None, steepness: float = 0.05, noise: float = 1e-4,
    ):  # fmt: skip
        self.make, self.search, self.dev, self.batches = make, search, dev, batches
        self.steepness, self.noise = steepness, noise
        self.best = weights.copy()
        self._begin(weights)

    def _begin(self, weights: np.ndarray) -> None:
        """A trial from some weights."""
        self.objective = self.make(*self.search.trial)
        if self.batches is None:
            self.optimiser: Fista | Stochastic = Fista(self.objective, weights)
        else:
            squared = self.objective.shape.penalty == "l2"
            convexity = self.objective.strength / self.objective.positions if squared else 0.0
            self.optimiser = Stochastic(self.objective, weights, self.steepness, convexity, self.noise)

    def steps(self, sweep: int) -> int:
        """Passes of a block, or batches of them; the last block of a trial may be shorter."""
        passes = min(BLOCK, self.search.rules.passes - BLOCK * len(self.search.rows))
        return passes * (1 if self.batches is None else self.batches.number)

    def step(self, sweep: int, number: int) -> None:
        """A pass, or a batch of one."""
        if self.batches is not None:
            inside, batch = divmod(number, self.batches.number)
            self.batches.show(self.objective, sweep * BLOCK + inside, batch)
        self.optimiser.step()

    def finish(self, sweep: int) -> tuple[float, ...]:
        """Look where the passes have come to; begin another trial if this one is over."""
        objective, weights = self.objective, self.optimiser.weights
        if self.batches is not None:
            objective.see(None)
        value = objective.loss(weights) + objective.penalty(weights)
        gained = 0.0 if self.dev is None else self.dev.log_probability(objective.added(weights))
        row = (objective.strength, objective.shape.weighted, value, gained)
        is_best, is_over = self.search.see(row)
        if is_best:
            self.best = weights.copy()
        if is_over and not self.search.over:
            self._begin(self.best)
        return row

    def state(self) -> dict[str, np.ndarray]:
        """Where the method stands, and the best weights so far."""
        return {**self.optimiser.state(), "best": self.best}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Go through the history again, which says which trial this is."""
        if len(arrays["best"]) != len(self.best):
            raise ValueError("it does not fit the text")
        numbers = arrays["numbers"]
        if len(numbers) != len(self.optimiser.state()["numbers"]) or (numbers < 0).any() or numbers.max() > _FAR:
            raise ValueError("it does not say how far it has come")
        if self.batches is None and (numbers[0] < 1.0 / _FAR or numbers[1] < 1.0):
            raise ValueError("it does not say how long its steps are")
        if not all(np.isfinite(self.objective.loss(np.array(arrays[name]))) for name in ("weights", "point", "best")):
            raise ValueError("its weights are too large")
        for row in arrays["history"]:
            if self.search.over:
                raise ValueError("its history goes on behind its end")
            self.search.see(tuple(row.tolist()))
        if not self.search.over:
            self._begin(self.best)
        self.best = np.array(arrays["best"])
        self.optimiser.restore(arrays)
