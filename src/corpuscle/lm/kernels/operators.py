"""Observable operators: sums over windows of three symbols, the belief after each symbol of a text, predictions.

A model with d dimensions has a belief b (d,), a row of ``outputs`` q_x and an operator B_x (d, d) for each symbol x:

    p(x | past) = q_x . b,        b <- B_x b / (q_x . b)

Three forms of B_x: *full*, a matrix for each symbol; *reduced*, B_x = sum_j a_xj C_j, with a dual a_x (d,) for each
symbol and d matrices C_j; *hidden*, B_x = T diag(O[x]) with transitions T and emissions O, where b is a distribution
over hidden states. ``maps`` are these matrices, transposed, so that all inner loops run along memory.

Beliefs of estimated operators can leave the set where predictions are probabilities: when q_x . b nearly vanishes, or b
grows beyond bounds, the belief begins anew.

Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009, section 3 (b, B_x; their b_inf'
B_x is q_x); Foster, Rodu and Ungar, "Spectral dimensionality reduction for HMMs", 2012 (C_j); Rabiner, "A tutorial on
hidden Markov models and selected applications in speech recognition", 1989 (T, O).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

FULL, REDUCED, HIDDEN = 0, 1, 2
"""The forms of operators."""
SMALL = 1e-8
"""A belief begins anew after a symbol that it gives less probability; distributions over states: none at all."""
LARGE = 1e3
"""A belief begins anew when it is so many times longer than the first one."""
_BLOCK = 256


class Windows(NamedTuple):
    """The windows of three symbols of a text: pairs of the first two, each with its continuations.

    - ``firsts`` int32 (pairs,): the first symbol of each, sorted by the second; ``places`` int64 (symbols + 1,): where
      those of each second symbol begin; ``sums`` float64 (pairs,): the share of each among all windows;
    - ``begins``, ``ends`` int64 (pairs,): where the continuations of each stand among ``lasts`` int32 (triples,), with
      ``shares`` float64 (triples,), which add up to one.
    """

    firsts: np.ndarray
    places: np.ndarray
    sums: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    lasts: np.ndarray
    shares: np.ndarray


class Operators(NamedTuple):
    """A model as kernels need it, float64.

    - ``start`` (d,): the belief before the first symbol; ``anew`` (d,): that of an unknown past;
    - ``outputs`` (symbols, d); ``duals`` (symbols, d), of full operators (0, d);
    - ``maps`` (symbols, d, d) of full, (d, d, d) of reduced, (1, d, d) of hidden operators; transposed.
    """

    start: np.ndarray
    anew: np.ndarray
    outputs: np.ndarray
    duals: np.ndarray
    maps: np.ndarray


@kernel
def sum_products(windows, left, right, low, result):
    """Fill ``result`` (m, d, d): for each middle symbol from ``low`` on, the sum over windows (a, x, c) of their shares
    times the transpose of left[c] right[a]'."""
    d = left.shape[1]
    row = np.empty(d)
    for number in range(len(result)):
        total = result[number]
        total[:] = 0.0
        for pair in range(windows.places[low + number], windows.places[low + number + 1]):
            row[:] = 0.0
            for at in range(windows.begins[pair], windows.ends[pair]):
                share, other = windows.shares[at], left[windows.lasts[at]]
                for i in range(d):
                    row[i] += share * other[i]
            first = right[windows.firsts[pair]]
            for j in range(d):
                weight, to = first[j], total[j]
                for i in range(d):
                    to[i] += weight * row[i]


@part(bare=True)
def _multiply(form, operators, symbol, belief, room, result):
    """B_x b; ``room`` (d, d)."""
    d = len(belief)
    result[:] = 0.0
    # maps are transposed, so that the inner loops run along memory
    if form == HIDDEN:
        for j in range(d):
            share, to = belief[j] * operators.duals[symbol, j], operators.maps[0, j]
            if share > 0.0:
                for i in range(d):
                    result[i] += share * to[i]
        return
    if form == FULL:
        matrix = operators.maps[symbol]
    else:
        matrix = room
        matrix[:] = 0.0
        for j in range(d):
            weight, part = operators.duals[symbol, j], operators.maps[j]
            for k in range(d):
                for i in range(d):
                    matrix[k, i] += weight * part[k, i]
    for k in range(d):
        share, to = belief[k], matrix[k]
        for i in range(d):
            result[i] += share * to[i]


@kernel
def trace(form, operators, symbols, starts, beliefs):
    """Fill ``beliefs`` (n, d) with the belief before each symbol of some sentences (``starts`` int64, where each
    begins); returns how often a belief began anew."""
    d, resets = len(operators.start), 0
    room, result = np.empty((d, d)), np.empty(d)
    # probabilities are right down to 0; estimated operators are lost where a prediction is small or a belief long
    smallest = 0.0 if form == HIDDEN else SMALL
    longest = 0.0
    for i in range(d):
        longest += operators.start[i] ** 2
    longest *= LARGE**2
    for sentence in range(len(starts) - 1):
        for at in range(starts[sentence], starts[sentence + 1]):
            if at == starts[sentence]:
                beliefs[at] = operators.start
            if at + 1 == starts[sentence + 1]:
                break
            symbol, belief, after = symbols[at], beliefs[at], beliefs[at + 1]
            total = 0.0
            for i in range(d):
                total += operators.outputs[symbol, i] * belief[i]
            length = math.inf
            if total > smallest:
                _multiply(form, operators, symbol, belief, room, result)
                length = 0.0
                for i in range(d):
                    after[i] = result[i] / total
                    length += after[i] ** 2
            if not length <= longest:  # also where it is no number
                after[:] = operators.anew
                resets += 1
    return resets


@kernel
def clipped_totals(outputs, beliefs, floors, totals):
    """Fill ``totals`` (n,) with the sum over all symbols of their predictions, none of which is less than its floor:
    ``outputs`` (d, symbols), ``beliefs`` (n, d), ``floors`` (symbols,)."""
    d, width = outputs.shape
    room = np.empty(_BLOCK)
    totals[:] = 0.0
    for low in range(0, width, _BLOCK):  # a block of outputs stays in the cache for all beliefs
        size = min(_BLOCK, width - low)
        row = room[:size]
        for at in range(len(beliefs)):
            belief = beliefs[at]
            row[:] = 0.0
            for k in range(0, d - 3, 4):
                w0, w1, w2, w3 = belief[k], belief[k + 1], belief[k + 2], belief[k + 3]
                r0, r1 = outputs[k, low : low + size], outputs[k + 1, low : low + size]
                r2, r3 = outputs[k + 2, low : low + size], outputs[k + 3, low : low + size]
                for x in range(size):
                    row[x] += (w0 * r0[x] + w1 * r1[x]) + (w2 * r2[x] + w3 * r3[x])
            for k in range(d - d % 4, d):
                w0, r0 = belief[k], outputs[k, low : low + size]
                for x in range(size):
                    row[x] += w0 * r0[x]
            total = 0.0
            for x in range(size):
                total += max(row[x], floors[low + x])
            totals[at] += total
