"""Proximal gradient methods: penalties on vectors and on trees, and the least of a smooth loss plus such a penalty.

**Operators**: the point near a given one that a penalty likes best.

    prox(u) = argmin_w  1/2 |w - u|^2 + Omega(w)

Entries form a forest: ``parents`` int32 (n,) has the parent of each, -1 for roots, and parents come before their
children, so that every pass is a plain loop. Each entry has a threshold k, float64 (n,). An entry may stand for c
entries of one value that follow one another without a branch (``counts`` int32 (n,)); its threshold is then the sum of
theirs.

- l1, Omega = sum k |w|; squared l2, Omega = sum k w^2 / 2.
- Tree l2, Omega = sum_j k_j |w below j|_2, where "below j" includes j. Children first, the norm of what is left of each
  subtree and the share of it that stays; parents first, every entry is multiplied by the shares above it. An entry that
  becomes zero takes all below it along.
- Tree l-infinity, Omega = sum_j k_j max |w below j|. Children first, each subtree is cut at the height r_j above which
  it has the mass k_j. Entries that were cut together stay equal for ever, so a subtree is a heap of (value, how many),
  and what is cut becomes one item of it: hardly more than one item is taken away an entry, whatever the thresholds.

The heaps are pairing heaps, trees whose parents are not smaller than their children: merging two hangs the smaller root
below the larger one. Taking the largest item away leaves its children, which are merged in pairs, and the pairs from
the last to the first. All heaps live in two arrays, ``child`` and ``sibling`` int32 (items,): the first child of an
item and the next child of its parent, or ``EMPTY``. A heap is the number of its largest item.

Signs of ``u`` are kept: all four penalties look at sizes alone. To have w >= 0, set what is negative to zero before.

Jenatton, Mairal, Obozinski and Bach, "Proximal methods for hierarchical sparse coding", 2011 (the order of the
projections); Nelakanti, Archambeau, Mairal, Bach and Bouchard, "Structured penalties for log-linear language models",
2013, algorithms 2 to 4 (algorithm 4 needs the mass c v where it prints v); Fredman, Sedgewick, Sleator and Tarjan, "The
pairing heap: a new form of self-adjusting heap", 1986. Notation: u, k, c, r, rho as there; kappa is k.

**Accelerated gradients**: one update from a point X goes against the gradient, then to where the penalty is content:

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.errors import SettingError

EMPTY = -1


class Forest(NamedTuple):
    """The entries of some trees: ``parents`` int32 (n,), ``counts`` int32 (n,), ``thresholds`` float64 (n,)."""

    parents: np.ndarray
    counts: np.ndarray
    thresholds: np.ndarray


class Heaps(NamedTuple):
    """Room for the heaps of a forest: ``values`` and ``masses`` float64 (n,), ``many`` int64 (n,), ``child``,
    ``sibling`` and ``heads`` int32 (n,)."""

    values: np.ndarray
    masses: np.ndarray
    many: np.ndarray
    child: np.ndarray
    sibling: np.ndarray
    heads: np.ndarray


@part(inline=True)
def merge_heaps(values, child, sibling, a, b):
    """The heap of all items of two heaps; of equal values that of ``a`` stays on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if values[b] > values[a]:
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@part(bare=True)
def without_top(values, child, sibling, heap):
    """What is left of a heap without its largest item."""
    at = child[heap]
    child[heap] = EMPTY
    if at < 0 or sibling[at] < 0:
        return at
    pairs = EMPTY  # merged pairs, the last one first
    while at >= 0:
        mate = sibling[at]
        following = sibling[mate] if mate >= 0 else EMPTY
        sibling[at] = EMPTY
        if mate >= 0:
            sibling[mate] = EMPTY
            at = merge_heaps(values, child, sibling, at, mate)
        sibling[at] = pairs
        pairs, at = at, following
    heap = EMPTY
    while pairs >= 0:
        following = sibling[pairs]
        sibling[pairs] = EMPTY
        heap = merge_heaps(values, child, sibling, heap, pairs)
        pairs = following
    return heap


