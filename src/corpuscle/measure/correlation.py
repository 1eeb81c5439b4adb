"""How well two rankings agree: Spearman's rank correlation, with its interval.

Values become ranks, equal values their mean rank, and ranks are correlated as Pearson does it: Spearman, "The proof and
measurement of association between two things", 1904. Items are drawn with replacement for the interval, and ranked anew
in every draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import interval_of, item_draws
from corpuscle.measure.result import Result, Shown, resampled, signature

__all__ = ["rank_correlation", "ranks", "spearman"]

SPEARMAN = (Shown("spearman", "Spearman", ".3f"), Shown("covered/pairs", "covered"), Shown("pairs", "pairs", ","))


def ranks(values: Any) -> np.ndarray:
    """The rank of each value from 1 on, float64 (n,); equal values share the mean of theirs.

    >>> ranks([10, 30, 20, 10]).tolist()
    [1.5, 4.0, 3.0, 1.5]
    """
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def rank_correlation(a: Any, b: Any) -> float:
    """Spearman's correlation of two lists; not a number where one of them has no order."""
    x, y = (each - each.mean() for each in (ranks(a), ranks(b)))
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else float("nan")


def spearman(
    predicted: Any, gold: Any, *, pairs: int | None = None, of: str = "pairs", draws: int = 1000, seed: int = 1
) -> Result:
    """Spearman's correlation of predicted with gold values, item by item, with its interval.

    ``pairs``: of how many items these are the ones that could be judged (default: all of them); ``of``: what the items
    are. Figures: ``spearman``, ``pairs``, ``covered``.
    """
    predicted, gold = np.asarray(predicted, np.float64), np.asarray(gold, np.float64)
    if predicted.shape != gold.shape or predicted.ndim != 1 or len(gold) == 0:
        raise ValueError(f"lists of the shapes {predicted.shape} and {gold.shape} cannot be correlated")
    if np.isnan(predicted).any() or np.isnan(gold).any():
        raise ValueError("a value is not a number")
    drawn = np.array([rank_correlation(predicted[items], gold[items]) for items in item_draws(len(gold), draws, seed)])
    figures = {
        "spearman": rank_correlation(predicted, gold),
        "pairs": len(gold) if pairs is None else int(pairs),
        "covered": len(gold),
    }
    how = signature("spearman", of=of, ties="mean rank", missing="left out", interval=resampled(of, draws, seed))
    return Result(figures, interval_of(drawn), how, SPEARMAN)
