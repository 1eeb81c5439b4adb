"""Reading a new document from left to right, with a belief about its topics that follows every word.

The model is fixed; what changes while a document is read is how many of its words came from each topic. R particles
each guess the topics of all words so far. With C the counts of a particle, alpha the prior of the topics, S the
probability that the next word is topical and G that of the word if it is not, a particle expects the next word with

    p_r(w) = (1 - S) G(w) + S * sum_k (C_k + alpha_k) / (sum of C + sum of alpha) * P_k(w)

The answer is the mean of p_r by the weights of the particles. Then the weights are multiplied by p_r, every particle
draws the topic of the word, and every ``every`` words particles are drawn anew by their weights. With ``rejuvenate``
all earlier topics are drawn afresh at these points; mode ``wallach`` draws them afresh before every word, and neither
weighs nor resamples: the most exact, at quadratic cost.

Wallach, Murray, Salakhutdinov and Mimno, "Evaluation methods for topic models", 2009 (left to right); Canini, Shi and
Griffiths, "Online inference of topics with latent Dirichlet allocation", 2009 (a particle filter that rejuvenates).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.errors import SettingError
from corpuscle.random import Random, uniform

MODES = ("weighted", "wallach")
_FUNCTION = -1
"""The topic of a word that is not topical."""

_SLICE = 1 << 26
"""How many products of a count and a probability one call of a kernel computes, about."""


class Likelihoods(NamedTuple):
    """What a model says about the words of a document, each after the words before it.

    - ``topics``: float64 (words, topics), the probability P_k of the word in every topic;
    - ``common``: float64 (words,), its probability G where it is not topical;
    - ``switch``: float64 (words,), the probability S that it is topical; 1 in models without a switch.
    """

    topics: np.ndarray
    common: np.ndarray
    switch: np.ndarray


class Belief(NamedTuple):
    """The particles.

    - ``counts``: float64 (particles, topics), C + alpha; ``totals``: float64 (particles,), their sums;
    - ``weights``: float64 (particles,), summing to one;
    - ``chosen``: int32 (particles, words), the topics of the words read; empty if they are not needed;
    - ``room``: float64 (particles, topics + 2), sums of a word; ``offspring``: int64 (particles,), room for resampling.
    """

    counts: np.ndarray
    totals: np.ndarray
    weights: np.ndarray
    chosen: np.ndarray
    room: np.ndarray
    offspring: np.ndarray


@part(bare=True)
def _weigh(words, i, belief, r, cumulative):
    """The probability of word i for a particle: its topical part, and all of it; the sums over topics on the way."""
    total = 0.0
    for k in range(len(cumulative)):
        total += belief.counts[r, k] * words.topics[i, k]
        cumulative[k] = total
    topical = words.switch[i] * total / belief.totals[r]
    return topical, topical + (1.0 - words.switch[i]) * words.common[i]


@part(bare=True)
def _choose(belief, r, topical, whole, cumulative, stream):
    """Draw the topic of the word just weighed and count it."""
    point = uniform(stream) * whole
    if point >= topical:
        return np.int64(_FUNCTION)
    point *= cumulative[-1] / topical  # from the scale of probabilities to that of the sums
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > point:
            high = middle
        else:
            low = middle + 1
    belief.counts[r, low] += 1.0
    belief.totals[r] += 1.0
    return np.int64(low)


@part(bare=True)
def _redraw(words, last, belief, r, cumulative, stream):
    """Draw the topics of the words before ``last`` afresh, one after the other, for one particle."""
    for i in range(last):
        old = belief.chosen[r, i]
        if old != _FUNCTION:
            belief.counts[r, old] -= 1.0
            belief.totals[r] -= 1.0
        topical, whole = _weigh(words, i, belief, r, cumulative)
        belief.chosen[r, i] = _choose(belief, r, topical, whole, cumulative, stream)


@part(bare=True)
def _resample(belief, read, stream):
    """Systematic resampling: a particle lives on as often as its weight says, up to one; then all weigh the same."""
    offspring, particles = belief.offspring, len(belief.offspring)
    point, reached, r = uniform(stream), 0.0, 0
    for s in range(particles):
        offspring[s] = 0
    for s in range(particles):
        while r < particles - 1 and reached + belief.weights[r] * particles <= point + s:
            reached += belief.weights[r] * particles
            r += 1
        offspring[r] += 1
    # A particle without offspring becomes a copy of one that has more than one; all others stay where they are.
    source = 0
    for target in range(particles):
        if offspring[target] > 0:
            continue
        while offspring[source] < 2:
            source += 1
        offspring[source] -= 1
        offspring[target] = 1
        belief.totals[target] = belief.totals[source]
        for k in range(belief.counts.shape[1]):
            belief.counts[target, k] = belief.counts[source, k]
        for i in range(min(read, belief.chosen.shape[1])):
            belief.chosen[target, i] = belief.chosen[source, i]
    for s in range(particles):
        belief.weights[s] = 1.0 / particles


@kernel(bare=True)
def _read(words, first, last, before, every, rejuvenate, belief, out, stream):
    """Read the words ``first`` to ``last`` of a document; writes their log probabilities into ``out``. ``before``:
    words read before the first of the arrays; ``every``: words between two resamplings, 0 in mode ``wallach``."""
    room, particles, k = belief.room, len(belief.totals), belief.counts.shape[1]
    kept = belief.chosen.shape[1] > 0
    for i in range(first, last):
        answer = 0.0
        for r in range(particles):
            if every == 0:
                _redraw(words, i, belief, r, room[r, :k], stream)
            room[r, k], room[r, k + 1] = _weigh(words, i, belief, r, room[r, :k])
            answer += belief.weights[r] * room[r, k + 1]
        out[i] = math.log(answer)
        for r in range(particles):
            topic = _choose(belief, r, room[r, k], room[r, k + 1], room[r, :k], stream)
            if kept:
                belief.chosen[r, i] = topic
            if every > 0:
                belief.weights[r] *= room[r, k + 1] / answer
        if every > 0 and (before + i + 1) % every == 0:
            _resample(belief, i + 1, stream)
            if rejuvenate:
                for r in range(particles):
                    _redraw(words, i + 1, belief, r, room[r, :k], stream)


class Reader:
    """One document, read word by word or many words at a time, with the same numbers either way. ``alpha``: float64
    (topics,), the prior of the topics; ``every``: words between two resamplings; ``mode``: ``weighted`` or ``wallach``;
    ``rejuvenate``: see above; ``seed``, ``document``: every document has random numbers of its own."""

    def __init__(
        self,
        alpha: np.ndarray,
        *,
        particles: int = 10,
        every: int = 10,
        mode: str = "weighted",
        rejuvenate: bool = False,
        seed: int = 1,
        document: int = 0,
    ):
        for name, number in (("particles", particles), ("every", every)):
            if type(number) is not int or number < 1:
                raise SettingError(f"{name} is a number from 1 on, not {number!r}")
        if mode not in MODES:
            raise SettingError(f"mode is one of {', '.join(MODES)}; not {mode!r}")
        if mode == "wallach" and rejuvenate:
            raise SettingError("rejuvenate means nothing in mode wallach, which draws all topics afresh anyway")
        self._every, self._rejuvenate = 0 if mode == "wallach" else every, rejuvenate
        alpha = np.asarray(alpha, np.float64)
        self._belief = Belief(
            np.tile(alpha, (particles, 1)), np.full(particles, alpha.sum()), np.full(particles, 1.0 / particles),
            np.empty((particles, 0), np.int32), np.empty((particles, len(alpha) + 2)), np.empty(particles, np.int64),
        )  # fmt: skip
        self._stream = Random(seed, "topics.particles", 0, document).array()
        self._words = Likelihoods(np.empty((0, len(alpha))), np.empty(0), np.empty(0))
        self._read = 0

    @property
    def mixture(self) -> np.ndarray:
        """The expected shares of the topics given the words read, float64 (topics,), summing to one. The next word has
        probability ``(1 - S) G + S * (mixture @ P)``."""
        return (self._belief.weights / self._belief.totals) @ self._belief.counts

    def read(self, words: Likelihoods) -> np.ndarray:
        """Read on. Returns the natural log of the probability of each of these words given all before: (words,)."""
        n, before, every, rejuvenate = len(words.common), self._read, self._every, self._rejuvenate
        if every == 0 or rejuvenate:
            before = 0  # the kernel goes through the words of earlier calls, too
            words = Likelihoods(*(np.concatenate(pair) for pair in zip(self._words, words, strict=True)))
            new = np.full((len(self._belief.totals), n), _FUNCTION, np.int32)
            self._belief = self._belief._replace(chosen=np.concatenate([self._belief.chosen, new], axis=1))
            self._words = words
        words = Likelihoods(*(frozen(array, np.float64) for array in words))
        end = len(words.common)
        again = 1 + (end if every == 0 else end // every if rejuvenate else 0)
        slice = max(1, _SLICE // (self._belief.room.size * again))
        out = np.empty(end)
        for first in range(end - n, end, slice):
            last = min(first + slice, end)
            _read(words, first, last, before, every, rejuvenate, self._belief, out, self._stream)
        self._read += n
        return out[end - n :]


def marks(words: Likelihoods, mixture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability that each word of a document came from a topic, given its mixture of topics, float64 (words,),
    and the likeliest topic, int64 (words,)."""
    topical = words.switch * (words.topics @ mixture)
    return topical / (topical + (1.0 - words.switch) * words.common), (words.topics * mixture).argmax(1)