def heaps_of(n: int) -> Heaps:
    links = (np.empty(n, np.int32) for _ in range(3))
    return Heaps(np.empty(n), np.empty(n), np.empty(n, np.int64), *links)


def forest_of(parents: np.ndarray, thresholds: np.ndarray | float, counts: np.ndarray | None = None) -> Forest:
    """A forest whose arrays have been checked; a single threshold is that of every one of the ``counts``."""
    parents = frozen(parents, np.int32)
    n = len(parents)
    counts = np.ones(n, np.int32) if counts is None else counts
    if np.ndim(thresholds) == 0:
        thresholds = np.asarray(counts) * float(thresholds)
    forest = Forest(parents, frozen(counts, np.int32), frozen(np.asarray(thresholds), np.float64))
    if any(array.shape != (n,) for array in forest):
        raise SettingError("parents, thresholds and counts have one number an entry")
    if n and not ((parents >= -1) & (parents < np.arange(n))).all():
        raise SettingError("a parent stands before its children")
    if not ((forest.thresholds >= 0) & np.isfinite(forest.thresholds)).all() or (forest.counts < 1).any():
        raise SettingError("thresholds are finite and not negative, counts at least 1")
    return forest


def l1(u: np.ndarray, thresholds: np.ndarray | float) -> np.ndarray:
    """Every entry moved towards zero by its threshold."""
    return np.sign(u) * np.maximum(0.0, np.abs(u) - thresholds)


def squared_l2(u: np.ndarray, thresholds: np.ndarray | float) -> np.ndarray:
    """Every entry divided by one plus its threshold."""
    return u / (1.0 + np.asarray(thresholds))


# A forest is processed in parts, on threads. The entries 0 to ``top`` belong to all parts; a part is a range of entries
# with whole subtrees below the top, and what it adds to the top goes to a row of its own. ``scale`` divides all
# thresholds.


@kernel
def shrink_up(forest, u, scale, first, last, top, squares, shares):
    """Tree l2, children first: what entries keep, ``shares`` (n,), and for entries before ``top`` the sum of squares
    that is left below them, ``squares`` (top,), which this adds to."""
    room = shares  # until an entry has its share, the squares that are left below it
    for j in range(first, last):
        room[j] = 0.0
    for j in range(last - 1, first - 1, -1):
        below = squares[j] if j < top else room[j]
        total = forest.counts[j] * u[j] * u[j] + below
        share, parent = 0.0, forest.parents[j]
        if total > 0.0:
            share = max(0.0, 1.0 - forest.thresholds[j] / scale / np.sqrt(total))
        shares[j] = share
        if parent >= 0 and share > 0.0:
            if parent < top:
                squares[parent] += share * share * total
            else:
                room[parent] += share * share * total


@kernel
def shrink_down(forest, first, last, shares, out):
    """Tree l2, parents first: the entries are multiplied by all shares above them, in place."""
    for j in range(first, last):
        if forest.parents[j] >= 0:
            shares[j] *= shares[forest.parents[j]]
        out[j] *= shares[j]


@part(bare=True)
def _cut(heaps, heap, threshold):
    """Cut a heap of more than ``threshold`` mass: the heap with its largest items as one, which is their height."""
    values, child, sibling, many = heaps.values, heaps.child, heaps.sibling, heaps.many
    item = heap
    total, count = 0.0, 0
    while heap >= 0 and (count == 0 or values[heap] * count > total - threshold):
        total += values[heap] * many[heap]
        count += many[heap]
        heap = without_top(values, child, sibling, heap)
    values[item], many[item] = max(0.0, (total - threshold) / count), count
    child[item], sibling[item] = heap, EMPTY  # nothing that is left is larger
    return item


