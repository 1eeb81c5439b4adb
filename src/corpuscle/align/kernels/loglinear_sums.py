"""Sums over all paths through the states of a sentence pair, and what they expect: see ``loglinear``.

A sum is over the alignments of the outputs that are there (``CLAMPED``) or over those of all outputs that the
neighbourhood allows (``FREE``).

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3.2: ``FREE`` sums
over the discriminative neighbourhood, ``CLAMPED`` over its paths that spell the target sentence.
"""

from __future__ import annotations

import math

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
    MARGINALS,
    MASS,
    NULL,
    OUTPUTS,
    P_FIRST,
    P_LAST,
    P_STEPS,
    P_TURNED,
    PLACE,
    REACHED,
    SCORES,
    SLOPE,
    STATES,
    STEPS,
    SUMS,
    SURPLUS,
    TAKEN,
    is_cycle,
    lay_out,
)
from corpuscle.compiled import kernel_bare
from corpuscle.engine.dp.chains import Chain, Room, expectations

__all__ = ["CLAMPED", "FREE", "add_expectations", "exponentiate", "log_emissions", "sum_paths"]

CLAMPED, FREE = 0, 1


@kernel_bare
def _couple(text, hood, sentence, a, j, n):
    """The couple of place ``a`` and output ``j``."""
    if a == NULL:
        return hood.null_cells[text.outputs[text.starts[OUTPUTS, sentence] + j]]
    return text.cells[text.starts[CELLS, sentence] + (a - 1) * n + j]


@kernel_bare
def log_emissions(text, hood, work, sentence, s, side):
    """Scores of every output (free: of all outputs together) from every state, as EMISSION."""
    begin = text.starts[STATES, sentence]
    m, n = (
        text.starts[STATES, sentence + 1] - begin,
        text.starts[OUTPUTS, sentence + 1] - text.starts[OUTPUTS, sentence],
    )
    null_row = len(hood.copies) - 1
    for j in range(n):
        for q in range(s):
            a, bit = work.states[PLACE, q], work.states[BIT, q]
            x = null_row if a == NULL else text.states[begin + a - 1]
            if side == CLAMPED:
                couple = _couple(text, hood, sentence, a, j, n)
                score = work.couples[SCORES, couple] if (couple == hood.copies[x]) == (bit == 1) else -math.inf
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


@kernel_bare
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


@kernel_bare
def sum_paths(text, hood, work, sentence, s, side):
    """The log of the sum over all paths, without the factor that ``exponentiate`` took out; fills MARGINALS, TAKEN."""
    log_emissions(text, hood, work, sentence, s, side)
    n = text.starts[OUTPUTS, sentence + 1] - text.starts[OUTPUTS, sentence]
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


@kernel_bare
def _add(text, hood, shape, learner, work, sentence, s, side, sign):
    """Add ``sign`` times what is expected: to HITS or MASS, to the gradient of positions, to the surplus of steps."""
    begin = text.starts[STATES, sentence]
    m, n = (
        text.starts[STATES, sentence + 1] - begin,
        text.starts[OUTPUTS, sentence + 1] - text.starts[OUTPUTS, sentence],
    )
    marginals = work.outputs[MARGINALS]
    null_row = len(hood.copies) - 1
    for q in range(s):
        a, bit = work.states[PLACE, q], work.states[BIT, q]
        x = null_row if a == NULL else text.states[begin + a - 1]
        lean, mass = 0.0, 0.0
        for j in range(n):
            value = sign * marginals[j, q]
            if side == CLAMPED:
                work.couples[HITS, _couple(text, hood, sentence, a, j, n)] += value
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


@kernel_bare
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


@kernel_bare
def add_expectations(text, hood, shape, learner, work, sentence, clamped_share, free_share):
    """Both sums over a sentence pair, as logarithms: clamped and free.

    Adds ``clamped_share`` times what is expected given the outputs, and subtracts ``free_share`` times what is expected
    without them: for positions and paths in the learner's gradient, for couples in HITS and MASS.
    """
    s = lay_out(text, hood, shape, learner, work, sentence)
    n = text.starts[OUTPUTS, sentence + 1] - text.starts[OUTPUTS, sentence]
    factor = exponentiate(work, n, s)
    sums = (0.0, 0.0)
    for side in range(2):
        total = sum_paths(text, hood, work, sentence, s, side)
        if total == -math.inf:
            return total, total
        share = clamped_share if side == CLAMPED else -free_share
        _add(text, hood, shape, learner, work, sentence, s, side, share)
        sums = (sums[1], total + factor)
    _add_paths(shape, learner, work, s)
    return sums
