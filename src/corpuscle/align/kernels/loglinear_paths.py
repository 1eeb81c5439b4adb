"""Paths through the states of a sentence pair, see ``loglinear``: sums over all of them, and learning from what they
expect; of a learned model the scores of couples, the probabilities of links and the best alignments.

A sum is over the alignments of the outputs that are there (``CLAMPED``) or over those of all outputs that the
neighbourhood allows (``FREE``). A batch of sentence pairs is scored with the same weights: the couples of each word are
scored once per batch, and the free expectations of a word, shared by all its positions, are handed to its couples once.

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3.1, equation 1 (the
gradient), and section 3.2: ``FREE`` sums over the discriminative neighbourhood, ``CLAMPED`` over its paths that spell
the target sentence. The best paths are those of ``engine.dp.chains``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.align.kernels.loglinear import (
    BIT,
    CELLS,
    CLASS,
    COMING,
    EMISSION,
    FIRST,
    FIRST_SURPLUS,
    HITS,
    LAST,
    LAST_SURPLUS,
    LONGEST,
    MARGINALS,
    MASS,
    NULL,
    OUTPUTS,
    P_FIRST,
    P_LAST,
    P_STEPS,
    P_TURNED,
    PLACE,
    PRESENT,
    REACHED,
    SCORES,
    SLOPE,
    STATES,
    STEPS,
    SUMS,
    SURPLUS,
    TAKEN,
    TURN,
    is_cycle,
    lay_out,
    lengths_of,
    step,
    weight,
)
from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.chains import Chain, Room, expectations, k_best

CLAMPED, FREE = 0, 1


@part(bare=True)
def _couple(text, neighbours, sentence, a, j, n):
    """The couple of place ``a`` and output ``j``."""
    if a == NULL:
        return neighbours.null_cells[text.outputs[text.starts[OUTPUTS, sentence] + j]]
    return text.cells[text.starts[CELLS, sentence] + (a - 1) * n + j]


@part(bare=True)
def log_emissions(direction, sentence, s, side):
    """Scores of every output (free: of all outputs together) from every state, as EMISSION."""
    text, neighbours, work = direction.text, direction.neighbours, direction.work
    begin = text.starts[STATES, sentence]
    m, n = lengths_of(text, sentence)
    null_row = len(neighbours.copies) - 1
    for j in range(n):
        for q in range(s):
            a, bit = work.states[PLACE, q], work.states[BIT, q]
            x = null_row if a == NULL else text.states[begin + a - 1]
            if side == CLAMPED:
                couple = _couple(text, neighbours, sentence, a, j, n)
                score = work.couples[SCORES, couple] if (couple == neighbours.copies[x]) == (bit == 1) else -math.inf
                if len(text.null_guide) > 0:
                    if a == NULL:
                        score += text.null_guide[text.starts[OUTPUTS, sentence] + j]
                    else:
                        score += text.guide[text.starts[CELLS, sentence] + (a - 1) * n + j]
            else:
                score = work.words[SUMS, x, bit]
            if a != NULL:
                score += work.lines[SLOPE, q] * abs(a / m - (j + 1) / n)
            work.outputs[EMISSION, j, q] = score


@part(bare=True)
def exponentiate(work, n, s):
    """Turn the scores of paths into weights, the largest 1; returns the logarithm of the factor taken out."""
    lines, squares = work.lines, work.squares
    top_first, top_steps, top_last = -math.inf, -math.inf, -math.inf
    for p in range(s):
        top_first, top_last = max(top_first, lines[FIRST, p]), max(top_last, lines[LAST, p])
        for q in range(s):
            top_steps = max(top_steps, squares[STEPS, p, q])
    for p in range(s):
        lines[P_FIRST, p] = math.exp(lines[FIRST, p] - top_first)
        lines[P_LAST, p] = math.exp(lines[LAST, p] - top_last)
        for q in range(s):
            squares[P_STEPS, p, q] = math.exp(squares[STEPS, p, q] - top_steps)
            squares[P_TURNED, q, p] = squares[P_STEPS, p, q]
    return top_first + top_last + (n - 1) * top_steps


@part(bare=True)
def sum_paths(direction, sentence, s, side):
    """The log of the sum over all paths, without the factor that ``exponentiate`` took out; fills MARGINALS, TAKEN."""
    log_emissions(direction, sentence, s, side)
    work = direction.work
    _, n = lengths_of(direction.text, sentence)
    emission, factor = work.outputs[EMISSION], 0.0
    for j in range(n):
        top = -math.inf
        for q in range(s):
            top = max(top, emission[j, q])
        if top == -math.inf:
            return -math.inf
        for q in range(s):
            emission[j, q] = math.exp(emission[j, q] - top)
        factor += top
    lines, squares = work.lines, work.squares
    chain = Chain(lines[P_FIRST], emission, squares[P_STEPS : P_STEPS + 1], lines[P_LAST])
    taken = squares[TAKEN : TAKEN + 1]
    room = Room(work.outputs[MARGINALS], taken, lines[COMING], lines[REACHED], work.scales)
    return factor + expectations(n, s, chain, squares[P_TURNED : P_TURNED + 1], room)


@part(bare=True)
def _add(direction, sentence, s, side, sign):
    """Add ``sign`` times the expectations: to HITS or MASS, to the gradient of positions, to the surplus of steps."""
    text, neighbours, shape, learner, work = direction
    begin = text.starts[STATES, sentence]
    m, n = lengths_of(text, sentence)
    marginals = work.outputs[MARGINALS]
    null_row = len(neighbours.copies) - 1
    for q in range(s):
        a, bit = work.states[PLACE, q], work.states[BIT, q]
        x = null_row if a == NULL else text.states[begin + a - 1]
        lean, mass = 0.0, 0.0
        for j in range(n):
            value = sign * marginals[j, q]
            if side == CLAMPED:
                work.couples[HITS, _couple(text, neighbours, sentence, a, j, n)] += value
            mass += value
            lean += value * abs(a / m - (j + 1) / n)
        if side == FREE:
            work.words[MASS, x, bit] -= mass
        if a != NULL and shape.diag >= 0:
            learner.gradient[shape.diag] += lean
            learner.gradient[shape.diag_class + text.types[CLASS, x]] += lean
        work.lines[FIRST_SURPLUS, q] += sign * marginals[0, q]
        work.lines[LAST_SURPLUS, q] += sign * marginals[n - 1, q]
    for p in range(s):
        for q in range(s):
            work.squares[SURPLUS, p, q] += sign * work.squares[TAKEN, p, q]


@part(bare=True)
def _add_paths(shape, learner, work, s):
    """Give the surplus of every step to the gradient of its features."""
    rows = len(work.found) - 2
    for p in range(s + 2):
        for q in range(s):
            row = p if p < s else rows + p - s
            k = 0
            surplus = work.squares[SURPLUS, p, q] if p < s else work.lines[FIRST_SURPLUS + p - s, q]
            while work.found[row, q, k] >= 0:
                learner.gradient[work.found[row, q, k]] += surplus
                k += 1
            if p >= s:
                work.lines[FIRST_SURPLUS + p - s, q] = 0.0
                continue
            if shape.cycle >= 0 and is_cycle(work, p, q):
                learner.gradient[shape.cycle] += surplus
            work.squares[SURPLUS, p, q] = 0.0


@part(bare=True)
def _add_expectations(direction, sentence, clamped_share, free_share):
    """Both sums over a sentence pair, as logarithms: clamped and free.

    Adds ``clamped_share`` times what is expected given the outputs, and subtracts ``free_share`` times what is expected
    without them: for positions and paths in the learner's gradient, for couples in HITS and MASS.
    """
    s, work = lay_out(direction, sentence), direction.work
    _, n = lengths_of(direction.text, sentence)
    factor = exponentiate(work, n, s)
    sums = (0.0, 0.0)
    for side in range(2):
        total = sum_paths(direction, sentence, s, side)
        if total == -math.inf:
            return total, total
        share = clamped_share if side == CLAMPED else -free_share
        _add(direction, sentence, s, side, share)
        sums = (sums[1], total + factor)  # in the end the clamped sum, then the free one
    _add_paths(direction.shape, direction.learner, work, s)
    return sums


@part(bare=True)
def _score_row(neighbours, learner, work, x):
    """Score the couples of a word and add them up, the copy apart."""
    first, last = neighbours.row_starts[x], neighbours.row_starts[x + 1]
    copy, top = neighbours.copies[x], -math.inf
    scores = work.couples[SCORES]
    for couple in range(first, last):
        score = 0.0
        for f in range(neighbours.feature_starts[couple], neighbours.feature_starts[couple + 1]):
            score += weight(learner, np.int64(neighbours.features[f])) * neighbours.values[f]
        scores[couple] = score
        if couple != copy:
            top = max(top, score)
    total = 0.0
    for couple in range(first, last):
        if couple != copy:
            total += math.exp(scores[couple] - top)
    work.words[SUMS, x, 0] = top + math.log(total) if total > 0.0 else -math.inf
    work.words[SUMS, x, 1] = scores[copy] if copy >= 0 else -math.inf


@part(bare=True)
def _add_row(neighbours, learner, work, x):
    """Give the surplus of every couple of a word to the gradient of its features."""
    copy = neighbours.copies[x]
    for couple in range(neighbours.row_starts[x], neighbours.row_starts[x + 1]):
        bit = 1 if couple == copy else 0
        surplus = work.couples[HITS, couple]
        if work.words[MASS, x, bit] != 0.0:
            surplus -= work.words[MASS, x, bit] * math.exp(work.couples[SCORES, couple] - work.words[SUMS, x, bit])
        work.couples[HITS, couple] = 0.0
        for f in range(neighbours.feature_starts[couple], neighbours.feature_starts[couple + 1]):
            learner.gradient[neighbours.features[f]] += surplus * neighbours.values[f]
    work.words[MASS, x, 0] = 0.0
    work.words[MASS, x, 1] = 0.0


@part(bare=True)
def _list_words(text, neighbours, work, order, first, last):
    """List the types of the states of pairs ``order[first:last]``, the null word first; returns how many there are."""
    null_row = len(neighbours.copies) - 1
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


class Job(NamedTuple):
    """What to learn from, and how.

    - ``order`` int64: sentence pairs, of which those ``first`` to ``last`` - 1 are learned from, ``batch`` at a time;
    - ``rates`` float64, by batch of the whole order: where it is empty, no step is made and the learner is left with
      the gradient of the log-likelihood; ``penalty`` is what a weight pays at rate 1.
    """

    order: np.ndarray
    first: int
    last: int
    batch: int
    rates: np.ndarray
    penalty: float


@kernel(bare=True)
def learn(direction, job, clamped_share, free_share, sums):
    """Learn from sentence pairs in batches.

    The gradient of a batch is the mean of the expectations given the outputs, times ``clamped_share``, minus those
    without them, times ``free_share``. Adds the logarithms of both sums, before each step, to ``sums`` float64 (2,):
    their difference is the log-likelineighbours.
    """
    text, neighbours, _, learner, work = direction
    for begin in range(job.first, job.last, job.batch):
        end = min(begin + job.batch, job.last)
        share = 1.0 / (end - begin)
        count = _list_words(text, neighbours, work, job.order, begin, end)
        for k in range(count):
            _score_row(neighbours, learner, work, work.present[PRESENT, k])
        for k in range(begin, end):
            clamped, free = _add_expectations(direction, job.order[k], clamped_share * share, free_share * share)
            sums[0] += clamped
            sums[1] += free
        for k in range(count):
            _add_row(neighbours, learner, work, work.present[PRESENT, k])
        if len(job.rates) > 0:
            step(learner, job.rates[begin // job.batch], job.penalty)


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

    Fills ``links`` float32, cell by cell from that of the first pair on, and ``nulls`` float32, by output.
    """
    text, work = direction.text, direction.work
    cell = 0
    for sentence in range(first, last):
        m, n = lengths_of(text, sentence)
        start = text.starts[OUTPUTS, sentence] - text.starts[OUTPUTS, first]
        if min(m, n) == 0 or max(m, n) > LONGEST:
            for j in range(n):
                nulls[start + j] = 1.0
            cell += m * n
            continue
        s = lay_out(direction, sentence)
        exponentiate(work, n, s)
        sum_paths(direction, sentence, s, np.int64(CLAMPED))
        for j in range(n):
            for q in range(s):
                value = work.outputs[MARGINALS, j, q]
                if work.states[PLACE, q] == NULL:
                    nulls[start + j] += value
                else:
                    links[cell + (work.states[PLACE, q] - 1) * n + j] += value
        cell += m * n


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
