"""Counting: all n-grams of a text, of every order, as one trie.

Counting sorts text positions, never keys: positions that share an m-gram form a run, and each run is sorted by the next
symbol to make the runs of order m+1. Most runs are short, so this is close to linear, whatever the vocabulary; the runs
of different rows are independent, so chunks of them go to threads.

Nagao and Mori, "A new method of N-gram statistics for large number of n and automatic extraction of words and phrases
from large text data of Japanese", 1994, sort pointers into the text as this does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle import scale
from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, chunk_bounds, frozen_ngrams
from corpuscle.errors import SettingError

_INSERTION = 40
_CHUNK = 1 << 15


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


@kernel
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
    """The n-grams of one order, ``depth``: ``words`` int32 (rows,), their last symbols; ``positions`` int32, where each
    begins in the text, those of row r from ``starts[r]`` to ``starts[r + 1]`` (int32); ``row_of`` int32 (n_symbols,),
    the row of the n-gram that begins at each position."""

    depth: int
    words: np.ndarray
    starts: np.ndarray
    positions: np.ndarray
    row_of: np.ndarray


@kernel
def _extend(symbols, n_types, end, runs, first, last, children):
    """Split the runs of rows ``first`` to ``last`` by their next symbol: ``children[row]`` becomes how many n-grams
    extend each. Returns word, count and suffix row of these, int32 (3, n), and their positions.

    The gathers from the text are loops of their own, so that their cache misses overlap.
    """
    starts, positions = runs.starts, runs.positions
    begin, n = np.int64(starts[first]), np.int64(starts[last]) - starts[first]
    keys = np.empty(n, np.int64)
    for i in range(n):
        after = np.int64(positions[begin + i]) + runs.depth
        symbol = symbols[after] if after < len(symbols) else n_types
        keys[i] = (np.int64(symbol) << 32) | positions[begin + i]
    longest = 0
    for row in range(first, last):
        longest = max(longest, starts[row + 1] - starts[row])
    spare = np.empty(longest, np.int64)
    passes = 1
    while n_types >> (8 * passes):
        passes += 1
    found, kept_positions = np.empty((3, n), np.int32), np.empty(n, np.int32)
    rows = kept = 0
    for row in range(first, last):
        low, high = starts[row] - begin, starts[row + 1] - begin
        children[row] = 0
        if low == high or runs.words[row] == end:
            continue
        if high - low > 1:
            _sort_keys(keys, spare, low, high, passes)
        if keys[high - 1] >> 32 == n_types:  # the text ends here
            high -= 1
        before, word = rows, np.int64(-1)
        for i in range(low, high):
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
def _number_positions(positions, starts, first, last, base, row_of):
    """Note for every position the row of the n-gram that begins there."""
    for row in range(first, last):
        for i in range(starts[row], starts[row + 1]):
            row_of[positions[i]] = base + row


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
    numbers = np.empty(len(symbols), np.int32)
    with scale.workers(workers) as pool:
        for depth in range(1, order):
            first, rows, kept = levels[-2], levels[-1], 0
            runs = _Runs(depth, words[first:rows], starts, positions, row_of)
            children = first_child[first + 1 : rows + 1]

            def extend(chunk, runs=runs, children=children):
                return _extend(symbols, n_types, end, runs, chunk[0], chunk[1], children)

            for found, more in pool.map(extend, pairwise(chunk_bounds(starts, _CHUNK).tolist())):
                here = slice(rows, rows + found.shape[1])
                words[here], counts[here], suffix[here] = found
                positions[kept : kept + len(more)] = more  # never beyond what has been read
                rows, kept = here.stop, kept + len(more)
            if rows >= 2**31:
                raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")
            first_child[first] = levels[-1]
            np.cumsum(first_child[first : levels[-1] + 1], out=first_child[first : levels[-1] + 1])
            if depth + 1 < order:
                del runs, extend, starts  # their memory, before more is asked for
                starts, positions = np.zeros(rows - levels[-1] + 1, np.int32), positions[:kept]
                np.cumsum(counts[levels[-1] : rows], out=starts[1:])

                def number(chunk, positions=positions, starts=starts, first=levels[-1]):
                    _number_positions(positions, starts, chunk[0], chunk[1], first, numbers)

                for _ in pool.map(number, pairwise(chunk_bounds(starts, _CHUNK).tolist())):
                    pass
                row_of = frozen(numbers, np.int32)
                del number
            levels.append(rows)
    if order == 1:
        first_child[0] = 0
    rows, contexts = levels[-1], levels[-2]
    return frozen_ngrams(np.array(levels), words[:rows], first_child[: contexts + 1], suffix[:rows], counts[:rows])
