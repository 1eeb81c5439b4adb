"""Votes: every element is ranked by its own counts, and a candidate is as good as the elements that vote for it.

Element e has its model M_e: a conditional logit over the distinct values that the candidates of a token have, by the
counts of e alone. It votes for its best value; the score of a candidate is the sum of the trust v_e >= 0 in the
elements whose vote it agrees with, learned after that by a conditional logit over candidates.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
table 4 (M_e); the scheme stands for MADA: Habash and Rambow, "Arabic tokenization, part-of-speech tagging and
morphological disambiguation in one fell swoop", 2005, section 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.weight_fitting import Pool, fit, minimum
from corpuscle.text.corpus import starts_of


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
