"""Unigram rescaling: an n-gram model whose probabilities are multiplied by a factor for each word and normalised again.

    p(w | h) = f(w) P(w | h) / Z(h),    Z(h) = sum over v of f(v) P(v | h)

The sum over the vocabulary is never made for a context. Where P adds what a context knows itself to what it passes on,
P(w | h) = own(w | h) + rest(h) P(w | h'), so does the normaliser:

    Z(h) = sum over the words v seen after h of f(v) own(v | h)  +  rest(h) Z(h')

Only Z of the empty context is a sum over all words, once for every f.

Gildea and Hofmann, "Topic-based language models using EM", 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams, find


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


@part(bare=True)
def _context(words, first_child, symbols, first, last):
    """The row of a context, ``symbols[first:last]``, that has continuations; or -1."""
    row = np.int64(symbols[first])
    for i in range(first + 1, last):
        if row < 0 or row >= len(first_child) - 1:
            return np.int64(-1)
        row = find(words, np.int64(first_child[row]), np.int64(first_child[row + 1]), symbols[i])
    if row < 0 or row >= len(first_child) - 1 or first_child[row] == first_child[row + 1]:
        return np.int64(-1)
    return row


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
            row = _context(shares.words, shares.first_child, symbols, i - depth, i)
            if row < 0:
                break
            first, last = np.int64(shares.first_child[row]), np.int64(shares.first_child[row + 1])
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

    ``symbols``: int32, frozen; ``available``: uint8, frozen, how many symbols before each belong to its context;
    ``factors``: float64 (types,). The samples are averaged before they are normalised.
    """
    out, room = np.empty(len(positions)), np.empty((4, shares.rest.shape[1]))
    factors = np.ascontiguousarray(factors, np.float64)
    _rescaled(shares, symbols, available, frozen(positions, np.int64), factors, room, out)
    return out
