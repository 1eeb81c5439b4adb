"""Which words stand near which, as sparse matrices of counts, and the vectors that follow from them.

A text is cut into chunks of sentences; every chunk gives a matrix, and matrices are added up along a fixed tree, so the
counts are the same for any number of workers, on threads or a cluster. ``count_contexts`` counts words against what
stands near them (``Around``), or at fixed offsets from them (``At``).

``PpmiVectors`` and ``SvdVectors`` are made of what stands near a word, wherever exactly. Both factor a square matrix M,
a row for each word and a column for each context word, as M = U S V' and take (U + V) S^e for vectors. In
``SvdVectors`` M has the counts themselves, or a power of them. In ``PpmiVectors`` it has positive pointwise mutual
information,

    M[w, c] = max(0, log p(c | w) / q(c) - log k),      q(c) proportional to count(c)^smoothing,

how much more often than by chance c stands near w; k (``negative``) is as many times as chance alone must be beaten. It
is what skip-gram with k negative samples factors, too (Levy and Goldberg 2014).

A word that the training text lacks is a new row m of M: its row of U is m V / S.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.engine.linalg.sparse import Rows, SparseOperator, added
from corpuscle.learning import Checkpoint
from corpuscle.model import Arrays, Kind
from corpuscle.model.saved import Saved
from corpuscle.scale import chunks_of, workers
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import END, START, UNKNOWN
from corpuscle.words.kernels import contexts as kernels
from corpuscle.words.settings import PpmiSettings, SvdSettings
from corpuscle.words.vectors import VECTORS, WordVectors, check_vectors, numbers

CHUNK = 1 << 19  # tokens, about, that are counted at a time
ROOM = 1 << 21  # entries that are found before they are put aside


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


def chunks_of_corpus(corpus: Corpus, target: int | None = None) -> list[Corpus]:
    """The sentences of a corpus in chunks of about ``target`` tokens; ids alone, since a vocabulary need not travel."""
    bare = Corpus(corpus.tokens, corpus.sentence_starts, None)  # type: ignore[arg-type]
    return [bare[first:last] for first, last in pairwise(chunks_of(bare.lengths + 1, target or CHUNK))]


def _gather(counts: Iterable[Callable[[int, kernels.Room], np.ndarray]], rows: int, width: int) -> Rows:
    """The matrices of some kernels, one below the other; each kernel fills the room it has, row by row, and is called
    until all of its rows are done."""
    room, end = kernels.room_for(width, ROOM), 0
    starts, columns, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for count in counts:
        first = 0
        while first < rows:
            ends = count(first, room)
            starts.append(ends[1:] + end)
            columns.append(room.columns[: ends[-1]].copy())
            values.append(room.values[: ends[-1]].copy())
            first, end = first + len(ends) - 1, end + int(ends[-1])
    return Rows(np.concatenate(starts), np.concatenate(columns), np.concatenate(values), width)


def _around(chunk: Corpus, how: Around) -> Rows:
    places, types = np.arange(len(chunk.tokens)), len(how.keeps)
    gaps, starts = np.zeros(len(places)), chunk.sentence_starts[1:-1]
    gaps[starts[starts < len(places)]] = how.window + 2.0
    kept = how.keeps[chunk.tokens]
    near = kernels.Near(how.keeps, np.cumsum(kept + gaps) - kept, float(how.window), how.weighting)
    given = kernels.Sorted(chunk.tokens, *kernels.sort_by(chunk.tokens, places, 0, types))
    return _gather([partial(kernels.count_near, given, near)], types, types)


def _at(chunk: Corpus, how: At) -> Rows:
    # ``margin`` boundary symbols stand before and after each sentence.
    margin, sentences = max(map(abs, how.rows + how.columns)), np.arange(len(chunk))
    places = np.arange(len(chunk.tokens)) + margin * (1 + 2 * np.repeat(sentences, chunk.lengths))
    text = np.full(len(chunk.tokens) + 2 * margin * len(sentences), START, np.int32)
    text[places] = chunk.tokens
    text[(chunk.sentence_starts[1:] + margin * (1 + 2 * sentences))[:, None] + np.arange(margin)] = END
    blocks = np.zeros(len(how.columns), np.int64) if how.bag else np.arange(len(how.columns))
    slots = kernels.Slots(np.array(how.columns, np.int64), blocks)
    sorts = (kernels.Sorted(text, *kernels.sort_by(text, places, offset, how.types)) for offset in how.rows)
    counts = (partial(kernels.count_slots, given, slots) for given in sorts)
    return _gather(counts, how.types, how.types if how.bag else how.types * len(how.columns))


def count_contexts(corpus: Corpus, how: Around | At, count: int | None = None, cluster: Any = None) -> Rows:
    """How often every word stands near every other, (types, types); or how often it stands at the row offsets of a
    token and every other at its column offsets, where beyond the ends of a sentence stand its boundary symbols.
    ``count``: of workers; or a ``cluster``."""
    with workers(count, cluster) as pool:
        chunks = pool.scatter(chunks_of_corpus(corpus))
        return chunks.map_reduce(_around if isinstance(how, Around) else _at, added, how)


# ---- vectors


_WEIGHTINGS = {"flat": kernels.FLAT, "linear": kernels.LINEAR, "harmonic": kernels.HARMONIC}

WINDOW = {
    **VECTORS,
    "contexts": numbers("types+3", "dimensions"),
    "context_counts": numbers("types+3", dtype="float64", low=0),
}


def pointwise_information(counts: Rows, context_counts: np.ndarray, smoothing: float, negative: float) -> Rows:
    """Positive pointwise mutual information of counts (m, n), where ``context_counts`` (n,) are the counts of contexts;
    entries that are not positive are left out."""
    rows = counts.row_numbers()
    logs = np.log(counts.values) - np.log(np.maximum(counts.row_sums(), np.finfo(np.float64).tiny))[rows]
    chances = context_counts**smoothing
    with np.errstate(divide="ignore"):
        logs -= (np.log(chances / max(chances.sum(), np.finfo(np.float64).tiny)) + np.log(negative))[counts.columns]
    kept = (logs > 0) & np.isfinite(logs)
    starts = starts_of(np.bincount(rows[kept], minlength=len(counts.starts) - 1))
    return Rows(starts, counts.columns[kept], logs[kept], counts.width)


class _Factors:
    """What both methods do: they differ in the matrix M alone."""

    SAVED: ClassVar[Mapping[str, Saved]] = {
        **WordVectors.SAVED,
        "contexts_": Arrays("contexts"),
        "context_counts_": Arrays("context_counts"),
    }

    contexts_: np.ndarray
    context_counts_: np.ndarray

    def _entries(self, counts: Rows) -> Rows:
        """The matrix M of counts, or some rows of it."""
        raise NotImplementedError

    def _count_near(self: Any, corpus: Corpus, new: int = 0) -> Rows:
        """Counts of words near words; unknown words and boundaries do not count. The last ``new`` ids are new words."""
        known = self.vocab_.counts
        keeps = np.ones(len(known) + new)
        if self.subsample > 0:
            shares = known / max(1, known.sum())
            keeps[: len(known)] = np.sqrt(self.subsample / np.maximum(shares, self.subsample))
        keeps[[UNKNOWN, START, END]] = 0.0
        how = Around(keeps, self.window, _WEIGHTINGS[self.weighting])
        return count_contexts(corpus, how, self.workers, self.cluster)

    def _learn(self: Any, corpus: Corpus, checkpoint: Checkpoint) -> None:
        counts = self._count_near(corpus)
        self.context_counts_ = counts.column_sums()
        entries = self._entries(counts)
        wanted = self._wanted(len(self.vocab_) - 3, self.drop_first)
        found = krylov_svd(SparseOperator(entries, self.workers), wanted, rounds=self.rounds, seed=self.seed)
        found.left[np.diff(entries.starts) == 0] = 0.0  # where nothing stands, not even what rounding makes of it
        found.right[entries.column_sums() == 0] = 0.0
        self._keep(found.left, found.values, self.drop_first)
        self.contexts_ = found.right[:, self.drop_first :].astype(np.float32)

    def _scaled(self: Any) -> np.ndarray:
        return (self.projection_.astype(np.float64) + self.contexts_) * self.singular_values_**self.exponent

    def folded(self: Any, counts: Rows) -> np.ndarray:
        """The projection of words with these counts of contexts (words, len(vocab_)): m V / S, float64."""
        entries = SparseOperator(self._entries(counts), self.workers)
        return entries.matmat(self.contexts_.astype(np.float64)) / self.singular_values_

    def _from_contexts(self: Any, corpus: Corpus, new: int) -> np.ndarray:
        known = len(self.vocab_)
        rows = Rows.of(self._count_near(corpus, new).csr()[known:, :known])
        return self.folded(rows) * self.singular_values_**self.exponent


class PpmiVectors(PpmiSettings, _Factors, WordVectors):
    """Vectors from positive pointwise mutual information.

    - ``contexts_`` float32 (len(vocab_), dimensions): V; ``context_counts_`` float64 (len(vocab_),): column sums of the
      counts.
    """

    KIND: ClassVar[Kind] = Kind("words.ppmi", 1, WINDOW, check=check_vectors)

    def _entries(self, counts: Rows) -> Rows:
        return pointwise_information(counts, self.context_counts_, self.smoothing, self.negative)


class SvdVectors(SvdSettings, _Factors, WordVectors):
    """Vectors from counts, or a power of them; learned: as ``PpmiVectors``."""

    KIND: ClassVar[Kind] = Kind("words.svd", 1, WINDOW, check=check_vectors)

    def _entries(self, counts: Rows) -> Rows:
        return counts._replace(values=counts.values**self.power)
