"""Sharing: a table of the couples that have more than one cell, small enough to search it whenever cells are needed.

Two thirds of all couples of a text meet in one cell only. Such a *single* needs no place in any table: what is known of
it belongs to its cell, so it can stand in a list, in the order in which a walk through the text comes by. What remains
are *shared* couples. Their cells are not kept either (there are fifteen times as many): a row of the table is divided
into buckets of a few couples by a scrambled number of the target type, so that finding the couple of a cell takes a
look at one bucket.

A cell is the number of a shared couple, or the number of shared couples plus that of a single.

Hashing with buckets: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, section 6.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.compiled import frozen, kernel, part, prefetch

_CELLS_A_CALL = 8_000_000
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
    """The bucket of a target type in a row."""
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
    while row < len(row_starts) - 1 and done < _CELLS_A_CALL:
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
    """The shared couples of the chosen pairs; how many singles each pair has, int32 (n_pairs,), and each source type,
    and each target type.

    Couples that are ``known`` already are shared, wherever they meet.
    """
    count = np.bincount(pairs.source[np.repeat(chosen, np.diff(pairs.source_starts))], minlength=source_types)
    first = np.append(0, np.cumsum(count))
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
    """The number of a couple of this bucket, or -1."""
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


@kernel(bare=True)
def _places_of(sharing, couples, places):
    for s in range(len(couples.row_starts) - 1):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            places[k] = couple_of(sharing, s, couples.columns[k])


def places_of(sharing: Sharing, couples: Couples) -> np.ndarray:
    """The numbers of couples that are all shared, int64."""
    places = np.empty(len(couples.columns), np.int64)
    _places_of(sharing, couples, places)
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
