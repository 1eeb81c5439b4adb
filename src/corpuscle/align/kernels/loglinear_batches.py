"""Learning the log-linear model of ``loglinear`` from many sentence pairs.

A batch of sentence pairs is scored with the same weights, so the couples of each word in it are scored once for the
batch, and the free expectations of a word, which all its positions share, are handed to its couples once for the batch.

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3.1, equation 1 (the
gradient).
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.align.kernels.loglinear import HITS, MASS, PRESENT, SCORES, STATES, SUMS, TURN
from corpuscle.align.kernels.loglinear_sums import add_expectations
from corpuscle.compiled import kernel_bare
from corpuscle.engine.optim.online import step, weight

__all__ = ["learn"]


@kernel_bare
def _score_row(hood, learner, work, x):
    """Score the couples of a word and add them up, the copy apart."""
    first, last = hood.row_starts[x], hood.row_starts[x + 1]
    copy, top = hood.copies[x], -math.inf
    scores = work.couples[SCORES]
    for couple in range(first, last):
        score = 0.0
        for f in range(hood.feature_starts[couple], hood.feature_starts[couple + 1]):
            score += weight(learner, np.int64(hood.features[f])) * hood.values[f]
        scores[couple] = score
        if couple != copy:
            top = max(top, score)
    total = 0.0
    for couple in range(first, last):
        if couple != copy:
            total += math.exp(scores[couple] - top)
    work.words[SUMS, x, 0] = top + math.log(total) if total > 0.0 else -math.inf
    work.words[SUMS, x, 1] = scores[copy] if copy >= 0 else -math.inf


@kernel_bare
def _add_row(hood, learner, work, x):
    """Give the surplus of every couple of a word to the gradient of its features."""
    copy = hood.copies[x]
    for couple in range(hood.row_starts[x], hood.row_starts[x + 1]):
        bit = 1 if couple == copy else 0
        surplus = work.couples[HITS, couple]
        if work.words[MASS, x, bit] != 0.0:
            surplus -= work.words[MASS, x, bit] * math.exp(work.couples[SCORES, couple] - work.words[SUMS, x, bit])
        work.couples[HITS, couple] = 0.0
        for f in range(hood.feature_starts[couple], hood.feature_starts[couple + 1]):
            learner.gradient[hood.features[f]] += surplus * hood.values[f]
    work.words[MASS, x, 0] = 0.0
    work.words[MASS, x, 1] = 0.0


@kernel_bare
def _list_words(text, hood, work, order, first, last):
    """List the types of the states of pairs ``order[first:last]``, the null word first; returns how many there are."""
    null_row = len(hood.copies) - 1
    turn = work.present[TURN, null_row] + 1
    work.present[TURN, null_row] = turn
    work.present[PRESENT, 0] = null_row
    count = 1
    for k in range(first, last):
        sentence = order[k]
        for i in range(text.starts[STATES, sentence], text.starts[STATES, sentence + 1]):
            x = text.states[i]
            if work.present[TURN, x] != turn:
                work.present[TURN, x] = turn
                work.present[PRESENT, count] = x
                count += 1
    return count


@kernel_bare
def learn(text, hood, shape, learner, work, order, first, last, batch, rates, penalty, clamped_share, free_share, sums):
    """Learn from sentence pairs ``order[first:last]`` in batches.

    ``rates`` is float64, by batch of the whole order; where it is empty, no step is made and the learner is left with
    the gradient of the log-likelihood. ``penalty`` is what a weight pays at rate 1. The gradient of a batch is the mean
    of the expectations given the outputs, times ``clamped_share``, minus those without them, times ``free_share``. Adds
    the logarithms of both sums, before each step, to ``sums`` float64 (2,): their difference is the log-likelihood.
    """
    for begin in range(first, last, batch):
        end = min(begin + batch, last)
        share = 1.0 / (end - begin)
        count = _list_words(text, hood, work, order, begin, end)
        for k in range(count):
            _score_row(hood, learner, work, work.present[PRESENT, k])
        for k in range(begin, end):
            clamped, free = add_expectations(
                text, hood, shape, learner, work, order[k], clamped_share * share, free_share * share
            )
            sums[0] += clamped
            sums[1] += free
        for k in range(count):
            _add_row(hood, learner, work, work.present[PRESENT, k])
        if len(rates) > 0:
            step(learner, rates[begin // batch], penalty)
