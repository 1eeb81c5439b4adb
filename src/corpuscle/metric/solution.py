"""From groups of vectors to a metric: three solutions in closed form.

Items s in R^n belong to groups X_i with centroids c_i and weights xi_i. The scatter inside groups is

    A = sum_i xi_i sum_{s in X_i} (s - c_i) (s - c_i)'.

**distortion**: the positive definite M of determinant 1 that brings the items of all groups as close to their centroids
as possible minimises tr(M A). By the arithmetic and geometric means of the eigenvalues of M^1/2 A M^1/2,
tr(M A) >= n det(A)^(1/n), with equality where M A is a multiple of the identity: M = det(A)^(1/n) A^-1. With A = U
diag(l) U' and g, the geometric mean of l, items are mapped by W = sqrt(g) diag(l)^-1/2 U', for which W'W = M:
Euclidean distances after the map are the metric. Determinants are never formed.

**diagonal**: the best M among diagonal matrices, by the same argument: g diag(1 / A_kk).

Where A is singular, or nearly so, a multiple of the identity is added to it (``ridge``), or to each entry of its
diagonal a share of the scatter of all items in that feature (``scaled``): then the unit in which a feature is measured
does not matter, as it does not without a ridge, and a feature that varies between groups alone keeps a finite weight.

**discriminant**: A alone does not know which directions tell groups apart; one in which all items hardly vary gets
a large weight. Let S be the covariance inside groups and T that of all items; in the coordinates that make S the
identity and T diagonal with the entries 1 + p_k, p_k is how much groups vary for each unit of variation inside them.
If centroids and items around them are normal, the expected centroid of a single item shrinks coordinate k by
p_k / (1 + p_k); here the squared distance is, too. Directions in which groups differ no more than chance get weight
zero, and the first ``directions`` are those that tell groups apart best: metric and reduction in one step.

Mochihashi, Kikui and Kita, "Learning nonstructural distance metric by minimum cluster distortions", 2004, section 3
(which does not say that M must be positive definite); Ioffe, "Probabilistic linear discriminant analysis", 2006,
eq. 4-6 (his psi is p); Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004,
section 3.3, for ``shrink``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from corpuscle.errors import SettingError, warn
from corpuscle.metric.settings import SolutionSettings

_CONDITION = 1e12


class Groups(NamedTuple):
    """Which items belong together: ``number`` int64 (items,), from 0 on; ``sizes`` int64 (groups,)."""

    number: np.ndarray
    sizes: np.ndarray


class Solution(NamedTuple):
    """A metric.

    - ``map`` float64 (R, n): distances between mapped items are those of the metric; or (n,), the weights of single
      features;
    - ``scale``: g; ``values`` float64 (R,): the eigenvalues of the (regularised) scatter, or p, by direction.
    """

    map: np.ndarray
    scale: float
    values: np.ndarray

    def mapped(self, items: Any) -> np.ndarray:
        """Items (m, n), dense or sparse, after the map, float64 (m, R)."""
        if self.map.ndim == 2:
            return np.asarray(items @ self.map.T)
        return (items @ diags_array(self.map)).toarray() if issparse(items) else items * self.map


def grouped(labels: np.ndarray) -> Groups:
    """Groups from any labels; at least one must have two items."""
    _, number, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) == 0 or sizes.max() < 2:
        raise SettingError("no group has two items: there is nothing to learn from")
    return Groups(number.ravel(), sizes)


def _centred(items: np.ndarray, groups: Groups, weights: np.ndarray) -> np.ndarray:
    """The rows sqrt(xi) (s - c), whose second moment is A, (items, n)."""
    members = csr_array((np.ones(len(items)), (groups.number, np.arange(len(items)))))
    centred = items - (members @ items / groups.sizes[:, None])[groups.number]
    return centred * np.sqrt(weights[groups.number])[:, None]


def shrinkage(centred: np.ndarray) -> float:
    """How far the second moment of rows (m, n) is moved to a multiple of the identity for the least expected error."""
    m, n = centred.shape
    moment = centred.T @ centred / m
    mean = np.trace(moment) / n
    away = ((moment - mean * np.eye(n)) ** 2).sum() / n
    squares = np.einsum("ij,ij->i", centred, centred)
    noise = ((squares**2).sum() / m - (moment**2).sum()) / (m * n)
    return float(min(1.0, max(0.0, noise / away))) if away > 0 else 0.0


def _spectrum(scatter: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues above ``tolerance`` times the largest, falling, and their vectors in columns."""
    values, vectors = np.linalg.eigh(scatter)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > tolerance * values[0]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return values[kept], (vectors * signs)[:, kept]


