"""Minimum error rate training: the weights under which the best candidates score best, by exact line search.

Every item has a pool of candidates, each with features h (so its score is w.h) and additive statistics of its quality.
Along a line w + x d a candidate's score is a straight line in x, so the winner of a pool changes only at the corners of
the upper envelope of its lines. All corners of all pools, sorted, cut the line into intervals in which nothing changes:
one sweep over them, adding what changes, finds the best point on the whole line.

Och, "Minimum error rate training in statistical machine translation", 2003.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.random import Random

BLEU, SHARE = 0, 1
"""How statistics become a figure: matches and totals of 1- to 4-grams with both lengths; or a sum over a sum."""


class Pools(NamedTuple):
    """The candidates of all items.

    - ``starts``: int64 (n_items + 1,), the candidates of item i are ``starts[i]`` to ``starts[i + 1]``, at least one;
    - ``features``: float64 (n_candidates, k);
    - ``statistics``: float64 (n_candidates, s).
    """

    starts: np.ndarray
    features: np.ndarray
    statistics: np.ndarray


@kernel
def quality(sums, figure):
    """The figure of some sums of statistics, see ``BLEU`` and ``SHARE``.

    BLEU has the statistics match_1, total_1, ..., match_4, total_4, candidate length, reference length.
    """
    if figure == SHARE:
        return sums[0] / sums[1] if sums[1] > 0.0 else 0.0
    logs = 0.0
    for n in range(4):
        if sums[2 * n] <= 0.0 or sums[2 * n + 1] <= 0.0:
            return 0.0
        logs += np.log(sums[2 * n] / sums[2 * n + 1])
    return np.exp(min(0.0, 1.0 - sums[9] / sums[8]) + logs / 4.0)


@kernel
def _total(pools, weights, sums):
    """Add up the statistics of the winners; of equal candidates the first wins."""
    sums[:] = 0.0
    for item in range(len(pools.starts) - 1):
        best, top = pools.starts[item], -np.inf
        for c in range(pools.starts[item], pools.starts[item + 1]):
            score = 0.0
            for k in range(len(weights)):
                score += weights[k] * pools.features[c, k]
            if score > top:
                best, top = c, score
        for s in range(len(sums)):
            sums[s] += pools.statistics[best, s]


def total(pools: Pools, weights: np.ndarray) -> np.ndarray:
    """The summed statistics of each pool's best candidate."""
    sums = np.empty(pools.statistics.shape[1])
    _total(pools, frozen(weights, np.float64), sums)
    return sums


@kernel
def _envelopes(pools, weights, direction, where, loser, winner, sums):
    """The corners of all upper envelopes; ``sums`` receives the statistics of the winners at minus infinity."""
    corners = 0
    sums[:] = 0.0
    for item in range(len(pools.starts) - 1):
        begin, n = pools.starts[item], pools.starts[item + 1] - pools.starts[item]
        heights, slopes = np.zeros(n), np.zeros(n)
        for c in range(n):
            for k in range(len(weights)):
                heights[c] += weights[k] * pools.features[begin + c, k]
                slopes[c] += direction[k] * pools.features[begin + c, k]
        # Far left the flattest line is on top, of parallel ones the highest. From the line on top, the next one is that
        # which crosses it first. Envelopes have few lines, so this beats sorting them all.
        top = 0
        for c in range(1, n):
            if slopes[c] < slopes[top] or (slopes[c] == slopes[top] and heights[c] > heights[top]):
                top = c
        for s in range(len(sums)):
            sums[s] += pools.statistics[begin + top, s]
        while True:
            crossing, above = np.inf, -1
            for c in range(n):
                if slopes[c] > slopes[top]:
                    x = (heights[top] - heights[c]) / (slopes[c] - slopes[top])
                    if x < crossing or (x == crossing and above >= 0 and slopes[c] > slopes[above]):
                        crossing, above = x, c
            if above < 0:
                break
            where[corners], loser[corners], winner[corners] = crossing, begin + top, begin + above
            corners += 1
            top = above
    return corners


@kernel
def _sweep(pools, where, loser, winner, sums, figure):
    """The best interval: (its figure, a point inside)."""
    order = np.argsort(where, kind="mergesort")
    n = len(order)
    best = quality(sums, figure)
    point = where[order[0]] - 1.0 if n else 0.0
    i = 0
    while i < n:
        x = where[order[i]]
        while i < n and where[order[i]] == x:
            for s in range(len(sums)):
                sums[s] += pools.statistics[winner[order[i]], s] - pools.statistics[loser[order[i]], s]
            i += 1
        right = where[order[i]] if i < n else x + 2.0
        middle = x + (right - x) / 2.0
        if middle <= x or middle >= right:  # too narrow for a floating-point number in between
            continue
        value = quality(sums, figure)
        if value > best:
            best, point = value, middle
    return best, point


def line_search(pools: Pools, weights: np.ndarray, direction: np.ndarray, figure: int) -> tuple[float, float]:
    """The best figure on the line ``weights + x * direction``, and an x that has it (the middle of its interval)."""
    corners = len(pools.features)
    where, loser, winner = np.empty(corners), np.empty(corners, np.int64), np.empty(corners, np.int64)
    sums = np.empty(pools.statistics.shape[1])
    n = _envelopes(pools, frozen(weights, np.float64), frozen(direction, np.float64), where, loser, winner, sums)
    return _sweep(pools, where[:n], loser[:n], winner[:n], sums, figure)


def climb(
    pools: Pools, weights: np.ndarray, figure: int, random: Random, directions: int = 5
) -> tuple[float, np.ndarray]:
    """From a point, take the best step along the axes and some random directions until none gains 1e-6."""
    k = len(weights)
    weights = np.array(weights, np.float64)
    value = float(quality(total(pools, weights), figure))
    while True:
        drawn = np.array([[2.0 * random.uniform() - 1.0 for _ in range(k)] for _ in range(directions)]).reshape(-1, k)
        best, step = value, None
        for direction in np.concatenate([np.eye(k), drawn]):
            found, x = line_search(pools, weights, direction, figure)
            if found > best:
                best, step = found, x * direction
        if step is None or best < value + 1e-6:
            return value, weights
        weights = weights + step
        value = float(quality(total(pools, weights), figure))
