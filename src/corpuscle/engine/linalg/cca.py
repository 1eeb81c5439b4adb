"""Canonical correlation: the directions in which views of the same items agree.

Two views X (N x a) and Y (N x b) of N items have second moments Cxx, Cxy, Cyy. Whitening and a singular value
decomposition,

    Cxx^-1/2 Cxy Cyy^-1/2 = Phi diag(rho) Psi',

give projections Cxx^-1/2 Phi and Cyy^-1/2 Psi: the projected views have identity second moments each, and their
columns correlate by rho, as strongly as any projections can. ``kappa`` is added to the diagonals of Cxx and Cyy.

A view of one-hot items (which word stands here) has a diagonal Cxx, and whitening is exact and free. For several such
views side by side (the words at several offsets) the diagonal is an approximation, after which a "correlation" may
exceed 1: with c of them the first one is sqrt(c). A small dense view is whitened by its eigenvectors; directions whose
second moment is below ``FLOOR`` of the trace do not count.

For three or more views, MAXVAR asks for the variable that all of them predict best: with whitened cross-moments R_ij
(R_ii = I) it is the first eigenvector of the matrix of all R_ij, whose eigenvalue lies between 1 and the number of
views; for two views it is 1 + rho.

Where a model of n symbols has the observation matrix O (n, k) and only U'O is known, *duals* A with A'U = I and the
range of O recover single symbols: O'U a_x = O' delta_x. Left singular vectors of co-occurrence have that range
themselves; canonical directions are U = P^-1 O M for the diagonal P of the symbols' second moments.

Hotelling, "Relations between two sets of variates", 1936; Kettenring, "Canonical analysis of several sets of
variables", 1971, for MAXVAR; Dhillon, Foster and Ungar, "Eigenwords: spectral word embeddings", 2015, for one-hot
views; Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009, and Foster, Rodu and
Ungar, "Spectral dimensionality reduction for HMMs", 2012, for duals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.linalg.lowrank import definite, krylov_svd
from corpuscle.engine.linalg.sparse import Rows, SparseOperator, scaled

FLOOR = 1e-8


class Canonical(NamedTuple):
    """Projections of two views: ``left`` float64 (a, k), ``right`` float64 (b, k), and ``correlations`` (k,),
    falling."""

    left: np.ndarray
    correlations: np.ndarray
    right: np.ndarray


def whitening(moment: np.ndarray, kappa: float = 0.0) -> np.ndarray:
    """C^-1/2 of a dense view with the second moment C (a, a), on the directions in which it varies: float64 (a, rank),
    with whitening' C whitening = I."""
    moment = np.asarray(moment, np.float64)
    if not np.isfinite(moment).all():
        raise ValueError("a second moment has values that are not finite")
    values, vectors = np.linalg.eigh((moment + moment.T) / 2 + kappa * np.eye(len(moment)))
    counts = values > FLOOR * max(values.sum(), np.finfo(np.float64).tiny)
    return vectors[:, counts] / np.sqrt(values[counts])


def dense_cca(xx: np.ndarray, xy: np.ndarray, yy: np.ndarray, k: int | None = None, kappa: float = 0.0) -> Canonical:
    """CCA of two dense views from their moments (a, a), (a, b), (b, b); all correlations unless ``k`` says how many."""
    left, right = whitening(xx, kappa), whitening(yy, kappa)
    ranks = left.shape[1], right.shape[1]
    if k is not None and k > min(ranks):
        raise ValueError(f"{k} correlations of views whose ranks are {ranks[0]} and {ranks[1]}")
    phi, rho, psi = np.linalg.svd(left.T @ xy @ right, full_matrices=False)
    return Canonical(*definite(left @ phi[:, :k], rho[:k], right @ psi[:k].T))


def diagonal_cca(
    cross: Rows, xx: np.ndarray, yy: np.ndarray, k: int, *, workers: int | None = None, **how: Any
) -> Canonical:
    """CCA of two views from a sparse Cxy (a, b) and the diagonals of Cxx (a,) and Cyy (b,), which are taken for all of
    them. An item that never occurs (a zero on a diagonal) is projected to zero. ``how``: see ``krylov_svd``."""
    left, right = (np.divide(1.0, np.sqrt(d), out=np.zeros(len(d)), where=d > 0) for d in (xx, yy))
    found = krylov_svd(SparseOperator(scaled(cross, left, right), workers), k, **how)
    return Canonical(found.left * left[:, None], found.values, found.right * right[:, None])


def one_hot_cca(xx: np.ndarray, xy: np.ndarray, yy: np.ndarray, k: int) -> Canonical:
    """CCA of a one-hot view with a dense one: the diagonal of Cxx (a,), Cxy (a, b), Cyy (b, b). An item that never
    occurs is projected to zero."""
    left = np.divide(1.0, np.sqrt(xx), out=np.zeros(len(xx)), where=xx > 0)
    right = whitening(yy)
    ranks = int((xx > 0).sum()), right.shape[1]
    if k > min(ranks):
        raise ValueError(f"{k} correlations of views whose ranks are {ranks[0]} and {ranks[1]}")
    phi, rho, psi = np.linalg.svd(left[:, None] * (xy @ right), full_matrices=False)
    found = definite(phi[:, :k], rho[:k], right @ psi[:k].T)
    return Canonical(found.left * left[:, None], found.values, found.right)


class Views(NamedTuple):
    """What several views agree on: ``projections``, one (a_i, k) for each view, and ``values`` (k,), from the number of
    views down."""

    projections: tuple[np.ndarray, ...]
    values: np.ndarray


def several_views_cca(moments: Mapping[tuple[int, int], np.ndarray], k: int | None = None) -> Views:
    """MAXVAR CCA of two or more dense views: ``moments[i, j]`` (a_i, a_j) for i <= j.

    The sum of the projected views is the variable that all of them predict best.
    """
    n = 1 + max(j for _, j in moments)
    roots = [whitening(moments[i, i]) for i in range(n)]
    edges = np.cumsum([0, *(root.shape[1] for root in roots)])
    whole = np.eye(edges[-1])
    for i in range(n):
        for j in range(i + 1, n):
            block = roots[i].T @ moments[i, j] @ roots[j]
            whole[edges[i] : edges[i + 1], edges[j] : edges[j + 1]] = block
            whole[edges[j] : edges[j + 1], edges[i] : edges[i + 1]] = block.T
    if k is not None and k > len(whole):
        raise ValueError(f"{k} directions of views whose ranks are {', '.join(map(str, np.diff(edges)))}")
    values, vectors = np.linalg.eigh(whole)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    vectors, _, _ = definite(vectors, values, vectors)
    parts = tuple(root @ vectors[a:b] for root, a, b in zip(roots, edges, edges[1:], strict=False))
    return Views(parts, values)


def duals_of(basis: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The duals A of a basis U, (n, d): A'U = I, and the range of A is that of U, or of P U where ``weights`` (n,) is
    the diagonal of P."""
    weighted = basis if weights is None else basis * weights[:, None]
    return weighted @ np.linalg.pinv(basis.T @ weighted)
