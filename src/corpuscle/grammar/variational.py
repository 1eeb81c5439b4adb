"""One iteration of grammars of several languages, and the common grammar behind them.

Category A of language l emits a word with probability theta_lA0 psi_lAw, else branches into B and C with theta_lA1
phi_lABC. The rows are Dirichlet: theta_lA ~ Dir(alpha_A), phi_lA ~ Dir(beta_A) with a common grammar alpha, beta behind
all languages, each of whose numbers has a Gamma prior; psi_lA ~ Dir(gamma, ..., gamma). Posterior rows are Dirichlet
with parameters ``Grammar.emits``, ``pairs``, ``words``; their weights, exp(Psi(q) - Psi(sum q)), stand where
probabilities would in inside-outside, and the counts expected there, plus the prior, are the new parameters. The
objective

    F = sum log Z - sum KL(posterior row || prior row) + log p(alpha) + log p(beta)

is evaluated with the parameters that made the weights, and never falls. The common grammar moves by a fixed point,

    alpha_t <- (a - 1 + alpha_t L (Psi(sum alpha) - Psi(alpha_t))) / (b + sum_l (Psi(sum q_l) - Psi(q_lt)))

and half as far, in the logarithm, should that lower F. With probabilities in the place of weights, and counts alone, it
is EM. Weights to a power below 1 keep more trees alive than the posterior would (annealing): begun so, it finds far
better optima of F.

Iwata, Mochihashi and Sawada, "Learning common grammar from multilingual corpus", 2010, eq. 1-10; Kurihara and Sato,
"Variational Bayesian grammar induction for natural language", 2006, for one language; Katahira, Watanabe and Okada,
"Deterministic annealing variant of variational Bayes method", 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from corpuscle.engine.dp.dense import inside_outside

_SMALLEST = 1e-8
_TOKENS = 40_000
"""Chunks of sentences have about so many words."""


class Grammar(NamedTuple):
    """The rows of one language, as parameters of Dirichlet distributions or as probabilities.

    - ``emits``: float64 (K, 2), emit or branch; ``pairs``: float64 (K, n_pairs); ``words``: float64 (K, W).
    """

    emits: np.ndarray
    pairs: np.ndarray
    words: np.ndarray

    def means(self) -> Grammar:
        """Each row divided by its sum."""
        return Grammar(*(each / each.sum(axis=1, keepdims=True) for each in self))

    def logs(self) -> Grammar:
        """The expected logarithms of each row."""
        return Grammar(*(digamma(each) - digamma(each.sum(axis=1, keepdims=True)) for each in self))

    def weights(self, power: float = 1.0) -> Grammar:
        """exp of the expected logarithms, to a power; some are so small that they are 0."""
        return Grammar(*(np.exp(power * each) for each in self.logs()))


class Common(NamedTuple):
    """The common grammar: ``emits`` float64 (K, 2) and ``pairs`` (K, n_pairs)."""

    emits: np.ndarray
    pairs: np.ndarray


class Weights(NamedTuple):
    """A language as inside-outside sees it: ``leaves`` float64 (W, K), ``rules`` float64 (K, K K)."""

    leaves: np.ndarray
    rules: np.ndarray

    @classmethod
    def of(cls, grammar: Grammar, allowed: np.ndarray) -> Weights:
        """From rows; ``allowed``: the pairs B K + C that there are, int64 (n_pairs,)."""
        k = len(grammar.emits)
        rules = np.zeros((k, k * k))
        rules[:, allowed] = grammar.emits[:, 1:] * grammar.pairs
        return cls(np.ascontiguousarray((grammar.emits[:, :1] * grammar.words).T), rules)


class Chunk(NamedTuple):
    """Sentences of one language and one length: ``words`` int32 (n_sentences, n), ``times`` float64 (n_sentences,), how
    often each is there; ``order``: the tokens by word, ``types`` and ``starts``: which words, and where they begin."""

    language: int
    words: np.ndarray
    times: np.ndarray
    order: np.ndarray
    types: np.ndarray
    starts: np.ndarray


class Counts(NamedTuple):
    """What is expected of a chunk: ``rules`` float64 (K, K K), ``words`` float64 (K, n_types) of its own types, and the
    sum of log Z."""

    rules: np.ndarray
    words: np.ndarray
    logarithm: float


def chunks_of_language(language: int, sentences: Sequence[np.ndarray]) -> list[Chunk]:
    """Group sentences by length, equal ones together."""
    chunks = []
    lengths = np.array([len(sentence) for sentence in sentences])
    for n in np.unique(lengths[lengths > 0]).tolist():
        table = np.stack([sentences[i] for i in np.flatnonzero(lengths == n).tolist()]).astype(np.int32)
        rows, times = np.unique(table, axis=0, return_counts=True)
        step = max(1, _TOKENS // n)
        for at in range(0, len(rows), step):
            words = np.ascontiguousarray(rows[at : at + step])
            order = np.argsort(words.ravel(), kind="stable")
            types, starts = np.unique(words.ravel()[order], return_index=True)
            chunks.append(Chunk(language, words, times[at : at + step].astype(np.float64), order, types, starts))
    return chunks


def expect(chunk: Chunk, weights: Sequence[Weights]) -> Counts:
    """Expected counts of a chunk."""
    own = weights[chunk.language]
    found = inside_outside(own.leaves[chunk.words], own.rules, chunk.times)
    tokens = found.words.reshape(chunk.words.size, -1)[chunk.order]
    words = np.add.reduceat(tokens, chunk.starts, axis=0).T
    return Counts(found.rules, words, float(found.logarithms @ chunk.times))


def divergence(posterior: np.ndarray, prior: np.ndarray) -> float:
    """The sum over rows of KL(Dir(posterior) || Dir(prior)); the prior may have fewer rows or columns of ones."""
    prior = np.broadcast_to(prior, posterior.shape)
    total, before = posterior.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(posterior).sum(axis=1) - gammaln(before) + gammaln(prior).sum(axis=1)
    rows += ((posterior - prior) * (digamma(posterior) - digamma(total)[:, None])).sum(axis=1)
    return float(rows.sum())


def _gain(rows: np.ndarray, logs: np.ndarray, languages: int, shape: float, rate: float) -> np.ndarray:
    """The part of F that depends on each row of the common grammar; ``logs``: expected logarithms, summed."""
    gain = languages * (gammaln(rows.sum(axis=1)) - gammaln(rows).sum(axis=1)) + ((rows - 1.0) * logs).sum(axis=1)
    return gain + ((shape - 1.0) * np.log(rows) - rate * rows).sum(axis=1)


def dirichlet_step(rows: np.ndarray, logs: np.ndarray, languages: int, shape: float, rate: float) -> np.ndarray:
    """One step of the fixed point: ``rows`` float64 (K, n), ``logs`` (K, n) the sum over languages of the expected
    logarithms of their rows. No step lowers the objective."""
    upper = shape - 1.0 + rows * languages * (digamma(rows.sum(axis=1, keepdims=True)) - digamma(rows))
    moved = np.maximum(upper / (rate - logs), _SMALLEST)
    before = _gain(rows, logs, languages, shape, rate)
    for _ in range(30):
        worse = _gain(moved, logs, languages, shape, rate) < before - 1e-12 * np.abs(before)
        if not worse.any():
            return moved
        moved[worse] = np.sqrt(moved[worse] * rows[worse])
    moved[worse] = rows[worse]
    return moved
