"""The first singular values and vectors of a large matrix, by random projection.

A Gaussian block Omega (n x l) is sent through the matrix; an orthonormal basis of A Omega then holds much of what A
does. Two ways to make it hold nearly all:

- **Block Krylov** (``krylov_svd``): the bases of all rounds are kept, so narrow blocks (l below the rank k) do, and few
  products with A are needed even where singular values fall slowly, as those of text do. With P = [P_1 ...] and
  Q = [Q_1 ...], A P_j is made orthogonal to all Q so far to give Q_j, A' Q_j to all P to give P_j+1. Then
  A P = Q B with an upper triangular B of t l rows, and no further product with A is needed: B = U_b S V_b', U = Q U_b,
  V = P V_b. So A V = U S holds exactly, however many rounds there were.
- **Power iteration** (``right_vectors``): l is a little above k, and rounds of Q = qr(A'A Q) sharpen the basis: each
  multiplies the weight of the i-th direction by the square of its singular value.

Signs are made definite: the entry of largest magnitude in each left vector is positive.

Halko, Martinsson and Tropp, "Finding structure with randomness: probabilistic algorithms for constructing approximate
matrix decompositions", 2011, algorithm 4.4; Musco and Musco, "Randomized block Krylov methods for stronger and faster
approximate singular value decomposition", 2015, algorithm 2. A is m x n.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from corpuscle.compiled import kernel
from corpuscle.random import normal, purpose_id, stream

_PURPOSE = purpose_id("linalg.gaussian")
ALL_BELOW, LARGE_PART, BLOCK = 256, 4, 256
"""Right vectors of a matrix whose smaller side is at most the first, or the second times as long as there shall be
vectors, come from its square; the last is how many columns of that are made at a time."""


class LowRank(NamedTuple):
    """A is about U diag(s) V'.

    - ``left`` float64 (m, k), ``right`` float64 (n, k): orthonormal columns;
    - ``values`` float64 (k,): singular values, falling.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray


@kernel
def fill_normal(seed, purpose, block):
    """Fill a block (n, l) with standard normal numbers; every row has a stream of its own."""
    for i in range(len(block)):
        source = stream(seed, purpose, 0, i)
        for c in range(block.shape[1]):
            block[i, c] = normal(source)


def gaussian(rows: int, columns: int, seed: int) -> np.ndarray:
    """Standard normal numbers, float64 (rows, columns); the seed decides all of them."""
    block = np.empty((rows, columns))
    fill_normal(seed, _PURPOSE, block)
    return block


def _basis(block: np.ndarray) -> np.ndarray:
    return np.linalg.qr(block)[0]


def definite(left: np.ndarray, values: np.ndarray, right: np.ndarray) -> LowRank:
    """Both sides with signs such that the entry of largest magnitude in each left vector is positive."""
    extreme = np.abs(left).argmax(axis=0)
    signs = np.where(left[extreme, np.arange(left.shape[1])] < 0, -1.0, 1.0)
    return LowRank(left * signs, values, right * signs)


def _checked(operator: Any, k: int) -> LinearOperator:
    operator = aslinearoperator(operator)
    if not 1 <= k <= min(operator.shape):
        raise ValueError(f"a matrix of shape {operator.shape} has no {k} singular values")
    return operator


def right_vectors(operator: Any, k: int, *, rounds: int = 4, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The first ``k`` singular values, (k,), and right singular vectors, (n, k), of a matrix. Where k is a large part
    of its smaller side they come from the eigenvectors of A A' or A'A; else from power iteration on A'A, whose bases
    are only as long as there are columns. Values below 1e-8 of the first drown."""
    operator = _checked(operator, k)
    smaller = min(operator.shape)
    if smaller <= max(ALL_BELOW, LARGE_PART * k):
        basis = _row_space(operator, k)
    else:
        basis = _basis(gaussian(operator.shape[1], min(k + 10, smaller), seed))
        for _ in range(rounds + 1):
            basis = _basis(operator.rmatmat(operator.matmat(basis)))
    image = operator.matmat(basis)
    squares, vectors = np.linalg.eigh(image.T @ image)
    values = np.sqrt(np.maximum(squares[::-1][:k], 0.0))
    vectors = basis @ vectors[:, ::-1][:, :k]
    return values, definite(vectors, values, vectors).left


def _row_space(operator: LinearOperator, k: int) -> np.ndarray:
    """An orthonormal basis of the first ``k`` right singular vectors, (n, k), by the square of the smaller side."""
    rows, columns = operator.shape
    size = min(rows, columns)
    once, twice = (operator.rmatmat, operator.matmat) if rows < columns else (operator.matmat, operator.rmatmat)
    square = np.empty((size, size))
    for first in range(0, size, BLOCK):  # the longer side is never there for all columns at once
        some = np.zeros((size, min(BLOCK, size - first)))
        np.fill_diagonal(some[first:], 1.0)
        square[:, first : first + some.shape[1]] = twice(once(some))
    vectors = np.linalg.eigh(square)[1][:, ::-1][:, :k]
    return _basis(operator.rmatmat(vectors)) if rows < columns else vectors


def _orthogonal(block: np.ndarray, basis: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split a block (n, l) into basis @ C + new @ R, ``basis`` (n, s) and ``new`` (n, l) orthonormal together: new, C
    (s, l), R (l, l). Where a block leaves the basis in fewer than l directions, random ones stand for the rest."""
    inside = basis.T @ block
    size = np.linalg.norm(block)
    block, factor = np.linalg.qr(block - basis @ inside)
    missing = np.abs(factor).max(axis=1) <= 1e-13 * size
    if missing.any():
        factor[missing] = 0.0
        block[:, missing] = gaussian(len(block), int(missing.sum()), seed)
    for _ in range(2 if missing.any() else 1):  # what rounding, or a random direction, has left of the basis
        part = basis.T @ block
        inside += part @ factor
        block, step = np.linalg.qr(block - basis @ part)
        factor = step @ factor
    return block, inside, factor


def krylov_svd(operator: Any, k: int, *, width: int | None = None, rounds: int = 16, seed: int = 1) -> LowRank:
    """The first ``k`` singular values and vectors of a matrix, or of anything with ``matmat`` and ``rmatmat``, by block
    Krylov iteration: ``rounds`` blocks (t) of ``width`` columns (l, default: a quarter of k), or as many as it takes to
    have k. The same seed gives the same bits."""
    operator = _checked(operator, k)
    rows, columns = operator.shape
    width = min(width or max(8, -(-k // 4)), rows, columns)
    size = min(max(rounds * width, k), rows, columns)
    lefts, rights = np.zeros((rows, size), order="F"), np.zeros((columns, size), order="F")
    small = np.zeros((size, size))
    block = _basis(gaussian(columns, width, seed))
    first = 0
    while first < size:
        last = min(first + width, size)
        block = block[:, : last - first]
        rights[:, first:last] = block
        new, inside, factor = _orthogonal(operator.matmat(block), lefts[:, :first], seed)
        lefts[:, first:last] = new
        small[:first, first:last], small[first:last, first:last] = inside, factor
        if last < size:
            block, _, _ = _orthogonal(operator.rmatmat(new), rights[:, :last], seed + 1)
        first = last
    left, values, right = np.linalg.svd(small)
    return definite(lefts @ left[:, :k], values[:k], rights @ right[:k].T)
