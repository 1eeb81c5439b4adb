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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.linalg.sparse import Rows
from corpuscle.engine.ngrams.trie import (
    CONTEXT,
    WORD,
    BackoffTables,
    Layers,
    Ngrams,
    frozen_layers,
    layer_share,
    log_tables,
)
from corpuscle.lm.kernels.kl_factorisation import Blocks, Factors, factorise_blocks


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


@kernel
def _pass_mass_on(ngrams, discounts, start, first, last, adjusted):
    for row in range(first, last):
        if ngrams.words[row] != start and adjusted[row] > 0:
            adjusted[ngrams.suffix[row]] += discounts[min(np.int64(adjusted[row]), 3)]


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
        below = slice(levels[m - 2], levels[m - 1])
        _pass_mass_on(ngrams, discounts[m - 1], start, levels[m - 1], levels[m], adjusted)
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
        row_starts = np.concatenate([[0], np.cumsum(np.bincount(middle, minlength=below - levels[m - 3]))])
        blocks = Blocks(row_starts, ngrams.first_child[levels[m - 3] : below + 1].astype(np.int64) - below)
    lengths = np.diff(first_child)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
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


@kernel
def _context_sums(first_child, values, sums):
    for context in range(len(sums)):
        total = 0.0
        for row in range(first_child[context], first_child[context + 1]):
            total += values[row]
        sums[context] = total


def layers_of(ngrams: Ngrams, adjusted: np.ndarray, found: Sequence[Sequence[Factors | None]], eta: int) -> Layers:
    """The layers of a model from the factors of each order, from 2 on, and of each of ``eta`` steps; None where there
    are none."""
    levels = ngrams.levels[:-1].tolist()
    ranks = np.array([[0 if step is None else step.left.shape[1] for step in order] for order in found], np.int64)
    ranks = ranks.reshape(-1, eta)
    widths, sizes = ranks.sum(1), np.diff(levels)
    vectors, scales = np.zeros((2, int(widths @ sizes)), np.float32), np.zeros((2, levels[-1], ranks.shape[1]))
    totals, base = np.empty(levels[-1]), 0
    _context_sums(ngrams.first_child, frozen(adjusted, np.float64), totals)
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
    return frozen_layers(np.array(levels), ranks, vectors, scales)


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
    return log_tables(ngrams, probability, backoff)
