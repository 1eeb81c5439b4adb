"""Diagonal: IBM Model 2 with links near the diagonal (Dyer, Chahuneau and Smith, "A simple, fast, and effective
reparameterization of IBM Model 2", 2013), the fastest method that is any good."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align.base import COUNTED, Aligner, check_counts
from corpuscle.align.nbest import independent_best, single_pairs
from corpuscle.align.positions import STRENGTHS
from corpuscle.align.positions import Diagonal as Law
from corpuscle.align.settings import DiagonalSettings
from corpuscle.align.tables import Estimation, Posteriors, Tables, finished_tables
from corpuscle.align.training import EXPECTED, keep, training
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Container, Kind
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext

__all__ = ["Diagonal"]


class Diagonal(DiagonalSettings, Aligner):
    """Model 2 with a diagonal; ``strengths_`` float64 (2,): how strongly it draws links, by direction.

    By maximum likelihood and in agreement it makes fewer errors than as its authors learn it, by variational Bayes
    (``bayes=True, agreement=False``).
    """

    method: ClassVar[str] = "diagonal"
    KIND: ClassVar[Kind] = Kind("align.diagonal", 1, COUNTED | {"strengths": STRENGTHS}, check=check_counts)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED | {"strengths": STRENGTHS})

    strengths_: np.ndarray = learned()

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        """Learn from sentence pairs."""
        with training(self, bitext, checkpoint, base) as work:
            law = Law(self.p0, np.full(2, self.strength) if base is None else np.array(base.strengths_))
            em = work.expectation(self.alpha, self.bayes, law, self.agreement)
            self.history_ = work.run(em, self.iterations, self.method)
        keep(self, work.text, em.counts)
        self.strengths_ = em.law.strengths
        return self

    @cached_property
    def tables_(self) -> tuple[Tables, Tables]:
        """The probabilities of both directions."""
        return finished_tables(self.couples_, self.counts_, self.null_counts_, Estimation(self.alpha, self.bayes))

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs whose cells are filled."""
        table, null = self.tables_[direction]
        return Law(self.p0, self.strengths_).expect(pairs, direction, table[pairs.cells], null).posteriors

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair, and their log-probabilities."""
        for pair, m, n in single_pairs(pairs, direction):
            yield independent_best(self.posteriors(pair, direction), m, n, direction, k)

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {"strengths": self.strengths_}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.strengths_ = loaded.arrays["strengths"]
