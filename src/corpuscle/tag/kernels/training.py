"""Learning to tag: the conditional likelihood of the right labels, by adaptive gradients, sentence after sentence.

The gradient of the log-likelihood of a sentence with respect to the weight of a feature is how often the feature occurs
with the right labels, minus how often it is expected to, among all paths through the candidates. Each weight moves by
``rate`` times its gradient over the root of its squared gradients so far, so that rare features learn as fast as
frequent ones. Words and steps that are nearly certain move nothing. The result is the mean of the weights after every
sentence: ``totals`` collects each change times the number of sentences before it, so that mean = weights - totals /
sentences.

Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for segmenting and labeling sequence
data", 2001; Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization",
2011 (``squares`` are their sums of squares); means as in Collins, "Discriminative training methods for hidden Markov
models", 2002.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.tag.kernels.decoding import STEPS, expectations, score_steps, score_words
from corpuscle.tag.kernels.features import local_features, step_places

_DAMPING, _SMALL = 0.01, 0.001
"""Squares that every weight begins with, and gradients that are left out."""


class Learning(NamedTuple):
    """Weights under way: ``weights`` float32, ``totals`` float64, ``squares`` float32 (places,); ``clock`` int64 (1,),
    sentences so far; ``rate``; ``shift``: 64 - bits of the table."""

    weights: np.ndarray
    totals: np.ndarray
    squares: np.ndarray
    clock: np.ndarray
    rate: float
    shift: np.uint64


@part(inline=True)
def _climb(learning, places, count, label, labels, slope):
    """Move the weights of a label at the places of some features along a gradient."""
    for f in range(count):
        for k in range(labels.starts[label] - 1, labels.starts[label + 1]):
            at = places[f] + (labels.parts[k] if k >= labels.starts[label] else labels.n_parts + label)
            learning.squares[at] += slope * slope
            change = learning.rate * slope / math.sqrt(learning.squares[at] + _DAMPING)
            learning.weights[at] += change
            learning.totals[at] += change * (learning.clock[0] - 1)


@part
def _learn_words(words, first, last, gold, labels, learning, room):
    """Move the weights of local features; returns how many words had a wrong label as the most likely one."""
    wrong = 0
    for i in range(first, last):
        j, own, top = i - first, -1, 0
        for q in range(room.counts[j]):
            own = q if room.candidates[j, q] == gold[i] else own
            top = q if room.local[j, q] > room.local[j, top] else top
        wrong += own != top
        missing = 1.0 - (room.local[j, own] if own >= 0 else 0.0)
        if missing > _SMALL:
            count = local_features(words, first, last, i, learning.shift, room.places)
            _climb(learning, room.places, count, gold[i], labels, missing)
            for q in range(room.counts[j]):
                if q != own and room.local[j, q] > _SMALL:
                    _climb(learning, room.places, count, room.candidates[j, q], labels, -room.local[j, q])
    return wrong


@part
def _learn_steps(words, first, last, gold, labels, learning, room):
    for i in range(first, last):
        j = i - first
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        if n_before * n_previous * room.counts[j] == 1 and room.candidates[j, 0] == gold[i]:
            continue
        gold_before, gold_previous = gold[i - 2] if j > 1 else -1, gold[i - 1] if j > 0 else -1
        among = False
        for r in range(n_before):
            before = room.candidates[j - 2, r] if j > 1 else -1
            for p in range(n_previous):
                previous = room.candidates[j - 1, p] if j > 0 else -1
                right = before == gold_before and previous == gold_previous
                step_places(words, i, before, previous, labels, learning.shift, room.places)
                for q in range(room.counts[j]):
                    here = right and room.candidates[j, q] == gold[i]
                    among = among or here
                    slope = (1.0 if here else 0.0) - room.steps[j, r, p, q]
                    if abs(slope) > _SMALL:
                        _climb(learning, room.places, STEPS, room.candidates[j, q], labels, slope)
        if not among:
            step_places(words, i, gold_before, gold_previous, labels, learning.shift, room.places)
            _climb(learning, room.places, STEPS, gold[i], labels, 1.0)


@kernel
def learn(words, order_of, gold, labels, weights, learning, room):
    """Learn from the sentences ``order_of`` int64, one after the other; returns how many words had a wrong label as the
    most likely one. ``gold``: int32 (n_words,), the right labels; ``weights``: those of ``learning``, read-only, so
    that scoring has the types that it has in a tagger."""
    wrong = 0
    for sentence in order_of:
        first, last = words.starts[sentence], words.starts[sentence + 1]
        learning.clock[0] += 1
        score_words(words, first, last, labels, weights, learning.shift, room)
        score_steps(words, first, last, labels, weights, learning.shift, room)
        expectations(last - first, room)
        wrong += _learn_words(words, first, last, gold, labels, learning, room)
        _learn_steps(words, first, last, gold, labels, learning, room)
    return wrong
