"""Gibbs sampling of a nested model made exact by a Metropolis-Hastings step.

A sentence is drawn as if none of its words could change the probability of another; where words repeat within it, that
is not true. So the drawn words are a proposal: with p the probability of the words as they come one after the other
(or, of the old words, as they went), and q their probability while the sentence was out, the new words are accepted
with probability min(1, (p_new / q_new) / (p_old / q_old)). If they are not, everything is undone (see ``undoing``).

Hastings, "Monte Carlo sampling methods using Markov chains and their applications", 1970; Johnson, Griffiths and
Goldwater, "Bayesian inference for PCFGs via Markov chain Monte Carlo", 2007, correct a sampler of whole sentences in
this way.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.semirings import SUM
from corpuscle.random import uniform
from corpuscle.segment.kernels.gibbs import resample, word_ends
from corpuscle.segment.kernels.lattice import after, fill
from corpuscle.segment.kernels.model import BOUNDARY, has_room
from corpuscle.segment.kernels.paths import draw, forward
from corpuscle.segment.kernels.undoing import add_noted, put_back_words, remove_noted, take_back_words


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
def _resample(nested, lattice, sentences, first, n, old_cuts, notes, stream):
    """One Metropolis-Hastings step; returns the log of the total of all segmentations."""
    cuts, ends, numbers = sentences.cuts, sentences.ends, sentences.numbers
    notes[0] = 0
    old = remove_noted(nested, first, n, cuts, ends, numbers, stream, notes)
    fill(nested, lattice, nested.text, first, n, sentences.gaps)
    total = forward(nested.words, lattice, n, np.int64(SUM))
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
    sentence; ``notes``: see ``undoing.new_notes``.
    """
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not has_room(nested, 2 * n):
            return i
        if sentences.seated[sentence] and not sentences.fixed[sentence]:
            sentences.sums[0] += _resample(nested, lattice, sentences, first, n, old_cuts, notes, stream)
            continue
        resample(nested, lattice, sentences, sentence, first, n, stream)
    return last
