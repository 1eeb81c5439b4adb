"""A globally normalised log-linear model of one sentence pair.

Each output t_j comes from a position a_j of the other side, 0 being the null word:

    p(t, a | s) = exp(theta . H(t, a, s)) / Z(s)
    H = sum over j of lex(s_a, t_j) + pos(a_j, j) + path(a_{j-1}, a_j) + cycle

Z sums over all alignments and over all outputs that the *neighbourhood* of each state's word allows; an entry of that
table, a state type with an output type, is a couple. ``lex`` is a list of features for every couple. All couples of a
word are parallel edges between the same states, so their weights are added up once for each word; what remains is a
chain over states. The likelihood needs two sums over that chain: *clamped* to the outputs that are there, and *free*;
its gradient is the difference of the features expected under both. This module has the records and lays out the states
and steps of a sentence pair; ``loglinear_paths`` sums over them, learns and aligns.

States of a sentence pair: the null word (with ``remember``: a null copy for each position, which remembers it), and
each position of a word. A position whose word can be copied (its neighbourhood has the same string) has two states, one
that emits the copy and one that emits the rest, so that a feature can see a copy follow another translation. Distances
are binned by their logarithm. A place is a position from 1, ``NULL``, ``BEGIN`` or ``STOP``.

The weights are learned online (``Online``) by stochastic gradient ascent with an L1 penalty. Cumulative: every step may
take up to ``rate * penalty`` from the size of every weight; ``owed`` is the total that each weight could have paid by
now, ``paid`` what each has paid. Weights that cannot pay become zero, until a gradient is strong enough. Adaptive: the
rate of each weight is divided by the root of its squared gradients so far, so that rare features learn as fast as
frequent ones; the penalty shrinks weights at the same rates. A step touches only the features that are active in it: a
feature settles what it owes when it is next read, with the same result as if all had been charged after every step.
``weight`` reads (and makes active), ``gradient`` is added to, ``step`` moves all active weights and begins the next
turn. A learner whose clock is negative only reads.

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011: the model is that of section
2, the neighbourhood that of section 3.3, the features of a path and the similarity those of section 4. Their a_j, s, t,
n, H and theta are ours; their Omega_s is the neighbourhood of s. Tsuruoka, Tsujii and Ananiadou, "Stochastic gradient
descent training for L1-regularized log-linear models with cumulative penalty", 2009 (``owed`` and ``paid`` are their u
and q); Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011;
Wagner and Fischer, "The string-to-string correction problem", 1974 (``similarities``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

NULL, BEGIN, STOP = 0, -1, -2
CLASS_UNKNOWN, CLASS_BEGIN, CLASS_STOP, CLASS_NULL, FIRST_CLASS = 0, 1, 2, 3, 4
"""Classes that no learned class stands for; learned ones follow."""
_CLASSES = CLASS_NULL, CLASS_BEGIN, CLASS_STOP  # of NULL, BEGIN and STOP

BINS = 25
"""Bins of lengths and distances: round(log1.3 d), the last for all that is longer."""
SYMBOLS = 2 * BINS + 1
"""Kinds of jumps: none, forwards and backwards by each bin."""
LONGEST = 1000
"""Sentence pairs with a longer side are not aligned: the table of steps would be too large."""
PATHS = 7
"""The most features that a step from one place to another has."""


class Text(NamedTuple):
    """One direction of sentence pairs.

    - ``states``, ``outputs``: int32, the types of all tokens;
    - ``cells``: int32, the couple of each state and output, state by state, the number of couples if it is not in the
      neighbourhood; ``bigrams``: int32, the number of each two states' bigram, row by row, -1 for unknown ones;
    - ``starts``: int64 (4, n_pairs + 1), where the STATES, OUTPUTS, CELLS and BIGRAMS of each pair begin;
    - ``types``: int32 (2, state types), the CLASS of each and its number in the model (KNOWN);
    - ``bins``: int32, by distance, at least up to the longest sentence and 2;
    - ``guide``: float32, what is added to the score of each state (in the order of ``cells``) given the outputs, and
      ``null_guide``: float32, by output, to that of the null word; both are empty where nothing is.
    """

    states: np.ndarray
    outputs: np.ndarray
    cells: np.ndarray
    bigrams: np.ndarray
    starts: np.ndarray
    types: np.ndarray
    bins: np.ndarray
    guide: np.ndarray
    null_guide: np.ndarray


STATES, OUTPUTS, CELLS, BIGRAMS = range(4)
CLASS, KNOWN = range(2)


class Neighbours(NamedTuple):
    """A neighbourhood and the features of its couples.

    - ``row_starts``: int64 (state types + 2,), the couples of each type, of the null word last;
    - ``null_cells``: int32 (output types,), the null word's couple with each, the number of couples if there is none;
    - ``copies``: int32 (state types + 1,), the couple that is a copy, -1 if there is none;
    - ``feature_starts``: int64 (n_couples + 1,), ``features`` int32 and ``values`` float64.
    """

    row_starts: np.ndarray
    null_cells: np.ndarray
    copies: np.ndarray
    feature_starts: np.ndarray
    features: np.ndarray
    values: np.ndarray


class Shape(NamedTuple):
    """Where the features of positions and paths begin, -1 for those that are not used; then the number of classes and
    of the model's state types, and whether null words remember the position before them (1) or not (0)."""

    diag: int
    diag_class: int
    jump: int
    jump_length: int
    jump_class: int
    jump_classes: int
    bigram: int
    bigram_edge: int
    bigram_classes: int
    nulljump: int
    cycle: int
    classes: int
    types: int
    remember: int


