"""OsccaVectors and TsccaVectors: "eigenwords", by canonical correlation of words with what stands around them.

Three views of a token: W, which word it is; L and R, the words at the offsets -h to -1 and 1 to h, each offset by
itself (one-hot vectors side by side). The boundaries of a sentence are symbols, so every view of every token is full.

- **OSCCA**, in one step: CCA of W with [L R]. The second moment of [L R] is taken to be diagonal.
- **TSCCA**, in two: CCA of L with R gives projections Phi of both, the state that the two sides agree on; then CCA of W
  with S = [L Phi_L, R Phi_R]. S is a short dense vector for each token and never formed: only W'S and S'S are needed,
  and both are Phi' C Phi of sparse counts C. Needs less text for rare words, in theory.

Counts may be replaced by a power of them, with 0.5 as the default, which makes the variance of small and large counts
alike; diagonals and cross-moments are treated the same way. A new word with counts n of contexts has the projection
n^power Psi / (rho count(w)), Psi being the projection of contexts.

Dhillon, Foster and Ungar 2015; Dhillon, Rodu, Foster and Ungar 2012 for two steps; Stratos, Kim, Collins and Hsu 2014
for the square root.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from corpuscle.engine.linalg.cca import diagonal_cca, one_hot_cca
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.learning import Checkpoint
from corpuscle.model import Arrays, Container, Kind
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import UNKNOWN
from corpuscle.words.cooccurrence import At, count_at
from corpuscle.words.settings import OsccaSettings, TsccaSettings
from corpuscle.words.vectors import VECTORS, WordVectors, check_vectors, numbers

CANONICAL = {**VECTORS, "contexts": numbers("slots", "types+3", "dimensions")}


class _CanonicalVectors(TsccaSettings, WordVectors):
    """What both methods share: ``contexts_`` float32 (slots, len(vocab_), dimensions), Psi."""

    SAVED: ClassVar = {**WordVectors.SAVED, "contexts_": Arrays("contexts")}

    contexts_: np.ndarray = learned()

    @property
    def _context_power(self) -> float:
        """Which power of counts the contexts were learned for."""
        return 1.0

    @property
    def _left(self) -> tuple[int, ...]:
        return tuple(range(-self.window, 0))

    @property
    def _right(self) -> tuple[int, ...]:
        return tuple(range(1, self.window + 1))

    def _count(self, corpus: Corpus, rows: tuple[int, ...], columns: tuple[int, ...], bag: bool = False) -> Rows:
        return count_at(corpus, At(rows, columns, bag, len(corpus.vocab)), self.workers, self.cluster)

    def _powered(self, counts: np.ndarray) -> np.ndarray:
        """Diagonals of second moments from counts: kappa added, the power taken; 0 where there is nothing."""
        return np.where(counts > 0, (counts + self.kappa) ** self.power, 0.0)

    def _power(self, counts: Rows) -> Rows:
        return counts._replace(values=counts.values**self.power)

    def _scaled(self) -> np.ndarray:
        return self.projection_ * self.singular_values_**self.exponent

    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        from scipy.sparse import csr_array

        known, types = len(self.vocab_), len(corpus.vocab)
        offsets, slots = self._left + self._right, len(self.contexts_)
        counts = self._count(corpus, (0,), offsets, bag=slots == 1)
        begin = counts.starts[known]
        slot, word = np.divmod(counts.columns[begin:], types)
        columns = slot * known + np.where(word < known, word, UNKNOWN)  # to each other, new words are unknown
        parts = (counts.values[begin:], columns, counts.starts[known:] - begin)
        whole = csr_array(parts, shape=(new, slots * known))
        whole.sum_duplicates()
        whole.data **= self._context_power
        rows = whole @ self.contexts_.reshape(slots * known, -1).astype(np.float64)
        return rows / self.singular_values_ * self.singular_values_**self.exponent


def check_slots(loaded: Container) -> None:
    """What the declarations of the arrays cannot say."""
    check_vectors(loaded)
    window, bag = loaded.settings.get("window"), loaded.settings.get("bag")
    if type(window) is not int or len(loaded.arrays["contexts"]) != (1 if bag else 2 * window):
        raise ValueError("its contexts do not fit its window")


class OsccaVectors(OsccaSettings, _CanonicalVectors):
    """Vectors by canonical correlation of words with their contexts."""

    KIND: ClassVar[Kind] = Kind("words.oscca", 1, CANONICAL, check=check_slots)

    @property
    def _context_power(self) -> float:
        """Which power of counts the contexts were learned for."""
        return self.power

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        types = len(self.vocab_)
        counts = self._count(corpus, (0,), self._left + self._right, self.bag)
        xx = self._powered(np.bincount(corpus.tokens, minlength=types))
        wanted = self._wanted(types - 2, self.drop_first)
        yy = self._powered(counts.column_sums())
        found = diagonal_cca(
            self._power(counts), xx, yy, wanted, workers=self.workers, rounds=self.rounds, seed=self.seed
        )
        self._keep(found.left, found.correlations, self.drop_first)
        self.contexts_ = found.right[:, self.drop_first :].astype(np.float32).reshape(-1, types, self.dimensions)


class TsccaVectors(_CanonicalVectors):
    """Vectors by canonical correlation of left with right contexts, then of words with what these agree on."""

    KIND: ClassVar[Kind] = Kind("words.tscca", 1, CANONICAL, check=check_slots)

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        types, offsets = len(self.vocab_), self._left + self._right
        wanted = self._wanted(types - 2, self.drop_first)
        between = self._count(corpus, self._left, self._right)
        lefts, rights = (self._powered(sums / self.window) for sums in (between.row_sums(), between.column_sums()))
        how = {"workers": self.workers, "rounds": self.rounds, "seed": self.seed}
        state = diagonal_cca(self._power(between), lefts, rights, wanted, **how)
        halves = (state.left, state.right)
        phi = np.zeros((len(offsets), types, 2 * wanted))  # of each slot, into its half of S
        for side, half in enumerate(halves):
            phi[side * self.window : (side + 1) * self.window, :, side * wanted : (side + 1) * wanted] = half.reshape(
                self.window, types, wanted
            )
        flat = phi.reshape(-1, 2 * wanted)
        cross = SparseOperator(self._count(corpus, (0,), offsets), self.workers).matmat(flat)  # W'S
        moment = np.zeros((2 * wanted, 2 * wanted))  # S'S
        for slot, offset in enumerate(offsets):
            moment += phi[slot].T @ SparseOperator(self._count(corpus, (offset,), offsets), self.workers).matmat(flat)
        words = np.bincount(corpus.tokens, minlength=types)
        found = one_hot_cca(np.where(words > 0, words + self.kappa, 0.0), cross, moment, wanted)
        self._keep(found.left, found.correlations, self.drop_first)
        self.contexts_ = (phi @ found.right[:, self.drop_first :]).astype(np.float32)
