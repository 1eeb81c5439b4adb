"""N-gram counts of several texts together: tries that become one, in memory or from disk.

The rows of a level are sorted by their context and their word, in every trie and in the merged one. So if each trie
knows where its rows of the level below have gone (``places``), its rows of a level are a sorted run of keys (merged
context, word), and merging the runs gives the level: equal keys are one n-gram, whose counts add up. Its suffix stands
in the level below, too, and is looked up in the same places. Merging the counts of pieces of a text gives exactly what
counting the whole text gives.

Runs are merged in blocks: of each as many rows as there is room for, up to the least key that ends such a block while
its run goes on. Two tries can stay in memory (``merge_ngrams``). For more text than memory holds (``count_spilled``)
chunks are counted one after the other, and their tries stand on disk, as does the merged one. Only the places are then
held in memory, four bytes for each row of two levels.

Merging sorted lists and runs: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, section
5.4; of n-grams: Heafield, Pouzyrevsky, Clark and Koehn, "Scalable modified Kneser-Ney language model estimation", 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from os import PathLike

import numpy as np

from corpuscle.engine.ngrams.trie import ROOT, Ngrams, frozen_ngrams
from corpuscle.errors import SettingError
from corpuscle.memory import PIECE, ArrayFile

Folder = str | PathLike[str] | None

_ROWS = 1 << 20
"""How many rows of all runs together are in memory."""
_WORDS, _SUFFIX, _COUNTS, _CONTEXTS = range(4)
_LAST = np.iinfo(np.int64).max


def counting_bytes(order: int, n_types: int) -> tuple[int, int]:
    """Bounds of the memory that ``count_ngrams`` takes: bytes per symbol, and a constant number of bytes."""
    return 12 + 16 * (order - 1), 64 * n_types


def merging_bytes(order: int, n_types: int) -> tuple[int, int]:
    """The same for ``merge_spilled``, per symbol of all chunks."""
    return 4 * min(2, max(0, order - 2)) + 1, 64 * n_types + 64 * _ROWS


class Held:
    """A trie in memory, row by row."""

    def __init__(self, ngrams: Ngrams):
        self.levels: list[int] = ngrams.levels.tolist()
        contexts = np.repeat(np.arange(len(ngrams.first_child) - 1, dtype=np.int32), np.diff(ngrams.first_child))
        roots = np.full(self.levels[1], ROOT, np.int32)
        self._rows = ngrams.words, ngrams.suffix, ngrams.counts, np.concatenate([roots, contexts])

    def read(self, kind: int, first: int, last: int) -> np.ndarray:
        """Words, suffixes, counts or contexts of some rows, int32."""
        return self._rows[kind][first:last]


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


class _Memory:
    """An array that grows in memory, as an ``ArrayFile`` does on disk."""

    def __init__(self) -> None:
        self.size, self._parts = 0, [np.empty(0, np.int32)]

    def append(self, items: np.ndarray) -> None:
        self._parts.append(items.astype(np.int32))
        self.size += len(items)

    def mapped(self) -> np.ndarray:
        return np.concatenate(self._parts)


class _Merged:
    """The merged trie in growing arrays, of which ``make`` makes one."""

    def __init__(self, counts: np.ndarray, make: Callable[[], ArrayFile | _Memory]):
        self.levels, self.first_child = [0, len(counts)], make()
        self.columns = [make() for _ in range(3)]
        roots = np.full(len(counts), ROOT)
        for column, items in zip(self.columns, (np.arange(len(counts)), roots, counts), strict=True):
            column.append(items)

    @property
    def rows(self) -> int:
        return self.columns[0].size

    def append(self, merged: np.ndarray) -> None:
        """More rows: word, suffix, count and context of each, int32 (4, n)."""
        contexts = np.arange(self.first_child.size, merged[_CONTEXTS, -1] + 1)
        self.first_child.append(self.rows + np.searchsorted(merged[_CONTEXTS], contexts))
        for column, items in zip(self.columns, merged, strict=False):
            column.append(items)
        if self.rows >= 2**31:
            raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")

    def finish_level(self) -> None:
        """Contexts without continuations at the end of the level below have none."""
        self.first_child.append(np.full(self.levels[-1] - self.first_child.size, self.rows))
        self.levels.append(self.rows)

    def ngrams(self) -> Ngrams:
        self.first_child.append(np.array([self.rows if len(self.levels) > 2 else 0]))
        words, suffix, counts = (column.mapped() for column in self.columns)
        return frozen_ngrams(np.array(self.levels), words, self.first_child.mapped(), suffix, counts)


def _merge(runs: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The different keys of sorted runs, and for each run which of them its keys are, int32."""
    keys, ends = np.concatenate(runs), np.cumsum([len(run) for run in runs])
    order = np.argsort(keys, kind="stable")  # timsort: two sorted runs are merged in linear time
    keys = keys[order]
    is_new = np.diff(keys, prepend=-1) != 0
    numbers = np.empty(len(keys), np.int32)
    numbers[order] = np.cumsum(is_new, dtype=np.int32) - 1
    return keys[is_new], np.split(numbers, ends[:-1])


