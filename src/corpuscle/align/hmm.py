"""HMM: the hidden Markov model (Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996):
a link depends on where the link before it went."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align.base import COUNTED, Aligner, check_counts
from corpuscle.align.expectation import Expectation
from corpuscle.align.nbest import jump_best, single_pairs
from corpuscle.align.positions import JUMPS, MAX_JUMP, Jumps, Uniform
from corpuscle.align.settings import HmmSettings
from corpuscle.align.tables import Estimation, Posteriors, Tables, finished_tables
from corpuscle.align.training import EXPECTED, Work, keep, training
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Container, Kind
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext

__all__ = ["HMM", "HMM_STAGES", "learn_hmm"]


HMM_STAGES = EXPECTED, EXPECTED | {"jumps": JUMPS}
"""The states of unfinished work: of Model 1, and of the hidden Markov model after it."""


def learn_hmm(
    settings: HmmSettings, work: Work, known: np.ndarray | None, method: str
) -> tuple[Expectation, np.ndarray]:
    """Iterations of Model 1, which by itself agrees on too little, then of the hidden Markov model; and their history.

    ``known``: the counts of jumps of an older model, which has had its Model 1.
    """
    em = work.expectation(settings.alpha, settings.bayes, Uniform())
    before = work.run(em, settings.warm_up if known is None else 0, method)
    counts = np.ones((2, 2 * MAX_JUMP + 1)) if known is None else np.array(known)
    em.law, em.agreement = Jumps(settings.p0, settings.rho, counts, known), settings.agreement
    return em, np.vstack([before, work.run(em, settings.iterations, method)])


class HMM(HmmSettings, Aligner):
    """The hidden Markov model; ``jumps_`` float64 (2, 2 MAX_JUMP + 1): counts of jumps, by direction and distance."""

    method: ClassVar[str] = "hmm"
    KIND: ClassVar[Kind] = Kind("align.hmm", 1, COUNTED | {"jumps": JUMPS}, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, *HMM_STAGES)

    jumps_: np.ndarray = learned()

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        """Learn from sentence pairs."""
        with training(self, bitext, checkpoint, base) as work:
            em, self.history_ = learn_hmm(self, work, None if base is None else base.jumps_, self.method)
        keep(self, work.text, em.counts)
        self.jumps_ = em.law.jumps
        return self

    @cached_property
    def tables_(self) -> tuple[Tables, Tables]:
        """The probabilities of both directions."""
        return finished_tables(self.couples_, self.counts_, self.null_counts_, Estimation(self.alpha, self.bayes))

    @property
    def _law(self) -> Jumps:
        return Jumps(self.p0, self.rho, self.jumps_)

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs whose cells are filled."""
        table, null = self.tables_[direction]
        return self._law.expect(pairs, direction, table[pairs.cells], null).posteriors

    def best(self, pairs: Any, direction: int) -> np.ndarray:
        """The best path through all outputs, int32, -1 for the null word."""
        table, null = self.tables_[direction]
        return self._law.best_path(pairs, direction, table[pairs.cells], null)

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair, and their log-probabilities."""
        tables = self.tables_[direction]
        for pair, m, n in single_pairs(pairs, direction):
            total = self.posteriors(pair, direction).likelihood
            yield jump_best(pair, m, n, direction, tables, self._law, total, k)

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {"jumps": self.jumps_}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.jumps_ = loaded.arrays["jumps"]
