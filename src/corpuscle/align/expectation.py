"""Expectation and maximisation: what learns Model 1, the diagonal model and the hidden Markov model.

Workers compute the link probabilities of both directions of a piece; the results come back in order and are added to
the counts by one thread, so the outcome does not depend on the workers, nor memory on the number of pieces. (Sums over
parts of the text, added up afterwards, would need a table for each part, and tables are what fills the memory.)

With agreement (Liang, Taskar and Klein 2006) the counts of links of both directions are the products of their
probabilities: each direction learns from what the other believes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.kernels import translation
from corpuscle.align.kernels.cooccurrence import Pairs
from corpuscle.align.pieces import Counts, Piece, Singles, StoredPairs, Text
from corpuscle.align.positions import Evidence, Law
from corpuscle.align.tables import Estimation, references_from, tables_from
from corpuscle.learning import Learner
from corpuscle.scale import Workers

__all__ = ["Expectation", "Translation", "translation_of"]


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
        """Those of all cells of a piece, float32."""
        if self.table is None:
            return np.full(len(pairs.cells), self.null[0])
        if self.singles is None:
            return self.table[pairs.cells]
        values = np.empty(len(pairs.cells), np.float32)
        translation.translate(
            pairs, self.direction == 1, self.table, self.singles, self.references, *self.estimation, values
        )
        return values


def translation_of(
    text: StoredPairs | Text, counts: Counts | None, direction: int, estimation: Estimation
) -> Translation:
    """The translation probabilities after these counts; None: at the start."""
    if counts is None:
        types = text.sizes[direction]
        return Translation(direction, estimation, np.full(types, np.float32(1.0 / types)))
    couples, nulls = counts.couples[direction], counts.nulls[direction]
    known = None
    if counts.singles is not None and text.supports is not None:
        known = counts.singles.totals[direction], text.supports[direction]
    references = references_from(text.couples, couples, direction, estimation, known)
    table, null = tables_from(text.couples, couples, nulls, direction, estimation, references)
    singles = None if counts.singles is None else counts.singles.counts[direction]
    return Translation(direction, estimation, null, table, singles, references)


class _Parameters(NamedTuple):
    """What the workers need to know in an iteration."""

    translations: tuple[Translation, Translation]
    law: Law
    agreement: bool


def _expected(piece: Piece, now: _Parameters) -> tuple[Pairs, list[Evidence]]:
    """Both directions of a piece; in agreement the first has the products of links of both."""
    pairs = piece.pairs()
    both = [now.law.expect(pairs, each.direction, each.values(pairs), each.null) for each in now.translations]
    if now.agreement:
        links = both[0].posteriors.links
        links *= both[1].posteriors.links
        both[1] = both[1]._replace(posteriors=both[1].posteriors._replace(links=links[:0]))
    return pairs, both


@dataclass
class Expectation(Learner):
    """A learner (see ``corpuscle.learning``) whose sweeps are iterations over a text, under one law of positions or one
    after the other.

    ``counts`` None is the start, where everything generates everything alike. ``before`` are counts that were there
    before any sentence of this text, and stay.
    """

    text: StoredPairs | Text
    estimation: Estimation
    pool: Workers
    law: Any
    agreement: bool = False
    before: Counts | None = None

    def __post_init__(self) -> None:
        self.counts = self.before
        self.pieces = self.pool.scatter([Piece(self.text, number) for number in range(self.text.count)])

    def finish(self, sweep: int) -> np.ndarray:
        """One iteration: new counts, in the place of the old ones, and a new law. Returns the log-likelihood a token of
        both directions under the old ones, float64 (2,)."""
        old, law, agreement = self.counts, self.law, self.agreement
        forward, backward = (translation_of(self.text, old, d, self.estimation) for d in (0, 1))
        new = self._emptied(old)
        moments, likelihoods = law.no_moments(), np.zeros(2)
        for pairs, both in self.pieces.map(_expected, _Parameters((forward, backward), law, agreement)):
            if agreement:
                _add(new, pairs, both[0].posteriors.links, 0, both=True)
            for d, part in enumerate(both):
                if not agreement:
                    _add(new, pairs, part.posteriors.links, d)
                tokens, starts = (pairs.source, pairs.source_starts) if d else (pairs.target, pairs.target_starts)
                translation.add_null_counts(tokens[starts[0] : starts[-1]], part.posteriors.nulls, new.nulls[d])
                likelihoods[d] += part.posteriors.likelihood
                moments[d] += part.moments
        if agreement:
            self._agree(new)
        lengths = self.text.lengths
        self.counts, self.law = new, law.learned(moments, lengths, old is None)
        return likelihoods / lengths.sum(axis=0)[::-1]

    def state(self) -> dict[str, np.ndarray]:
        """The counts and the law."""
        assert self.counts is not None and self.counts.singles is not None
        nulls, totals = self.counts.nulls, self.counts.singles.totals
        return {
            **self.law.arrays(),
            "couples": self.counts.couples,
            "singles": self.counts.singles.counts,
            "totals/forward": totals[0],
            "totals/backward": totals[1],
            "nulls/forward": nulls[0],
            "nulls/backward": nulls[1],
        }

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Take back what ``state`` gave."""
        wanted = self.text.no_counts()
        assert wanted.singles is not None
        nulls, totals = ((arrays[f"{name}/forward"], arrays[f"{name}/backward"]) for name in ("nulls", "totals"))
        found = arrays["couples"], arrays["singles"], *nulls, *totals
        places = wanted.couples, wanted.singles.counts, *wanted.nulls, *wanted.singles.totals
        if [array.shape for array in found] != [array.shape for array in places]:
            raise ValueError("it does not fit the text")
        for place, array in zip(places, found, strict=True):
            place[:] = array
        self.counts, self.law = wanted, self.law.restored(arrays)

    def _emptied(self, old: Counts | None) -> Counts:
        """Counts to add to, in the arrays of the old ones, which nobody needs any more once there are tables. Singles
        keep their counts, each until its only piece is counted."""
        if old is None:
            return self.text.no_counts()
        base = self.before
        links = np.empty_like(old.couples) if old is base else old.couples
        links[:] = 0.0 if base is None else base.couples
        nulls = [np.zeros_like(old.nulls[d]) if base is None else base.nulls[d].copy() for d in (0, 1)]
        singles = old.singles
        if singles is not None:
            counts = singles.counts.copy() if old is base else singles.counts
            singles = Singles(counts, (np.zeros_like(singles.totals[0]), np.zeros_like(singles.totals[1])))
        return Counts(links, (nulls[0], nulls[1]), singles)

    def _agree(self, counts: Counts) -> None:
        """Give direction 1 the links of direction 0."""
        if self.before is not None:
            counts.couples[1] += counts.couples[0] - self.before.couples[0]
        else:
            counts.couples[1] = counts.couples[0]
        if counts.singles is not None:
            counts.singles.counts[1] = counts.singles.counts[0]


def _add(counts: Counts, pairs: Pairs, links: np.ndarray, direction: int, both: bool = False) -> None:
    """Add the links of a piece to one direction (``both``: and already to the totals of the other)."""
    couples = counts.couples[direction]
    if counts.singles is None:
        translation.add_counts(pairs.cells, links, couples)
        return
    singles, (by_source, by_target) = counts.singles.counts[direction], counts.singles.totals
    translation.add_all_counts(
        pairs, links, couples, singles, both or direction == 0, by_source, both or direction == 1, by_target
    )
