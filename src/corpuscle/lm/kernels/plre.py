"""Power low rank ensembles: between order m and order m - 1 stand orders in between, made of low rank matrices.

Interpolated Kneser-Ney takes D from the count of every n-gram and gives it to the shorter context, where all that is
left of u h w is h w. An ensemble does it in eta + 1 steps. With powers 1 = rho_0 >= rho_1 >= ... >= rho_eta+1 = 0 and
factors d_0, ..., d_eta (whose product is D) an adjusted count a falls into shares

    s_0 = a - d_0 a^rho_1        s_j = d_0 ... d_j-1 (a^rho_j - d_j a^rho_j+1)        s_B = d_0 ... d_eta = D

which add up to a. The n-grams u h w with the same words h in the middle are a matrix, a *slice*, of u by w: its entries
s_j are replaced by a matrix of low rank with the same row and column sums, S_j, which has something for pairs u, w that
never met around h. So, with a(.) and B(.) the sums of a and s_B over w,

    P(w | u h) = (s_0 + S_1 + ... + S_eta + B(u h) P(w | h)) / a(u h)

Right row sums (of u) make this sum to one, right column sums (of w) keep the marginals of Kneser-Ney. A slice that has
no more rows or columns than the rank stays as it is; if all do, the model is Kneser-Ney.

Row u h and column h w of a slice are (m-1)-grams, so all slices of an order are one matrix, whose rows and columns are
numbered like the rows of the trie one order below, and which falls into blocks. What a word gets after a context that
never saw it is B(u h) P(w | h), a back-off, plus S(u h, h w), and there is no S if w never came after h: of all the
contexts that a look-up passes on its way down, only the last one before it finds the word has a low rank share.

Parikh, Saluja, Dyer and Xing, "Language modeling with power low rank ensembles", 2014, equations 3 and 8-11.

**The matrices**: nonnegative factorisation under the generalised Kullback-Leibler divergence, with exact margins.

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

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle import scale
from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.linalg.sparse import Rows, transposed
from corpuscle.engine.ngrams import trie
from corpuscle.engine.ngrams.trie import CONTEXT, WORD, BackoffTables, Layers, Ngrams, layer_share
from corpuscle.random import purpose_id, stream, uniform

_PURPOSE = purpose_id("linalg.divergence")
_LARGE = 1 << 18
"""The number of entries from which on the lines of a block are shared out."""
_WORK = 1 << 21
"""About how many multiplications are one piece of work."""
_FLOOR = np.float32(1e-20)
"""The lower bound of factors: denormal numbers are slow, and what is zero stays so."""
_SWEEPS, _CYCLE, _PLAIN, _TOLERANCE = 1000, 100, 20, 1e-10
"""Of a balance: the most sweeps; the sweeps of a cycle, and how many of them are plain; the error at which it ends."""


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
    filled = (rows.sums[block[0] : block[1]] > 0).sum(), (columns.sums[block[2] : block[3]] > 0).sum()
    return min(filled) <= rank


@kernel
def _solve_blocks(rows, columns, blocks, iterations, seed, number, first, last):
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
    """The lines of one side of a large block, shared out in chunks; ``sums``: of their factors."""

    sums: np.ndarray

    def __init__(self, pool: scale.Workers, lines: _Lines, first: int, last: int):
        self.pool, self.lines, self.rank = pool, lines, lines.factors.shape[1]
        work = np.diff(lines.starts[first : last + 1]) + 8
        self.pieces = list(pairwise((first + scale.chunks_of(work, max(1, _WORK // self.rank))).tolist()))

    def run(self, function: Any, *arguments: Any) -> float:
        """``function(lines, *arguments, first, last, sums)`` of every chunk: the largest result. The sums add up."""
        parts = np.empty((len(self.pieces), self.rank))
        works = zip(self.pieces, parts, strict=True)
        found = self.pool.map(lambda work: function(self.lines, *arguments, *work[0], work[1]) or 0.0, works)
        largest, self.sums = max(found), parts.sum(0)
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
    ``iterations`` updates of each side. ``number`` varies the random start under one seed."""
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


class Discounting(NamedTuple):
    """How the counts of one order are shared out: ``steps`` float64 (eta + 1, 4), d_j for counts of 1, 2, 3 and more,
    from index 1; ``powers`` float64 (eta + 2,), from 1 down to 0."""

    steps: np.ndarray
    powers: np.ndarray


