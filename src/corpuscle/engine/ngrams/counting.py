"""Counting: all n-grams of a text, of every order, as one trie.

Counting sorts text positions, never keys: positions that share an m-gram form a run, and each run is sorted by the next
symbol to make the runs of order m+1. Most runs are short, so this is close to linear, whatever the vocabulary; the runs
of different rows are independent, so chunks of them go to threads.

Nagao and Mori, "A new method of N-gram statistics for large number of n and automatic extraction of words and phrases
from large text data of Japanese", 1994, sort pointers into the text as this does.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle import scale
from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, frozen_ngrams
from corpuscle.errors import SettingError
from corpuscle.memory import trim

_INSERTION = 40
_CHUNK = 1 << 15
_LONG = 1 << 20
"""From this number of positions on, freed memory is given back at once."""


@kernel
def _add_boundaries(tokens, starts, left, start, end, out):
    at = 0
    for sentence in range(len(starts) - 1):
        for _ in range(left):
            out[at] = start
            at += 1
        for i in range(starts[sentence], starts[sentence + 1]):
            out[at] = tokens[i]
            at += 1
        out[at] = end
        at += 1


def add_boundaries(tokens: np.ndarray, starts: np.ndarray, left: int, start: int, end: int) -> np.ndarray:
    """The stream of all sentences, each with ``left`` start symbols before it and an end symbol after it: int32."""
    out = np.empty(len(tokens) + (len(starts) - 1) * (left + 1), np.int32)
    _add_boundaries(frozen(tokens, np.int32), frozen(starts, np.int64), left, start, end, out)
    return out


@kernel
def _sort_by_symbol(symbols, n_types, positions, starts):
    """Text positions grouped by symbol: those of symbol s are ``positions[starts[s]:starts[s + 1]]``."""
    for symbol in symbols:
        starts[symbol + 1] += 1
    for symbol in range(n_types):
        starts[symbol + 1] += starts[symbol]
    cursor = starts[:-1].copy()
    for position in range(len(symbols)):
        symbol = symbols[position]
        positions[cursor[symbol]] = position
        cursor[symbol] += 1


@part
def _sort_keys(keys, spare, first, last, passes):
    """Sort ``keys[first:last]``: symbols of ``passes`` bytes in the upper half, positions, which rise, in the lower."""
    length = last - first
    if length <= _INSERTION:
        for i in range(first + 1, last):
            key = keys[i]
            j = i
            while j > first and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    cursor = np.empty(256, np.int64)
    for digit in range(passes):
        shift = 32 + 8 * digit
        cursor[:] = 0
        for i in range(first, last):
            cursor[(keys[i] >> shift) & 255] += 1
        total = 0
        for value in range(256):
            total, cursor[value] = total + cursor[value], total
        for i in range(first, last):
            value = (keys[i] >> shift) & 255
            spare[cursor[value]] = keys[i]
            cursor[value] += 1
        keys[first:last] = spare[:length]


class _Runs(NamedTuple):
    """The n-grams of one order, ``depth``: ``words`` int32 (rows,), their last symbols; ``counts`` int32 (rows,);
    ``positions`` int32, where each begins in the text, those of one row after those of the row before; ``row_of`` int32
    (n_symbols,), the row of the n-gram that begins at each position."""

    depth: int
    words: np.ndarray
    counts: np.ndarray
    positions: np.ndarray
    row_of: np.ndarray


@kernel
def _cut(counts, size, bounds):
    """Cut rows into chunks of about ``size`` positions: row i of ``bounds`` becomes the first row and the first
    position of chunk i, or, behind the last chunk, the ends of both; returns how many chunks there are."""
    chunks = begin = at = 0
    bounds[0] = 0
    for row in range(len(counts)):
        at += counts[row]
        if at - begin >= size or row == len(counts) - 1:
            chunks += 1
            bounds[chunks, 0], bounds[chunks, 1] = row + 1, at
            begin = at
    return chunks


def _chunks_of(runs: _Runs) -> list[tuple[int, int, int, int]]:
    """Chunks of rows, from the first to the last, with their positions, from the first to the last."""
    bounds = np.empty((len(runs.positions) // _CHUNK + 2, 2), np.int64)
    ends = bounds[: _cut(runs.counts, _CHUNK, bounds) + 1].tolist()
    return [(first, last, begin, end) for (first, begin), (last, end) in pairwise(ends)]


@kernel
def _extend(symbols, n_types, end, runs, children, chunk):
    """Split the runs of a chunk of rows by their next symbol: ``children[row]`` becomes how many n-grams extend each.
    Returns word, count and suffix row of these, int32 (3, n), and their positions.

    The gathers from the text are loops of their own, so that their cache misses overlap.
    """
    counts, positions, (first_row, last_row, begin, stop) = runs.counts, runs.positions, chunk
    n = stop - begin
    keys = np.empty(n, np.int64)
    for i in range(n):
        after = np.int64(positions[begin + i]) + runs.depth
        symbol = symbols[after] if after < len(symbols) else n_types
        keys[i] = (np.int64(symbol) << 32) | positions[begin + i]
    longest = 0
    for row in range(first_row, last_row):
        longest = max(longest, counts[row])
    spare = np.empty(longest, np.int64)
    passes = 1
    while n_types >> (8 * passes):
        passes += 1
    found, kept_positions = np.empty((3, n), np.int32), np.empty(n, np.int32)
    rows = kept = high = 0
    for row in range(first_row, last_row):
        low, high = high, high + counts[row]
        last = high
        children[row] = 0
        if low == high or runs.words[row] == end:
            continue
        if high - low > 1:
            _sort_keys(keys, spare, low, high, passes)
        if keys[high - 1] >> 32 == n_types:  # the text ends here
            last -= 1
        before, word = rows, np.int64(-1)
        for i in range(low, last):
            kept_positions[kept] = keys[i] & 0xFFFFFFFF
            if keys[i] >> 32 != word:
                word = keys[i] >> 32
                found[0, rows] = word
                found[1, rows] = 0
                found[2, rows] = kept_positions[kept]
                rows += 1
            found[1, rows - 1] += 1
            kept += 1
        children[row] = rows - before
    for i in range(rows):
        found[2, i] = runs.row_of[found[2, i] + 1]
    return found[:, :rows], kept_positions[:kept]


@kernel
def _number_positions(runs, base, row_of, chunk):
    """Note for every position of a chunk the row, from ``base`` on, of the n-gram that begins there."""
    first, last, at, _ = chunk
    for row in range(first, last):
        for i in range(at, at + runs.counts[row]):
            row_of[runs.positions[i]] = base + row
        at += runs.counts[row]


def count_ngrams(symbols: np.ndarray, n_types: int, order: int, end: int = -1, workers: int = 1) -> Ngrams:
    """Count the n-grams of orders 1 to ``order`` of a stream of symbols (int32, ids below ``n_types``).

    No n-gram reaches beyond the symbol ``end`` (-1: there is no such symbol). Boundary symbols must be in the stream.
    Memory that is asked for and never written costs nothing, so there is one array of each kind for all orders, as long
    as it could become; what is found of a chunk goes to the end of it, in order.
    """
    if len(symbols) >= 2**31 - order:
        raise SettingError("a text of more than 2^31 tokens cannot be counted at once")
    symbols = frozen(symbols, np.int32)
    most = n_types + (order - 1) * len(symbols)
    words, counts, suffix, first_child = (np.empty(most + 1, np.int32) for _ in range(4))
    positions, starts = np.empty(len(symbols), np.int32), np.zeros(n_types + 1, np.int32)
    _sort_by_symbol(symbols, n_types, positions, starts)
    words[:n_types], counts[:n_types], suffix[:n_types] = np.arange(n_types), np.diff(starts), ROOT
    levels, row_of = [0, n_types], symbols
    numbers = np.empty(len(symbols) if order > 2 else 0, np.int32)
    with scale.workers(workers) as pool:
        for depth in range(1, order):
            first, rows, kept, is_last = levels[-2], levels[-1], 0, depth + 1 == order
            if is_last:  # positions give way to suffixes: a row is not written before its first position has been read
                suffix[rows : rows + len(positions)] = positions
                positions = suffix[rows : rows + len(positions)]
                if len(positions) > _LONG:
                    trim()
            runs = _Runs(depth, words[first:rows], counts[first:rows], positions, row_of)
            extend = partial(_extend, symbols, n_types, end, runs, first_child[first + 1 : rows + 1])
            for found, more in pool.map(extend, _chunks_of(runs)):
                here = slice(rows, rows + found.shape[1])
                words[here], counts[here], suffix[here] = found
                if not is_last:
                    positions[kept : kept + len(more)] = more  # never beyond what has been read
                rows, kept = here.stop, kept + len(more)
            if rows >= 2**31:
                raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")
            first_child[first] = levels[-1]
            np.cumsum(first_child[first : levels[-1] + 1], out=first_child[first : levels[-1] + 1])
            if not is_last:
                positions = positions[:kept]
                runs = _Runs(depth + 1, words[levels[-1] : rows], counts[levels[-1] : rows], positions, symbols)
                for _ in pool.map(partial(_number_positions, runs, levels[-1], numbers), _chunks_of(runs)):
                    pass
                row_of = frozen(numbers, np.int32)
                del runs, extend  # with what they hold of this order
            levels.append(rows)
    if order == 1:
        first_child[0] = 0
    rows, contexts = levels[-1], levels[-2]
    return frozen_ngrams(np.array(levels), words[:rows], first_child[: contexts + 1], suffix[:rows], counts[:rows])
