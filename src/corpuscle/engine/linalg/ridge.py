"""Weighted ridge regression on sparse features, for many targets at once, by conjugate gradients.

The coefficients B (features, targets) that make (X B - Y)' W (X B - Y) + lambda |B|^2 least solve the normal equations
(X' W X + lambda I) B = X' W Y. Conjugate gradients need products with X and X' alone, and after a few steps B is as
good as the noise in Y deserves; all targets are solved side by side, each with step lengths of its own.

Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952; Hoerl and Kennard, "Ridge
regression: biased estimation for nonorthogonal problems", 1970. X is (items, features), W a diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ridge"]


def ridge(features: Any, targets: np.ndarray, weights: np.ndarray, penalty: float = 1.0, steps: int = 15) -> np.ndarray:
    """B, float64 (features, targets): ``features`` an operator X with ``matmat`` and ``rmatmat``, ``targets`` Y
    (items, targets), ``weights`` W (items,), ``penalty`` lambda > 0."""
    weighted = weights[:, None]
    residual = features.rmatmat(weighted * targets)
    solution, direction = np.zeros_like(residual), residual.copy()
    size = (residual**2).sum(axis=0)
    for _ in range(steps):
        image = features.rmatmat(weighted * features.matmat(direction)) + penalty * direction
        curvature = (direction * image).sum(axis=0)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution += length * direction
        residual -= length * image
        before, size = size, (residual**2).sum(axis=0)
        direction = residual + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return solution