@part(bare=True)
def share(discounting, count, j):
    """s_j of a count; s_B for j = eta + 1."""
    if count <= 0:
        return 0.0
    steps, powers, k = discounting.steps, discounting.powers, min(np.int64(count), 3)
    left = 1.0
    for i in range(j):
        left *= steps[i, k]
    if j == len(steps):
        return left
    return left * (count ** powers[j] - steps[j, k] * count ** powers[j + 1])


@kernel
def _fill_shares(discounting, adjusted, j, out):
    for row in range(len(out)):
        out[row] = share(discounting, adjusted[row], j)


def shares(discounting: Discounting, adjusted: np.ndarray, j: int) -> np.ndarray:
    """s_j of many adjusted counts, float64; s_B for j = eta + 1."""
    out = np.empty(len(adjusted))
    _fill_shares(discounting, frozen(adjusted, np.float64), j, out)
    return out


def mass_counts(ngrams: Ngrams, discounts: np.ndarray, start: int, keep_start: bool) -> np.ndarray:
    """Lower-order counts that keep the marginals exactly, whatever the discounts: float64 (rows,). Instead of one for
    each distinct symbol before an n-gram it gets what is taken from the longer one, s_B.

    The unit of an order is its least discount, so that no count is below 1. ``keep_start``: n-grams that begin with
    ``start`` keep their counts, as in ``smoothing.adjusted_counts``, in the unit of their order. With one discount for
    all counts, and no such n-grams, the counts are numbers of distinct symbols again.
    """
    levels, adjusted, unit = ngrams.levels.tolist(), ngrams.counts.astype(np.float64), 1.0
    adjusted[: levels[-2]] = 0.0
    adjusted[ngrams.words == start] = 0.0
    for m in range(ngrams.order, 1, -1):
        below, here = slice(levels[m - 2], levels[m - 1]), slice(levels[m - 1], levels[m])
        given = (ngrams.words[here] != start) & (adjusted[here] > 0)
        masses = discounts[m - 1][np.minimum(adjusted[here][given].astype(np.int64), 3)]
        adjusted[: below.stop] += np.bincount(ngrams.suffix[here][given], masses, below.stop)
        if keep_start and m > 2:
            first, last = start, start + 1
            for _ in range(m - 2):
                first, last = int(ngrams.first_child[first]), int(ngrams.first_child[last])
            adjusted[first:last] = ngrams.counts[first:last] / unit
        adjusted[below][ngrams.words[below] == start] = 0.0
        least = float(discounts[m - 1, 1:][discounts[m - 1, 1:] > 0].min(initial=1.0))
        adjusted[below] /= least
        unit *= least
    return adjusted


class Slices(NamedTuple):
    """The slices of one order as one matrix, whose rows and columns are the n-grams one order below, from 0 on.

    - ``rows`` int64 (m,): which one each row is, slice by slice; ``starts`` int64 (m + 1,): where its entries begin;
    - ``columns`` int32 (entries,), ``entries`` int64 (entries,): those of the n-grams, and their rows in the trie;
    - ``blocks``: where slices begin.
    """

    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    entries: np.ndarray
    blocks: Blocks


