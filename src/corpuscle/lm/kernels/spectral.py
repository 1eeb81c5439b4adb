"""Hidden Markov models as observable operators: learned by linear algebra from counts of three symbols in a row.

**Operators.** A model with d dimensions has a belief b (d,), a row of ``outputs`` q_x and an operator B_x (d, d) for
each symbol x:

    p(x | past) = q_x . b,        b <- B_x b / (q_x . b)

Three forms of B_x: *full*, a matrix for each symbol; *reduced*, B_x = sum_j a_xj C_j, with a dual a_x (d,) for each
symbol and d matrices C_j; *hidden*, B_x = T diag(O[x]) with transitions T and emissions O, where b is a distribution
over hidden states. ``maps`` are these matrices, transposed, so that all inner loops run along memory.

Beliefs of estimated operators can leave the set where predictions are probabilities: when q_x . b nearly vanishes, or b
grows beyond bounds, the belief begins anew.

**Learning.** A hidden Markov model with k states gives a sentence the probability 1' A_(x_m) ... A_(x_1) pi with A_x =
T diag(O[x]). The states cannot be seen, but any basis of their space does as well, and singular vectors of the matrix
of pairs of neighbours are one. With windows (x1, x2, x3) at all positions of all sentences,

    P1[a] = p(x1 = a),   P21[b, a] = p(x2 = b, x1 = a),   P3x1[c, a] = p(x3 = c, x2 = x, x1 = a),

an (n, d) matrix U with U'O invertible, and the distribution Start of first symbols,

    b_1 = U' Start,   b_inf' = P1' G,   B_x = U' P3x1 G,
    p(x_1 ... x_m) = b_inf' B_(x_m) ... B_(x_1) b_1                                       (full operators)

are the same model in another basis, whatever G (n, d) inverts U' P21 on its range: G = (U' P21)^+, or V (U' P21 V)^-1
with right singular vectors V, which is the same, or with canonical directions, which is not: that weighs symbols by
how reliable they are, and does better on text. Every sentence ends in three end symbols, of which the model predicts
the first: an end state from which there is no return, so d = k + 1. All moments come from the same windows; only b_1
from sentence starts. With u_x the rows of U and g_x those of G, the middle symbol can be reduced, too:

    C(y) = E[u_(x3) g_(x1)' (y . u_(x2))],   B_x = C(a_x)                                 (reduced operators)

(Foster, Rodu and Ungar have G = U (U' P21 U)^-1), where a_x is the *dual* of u_x: rows of A with A'U = I and the range
of O. That of singular vectors of P21 is U itself; that of canonical directions, U = P^-1 O M for a diagonal P, is
P U (U' P U)^-1.

The parameters themselves (``recover``): with F = sum_x B_x and a random weight of each symbol, the eigenvectors V of
F^-1 (sum_x weight_x B_x), scaled to b_inf' v = 1, are the states, and O[x] = diag(V^-1 F^-1 B_x V), T = V^-1 F V,
pi = V^-1 b_1.

Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009, eq. 2-5, section 3 (b,
B_x; their b_inf' B_x is q_x) and appendix C; Foster, Rodu and Ungar, "Spectral dimensionality reduction for HMMs", 2012
(C_j); Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989 (T, O). n
symbols, d dimensions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.linalg.cca import diagonal_cca, duals_of
from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.random import Random
from corpuscle.scale import each

FULL, REDUCED, HIDDEN = 0, 1, 2
"""The forms of operators."""
SMALL = 1e-8
"""A belief begins anew after a symbol that it gives less probability; distributions over states: none at all."""
LARGE = 1e3
"""A belief begins anew when its norm is this multiple of that of the first one."""
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


PADS = 3
"""How many end symbols a sentence has: with fewer the moments lack a rank."""
_NUMBERS = 1 << 22
"""About how many numbers of operators are summed up at a time."""
_TRIES = 20


class Projection(NamedTuple):
    """A basis of the space of states: ``basis`` U, its ``duals`` A and ``inverse`` G, float64 (n, d), and ``values``
    (d or d + 1,), the first singular values of P21, or correlations, the last of them beyond the basis."""

    basis: np.ndarray
    duals: np.ndarray
    inverse: np.ndarray
    values: np.ndarray


class Parameters(NamedTuple):
    """A hidden Markov model: ``first`` pi (d,), ``steps`` T (d, d), ``emission`` O (n, d); columns add up to one."""

    first: np.ndarray
    steps: np.ndarray
    emission: np.ndarray


# ---- windows


def padded(tokens: np.ndarray, starts: np.ndarray, end: int, last: int, pads: int = PADS) -> np.ndarray:
    """The stream of all sentences with ``pads`` symbols ``end`` behind each, int32; the very last one is ``last``."""
    stream = np.insert(tokens, np.repeat(starts[1:], pads), end).astype(np.int32)
    stream[starts[1:] + pads * np.arange(1, len(starts)) - 1] = last
    return stream


def windows_of(ngrams: Ngrams, end: int) -> Windows:
    """The windows of a padded stream from its n-grams of order 3; its last symbol stands for ``end``."""
    first_pair, first_triple = ngrams.levels[1:3].tolist()
    n = first_pair - 1
    edges = ngrams.first_child[first_pair:].astype(np.int64) - first_triple
    firsts = np.repeat(np.arange(first_pair, dtype=np.int32), np.diff(ngrams.first_child[: first_pair + 1]))
    middles = ngrams.words[first_pair:first_triple]
    lasts, shares = ngrams.words[first_triple:], ngrams.counts[first_triple:].astype(np.float64)
    shares /= shares.sum()
    continued = np.flatnonzero(edges[:-1] < edges[1:])
    sums = np.add.reduceat(shares, edges[continued])
    order = np.argsort(middles[continued], kind="stable")
    pairs = continued[order]
    places = np.searchsorted(middles[pairs], np.arange(n + 1)).astype(np.int64)
    lasts = np.where(lasts == n, end, lasts).astype(np.int32)
    return Windows(firsts[pairs], places, sums[order], edges[pairs], edges[pairs + 1], lasts, shares)


def pairs_of(windows: Windows) -> Rows:
    """P21, of shape (n, n): rows are second symbols."""
    return Rows(windows.places, windows.firsts, windows.sums, len(windows.places) - 1)


# ---- the basis


def inverse_of(windows: Windows, basis: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """G (n, d) of a basis U: V (U' P21 V)^-1 for directions V (n, d) of first symbols, or else (U' P21)^+."""
    reached = SparseOperator(pairs_of(windows), 1).rmatmat(basis).T
    return np.linalg.pinv(reached) if right is None else right @ np.linalg.pinv(reached @ right)


def project(windows: Windows, dimensions: int, how: str, kappa: float = 0.0, workers: int | None = None) -> Projection:
    """A basis of ``dimensions`` columns, ``how``: "svd" of P21, or "cca" of second with first symbols, where ``kappa``,
    a probability, is added to that of every symbol that occurs."""
    pairs = pairs_of(windows)
    wanted = min(dimensions + 1, pairs.width)
    if how == "svd":
        left, values, right = krylov_svd(SparseOperator(pairs, workers), wanted)
        weights = None
    else:
        weights, firsts = (np.where(sums > 0, sums + kappa, 0.0) for sums in (pairs.row_sums(), pairs.column_sums()))
        left, values, right = diagonal_cca(pairs, weights, firsts, wanted, workers=workers)
    left, right = (np.ascontiguousarray(side[:, :dimensions]) for side in (left, right))
    return Projection(left, duals_of(left, weights), inverse_of(windows, left, right), values)


# ---- operators


def estimated_operators(
    windows: Windows, projection: Projection, opening: np.ndarray, workers: int | None = None, *, reduced: bool = False
) -> Operators:
    """B_x for every symbol, or, ``reduced``, C_j for every dimension with the duals of all symbols; ``opening`` (n,):
    the distribution of first symbols."""
    basis, inverse = np.ascontiguousarray(projection.basis), np.ascontiguousarray(projection.inverse)
    n, d = basis.shape
    size = max(1, _NUMBERS // d**2)
    maps = np.empty((0 if reduced else n, d, d))

    def products(low: int) -> Any:
        found = np.empty((min(size, n - low), d, d)) if reduced else maps[low : low + size]
        sum_products(windows, basis, inverse, low, found)
        return basis[low : low + size].T @ found.reshape(len(found), d * d) if reduced else None

    parts = each(products, range(0, n, size), workers)
    if reduced:
        maps = sum(parts, np.zeros((d, d * d))).reshape(d, d, d)
    duals = np.ascontiguousarray(projection.duals) if reduced else np.empty((0, d))
    firsts = pairs_of(windows).column_sums()
    outputs = maps @ (inverse.T @ firsts)
    return Operators(basis.T @ opening, basis.T @ firsts, duals @ outputs if reduced else outputs, duals, maps)


def hidden_operators(parameters: Parameters, anew: np.ndarray | None = None) -> Operators:
    """The operators of known parameters; ``anew`` (d,): the states of an unknown past, by default of the start."""
    first, steps, emission = (np.ascontiguousarray(array, np.float64) for array in parameters)
    maps = np.ascontiguousarray(steps.T)[None]
    return Operators(first, first if anew is None else anew, emission, emission, maps)


# ---- what operators stand for


def _weighted(operators: Operators, weights: np.ndarray) -> np.ndarray:
    """The sum over symbols of weights (n,) times B_x, transposed, (d, d)."""
    each_map = weights @ operators.duals if len(operators.duals) else weights
    return np.tensordot(each_map, operators.maps, 1)


def _remainder(vectors: np.ndarray, matrices: list[np.ndarray]) -> float:
    """How far eigenvectors are from diagonalising matrices: what is off the diagonals, and imaginary parts."""
    if np.linalg.cond(vectors) > 1e12:
        return np.inf
    found = np.linalg.solve(vectors, np.array(matrices) @ vectors)
    diagonals = np.einsum("mii->mi", found)
    wanted = (diagonals.real**2).sum()
    return float(((np.abs(found) ** 2).sum() - wanted) / wanted)


def recover(operators: Operators, seed: int = 1) -> Parameters:
    """The parameters of a hidden Markov model from full or reduced operators: real parts, where they are probabilities
    or not. Of several random weights those are taken whose eigenvectors come closest to diagonalising all the others,
    as the states do."""
    total = _weighted(operators, np.ones(len(operators.outputs))).T  # F
    random = Random(seed, "spectral recovery")
    draws = (2.0 * random.uniforms(len(operators.outputs)) - 1.0 for _ in range(_TRIES))
    mixed = [np.linalg.solve(total, _weighted(operators, weights).T) for weights in draws]
    states = min((np.linalg.eig(matrix)[1] for matrix in mixed), key=lambda vectors: _remainder(vectors, mixed))
    states = states / (operators.outputs.sum(axis=0) @ states)
    back = np.linalg.inv(states)
    products = (states[:, None, :] * (back @ np.linalg.inv(total)).T).reshape(-1, len(total))  # [(b, a), i]
    emission = operators.maps.reshape(len(operators.maps), -1) @ products
    if len(operators.duals):
        emission = operators.duals @ emission
    found = back @ operators.start, back @ total @ states, emission
    return Parameters(*(np.ascontiguousarray(array.real) for array in found))