class Work(NamedTuple):
    """Buffers, few and large: the fewer arrays a kernel has, the faster it compiles.

    - ``couples``: (2, n_couples + 1), the SCORES of couples and their clamped expectations (HITS);
    - ``words``: (2, state types + 1, 2), by copy bit, the log of the SUMS over the couples of a word and its free
      expectation (MASS); ``present``: int64 (2, state types + 1), for listing the words of a batch;
    - ``states``: int64 (3, s), the PLACE of each state, where jumps from it start (MEMORY, -1: nowhere), its copy BIT;
    - ``lines``: (9, s), ``squares``: (5, s, s), ``outputs``: (2, n, s), ``scales``: (n,): by state, two states, or
      output and state, see the names below; P_... are weights, others are logarithms of weights or expectations;
    - ``found``: int32 (s + 2, s, PATHS + 1), the features of each step; those of the first and last come last.
    """

    couples: np.ndarray
    words: np.ndarray
    present: np.ndarray
    states: np.ndarray
    lines: np.ndarray
    squares: np.ndarray
    outputs: np.ndarray
    scales: np.ndarray
    found: np.ndarray


SCORES, HITS = range(2)
SUMS, MASS = range(2)
TURN, PRESENT = range(2)
PLACE, MEMORY, BIT = range(3)
SLOPE, FIRST, LAST, P_FIRST, P_LAST, FIRST_SURPLUS, LAST_SURPLUS, COMING, REACHED = range(9)
STEPS, P_STEPS, P_TURNED, TAKEN, SURPLUS = range(5)
EMISSION, MARGINALS = range(2)


class Direction(NamedTuple):
    """One direction of some sentence pairs, and all that kernels need to know and use."""

    text: Text
    neighbours: Neighbours
    shape: Shape
    learner: Online
    work: Work


def workspace(text: Text, neighbours: Neighbours, shape: Shape) -> Work:
    """Buffers that are large enough for every pair of a text, except those that are too long."""
    m, n = np.diff(text.starts[STATES]), np.diff(text.starts[OUTPUTS])
    short = (m <= LONGEST) & (n <= LONGEST)
    copies = np.concatenate([[0], np.cumsum(neighbours.copies[text.states] >= 0)])
    states = 1 + m + np.diff(copies[text.starts[STATES]]) + (m if shape.remember else 0)
    n, s = int(n[short].max(initial=1)), int(states[short].max(initial=1))
    couples, types = len(neighbours.feature_starts) - 1, len(neighbours.copies) - 1
    work = Work(
        np.zeros((2, couples + 1)),
        np.zeros((2, types + 1, 2)),
        np.zeros((2, types + 1), np.int64),
        np.zeros((3, s), np.int64),
        np.zeros((9, s)),
        np.zeros((5, s, s)),
        np.zeros((2, n, s)),
        np.zeros(n),
        np.zeros((s + 2, s, PATHS + 1), np.int32),
    )
    work.couples[SCORES] = -np.inf
    return work


@part(inline=True)
def lengths_of(text, sentence):
    """How many states and outputs a sentence pair has."""
    m = text.starts[STATES, sentence + 1] - text.starts[STATES, sentence]
    return m, text.starts[OUTPUTS, sentence + 1] - text.starts[OUTPUTS, sentence]


@part(bare=True)
def _class_at(text, begin, place):
    if place <= 0:
        return _CLASSES[-place]
    return text.types[CLASS, text.states[begin + place - 1]]


@part(bare=True)
def _bigram(text, shape, sentence, before, after):
    """The feature of two words that outputs come from one after the other, -1 if there is none."""
    begin = text.starts[STATES, sentence]
    if before > 0 and after > 0:
        m, _ = lengths_of(text, sentence)
        known = text.bigrams[text.starts[BIGRAMS, sentence] + (before - 1) * m + after - 1]
        return shape.bigram + known if known >= 0 else -1
    if before > 0 or after > 0:  # a word, then null or the end; or null or the beginning, then a word
        kind = int(after == STOP) if before > 0 else 2 + int(before == BEGIN)
        word = text.types[KNOWN, text.states[begin + max(before, after) - 1]]
        return shape.bigram_edge + kind * shape.types + word
    return shape.bigram_edge + 4 * shape.types + (2 if before == BEGIN else 1 if after == STOP else 0)


