"""Counting which words stand near which, over any number of workers: sparse matrices of counts.

A text is cut into chunks of sentences; every chunk gives a matrix, and matrices are added up along a fixed tree, so the
counts are the same for any number of workers, threads or cluster. ``count_around`` counts words against what stands
near them, ``count_at`` against what stands at fixed offsets from them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.linalg.sparse import Rows, added
from corpuscle.scale import chunks_of, workers
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START
from corpuscle.words.kernels import cooccurrence as kernels

CHUNK = 1 << 19
"""So many tokens, about, are counted at a time."""
ROOM = 1 << 21
"""So many entries are found before they are put aside."""


class Chunk(NamedTuple):
    """Some sentences: ``tokens`` int32 (n,), ``starts`` int64 (sentences + 1,), beginning with 0."""

    tokens: np.ndarray
    starts: np.ndarray


class Around(NamedTuple):
    """A weighted window: ``keeps`` float64 (types,), how much each word counts; ``window``: how far it reaches;
    ``weighting``: flat, linear or harmonic, as a number."""

    keeps: np.ndarray
    window: int
    weighting: int


class At(NamedTuple):
    """Fixed offsets: the matrix has a block of rows for each of ``rows`` and of columns for each of ``columns``, which
    all lie side by side, or on top of each other if it is a ``bag``."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    bag: bool
    types: int


def chunks_of_corpus(corpus: Corpus, target: int | None = None) -> list[Chunk]:
    """The sentences of a corpus in chunks of about ``target`` tokens."""
    starts, chunks = corpus.sentence_starts, []
    edges = chunks_of(np.diff(starts) + 1, target or CHUNK)
    for first, last in pairwise(edges):
        inside = starts[first : last + 1]
        chunks.append(Chunk(np.ascontiguousarray(corpus.tokens[inside[0] : inside[-1]]), inside - inside[0]))
    return chunks


def _gather(count: Callable[[int, kernels.Room], np.ndarray], rows: int, width: int) -> Rows:
    """The matrix of a kernel that fills the room it has, row by row, and is called until all rows are done."""
    room, first, end = kernels.room_for(width, ROOM), 0, 0
    starts, columns, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    while first < rows:
        ends = count(first, room)
        starts.append(ends[1:] + end)
        columns.append(room.columns[: ends[-1]].copy())
        values.append(room.values[: ends[-1]].copy())
        first, end = first + len(ends) - 1, end + int(ends[-1])
    return Rows(np.concatenate(starts), np.concatenate(columns), np.concatenate(values), width)


def _around(chunk: Chunk, how: Around) -> Rows:
    places = np.arange(len(chunk.tokens))
    order, starts = kernels.sort_by(chunk.tokens, places, 0, len(how.keeps))
    gaps = np.zeros(len(places))
    gaps[chunk.starts[1:-1][chunk.starts[1:-1] < len(places)]] = how.window + 2.0
    kept = how.keeps[chunk.tokens]
    near = kernels.Near(how.keeps, np.cumsum(kept + gaps) - kept, float(how.window), how.weighting)
    given = kernels.Sorted(chunk.tokens, order, starts)
    types = len(how.keeps)
    return _gather(lambda first, room: kernels.count_near(given, near, first, room), types, types)


def _slots(given: kernels.Sorted, slots: kernels.Slots, first: int, room: kernels.Room) -> np.ndarray:
    return kernels.count_slots(given, slots, first, room)


def _at(chunk: Chunk, how: At) -> Rows:
    margin = max(map(abs, how.rows + how.columns))
    text = np.empty(len(chunk.tokens) + 2 * margin * (len(chunk.starts) - 1), np.int32)
    places = np.empty(len(chunk.tokens), np.int64)
    kernels.lay_out(chunk.tokens, chunk.starts, np.array([START, END], np.int32), margin, text, places)
    blocks = np.zeros(len(how.columns), np.int64) if how.bag else np.arange(len(how.columns))
    slots = kernels.Slots(np.array(how.columns, np.int64), blocks)
    width = how.types if how.bag else how.types * len(how.columns)
    parts = []
    for offset in how.rows:
        given = kernels.Sorted(text, *kernels.sort_by(text, places, offset, how.types))
        parts.append(_gather(partial(_slots, given, slots), how.types, width))
    sizes = np.cumsum([0, *(len(part.values) for part in parts)])
    starts = [parts[0].starts, *(part.starts[1:] + size for part, size in zip(parts[1:], sizes[1:], strict=False))]
    columns, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("columns", "values"))
    return Rows(np.concatenate(starts), columns, values, width)


def count_around(corpus: Corpus, how: Around, count: int | None = None, cluster: Any = None) -> Rows:
    """How often every word stands near every other, (types, types); ``count``: of workers; or a ``cluster``."""
    with workers(count, cluster) as pool:
        return pool.scatter(chunks_of_corpus(corpus)).map_reduce(_around, added, how)


def count_at(corpus: Corpus, how: At, count: int | None = None, cluster: Any = None) -> Rows:
    """How often every word stands at the row offsets of a token and every other at its column offsets; beyond the ends
    of a sentence stand its boundary symbols. ``count``: of workers; or a ``cluster``."""
    with workers(count, cluster) as pool:
        return pool.scatter(chunks_of_corpus(corpus)).map_reduce(_at, added, how)
