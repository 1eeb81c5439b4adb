"""Nonnegative factorisation of sparse matrices under the generalised Kullback-Leibler divergence, with exact margins.

    A is about X = diag(r) U V' diag(c),      gKL(A || X) = sum of A log(A / X) - A + X

A is m x n with entries that are not negative; U (m x k) and V (n x k) are positive. Multiplicative updates go over the
entries of A alone, whatever m and n: with Q = A / (U V') at these entries,

    V[j] *= (sum_i Q[i, j] U[i]) / (sum_i U[i])        U[i] *= (sum_j Q[i, j] V[j]) / (sum_j V[j])

and no update increases gKL. The best X has the row and column sums of A. An update of U makes the row sums right, one
of V the column sums, both are right only in the limit. So the last step is a balance: rows and columns are scaled in
turn, which leaves the rank as it is, until both margins fit. Where that is slow, scales go beyond what would be right
for the moment: errors that fall by rho from one sweep to the next fall fastest with the exponent 2 / (1 + sqrt(1 -
rho)). U and V are single precision, r and c, which carry the margins, double: row sums are exact to rounding, column
sums to 1e-10.

A matrix may fall into blocks along its diagonal, which share neither rows nor columns; each has a factorisation of its
own, in its own rows of U and V. One of at most k rows or columns would not change: it is left out (r and c are 0).
Large blocks are shared out line by line, small ones block by block; nothing depends on the number of workers.

Lee and Seung, "Algorithms for non-negative matrix factorization", 2001, theorem 2; Ho and Van Dooren, "Non-negative
matrix factorization with fixed row and column sums", 2008, theorem 4, for the margins; Sinkhorn and Knopp, "Concerning
nonnegative matrices and doubly stochastic matrices", 1967, and Thibault, Chizat, Dossal and Papadakis, "Overrelaxed
Sinkhorn-Knopp algorithm for regularized optimal transport", 2021, for the balance.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle import scale
from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.linalg.sparse import Rows, transposed
from corpuscle.random import purpose_id, stream, uniform

_PURPOSE = purpose_id("linalg.divergence")
_LARGE = 1 << 18
"""From so many entries on the lines of a block are shared out."""
_WORK = 1 << 21
"""So many multiplications, about, are one piece of work."""
_FLOOR = np.float32(1e-20)
"""No factor falls below this: denormal numbers are slow, and what is zero stays so."""
_SWEEPS, _CYCLE, _PLAIN, _TOLERANCE = 1000, 100, 20, 1e-10
"""A balance has at most so many sweeps; in each cycle of them the first are plain. It ends when margins are as near."""


class Blocks(NamedTuple):
    """Where the blocks of a matrix begin: ``rows`` int64 (blocks + 1,), ``columns`` int64 (blocks + 1,)."""

    rows: np.ndarray
    columns: np.ndarray


class Factors(NamedTuple):
    """X = diag(row_scales) left right' diag(column_scales) within each block: ``left`` float32 (m, k), ``right``
    float32 (n, k), ``row_scales`` float64 (m,), ``column_scales`` float64 (n,), which are 0 where X is nothing."""

    left: np.ndarray
    right: np.ndarray
    row_scales: np.ndarray
    column_scales: np.ndarray

    def dense(self) -> np.ndarray:
        """X as an array (m, n); for small matrices of one block."""
        left = self.left * self.row_scales[:, None]
        return left @ (self.right * self.column_scales[:, None]).T


class _Lines(NamedTuple):
    """The rows of a matrix, or of its transpose: ``starts`` int64 (lines + 1,), ``others`` int32 and ``values`` float32
    (entries,), ``sums`` float64 (lines,); their ``factors`` float32 (lines, k) and ``scales`` float64 (lines,)."""

    starts: np.ndarray
    others: np.ndarray
    values: np.ndarray
    sums: np.ndarray
    factors: np.ndarray
    scales: np.ndarray


@kernel
def _begin(lines, seed, number, total, first, last, sums):
    """Factors around the margins: the sum of a line over ``total``, times random numbers between 1/2 and 3/2."""
    for i in range(first, last):
        lines.scales[i] = lines.sums[i] > 0
        source = stream(seed, _PURPOSE, number, i)
        for k in range(len(sums)):
            lines.factors[i, k] = max(lines.sums[i] / total * (0.5 + uniform(source)), _FLOOR)
    _sum_factors(lines, first, last, sums)


@part
def _sum_factors(lines, first, last, sums):
    """Add up the factors of some lines, each times its scale: float64 (k,)."""
    sums[:] = 0.0
    for i in range(first, last):
        if lines.scales[i] > 0:
            for k in range(len(sums)):
                sums[k] += lines.scales[i] * lines.factors[i, k]


@part(reorder=True)
def _improve(lines, others, inverse, totals, i):
    """Update the factors of line i; ``inverse``: 1 over the sum of the ``others``' factors; ``totals`` is scratch."""
    mine, rank = lines.factors, len(inverse)
    for k in range(rank):
        totals[k] = np.float32(0)
    for entry in range(lines.starts[i], lines.starts[i + 1]):
        other, here = lines.others[entry], np.float32(0)
        for k in range(rank):
            here += mine[i, k] * others[other, k]
        ratio = lines.values[entry] / max(here, np.float32(1e-30))
        for k in range(rank):
            totals[k] += ratio * others[other, k]
    for k in range(rank):
        mine[i, k] = max(mine[i, k] * totals[k] * inverse[k], _FLOOR)


