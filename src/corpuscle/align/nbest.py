"""The most probable alignments of sentence pairs, several of them, in one direction.

Model 1 and the diagonal model choose the state of each output by itself, so the probabilities of links are all there is
to know; the hidden Markov model and the log-linear model are chains, and have their best paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.base import MAX_JUMP, Aligner
from corpuscle.align.expectation import widened
from corpuscle.align.kernels.cooccurrence import Pairs
from corpuscle.align.kernels.loglinear import LONGEST
from corpuscle.align.loglinear import LogLinear
from corpuscle.align.models import HMM, Diagonal, Model1
from corpuscle.engine.dp.chains import Chain, k_best
from corpuscle.errors import SettingError, warn
from corpuscle.text.alignments import AlignmentMatrix
from corpuscle.text.bitext import Bitext

__all__ = ["Ranked", "n_best", "n_best_matrix"]


class Ranked(NamedTuple):
    """An alignment: ``links`` int32 (n_links, 2), source and target, sorted; ``probability`` given both sentences."""

    links: np.ndarray
    probability: float


def n_best(model: Aligner, bitext: Bitext, k: int, direction: int) -> Iterator[list[Ranked]]:
    """The ``k`` most probable alignments of every sentence pair, best first, fewer where there are no more.

    Direction 0 links every target word to a source word or to nothing, direction 1 the other way round. A pair with a
    side of more than ``LONGEST`` words has one alignment, without links.
    """
    if not 1 <= k <= 10_000:
        raise SettingError(f"the number of best alignments is between 1 and 10000, not {k}")
    if type(model) not in (Model1, Diagonal, HMM, LogLinear):  # what builds on them is no chain
        raise SettingError(f"the method {model.method} has no list of best alignments, only their links' probabilities")
    long = int((np.maximum(bitext.source.lengths, bitext.target.lengths) > LONGEST).sum())
    if long and not isinstance(model, LogLinear):  # which says it itself
        warn(f"{long:,} sentence pairs have a side of more than {LONGEST:,} words and get no links")

    def of_piece(pairs: Any) -> list[list[Ranked]]:
        last = len(pairs.source_starts) - 1
        outputs = pairs.source_starts if direction else pairs.target_starts
        found = []
        if isinstance(model, LogLinear):
            paths, scores = model.k_best(pairs, 0, last, direction, k)
            for pair in range(last):
                own = paths[:, outputs[pair] : outputs[pair + 1]]
                found.append(_ranked(own, scores[:, pair], direction))
            return found
        for pair in range(last):
            found.append(_ranked(*_chain_best(model, pairs, pair, direction, k), direction))
        return found

    for piece in model._map(bitext, of_piece):
        yield from piece


def _ranked(paths: np.ndarray, scores: np.ndarray, direction: int) -> list[Ranked]:
    result = []
    for path, score in zip(paths, scores.tolist(), strict=True):
        if score == -np.inf:
            break
        linked = np.flatnonzero(path >= 0)
        links = np.column_stack([path[linked], linked]).astype(np.int32)
        if direction:
            links = links[:, ::-1]
        result.append(Ranked(links[np.lexsort((links[:, 1], links[:, 0]))], min(1.0, float(np.exp(score)))))
    return result


def _chain_best(model: Aligner, pairs: Pairs, pair: int, direction: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions (k, n) from 0, -1 for the null word, and log-probabilities (k,) of one sentence pair."""
    m, n = (int(each[pair + 1] - each[pair]) for each in (pairs.source_starts, pairs.target_starts))
    m, n = (n, m) if direction else (m, n)
    if min(m, n) == 0 or max(m, n) > LONGEST:
        return np.full((1, n), -1, np.int32), np.zeros(1)
    found = model.posteriors(pairs, pair, pair + 1, direction, model.tables_[direction])
    with np.errstate(divide="ignore"):
        if isinstance(model, HMM):
            chain, places = _jump_chain(model, pairs, pair, direction, m, n)
            total = found.likelihood
        else:
            links = found.links.reshape(n, m) if direction else found.links.reshape(m, n).T
            emission = np.column_stack([found.nulls, links]).astype(np.float64)
            none, steps = np.zeros(m + 1), np.zeros((1, m + 1, m + 1))
            chain = Chain(none, np.log(emission / emission.sum(axis=1, keepdims=True)), steps, none)
            places, total = np.arange(-1, m), 0.0
    paths, scores = np.zeros((k, n), np.int32), np.full(k, -np.inf)
    k_best(n, len(places), chain, k, paths, scores)
    return places[paths].astype(np.int32), scores - total


def _jump_chain(model: HMM, pairs: Pairs, pair: int, direction: int, m: int, n: int) -> tuple[Chain, np.ndarray]:
    """The hidden Markov model of a sentence pair: null copies of the positions 0..m, then the positions 1..m."""
    tables = model.tables_[direction]
    cells = pairs.cells[pairs.cell_starts[pair] : pairs.cell_starts[pair + 1]]
    cells = cells.reshape(n, m) if direction else cells.reshape(m, n).T
    tokens, starts = (pairs.source, pairs.source_starts) if direction else (pairs.target, pairs.target_starts)
    null = tables.null[tokens[starts[pair] : starts[pair + 1]]]
    emission = np.hstack([np.repeat(null[:, None], m + 1, axis=1), tables.couples[cells]]).astype(np.float64)
    width = max(m + 1, MAX_JUMP)
    wide = widened(model.jumps_[direction], width)
    counts = wide[width + np.arange(1, m + 1) - np.arange(m + 1)[:, None]]
    law = (1 - model.p0) * ((1 - model.rho) * counts / counts.sum(axis=1, keepdims=True) + model.rho / m)
    steps = np.hstack([model.p0 * np.eye(m + 1), law])
    steps = np.log(np.vstack([steps, steps[1:]]))
    chain = Chain(steps[0], np.log(emission), steps[None], np.zeros(2 * m + 1))
    return chain, np.append(np.full(m + 1, -1), np.arange(m))


def n_best_matrix(model: Aligner, bitext: Bitext, k: int = 10) -> AlignmentMatrix:
    """How often each link is among the ``k`` best alignments, weighed by probability; the mean of both directions."""
    shapes = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    matrices = [np.zeros(shape) for shape in shapes.tolist()]
    for direction in 0, 1:
        for matrix, ranked in zip(matrices, n_best(model, bitext, k, direction), strict=True):
            total = sum(each.probability for each in ranked)
            for each in ranked:
                matrix[each.links[:, 0], each.links[:, 1]] += each.probability / total / 2
    return AlignmentMatrix.from_matrices(np.where(matrix < 0.01, 0, np.minimum(matrix, 1)) for matrix in matrices)
