"""The proximal operator of tree l-infinity by random pivots: a second, plainer way, to compare with.

Brucker, "An O(n) algorithm for quadratic knapsack problems", 1984.
"""

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.lm.kernels.proximal import Forest, _point
from corpuscle.random import below, purpose_id, stream


@part
def _height_by_pivot(values, counts, order, n, threshold, random):
    """The height above which ``values[order[:n]]`` have the mass ``threshold``, of which they have more; ``order`` is
    shuffled. What is known to be above it has the mass S and the count C."""
    mass, count, first, last = 0.0, 0, 0, n
    while first < last:
        pivot = values[order[first + below(random, last - first)]]
        cut, more, many, at = first, 0.0, 0, -1  # not below the pivot: before ``cut``
        for i in range(first, last):
            j = order[i]
            if values[j] >= pivot:
                more += values[j] * counts[j]
                many += counts[j]
                order[i], order[cut] = order[cut], j
                if values[j] == pivot:
                    at = cut
                cut += 1
        if (mass + more) - (count + many) * pivot < threshold:
            mass, count, first = mass + more, count + many, cut
        else:
            order[at], order[cut - 1] = order[cut - 1], order[at]
            last = cut - 1
    return (mass - threshold) / count


@kernel
def _by_pivot(forest, order, sizes, random, out):
    """Every subtree, children first, cut at its height. ``order`` has the entries in preorder, so that a subtree is
    its root and the ``sizes`` - 1 entries that follow."""
    n = len(out)
    scratch = np.empty(n, np.int64)
    for place in range(n - 1, -1, -1):
        j = order[place]
        size, mass = sizes[j], 0.0
        for i in range(size):
            scratch[i] = order[place + i]
            mass += out[scratch[i]] * forest.counts[scratch[i]]
        threshold = forest.thresholds[j]
        if threshold == 0.0:
            continue
        height = 0.0
        if mass > threshold:
            height = _height_by_pivot(out, forest.counts, scratch, size, threshold, random)
        for i in range(size):
            out[order[place + i]] = min(out[order[place + i]], height)


@kernel
def preorder(parents, sizes, order):
    """``sizes``: how many entries each subtree has; ``order``: the entries in preorder."""
    n = len(parents)
    free, at = np.zeros(n, np.int64), 0
    for j in range(n - 1, -1, -1):
        sizes[j] += 1
        if parents[j] >= 0:
            sizes[parents[j]] += sizes[j]
    for j in range(n):
        if parents[j] < 0:
            place, at = at, at + sizes[j]
        else:
            place = free[parents[j]]
            free[parents[j]] += sizes[j]
        free[j] = place + 1
        order[place] = j


def tree_linf_by_pivot(forest: Forest, u: np.ndarray, seed: int = 1) -> np.ndarray:
    """The same as ``tree_linf``, but every entry is looked at once for each entry above it."""
    u, n = _point(u, forest), len(u)
    sizes, order = np.zeros(n, np.int64), np.empty(n, np.int64)
    preorder(forest.parents, sizes, order)
    out = np.abs(u)
    _by_pivot(forest, order, sizes, stream(seed, purpose_id("optim.pivot"), 0, 0), out)
    return np.copysign(out, u)
