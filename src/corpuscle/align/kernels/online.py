"""Online learning of sparse weights: stochastic gradient ascent with an L1 penalty, by one of two rules.

Cumulative: every step may take up to ``rate * penalty`` from the size of every weight. The total that each weight
could have paid by now is kept in one number, ``owed``, and what each has paid so far in ``paid``. Weights that cannot
pay become zero, and stay so until a gradient is strong enough.

Adaptive: the rate of each weight is divided by the root of its squared gradients so far, so that rare features
learn as fast as frequent ones; the penalty shrinks weights at the same rates.

A step touches only the features that are active in it. Under both rules a feature settles what it owes when it is next
read, and the result is the same as if all of them had been charged after every step.

A learner is used in turns: ``weight`` reads (and makes active), ``gradient`` is added to, ``step`` moves all active
weights and begins the next turn. A learner whose clock is negative only reads.

Tsuruoka, Tsujii and Ananiadou, "Stochastic gradient descent training for L1-regularized log-linear models with
cumulative penalty", 2009 (``owed`` and ``paid`` are their u and q); Duchi, Hazan and Singer, "Adaptive subgradient
methods for online learning and stochastic optimization", 2011.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

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
