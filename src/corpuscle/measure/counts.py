"""Figures from counts of right and wrong: accuracy, precision, recall, F1, each with its interval.

Counts are given by item (sentence, document); items are what is resampled. A ratio without cases (0/0) is 0,
as the field has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import bootstrap, bootstrap_all, compare
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature

F1 = (Shown("f1", "F1"), Shown("precision", "precision"), Shown("recall", "recall"), Shown("gold", "gold", ","))
ACCURACY = (Shown("accuracy", "accuracy"), Shown("total", "decisions", ","))


def share(part: Any, whole: Any) -> Any:
    """A part of a whole, element by element; 0/0 is 0, as the field has it."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) != 0)


def _precision(sums: np.ndarray) -> np.ndarray:
    return share(sums[..., 0], sums[..., 1])


def _recall(sums: np.ndarray) -> np.ndarray:
    return share(sums[..., 0], sums[..., 2])


def _f1(sums: np.ndarray) -> np.ndarray:
    return share(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def precision_recall(
    correct: Any, predicted: Any, gold: Any, *, of: str = "spans", draws: int = 1000, seed: int = 1
) -> Result:
    """Precision, recall and F1 (micro-averaged) from counts by item; the headline interval is that of F1.

    Figures: ``precision``, ``recall``, ``f1``, each also with ``_low`` and ``_high``, and the counts
    ``correct``, ``predicted``, ``gold``. ``of`` says in the signature what was counted.
    """
    statistics = np.column_stack([correct, predicted, gold]).astype(np.float64)
    if (statistics < 0).any() or (statistics[:, 0] > statistics[:, 1:].min(axis=1)).any():
        raise ValueError("in every item, correct must lie between 0 and both predicted and gold")
    ratios = {"precision": _precision, "recall": _recall, "f1": _f1}
    figures, interval = bootstrap_all(statistics, ratios, draws=draws, seed=seed)
    sums = statistics.sum(axis=0)
    figures |= {name: int(n) for name, n in zip(("correct", "predicted", "gold"), sums, strict=True)}
    how = signature("f1", of=of, average="micro", interval=resampled("items", draws, seed))
    return Result(figures, interval, how, F1)


def compare_f1(a: Any, b: Any, *, draws: int = 1000, seed: int = 1, items: str = "items") -> Comparison:
    """F1 of system A minus that of system B against the same gold, by paired bootstrap over items.

    ``a``, ``b``: (n_items, 3), how many are correct, predicted and gold.
    """
    return compare(a, b, _f1, draws=draws, seed=seed, of=F1[0], items=items)


def accuracy(correct: Any, total: Any, *, of: str = "tokens", draws: int = 1000, seed: int = 1) -> Result:
    """The share of right decisions, from counts by item. Figures: ``accuracy``, ``correct``, ``total``."""
    statistics = np.column_stack([correct, total]).astype(np.float64)
    if (statistics[:, 0] < 0).any() or (statistics[:, 0] > statistics[:, 1]).any():
        raise ValueError("in every item, correct must lie between 0 and total")
    interval = bootstrap(statistics, _precision, draws=draws, seed=seed)
    sums = statistics.sum(axis=0)
    figures = {"accuracy": float(_precision(sums)), "correct": int(sums[0]), "total": int(sums[1])}
    how = signature("accuracy", of=of, interval=resampled("items", draws, seed))
    return Result(figures, interval, how, ACCURACY)


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error: decisions in bins by their confidence, in 0..1, and by how much the mean confidence
    of a bin differs from its share of right ones, weighted by its size (Guo, Pleiss, Sun and Weinberger, "On
    calibration of modern neural networks", 2017, eq. 3).

    >>> calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([True, True, True, False]))
    0.0
    """
    bin_of = np.minimum((np.asarray(confidence) * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(bin_of, confidence, bins) - np.bincount(bin_of, right, bins)
    return float(np.abs(gaps).sum() / max(1, len(bin_of)))
