"""Cooccurrence: which types occur in the same sentence pair, and where each of their meetings is counted.

The table has a row for each source type, with the target types that it meets; an entry is a *couple*. A *cell* is a
pair of tokens of a sentence pair, one of each side; a pair of m and n tokens has m n cells, row by row (source-major),
and ``cells`` has the couple of each. Both directions share couples and cells: p(t | s) and p(s | t) are two arrays over
the same couples.

Two thirds of all couples of a text meet in one cell only. What is known of such a *single* belongs to its cell, so it
stands in a list, in the order of a walk through the text. What remains are *shared* couples (``share``), a table small
enough to be searched whenever cells are needed (``find``), since there are fifteen times as many cells. A row of that
table is divided into buckets of a few couples by a hash of the target type, so that a look-up reads one bucket. A cell
is then the number of a shared couple, or the number of shared couples plus that of a single.

Couples: Brown, Della Pietra, Della Pietra and Mercer, "The mathematics of statistical machine translation: parameter
estimation", 1993, section 4.1; the layout is compressed sparse rows; hashing with buckets: Knuth, "The art of computer
programming, vol. 3: sorting and searching", 1973, section 6.4. ``meetings`` and ``reach`` serve neighbourhoods: Dyer,
Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3.3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part, prefetch
from corpuscle.engine.ngrams.trie import find as search
from corpuscle.scale import chunks_of, starts_of

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
    """The numbers of states and outputs of a pair; the steps from a cell to the next state and to the next output."""
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
    order_starts = starts_of(np.bincount(pairs.source, minlength=source_types))
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
    missing = len(couples.columns)
    for sentence in range(first, last):
        cell = pairs.cell_starts[sentence]
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            begin, end = couples.row_starts[pairs.source[i]], couples.row_starts[pairs.source[i] + 1]
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                place = search(couples.columns, begin, end, pairs.target[j])
                pairs.cells[cell] = place if place >= 0 else missing
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


_WORK_A_CALL = 8_000_000
_SCRAMBLE = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)
_MOST = np.iinfo(np.int32).max


class Sharing(NamedTuple):
    """The shared couples and the way to find them.

    - ``couples``: row by row, in the order of their buckets;
    - ``bucket_starts``: int64 (n_source_types + 1,), the first bucket of each row; a row has 2^k buckets;
    - ``buckets``: int32 (n_buckets + 1,), the first couple of each;
    - ``shifts``: uint8 (n_source_types,), 32 - k.
    """

    couples: Couples
    bucket_starts: np.ndarray
    buckets: np.ndarray
    shifts: np.ndarray


@kernel
def _by_type(tokens, starts, chosen, ends, sentences):
    """The sentence of every chosen token, by type; ``ends`` says where each type begins, afterwards where it ends."""
    for sentence in range(len(starts) - 1):
        if chosen[sentence]:
            for k in range(starts[sentence], starts[sentence + 1]):
                sentences[ends[tokens[k]]] = sentence
                ends[tokens[k]] += 1


@part(bare=True)
def _bucket(t, shift):
    """The upper bits of a product modulo 2^32: multiplicative hashing."""
    return np.int64(((np.uint64(t) * _SCRAMBLE) & _LOW) >> np.uint64(shift))


class _Walk(NamedTuple):
    """What is kept while rows are filled.

    - ``first`` int64 (n_source_types + 1,), ``sentences`` int32: where each source type occurs; ``known``: couples that
      are shared already;
    - ``stamp``, ``met`` int32 (target types,): the last source type that has met a target type, and in which sentence,
      -1 once the couple is shared; ``found`` int32 (target types,): room for a row;
    - ``singles`` int32 (pairs,) counts the singles of each pair, ``lone`` two int32 arrays those of source and target
      types.
    """

    first: np.ndarray
    sentences: np.ndarray
    known: Couples
    stamp: np.ndarray
    met: np.ndarray
    found: np.ndarray
    singles: np.ndarray
    lone: tuple[np.ndarray, np.ndarray]


@kernel(bare=True)
def _share(pairs, walk, row, table, n_buckets):
    """Fill rows from ``row`` on, until enough is done or room may not suffice; returns the next row and its bucket."""
    done = 0
    first, sentences, known, stamp, met, found, singles, lone = walk
    columns, row_starts = table.couples.columns, table.couples.row_starts
    bucket_starts, buckets, shifts = table.bucket_starts, table.buckets, table.shifts
    while row < len(row_starts) - 1 and done < _WORK_A_CALL:
        begin, size = row_starts[row], 0
        if begin + len(found) > len(columns) or n_buckets + len(found) > len(buckets):
            break
        if row + 1 < len(known.row_starts):  # the older model may have fewer source types
            for k in range(known.row_starts[row], known.row_starts[row + 1]):
                t = known.columns[k]
                stamp[t], met[t] = row, -1
                found[size] = t
                size += 1
        for k in range(first[row], first[row + 1]):
            sentence = sentences[k]
            single = 0
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                t = pairs.target[j]
                if stamp[t] != row:  # the first meeting of the two types: a single, unless they meet again
                    stamp[t], met[t] = row, sentence
                    lone[1][t] += 1
                    single += 1
                elif met[t] >= 0:  # the second: a shared couple, and the first meeting is no single any more
                    singles[met[t]] -= 1
                    lone[0][row] -= 1
                    lone[1][t] -= 1
                    met[t] = -1
                    found[size] = t
                    size += 1
            singles[sentence] += single
            lone[0][row] += single
            done += pairs.target_starts[sentence + 1] - pairs.target_starts[sentence]
        shift, count = 32, 1  # as many buckets as leave two to four couples for each
        while 4 * count <= size and shift > 0:
            count *= 2
            shift -= 1
        for b in range(count):
            buckets[n_buckets + b] = 0
        for k in range(size):
            buckets[n_buckets + _bucket(found[k], shift)] += 1
        end = begin
        for b in range(count):
            end += buckets[n_buckets + b]
            buckets[n_buckets + b] = end
        for k in range(size - 1, -1, -1):  # from behind, so that each bucket is left with its beginning
            b = n_buckets + _bucket(found[k], shift)
            buckets[b] -= 1
            columns[buckets[b]] = found[k]
        shifts[row] = shift
        n_buckets += count
        row += 1
        row_starts[row] = begin + size
        bucket_starts[row] = n_buckets
    return row, n_buckets


def share(
    pairs: Pairs, chosen: np.ndarray, source_types: int, target_types: int, known: Couples | None = None
) -> tuple[Sharing, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The shared couples of the chosen pairs; the numbers of singles of each pair, source type and target type, int32.

    Couples that are ``known`` already are shared, wherever they meet.
    """
    count = np.bincount(pairs.source[np.repeat(chosen, np.diff(pairs.source_starts))], minlength=source_types)
    first = starts_of(count)
    sentences = np.empty(first[-1], np.int32)
    _by_type(pairs.source, pairs.source_starts, frozen(chosen, np.bool_), first[:-1].copy(), sentences)
    known = known or Couples(frozen(np.zeros(1), np.int64), frozen(np.zeros(0), np.int32))
    stamp, met, found = (np.full(target_types, -1, np.int32) for _ in range(3))
    singles = np.zeros(len(chosen), np.int32)
    lone = np.zeros(source_types, np.int32), np.zeros(target_types, np.int32)
    walk = _Walk(first, sentences, known, stamp, met, found, singles, lone)
    columns, buckets = np.empty(2 * target_types + 1024, np.int32), np.empty(target_types + 1024, np.int32)
    row_starts, bucket_starts = np.zeros(source_types + 1, np.int64), np.zeros(source_types + 1, np.int64)
    shifts = np.empty(source_types, np.uint8)
    row = n_buckets = 0
    while row < source_types:
        table = Sharing(Couples(row_starts, columns), bucket_starts, buckets, shifts)
        row, n_buckets = _share(pairs, walk, row, table, n_buckets)
        size = int(row_starts[row])
        if size > _MOST:
            raise MemoryError("more than two thousand million different pairs of words")
        _grow(columns, size + target_types)
        _grow(buckets, n_buckets + target_types + 1)
    buckets[n_buckets] = row_starts[-1]
    columns.resize(int(row_starts[-1]), refcheck=False)
    buckets.resize(n_buckets + 1, refcheck=False)
    couples = Couples(frozen(row_starts, np.int64), frozen(columns, np.int32))
    parts = (bucket_starts, np.int64), (buckets, np.int32), (shifts, np.uint8)
    return Sharing(couples, *(frozen(array, dtype) for array, dtype in parts)), singles, lone


