"""Cooccurrence: which types stand in the same sentence pair, and where each of their meetings is counted.

The table has a row for each source type with the target types that it ever meets; an entry of the table is a *couple*.
A *cell* is a pair of tokens, one of each side of a sentence pair; ``cells`` holds the couple of every cell, worked out
once, so that an iteration of a learner is gathers and scatters without any search. Both directions of translation
share couples and cells: p(t | s) and p(s | t) are two arrays over the same couples.

A sentence pair of m source and n target tokens has m n cells, row by row (source-major).

The pairs of types that can get a count at all are those of Brown, Della Pietra, Della Pietra and Mercer, "The
mathematics of statistical machine translation: parameter estimation", 1993, section 4.1; the layout is compressed
sparse rows.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel

__all__ = ["Couples", "Pairs", "couples_of", "locate", "pairs_of"]

_CELLS_A_CALL = 8_000_000


class Couples(NamedTuple):
    """The table of couples: row s has ``columns[row_starts[s]:row_starts[s + 1]]``.

    - ``row_starts``: int64 (n_source_types + 1,);
    - ``columns``: int32 (n_couples,), target types.
    """

    row_starts: np.ndarray
    columns: np.ndarray


class Pairs(NamedTuple):
    """Sentence pairs as kernels see them.

    - ``source``, ``target``: int32, all tokens; ``source_starts``, ``target_starts``: int64 (n_pairs + 1,);
    - ``cell_starts``: int64 (n_pairs + 1,), where the cells of each pair begin;
    - ``cells``: int32 (n_cells,), the couple of each cell; ``n_couples`` for cells whose couple is not in the table.
    """

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    cell_starts: np.ndarray
    cells: np.ndarray


def pairs_of(source: np.ndarray, source_starts: np.ndarray, target: np.ndarray, target_starts: np.ndarray) -> Pairs:
    """Sentence pairs whose cells have not been filled yet."""
    cell_starts = np.zeros(len(source_starts), np.int64)
    np.cumsum(np.diff(source_starts) * np.diff(target_starts), out=cell_starts[1:])
    return Pairs(
        frozen(source, np.int32),
        frozen(source_starts, np.int64),
        frozen(target, np.int32),
        frozen(target_starts, np.int64),
        frozen(cell_starts, np.int64),
        np.empty(cell_starts[-1], np.int32),
    )


@kernel
def _count_row_sizes(pairs, order, order_starts, sentences, first, last, stamp, sizes):
    """How many different target types each source type of first..last-1 meets."""
    for s in range(first, last):
        size = 0
        for k in range(order_starts[s], order_starts[s + 1]):
            sentence = sentences[order[k]]
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                t = pairs.target[j]
                if stamp[t] != s:
                    stamp[t] = s
                    size += 1
        sizes[s] = size


@kernel
def _fill_rows(pairs, order, order_starts, sentences, first, last, stamp, place, row_starts, columns):
    """Write the columns of some rows, in the order of their first meeting, and the cells of their tokens."""
    for s in range(first, last):
        end = row_starts[s]
        for k in range(order_starts[s], order_starts[s + 1]):
            token = order[k]
            sentence = sentences[token]
            begin, n = pairs.target_starts[sentence], pairs.target_starts[sentence + 1] - pairs.target_starts[sentence]
            cell = pairs.cell_starts[sentence] + (token - pairs.source_starts[sentence]) * n
            for j in range(n):
                t = pairs.target[begin + j]
                if stamp[t] != s:
                    stamp[t] = s
                    place[t] = end
                    columns[end] = t
                    end += 1
                pairs.cells[cell + j] = place[t]


def couples_of(pairs: Pairs, source_types: int, target_types: int) -> Couples:
    """The couples of some sentence pairs; fills ``pairs.cells``."""
    order = np.argsort(pairs.source, kind="stable")
    counts = np.bincount(pairs.source, minlength=source_types)
    order_starts = np.zeros(source_types + 1, np.int64)
    np.cumsum(counts, out=order_starts[1:])
    sentences = np.repeat(np.arange(len(pairs.source_starts) - 1, dtype=np.int32), np.diff(pairs.source_starts))
    weights = np.bincount(pairs.source, np.diff(pairs.target_starts)[sentences], source_types)
    cuts = np.flatnonzero(np.diff(np.cumsum(weights) // _CELLS_A_CALL, prepend=-1))
    bounds = [*cuts.tolist(), source_types]
    sizes = np.zeros(source_types, np.int64)
    stamp = np.full(target_types, -1, np.int32)
    for first, last in pairwise(bounds):
        _count_row_sizes(pairs, order, order_starts, sentences, first, last, stamp, sizes)
    row_starts = np.zeros(source_types + 1, np.int64)
    np.cumsum(sizes, out=row_starts[1:])
    if row_starts[-1] >= np.iinfo(np.int32).max:
        raise MemoryError("more than two thousand million different pairs of words")
    columns = np.empty(row_starts[-1], np.int32)
    stamp[:] = -1
    place = np.empty(target_types, np.int32)
    for first, last in pairwise(bounds):
        _fill_rows(pairs, order, order_starts, sentences, first, last, stamp, place, row_starts, columns)
    return Couples(frozen(row_starts, np.int64), frozen(columns, np.int32))


@kernel
def _locate(pairs, couples, first, last):
    missing = len(couples.columns)
    for sentence in range(first, last):
        cell = pairs.cell_starts[sentence]
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            begin, end = couples.row_starts[pairs.source[i]], couples.row_starts[pairs.source[i] + 1]
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                t = pairs.target[j]
                low, high = begin, end
                while low < high:
                    middle = (low + high) // 2
                    if couples.columns[middle] < t:
                        low = middle + 1
                    else:
                        high = middle
                pairs.cells[cell] = low if low < end and couples.columns[low] == t else missing
                cell += 1


def locate(pairs: Pairs, couples: Couples, first: int, last: int) -> None:
    """Fill the cells of sentence pairs first..last-1 by searching a table whose rows rise."""
    _locate(pairs, couples, first, last)