@kernel
def cut_up(forest, u, scale, first, last, top, left, heights):
    """Tree l-infinity, children first: the height at which each subtree is cut, ``heights`` (n,). ``left``: the heaps
    of the forest, and two arrays (top,) of heaps and masses, into which what is left below entries before ``top`` is
    merged."""
    heaps, heads, masses = left
    values, child, sibling = heaps.values, heaps.child, heaps.sibling
    for j in range(first, last):
        heaps.heads[j], heaps.masses[j] = EMPTY, 0.0
    for j in range(last - 1, first - 1, -1):
        heap, mass = (heads[j], masses[j]) if j < top else (heaps.heads[j], heaps.masses[j])
        size, threshold, parent = abs(u[j]), forest.thresholds[j] / scale, forest.parents[j]
        if size > 0.0:
            values[j], heaps.many[j], child[j], sibling[j] = size, forest.counts[j], EMPTY, EMPTY
            heap = merge_heaps(values, child, sibling, heap, j)
            mass += size * forest.counts[j]
        if mass <= threshold:
            heights[j] = 0.0
            continue
        if threshold > 0.0:
            heap = _cut(heaps, heap, threshold)
            mass -= threshold
        heights[j] = values[heap]
        if parent >= top:
            heaps.heads[parent] = merge_heaps(values, child, sibling, heaps.heads[parent], heap)
            heaps.masses[parent] += mass
        elif parent >= 0:
            heads[parent] = merge_heaps(values, child, sibling, heads[parent], heap)
            masses[parent] += mass


@kernel
def cut_down(forest, first, last, heights, out):
    """Tree l-infinity, parents first: the entries are cut at the lowest height above them, in place."""
    for j in range(first, last):
        if forest.parents[j] >= 0:
            heights[j] = min(heights[j], heights[forest.parents[j]])
        if abs(out[j]) > heights[j]:
            out[j] = np.copysign(heights[j], out[j])


@kernel
def merge_heads(heaps, heads):
    """Merge the heaps that parts have left, ``heads`` (parts, top), into those of the first part."""
    for p in range(1, len(heads)):
        for j in range(heads.shape[1]):
            heads[0, j] = merge_heaps(heaps.values, heaps.child, heaps.sibling, heads[0, j], heads[p, j])


@kernel
def each_alone(thresholds, scale, absolute, first, last, out):
    """l1 (``absolute``) or squared l2 of the entries ``first`` to ``last``, in place."""
    for j in range(first, last):
        threshold = thresholds[j] / scale
        if absolute:
            out[j] = np.copysign(max(0.0, abs(out[j]) - threshold), out[j])
        else:
            out[j] /= 1.0 + threshold


@kernel
def penalty_of(forest, metric, kind, w, room):
    """The penalty of weights, thresholds times ``metric`` (n,) being its factors. ``kind``: 0 l1, 1 squared l2, 2 tree
    l2, 3 tree l-infinity; ``room``: float64 (n,)."""
    total = 0.0
    for j in range(len(w)):
        room[j] = 0.0
    for j in range(len(w) - 1, -1, -1):
        price, size, parent = forest.thresholds[j] * metric[j], abs(w[j]), forest.parents[j]
        if kind == 0:
            total += price * forest.counts[j] * size
        elif kind == 1:
            total += 0.5 * price * forest.counts[j] * size * size
        elif kind == 2:
            room[j] += size * size
            total += price * np.sqrt(room[j])
            if parent >= 0:
                room[parent] += room[j]
        else:
            room[j] = max(room[j], size)
            total += price * room[j]
            if parent >= 0:
                room[parent] = max(room[parent], room[j])
    return total


def _point(u: np.ndarray, forest: Forest) -> np.ndarray:
    """A copy of a point, which has been checked."""
    u = np.array(u, np.float64)
    if u.shape != forest.parents.shape or not np.isfinite(u).all():
        raise SettingError("a point has one finite number an entry")
    return u


def tree_l2(forest: Forest, u: np.ndarray) -> np.ndarray:
    """The proximal operator of the tree l2 penalty, in linear time. Entries of several cannot keep one value under it,
    so ``counts`` have to be 1."""
    out, n = _point(u, forest), len(u)
    if (forest.counts != 1).any():
        raise SettingError("tree l2 tears collapsed entries apart: it needs a count of 1 everywhere")
    shares = np.empty(n)
    shrink_up(forest, out, 1.0, 0, n, 0, np.empty(0), shares)
    shrink_down(forest, 0, n, shares, out)
    return out


