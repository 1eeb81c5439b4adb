"""Expectation and maximisation: what learns Model 1, the diagonal model and the hidden Markov model.

Workers compute the link probabilities of both directions of a chunk; the results come back in order and are added to
the counts by one thread, so the outcome does not depend on the workers, nor memory on the number of chunks. (Sums over
parts of the text, added up afterwards, would need a table for each part, and tables are what fills the memory.)

With agreement (Liang, Taskar and Klein 2006) the counts of links of both directions are the products of their
probabilities: each direction learns from what the other believes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.chunks import Chunk, ChunkedText, Counts, Singles, StoredPairs, no_counts
from corpuscle.align.kernels import translation
from corpuscle.align.kernels.cooccurrence import Pairs, directed
from corpuscle.align.positions import Law
from corpuscle.align.tables import Estimation, Posteriors, references_from, tables_from
from corpuscle.learning import Learner
from corpuscle.model import Array
from corpuscle.scale import Workers

__all__ = ["EXPECTED", "Expectation", "Translation", "translation_of"]


class Translation(NamedTuple):
    """The translation probabilities of one direction, of all couples of a text.

    Those of shared couples are in ``table`` float32 (n_shared + 1,); those of singles are worked out from their counts,
    ``singles`` float32, and the ``references`` of their generating types, when they are needed. Without a table
    everything generates everything alike. ``null`` float32 (output types,) is what the null word generates.
    """

    direction: int
    estimation: Estimation
    null: np.ndarray
    table: np.ndarray | None = None
    singles: np.ndarray | None = None
    references: np.ndarray | None = None

    def values(self, pairs: Pairs) -> np.ndarray:
        """Those of all cells of a chunk, float32."""
        if self.table is None:
            return np.full(len(pairs.cells), self.null[0])
        values = np.empty(len(pairs.cells), np.float32)
        translation.translate(
            pairs, self.direction == 1, self.table, self.singles, self.references, *self.estimation, values
        )
        return values


def translation_of(
    text: StoredPairs | ChunkedText, counts: Counts | None, direction: int, estimation: Estimation
) -> Translation:
    """The translation probabilities after these counts; None: at the start."""
    if counts is None:
        types = text.sizes[direction]
        return Translation(direction, estimation, np.full(types, np.float32(1.0 / types)))
    couples, singles = counts.couples[direction], counts.singles
    known = singles.totals[direction], text.supports[direction]
    references = references_from(text.couples, couples, direction, estimation, known)
    table, null = tables_from(text.couples, couples, counts.nulls[direction], direction, estimation, references)
    return Translation(direction, estimation, null, table, singles.counts[direction], references)


EXPECTED = {
    "couples": Array("float64", (2, "couples"), low=0, finite=True),
    "singles": Array("float32", (2, "singles"), low=0, high=1.001),
    "totals/forward": Array("float64", ("source",), low=0, finite=True),
    "totals/backward": Array("float64", ("target",), low=0, finite=True),
    "nulls/forward": Array("float64", ("target",), low=0, finite=True),
    "nulls/backward": Array("float64", ("source",), low=0, finite=True),
}
"""The state of unfinished expectation and maximisation, besides its law of positions."""


class _Parameters(NamedTuple):
    """What the workers need to know in a pass."""

    translations: tuple[Translation, Translation]
    law: Law
    agreement: bool


def _expected(chunk: Chunk, now: _Parameters) -> tuple[Pairs, list[Posteriors]]:
    """Both directions of a chunk; in agreement the first has the products of links of both."""
    pairs = chunk.pairs()
    both = [now.law.expect(directed(pairs, each.direction), each.values(pairs), each.null) for each in now.translations]
    if now.agreement:
        links = both[0].links
        links *= both[1].links
        both[1] = both[1]._replace(links=links[:0])
    return pairs, both


@dataclass
class Expectation(Learner):
    """A learner (see ``corpuscle.learning``) whose sweeps are passes over a text, under one law of positions or one
    after the other.

    ``counts`` None is the start, where everything generates everything alike. ``before`` are counts that were there
    before any sentence of this text, and stay.
    """

    text: StoredPairs | ChunkedText
    estimation: Estimation
    pool: Workers
    law: Any
    agreement: bool = False
    before: Counts | None = None

    def __post_init__(self) -> None:
        self.counts = self.before
        self.chunks = self.pool.scatter([Chunk(self.text, number) for number in range(self.text.count)])

    def finish(self, sweep: int) -> np.ndarray:
        """One pass: new counts, in the place of the old ones, and a new law. Returns the log-likelihood a token of
        both directions under the old ones, float64 (2,)."""
        old, law, agreement = self.counts, self.law, self.agreement
        forward, backward = (translation_of(self.text, old, d, self.estimation) for d in (0, 1))
        new = self._emptied(old)
        moments, likelihoods = law.no_moments(), np.zeros(2)
        for pairs, both in self.chunks.map(_expected, _Parameters((forward, backward), law, agreement)):
            if agreement:
                _add(new, pairs, both[0].links, 0, both=True)
            for d, part in enumerate(both):
                if not agreement:
                    _add(new, pairs, part.links, d)
                outputs = pairs.source if d else pairs.target
                translation.add_counts(outputs, part.nulls, new.nulls[d])
                likelihoods[d] += part.likelihood
                moments[d] += part.moments
        if agreement:
            self._agree(new)
        lengths = self.text.lengths
        self.counts, self.law = new, law.learned(moments, lengths, old is None)
        return likelihoods / lengths.sum(axis=0)[::-1]

    def state(self) -> dict[str, np.ndarray]:
        """The counts and the law."""
        assert self.counts is not None
        return self.law.arrays() | dict(zip(EXPECTED, _arrays_of(self.counts), strict=True))

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Take back what ``state`` gave."""
        wanted = no_counts(self.text)
        found, places = [arrays[name] for name in EXPECTED], _arrays_of(wanted)
        if [array.shape for array in found] != [array.shape for array in places]:
            raise ValueError("it does not fit the text")
        for place, array in zip(places, found, strict=True):
            place[:] = array
        self.counts, self.law = wanted, self.law.restored(arrays)

    def _emptied(self, old: Counts | None) -> Counts:
        """Counts to add to, in the arrays of the old ones, which nobody needs any more once there are tables. Singles
        keep their counts, each until its only chunk is counted."""
        if old is None:
            return no_counts(self.text)
        base = self.before
        links = np.empty_like(old.couples) if old is base else old.couples
        links[:] = 0.0 if base is None else base.couples
        nulls = [np.zeros_like(old.nulls[d]) if base is None else base.nulls[d].copy() for d in (0, 1)]
        counts, (by_source, by_target) = old.singles
        counts = counts.copy() if old is base else counts
        singles = Singles(counts, (np.zeros_like(by_source), np.zeros_like(by_target)))
        return Counts(links, (nulls[0], nulls[1]), singles)

    def _agree(self, counts: Counts) -> None:
        """Give direction 1 the links of direction 0."""
        if self.before is not None:
            counts.couples[1] += counts.couples[0] - self.before.couples[0]
        else:
            counts.couples[1] = counts.couples[0]
        counts.singles.counts[1] = counts.singles.counts[0]


def _arrays_of(counts: Counts) -> list[np.ndarray]:
    """All arrays of some counts, in the order of ``EXPECTED``."""
    return [counts.couples, counts.singles.counts, *counts.singles.totals, *counts.nulls]


def _add(counts: Counts, pairs: Pairs, links: np.ndarray, direction: int, both: bool = False) -> None:
    """Add the links of a chunk to one direction (``both``: and already to the totals of the other)."""
    singles, (by_source, by_target) = counts.singles.counts[direction], counts.singles.totals
    forward, backward = both or direction == 0, both or direction == 1
    translation.add_all_counts(
        pairs, links, counts.couples[direction], singles, forward, by_source, backward, by_target
    )
