"""Model1: IBM Model 1 (Brown et al., "The mathematics of statistical machine translation", 1993): every word of the
other sentence, and the null word, may generate a word, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align.base import COUNTED, Aligner, check_counts
from corpuscle.align.nbest import independent_best, single_pairs
from corpuscle.align.positions import Uniform
from corpuscle.align.settings import Ibm1Settings
from corpuscle.align.tables import Estimation, Posteriors, Tables, finished_tables
from corpuscle.align.training import EXPECTED, keep, training
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Kind
from corpuscle.text.bitext import Bitext

__all__ = ["Model1"]


class Model1(Ibm1Settings, Aligner):
    """IBM Model 1: every position is as good as any other."""

    method: ClassVar[str] = "ibm1"
    KIND: ClassVar[Kind] = Kind("align.ibm1", 1, COUNTED, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED)

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        """Learn from sentence pairs."""
        with training(self, bitext, checkpoint, base) as work:
            em = work.expectation(self.alpha, self.bayes, Uniform(), self.agreement)
            self.history_ = work.run(em, self.iterations, self.method)
        keep(self, work.text, em.counts)
        return self

    @cached_property
    def tables_(self) -> tuple[Tables, Tables]:
        """The probabilities of both directions."""
        return finished_tables(self.couples_, self.counts_, self.null_counts_, Estimation(self.alpha, self.bayes))

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs whose cells are filled."""
        table, null = self.tables_[direction]
        return Uniform().expect(pairs, direction, table[pairs.cells], null).posteriors

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair, and their log-probabilities."""
        for pair, m, n in single_pairs(pairs, direction):
            yield independent_best(self.posteriors(pair, direction), m, n, direction, k)
