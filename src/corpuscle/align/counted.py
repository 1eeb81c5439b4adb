"""Models whose tables come from expected counts of links: Model1, Diagonal and HMM differ in where links go.

- IBM Model 1 (Brown et al., "The mathematics of statistical machine translation", 1993): every word of the other
  sentence, and the null word, may generate a word, wherever it stands;
- Model 2 with links near the diagonal (Dyer, Chahuneau and Smith, "A simple, fast, and effective reparameterization of
  IBM Model 2", 2013), the fastest method that is any good;
- the hidden Markov model (Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996): a link
  depends on where the link before it went.

The laws of positions are those of ``corpuscle.align.positions``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align.base import COUNTED, Aligner, check_counts
from corpuscle.align.expectation import EXPECTED, Expectation
from corpuscle.align.kernels.cooccurrence import directed
from corpuscle.align.nbest import independent_best, jump_best, single_pairs
from corpuscle.align.positions import JUMPS, MAX_JUMP, STRENGTHS, Jumps, Law, Uniform
from corpuscle.align.positions import Diagonal as DiagonalLaw
from corpuscle.align.settings import CountedSettings, DiagonalSettings, HmmSettings, Ibm1Settings
from corpuscle.align.tables import Estimation, Posteriors, TranslationTables, finished_tables
from corpuscle.align.training import Work, keep, training
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Container, Kind
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext

__all__ = ["HMM", "HMM_STAGES", "Counted", "Diagonal", "Model1", "learn_hmm"]

HMM_STAGES = EXPECTED, EXPECTED | {"jumps": JUMPS}
"""The states of unfinished work: of Model 1, and of the hidden Markov model after it."""


class Counted(CountedSettings, Aligner):
    """A model of expected counts, under a law of positions."""

    @property
    @abstractmethod
    def law(self) -> Any:
        """The law of positions that was learned."""

    @abstractmethod
    def _learned(self, work: Work, base: Any) -> tuple[Expectation, np.ndarray]:
        """What has learned from a text, with the law of an older model to begin with; and its history."""

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        """Learn from sentence pairs."""
        with training(self, bitext, checkpoint, base) as work:
            em, self.history_ = self._learned(work, base)
        keep(self, work.text, em.counts)
        self._take(em.law.arrays())
        return self

    @cached_property
    def tables_(self) -> tuple[TranslationTables, TranslationTables]:
        """The probabilities of both directions."""
        return finished_tables(self.couples_, self.counts_, self.null_counts_, Estimation(self.alpha, self.bayes))

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs whose cells are filled."""
        table, null = self.tables_[direction]
        return self.law.expect(directed(pairs, direction), table[pairs.cells], null)

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair, and their log-probabilities."""
        for pair in single_pairs(pairs):
            yield independent_best(self.posteriors(pair, direction), directed(pair, direction), k)

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | self.law.arrays()

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self._take(loaded.arrays)

    def _take(self, arrays: Any) -> None:
        """What the law has learned, as it is in a file."""


class Model1(Ibm1Settings, Counted):
    """IBM Model 1: every position is as good as any other."""

    method: ClassVar[str] = "ibm1"
    KIND: ClassVar[Kind] = Kind("align.ibm1", 1, COUNTED, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED)
    law: ClassVar[Law] = Uniform()

    def _learned(self, work: Work, base: Any) -> tuple[Expectation, np.ndarray]:
        em = work.expectation(self, self.law, self.agreement)
        return em, work.run(em, self.passes, self.method)


class Diagonal(DiagonalSettings, Counted):
    """Model 2 with a diagonal; ``strengths_`` float64 (2,): how strongly it draws links, by direction.

    By maximum likelihood and in agreement it makes fewer errors than as its authors learn it, by variational Bayes
    (``bayes=True, agreement=False``).
    """

    method: ClassVar[str] = "diagonal"
    KIND: ClassVar[Kind] = Kind("align.diagonal", 1, COUNTED | {"strengths": STRENGTHS}, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED | {"strengths": STRENGTHS})

    strengths_: np.ndarray = learned()

    @property
    def law(self) -> DiagonalLaw:
        """The law of positions that was learned."""
        return DiagonalLaw(self.p0, self.strengths_)

    def _learned(self, work: Work, base: Diagonal | None) -> tuple[Expectation, np.ndarray]:
        strengths = np.full(2, self.strength) if base is None else np.array(base.strengths_)
        em = work.expectation(self, DiagonalLaw(self.p0, strengths), self.agreement)
        return em, work.run(em, self.passes, self.method)

    def _take(self, arrays: Any) -> None:
        self.strengths_ = arrays["strengths"]


def learn_hmm(settings: HmmSettings, work: Work, known: np.ndarray | None, method: str) -> tuple[Any, np.ndarray]:
    """Passes of Model 1, which by itself agrees on too little, then of the hidden Markov model; and their history.

    ``known``: the counts of jumps of an older model, which has had its Model 1.
    """
    em = work.expectation(settings, Uniform())
    before = work.run(em, settings.warm_up if known is None else 0, method)
    counts = np.ones((2, 2 * MAX_JUMP + 1)) if known is None else np.array(known)
    em.law, em.agreement = Jumps(settings.p0, settings.rho, counts, known), settings.agreement
    return em, np.vstack([before, work.run(em, settings.passes, method)])


class HMM(HmmSettings, Counted):
    """The hidden Markov model; ``jumps_`` float64 (2, 2 MAX_JUMP + 1): counts of jumps, by direction and distance."""

    method: ClassVar[str] = "hmm"
    KIND: ClassVar[Kind] = Kind("align.hmm", 1, COUNTED | {"jumps": JUMPS}, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, *HMM_STAGES)

    jumps_: np.ndarray = learned()

    @property
    def law(self) -> Jumps:
        """The law of positions that was learned."""
        return Jumps(self.p0, self.rho, self.jumps_)

    def _learned(self, work: Work, base: HMM | None) -> tuple[Expectation, np.ndarray]:
        return learn_hmm(self, work, None if base is None else base.jumps_, self.method)

    def best(self, pairs: Any, direction: int) -> np.ndarray:
        """The best path through all outputs, int32, -1 for the null word."""
        table, null = self.tables_[direction]
        return self.law.best_path(directed(pairs, direction), table[pairs.cells], null)

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair, and their log-probabilities."""
        for pair in single_pairs(pairs):
            total = self.posteriors(pair, direction).likelihood
            yield jump_best(directed(pair, direction), self.tables_[direction], self.law, total, k)

    def _take(self, arrays: Any) -> None:
        self.jumps_ = arrays["jumps"]
