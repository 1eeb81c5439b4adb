"""DistortionMetric: the metric as a transformer of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from corpuscle.metric.settings import SolutionSettings
from corpuscle.metric.solution import grouped, solve


class DistortionMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Maps vectors so that items of one label come close together; see ``solution`` for the mathematics.

    The parameters are the settings of the same names. Learned: ``components_`` float64 (directions, features), the
    map; ``scale_``; ``values_``; ``n_features_in_``.

    >>> metric = DistortionMetric(method="distortion").fit([[0, 0], [2, 1], [9, 0], [7, 1]], [0, 0, 1, 1])
    >>> metric.transform([[0, 0]]).shape
    (1, 2)
    """

    def __init__(
        self,
        method: str = "distortion",
        singular: str = "scaled",
        ridge: float | None = None,
        weights: Any = "equal",
        directions: int | None = None,
    ):
        self.method, self.singular, self.ridge = method, singular, ridge
        self.weights, self.directions = weights, directions

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from vectors (items, features) and their labels; ``weights`` may also be a number for each group."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        given = self.get_params()
        weights = None if isinstance(self.weights, str) else given.pop("weights")
        found = solve(X, grouped(y), SolutionSettings(**given), weights)
        rows = np.diag(found.map) if found.map.ndim == 1 else found.map
        self.components_, self.scale_, self.values_ = rows, found.scale, found.values
        self._n_features_out = len(rows)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map vectors; Euclidean distances after it are the metric, float64 (items, directions)."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False) @ self.components_.T

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """M, float64 (features, features)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
