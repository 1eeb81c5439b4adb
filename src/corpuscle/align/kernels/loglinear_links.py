"""What a learned log-linear model says of sentence pairs: the scores of couples, the probabilities of links, and the
best alignments; see ``loglinear``.

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3; the best paths are
those of ``engine.dp.chains``.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.align.kernels.loglinear import (
    EMISSION,
    FIRST,
    LAST,
    LONGEST,
    MARGINALS,
    NULL,
    OUTPUTS,
    PLACE,
    STEPS,
    lay_out,
    lengths_of,
)
from corpuscle.align.kernels.loglinear_sums import CLAMPED, exponentiate, log_emissions, sum_paths
from corpuscle.compiled import kernel
from corpuscle.engine.dp.chains import Chain, k_best


@kernel
def couple_scores(neighbours, weights, scores):
    """The score of every couple, float64 (n_couples + 1,); the last, for couples that are not allowed, is -inf."""
    for couple in range(len(neighbours.feature_starts) - 1):
        score = 0.0
        for f in range(neighbours.feature_starts[couple], neighbours.feature_starts[couple + 1]):
            score += weights[neighbours.features[f]] * neighbours.values[f]
        scores[couple] = score
    scores[len(neighbours.feature_starts) - 1] = -math.inf


@kernel(bare=True)
def link_posteriors(direction, first, last, links, nulls):
    """Link probabilities of sentence pairs first..last-1, given the outputs; none where a side is longer than LONGEST.

    Fills ``links`` float32, cell by cell from that of the first pair on, and ``nulls`` float32, by output. Returns the
    sum of the logarithms of the sums over alignments.
    """
    text, work = direction.text, direction.work
    total, cell = 0.0, 0
    for sentence in range(first, last):
        m, n = lengths_of(text, sentence)
        start = text.starts[OUTPUTS, sentence] - text.starts[OUTPUTS, first]
        if min(m, n) == 0 or max(m, n) > LONGEST:
            for j in range(n):
                nulls[start + j] = 1.0
            cell += m * n
            continue
        s = lay_out(direction, sentence)
        total += exponentiate(work, n, s) + sum_paths(direction, sentence, s, np.int64(CLAMPED))
        for j in range(n):
            for q in range(s):
                value = work.outputs[MARGINALS, j, q]
                if work.states[PLACE, q] == NULL:
                    nulls[start + j] += value
                else:
                    links[cell + (work.states[PLACE, q] - 1) * n + j] += value
        cell += m * n
    return total


@kernel
def n_best(direction, normalise, paths, scores):
    """The ``k`` best alignments of all sentence pairs.

    Fills ``paths`` int32 (k, outputs), the position of every output from 0, -1 for the null word, and ``scores``
    float64 (k, n_pairs), -inf where there are fewer alignments; if normalised, they are log-probabilities given the
    outputs.
    """
    text, work = direction.text, direction.work
    for sentence in range(scores.shape[1]):
        start = text.starts[OUTPUTS, sentence]
        m, n = lengths_of(text, sentence)
        own, own_scores = paths[:, start : start + n], scores[:, sentence]
        own[:, :] = -1
        own_scores[:] = -math.inf
        if min(m, n) == 0 or max(m, n) > LONGEST:
            own_scores[0] = 0.0
            continue
        s = lay_out(direction, sentence)
        log_emissions(direction, sentence, s, np.int64(CLAMPED))
        steps = work.squares[STEPS : STEPS + 1]
        chain = Chain(work.lines[FIRST], work.outputs[EMISSION], steps, work.lines[LAST])
        found = k_best(n, s, chain, len(own), own, own_scores)
        total = 0.0
        if normalise:
            total = exponentiate(work, n, s) + sum_paths(direction, sentence, s, np.int64(CLAMPED))
        for r in range(found):
            own_scores[r] -= total
            for j in range(n):
                own[r, j] = work.states[PLACE, own[r, j]] - 1