@kernel
def _improve_lines(lines, others, other_sums, first, last, sums):
    """Update some lines, given the factors of the others and their sum; ``sums`` becomes the sum of the new factors."""
    totals, inverse = np.empty(len(sums), np.float32), np.empty(len(sums), np.float32)
    for k in range(len(sums)):
        inverse[k] = 1.0 / other_sums[k]
    for i in range(first, last):
        if lines.sums[i] > 0:
            _improve(lines, others, inverse, totals, i)
    _sum_factors(lines, first, last, sums)


@kernel
def _scale_lines(lines, other_sums, exponent, first, last, sums):
    """Scale some lines to their margins, given the sum of the others, or beyond them by an ``exponent``; returns how
    far they were from them, and ``sums`` becomes the sum of what they are now."""
    change = 0.0
    for i in range(first, last):
        if lines.sums[i] > 0:
            here = 0.0
            for k in range(len(sums)):
                here += other_sums[k] * lines.factors[i, k]
            new = lines.sums[i] / here
            change = max(change, abs(lines.scales[i] / new - 1.0))
            lines.scales[i] = new if exponent == 1.0 else lines.scales[i] * (new / lines.scales[i]) ** exponent
    _sum_factors(lines, first, last, sums)
    return change


@kernel
def _next_exponent(sweep, exponent, change, before):
    """The exponent of the next sweep, from how far the margins were off in this one and in the one before."""
    if sweep % _CYCLE == _PLAIN and change > 0.3 * before:
        return 2.0 / (1.0 + np.sqrt(max(1.0 - change / before, 1e-6)))
    return 1.0 if sweep % _CYCLE == 0 or change > 10.0 * before else exponent


@kernel
def _stays(rows, columns, rank, block):
    """Whether a block (first row, last, first column, last) has at most ``rank`` rows or columns that are not empty."""
    found = 0
    for i in range(block[0], block[1]):
        found += rows.sums[i] > 0
    if found <= rank:
        return True
    found = 0
    for i in range(block[2], block[3]):
        found += columns.sums[i] > 0
    return found <= rank


@kernel
def _solve_blocks(rows, columns, blocks, iterations, seed, number, first, last):
    """Factorise some blocks, one after the other."""
    rank = rows.factors.shape[1]
    row_sums, column_sums = np.empty(rank), np.empty(rank)
    for b in range(first, last):
        block = (blocks.rows[b], blocks.rows[b + 1], blocks.columns[b], blocks.columns[b + 1])
        if block[1] - block[0] <= rank or block[3] - block[2] <= rank or _stays(rows, columns, rank, block):
            continue
        total = 0.0
        for i in range(block[0], block[1]):
            total += rows.sums[i]
        _begin(rows, seed, 2 * number, np.float64(rank), block[0], block[1], row_sums)
        _begin(columns, seed, 2 * number + 1, total, block[2], block[3], column_sums)
        for _ in range(iterations if rank > 1 else 0):
            _improve_lines(columns, rows.factors, row_sums, block[2], block[3], column_sums)
            _improve_lines(rows, columns.factors, column_sums, block[0], block[1], row_sums)
        exponent, before = 1.0, np.inf
        for sweep in range(_SWEEPS):
            change = _scale_lines(columns, row_sums, exponent, block[2], block[3], column_sums)
            is_last = change < _TOLERANCE or sweep == _SWEEPS - 1
            _scale_lines(rows, column_sums, 1.0 if is_last else exponent, block[0], block[1], row_sums)
            if is_last:
                break
            exponent, before = _next_exponent(sweep, exponent, change, before), change


