"""A nested model applied to text: best segmentations, total probabilities, drawn segmentations. Nothing is written to
the model, so threads may share it. A sentence of probability 0 (only with a damaged file) is cut at every letter that
allows it.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, with the best word in place of a drawn one (Viterbi).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.engine.restaurants.pool import NONE
from corpuscle.random import Random
from corpuscle.segment.kernels.lattice import FORBIDDEN, Lattice, draw, fill, forward, last_lengths, new_lattice, trace
from corpuscle.segment.kernels.model import Nested

_CHUNK, _DRAWN = 1 << 14, 1 << 18
"""Letters that one call of a kernel cuts, or draws boundaries for, about."""
_MOST = 1e290
"""Above this no weight is told from infinity: a damaged model may have factors that overflow."""


class SentenceChunk(NamedTuple):
    """Consecutive sentences for one worker: the number of the chunk, letters int32 (n,), where each sentence begins,
    int64 (sentences + 1,), and what is known of the gaps before letters, uint8 (n,), see ``lattice``."""

    number: int
    text: np.ndarray
    starts: np.ndarray
    gaps: np.ndarray


@kernel(bare=True)
def _apply(nested, lattice, chunk, semiring, draws, cuts, counts, logs, stream):
    starts = chunk.starts
    for sentence in range(len(starts) - 1):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0:
            continue
        fill(nested, lattice, chunk.text, begin, n, chunk.gaps)
        logs[sentence] = forward(nested.words, lattice, n, semiring)
        for _ in range(1 if semiring == MAX else draws):
            if not math.isfinite(logs[sentence]):
                for i in range(begin, begin + n):
                    cuts[i] = i == begin or chunk.gaps[i] != FORBIDDEN
            elif semiring == MAX:
                trace(lattice, n, cuts, begin)
            else:
                draw(nested.words, lattice, n, cuts, begin, stream)
            for i in range(begin, begin + n):
                counts[i] += cuts[i]


def chunks(text: np.ndarray, starts: np.ndarray, gaps: np.ndarray, draws: int = 0) -> list[SentenceChunk]:
    """A text in chunks of a size that is worth a call, to be cut, or to draw N segmentations each (``draws``)."""
    found = []
    bounds = chunk_bounds(starts, max(1, _DRAWN // draws) if draws else _CHUNK).tolist()
    for number, (first, last) in enumerate(pairwise(bounds if len(bounds) > 1 else [0, 0])):
        letters = slice(int(starts[first]), int(starts[last]))
        found.append(SentenceChunk(number, text[letters], starts[first : last + 1] - starts[first], gaps[letters]))
    return found


def applied(
    chunk: SentenceChunk, nested: Nested, longest: int, semiring: int, draws: int = 0, seed: int = 1, sample: int = 0
) -> tuple[Lattice, np.ndarray, np.ndarray]:
    """The lattice of the last sentence; how often a word begins at each letter in the best segmentation (MAX), or in N
    drawn ones (``draws``), int64 (letters,); and the log probability of every sentence, its end included: of the best
    segmentation, or of all together (SUM), float64 (sentences,)."""
    lattice = new_lattice(int(np.diff(chunk.starts).max(initial=0)), longest, len(nested.words.discounts))
    cuts, counts = np.zeros(len(chunk.text), np.uint8), np.zeros(len(chunk.text), np.int64)
    logs = np.zeros(len(chunk.starts) - 1)
    stream = Random(seed, "nested.draws", sample, chunk.number).array()
    _apply(nested, lattice, chunk, semiring, draws, cuts, counts, logs, stream)
    return lattice, counts, logs


def final_states(nested: Nested, text: np.ndarray, gaps: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """The last words of all segmentations of some letters (at least one): their numbers, int64 (states, order - 1), the
    most recent last, -1 for an unknown word; and the probability of all segmentations that end so, up to a common
    factor, float64 (states,). An unknown word if no segmentation has any probability."""
    chunk = SentenceChunk(0, np.ascontiguousarray(text, np.int32), np.array([0, len(text)]), np.ascontiguousarray(gaps))
    lattice, n = applied(chunk, nested, longest, SUM)[0], len(text)
    states, weights = [], []
    for k in range(1, last_lengths(n, longest)[1] + 1):
        first, last = last_lengths(n - k, longest) if lattice.total.shape[2] > 1 else (0, 0)
        for j in range(first, last + 1):
            if lattice.total[n, k, j] > 0.0:
                states.append([lattice.word[n - k, j], lattice.word[n, k]])
                weights.append(lattice.total[n, k, j])
    back = len(nested.words.discounts) - 1
    if not weights:
        states, weights = [[np.int32(NONE), np.int32(NONE)]], [1.0]
    return np.array(states, np.int64)[:, 2 - back :], np.minimum(weights, _MOST)
