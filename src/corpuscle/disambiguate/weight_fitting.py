"""Stage two: a weight for each count, learned from tokens whose right candidate is known.

Row (i, k) is candidate k of token i, its numbers z are standardised columns. ``softmax``: conditional logit,
-sum_i log(exp(w.z_i,gold) / sum_k exp(w.z_ik)) + penalty/2 |w|^2, by L-BFGS; ``ridge``, ``svr``, ``svc``: regression or
classification of the rows with targets 1 (right) and 0, then divided by the temperature under which the softmax of the
scores makes the right candidates most likely. ``james-stein``: the slope of each column alone, a_j = cov(z_j, y), whose
variances sigma^2 / n are equal; all are drawn to their mean by (1 - (p - 3) sigma^2 / n / sum_j (a_j - mean)^2)+.
``none``: every number counts as it is. Scores of a token are compared among themselves only, so that the means drop
out, and the weights can be divided by the deviations once and for all.

McFadden, "Conditional logit analysis of qualitative choice behavior", 1974; Efron and Morris, "Stein's estimation rule
and its competitors", 1973, eq. 1.9-1.11 (Lindley's form of the estimator of James and Stein).

Votes: every element is ranked by its own counts, and a candidate is as good as the elements that vote for it.

Element e has its model M_e: a conditional logit over the distinct values that the candidates of a token have, by the
counts of e alone. It votes for its best value; the score of a candidate is the sum of the trust v_e >= 0 in the
elements whose vote it agrees with, learned after that by a conditional logit over candidates.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 3, and table 4 (M_e); the scheme stands for MADA: Habash and Rambow, "Arabic tokenization, part-of-speech
tagging and morphological disambiguation in one fell swoop", 2005, section 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.topics import SparseProduct
from corpuscle.engine import likelihood
from corpuscle.text.corpus import starts_of

_STEPS = 300
_SMALLEST = 1e-12


class Pool(NamedTuple):
    """Rows: ``numbers`` float (n_rows, n_columns); ``starts`` int64 (n_tokens + 1,); ``right`` bool (n_rows,), one of
    each token."""

    numbers: np.ndarray
    starts: np.ndarray
    right: np.ndarray


class Weights(NamedTuple):
    """``weights`` float64 (n_columns,) of numbers as they are; ``means``, ``deviations``: of the columns."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray


