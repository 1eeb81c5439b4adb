"""Blocked Gibbs sampling of a nested model: a sentence goes, is cut anew with all its words at once, and comes back.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.semirings import SUM
from corpuscle.segment.kernels.lattice import fill
from corpuscle.segment.kernels.model import BOUNDARY, add_word, base_probability, find_at, has_room, intern, remove_word
from corpuscle.segment.kernels.paths import draw, forward


class Sentences(NamedTuple):
    """The sentences that are sampled.

    - ``starts``: int64 (sentences + 1,); ``gaps``: uint8 (letters,), see ``lattice``;
    - ``fixed``: uint8 (sentences,), whether a sentence keeps its words; ``seated``: uint8 (sentences,), whether its
      words are in the model; ``cuts``: uint8 (letters,), whether a word begins at a letter;
    - ``ends``, ``numbers``: int32, room for the words of one sentence; ``sums``: float64 (1 or more,).
    """

    starts: np.ndarray
    gaps: np.ndarray
    fixed: np.ndarray
    seated: np.ndarray
    cuts: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    sums: np.ndarray


@part(bare=True)
def word_ends(cuts, first, n, ends):
    """``ends`` := where the words of a sentence end, counted from its beginning; returns how many."""
    count = 0
    for i in range(1, n + 1):
        if i == n or cuts[first + i] != 0:
            ends[count] = i
            count += 1
    return count


@part(bare=True)
def find_numbers(nested, first, ends, count, numbers):
    """``numbers`` := those of the words of a sentence."""
    begin = 0
    for i in range(count):
        numbers[i] = find_at(nested, np.int64(first + begin), np.int64(ends[i] - begin))
        begin = ends[i]


@part(bare=True)
def add_sentence(nested, first, n, cuts, ends, stream):
    """The words of a sentence come, one after the other, and at last its end."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0)
    for i in range(count):
        word = intern(nested, first + begin, ends[i] - begin)
        add_word(nested, word, before, earlier, base_probability(nested, word), stream)
        before, earlier, begin = word, before, np.int64(ends[i])
    add_word(nested, np.int64(BOUNDARY), before, earlier, base_probability(nested, np.int64(BOUNDARY)), stream)


@part(bare=True)
def word_at(numbers, i, count):
    """The i-th word of a sentence; before and behind it stands ``$``."""
    return np.int64(numbers[i]) if 0 <= i < count else np.int64(BOUNDARY)


@part(bare=True)
def remove_sentence(nested, first, n, cuts, ends, numbers, stream):
    """The words of a sentence go, the last one first."""
    count = word_ends(cuts, first, n, ends)
    find_numbers(nested, first, ends, count, numbers)
    for i in range(count, -1, -1):
        before, earlier = word_at(numbers, i - 1, count), word_at(numbers, i - 2, count)
        remove_word(nested, word_at(numbers, i, count), before, earlier, stream)


@part(bare=True)
def resample(nested, lattice, sentences, sentence, first, n, stream):
    """A sentence of n letters from ``first`` on leaves, if it was there, and comes back with words drawn anew, unless
    they are fixed."""
    cuts, ends = sentences.cuts, sentences.ends
    if sentences.seated[sentence]:
        remove_sentence(nested, first, n, cuts, ends, sentences.numbers, stream)
    if not sentences.fixed[sentence]:
        fill(nested, lattice, nested.text, first, n, sentences.gaps)
        sentences.sums[0] += forward(nested.words, lattice, n, np.int64(SUM))
        draw(nested.words, lattice, n, cuts, first, stream)
    add_sentence(nested, first, n, cuts, ends, stream)
    sentences.seated[sentence] = 1


@kernel(bare=True)
def sweep(nested, lattice, sentences, order, at, last, stream):
    """Sample the segmentations of the sentences ``order[at:last]``; returns where there was no more room, or ``last``.

    ``sentences.sums[0]`` += the log probabilities of the sentences that are not fixed.
    """
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not has_room(nested, n):
            return i
        resample(nested, lattice, sentences, sentence, first, n, stream)
    return last
