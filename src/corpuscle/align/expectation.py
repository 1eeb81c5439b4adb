"""Expectation and maximisation: the loop that learns Model 1, the diagonal model and the hidden Markov model.

A text is walked through in pieces. Workers compute the link probabilities of both directions of a piece; the results
come back in order and are added to the counts by one thread, so the outcome does not depend on the number of workers,
nor memory on the number of pieces.

With agreement (Liang, Taskar and Klein 2006) the counts of links of both directions are the products of their
probabilities: each direction learns from what the other believes too.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from corpuscle.align.base import MAX_JUMP, Posteriors, Tables, references_from, tables_from
from corpuscle.align.kernels import jumps as jumps_engine
from corpuscle.align.kernels import translation
from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.align.pieces import Filled, Text, Walk
from corpuscle.compiled import frozen
from corpuscle.scale import Workers

__all__ = [
    "JUMPS",
    "Counts",
    "Evidence",
    "Setting",
    "Singles",
    "Translation",
    "chunks",
    "folded",
    "iterate",
    "link_posteriors",
    "no_singles",
    "values_of",
    "widened",
]

JUMPS = 2
"""The third prior of positions, besides ``translation.UNIFORM`` and ``translation.DIAGONAL``."""

_STEPS, _RATE = 8, 20.0  # how the pull of the diagonal climbs in each iteration
_WEAKEST, _STRONGEST = 0.1, 14.0


class Setting(NamedTuple):
    """What an iteration needs to know: the prior of positions, p0 and rho of the model, alpha and whether the table is
    learned by variational Bayes, whether the directions agree."""

    prior: int
    p0: float
    rho: float
    alpha: float
    bayes: bool
    agreement: bool


class Singles(NamedTuple):
    """Singles, counted: ``counts`` float32 (2, n_singles), by direction (uint8 if they are links, not expectations);
    ``totals`` two float64 arrays, their sums by the type that generates (source types in direction 0)."""

    counts: np.ndarray
    totals: tuple[np.ndarray, np.ndarray]


def no_singles(text: Text) -> Singles:
    """Singles that have not been counted yet."""
    counts = np.zeros((2, int(text.first_singles[-1])), np.float32)
    return Singles(counts, (np.zeros(text.sizes[1]), np.zeros(text.sizes[0])))


class Counts(NamedTuple):
    """What has been counted so far: ``couples`` float64 (2, n_couples), ``nulls`` two float64 arrays by output type,
    ``strengths`` float64 (2,), ``jumps`` float64 (2, 2 MAX_JUMP + 1); ``singles`` where not all couples are shared."""

    couples: np.ndarray
    nulls: tuple[np.ndarray, np.ndarray]
    strengths: np.ndarray
    jumps: np.ndarray
    singles: Singles | None = None


class Evidence(NamedTuple):
    """What one direction of a piece says."""

    posteriors: Posteriors
    sum_h: float
    mass: float
    jumps: np.ndarray | None


def widened(jumps: np.ndarray, width: int) -> np.ndarray:
    """Counts of jumps for all distances up to ``width``; those beyond the last bucket share its count."""
    distances = np.clip(np.arange(-width, width + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    return frozen(jumps[distances], np.float64)


def folded(wide: np.ndarray) -> np.ndarray:
    """The inverse of ``widened`` for expected counts."""
    width = len(wide) // 2
    buckets = np.clip(np.arange(-width, width + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    return np.bincount(buckets, wide, 2 * MAX_JUMP + 1)


def link_posteriors(
    pairs: Pairs,
    first: int,
    last: int,
    direction: int,
    tables: Tables,
    prior: int,
    p0: float,
    rho: float,
    strength: float,
    jumps: np.ndarray,
) -> Evidence:
    """Link probabilities of sentence pairs first..last-1 under one of the three priors."""
    links = values_of(tables.couples, pairs, first, last)
    return _evidence(pairs, first, last, direction, links, tables.null, prior, p0, rho, strength, jumps)


def values_of(table: np.ndarray, pairs: Pairs, first: int, last: int) -> np.ndarray:
    """The translation probabilities of the cells of some pairs, float32, all of which are in the table."""
    return table[pairs.cells[pairs.cell_starts[first] : pairs.cell_starts[last]]]


def _evidence(
    pairs: Pairs,
    first: int,
    last: int,
    direction: int,
    links: np.ndarray,
    null: np.ndarray,
    prior: int,
    p0: float,
    rho: float,
    strength: float,
    jumps: np.ndarray,
) -> Evidence:
    """Link probabilities in the place of the translation probabilities ``links``."""
    swap = direction == 1
    outputs = pairs.source_starts if swap else pairs.target_starts
    states = pairs.target_starts if swap else pairs.source_starts
    nulls = np.ones(int(outputs[last] - outputs[first]), np.float32)
    null = frozen(null, np.float32)
    if prior == JUMPS:
        longest = int(np.diff(states[first : last + 1]).max(initial=0))
        wide = widened(jumps, max(longest + 1, MAX_JUMP))
        counts = np.zeros(len(wide))
        law = jumps_engine.Law(wide, null, p0, rho)
        likelihood = jumps_engine.jump_posteriors(pairs, first, last, swap, law, links, nulls, counts)
        return Evidence(Posteriors(links, nulls, likelihood), 0.0, 0.0, folded(counts))
    likelihood, sum_h, mass = translation.posteriors(pairs, first, last, swap, null, prior, strength, p0, links, nulls)
    return Evidence(Posteriors(links, nulls, likelihood), sum_h, mass, None)


def chunks(pairs: Pairs) -> list[tuple[int, int]]:
    """Where sentence pairs whose cells are kept are cut: consecutive (first, last)."""
    return Filled(pairs).bounds


class Translation:
    """The translation probabilities of one direction, of all couples of a text.

    Those of shared couples are in a table; those of singles are worked out from their counts when they are needed.
    ``counts`` None: everything generates everything alike.
    """

    def __init__(
        self, walk: Walk, couples: Couples, counts: Counts | None, direction: int, setting: Setting, types: int
    ):
        self.swap, self.setting, self.counts = direction == 1, setting, counts
        if counts is None:
            self.share = np.float32(1.0 / types)
            self.null = np.full(types, self.share)
            return
        start = None
        if counts.singles is not None:
            assert walk.supports is not None
            self.singles = counts.singles.counts[direction]
            start = counts.singles.totals[direction], walk.supports[direction]
        self.references = references_from(couples, counts.couples[direction], direction, *setting[3:5], start)
        self.table, self.null = tables_from(
            couples, counts.couples[direction], counts.nulls[direction], direction, *setting[3:5], self.references
        )

    def values(self, piece: Pairs) -> np.ndarray:
        """Those of all cells of a piece, float32."""
        if self.counts is None:
            return np.full(len(piece.cells), self.share)
        if self.counts.singles is None:
            return self.table[piece.cells]
        values = np.empty(len(piece.cells), np.float32)
        _, _, _, alpha, bayes, _ = self.setting
        translation.translate(piece, self.swap, self.table, self.singles, self.references, alpha, bayes, values)
        return values


def iterate(
    text: Walk | Pairs,
    couples: Couples,
    before: Counts | None,
    setting: Setting,
    climb: bool,
    base: Counts | None,
    pool: Workers,
    start: Counts,
) -> tuple[Counts, np.ndarray]:
    """One iteration: the new counts, and the log-likelihood of both directions under the old ones, float64 (2,).

    ``text``: a walk, or pairs whose cells are kept. ``before`` None is the uniform start, with positions from
    ``start``; new counts take the place of the old ones. ``climb``: whether the pull of the diagonal is learned in this
    iteration. ``base`` are counts that were there before any of these sentences (or None), and stay.
    """
    walk: Walk = Filled(text) if isinstance(text, Pairs) else text
    old = start if before is None else before
    laws = [Translation(walk, couples, before, d, setting, len(old.nulls[d])) for d in (0, 1)]
    new = _emptied(old, base)

    def evidence(number: int) -> tuple[Pairs, list[Evidence]]:
        piece = walk.piece(number)
        last = len(piece.source_starts) - 1
        where = [(old.strengths[d], old.jumps[d]) for d in (0, 1)]
        return piece, [
            _evidence(piece, 0, last, d, laws[d].values(piece), laws[d].null, *setting[:3], *where[d]) for d in (0, 1)
        ]

    likelihoods, sum_h, mass = np.zeros(2), np.zeros(2), np.zeros(2)
    for piece, both in pool.scatter(range(walk.pieces)).map(evidence):
        if setting.agreement:
            both[0].posteriors.links[:] *= both[1].posteriors.links
            _add(new, piece, both[0].posteriors.links, 0, both=True)
        for d, part in enumerate(both):
            if not setting.agreement:
                _add(new, piece, part.posteriors.links, d)
            tokens, starts = (piece.target, piece.target_starts) if d == 0 else (piece.source, piece.source_starts)
            translation.add_null_counts(tokens[starts[0] : starts[-1]], part.posteriors.nulls, new.nulls[d])
            likelihoods[d] += part.posteriors.likelihood
            sum_h[d] += part.sum_h
            mass[d] += part.mass
            if part.jumps is not None:
                new.jumps[d] += part.jumps
    if setting.agreement:
        _agree(new, base)
    if setting.prior != JUMPS:
        new.jumps[:] = old.jumps
    if climb and setting.prior == translation.DIAGONAL:
        for d in (0, 1):
            new.strengths[d] = _climbed(walk, d, old.strengths[d], sum_h[d] / mass[d])
    return new, likelihoods


def _emptied(old: Counts, base: Counts | None) -> Counts:
    """Counts to add to, in the arrays of the old ones, which nobody needs any more once there are tables. Singles keep
    their counts, each until its only piece is counted."""
    links = np.empty_like(old.couples) if old is base else old.couples
    links[:] = 0.0 if base is None else base.couples
    nulls = [np.zeros_like(old.nulls[d]) if base is None else base.nulls[d].copy() for d in (0, 1)]
    singles = None
    if old.singles is not None:
        counts = old.singles.counts.copy() if old is base else old.singles.counts
        totals = tuple(np.zeros_like(each) for each in old.singles.totals)
        singles = Singles(counts, cast(tuple[np.ndarray, np.ndarray], totals))
    jumps = np.full_like(old.jumps, 1e-3) if base is None else base.jumps + 1e-3
    return Counts(links, (nulls[0], nulls[1]), old.strengths.copy(), jumps, singles)


def _add(counts: Counts, piece: Pairs, links: np.ndarray, direction: int, both: bool = False) -> None:
    """Add the links of a piece to one direction (``both``: and already to the totals of the other)."""
    couples = counts.couples[direction]
    if counts.singles is None:
        translation.add_counts(piece.cells, links, couples)
        return
    singles, (by_source, by_target) = counts.singles.counts[direction], counts.singles.totals
    translation.add_all_counts(
        piece, links, couples, singles, both or direction == 0, by_source, both or direction == 1, by_target
    )


def _agree(counts: Counts, base: Counts | None) -> None:
    """Give direction 1 the links of direction 0."""
    if base is not None:
        counts.couples[1] += counts.couples[0] - base.couples[0]
    else:
        counts.couples[1] = counts.couples[0]
    if counts.singles is not None:
        counts.singles.counts[1] = counts.singles.counts[0]


def _climbed(walk: Walk, direction: int, strength: float, mean_h: float) -> float:
    """The pull of the diagonal after some steps towards the mean of h that the links have."""
    lengths = walk.lengths
    longest = int(lengths.max(initial=0)) + 1
    states, outputs = lengths[:, direction], lengths[:, 1 - direction]
    keys, counts = np.unique(states * longest + outputs, return_counts=True)
    shapes = np.column_stack(np.divmod(keys, longest))
    for _ in range(_STEPS):
        strength += _RATE * (mean_h - translation.expected_h(shapes, counts, strength))
        strength = min(max(strength, _WEAKEST), _STRONGEST)
    return float(strength)
