"""What a log-linear language model minimises: the mean loss of a text over a suffix tree, and a penalty on weights.

Joins the passes of ``lm.kernels.loglinear`` and the operators of ``engine.optim.proximal`` to a ``Problem`` of
``engine.optim.accelerated``. The tree is cut into parts of whole subtrees below the root. Parts go to threads, and what
they say to the root is added up in their order, so the number of threads changes nothing.

Depth can count in two ways (``weighting``), with a = ``weighted``: a weight at depth d counts a^d times in scores
(``feature``; by ``node`` the same with one step a node of the collapsed tree), or its threshold is a^d times as high
(``penalty``). Under l1 and squared l2 a weight w that counts a^d times is the same as a weight a^d w that counts once,
with a threshold divided by a^d or its square; that problem is the easier one, and is solved instead.

The metric of a step is constant within the tree of a word, as the tree penalties need it: the geometric mean of the
frequency of the word, which bounds how steep the loss is in its weights, and that of the most frequent one. Rare words
take longer steps, by far, and a third of the iterations are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.suffixes import SuffixTree, levels_of
from corpuscle.engine.optim import proximal
from corpuscle.lm.kernels import loglinear as passes
from corpuscle.lm.settings import PENALTIES
from corpuscle.scale import chunks_of, each

__all__ = ["Objective", "Shape", "may_collapse"]

_PART = 1 << 18
"""About how many entries a thread deals with at a time."""
_UNSEEN = 0.5
"""The frequency that words without occurrences have in the metric."""


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
    """The mean loss of a text and ``strength`` / positions times a penalty; see ``Problem``.

    ``uniform``: the same metric for all words, as the stochastic method has it.
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
        room = np.empty(tree.n_entries), np.empty(len(nodes)), np.empty(len(tree.parents)), np.empty(len(tree.parents))
        self._passes = passes.Passes(
            tree.parents, tree.starts, tree.entry_parents, frozen(gains, np.float64), frozen(slopes, np.float64),
            tree.ends, tree.counts, frozen(base, np.float64), room[0], room[2], room[3],
        )  # fmt: skip
        self._scratch = room[1]
        self._heaps = proximal.heaps_of(tree.n_entries if shape.penalty == "tree-linf" else 0)
        tops = np.flatnonzero(tree.parents == 0)
        entries = np.diff(tree.starts[np.append(tops, len(tree.parents))])
        self._parts = list(pairwise(np.append(tops, len(tree.parents))[chunks_of(entries, _PART)].tolist()))

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
            ends, counts = np.zeros_like(ends), np.zeros_like(counts)
            passes.count_positions(self.tree.starts, self.tree.entry_parents, frozen(entries, np.int32), ends, counts)
        self._passes = self._passes._replace(ends=frozen(ends, np.int32), counts=frozen(counts, np.int32))
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
        """A step against the gradient, negative weights to zero, and the proximal operator of the penalty."""
        depths, starts, signed = self.tree.depths, self.tree.starts, self.shape.signed

        def descend(first: int, last: int) -> tuple[int, int]:
            passes.descend(starts, depths, (point, gradient), self.metric, scale, signed, out, first, last)
            return self._entries(first, last)

        if self._kind < 2:

            def alone(_: int, first: int, last: int) -> None:
                proximal.each_alone(self._forest.thresholds, scale, self._kind == 0, *descend(first, last), out)

            alone(0, 0, 1)
            self._each(alone)
        elif self.shape.penalty == "tree-l2":
            self._shrink(descend, scale, out)
        else:
            self._cut(descend, scale, out)

    def _shrink(self, descend: Callable[[int, int], tuple[int, int]], scale: float, out: np.ndarray) -> None:
        """Tree l2 of all parts, then of the root, then down again."""
        top, shares = int(self.tree.starts[1]), self._scratch
        squares = np.zeros((len(self._parts), top))

        def up(number: int, first: int, last: int) -> None:
            proximal.shrink_up(self._forest, out, scale, *descend(first, last), top, squares[number], shares)

        def down(_: int, first: int, last: int) -> None:
            proximal.shrink_down(self._forest, *self._entries(first, last), shares, out)

        self._each(up)
        descend(0, 1)
        proximal.shrink_up(self._forest, out, scale, 0, top, top, squares.sum(0), shares)
        down(0, 0, 1)
        self._each(down)

    def _cut(self, descend: Callable[[int, int], tuple[int, int]], scale: float, out: np.ndarray) -> None:
        """Tree l-infinity of all parts, then of the root, then down again."""
        top, heights, parts = int(self.tree.starts[1]), self._scratch, len(self._parts)
        heads, masses = np.full((parts, top), -1, np.int32), np.zeros((parts, top))

        def up(number: int, first: int, last: int) -> None:
            part, left = descend(first, last), (heads[number], masses[number])
            proximal.cut_up(self._forest, out, scale, part, top, left, self._heaps, heights)

        def down(_: int, first: int, last: int) -> None:
            proximal.cut_down(self._forest, *self._entries(first, last), heights, out)

        self._each(up)
        descend(0, 1)
        proximal.merge_heads(self._heaps, heads)
        proximal.cut_up(self._forest, out, scale, (0, top), top, (heads[0], masses.sum(0)), self._heaps, heights)
        down(0, 0, 1)
        self._each(down)

    def penalty(self, point: np.ndarray) -> float:
        """What the penalty takes at a point."""
        return float(proximal.penalty_of(self._forest, self.metric, self._kind, point, self._scratch))

    @property
    def row_slopes(self) -> np.ndarray:
        """What a weight of 1 adds to the scores of each n-gram, float64 (rows,)."""
        return np.repeat(self._passes.slopes, np.diff(self.tree.starts))[self.tree.entry_of]

    def added(self, point: np.ndarray) -> np.ndarray:
        """What every n-gram adds to scores, float64 (rows,)."""
        return self.row_slopes * point[self.tree.entry_of]