class _Shared:
    """The lines of one side of a large block, shared out in chunks."""

    def __init__(self, pool: scale.Workers, lines: _Lines, first: int, last: int):
        rank = lines.factors.shape[1]
        edges = first + scale.chunks_of(np.diff(lines.starts[first : last + 1]) + 8, max(1, _WORK // rank))
        self.pool, self.lines, self.rank = pool, lines, rank
        self.pieces = list(pairwise(edges.tolist()))
        self.sums = np.zeros(rank)

    def run(self, function: Any, *arguments: Any) -> float:
        """``function(lines, *arguments, first, last, sums)`` of every chunk: the largest result. The sums add up."""
        parts = np.empty((len(self.pieces), self.rank))

        def work(number: int) -> float:
            return float(function(self.lines, *arguments, *self.pieces[number], parts[number]) or 0.0)

        largest = max(self.pool.map(work, range(len(parts))))
        self.sums = parts.sum(0)
        return largest


def _solve_large(
    pool: scale.Workers, rows: _Lines, columns: _Lines, block: list[int], iterations: int, seed: int, number: int
) -> None:
    """Factorise one block as ``_solve_blocks`` does, its lines shared out."""
    rank = rows.factors.shape[1]
    if _stays(rows, columns, rank, tuple(block)):
        return
    left, right = _Shared(pool, rows, *block[:2]), _Shared(pool, columns, *block[2:])
    left.run(_begin, seed, 2 * number, float(rank))
    right.run(_begin, seed, 2 * number + 1, float(rows.sums[block[0] : block[1]].sum()))
    for _ in range(iterations if rank > 1 else 0):
        right.run(_improve_lines, rows.factors, left.sums)
        left.run(_improve_lines, columns.factors, right.sums)
    exponent, before = 1.0, np.inf
    for sweep in range(_SWEEPS):
        change = right.run(_scale_lines, left.sums, exponent)
        is_last = change < _TOLERANCE or sweep == _SWEEPS - 1
        left.run(_scale_lines, right.sums, 1.0 if is_last else exponent)
        if is_last:
            break
        exponent, before = _next_exponent(sweep, exponent, change, before), change


def _lines(matrix: Rows, rank: int) -> _Lines:
    lines = len(matrix.starts) - 1
    values = frozen(matrix.values, np.float32)
    factors, scales = np.zeros((lines, rank), np.float32), np.zeros(lines)
    starts, others = frozen(matrix.starts, np.int64), frozen(matrix.columns, np.int32)
    return _Lines(starts, others, values, frozen(matrix.row_sums(), np.float64), factors, scales)


def factorise_blocks(
    matrix: Rows, blocks: Blocks, rank: int, *, iterations: int = 40, seed: int = 1, number: int = 0,
    workers: int | None = None,
) -> Factors:  # fmt: skip
    """Factors of ``rank`` columns for every block of a matrix that has more rows and columns than that, from
    ``iterations`` updates of each side. ``number`` tells factorisations with one seed apart."""
    rows, columns = _lines(matrix, rank), _lines(transposed(matrix), rank)
    blocks = Blocks(frozen(blocks.rows, np.int64), frozen(blocks.columns, np.int64))
    sizes = np.diff(matrix.starts[blocks.rows])
    large = np.flatnonzero(sizes >= _LARGE)
    with scale.workers(workers) as pool:
        for b in large.tolist():
            block = [*blocks.rows[b : b + 2].tolist(), *blocks.columns[b : b + 2].tolist()]
            _solve_large(pool, rows, columns, block, iterations, seed, number)
        edges = scale.chunks_of(sizes + 1, max(1, 8 * _WORK // (rank * (iterations + 1))))
        edges = np.unique(np.concatenate([edges, large, large + 1]))
        pieces = [piece for piece in pairwise(edges.tolist()) if piece[0] not in large]
        solve = partial(_solve_blocks, rows, columns, blocks, iterations, seed, number)
        for _ in pool.map(lambda piece: solve(*piece), pieces):
            pass
    return Factors(rows.factors, columns.factors, rows.scales, columns.scales)


def factorise(matrix: Rows, rank: int, *, iterations: int = 40, seed: int = 1, workers: int | None = None) -> Factors:
    """Factors of a sparse matrix whose entries are not negative, of a rank below its numbers of rows and columns."""
    if not 1 <= rank < min(matrix.shape):
        raise ValueError(f"for this matrix a rank is at least 1 and below {min(matrix.shape)}, not {rank}")
    if len(matrix.values) and not (matrix.values >= 0).all():
        raise ValueError("the entries of the matrix must not be negative")
    whole = Blocks(*(np.array([0, size]) for size in matrix.shape))
    return factorise_blocks(matrix, whole, rank, iterations=iterations, seed=seed, workers=workers)


def divergence(matrix: Rows, factors: Factors) -> float:
    """gKL(A || X) for factors of one block; entries that are 0 take no part in the logarithm."""
    rows = matrix.row_numbers()
    left = factors.left.astype(np.float64) * factors.row_scales[:, None]
    right = factors.right.astype(np.float64) * factors.column_scales[:, None]
    here, there = left[rows[matrix.values > 0]], right[matrix.columns[matrix.values > 0]]
    values = matrix.values[matrix.values > 0]
    inside = (values * np.log(values / np.einsum("ek,ek->e", here, there))).sum()
    return float(inside - matrix.values.sum() + left.sum(0) @ right.sum(0))
