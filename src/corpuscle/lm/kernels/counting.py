"""N-gram counts of several texts together: tries that become one, in memory or from disk.

The rows of a level are sorted by their context and their word, in every trie and in the merged one. So if each trie
knows where its rows of the level below have gone (``places``), its rows of a level are a sorted run of keys (merged
context, word), and merging the runs gives the level: equal keys are one n-gram, whose counts add up. Its suffix stands
in the level below, too, and is looked up in the same places. Merging the counts of pieces of a text gives exactly what
counting the whole text gives.

Two tries in memory are merged as arrays (``merge_ngrams``). For more text than memory holds (``count_spilled``) chunks
are counted one after the other, and their tries merged from disk in one pass over all runs. Only the places are held in
memory, four bytes for each row of two levels; runs are read and merged rows written in blocks.

Merging sorted lists and runs: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, section
5.4; of n-grams: Heafield, Pouzyrevsky, Clark and Koehn, "Scalable modified Kneser-Ney language model estimation", 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from os import PathLike
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, frozen_ngrams
from corpuscle.errors import SettingError
from corpuscle.memory import PIECE, ArrayFile


def merge_ngrams(a: Ngrams, b: Ngrams) -> Ngrams:
    """The counts of two texts together; both must have been counted with the same symbols and the same order."""
    n_types = int(a.levels[1])
    types, levels = np.arange(n_types, dtype=np.int32), [0, n_types]
    words, counts = [types], [a.counts[:n_types] + b.counts[:n_types]]
    suffix, first_child = [np.full(n_types, ROOT, np.int32)], []
    places = [types, types]
    for m in range(1, a.order):
        runs = []
        for side, below in zip((a, b), places, strict=True):
            contexts, rows = slice(side.levels[m - 1], side.levels[m] + 1), slice(side.levels[m], side.levels[m + 1])
            keys = np.repeat(below.astype(np.int64) << 32, np.diff(side.first_child[contexts]))
            keys |= side.words[rows]
            runs.append(keys)
        keys = np.concatenate(runs)
        order = np.argsort(keys, kind="stable")  # timsort: sorted runs are merged in linear time
        keys = keys[order]
        is_new = np.diff(keys, prepend=-1) != 0
        place = np.empty(len(keys), np.int32)
        place[order] = np.cumsum(is_new, dtype=np.int32) - 1
        keys = keys[is_new]
        merged_counts, merged_suffix = np.zeros((2, len(keys)), np.int32)
        here = [place[: len(runs[0])], place[len(runs[0]) :]]
        for side, below, own in zip((a, b), places, here, strict=True):
            rows = slice(side.levels[m], side.levels[m + 1])
            merged_counts[own] += side.counts[rows]
            merged_suffix[own] = levels[-2] + below[side.suffix[rows] - side.levels[m - 1]]
        first_child.append(levels[-1] + np.searchsorted(keys >> 32, np.arange(levels[-1] - levels[-2])))
        for parts, merged in (words, keys & 0xFFFFFFFF), (counts, merged_counts), (suffix, merged_suffix):
            parts.append(merged.astype(np.int32))
        levels.append(levels[-1] + len(keys))
        places = here
    if levels[-1] >= 2**31:
        raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")
    children = np.concatenate([*first_child, [levels[-1] if len(levels) > 2 else 0]])
    return frozen_ngrams(np.array(levels), np.concatenate(words), children, *map(np.concatenate, (suffix, counts)))


Folder = str | PathLike[str] | None

_ROWS = 1 << 20
"""How many rows of all runs together, and how many merged ones, are in memory."""
_WORDS, _SUFFIX, _COUNTS, _CONTEXTS = range(4)
_LAST = np.iinfo(np.int64).max


def counting_bytes(order: int, n_types: int) -> tuple[int, int]:
    """What ``count_ngrams`` takes at most: bytes for each symbol, and besides."""
    return 12 + 16 * (order - 1), 64 * n_types


def merging_bytes(order: int, n_types: int) -> tuple[int, int]:
    """What ``merge_spilled`` takes at most: bytes for each symbol of all chunks, and besides."""
    return 4 * min(2, max(0, order - 2)) + 1, 64 * n_types + 64 * _ROWS


class Spilled:
    """The trie of one chunk in a file: words, suffixes, counts and contexts of all its rows."""

    def __init__(self, ngrams: Ngrams, sign: int, folder: Folder):
        self.levels: list[int] = ngrams.levels.tolist()
        self._file = ArrayFile(np.int32, folder)
        self._file.append(ngrams.words)
        self._file.append(ngrams.suffix)
        self._file.append(ngrams.counts if sign > 0 else -ngrams.counts)
        self._file.append(np.full(self.levels[1], ROOT, np.int32))
        for first in range(0, len(ngrams.first_child) - 1, PIECE):
            ends = ngrams.first_child[first : first + PIECE + 1]
            contexts = np.arange(first, first + len(ends) - 1, dtype=np.int32)
            self._file.append(np.repeat(contexts, np.diff(ends)))

    def read(self, kind: int, first: int, last: int) -> np.ndarray:
        """Words, suffixes, counts or contexts of some rows, int32."""
        begin = kind * self.levels[-1]
        return self._file.read(begin + first, begin + last)


class _Heads(NamedTuple):
    """What is in memory of k runs: ``keys`` int64 (k, room), the merged context and the word of each row; ``suffix``,
    the merged one, and ``counts``, int32; ``places``, int32, receives the merged rows; ``at`` and ``size`` int64 (k,),
    how many have been merged, and how many there are; ``key`` int64 (k,), the next one, or ``_LAST``."""

    keys: np.ndarray
    suffix: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    at: np.ndarray
    size: np.ndarray
    key: np.ndarray


@kernel
def _merge(heads, row, merged):
    """Merge until a run has nothing more in memory or ``merged`` is full; returns how many rows came of it.

    ``merged``: int32 (4, room) receives word, suffix, count and context of the merged rows, the first of them ``row``.
    """
    n, ended = 0, False
    while n < merged.shape[1] and not ended:
        key = heads.key[0]
        for run in range(1, len(heads.key)):
            key = min(key, heads.key[run])
        if key == _LAST:
            break
        merged[_WORDS, n] = key & 0xFFFFFFFF
        merged[_COUNTS, n] = 0
        merged[_CONTEXTS, n] = key >> 32
        for run in range(len(heads.key)):
            if heads.key[run] == key:
                at = heads.at[run]
                merged[_COUNTS, n] += heads.counts[run, at]
                merged[_SUFFIX, n] = heads.suffix[run, at]
                heads.places[run, at] = row + n
                heads.at[run] = at + 1
                if at + 1 < heads.size[run]:
                    heads.key[run] = heads.keys[run, at + 1]
                else:
                    heads.key[run] = _LAST
                    ended = True
        n += 1
    return n


class _Runs:
    """The rows of one level of all chunks; ``places``: where those of the level below have gone."""

    def __init__(self, chunks: list[Spilled], level: int, places: list[np.ndarray], is_last: bool):
        self._chunks, self._level, self._below = chunks, level, places
        self._next = [chunk.levels[level] for chunk in chunks]
        k, room = len(chunks), max(1, _ROWS // len(chunks))
        suffix, counts, merged = np.empty((3, k, room), np.int32)
        at, size = np.zeros((2, k), np.int64)
        self.heads = _Heads(np.empty((k, room), np.int64), suffix, counts, merged, at, size, np.full(k, _LAST))
        sizes = [0 if is_last else chunk.levels[level + 1] - chunk.levels[level] for chunk in chunks]
        self.places = [np.empty(size, np.int32) for size in sizes]
        for run in range(k):
            self._refill(run)

    def refill(self) -> None:
        """Note where rows have gone, and read more, wherever nothing is left."""
        for run in np.flatnonzero((self.heads.at == self.heads.size) & (self.heads.size > 0)).tolist():
            self._refill(run)

    def _refill(self, run: int) -> None:
        heads, chunk, first, size = self.heads, self._chunks[run], self._next[run], int(self.heads.size[run])
        if len(self.places[run]):
            begin = first - size - chunk.levels[self._level]
            self.places[run][begin : begin + size] = heads.places[run, :size]
        last = min(first + heads.keys.shape[1], chunk.levels[self._level + 1])
        self._next[run], heads.at[run], heads.size[run] = last, 0, last - first
        if first < last:
            below, before = self._below[run], chunk.levels[self._level - 1]
            keys = heads.keys[run, : last - first]
            keys[:] = below[chunk.read(_CONTEXTS, first, last) - before]
            keys <<= 32
            keys |= chunk.read(_WORDS, first, last)
            heads.suffix[run, : len(keys)] = below[chunk.read(_SUFFIX, first, last) - before]
            heads.counts[run, : len(keys)] = chunk.read(_COUNTS, first, last)
            heads.key[run] = keys[0]


class _Merged:
    """The merged trie, in files."""

    def __init__(self, counts: np.ndarray, folder: Folder):
        self.levels = [0, len(counts)]
        self.files = [ArrayFile(np.int32, folder) for _ in range(3)]
        for file, items in zip(self.files, (np.arange(len(counts)), np.full(len(counts), ROOT), counts), strict=True):
            file.append(items)
        self.first_child = ArrayFile(np.int32, folder)

    @property
    def rows(self) -> int:
        return self.files[0].size

    def append(self, merged: np.ndarray) -> None:
        """More rows: word, suffix, count and context of each, int32 (4, n)."""
        contexts = np.arange(self.first_child.size, merged[_CONTEXTS, -1] + 1)
        self.first_child.append(self.rows + np.searchsorted(merged[_CONTEXTS], contexts))
        for file, items in zip(self.files, merged, strict=False):
            file.append(items)
        if self.rows >= 2**31:
            raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")

    def finish_level(self) -> None:
        """Contexts without continuations at the end of the level below have none."""
        self.first_child.append(np.full(self.levels[-1] - self.first_child.size, self.rows))
        self.levels.append(self.rows)

    def ngrams(self) -> Ngrams:
        """The whole trie, mapped."""
        self.first_child.append(np.array([self.rows if len(self.levels) > 2 else 0]))
        words, suffix, counts = (file.mapped() for file in self.files)
        return frozen_ngrams(np.array(self.levels), words, self.first_child.mapped(), suffix, counts)


def merge_spilled(chunks: list[Spilled], folder: Folder = None) -> Ngrams:
    """The counts of all chunks together, as ``count_ngrams`` gives them, in files that are mapped."""
    n_types, order = chunks[0].levels[1], len(chunks[0].levels) - 1
    counts = np.zeros(n_types, np.int32)
    for chunk in chunks:
        counts += chunk.read(_COUNTS, 0, n_types)
    merged = _Merged(counts, folder)
    places = [np.arange(n_types, dtype=np.int32)] * len(chunks)
    room = np.empty((4, _ROWS), np.int32)
    for level in range(1, order):
        runs = _Runs(chunks, level, places, level == order - 1)
        while n := _merge(runs.heads, merged.rows, room):
            merged.append(room[:, :n])
            runs.refill()
        merged.finish_level()
        places = runs.places
    return merged.ngrams()


def count_spilled(
    streams: Iterable[tuple[np.ndarray, int]], count: Callable[[np.ndarray], Ngrams], folder: Folder = None
) -> Ngrams:
    """Count chunks of a text one after the other, times the sign of each, and merge the counts."""
    return merge_spilled([Spilled(count(symbols), sign, folder) for symbols, sign in streams], folder)


def overlapping(symbols: np.ndarray, bounds: list[int], order: int) -> Iterable[tuple[np.ndarray, int]]:
    """Chunks of one stream from bound to bound, for ``count_spilled``: each reaches so far into the next that no n-gram
    is lost, and what both of them have is taken away once. Bounds are at least ``order - 1`` symbols apart."""
    for first, last in pairwise(bounds):
        yield symbols[first : last + order - 1], 1
        if last < bounds[-1] and order > 1:
            yield symbols[last : last + order - 1], -1
