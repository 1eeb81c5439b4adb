"""What a log-linear language model minimises, how its weights are found, and how strong its penalty should be.

The objective is the mean loss of a text over a suffix tree, and a penalty on weights: the passes of
``lm.kernels.loglinear`` and the operators of ``lm.kernels.proximal``, joined to an
``Objective``. The tree is cut into parts of whole subtrees below the root. Parts go to threads, and what
they say to the root is added up in their order, so the number of threads changes nothing.

Depth can count in two ways (``weighting``), with a = ``weighted``: a weight at depth d counts a^d times in scores
(``feature``; by ``node`` the same with one step a node of the collapsed tree), or its threshold is a^d times as high
(``penalty``). Under l1 and squared l2 a weight w that counts a^d times is the same as a weight a^d w that counts once,
with a threshold divided by a^d or its square; that problem is the easier one, and is solved instead.

The metric of a step is constant within the tree of a word, as the tree penalties need it: the geometric mean of the
frequency of the word, which bounds how steep the loss is in its weights, and that of the most frequent one. Rare words
take longer steps, by far, and a third of the iterations are enough.

A *trial* has a strength and a weight by depth. It begins with the best weights so far and takes passes, ten at a time,
until they gain nothing: of the objective, or on the development text if there is one. From the first trial on, the
strength goes up by steps as long as that helps, or else down; then the weight by depth does. All decisions follow from
the history alone, so a run that was stopped finds its way from its history, and ends where it would have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.lm.kernels import loglinear as passes
from corpuscle.lm.kernels import proximal
from corpuscle.lm.kernels.loglinear import SuffixTree, levels_of, longest_matches
from corpuscle.lm.kernels.proximal import Fista, Stochastic
from corpuscle.lm.settings import PENALTIES
from corpuscle.model import Array
from corpuscle.random import Random
from corpuscle.scale import chunks_of, each

_PART = 1 << 18
"""About how many entries a thread deals with at a time."""
_UNSEEN = 0.5
"""The frequency that words without occurrences have in the metric."""
BLOCK = 10
"""The number of passes in a sweep of the learner, after which it looks where it stands."""
_WINDOW, _PATIENCE = 5, 4
"""The number of blocks that the tolerance is about, and that may pass without a gain on the development text."""
_GAIN = 1e-4
"""In log probability per word, what counts as a gain on the development text."""
STRENGTHS, WEIGHTS = 1.4, 1.15
"""The steps of strengths, and of weights by depth."""
_FAR = 1e9
"""An upper bound of the length of a step, and of a run."""
COLUMNS = 4
STATE = {
    **dict.fromkeys(("weights", "point", "best"), Array("float64", ("entries",), finite=True)),
    "numbers": Array("float64", ("numbers",), finite=True),
}
"""What unfinished work keeps."""


class Shape(NamedTuple):
    """A penalty: its name, how ``weighted`` it is by depth, and how that is meant, ``weighting``; ``signed``: weights
    of contexts with fewer words may be negative."""

    penalty: str
    weighted: float = 1.0
    weighting: str = "feature"
    signed: int = 0


def may_collapse(shape: Shape) -> str:
    """Why the weights of a collapsed node do not stay equal under a penalty; empty if they do."""
    if shape.penalty == "tree-l2":
        return "tree-l2 tears collapsed contexts apart"
    if shape.signed > 1:
        return "weights of words that never followed a context differ within a collapsed one"
    if shape.weighted == 1.0 or shape.weighting == "node":
        return ""
    if shape.weighting == "feature":
        return "weights by depth differ within a collapsed context; --weighting node has one for each"
    if shape.penalty != "tree-linf":
        return f"thresholds by depth tear collapsed contexts apart under {shape.penalty}"
    return "thresholds that grow with depth tear collapsed contexts apart" if shape.weighted > 1.0 else ""


class Objective:
    """The mean loss of a text and ``strength`` / positions times a penalty, as ``Fista`` and ``Stochastic`` need it.

    - ``uniform``: the same metric for all words, as the stochastic method has it;
    - ``metric``: float64 (n,), see ``lm.kernels.proximal``; ``sizes``: int32 (n,), how many coordinates of one value
      each number stands for, so that sums over coordinates count it as often. A gradient is that of one of them.
    """

    def __init__(
        self, tree: SuffixTree, predictable: np.ndarray, shape: Shape, strength: float, *,
        uniform: bool = False, threads: int = 1,
    ):  # fmt: skip
        self.tree, self.shape, self.strength, self.threads = tree, shape, strength, threads
        self.positions = int(tree.ends.sum())
        nodes, self._kind = tree.entry_nodes, PENALTIES.index(shape.penalty)
        self.sizes = frozen(tree.sizes[nodes], np.int32)
        frequency = np.maximum(tree.counts[: len(predictable)], _UNSEEN) / self.positions
        metric = np.sqrt(frequency * frequency.max())[tree.words]
        self.metric = frozen(np.ones_like(metric) if uniform else metric, np.float64)
        slopes, factors = self._by_depth()
        gains = slopes * tree.sizes
        price = self.strength / self.positions * factors[nodes] / self.metric
        self._forest = proximal.Forest(tree.entry_parents, self.sizes, frozen(price, np.float64))
        base = np.where(predictable, 0.0, -np.inf)
        self._passes = passes.Passes(
            tree, frozen(gains, np.float64), frozen(slopes, np.float64), frozen(base, np.float64),
            np.empty(tree.n_entries), np.empty(len(tree.parents)), np.empty(len(tree.parents)),
        )  # fmt: skip
        self._scratch = np.empty(tree.n_entries)
        self._heaps = proximal.heaps_of(tree.n_entries if shape.penalty == "tree-linf" else 0)
        edges = np.append(np.flatnonzero(tree.parents == 0), len(tree.parents))
        self._parts = list(pairwise(edges[chunks_of(np.diff(tree.starts[edges]), _PART)].tolist()))

    def _by_depth(self) -> tuple[np.ndarray, np.ndarray]:
        """What weights count, and the factors of thresholds, float64 (nodes,) each."""
        tree, shape, ones = self.tree, self.shape, np.ones(len(self.tree.parents))
        collapsed = self._kind in (2, 3)  # under l1 and squared l2 every one of the contexts pays for itself
        if shape.weighting == "penalty":
            factors = shape.weighted ** tree.depths.astype(np.float64)
            if collapsed:  # the sum of the thresholds of all contexts of a node
                factors *= sum(np.where(tree.sizes > k, shape.weighted**k, 0.0) for k in range(tree.sizes.max()))
            return ones, factors
        depths = levels_of(tree) if shape.weighting == "node" else tree.depths
        slopes = shape.weighted ** depths.astype(np.float64)
        if collapsed:
            return slopes, ones * tree.sizes
        return ones, slopes ** -(1.0 if shape.penalty == "l1" else 2.0)

    def see(self, entries: np.ndarray | None) -> None:
        """Predict these positions alone, given as the entries of the longest n-grams there; or all of them again."""
        ends, counts = self.tree.ends, self.tree.counts
        if entries is not None:
            counts = np.bincount(entries, minlength=self.tree.n_entries).astype(np.int32)
            ends = np.add.reduceat(counts, self.tree.starts[:-1])  # while counts are those of longest n-grams alone
            passes.add_upwards(self.tree, counts)
        seen = self.tree._replace(ends=frozen(ends, np.int32), counts=frozen(counts, np.int32))
        self._passes = self._passes._replace(tree=seen)
        self.positions = int(ends.sum())

    def _each(self, function: Callable[[int, int, int], Any]) -> list[Any]:
        """``function(number, first node, last node)`` of every part, in order."""
        parts = [(number, *part) for number, part in enumerate(self._parts)]
        if len(parts) == 1:
            return [function(*parts[0])]
        return each(lambda part: function(*part), parts, self.threads)

    def _entries(self, first: int, last: int) -> tuple[int, int]:
        return int(self.tree.starts[first]), int(self.tree.starts[last])

    def loss(self, point: np.ndarray) -> float:
        """The mean loss at a point; infinite where scores are too large."""
        total = passes.root_down(self._passes, point, self.positions)
        total += sum(self._each(lambda _, first, last: passes.tree_down(self._passes, point, first, last)))
        return total / self.positions if np.isfinite(total) else np.inf

    def gradient(self, point: np.ndarray, out: np.ndarray) -> float:
        """The mean loss at a point, and its gradient."""
        roots = np.zeros((len(self._parts), int(self.tree.starts[1]) + 1))

        def both(number: int, first: int, last: int) -> float:
            loss = passes.tree_down(self._passes, point, first, last)
            passes.tree_up(self._passes, self.positions, first, last, roots[number], out)
            return loss

        total = passes.root_down(self._passes, point, self.positions) + sum(self._each(both))
        passes.root_up(self._passes, self.positions, roots.sum(0), out)
        return total / self.positions if np.isfinite(total) else np.inf

    def update(self, point: np.ndarray, gradient: np.ndarray, scale: float, out: np.ndarray) -> None:
        """A step against the gradient, negative weights to zero, and the proximal operator of the penalty: the formula
        of ``lm.kernels.proximal``, ``scale`` being h."""
        forest, heaps, room, parts = self._forest, self._heaps, self._scratch, len(self._parts)
        signed, top = self.shape.signed, int(self.tree.starts[1])

        def descend(first: int, last: int) -> tuple[int, int]:
            passes.descend(self.tree, point, gradient, self.metric, scale, signed, out, first, last)
            return self._entries(first, last)

        if self._kind < 2:

            def alone(_: int, first: int, last: int) -> None:
                proximal.each_alone(forest.thresholds, scale, self._kind == 0, *descend(first, last), out)

            alone(0, 0, 1)
            self._each(alone)
            return
        # penalties of trees: all parts up, then the root with what they have left to it; the root down, then all parts
        left: Any = np.zeros((parts, top))
        up, down = proximal.shrink_up, proximal.shrink_down
        if self.shape.penalty == "tree-linf":
            up, down = proximal.cut_up, proximal.cut_down
            heads, masses = np.full((parts, top), proximal.EMPTY, np.int32), left
            left = [(heaps, *pair) for pair in zip(heads, masses, strict=True)]
        self._each(lambda part, first, last: up(forest, out, scale, *descend(first, last), top, left[part], room))
        if self.shape.penalty == "tree-linf":
            proximal.merge_heads(heaps, heads)
            left = heaps, heads[0], masses.sum(0)
        else:
            left = left.sum(0)
        up(forest, out, scale, *descend(0, 1), top, left, room)
        down(forest, 0, top, room, out)
        self._each(lambda _, first, last: down(forest, *self._entries(first, last), room, out))

    def penalty(self, point: np.ndarray) -> float:
        return float(proximal.penalty_of(self._forest, self.metric, self._kind, point, self._scratch))

    @property
    def row_slopes(self) -> np.ndarray:
        """What a weight of 1 adds to the scores of each n-gram, float64 (rows,)."""
        return np.repeat(self._passes.slopes, np.diff(self.tree.starts))[self.tree.entry_of]

    def added(self, point: np.ndarray) -> np.ndarray:
        """What every n-gram adds to scores, float64 (rows,)."""
        return self.row_slopes * point[self.tree.entry_of]


class Development:
    """A development text, by the longest context and the longest n-gram of every event."""

    def __init__(self, ngrams: Ngrams, symbols: np.ndarray, predictable: np.ndarray, start: int, end: int):
        contexts, rows = longest_matches(ngrams, symbols, start, end)
        self.ngrams, self.contexts, self.rows = ngrams, contexts[rows >= 0], rows[rows >= 0]
        self.base = frozen(np.where(predictable, 0.0, -np.inf), np.float64)

    def log_probability(self, added: np.ndarray) -> float:
        """The mean log probability of an event, given what every n-gram adds to its score."""
        scores, totals = np.empty(len(added)), np.empty(len(self.ngrams.first_child))
        passes.score_rows(self.ngrams, frozen(added, np.float64), self.base, scores, totals)
        return float((scores[self.rows] - totals[self.contexts]).mean())


class Batches:
    """The positions of a text, some of them at a time, as the counts of a suffix tree.

    ``entries``: int32 (positions,), the longest n-gram at each position, as an entry of the tree.
    """

    def __init__(self, entries: np.ndarray, size: int, seed: int):
        self.entries, self.size, self.seed = entries, size, seed
        self.number, self._pass = -(-len(entries) // size), -1

    def show(self, objective: Objective, number: int, step: int) -> None:
        """Let an objective see the batch ``step`` of the pass ``number``."""
        if number != self._pass:
            uniforms = Random(self.seed, "lm.loglinear", number, 0).uniforms(len(self.entries))
            self._pass, self._order = number, np.argsort(uniforms, kind="stable")
        objective.see(self.entries[self._order[step * self.size : (step + 1) * self.size]])


class Search:
    """Where the trials go, from rows of the history: strength, weight by depth, objective, log probability of the
    development text (0 if there is none). ``first``: strength and weight by depth of the first trial, and ``tuned``:
    which of them are to be chosen.

    A trial ends after this number of ``passes``, when less than ``tolerance`` is gained, or, ``early``, when the
    development text gains nothing.
    """

    def __init__(
        self, first: tuple[float, float], tuned: tuple[bool, bool], passes: int, tolerance: float, early: bool
    ):
        self.passes, self.tolerance, self.tuned, self.early = passes, tolerance, tuned, early
        self.trial, self.over = first, False
        self.rows: list[tuple[float, ...]] = []
        self.best: tuple[float, tuple[float, float]] = (-np.inf, first)
        self._axis = 0 if tuned[0] else 1
        self._factor = (STRENGTHS, WEIGHTS)[self._axis]
        self._tried, self._improved = {first}, False

    def see(self, row: tuple[float, ...]) -> tuple[bool, bool]:
        """Take a row in: whether it is the best so far, and whether another trial begins with it (or none)."""
        self.rows.append(row)
        is_done = self._is_done()
        counts = self.early or is_done  # else a trial is judged by its end
        is_best = counts and (row[3] > self.best[0] or row[3] == 0.0)
        self._improved = self._improved or (counts and row[3] > self.best[0] + _GAIN)
        if is_best:
            self.best = (row[3], self.trial)
        if is_done:
            self._next()
        return is_best, is_done

    def _is_done(self) -> bool:
        rows = self.rows
        if len(rows) * BLOCK >= self.passes:
            return True
        if self.early and rows[-1][3] != 0.0 and len(rows) > _PATIENCE:
            gains = [row[3] for row in rows]
            if max(gains[-_PATIENCE:]) < max(gains[:-_PATIENCE]) + _GAIN:
                return True
        return len(rows) > _WINDOW and rows[-1 - _WINDOW][2] - rows[-1][2] < self.tolerance * abs(rows[-1][2])

    def _next(self) -> None:
        improved, self.rows, self._improved = self._improved, [], False
        while any(self.tuned):
            if not improved and self._factor > 1.0:  # not this way: try the other
                self._factor, improved = 1.0 / self._factor, True
            elif not improved:  # neither way: the other axis
                if self._axis == 1 or not self.tuned[1]:
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
        self.objective = self.make(*self.search.trial)
        if self.batches is None:
            self.optimiser: Fista | Stochastic = Fista(self.objective, weights)
        else:
            squared = self.objective.shape.penalty == "l2"
            convexity = self.objective.strength / self.objective.positions if squared else 0.0
            self.optimiser = Stochastic(self.objective, weights, self.steepness, convexity, self.noise)

    def steps(self, sweep: int) -> int:
        """Passes of a block, or batches of them; the last block of a trial may be shorter."""
        passes = min(BLOCK, self.search.passes - BLOCK * len(self.search.rows))
        return passes * (1 if self.batches is None else self.batches.number)

    def step(self, sweep: int, number: int) -> None:
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
