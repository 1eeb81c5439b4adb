"""The asymmetric prior of the topics of a document: alpha = beta * share, drawn given how often topics are used.

beta ~ Gamma(1, 1) says how many topics a document mixes, share ~ Dirichlet(1, .., 1) how common each topic is. Given
the words of every document and topic, auxiliary variables make both conjugate: m_jk, the tables at which the n_jk words
of topic k in document j sit in a Chinese restaurant of strength alpha_k, and e_j ~ Beta(beta, N_j):

    m_jk = sum over i < n_jk of Bernoulli(alpha_k / (alpha_k + i)),    share ~ Dirichlet(1 + sum_j m_jk),
    beta ~ Gamma(1 + sum m, rate 1 - sum_j log e_j)

Documents without words say nothing.

Teh, Jordan, Beal and Blei, "Hierarchical Dirichlet processes", 2006, for the auxiliary variables; Wallach, Mimno and
McCallum, "Rethinking LDA: why priors matter", 2009, for an asymmetric prior.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.random import Random, gamma, uniform

_CHUNK = 1 << 21
"""How many words and cells one call of a kernel looks at."""


@part(bare=True)
def _log_beta(stream, a, b):
    """The log of a beta number; the number underflows where ``a`` is tiny: where every document has one topic."""
    log_x = math.log(gamma(stream, a + 1.0)) + math.log(1.0 - uniform(stream)) / a
    return log_x - math.log(math.exp(log_x) + gamma(stream, b))


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
            total += _log_beta(stream, beta, np.float64(words))
    return total


@kernel(bare=True)
def _draw(tables, log_rest, alpha, stream):
    """Put a new prior into ``alpha``, given the tables of every topic and the sum of log e."""
    whole, opened = 0.0, 0
    for k in range(len(alpha)):
        alpha[k] = gamma(stream, 1.0 + tables[k])
        whole += alpha[k]
        opened += tables[k]
    beta = gamma(stream, 1.0 + opened) / (1.0 - log_rest)
    for k in range(len(alpha)):
        alpha[k] *= beta / whole


def sample_prior(counts: np.ndarray, alpha: np.ndarray, seed: int, iteration: int) -> np.ndarray:
    """A new prior, float64 (topics,), given the present one and the words of every topic in every document.

    ``counts``: int32 (documents, topics). The sum of the prior is beta, its shares are those of the topics.
    """
    stream = Random(seed, "topics.prior", iteration).array()
    counts, alpha = frozen(counts, np.int32), np.array(alpha, np.float64)
    tables, log_rest = np.zeros(len(alpha), np.int64), 0.0
    work = np.concatenate([[0], np.cumsum(counts.sum(1, dtype=np.int64) + len(alpha))])
    for first, last in pairwise(chunk_bounds(work, _CHUNK).tolist()):
        log_rest += _auxiliary(counts, alpha, first, last, tables, stream)
    _draw(tables, log_rest, alpha, stream)
    return alpha