def solve(items: Any, groups: Groups, settings: SolutionSettings, weights: np.ndarray | None = None) -> Solution:
    """The metric of items (m, n) in groups; they may be sparse where single features are weighted. ``weights``: xi of
    each group, instead of what the settings say. ``singular`` None is ``scaled``."""
    each = np.ones(len(groups.sizes)) if settings.weights == "equal" else 1.0 / groups.sizes
    if weights is not None:
        each = np.asarray(weights, np.float64)
        if each.shape != groups.sizes.shape or not np.isfinite(each).all() or (each < 0).any():
            raise SettingError(f"weights are {len(groups.sizes)} numbers from 0 on, one for each group in sorted order")
    singular = settings.singular or "scaled"
    ridge = settings.ridge or (0.01 if singular == "scaled" else 0.1)
    tolerance = max(items.shape) * np.finfo(np.float64).eps
    if settings.method == "diagonal":
        own = ridge * each.mean() * _variation(items) if singular == "scaled" else None
        return _diagonal(_feature_scatter(items, groups, each), own, singular, ridge, tolerance)
    n = items.shape[1]
    centred = _centred(items, groups, each)
    scatter = centred.T @ centred
    mean = _mean_of(np.diag(scatter))
    basis, units = np.eye(n), np.ones(n)
    if singular == "range":
        around = items - items.mean(axis=0)
        basis = _spectrum(around.T @ around, tolerance)[1]
        scatter = basis.T @ scatter @ basis
    if singular == "shrink":
        share = shrinkage(centred)
        scatter = (1 - share) * scatter + share * mean * np.eye(n)
    elif singular == "scaled":
        scatter = scatter + np.diag(ridge * each.mean() * _variation(items))
        units = np.sqrt(np.diag(scatter))
        basis = np.eye(n)[:, units > 0]  # a feature without any variation says nothing
        units = units[units > 0]
        scatter = basis.T @ scatter @ basis / np.outer(units, units)
    elif singular in ("ridge", "range"):
        scatter = scatter + ridge * mean * np.eye(len(scatter))
    values, vectors = _spectrum(scatter, tolerance)
    if values[0] > _CONDITION * values[-1]:
        warn(f"the scatter is nearly singular (condition {values[0] / values[-1]:.1e}); a ridge would help")
    vectors = basis @ (vectors / units[: len(vectors), None])
    if settings.method == "discriminant":
        return _discriminant(items, vectors / np.sqrt(values / float((groups.sizes - 1).sum())), settings)
    if settings.directions is not None and settings.directions > len(values):
        raise SettingError(f"the scatter has {len(values)} directions, not {settings.directions}")
    scale = float(np.exp(np.log(values).mean() + 2 * np.log(units).mean()))
    chosen = slice(None) if settings.directions is None else slice(len(values) - settings.directions, None)
    return Solution(np.ascontiguousarray((np.sqrt(scale / values) * vectors).T[chosen]), scale, values[chosen])


def _mean_of(scatter: np.ndarray) -> float:
    """The mean scatter of features (n,), which must not be zero."""
    mean = float(scatter.mean())
    if not mean > 0:
        raise SettingError("no group has any scatter: all of its items are the same")
    return mean


def _variation(items: Any) -> np.ndarray:
    """The scatter of all items around their mean, feature by feature, float64 (n,)."""
    mean = np.asarray(items.mean(axis=0))
    if not issparse(items):
        return ((items - mean) ** 2).sum(axis=0)
    return np.maximum(np.asarray(items.power(2).sum(axis=0)) - items.shape[0] * mean**2, 0.0)


def _feature_scatter(items: Any, groups: Groups, weights: np.ndarray) -> np.ndarray:
    """The diagonal of A, float64 (n,)."""
    if not issparse(items):
        return (_centred(items, groups, weights) ** 2).sum(axis=0)
    m = items.shape[0]
    members = csr_array((np.ones(m), (groups.number, np.arange(m))))
    squares = weights @ (members @ items.power(2))
    return np.maximum(squares - (weights / groups.sizes) @ (members @ items).power(2), 0.0)


def _diagonal(scatter: np.ndarray, own: np.ndarray | None, singular: str, ridge: float, tolerance: float) -> Solution:
    """Weights of single features; those without scatter get a ridge (``own``, (n,), or the same for all), or (pinv) no
    weight."""
    mean = _mean_of(scatter)
    if singular != "pinv":
        scatter = scatter + (ridge * mean if own is None else own)
    kept = scatter > (tolerance * scatter.max() if own is None else 0.0)
    scale = float(np.exp(np.log(scatter[kept]).mean()))
    return Solution(np.where(kept, np.sqrt(scale / np.where(kept, scatter, 1.0)), 0.0), scale, scatter)


def _discriminant(items: np.ndarray, whitening: np.ndarray, settings: SolutionSettings) -> Solution:
    """The coordinates in which groups vary more than items inside them; ``whitening`` (n, R) makes the latter one."""
    around = (items - items.mean(axis=0)) @ whitening
    values, vectors = _spectrum(around.T @ around / len(items), 0.0)
    between = np.maximum(values - 1.0, 0.0)
    kept = int((between > 0).sum())
    if kept == 0:
        raise SettingError("groups do not differ more than the items inside them: there is no such metric")
    if settings.directions is not None:
        if settings.directions > kept:
            raise SettingError(f"groups differ in {kept} directions, not in {settings.directions}")
        kept = settings.directions
    between, vectors = between[:kept], vectors[:, :kept]
    return Solution(np.ascontiguousarray((np.sqrt(between / (1 + between)) * (whitening @ vectors)).T), 1.0, between)
