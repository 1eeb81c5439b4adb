"""Latent Dirichlet allocation by collapsed Gibbs sampling: a document mixes topics, a topic is a distribution of words.

A word leaves, and comes back with the topic drawn from

    p(k) ~ (n_jk + alpha_k) * (n_kw + beta) / (n_k + V beta)

with n_jk words of the document, n_kw of the word and n_k of all in topic k. All topics are weighed for every word, but
cheaply: one multiplication each, in a loop without branches that processors run four at a time. ``scaled[k]`` holds all
of the formula that does not depend on the word and is mended where a word leaves or comes; sums of eight weights are
searched instead of single ones. Topics are padded to a multiple of eight, with a prior of zero.

Blei, Ng and Jordan, "Latent Dirichlet allocation", 2003; Griffiths and Steyvers, "Finding scientific topics", 2004.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.random import Random, uniform
from corpuscle.topics.kernels.prior import sample_prior

_BLOCK = 8
_SLICE = 1 << 26
"""How many topics one call of a kernel weighs, about."""


class Counts(NamedTuple):
    """Where every word stands, T topics padded to a multiple of eight.

    - ``topics``: int32 (words,), the topic of every word;
    - ``documents``: int32 (documents, T); ``types``: int32 (types, T); ``totals``: int64 (T,): how many words of each
      topic a document, a type, the whole text has;
    - ``alpha``: float64 (T,), the prior of the topics;
    - ``scaled``, ``weights``: float64 (T,), ``sums``: float64 (T / 8,): room for one word.
    """

    topics: np.ndarray
    documents: np.ndarray
    types: np.ndarray
    totals: np.ndarray
    alpha: np.ndarray
    scaled: np.ndarray
    weights: np.ndarray
    sums: np.ndarray


@part(bare=True)
def _move(state, j, word, topic, by, prior):
    """One word more or less (``by``) of a topic."""
    state.documents[j, topic] += by
    state.types[word, topic] += by
    state.totals[topic] += by
    mass = state.documents[j, topic] + state.alpha[topic]
    state.scaled[topic] = mass / (state.totals[topic] + prior * len(state.types))


@part(bare=True)
def _draw(state, word, prior, stream):
    """The topic of a word that is not counted."""
    scaled, weights, sums = state.scaled, state.weights, state.sums
    for k in range(len(weights)):
        weights[k] = scaled[k] * (state.types[word, k] + prior)
    total = 0.0
    for block in range(len(sums)):
        k = block * _BLOCK
        low = (weights[k] + weights[k + 1]) + (weights[k + 2] + weights[k + 3])
        total += low + ((weights[k + 4] + weights[k + 5]) + (weights[k + 6] + weights[k + 7]))
        sums[block] = total
    point = uniform(stream) * total
    first, last = 0, len(sums) - 1
    while first < last:
        middle = (first + last) >> 1
        if sums[middle] > point:
            last = middle
        else:
            first = middle + 1
    if first > 0:
        point -= sums[first - 1]
    topic = first * _BLOCK
    end = topic + _BLOCK - 1
    while topic < end and point >= weights[topic]:
        point -= weights[topic]
        topic += 1
    while weights[topic] == 0.0:  # rounding led to a padded topic
        topic -= 1
    return topic


@kernel(bare=True)
def _sweep(state, tokens, bounds, first, last, prior, come, stream):
    """Draw the topics of all words of some documents anew, or (``come``) for the first time."""
    for j in range(first, last):
        for k in range(len(state.scaled)):
            mass = state.documents[j, k] + state.alpha[k]
            state.scaled[k] = mass / (state.totals[k] + prior * len(state.types))
        for i in range(bounds[j], bounds[j + 1]):
            word = np.int64(tokens[i])
            if not come:
                _move(state, j, word, np.int64(state.topics[i]), -1, prior)
            topic = _draw(state, word, prior, stream)
            _move(state, j, word, topic, 1, prior)
            state.topics[i] = topic


@kernel(bare=True)
def _log_joint(counts, prior, each, first, last):
    """Sum over rows of counts: log of the probability of a row's draws, under Dirichlet priors ``prior[k] * each``."""
    total, whole = 0.0, 0.0
    for k in range(counts.shape[1]):
        whole += prior[k] * each
    for row in range(first, last):
        drawn = 0
        for k in range(counts.shape[1]):
            if counts[row, k] > 0:
                drawn += counts[row, k]
                total += math.lgamma(prior[k] * each + counts[row, k]) - math.lgamma(prior[k] * each)
        total += math.lgamma(whole) - math.lgamma(whole + drawn)
    return total


