"""How alike two distributions are: four measures, the higher the more alike.

    hellinger   - H,  H = sqrt(1 - sum sqrt(p q)) = |sqrt(p) - sqrt(q)| / sqrt(2)               -1 .. 0
    js          - (sum p log(p / m) + sum q log(q / m)) / 2,  m = (p + q) / 2               - log 2 .. 0
    kl          - (sum p log(p / q) + sum q log(q / p)),  p and q floored and divided by their sums first
    cosine      p . q / (|p| |q|)                                                                 0 .. 1

H is a Euclidean distance, of the points sqrt(p) / sqrt(2), so one matrix product gives all similarities of many rows;
so it is with cosines, and with kl, whose logarithms of quotients are differences.

Grave, Obozinski and Bach, "A Markovian approach to distributional semantics with application to semantic
compositionality", 2014, section 5.1; Hellinger, "Neue Begründung der Theorie quadratischer Formen von
unendlichvielen Veränderlichen", 1909; Lin, "Divergence measures based on the Shannon entropy", 1991, for js.
"""

from __future__ import annotations

import numpy as np

from corpuscle.engine.linalg import unit_rows
from corpuscle.errors import SettingError
from corpuscle.words.settings import MEASURES

__all__ = ["FLOOR", "floored", "similarity_matrix", "similarity_rows"]

FLOOR = 1e-12


def floored(rows: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Rows (n, C) without zeros that add up to one."""
    raised = np.maximum(rows, floor)
    return raised / raised.sum(axis=-1, keepdims=True)


def _divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """sum p log(p / q) along the last axis, where 0 log 0 = 0 and q is 0 only where p is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=-1)


def _jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    m = (p + q) / 2
    return -np.maximum(_divergence(p, m) + _divergence(q, m), 0.0) / 2


def similarity_rows(p: np.ndarray, q: np.ndarray, measure: str = MEASURES[0], floor: float = FLOOR) -> np.ndarray:
    """The similarity of each row of p with the row of q beside it, float64 (n,); p and q: (n, C)."""
    _check(measure)
    if measure == "hellinger":
        return -np.sqrt(np.maximum(1.0 - np.sqrt(p * q).sum(axis=-1), 0.0))
    if measure == "cosine":
        return np.einsum("ij,ij->i", unit_rows(p), unit_rows(q))
    if measure == "js":
        return _jensen_shannon(p, q)
    p, q = floored(p, floor), floored(q, floor)
    return -((p - q) * (np.log(p) - np.log(q))).sum(axis=-1)


def similarity_matrix(p: np.ndarray, q: np.ndarray, measure: str = MEASURES[0], floor: float = FLOOR) -> np.ndarray:
    """The similarity of each row of p (m, C) with each of q (n, C), float64 (m, n)."""
    _check(measure)
    if measure == "hellinger":
        return -np.sqrt(np.maximum(1.0 - np.sqrt(p) @ np.sqrt(q).T, 0.0))
    if measure == "cosine":
        return unit_rows(p) @ unit_rows(q).T
    if measure == "js":
        return np.array([_jensen_shannon(row, q) for row in p]).reshape(len(p), len(q))
    p, q = floored(p, floor), floored(q, floor)
    logs_p, logs_q = np.log(p), np.log(q)
    alone = (p * logs_p).sum(axis=1)[:, None] + (q * logs_q).sum(axis=1)
    return np.minimum(p @ logs_q.T + logs_p @ q.T - alone, 0.0)


def _check(measure: str) -> None:
    if measure not in MEASURES:
        raise SettingError(f"a measure is one of {', '.join(MEASURES)}; not {measure!r}")