def tree_linf(forest: Forest, u: np.ndarray) -> np.ndarray:
    """The proximal operator of the tree l-infinity penalty by merging heaps, in n log n."""
    out, n = _point(u, forest), len(u)
    heights = np.empty(n)
    cut_up(forest, out, 1.0, 0, n, 0, (heaps_of(n), np.empty(0, np.int32), np.empty(0)), heights)
    cut_down(forest, 0, n, heights, out)
    return out


_COOLING, _RAISE, _SLACK = 0.95, 1.5, 1e-13
"""Factors of the scale, after each step and after a trial that fails; the relative rounding error of a trial."""


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


class _Accelerated:
    """What both methods keep: ``weights``, where they stand, ``point``, from where they go on, and some numbers.
    ``problem``: a loss with a penalty, see ``lm.loglinear_fitting.Objective``."""

    NUMBERS: ClassVar[tuple[str, ...]]

    def __init__(self, problem: Any, weights: np.ndarray):
        self.problem, self.weights, self.point = problem, weights.copy(), weights.copy()
        self._gradient, self._at = np.empty_like(weights), np.empty_like(weights)

    def state(self) -> dict[str, np.ndarray]:
        numbers = np.array([getattr(self, name) for name in self.NUMBERS], np.float64)
        return {"weights": self.weights, "point": self.point, "numbers": numbers}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.weights, self.point = np.array(arrays["weights"]), np.array(arrays["point"])
        for name, number in zip(self.NUMBERS, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, number)


class Fista(_Accelerated):
    """Proximal gradients with momentum, a scale found by trying, and restarts."""

    NUMBERS = ("scale", "momentum")

    def __init__(self, problem: Any, weights: np.ndarray):
        super().__init__(problem, weights)
        self.scale, self.momentum = 1.0, 1.0

    def step(self) -> float:
        """One iteration; the loss at ``weights`` after it."""
        problem, point, after = self.problem, self.point, self._at
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
            np.subtract(after, self.weights, out=self.point)
            self.point *= (self.momentum - 1.0) / following
            self.point += after
            self.momentum = following
        self.weights, self._at = after, self.weights
        return loss


class Stochastic(_Accelerated):
    """Accelerated gradients of parts of the data, which ``problem`` has been shown before each step.

    ``steepness`` is a bound of the curvature by the metric, ``convexity`` one from below: 0, or what a squared l2
    penalty has. Without convexity the scale grows as ``noise`` times the number of steps to the power of 1.5.
    """

    NUMBERS = ("steps", "share", "decay")

    def __init__(
        self, problem: Any, weights: np.ndarray, steepness: float, convexity: float = 0.0, noise: float = 1e-4
    ):
        super().__init__(problem, weights)
        self.steepness, self.convexity, self.noise = steepness, convexity, noise
        self.steps, self.share, self.decay = 0.0, 1.0, 1.0

    def step(self) -> float:
        """One step; the loss, of the part that is shown, at the point that it is taken from."""
        convexity = self.convexity
        if convexity > 0.0:
            scale = self.steepness + convexity / self.decay
        else:
            self.share, scale = 2.0 / (self.steps + 2.0), self.steepness + self.noise * (self.steps + 1.0) ** 1.5
        self._at[:] = (1.0 - self.share) * self.weights + self.share * self.point
        loss = self.problem.gradient(self._at, self._gradient)
        self.problem.update(self._at, self._gradient, scale, self.weights)
        ahead, here, after = np.array([self.share * scale, convexity - scale, scale]) / (self.share * scale + convexity)
        self.point[:] = ahead * self.point + here * self._at + after * self.weights
        self.share = 0.5 * (math.sqrt(4.0 * self.decay + self.decay**2) - self.decay)
        self.decay *= 1.0 - self.share
        self.steps += 1
        return loss
