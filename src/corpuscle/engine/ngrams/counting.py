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
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, chunk_bounds, joined_levels
from corpuscle.errors import SettingError

_INSERTION = 40
_NONE = np.empty(0, np.int32)


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
    begins in the text, those of row r from ``starts[r]`` to ``starts[r + 1]``; ``row_of`` int32 (n_symbols,), the row
    of the n-gram that begins at each position."""

    depth: int
    words: np.ndarray
    starts: np.ndarray
    positions: np.ndarray
    row_of: np.ndarray


class _Longer(NamedTuple):
    """What is found of the next order: ``rows`` int32 (3, n_positions), word, count and suffix row of each n-gram, and
    ``positions`` int32 (n_positions,), both for each run from where its shorter n-grams begin on; ``children`` int32
    (rows,), how many n-grams extend each row."""

    rows: np.ndarray
    positions: np.ndarray
    children: np.ndarray


@kernel
def _extend(symbols, n_types, end, runs, first, last, longer):
    """Split the runs of rows ``first`` to ``last`` by their next symbol, into ``longer``. Returns how many rows and how
    many positions were written. The gathers from the text are loops of their own, so that their cache misses overlap.
    """
    starts, positions = runs.starts, runs.positions
    new, new_positions = longer.rows, longer.positions
    begin, n = starts[first], starts[last] - starts[first]
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
    rows = kept = begin
    for row in range(first, last):
        low, high = starts[row] - begin, starts[row + 1] - begin
        longer.children[row] = 0
        if low == high or runs.words[row] == end:
            continue
        if high - low > 1:
            _sort_keys(keys, spare, low, high, passes)
        if keys[high - 1] >> 32 == n_types:  # the text ends here
            high -= 1
        before, word = rows, np.int64(-1)
        for i in range(low, high):
            new_positions[kept] = keys[i] & 0xFFFFFFFF
            if keys[i] >> 32 != word:
                word = keys[i] >> 32
                new[0, rows] = word
                new[1, rows] = 0
                new[2, rows] = new_positions[kept]
                rows += 1
            new[1, rows - 1] += 1
            kept += 1
        longer.children[row] = rows - before
    for i in range(begin, rows):
        new[2, i] = runs.row_of[new[2, i] + 1]
    return rows - begin, kept - begin


@kernel
def _number_positions(positions, starts, first, last, base, row_of):
    """Note for every position the row of the n-gram that begins there."""
    for row in range(first, last):
        for i in range(starts[row], starts[row + 1]):
            row_of[positions[i]] = base + row


def _starts(lengths: np.ndarray, base: int = 0) -> np.ndarray:
    starts = np.empty(len(lengths) + 1, np.int64)
    starts[0] = base
    np.cumsum(lengths, out=starts[1:])
    starts[1:] += base
    return starts


def count_ngrams(symbols: np.ndarray, n_types: int, order: int, end: int = -1, workers: int = 1) -> Ngrams:
    """Count the n-grams of orders 1 to ``order`` of a stream of symbols (int32, ids below ``n_types``).

    No n-gram reaches beyond the symbol ``end`` (-1: there is no such symbol). Boundary symbols must be in the stream.
    """
    if len(symbols) >= 2**31 - order:
        raise SettingError("a text of more than 2^31 tokens cannot be counted at once")
    symbols = frozen(symbols, np.int32)
    positions, starts = np.empty(len(symbols), np.int32), np.zeros(n_types + 1, np.int64)
    _sort_by_symbol(symbols, n_types, positions, starts)
    words = np.arange(n_types, dtype=np.int32)
    levels, row_of = [0, n_types], symbols
    parts: dict[str, list[np.ndarray]] = {
        "words": [words],
        "counts": [np.diff(starts).astype(np.int32)],
        "suffix": [np.full(n_types, ROOT, np.int32)],
        "first_child": [],
    }
    with scale.workers(workers) as pool:
        for depth in range(1, order):
            runs = _Runs(depth, words, starts, positions, row_of)
            new, new_positions = np.empty((3, len(positions)), np.int32), np.empty(len(positions), np.int32)
            longer = _Longer(new, new_positions, np.empty(len(words), np.int32))
            chunks = list(pairwise(chunk_bounds(starts).tolist()))

            def extend(chunk, runs=runs, longer=longer):
                return _extend(symbols, n_types, end, runs, chunk[0], chunk[1], longer)

            sizes = list(pool.scatter(chunks).map(extend))
            origins = [int(starts[first]) for first, _ in chunks]
            pieces = list(zip(origins, sizes, strict=True))
            words, counts, suffix = (
                np.concatenate([_NONE, *(new[i, origin : origin + rows] for origin, (rows, _) in pieces)])
                for i in range(3)
            )
            kept_positions = (new_positions[origin : origin + kept] for origin, (_, kept) in pieces)
            positions = np.concatenate([_NONE, *kept_positions])
            found = {"words": words, "counts": counts, "suffix": suffix}
            for name, part in (found | {"first_child": _starts(longer.children, levels[-1])[:-1]}).items():
                parts[name].append(part)
            starts = _starts(counts)
            if depth + 1 < order:
                numbers = np.empty(len(symbols), np.int32)

                def number(chunk, positions=positions, starts=starts, first=levels[-1], numbers=numbers):
                    _number_positions(positions, starts, chunk[0], chunk[1], first, numbers)

                list(pool.scatter(list(pairwise(chunk_bounds(starts).tolist()))).map(number))
                row_of = frozen(numbers, np.int32)
            levels.append(levels[-1] + len(words))
    return joined_levels(levels, **parts)
