"""Latent Dirichlet allocation by collapsed Gibbs sampling: a document mixes topics, a topic is a distribution of words.

A word leaves, and comes back with the topic drawn from

    p(k) ~ (n_jk + alpha_k) * (n_kw + beta) / (n_k + V beta)

with n_jk words of the document, n_kw of the word and n_k of all in topic k. All topics are weighed for every word, with
one multiplication each, in a loop without branches that processors run four at a time: ``scaled[k]`` holds the factors
that do not depend on the word and is updated where a word leaves or comes. Sums of eight weights are searched instead
of single ones; topics are padded to a multiple of eight, with a prior of zero.

Blei, Ng and Jordan, "Latent Dirichlet allocation", 2003; Griffiths and Steyvers, "Finding scientific topics", 2004.

**The prior** of the topics of a document is asymmetric: alpha = beta * share, drawn given how often topics are used.
beta ~ Gamma(1, 1) says how many topics a document mixes, share ~ Dirichlet(1, .., 1) how common each topic is. Given
the words of every document and topic, auxiliary variables make both conjugate: m_jk, the tables at which the n_jk words
of topic k in document j sit in a Chinese restaurant of strength alpha_k, and e_j ~ Beta(beta, N_j):

    m_jk = sum over i < n_jk of Bernoulli(alpha_k / (alpha_k + i)),    share ~ Dirichlet(1 + sum_j m_jk),
    beta ~ Gamma(1 + sum m, rate 1 - sum_j log e_j)

Teh, Jordan, Beal and Blei, "Hierarchical Dirichlet processes", 2006, for the auxiliary variables; Wallach, Mimno and
McCallum, "Rethinking LDA: why priors matter", 2009, for an asymmetric prior.

**Unigram rescaling**: the probabilities of an n-gram model are multiplied by a factor for each word and normalised.

    p(w | h) = f(w) P(w | h) / Z(h),    Z(h) = sum over v of f(v) P(v | h)

An interpolated P(w | h) = own(w | h) + rest(h) P(w | h') gives the normaliser without a sum over the vocabulary,
except for the empty context, once for every f:

    Z(h) = sum over the words v seen after h of f(v) own(v | h)  +  rest(h) Z(h')

Gildea and Hofmann, "Topic-based language models using EM", 1999."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams, chunk_bounds, find, find_ngram
from corpuscle.random import Random, gamma, uniform
from corpuscle.scale import starts_of

_CHUNK = 1 << 21
"""How many words and cells one call of a kernel looks at."""


@kernel(bare=True)
def _auxiliary(counts, alpha, first, last, tables, stream):
    """Add the tables of some documents to ``tables`` (topics,); returns the sum of their log e."""
    beta, total = 0.0, 0.0
    for k in range(len(alpha)):
        beta += alpha[k]
    for j in range(first, last):
        words = 0
        for k in range(len(alpha)):
            count = counts[j, k]
            if count > 0:
                words += count
                tables[k] += 1
                for i in range(1, count):
                    if uniform(stream) * (alpha[k] + i) < alpha[k]:
                        tables[k] += 1
        if words > 0:
            # The log of a beta number: the number underflows where beta is tiny, and every document has one topic.
            log_x = math.log(gamma(stream, beta + 1.0)) + math.log(1.0 - uniform(stream)) / beta
            total += log_x - math.log(math.exp(log_x) + gamma(stream, np.float64(words)))
    return total


def sample_prior(counts: np.ndarray, alpha: np.ndarray, seed: int, iteration: int) -> np.ndarray:
    """A new prior, float64 (topics,), given the present one and ``counts``, int32 (documents, topics), the words of
    every topic in every document. The sum of the prior is beta."""
    stream = Random(seed, "topics.prior", iteration).array()
    counts, alpha = frozen(counts, np.int32), np.array(alpha, np.float64)
    tables, log_rest = np.zeros(len(alpha), np.int64), 0.0
    work = starts_of(counts.sum(1, dtype=np.int64) + len(alpha))
    for first, last in pairwise(chunk_bounds(work, _CHUNK).tolist()):
        log_rest += _auxiliary(counts, alpha, first, last, tables, stream)
    drawn = np.array([gamma(stream, 1.0 + count) for count in tables.tolist()])
    beta = gamma(stream, 1.0 + int(tables.sum())) / (1.0 - log_rest)
    return drawn * (beta / np.cumsum(drawn)[-1])  # added up from first to last, whatever the processor


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
    """One Markov chain. ``tokens``: int32 (words,), ids below ``n_types``; ``bounds``: int64 (documents + 1,), where
    documents begin; ``prior``: of every word in every topic. The prior of the topics is drawn after every sweep."""

    def __init__(
        self, tokens: np.ndarray, bounds: np.ndarray, n_types: int, topics: int, *, prior: float = 0.01, seed: int = 1
    ):
        self.tokens, self.bounds = frozen(tokens, np.int32), frozen(bounds, np.int64)
        self.n_topics, self.prior, self.seed = topics, prior, seed
        padded = -(-topics // _BLOCK) * _BLOCK
        alpha = np.zeros(padded)
        alpha[:topics] = 1.0 / topics
        self.counts = Counts(
            np.zeros(len(tokens), np.int32), np.zeros((len(bounds) - 1, padded), np.int32),
            np.zeros((n_types, padded), np.int32), np.zeros(padded, np.int64), alpha,
            np.zeros(padded), np.zeros(padded), np.zeros(padded // _BLOCK),
        )  # fmt: skip
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
    starts = starts_of(np.bincount(rows, minlength=len(types)))
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


class Shares(NamedTuple):
    """Several samples of one model, side by side.

    - ``words``, ``first_child``: the trie, as in ``Ngrams``;
    - ``unigrams``: float64 (types, samples), P(w) in the empty context;
    - ``own``: float64 (rows, samples), what the context of a row knows about its word; 0 for unigrams, unused;
    - ``rest``: float64 (contexts, samples), what a context passes on.
    """

    words: np.ndarray
    first_child: np.ndarray
    unigrams: np.ndarray
    own: np.ndarray
    rest: np.ndarray


def shares_of(ngrams: Ngrams, samples: Sequence[BackoffTables]) -> Shares:
    """The samples of a back-off model that interpolates, over the n-grams of its text."""
    types, rows = int(ngrams.levels[1]), len(ngrams.words)
    unigrams, own = np.empty((types, len(samples))), np.zeros((rows, len(samples)))
    rest = np.empty((len(ngrams.first_child) - 1, len(samples)))
    contexts = np.repeat(np.arange(len(rest)), np.diff(ngrams.first_child))
    for s, tables in enumerate(samples):
        probability = np.exp(tables.log_probability)
        unigrams[:, s], rest[:, s] = probability[:types], np.exp(tables.backoff)
        passed = rest[contexts, s] * probability[ngrams.suffix[types:]]
        own[types:, s] = np.maximum(0.0, probability[types:] - passed)
    arrays = (frozen(array, np.float64) for array in (unigrams, own, rest))
    return Shares(frozen(ngrams.words, np.int32), frozen(ngrams.first_child, np.int32), *arrays)


@kernel(bare=True)
def _rescaled(shares, symbols, available, positions, factors, room, out):
    """``room``: (4, samples), for Z of no context, probabilities, normalisers and sums."""
    samples = room.shape[1]
    whole, chance, normaliser, inner = room[0], room[1], room[2], room[3]
    for s in range(samples):
        whole[s] = 0.0
    for v in range(len(factors)):
        for s in range(samples):
            whole[s] += factors[v] * shares.unigrams[v, s]
    for n in range(len(positions)):
        i = positions[n]
        word = np.int64(symbols[i])
        for s in range(samples):
            chance[s], normaliser[s] = shares.unigrams[word, s], whole[s]
        for depth in range(1, available[i] + 1):
            row = find_ngram(shares.words, shares.first_child, symbols[i - depth : i])
            if row < 0 or row >= len(shares.rest):
                break
            first, last = np.int64(shares.first_child[row]), np.int64(shares.first_child[row + 1])
            if first == last:
                break
            for s in range(samples):
                inner[s] = 0.0
            for child in range(first, last):
                factor = factors[shares.words[child]]
                for s in range(samples):
                    inner[s] += factor * shares.own[child, s]
            child = find(shares.words, first, last, word)
            for s in range(samples):
                known = shares.own[child, s] if child >= 0 else 0.0
                chance[s] = known + shares.rest[row, s] * chance[s]
                normaliser[s] = inner[s] + shares.rest[row, s] * normaliser[s]
        above, below = 0.0, 0.0
        for s in range(samples):
            above += chance[s]
            below += normaliser[s]
        out[n] = np.log(factors[word] * above / below)


def rescaled(
    shares: Shares, symbols: np.ndarray, available: np.ndarray, positions: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    """The natural log of the rescaled probability of the words at some positions of a stream: float64 (positions,).
    ``symbols``: int32, frozen; ``available``: uint8, frozen, the lengths of contexts; ``factors``: float64 (types,).
    The samples are averaged before they are normalised."""
    out, room = np.empty(len(positions)), np.empty((4, shares.rest.shape[1]))
    factors = np.ascontiguousarray(factors, np.float64)
    _rescaled(shares, symbols, available, frozen(positions, np.int64), factors, room, out)
    return out
