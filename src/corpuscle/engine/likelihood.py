"""The weights under which right candidates are likely: a log-linear model of ranked lists.

Every item has a pool of candidates with features h; the probability of one is proportional to exp(w.h). The figure is
the mean log probability of being right, over the items that have a right candidate. It is smooth, so that a few dozen
gradient steps find its maximum (L-BFGS), and the weights have a scale: the probabilities mean what they say.

Och and Ney, "Discriminative training and maximum entropy models for statistical machine translation", 2002; Liu and
Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from corpuscle.engine.mert import Pools

PENALTY = 1e-3
"""Times the sum of squared weights: keeps weights of features that hardly vary in bounds."""


def figure(pools: Pools, weights: np.ndarray, penalty: float = PENALTY) -> tuple[float, np.ndarray]:
    """The penalised mean log probability of right candidates (those whose first statistic is positive), and its
    gradient, float64 (k,)."""
    right, scores = pools.statistics[:, 0] > 0, pools.features @ weights
    usable = np.logical_or.reduceat(right, pools.starts[:-1])
    n = max(1, int(usable.sum()))
    all_parts, all_logs = shares(scores, pools.starts)
    with np.errstate(invalid="ignore"):  # items without a right candidate: not used
        right_parts, right_logs = shares(np.where(right, scores, -np.inf), pools.starts)
    value = (right_logs - all_logs)[usable].sum() / n
    change = np.where(np.repeat(usable, np.diff(pools.starts)), right_parts - all_parts, 0.0)
    return float(value - penalty * weights @ weights), pools.features.T @ change / n - 2.0 * penalty * weights


def separates(pools: Pools) -> bool:
    """Whether some item has right and wrong candidates; if none has, the figure is the penalty and nothing else."""
    right, begins = pools.statistics[:, 0] > 0, pools.starts[:-1]
    return bool((np.logical_or.reduceat(right, begins) & np.logical_or.reduceat(~right, begins)).any())


def shares(scores: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of each candidate among those of its item, from ``starts[i]`` to ``starts[i + 1]``, and the log of the
    sum of all exponentials of each item."""
    begins, item = starts[:-1], np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    tops = np.maximum.reduceat(scores, begins)
    parts = np.exp(scores - tops[item])
    totals = np.add.reduceat(parts, begins)
    return parts / totals[item], tops + np.log(totals)


def maximise(
    pools: Pools, weights: np.ndarray, positive: np.ndarray, penalty: float = PENALTY
) -> tuple[float, np.ndarray]:
    """The best figure, and weights that have it; from ``weights`` on. Those that are ``positive``, bool (k,), do not
    fall below 0: a log probability that counts against what is probable is a mistake of a small sample."""
    from scipy.optimize import minimize

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = figure(pools, point, penalty)
        return -value, -gradient

    bounds = [(0.0 if above else None, None) for above in positive]
    start = np.where(positive, np.maximum(weights, 0.0), weights)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    return -float(found.fun), np.asarray(found.x)