class Lda:
    """One Markov chain.

    - ``tokens``: int32 (words,), ids below ``n_types``; ``bounds``: int64 (documents + 1,), where documents begin;
    - ``prior``: of every word in every topic. The prior of the topics is drawn after every sweep.
    """

    def __init__(
        self, tokens: np.ndarray, bounds: np.ndarray, n_types: int, topics: int, *, prior: float = 0.01, seed: int = 1
    ):
        self.tokens, self.bounds = frozen(tokens, np.int32), frozen(bounds, np.int64)
        self.n_topics, self.prior, self.seed = topics, prior, seed
        padded = -(-topics // _BLOCK) * _BLOCK
        alpha = np.zeros(padded)
        alpha[:topics] = 1.0 / topics
        self.counts = Counts(
            np.zeros(len(tokens), np.int32),
            np.zeros((len(bounds) - 1, padded), np.int32),
            np.zeros((n_types, padded), np.int32),
            np.zeros(padded, np.int64),
            alpha,
            np.zeros(padded),
            np.zeros(padded),
            np.zeros(padded // _BLOCK),
        )
        self.slices = list(pairwise(chunk_bounds(self.bounds, max(1, _SLICE // padded)).tolist()))

    def steps(self, sweep: int) -> int:
        return len(self.slices)

    def step(self, sweep: int, number: int) -> None:
        """One piece of a sweep; sweep 0 gives the words their first topics, one after the other."""
        stream = Random(self.seed, "topics.lda", sweep, number).array()
        _sweep(self.counts, self.tokens, self.bounds, *self.slices[number], self.prior, sweep == 0, stream)

    def finish(self, sweep: int) -> float:
        """End a sweep: draw the prior of the topics. Returns the log probability of words and topics."""
        self.counts.alpha[: self.n_topics] = sample_prior(self.documents, self.alpha, self.seed, sweep)
        return self.log_joint()

    def state(self) -> dict[str, np.ndarray]:
        """The present state as a file keeps it: all counts follow from the topics of the words."""
        return {"topics": self.counts.topics, "alpha": self.alpha.copy()}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Stand before a step where a chain stood whose words had these topics; words that had none yet are ignored.
        ``ValueError`` if it was another text."""
        topics, alpha, counts, seated = arrays["topics"], arrays["alpha"], self.counts, len(self.tokens)
        if len(topics) != len(self.tokens) or len(alpha) != self.n_topics:
            raise ValueError("it does not fit the text")
        if not (alpha > 0).all():
            raise ValueError("a topic without a prior")
        if sweep == 0:
            seated = int(self.bounds[self.slices[number][0]]) if number < len(self.slices) else seated
        counts.topics[:] = topics
        counts.alpha[: self.n_topics] = alpha
        document = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        for table, rows in ((counts.documents, document), (counts.types, self.tokens)):
            cells = rows[:seated].astype(np.int64) * table.shape[1] + topics[:seated]
            table[:] = np.bincount(cells, minlength=table.size).reshape(table.shape)
        counts.totals[:] = counts.types.sum(0, dtype=np.int64)

    @property
    def alpha(self) -> np.ndarray:
        """The prior of the topics, float64 (topics,)."""
        return self.counts.alpha[: self.n_topics]

    @property
    def documents(self) -> np.ndarray:
        """How many words of each topic a document has, int32 (documents, topics)."""
        return self.counts.documents[:, : self.n_topics]

    @property
    def types(self) -> np.ndarray:
        """How often each type has each topic, int32 (types, topics)."""
        return self.counts.types[:, : self.n_topics]

    def log_joint(self) -> float:
        """Natural log of the joint probability of all words and their topics."""
        documents, words = np.ascontiguousarray(self.documents), np.ascontiguousarray(self.types.T)
        total = 0.0
        for counts, prior, each in ((documents, self.alpha.copy(), 1.0), (words, np.ones(words.shape[1]), self.prior)):
            rows = max(1, (1 << 23) // counts.shape[1])
            for first in range(0, len(counts), rows):
                total += _log_joint(counts, prior, each, first, min(first + rows, len(counts)))
        return total


class Topics(NamedTuple):
    """The words of topics, most of which have few of them: P(w | k) = (n_kw + prior) / (n_k + V prior).

    - ``starts``: int64 (types + 1,), ``topics``: int32 (pairs,), ``counts``: float64 (pairs,): the topics k of a type w
      for which n_kw is not zero;
    - ``scale``: float64 (topics,), 1 / (n_k + V prior); ``prior``.
    """

    starts: np.ndarray
    topics: np.ndarray
    counts: np.ndarray
    scale: np.ndarray
    prior: float


def topics_of(types: np.ndarray, prior: float) -> Topics:
    """From how often each type has each topic, int32 (types, topics)."""
    rows, topics = np.nonzero(types)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(types)))])
    scale = 1.0 / (types.sum(0, dtype=np.int64) + prior * len(types))
    counts = frozen(types[rows, topics], np.float64)
    return Topics(frozen(starts, np.int64), frozen(topics, np.int32), counts, frozen(scale, np.float64), float(prior))


@kernel(bare=True)
def _mixed(topics, shares, floor, out):
    for w in range(len(out)):
        total = floor
        for i in range(topics.starts[w], topics.starts[w + 1]):
            total += shares[topics.topics[i]] * topics.counts[i]
        out[w] = total


def mixed(topics: Topics, mixture: np.ndarray) -> np.ndarray:
    """The distribution of words of a document that mixes the topics like this: float64 (types,)."""
    shares, out = mixture * topics.scale, np.empty(len(topics.starts) - 1)
    _mixed(topics, shares, float(topics.prior * shares.sum()), out)
    return out
