"""A nested model applied to text: best segmentations, total probabilities, drawn segmentations; nothing is written to
the model, so threads may share it.

A sentence that the model cannot make at all (only a damaged file does that) is cut at every letter that allows it.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, with the best word in place of a drawn one (Viterbi).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel_bare
from corpuscle.engine.dp.semirings import MAX, SUM
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.random import Random
from corpuscle.scale import each
from corpuscle.segment.kernels.lattice import FORBIDDEN, fill, new_lattice
from corpuscle.segment.kernels.model import Nested
from corpuscle.segment.kernels.paths import draw, forward, trace

__all__ = ["best_cuts", "drawn_boundaries", "log_totals"]

_CHUNK, _DRAWN = 1 << 14, 1 << 18
"""Letters that one call of a kernel cuts, or draws boundaries for, about."""


@kernel_bare
def _cut_everywhere(cuts, gaps, first, n):
    for i in range(first, first + n):
        cuts[i] = i == first or gaps[i] != FORBIDDEN


class _Sentences(NamedTuple):
    """``text``: int32 (letters,); ``starts``: int64 (sentences + 1,); ``gaps``: uint8 (letters,), see ``lattice``."""

    text: np.ndarray
    starts: np.ndarray
    gaps: np.ndarray


@kernel_bare
def _apply(nested, lattice, sentences, first, last, semiring, cuts, logs):
    """The log probability of sentences first..last-1: of all segmentations, or of the best one, which goes to
    ``cuts``."""
    starts = sentences.starts
    for sentence in range(first, last):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0:
            continue
        fill(nested, lattice, sentences.text, begin, n, sentences.gaps)
        logs[sentence] = forward(nested.words, lattice, n, semiring)
        if semiring == MAX:
            if math.isfinite(logs[sentence]):
                trace(lattice, n, cuts, begin)
            else:
                _cut_everywhere(cuts, sentences.gaps, begin, n)


@kernel_bare
def _draw(nested, lattice, sentences, first, last, cuts, draws, counts, stream):
    """``counts`` += how often a word begins at each letter in so many drawn segmentations."""
    starts = sentences.starts
    for sentence in range(first, last):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0:
            continue
        fill(nested, lattice, sentences.text, begin, n, sentences.gaps)
        possible = math.isfinite(forward(nested.words, lattice, n, SUM))
        for _ in range(draws):
            if possible:
                draw(nested.words, lattice, n, cuts, begin, stream)
            else:
                _cut_everywhere(cuts, sentences.gaps, begin, n)
            for i in range(begin, begin + n):
                counts[i] += cuts[i]


def _in_threads(
    nested: Nested, starts: np.ndarray, longest: int, workers: int, size: int, work: Callable[..., None]
) -> None:
    """Call ``work(lattice, chunk, first, last)`` for all chunks of sentences, each thread with a lattice of its own."""
    bounds = chunk_bounds(starts, size).tolist()
    room, order = int(np.diff(starts).max(initial=0)), len(nested.words.discounts)
    chunks = [(i, first, last) for i, (first, last) in enumerate(pairwise(bounds))]

    def share(mine: list[tuple[int, int, int]]) -> None:
        lattice = new_lattice(room, longest, order)
        for chunk in mine:
            work(lattice, *chunk)

    workers = max(1, min(workers, len(chunks)))
    each(share, [chunks[i::workers] for i in range(workers)], workers)


def best_cuts(
    nested: Nested, text: np.ndarray, starts: np.ndarray, gaps: np.ndarray, longest: int, workers: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The best segmentation of every sentence, uint8 (letters,), and its log probability, float64 (sentences,)."""
    cuts, logs = np.zeros(len(text), np.uint8), np.zeros(len(starts) - 1)

    def work(lattice, _, first, last):
        _apply(nested, lattice, _Sentences(text, starts, gaps), first, last, MAX, cuts, logs)

    _in_threads(nested, starts, longest, workers, _CHUNK, work)
    return cuts, logs


def log_totals(
    nested: Nested, text: np.ndarray, starts: np.ndarray, gaps: np.ndarray, longest: int, workers: int = 1
) -> np.ndarray:
    """The log probability of every sentence with all its segmentations, its end included: float64 (sentences,)."""
    cuts, logs = np.zeros(1, np.uint8), np.zeros(len(starts) - 1)

    def work(lattice, _, first, last):
        _apply(nested, lattice, _Sentences(text, starts, gaps), first, last, SUM, cuts, logs)

    _in_threads(nested, starts, longest, workers, _CHUNK, work)
    return logs


def drawn_boundaries(
    nested: Nested,
    text: np.ndarray,
    starts: np.ndarray,
    gaps: np.ndarray,
    longest: int,
    draws: int,
    seed: int,
    sample: int,
    workers: int = 1,
) -> np.ndarray:
    """How often a word begins at each letter in so many segmentations drawn from the model: int64 (letters,)."""
    cuts, counts = np.zeros(len(text), np.uint8), np.zeros(len(text), np.int64)

    def work(lattice, chunk, first, last):
        stream = Random(seed, "nested.draws", sample, chunk).array()
        _draw(nested, lattice, _Sentences(text, starts, gaps), first, last, cuts, draws, counts, stream)

    _in_threads(nested, starts, longest, workers, max(1, _DRAWN // draws), work)
    return counts