@part(bare=True)
def _step(direction, sentence, before, memory, after, target, found):
    """The score of a step from place ``before`` to ``after``; jumps go from ``memory`` to ``target``.

    Fills ``found`` int32 (PATHS + 1,) with its features and -1 behind them.
    """
    text, shape = direction.text, direction.shape
    begin = text.starts[STATES, sentence]
    _, n = lengths_of(text, sentence)
    k = 0
    right = _class_at(text, begin, after)
    if shape.jump >= 0 and memory >= 0 and after != NULL:
        distance = target - memory
        kind = 0
        if distance != 0:
            kind = 1 + text.bins[abs(distance)] + (BINS if distance < 0 else 0)
        left = _class_at(text, begin, BEGIN if memory == 0 else memory)
        found[0] = shape.jump + kind
        found[1] = shape.jump_length + kind * BINS + text.bins[n]
        found[2] = shape.jump_class + kind * shape.classes + right
        found[3] = shape.jump_classes + (kind * shape.classes + left) * shape.classes + right
        k = 4
    if shape.bigram >= 0:
        words = _bigram(text, shape, sentence, before, after)
        if words >= 0:
            found[k] = words
            k += 1
        found[k] = shape.bigram_classes + _class_at(text, begin, before) * shape.classes + right
        k += 1
    if shape.nulljump >= 0:
        found[k] = shape.nulljump + 2 * (before == NULL) + (after == NULL)
        k += 1
    found[k] = -1
    score = 0.0
    for f in range(k):
        score += weight(direction.learner, np.int64(found[f]))
    return score


@part(bare=True)
def _list_states(direction, sentence):
    """The states of a sentence pair; returns how many there are."""
    text, neighbours, shape, learner, work = direction
    m, _ = lengths_of(text, sentence)
    begin = text.starts[STATES, sentence]
    states, s = work.states, 0
    for k in range(m + 1 if shape.remember else 1):
        states[PLACE, s], states[MEMORY, s], states[BIT, s] = NULL, k if shape.remember else -1, 0
        work.lines[SLOPE, s] = 0.0
        s += 1
    for a in range(1, m + 1):
        x = text.states[begin + a - 1]
        slope = 0.0
        if shape.diag >= 0:
            slope = weight(learner, shape.diag) + weight(learner, shape.diag_class + text.types[CLASS, x])
        for bit in range(2 if neighbours.copies[x] >= 0 else 1):
            states[PLACE, s], states[MEMORY, s], states[BIT, s] = a, a, bit
            work.lines[SLOPE, s] = slope
            s += 1
    return s


@part(bare=True)
def is_cycle(work, p, q):
    """Whether a step stays with one word, which gives a copy of itself only once."""
    states = work.states
    same = states[PLACE, q] != NULL and states[PLACE, p] == states[PLACE, q]
    return same and states[BIT, p] != states[BIT, q]


@part(bare=True)
def lay_out(direction, sentence):
    """The states of a sentence pair and the scores of all steps between them; returns how many states there are."""
    text, _, shape, learner, work = direction
    m, _ = lengths_of(text, sentence)
    s = _list_states(direction, sentence)
    rows = len(work.found) - 2
    for p in range(-1, s):  # -1 is the beginning of the sentence, s its end
        before, memory = (BEGIN, 0) if p < 0 else (work.states[PLACE, p], work.states[MEMORY, p])
        for q in range(s if p < 0 else s + 1):
            after, target = (STOP, m + 1) if q == s else (work.states[PLACE, q], work.states[MEMORY, q])
            found = work.found[rows, q] if p < 0 else work.found[rows + 1, p] if q == s else work.found[p, q]
            if after == NULL and target >= 0 and target != memory:  # a null copy remembers nothing else
                score = -math.inf
                found[0] = -1
            else:
                score = _step(direction, sentence, before, memory, after, target, found)
            if p < 0:
                work.lines[FIRST, q] = score
            elif q == s:
                work.lines[LAST, p] = score
            else:
                if shape.cycle >= 0 and is_cycle(work, p, q):
                    score += weight(learner, shape.cycle)
                work.squares[STEPS, p, q] = score
    return s


_DAMPING = 0.01
"""Squares that every weight begins with, so that its first gradients, however small, do not move it by a full rate."""


