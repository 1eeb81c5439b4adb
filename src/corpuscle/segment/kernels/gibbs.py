"""Blocked Gibbs sampling of a nested model: a sentence goes, is cut anew with all its words at once, and comes back.

A sentence is drawn as if none of its words could change the probability of another; where words repeat within it, that
is not true. ``sweep_exactly`` corrects for this by a Metropolis-Hastings step: the drawn words are a proposal. With p
the probability of the words as they come one after the other (or, of the old words, as they went), and q their
probability while the sentence was out, the new words are accepted with probability
min(1, (p_new / q_new) / (p_old / q_old)). If they are not, everything is undone (see ``transactions``).

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.1.
Hastings, "Monte Carlo sampling methods using Markov chains and their applications", 1970; Johnson, Griffiths and
Goldwater, "Bayesian inference for PCFGs via Markov chain Monte Carlo", 2007, correct a sampler of whole sentences in
this way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import SUM
from corpuscle.random import uniform
from corpuscle.segment.kernels.lattice import after, fill
from corpuscle.segment.kernels.model import (
    BOUNDARY,
    add_word,
    base_probability,
    find_numbers,
    has_room,
    intern,
    remove_word,
    word_at,
    word_ends,
)
from corpuscle.segment.kernels.paths import draw, forward
from corpuscle.segment.kernels.transactions import add_noted, put_back_words, remove_noted, take_back_words


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


# ---- made exact


@part(bare=True)
def _log_proposal(words, lattice, n, cuts, first, ends):
    """The log of the weight with which ``draw`` draws a segmentation."""
    count = word_ends(cuts, first, n, ends)
    total = 0.0
    for i in range(count + 1):
        t = np.int64(ends[i - 1]) if i > 0 else np.int64(0)
        k = t - (np.int64(ends[i - 2]) if i > 1 else np.int64(0))
        j = np.int64(0)
        if i > 1:
            j = np.int64(ends[i - 2]) - (np.int64(ends[i - 3]) if i > 2 else np.int64(0))
        if i < count:
            end = np.int64(ends[i])
            word, unigram = np.int64(lattice.word[end, end - t]), lattice.unigram[end, end - t]
        else:
            word, unigram = np.int64(BOUNDARY), lattice.unigram[0, 0]
        total += math.log(after(words, lattice, t, k, j, word, unigram))
    return total


@part(bare=True)
def _propose(nested, lattice, sentences, first, n, old_cuts, notes, stream):
    """One Metropolis-Hastings step; returns the log of the total of all segmentations."""
    cuts, ends, numbers = sentences.cuts, sentences.ends, sentences.numbers
    notes[0] = 0
    old = remove_noted(nested, first, n, cuts, ends, numbers, stream, notes)
    fill(nested, lattice, nested.text, first, n, sentences.gaps)
    total = forward(nested.words, lattice, n, np.int64(SUM))
    # Both proposals are weighed while the sentence is out, with one lattice.
    old -= _log_proposal(nested.words, lattice, n, cuts, first, ends)
    for i in range(n):
        old_cuts[i] = cuts[first + i]
    draw(nested.words, lattice, n, cuts, first, stream)
    proposed = _log_proposal(nested.words, lattice, n, cuts, first, ends)
    new = add_noted(nested, first, n, cuts, ends, stream, notes) - proposed
    if math.log(1.0 - uniform(stream)) >= new - old:
        take_back_words(nested, first, n, cuts, ends, numbers, notes)
        for i in range(n):
            cuts[first + i] = old_cuts[i]
        put_back_words(nested, first, n, cuts, ends, notes)
    return total


@kernel(bare=True)
def sweep_exactly(nested, lattice, sentences, order, at, last, old_cuts, notes, stream):
    """Sample the segmentations of the sentences ``order[at:last]``, each by a Metropolis-Hastings step if it is in the
    model; returns where there was no more room, or ``last``.

    ``sentences.sums[0]`` += the log probabilities of the sentences that are not fixed; ``old_cuts``: uint8, room for a
    sentence; ``notes``: see ``transactions.new_notes``.
    """
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not has_room(nested, 2 * n):
            return i
        if sentences.seated[sentence] and not sentences.fixed[sentence]:
            sentences.sums[0] += _propose(nested, lattice, sentences, first, n, old_cuts, notes, stream)
            continue
        resample(nested, lattice, sentences, sentence, first, n, stream)
    return last