def slices_of(ngrams: Ngrams, m: int) -> Slices:
    """The n-grams of order m by slices."""
    levels = ngrams.levels.tolist()
    below, here = levels[m - 2], levels[m - 1]
    first_child, size = ngrams.first_child[below : here + 1].astype(np.int64), here - below
    rows, blocks = np.arange(size), Blocks(np.array([0, size]), np.array([0, size]))
    if m > 2:
        middle = ngrams.suffix[below:here] - levels[m - 3]
        rows = np.argsort(middle, kind="stable")
        row_starts = scale.starts_of(np.bincount(middle, minlength=below - levels[m - 3]))
        blocks = Blocks(row_starts, ngrams.first_child[levels[m - 3] : below + 1].astype(np.int64) - below)
    lengths = np.diff(first_child)[rows]
    starts = scale.starts_of(lengths)
    entries = np.repeat(first_child[rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return Slices(rows, starts, ngrams.suffix[entries] - np.int32(below), entries, blocks)


def largest_slice(slices: Slices, adjusted: np.ndarray) -> int:
    """The smaller one of the numbers of rows and columns of a slice, where it is largest: no rank is higher."""
    seen = adjusted[slices.entries] > 0
    rows = np.repeat(np.arange(len(slices.rows)), np.diff(slices.starts))[seen]
    sizes = []
    for lines, starts in (rows, slices.blocks.rows), (slices.columns[seen], slices.blocks.columns):
        used = np.zeros(len(slices.rows) + 1, np.int64)
        used[lines + 1] = 1
        sizes.append(np.diff(np.cumsum(used)[starts]))
    return int(np.minimum(*sizes).max(initial=0))


def factorise_slices(
    slices: Slices, values: np.ndarray, rank: int, *, iterations: int, seed: int, number: int = 0,
    workers: int | None = None,
) -> Factors:  # fmt: skip
    """Low rank versions of slices with these ``values`` (entries,): factors of the n-grams one order below as contexts
    (rows) and as what follows (columns)."""
    matrix = Rows(slices.starts, slices.columns, values, len(slices.rows))
    found = factorise_blocks(
        matrix, slices.blocks, rank, iterations=iterations, seed=seed, number=number, workers=workers
    )
    left, row_scales = np.empty_like(found.left), np.empty_like(found.row_scales)
    left[slices.rows], row_scales[slices.rows] = found.left, found.row_scales
    return Factors(left, found.right, row_scales, found.column_scales)


def layers_of(ngrams: Ngrams, adjusted: np.ndarray, found: Sequence[Sequence[Factors | None]], eta: int) -> Layers:
    """The layers of a model from the factors, or None, of each order from 2 on and of each of ``eta`` steps."""
    levels = ngrams.levels[:-1].tolist()
    ranks = np.array([[0 if step is None else step.left.shape[1] for step in order] for order in found], np.int64)
    ranks = ranks.reshape(-1, eta)
    widths, sizes = ranks.sum(1), np.diff(levels)
    vectors, scales = np.zeros((2, int(widths @ sizes)), np.float32), np.zeros((2, levels[-1], ranks.shape[1]))
    contexts, base = np.repeat(np.arange(levels[-1]), np.diff(ngrams.first_child)), 0
    totals = np.bincount(contexts, adjusted[ngrams.levels[1] :], levels[-1])
    for m, (order, width) in enumerate(zip(found, widths.tolist(), strict=True)):
        rows, at = slice(levels[m], levels[m + 1]), 0
        for j, step in enumerate(order):
            if step is not None:
                here = slice(at, at + step.left.shape[1])
                for side, factors in (WORD, step.right), (CONTEXT, step.left):
                    vectors[side, base : base + sizes[m] * width].reshape(-1, width)[:, here] = factors
                scales[WORD, rows, j] = step.column_scales
                seen = step.row_scales > 0
                scales[CONTEXT, rows, j][seen] = step.row_scales[seen] / totals[rows][seen]
                at = here.stop
        base += sizes[m] * width
    return trie.frozen_layers(np.array(levels), ranks, vectors, scales)


@kernel
def _estimate_children(ngrams, adjusted, discounting, layers, first, last, probability, backoff):
    """Probabilities of the rows below the contexts ``first`` to ``last``, and those contexts' back-off weights."""
    eta = len(discounting.steps) - 1
    for context in range(first, last):
        total, freed, has_layers = 0.0, 0.0, False
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            total += adjusted[row]
            freed += share(discounting, adjusted[row], eta + 1)
        for j in range(eta):
            has_layers |= layers.scales[CONTEXT, context, j] > 0
        weight = freed / total if total > 0 else 1.0
        backoff[context] = weight
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            below = np.int64(ngrams.suffix[row])
            probability[row] = weight * probability[below]
            if total > 0:
                own = share(discounting, adjusted[row], 0)
                for j in range(eta):
                    if layers.scales[CONTEXT, context, j] == 0:
                        own += share(discounting, adjusted[row], j + 1)
                probability[row] += own / total
            if has_layers:
                probability[row] += layer_share(layers, context, below)


def estimate(
    ngrams: Ngrams, adjusted: np.ndarray, discountings: Sequence[Discounting], layers: Layers, unigrams: np.ndarray
) -> BackoffTables:
    """The probabilities of seen n-grams and the back-off weights of an ensemble, whose orders from 2 on have these
    discountings; ``unigrams`` float64 (n_types,). What else unseen n-grams get is in the layers."""
    levels = ngrams.levels.tolist()
    adjusted, probability, backoff = frozen(adjusted, np.float64), np.empty(levels[-1]), np.ones(levels[-2])
    probability[: levels[1]] = unigrams
    for m, discounting in enumerate(discountings, 1):
        for first in range(levels[m - 1], levels[m], 1 << 17):
            last = min(first + (1 << 17), levels[m])
            _estimate_children(ngrams, adjusted, discounting, layers, first, last, probability, backoff)
    return trie.log_tables(ngrams, probability, backoff)
