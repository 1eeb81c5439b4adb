"""The most probable alignments of sentence pairs, several of them, in one direction.

Model 1 and the diagonal model choose the state of each output by itself, so the probabilities of links are all there is
to know; the hidden Markov model and the log-linear model are chains, and have their best paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from corpuscle.align.counts import Posteriors, TranslationTables, part_of
from corpuscle.align.distortion import MAX_JUMP, Jumps, widened
from corpuscle.align.kernels.cooccurrence import Directed, Pairs
from corpuscle.align.kernels.loglinear import LONGEST
from corpuscle.engine.dp.chains import Chain, k_best
from corpuscle.errors import SettingError, warn
from corpuscle.text.alignments import AlignmentMatrix
from corpuscle.text.bitext import Bitext

if TYPE_CHECKING:
    from corpuscle.align.base import Aligner


class Ranked(NamedTuple):
    """An alignment: ``links`` int32 (n_links, 2), source and target, sorted; ``probability`` given both sentences."""

    links: np.ndarray
    probability: float


def warn_of_long_pairs(bitext: Bitext) -> None:
    """Say which sentence pairs are too long for a table of all steps."""
    long = int((np.maximum(bitext.source.lengths, bitext.target.lengths) > LONGEST).sum())
    if long:
        warn(f"{long:,} sentence pairs have a side of more than {LONGEST:,} words and get no links")


def n_best(model: Aligner, bitext: Bitext, k: int, direction: int) -> Iterator[list[Ranked]]:
    """The ``k`` most probable alignments of every sentence pair, best first, fewer where there are no more.

    Direction 0 links every target word to a source word or to nothing, direction 1 the other way round. A pair with a
    side of more than ``LONGEST`` words has one alignment, without links.
    """
    if not 1 <= k <= 10_000:
        raise SettingError(f"the number of best alignments is between 1 and 10000, not {k}")
    if not model.limited:  # else it says so itself
        warn_of_long_pairs(bitext)
    for ranked in model.map(bitext, _ranked_pairs, direction, k):
        yield from ranked


def _ranked_pairs(model: Aligner, pairs: Any, direction: int, k: int) -> list[list[Ranked]]:
    return [_ranked(paths, scores, direction) for paths, scores in model.best_paths(pairs, direction, k)]


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


def single_pairs(pairs: Pairs) -> Iterator[Pairs]:
    """Every sentence pair by itself."""
    for pair in range(len(pairs.cell_starts) - 1):
        yield part_of(pairs, pair, pair + 1)


def _by_output(cells: np.ndarray, pair: Directed) -> np.ndarray:
    """Values of the cells of a sentence pair, (n_outputs, n_states)."""
    m, n = len(pair.states), len(pair.outputs)
    return cells.reshape(n, m) if pair.swap else cells.reshape(m, n).T


def _has_links(pair: Directed) -> bool:
    lengths = len(pair.states), len(pair.outputs)
    return min(lengths) > 0 and max(lengths) <= LONGEST


def independent_best(found: Posteriors, pair: Directed, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The best alignments of one sentence pair whose outputs choose their states by themselves: states (k, n_outputs)
    from 0, -1 for the null word, and log-probabilities (k,)."""
    if not _has_links(pair):
        return _no_links(pair)
    m = len(pair.states)
    emission = np.column_stack([found.nulls, _by_output(found.links, pair)]).astype(np.float64)
    none = np.zeros(m + 1)
    with np.errstate(divide="ignore"):
        logs = np.log(emission / emission.sum(axis=1, keepdims=True))
    return _chain_best(Chain(none, logs, np.zeros((1, m + 1, m + 1)), none), np.arange(-1, m), k)


def jump_best(
    pair: Directed, tables: TranslationTables, law: Jumps, likelihood: float, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best alignments of one sentence pair under the hidden Markov model, as ``independent_best`` gives them.

    States of the chain: null copies of the positions 0..m, then the positions 1..m.
    """
    if not _has_links(pair):
        return _no_links(pair)
    m = len(pair.states)
    null = tables.null[pair.outputs]
    from_words = _by_output(tables.couples[pair.cells], pair)
    emission = np.hstack([np.repeat(null[:, None], m + 1, axis=1), from_words]).astype(np.float64)
    width = max(m + 1, MAX_JUMP)
    wide = widened(law.jumps[int(pair.swap)], width)
    counts = wide[width + np.arange(1, m + 1) - np.arange(m + 1)[:, None]]
    jumps = (1 - law.p0) * ((1 - law.rho) * counts / counts.sum(axis=1, keepdims=True) + law.rho / m)
    steps = np.hstack([law.p0 * np.eye(m + 1), jumps])
    with np.errstate(divide="ignore"):
        steps = np.log(np.vstack([steps, steps[1:]]))
        logs = np.log(emission)
    places = np.append(np.full(m + 1, -1), np.arange(m))
    paths, scores = _chain_best(Chain(steps[0], logs, steps[None], np.zeros(2 * m + 1)), places, k)
    return paths, scores - likelihood


def _no_links(pair: Directed) -> tuple[np.ndarray, np.ndarray]:
    """The only alignment of a pair that has no links."""
    return np.full((1, len(pair.outputs)), -1, np.int32), np.zeros(1)


def _chain_best(chain: Chain, places: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The best paths of a chain, as the ``places`` of its states, and their scores."""
    n = len(chain.emission)
    paths, scores = np.zeros((k, n), np.int32), np.full(k, -np.inf)
    k_best(n, len(places), chain, k, paths, scores)
    return places[paths].astype(np.int32), scores


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