class Online(NamedTuple):
    """A learner of n weights.

    - ``weights``, ``gradient``: float64 (n,); ``paid``: float64 (n,), what each weight has paid (negative where it was
      positive), or, adaptive, ``owed`` when it last paid;
    - ``squares``: float64 (n,), sums of squared gradients, empty unless adaptive;
    - ``turns``: int32 (n,), the last turn in which each was active; ``active``: int32 (n,), those of this turn;
    - ``clock``: int64 (2,), the number of this turn, and how many are active;
    - ``owed``: float64 (1,), what each weight could have paid until now.
    """

    weights: np.ndarray
    gradient: np.ndarray
    paid: np.ndarray
    squares: np.ndarray
    turns: np.ndarray
    active: np.ndarray
    clock: np.ndarray
    owed: np.ndarray


def learner_of(weights: np.ndarray, paid: np.ndarray, squares: np.ndarray, owed: float) -> Online:
    """A learner at the beginning of a turn, adaptive unless ``squares`` is empty; the three arrays change with it."""
    n = len(weights)
    turns, active = np.zeros(n, np.int32), np.zeros(n, np.int32)
    clock = np.array([1, 0], np.int64)
    return Online(weights, np.zeros(n), paid, squares, turns, active, clock, np.array([owed], np.float64))


def reader_of(weights: np.ndarray) -> Online:
    """A learner that only reads: it may be shared by threads."""
    none, nobody = np.zeros(0), np.zeros(0, np.int32)
    return Online(weights, none, none, none, nobody, nobody, np.array([-1, 0], np.int64), np.zeros(1))


@part(bare=True)
def _settle(learner, i):
    """Let weight i pay what it owes, as far as it can."""
    before = learner.weights[i]
    if len(learner.squares) > 0:
        due = (learner.owed[0] - learner.paid[i]) / math.sqrt(learner.squares[i] + _DAMPING)
        learner.weights[i] = max(0.0, before - due) if before > 0.0 else min(0.0, before + due)
        learner.paid[i] = learner.owed[0]
        return
    after = before
    if before > 0.0:
        after = max(0.0, before - (learner.owed[0] + learner.paid[i]))
    elif before < 0.0:
        after = min(0.0, before + (learner.owed[0] - learner.paid[i]))
    learner.paid[i] += after - before
    learner.weights[i] = after


@part(bare=True)
def weight(learner, i):
    """The present weight of a feature, which becomes active."""
    turn = learner.clock[0]
    if turn >= 0 and learner.turns[i] != turn:
        learner.turns[i] = turn
        learner.active[learner.clock[1]] = i
        learner.clock[1] += 1
        _settle(learner, i)
    return learner.weights[i]


@part(bare=True)
def step(learner, rate, penalty):
    """Move the active weights along the gradient, charge them, and begin the next turn."""
    learner.owed[0] += rate * penalty
    for k in range(learner.clock[1]):
        i = np.int64(learner.active[k])
        slope = learner.gradient[i]
        learner.gradient[i] = 0.0
        if len(learner.squares) > 0:
            learner.squares[i] += slope * slope
            learner.weights[i] += rate * slope / math.sqrt(learner.squares[i] + _DAMPING)
        else:
            learner.weights[i] += rate * slope
        _settle(learner, i)
    learner.clock[0] += 1
    learner.clock[1] = 0


@kernel(bare=True)
def settle(learner):
    """Let all weights pay what they owe: the end of learning."""
    for i in range(len(learner.weights)):
        _settle(learner, i)


@kernel
def similarities(left, left_starts, right, right_starts, pairs, first, last, similar):
    """(L - edit distance) / sqrt(L) of some pairs of strings, L being the length of the longer one.

    ``left`` and ``right`` are the characters of all strings (int32), ``..._starts`` where each begins (int64);
    ``pairs`` int32 (2, n) has the strings of each pair. Fills ``similar`` float64 (n,) from ``first`` to ``last``; 0
    where a string is empty.
    """
    longest = 1
    for k in range(first, last):
        longest = max(longest, right_starts[pairs[1, k] + 1] - right_starts[pairs[1, k]])
    row = np.empty(longest + 1, np.int32)
    for k in range(first, last):
        a, b = left_starts[pairs[0, k]], right_starts[pairs[1, k]]
        m, n = left_starts[pairs[0, k] + 1] - a, right_starts[pairs[1, k] + 1] - b
        if m == 0 or n == 0:
            similar[k] = 0.0
            continue
        for j in range(n + 1):
            row[j] = j
        for i in range(m):
            corner = row[0]
            row[0] = i + 1
            for j in range(n):
                above = row[j + 1]
                cost = corner if left[a + i] == right[b + j] else corner + 1
                row[j + 1] = min(cost, above + 1, row[j] + 1)
                corner = above
        similar[k] = (max(m, n) - row[n]) / math.sqrt(max(m, n))
