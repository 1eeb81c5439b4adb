"""Expectation and maximisation: the loop that learns Model 1, the diagonal model and the hidden Markov model.

Sentence pairs are cut into chunks by their number of cells. Workers compute the link probabilities of both directions
of a chunk; the results come back in order and are added to the counts by one thread, so the outcome does not depend on
the number of workers, nor memory on the number of chunks.

With agreement (Liang, Taskar and Klein 2006) the counts of links of both directions are the products of their
probabilities: each direction learns from what the other believes too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np

from corpuscle.align.base import MAX_JUMP, Posteriors, Tables, tables_from
from corpuscle.compiled import frozen
from corpuscle.engine import jumps as jumps_engine
from corpuscle.engine import translation
from corpuscle.engine.cooccurrence import Couples, Pairs
from corpuscle.scale import Workers, chunks_of

__all__ = ["JUMPS", "Counts", "Evidence", "Setting", "chunks", "folded", "iterate", "link_posteriors", "widened"]

JUMPS = 2
"""The third prior of positions, besides ``translation.UNIFORM`` and ``translation.DIAGONAL``."""

_CELLS_A_CHUNK = 200_000
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


class Counts(NamedTuple):
    """What has been counted so far: ``couples`` float64 (2, n_couples), ``nulls`` two float64 arrays by output type,
    ``strengths`` float64 (2,), ``jumps`` float64 (2, 2 MAX_JUMP + 1)."""

    couples: np.ndarray
    nulls: tuple[np.ndarray, np.ndarray]
    strengths: np.ndarray
    jumps: np.ndarray


class Evidence(NamedTuple):
    """What one direction of a chunk says."""

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
    swap = direction == 1
    outputs = pairs.source_starts if swap else pairs.target_starts
    states = pairs.target_starts if swap else pairs.source_starts
    links = np.empty(int(pairs.cell_starts[last] - pairs.cell_starts[first]), np.float32)
    nulls = np.ones(int(outputs[last] - outputs[first]), np.float32)
    couples, null = frozen(tables.couples, np.float32), frozen(tables.null, np.float32)
    if prior == JUMPS:
        longest = int(np.diff(states[first : last + 1]).max(initial=0))
        wide = widened(jumps, max(longest + 1, MAX_JUMP))
        counts = np.zeros(len(wide))
        likelihood = jumps_engine.jump_posteriors(
            pairs, first, last, swap, couples, null, wide, p0, rho, links, nulls, counts
        )
        return Evidence(Posteriors(links, nulls, likelihood), 0.0, 0.0, folded(counts))
    likelihood, sum_h, mass = translation.posteriors(
        pairs, first, last, swap, couples, null, prior, strength, p0, links, nulls
    )
    return Evidence(Posteriors(links, nulls, likelihood), sum_h, mass, None)


def chunks(pairs: Pairs) -> list[tuple[int, int]]:
    """Where the sentence pairs are cut: consecutive (first, last)."""
    bounds = chunks_of(np.diff(pairs.cell_starts), _CELLS_A_CHUNK).tolist()
    return list(pairwise(bounds))


def _even_tables(n_couples: int, n_outputs: int) -> Tables:
    """Everything generates everything alike."""
    share = np.float32(1.0 / n_outputs)
    return Tables(np.full(n_couples + 1, share), np.full(n_outputs, share))


def iterate(
    pairs: Pairs,
    couples: Couples,
    before: Counts | None,
    setting: Setting,
    climb: bool,
    base: Counts | None,
    pool: Workers,
    start: Counts,
) -> tuple[Counts, np.ndarray]:
    """One iteration: the new counts, and the log-likelihood of both directions under the old ones, float64 (2,).

    ``before`` None is the uniform start, with positions from ``start``; new counts take the place of the old ones.
    ``climb``: whether the pull of the diagonal is learned in this iteration. ``base`` are counts that were there before
    any of these sentences (or None), and stay.
    """
    old = start if before is None else before
    tables = [
        _even_tables(old.couples.shape[1], len(old.nulls[d]))
        if before is None
        else tables_from(couples, old.couples[d], old.nulls[d], d, setting.alpha, setting.bayes)
        for d in (0, 1)
    ]
    links = np.empty_like(old.couples) if old is base else old.couples
    links[:] = 0.0 if base is None else base.couples
    new = Counts(
        links,
        cast(
            tuple[np.ndarray, np.ndarray],
            tuple(np.zeros_like(old.nulls[d]) if base is None else base.nulls[d].copy() for d in (0, 1)),
        ),
        old.strengths.copy(),
        np.full_like(old.jumps, 1e-3) if base is None else base.jumps + 1e-3,
    )

    def evidence(bounds: tuple[int, int]) -> list[Evidence]:
        first, last = bounds
        return [
            link_posteriors(
                pairs, first, last, d, tables[d], setting.prior, setting.p0, setting.rho, old.strengths[d], old.jumps[d]
            )
            for d in (0, 1)
        ]

    likelihoods, sum_h, mass = np.zeros(2), np.zeros(2), np.zeros(2)
    bounds = chunks(pairs)
    for (first, last), both in zip(bounds, pool.scatter(bounds).map(evidence), strict=True):
        cells = pairs.cells[pairs.cell_starts[first] : pairs.cell_starts[last]]
        if setting.agreement:
            both[0].posteriors.links[:] *= both[1].posteriors.links
            translation.add_counts(cells, both[0].posteriors.links, new.couples[0])
        for d, part in enumerate(both):
            if not setting.agreement:
                translation.add_counts(cells, part.posteriors.links, new.couples[d])
            tokens, starts = (pairs.target, pairs.target_starts) if d == 0 else (pairs.source, pairs.source_starts)
            translation.add_null_counts(tokens[starts[first] : starts[last]], part.posteriors.nulls, new.nulls[d])
            likelihoods[d] += part.posteriors.likelihood
            sum_h[d] += part.sum_h
            mass[d] += part.mass
            if part.jumps is not None:
                new.jumps[d] += part.jumps
    if setting.agreement:
        if base is not None:
            new.couples[1] += new.couples[0] - base.couples[0]
        else:
            new.couples[1] = new.couples[0]
    if setting.prior != JUMPS:
        new.jumps[:] = old.jumps
    if climb and setting.prior == translation.DIAGONAL:
        for d in (0, 1):
            new.strengths[d] = _climbed(pairs, d, old.strengths[d], sum_h[d] / mass[d])
    return new, likelihoods


def _climbed(pairs: Pairs, direction: int, strength: float, mean_h: float) -> float:
    """The pull of the diagonal after some steps towards the mean of h that the links have."""
    lengths = [np.diff(pairs.source_starts), np.diff(pairs.target_starts)]
    shapes, counts = np.unique(np.column_stack(lengths[::-1] if direction else lengths), axis=0, return_counts=True)
    for _ in range(_STEPS):
        strength += _RATE * (mean_h - translation.expected_h(shapes, counts, strength))
        strength = min(max(strength, _WEAKEST), _STRONGEST)
    return float(strength)
