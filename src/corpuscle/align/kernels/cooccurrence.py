"""Cooccurrence: which types stand in the same sentence pair, and where each of their meetings is counted.

The table has a row for each source type with the target types that it ever meets; an entry of the table is a *couple*.
A *cell* is a pair of tokens, one of each side of a sentence pair; ``cells`` holds the couple of every cell, worked out
once, so that an iteration of a learner is gathers and scatters without any search. Both directions of translation
share couples and cells: p(t | s) and p(s | t) are two arrays over the same couples.

A sentence pair of m source and n target tokens has m n cells, row by row (source-major).

The pairs of types that can get a count at all are those of Brown, Della Pietra, Della Pietra and Mercer, "The
mathematics of statistical machine translation: parameter estimation", 1993, section 4.1; the layout is compressed
sparse rows. ``meetings`` and ``reach`` are about neighbourhoods: in how many sentence pairs two types meet, and which
words no allowed link would reach; Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features",
2011, section 3.3 (shrinking the discriminative neighbourhood).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.scale import chunks_of

_CELLS_A_CALL = 2_000_000


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


class Directed(NamedTuple):
    """Sentence pairs as one direction sees them: each output comes from one of the states, or from nothing.

    - ``states``, ``outputs``: int32, all tokens; ``state_starts``, ``output_starts``: int64 (n_pairs + 1,);
    - ``cell_starts``, ``cells``: as in ``Pairs``; ``swap``: whether the target side has the states.
    """

    states: np.ndarray
    state_starts: np.ndarray
    outputs: np.ndarray
    output_starts: np.ndarray
    cell_starts: np.ndarray
    cells: np.ndarray
    swap: bool


def directed(pairs: Pairs, direction: int) -> Directed:
    """Direction 0 has the source as states, direction 1 the target."""
    source, source_starts, target, target_starts, cell_starts, cells = pairs
    if direction:
        return Directed(target, target_starts, source, source_starts, cell_starts, cells, True)
    return Directed(source, source_starts, target, target_starts, cell_starts, cells, False)


@part(inline=True)
def shape_of(pairs, sentence):
    """How many states and outputs a sentence pair has; how far it is from a cell to that of the next state, and to that
    of the next output."""
    m = pairs.state_starts[sentence + 1] - pairs.state_starts[sentence]
    n = pairs.output_starts[sentence + 1] - pairs.output_starts[sentence]
    return (m, n, 1, m) if pairs.swap else (m, n, n, 1)


@kernel
def _fill_rows(pairs, order, order_starts, sentences, first, last, stamp, place, row_starts, columns):
    """Write the columns of rows first..last-1, in the order of their first meeting, and the cells of their tokens."""
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
        row_starts[s + 1] = end


def couples_of(pairs: Pairs, source_types: int, target_types: int) -> Couples:
    """The couples of some sentence pairs; fills ``pairs.cells``."""
    if len(pairs.cells) >= np.iinfo(np.int32).max:
        raise MemoryError("more than two thousand million pairs of words")
    order = np.argsort(pairs.source, kind="stable")
    order_starts = np.append(0, np.cumsum(np.bincount(pairs.source, minlength=source_types)))
    sentences = np.repeat(np.arange(len(pairs.source_starts) - 1, dtype=np.int32), np.diff(pairs.source_starts))
    weights = np.bincount(pairs.source, np.diff(pairs.target_starts)[sentences], source_types).astype(np.int64)
    row_starts = np.zeros(source_types + 1, np.int64)
    columns = np.empty(len(pairs.cells), np.int32)  # there are fewer couples: memory that is not touched is not taken
    stamp, place = np.full(target_types, -1, np.int32), np.empty(target_types, np.int32)
    for first, last in pairwise(chunks_of(weights, _CELLS_A_CALL).tolist()):
        _fill_rows(pairs, order, order_starts, sentences, first, last, stamp, place, row_starts, columns)
    return Couples(frozen(row_starts, np.int64), frozen(columns[: row_starts[-1]].copy(), np.int32))


@kernel
def _locate(pairs, couples, first, last):
    """Fill the cells of sentence pairs first..last-1."""
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


def locate(pairs: Pairs, couples: Couples) -> None:
    """Fill the cells by searching a table whose rows rise."""
    for first, last in pairwise(chunks_of(np.diff(pairs.cell_starts), _CELLS_A_CALL).tolist()):
        _locate(pairs, couples, first, last)


@kernel
def meetings(pairs, first, last, stamps, counts):
    """Add to ``counts`` int64 (n_couples,) the sentence pairs of first..last-1 in which each couple meets.

    ``stamps`` int32 (n_couples,) holds the last pair in which each was seen, counted from 1.
    """
    for sentence in range(first, last):
        for cell in range(pairs.cell_starts[sentence], pairs.cell_starts[sentence + 1]):
            couple = pairs.cells[cell]
            if stamps[couple] != sentence + 1:
                stamps[couple] = sentence + 1
                counts[couple] += 1


@kernel
def reach(pairs, first, last, table, from_null, allowed):
    """Allow for every output that no state of its sentence may generate the couple with the largest ``table`` entry.

    ``pairs``: see ``cooccurrence.Directed``. ``allowed`` bool (n_couples,) is changed; ``from_null`` bool, by output
    type, says what the null word may generate.
    """
    for sentence in range(first, last):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        for j in range(n):
            reached = from_null[pairs.outputs[pairs.output_starts[sentence] + j]]
            best = -1
            for i in range(m):
                couple = pairs.cells[pairs.cell_starts[sentence] + i * state_step + j * output_step]
                reached = reached or allowed[couple]
                if best < 0 or table[couple] > table[best]:
                    best = couple
            if not reached and best >= 0:
                allowed[best] = True
