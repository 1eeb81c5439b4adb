"""The best analyses of a sentence together, and how likely each is, over a few candidates of every word.

Token j has some candidates with a score each; the score of two candidates that follow each other is ``steps[j, p, q]``,
from p at j - 1 to q at j, in logarithms, -inf where there is no candidate. A sentence is a chain of
``engine.dp.chains``, whose sums run over exponentials: each position is brought to a largest score of 0 before.

Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.dp.chains import Chain, Room, best_chain, best_path, expectations


@kernel
def best_sequences(starts, emission, steps, path):
    """``path`` int32 (n,): the candidates of the best sequence of each sentence; ``starts`` of sentences; ``emission``
    (n, s), ``steps`` (n, s, s): scores."""
    s = emission.shape[1]
    nothing = np.zeros(s)
    for sentence in range(len(starts) - 1):
        first, last = starts[sentence], starts[sentence + 1]
        n = last - first
        if n > 0:
            table, scales = np.zeros((n, s)), np.ones(n)
            chain = Chain(nothing, emission[first:last], steps[first:last], nothing)
            best_chain(n, s, chain, table, scales)
            best_path(n, s, chain, table, path[first:last])


@kernel
def expected(starts, emission, steps, shares, taken):
    """The logarithm of the sum over all sequences, of all sentences together; ``shares`` (n, s): the probability of
    each candidate; ``taken`` (n, s, s): of each two that follow each other."""
    s = emission.shape[1]
    ones, logarithm = np.ones(s), 0.0
    for sentence in range(len(starts) - 1):
        first, last = starts[sentence], starts[sentence + 1]
        n = last - first
        if n == 0:
            continue
        weights, ways, turned = np.zeros((n, s)), np.zeros((n, s, s)), np.zeros((n, s, s))
        for j in range(n):
            top, high = -math.inf, -math.inf
            for q in range(s):
                top = max(top, emission[first + j, q])
                for p in range(s):
                    high = max(high, steps[first + j, p, q])
            logarithm += top
            for q in range(s):
                weights[j, q] = math.exp(emission[first + j, q] - top)
                if j > 0:  # nothing leads into the first position
                    for p in range(s):
                        ways[j, p, q] = math.exp(steps[first + j, p, q] - high)
                        turned[j, q, p] = ways[j, p, q]
            if j > 0:
                logarithm += high
        room = Room(shares[first:last], taken[first:last], np.zeros(s), np.zeros(s), np.ones(n))
        logarithm += expectations(n, s, Chain(ones, weights, ways, ones), turned, room)
    return logarithm