def _merge_level(
    chunks: Sequence[Held | Spilled], level: int, below: Sequence[np.ndarray], merged: _Merged, is_last: bool
) -> list[np.ndarray]:
    """Merge the rows of a level; ``below``: where those of the level below have gone. Where these have gone, unless
    this level is the last."""
    starts, ends = ([chunk.levels[at] for chunk in chunks] for at in (level, level + 1))
    before, at, room = [chunk.levels[level - 1] for chunk in chunks], starts[:], max(1, _ROWS // len(chunks))
    places = [np.empty(0 if is_last else end - start, np.int32) for start, end in zip(starts, ends, strict=True)]
    while at != ends:
        runs, limit = [], _LAST
        for i, chunk in enumerate(chunks):
            last = min(at[i] + room, ends[i])
            keys = below[i][chunk.read(_CONTEXTS, at[i], last) - before[i]].astype(np.int64)
            keys <<= 32
            keys |= chunk.read(_WORDS, at[i], last)
            limit = limit if last == ends[i] else min(limit, keys[-1])
            runs.append(keys)
        keys, numbers = _merge([run[: np.searchsorted(run, limit, side="right")] for run in runs])
        rows = np.zeros((4, len(keys)), np.int32)
        rows[_WORDS], rows[_CONTEXTS] = keys & 0xFFFFFFFF, keys >> 32
        for i, (chunk, own) in enumerate(zip(chunks, numbers, strict=True)):
            first, at[i] = at[i], at[i] + len(own)
            rows[_COUNTS, own] += chunk.read(_COUNTS, first, at[i])
            rows[_SUFFIX, own] = below[i][chunk.read(_SUFFIX, first, at[i]) - before[i]]
            if not is_last:
                places[i][first - starts[i] : at[i] - starts[i]] = merged.rows + own
        merged.append(rows)
    merged.finish_level()
    return places


def _merge_chunks(chunks: Sequence[Held | Spilled], make: Callable[[], ArrayFile | _Memory]) -> Ngrams:
    n_types, order = chunks[0].levels[1], len(chunks[0].levels) - 1
    counts = np.zeros(n_types, np.int32)
    for chunk in chunks:
        counts += chunk.read(_COUNTS, 0, n_types)
    merged = _Merged(counts, make)
    places = [np.arange(n_types, dtype=np.int32)] * len(chunks)
    for level in range(1, order):
        places = _merge_level(chunks, level, places, merged, level == order - 1)
    return merged.ngrams()


def merge_ngrams(a: Ngrams, b: Ngrams) -> Ngrams:
    """The counts of two texts together; both must have been counted with the same symbols and the same order."""
    return _merge_chunks([Held(a), Held(b)], _Memory)


def merge_spilled(chunks: Sequence[Spilled], folder: Folder = None) -> Ngrams:
    """The counts of all chunks together, as ``count_ngrams`` gives them, in files that are mapped."""
    return _merge_chunks(chunks, lambda: ArrayFile(np.int32, folder))


def count_spilled(
    streams: Iterable[tuple[np.ndarray, int]], count: Callable[[np.ndarray], Ngrams], folder: Folder = None
) -> Ngrams:
    """Count chunks of a text one after the other, times the sign of each, and merge the counts."""
    return merge_spilled([Spilled(count(symbols), sign, folder) for symbols, sign in streams], folder)


def overlapping(symbols: np.ndarray, bounds: list[int], order: int) -> Iterable[tuple[np.ndarray, int]]:
    """Chunks of one stream from bound to bound, for ``count_spilled``: each goes on for ``order - 1`` symbols, so that
    no n-gram is lost, and what two chunks share is subtracted once. Bounds are at least ``order - 1`` symbols apart."""
    for first, last in pairwise(bounds):
        yield symbols[first : last + order - 1], 1
        if last < bounds[-1] and order > 1:
            yield symbols[last : last + order - 1], -1
