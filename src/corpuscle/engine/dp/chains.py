"""Chains: sums over, and the best of, all paths through n positions with the same states at each.

A path has a state at every position. Its weight is the product of ``first`` (of its first state), ``emission`` (of each
position and state), ``steps`` (of each two states that follow each other) and ``last`` (of its last state). Shapes, for
n positions and s states: first and last (s,), emission (n, s), steps (s, s) from row to column. Buffers may be larger.

Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989, sections III
(forward, backward, Viterbi) and V.A (scaling): his pi, a and b are first, steps and emission.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel, kernel_bare

__all__ = ["expectations", "k_best"]


@kernel_bare
def expectations(n, s, first, emission, steps, turned, last, marginals, taken, coming, reached, scales):
    """The log of the sum over all paths, and how often a random path is where; -inf if no path has any weight.

    ``turned`` is the transpose of ``steps``, so that all inner loops run along memory. Fills ``marginals`` (n, s), the
    probability of each state at each position, and ``taken`` (s, s), the expected number of times that each step is
    taken. ``coming``, ``reached`` (s,) and ``scales`` (n,) are buffers.
    """
    total = 0.0
    for q in range(s):
        marginals[0, q] = first[q] * emission[0, q]
        total += marginals[0, q]
    if total <= 0.0:
        return -math.inf
    for q in range(s):
        marginals[0, q] /= total
    logarithm = math.log(total)
    for j in range(1, n):
        for q in range(s):
            reached[q] = 0.0
        for p in range(s):
            share = marginals[j - 1, p]
            if share > 0.0:
                for q in range(s):
                    reached[q] += share * steps[p, q]
        total = 0.0
        for q in range(s):
            reached[q] *= emission[j, q]
            total += reached[q]
        if total <= 0.0:
            return -math.inf
        scales[j] = 1.0 / total
        for q in range(s):
            marginals[j, q] = reached[q] * scales[j]
        logarithm += math.log(total)
    total = 0.0
    for q in range(s):
        total += marginals[n - 1, q] * last[q]
    if total <= 0.0:
        return -math.inf
    logarithm += math.log(total)
    for q in range(s):
        reached[q] = last[q] / total
        for p in range(s):
            taken[p, q] = 0.0
    for j in range(n - 1, -1, -1):
        for q in range(s):
            marginals[j, q] *= reached[q]
        if j == 0:
            break
        for q in range(s):
            coming[q] = emission[j, q] * reached[q] * scales[j]
            reached[q] = 0.0
        for q in range(s):
            if coming[q] > 0.0:
                for p in range(s):
                    reached[p] += coming[q] * turned[q, p]
        for p in range(s):
            share = marginals[j - 1, p]
            if share > 0.0:
                for q in range(s):
                    taken[p, q] += share * coming[q]
    for p in range(s):
        for q in range(s):
            taken[p, q] *= steps[p, q]
    return logarithm


@kernel
def k_best(n, s, first, emission, steps, last, k, paths, scores):
    """The ``k`` paths of the largest weight, given logarithms of all weights; returns how many there are.

    Fills ``paths`` int32 (k, n) and ``scores`` float64 (k,), best first. Among equals, smaller states come first.
    """
    values = np.full((n, s, k), -math.inf)
    states = np.empty((n, s, k), np.int32)  # whence: the state before, and the rank of the path that led there
    ranks = np.empty((n, s, k), np.int32)
    next_rank = np.empty(s, np.int32)
    for q in range(s):
        values[0, q, 0] = first[q] + emission[0, q]
    for j in range(1, n):
        for q in range(s):
            if emission[j, q] == -math.inf:
                continue
            next_rank[:] = 0
            for r in range(k):
                best, where = -math.inf, -1
                for p in range(s):
                    if next_rank[p] < k:
                        value = values[j - 1, p, next_rank[p]] + steps[p, q]
                        if value > best:
                            best, where = value, p
                if where < 0:
                    break
                values[j, q, r] = best + emission[j, q]
                states[j, q, r], ranks[j, q, r] = where, next_rank[where]
                next_rank[where] += 1
    next_rank[:] = 0
    for found in range(k):
        best, where = -math.inf, -1
        for q in range(s):
            if next_rank[q] < k:
                value = values[n - 1, q, next_rank[q]] + last[q]
                if value > best:
                    best, where = value, q
        if where < 0:
            return found
        scores[found] = best
        q, r = where, next_rank[where]
        next_rank[where] += 1
        for j in range(n - 1, -1, -1):
            paths[found, j] = q
            if j > 0:
                q, r = states[j, q, r], ranks[j, q, r]
    return k