def _grow(array: np.ndarray, size: int) -> None:
    """Give an array that has fewer places half as many again; pages are moved, not copied."""
    if size > len(array):
        array.resize(size + size // 2, refcheck=False)


@part(bare=True)
def _in_bucket(sharing, bucket, t):
    """The number of a couple in this bucket, or -1."""
    at, end = sharing.buckets[bucket], sharing.buckets[bucket + 1]
    while at < end:
        if sharing.couples.columns[at] == t:
            return at
        at += 1
    return -1


@part(bare=True)
def couple_of(sharing, s, t):
    """The number of a shared couple, or -1."""
    return _in_bucket(sharing, sharing.bucket_starts[s] + _bucket(t, np.int64(sharing.shifts[s])), t)


@kernel(bare=True)
def find(pairs, sharing, first_single):
    """Fill the cells of some pairs, the first of whose singles has this number.

    All buckets of a pair are asked for before the first is looked at: waiting for memory is most of the work.
    """
    single = len(sharing.couples.columns) + first_single
    cells = pairs.cells
    for sentence in range(len(pairs.source_starts) - 1):
        begin, end = pairs.target_starts[sentence], pairs.target_starts[sentence + 1]
        cell = pairs.cell_starts[sentence]
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            s = pairs.source[i]
            row, shift = sharing.bucket_starts[s], np.int64(sharing.shifts[s])
            for j in range(begin, end):
                bucket = row + _bucket(pairs.target[j], shift)
                prefetch(sharing.buckets, bucket)
                cells[cell] = bucket
                cell += 1
        for cell in range(pairs.cell_starts[sentence], pairs.cell_starts[sentence + 1]):
            prefetch(sharing.couples.columns, sharing.buckets[cells[cell]])
        cell = pairs.cell_starts[sentence]
        for _ in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            for j in range(begin, end):
                at = _in_bucket(sharing, cells[cell], pairs.target[j])
                if at < 0:
                    at = single
                    single += 1
                cells[cell] = at
                cell += 1


@kernel
def places_of(sharing, couples):
    """The numbers of couples that are all shared, int64."""
    places = np.empty(len(couples.columns), np.int64)
    for s in range(len(couples.row_starts) - 1):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            places[k] = couple_of(sharing, s, couples.columns[k])
    return places


@kernel(bare=True)
def take_apart(pairs, n_shared, singles, types):
    """Write down the types of the singles of some pairs: ``types`` int32 (2, at least as many), source and target.

    ``singles`` is the number of the first of them.
    """
    cell = 0
    for sentence in range(len(pairs.source_starts) - 1):
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                at = pairs.cells[cell] - n_shared - singles
                if at >= 0:
                    types[0, at] = pairs.source[i]
                    types[1, at] = pairs.target[j]
                cell += 1
