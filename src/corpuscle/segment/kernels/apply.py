"""A nested model applied to text: best segmentations, total probabilities, drawn segmentations; nothing is written to
the model, so threads may share it.

A sentence that the model cannot make at all (only a damaged file does that) is cut at every letter that allows it.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, with the best word in place of a drawn one (Viterbi).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.random import Random
from corpuscle.segment.kernels.lattice import FORBIDDEN, Lattice, draw, fill, forward, last_lengths, new_lattice, trace
from corpuscle.segment.kernels.model import Nested

_CHUNK, _DRAWN = 1 << 14, 1 << 18
"""Letters that one call of a kernel cuts, or draws boundaries for, about."""


@part(bare=True)
def _cut_everywhere(cuts, gaps, first, n):
    for i in range(first, first + n):
        cuts[i] = i == first or gaps[i] != FORBIDDEN


class SentenceChunk(NamedTuple):
    """Consecutive sentences as one worker gets them: their number among all chunks, letters int32 (n,), where each
    sentence begins, int64 (sentences + 1,), and what is known of the gaps before letters, uint8 (n,), see
    ``lattice``."""

    number: int
    text: np.ndarray
    starts: np.ndarray
    gaps: np.ndarray


@kernel(bare=True)
def _apply(nested, lattice, chunk, semiring, cuts, logs):
    """The log probability of every sentence: of all segmentations, or of the best one, which goes to ``cuts``."""
    starts = chunk.starts
    for sentence in range(len(starts) - 1):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0:
            continue
        fill(nested, lattice, chunk.text, begin, n, chunk.gaps)
        logs[sentence] = forward(nested.words, lattice, n, semiring)
        if semiring == MAX:
            if math.isfinite(logs[sentence]):
                trace(lattice, n, cuts, begin)
            else:
                _cut_everywhere(cuts, chunk.gaps, begin, n)


@kernel(bare=True)
def _draw(nested, lattice, chunk, cuts, draws, counts, stream):
    """``counts`` += how often a word begins at each letter in so many drawn segmentations."""
    starts = chunk.starts
    for sentence in range(len(starts) - 1):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0:
            continue
        fill(nested, lattice, chunk.text, begin, n, chunk.gaps)
        possible = math.isfinite(forward(nested.words, lattice, n, np.int64(SUM)))
        for _ in range(draws):
            if possible:
                draw(nested.words, lattice, n, cuts, begin, stream)
            else:
                _cut_everywhere(cuts, chunk.gaps, begin, n)
            for i in range(begin, begin + n):
                counts[i] += cuts[i]


def chunks(text: np.ndarray, starts: np.ndarray, gaps: np.ndarray, draws: int = 0) -> list[SentenceChunk]:
    """A text in chunks of a size that is worth a call, to be cut, or (``draws``) to draw so many segmentations."""
    found = []
    bounds = chunk_bounds(starts, max(1, _DRAWN // draws) if draws else _CHUNK).tolist()
    for number, (first, last) in enumerate(pairwise(bounds if len(bounds) > 1 else [0, 0])):
        letters = slice(int(starts[first]), int(starts[last]))
        found.append(SentenceChunk(number, text[letters], starts[first : last + 1] - starts[first], gaps[letters]))
    return found


def _lattice(nested: Nested, chunk: SentenceChunk, longest: int) -> Lattice:
    return new_lattice(int(np.diff(chunk.starts).max(initial=0)), longest, len(nested.words.discounts))


def applied(chunk: SentenceChunk, nested: Nested, longest: int, semiring: int) -> tuple[np.ndarray, np.ndarray]:
    """The log probability of every sentence, its end included: of all its segmentations together (SUM), or of the best
    (MAX), which comes first: uint8 (letters,), of SUM without letters; float64 (sentences,)."""
    cuts = np.zeros(len(chunk.text) if semiring == MAX else 0, np.uint8)
    logs = np.zeros(len(chunk.starts) - 1)
    _apply(nested, _lattice(nested, chunk, longest), chunk, semiring, cuts, logs)
    return cuts, logs


def final_states(nested: Nested, text: np.ndarray, gaps: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """The last words of all segmentations of some letters (at least one): their numbers, int64 (states, words that the
    model looks back), the most recent last, -1 for a word that it does not know; and weights in proportion to the
    probability of all segmentations that end so, float64 (states,)."""
    chunk = SentenceChunk(0, np.ascontiguousarray(text, np.int32), np.array([0, len(text)]), np.ascontiguousarray(gaps))
    lattice, n = _lattice(nested, chunk, longest), len(text)
    _apply(nested, lattice, chunk, SUM, np.zeros(0, np.uint8), np.zeros(1))
    states, weights = [], []
    for k in range(1, last_lengths(n, longest)[1] + 1):
        first, last = last_lengths(n - k, longest) if lattice.total.shape[2] > 1 else (0, 0)
        for j in range(first, last + 1):
            if lattice.total[n, k, j] > 0.0:
                states.append([lattice.word[n - k, j], lattice.word[n, k]])
                weights.append(lattice.total[n, k, j])
    back = len(nested.words.discounts) - 1
    return np.array(states, np.int64)[:, 2 - back :], np.array(weights)


def drawn_boundaries(
    chunk: SentenceChunk, nested: Nested, longest: int, draws: int, seed: int, sample: int
) -> np.ndarray:
    """How often a word begins at each letter in so many segmentations drawn from the model: int64 (letters,)."""
    cuts, counts = np.zeros(len(chunk.text), np.uint8), np.zeros(len(chunk.text), np.int64)
    stream = Random(seed, "nested.draws", sample, chunk.number).array()
    _draw(nested, _lattice(nested, chunk, longest), chunk, cuts, draws, counts, stream)
    return counts