def shares_of(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The probability of each row among those of its token, float64 (n_rows,)."""
    return likelihood.shares(scores.astype(np.float64), starts)[0] if len(scores) else np.zeros(0)


def loss(
    pool: Pool, weights: np.ndarray, penalty: float, words: SparseProduct | None = None, centre: np.ndarray | float = 0
) -> tuple[float, np.ndarray]:
    """The loss of a conditional logit with a penalty on the squares of the distance from a ``centre``, and its
    gradient, float64 (n_weights,): a weight for each column, then for each of the ``words``."""
    n = pool.numbers.shape[1]
    scores = pool.numbers @ weights[:n].astype(pool.numbers.dtype)
    shares = shares_of(scores if words is None else scores + words.times(weights[n:]), pool.starts)
    value = -np.log(np.maximum(shares[pool.right], 1e-300)).sum()
    wrong = shares - pool.right
    slope = (pool.numbers.T @ wrong.astype(pool.numbers.dtype)).astype(np.float64)
    slope = slope if words is None else np.append(slope, words.turned(wrong))
    away = weights - centre
    return float(value + penalty / 2 * away @ away), slope + penalty * away


def minimum(
    pool: Pool,
    penalty: float,
    start: np.ndarray | None = None,
    low: float = -np.inf,
    words: SparseProduct | None = None,
    centre: np.ndarray | float = 0,
) -> np.ndarray:
    """The weights of least loss, none of them below ``low``."""
    from scipy.optimize import Bounds, minimize

    def value(weights: np.ndarray) -> tuple[float, np.ndarray]:
        return loss(pool, weights, penalty, words, centre)

    if start is None:
        start = np.zeros(pool.numbers.shape[1] + (0 if words is None else words.words.shape[1]))
    options = {"maxiter": _STEPS}
    return np.asarray(minimize(value, start, jac=True, method="L-BFGS-B", bounds=Bounds(low), options=options).x)


def refit(pool: Pool, weights: Weights, penalty: float) -> Weights:
    """Weights that make more rows right and stay near the former ones: the penalty is on the squares of the change."""
    scaled = pool._replace(numbers=((pool.numbers - weights.means) / weights.deviations).astype(pool.numbers.dtype))
    before = weights.weights * weights.deviations
    return weights._replace(weights=minimum(scaled, penalty, before, centre=before) / weights.deviations)


def james_stein(numbers: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The slopes of ``target`` on each of the standardised columns, drawn to their mean, float64 (n_columns,)."""
    n, p = numbers.shape
    centred = target - target.mean()
    slopes = numbers.T.astype(np.float64) @ centred / n
    noise = (centred @ centred - n * slopes**2).mean() / n / n
    spread = float(((slopes - slopes.mean()) ** 2).sum())
    share = max(0.0, 1 - max(p - 3, 0) * noise / spread) if spread > 0 else 0.0
    return slopes.mean() + share * (slopes - slopes.mean())


def _cooled(pool: Pool, scores: np.ndarray) -> float:
    """The temperature that makes the right rows most likely."""
    from scipy.optimize import minimize_scalar

    def surprise(log_heat: float) -> float:
        shares = shares_of(scores * np.exp(-log_heat), pool.starts)
        return -float(np.log(np.maximum(shares[pool.right], 1e-300)).sum())

    return float(np.exp(minimize_scalar(surprise, bounds=(-8.0, 8.0), method="bounded").x))


def standardised(pool: Pool) -> tuple[Pool, np.ndarray, np.ndarray]:
    """The pool with columns of mean 0 and deviation 1, and what these were."""
    numbers = pool.numbers
    means, deviations = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
    deviations[deviations < _SMALLEST] = 1.0
    return pool._replace(numbers=((numbers - means) / deviations).astype(numbers.dtype)), means, deviations


def fit_with_words(pool: Pool, words: SparseProduct, penalty: float) -> tuple[Weights, np.ndarray]:
    """The weights of a conditional logit, of numbers and of words, float64 (n_words,)."""
    pool, means, deviations = standardised(pool)
    spread = words.spread()
    found = minimum(pool, penalty, words=words.scaled(1 / spread))
    n = len(means)
    return Weights(found[:n] / deviations, means, deviations), found[n:] / spread


def fit(pool: Pool, stage2: str, penalty: float, seed: int) -> Weights:
    pool, means, deviations = standardised(pool)
    target = pool.right.astype(np.float64)
    if stage2 == "softmax":
        found = minimum(pool, penalty)
    elif stage2 == "none":
        found = deviations.copy()
    elif stage2 == "james-stein":
        found = james_stein(pool.numbers, target)
    else:
        from sklearn.linear_model import Ridge
        from sklearn.svm import LinearSVC, LinearSVR

        same = {"C": 1 / penalty, "dual": False, "random_state": seed}
        learner = {
            "ridge": Ridge(alpha=penalty), "svc": LinearSVC(**same),
            "svr": LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive", **same),
        }[stage2]  # fmt: skip
        learner.fit(pool.numbers, pool.right if stage2 == "svc" else target)
        found = np.asarray(learner.coef_, np.float64).ravel()
    if stage2 != "softmax":
        found /= _cooled(pool, pool.numbers @ found)
    return Weights(found / deviations, means, deviations)


class Votes(NamedTuple):
    """``weights`` float64 (n_elements, n_numbers): M_e; ``trust`` float64 (n_elements,)."""

    weights: np.ndarray
    trust: np.ndarray

    def agreeing(self, numbers: np.ndarray, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Which rows have the value that an element votes for, float32 (n_rows, n_elements); ``values`` uint64, of the
        same shape. Ties by the count of the whole label, ``numbers[:, 0]``, then by order."""
        item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        scores = numbers @ self.weights.T.astype(numbers.dtype)
        out = np.zeros(values.shape, np.float32)
        place = np.arange(len(numbers))
        for e in range(len(self.trust)):
            best = np.lexsort((place, -numbers[:, 0], -scores[:, e], item))[starts[:-1]]
            out[:, e] = values[:, e] == values[best, e][item]
        return out

    def scores(self, numbers: np.ndarray, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The scores of rows, float64 (n_rows,)."""
        return self.agreeing(numbers, values, starts) @ self.trust


def _distinct(pool: Pool, values: np.ndarray) -> Pool:
    """One row for each value of a token, of tokens with several; ``values`` uint64 (n_rows,)."""
    item = np.repeat(np.arange(len(pool.starts) - 1), np.diff(pool.starts))
    right = values == values[pool.right][item]
    _, first = np.unique(np.column_stack([item.astype(np.uint64), values]), axis=0, return_index=True)
    lengths = np.bincount(item[first], minlength=len(pool.starts) - 1)
    first = first[lengths[item[first]] > 1]
    return Pool(pool.numbers[first], starts_of(lengths[lengths > 1]), right[first])


def fit_votes(pool: Pool, values: np.ndarray, columns: list[np.ndarray], penalty: float) -> Votes:
    """Learn what elements vote for, then the trust in them. ``values`` uint64 (n_rows, n_elements); ``columns``: which
    numbers each element looks at."""
    weights = np.zeros((len(columns), pool.numbers.shape[1]))
    for e, mine in enumerate(columns):
        some = _distinct(pool, values[:, e])
        if len(some.right):
            weights[e, mine] = fit(some._replace(numbers=some.numbers[:, mine]), "softmax", penalty, 0).weights
    votes = Votes(weights, np.zeros(len(columns)))
    agreeing = votes.agreeing(pool.numbers, values, pool.starts)
    start = agreeing[pool.right].mean(axis=0, dtype=np.float64)
    return votes._replace(trust=minimum(pool._replace(numbers=agreeing), penalty, start, low=0.0))
