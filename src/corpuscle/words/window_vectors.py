"""PpmiVectors and SvdVectors: vectors from what stands near a word, wherever exactly.

Both factor a square matrix M, a row for each word and a column for each context word, as M = U S V' and take
(U + V) S^e for vectors. In ``SvdVectors`` M has the counts themselves, or a power of them. In ``PpmiVectors`` it has
positive pointwise mutual information,

    M[w, c] = max(0, log p(c | w) / q(c) - log k),      q(c) proportional to count(c)^smoothing,

how much more often than by chance c stands near w; k (``negative``) is as many times as chance alone must be beaten. It
is what skip-gram with k negative samples factors, too (Levy and Goldberg 2014).

A word that the training text lacks is a new row m of M: its row of U is m V / S.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.learning import Checkpoint
from corpuscle.model import Arrays, Kind
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START, UNKNOWN
from corpuscle.words.cooccurrence import Around, count_around
from corpuscle.words.kernels.cooccurrence import FLAT, HARMONIC, LINEAR
from corpuscle.words.settings import FactorSettings, PpmiSettings, SvdSettings, WindowSettings
from corpuscle.words.vectors import VECTORS, WordVectors, check_vectors, numbers

_WEIGHTINGS = {"flat": FLAT, "linear": LINEAR, "harmonic": HARMONIC}

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
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(counts.starts) - 1))])
    return Rows(starts.astype(np.int64), counts.columns[kept], logs[kept], counts.width)


class WindowVectors(WindowSettings, FactorSettings, WordVectors):
    """What both methods share: counting, factoring, and rows of new words.

    - ``contexts_`` float32 (len(vocab_), dimensions): V; ``context_counts_`` float64 (len(vocab_),): column sums of the
      counts.
    """

    SAVED: ClassVar = {
        **WordVectors.SAVED,
        "contexts_": Arrays("contexts"),
        "context_counts_": Arrays("context_counts"),
    }

    contexts_: np.ndarray = learned()
    context_counts_: np.ndarray = learned()

    @abstractmethod
    def _entries(self, counts: Rows) -> Rows:
        """The matrix M of counts, or some rows of it."""

    def _count(self, corpus: Corpus, new: int = 0) -> Rows:
        """Counts of words near words; unknown words and boundaries do not count. The last ``new`` ids are new words."""
        known = self.vocab_.counts
        shares = known / max(1, known.sum())
        keeps = np.ones(len(known) + new)
        if self.subsample > 0:
            keeps[: len(known)] = np.sqrt(self.subsample / np.maximum(shares, self.subsample))
        keeps[[UNKNOWN, START, END]] = 0.0
        how = Around(keeps, self.window, _WEIGHTINGS[self.weighting])
        return count_around(corpus, how, self.workers, self.cluster)

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        counts = self._count(corpus)
        self.context_counts_ = counts.column_sums()
        entries = self._entries(counts)
        operator = SparseOperator(entries, self.workers)
        wanted = self._wanted(len(self.vocab_) - 3, self.drop_first)
        found = krylov_svd(operator, wanted, rounds=self.rounds, seed=self.seed)
        found.left[np.diff(entries.starts) == 0] = 0.0  # where nothing stands, not even what rounding makes of it
        found.right[entries.column_sums() == 0] = 0.0
        self._keep(found.left, found.values, self.drop_first)
        self.contexts_ = found.right[:, self.drop_first :].astype(np.float32)

    def _scaled(self) -> np.ndarray:
        both = self.projection_.astype(np.float64) + self.contexts_
        return both * self.singular_values_**self.exponent

    def folded(self, counts: Rows) -> np.ndarray:
        """The projection of words with these counts of contexts (words, len(vocab_)): m V / S, float64."""
        entries = SparseOperator(self._entries(counts), self.workers)
        return entries.matmat(self.contexts_.astype(np.float64)) / self.singular_values_

    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        counts, known = self._count(corpus, new), len(self.vocab_)
        begin = counts.starts[known]
        rows = counts.row_numbers()[begin:] - known
        inside = counts.columns[begin:] < known
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[inside], minlength=new))]).astype(np.int64)
        kept = Rows(starts, counts.columns[begin:][inside], counts.values[begin:][inside], known)
        return self.folded(kept) * self.singular_values_**self.exponent


class PpmiVectors(PpmiSettings, WindowVectors):
    """Vectors from positive pointwise mutual information."""

    KIND: ClassVar[Kind] = Kind("words.ppmi", 1, WINDOW, check=check_vectors)

    def _entries(self, counts: Rows) -> Rows:
        return pointwise_information(counts, self.context_counts_, self.smoothing, self.negative)


class SvdVectors(SvdSettings, WindowVectors):
    """Vectors from counts, or a power of them."""

    KIND: ClassVar[Kind] = Kind("words.svd", 1, WINDOW, check=check_vectors)

    def _entries(self, counts: Rows) -> Rows:
        return counts._replace(values=counts.values**self.power)
