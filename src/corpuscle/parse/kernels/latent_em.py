"""Expectations of trees with hidden states, for EM: one pass up and one down a tree.

In the basis of states everything is a probability: o(x | h), t_side(c | h), pi(h). Up, beta_i(h) = p(words from i down
| h) = o(x_i | h) prod_j m_j(h) with m_j(h) = sum_c t(c | h) beta_j(c) over children j; stops are children without
children. Down, gamma of the root is pi beta, normalised, and

    p(h_j = c, h_i = h | words) = gamma_i(h) t(c | h) beta_j(c) / m_j(h),

whose sum over h is gamma_j. Sums of these are the expected counts. Every beta is divided by its largest entry.

Crouse, Nowak and Baraniuk, "Wavelet-based statistical signal processing using hidden Markov models", 1998, appendix
(upward-downward algorithm); Durand, Goncalves and Guedon, "Computational methods for hidden Markov tree models", 2004,
for scaling. k states, n symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.parse.kernels.latent import LEFT, RIGHT


class States(NamedTuple):
    """Probabilities: ``start`` (k,), ``steps`` (2, k, k) [side, child, head], ``words`` (n, k), ``tags`` (n_tags, k) or
    no rows, ``stops`` (2, k): m of a stop on each side, or no rows."""

    start: np.ndarray
    steps: np.ndarray
    words: np.ndarray
    tags: np.ndarray
    stops: np.ndarray


class Expectations(NamedTuple):
    """Expected counts: ``start``, ``steps``, ``words``, ``tags`` as in ``States``; ``stopped`` (k,): of the states of
    all words; ``log`` (1,): the log likelihood."""

    start: np.ndarray
    steps: np.ndarray
    words: np.ndarray
    tags: np.ndarray
    stopped: np.ndarray
    log: np.ndarray


class UpDown(NamedTuple):
    """Room: ``beta``, ``message``, ``gamma`` (longest + 1, k), ``order`` and ``wait`` int32 (longest + 1,)."""

    beta: np.ndarray
    message: np.ndarray
    gamma: np.ndarray
    order: np.ndarray
    wait: np.ndarray


def expectations_for(states: States) -> Expectations:
    """Counts of nothing."""
    kept = (np.zeros_like(array) for array in states[:4])
    start, steps, words, tags = kept
    return Expectations(start, steps, words, tags, np.zeros(len(start)), np.zeros(1))


def up_down(longest: int, k: int) -> UpDown:
    """Room for sentences of up to so many words."""
    beta, message, gamma = np.zeros((3, longest + 1, k))
    order, wait = np.zeros((2, longest + 1), np.int32)
    return UpDown(beta, message, gamma, order, wait)


@part(bare=True)
def _bottom_up(heads, room):
    """``order`` := the words of a tree, children before heads."""
    n = len(heads)
    room.wait[: n + 1] = 0
    for j in range(n):
        room.wait[heads[j]] += 1
    done = 0
    for j in range(1, n + 1):
        if room.wait[j] == 0:
            room.order[done] = j
            done += 1
    at = 0
    while at < done:
        head = heads[room.order[at] - 1]
        at += 1
        room.wait[head] -= 1
        if head > 0 and room.wait[head] == 0:
            room.order[done] = head
            done += 1


@kernel
def expect(trees, first, last, states, room, found):
    """Add the expected counts of the trees of the sentences ``first`` to ``last`` to ``found``."""
    k = len(states.start)
    for sentence in range(first, last):
        begin, end = trees.starts[sentence], trees.starts[sentence + 1]
        heads, n = trees.heads[begin:end], end - begin
        _bottom_up(heads, room)
        for j in range(1, n + 1):
            word, tag = trees.symbols[begin + j - 1], trees.marks[begin + j - 1]
            for h in range(k):
                value = states.words[word, h]
                if len(states.tags) > 0:
                    value *= states.tags[tag, h]
                if len(states.stops) > 0:
                    value *= states.stops[LEFT, h] * states.stops[RIGHT, h]
                room.beta[j, h] = value
        # upwards: a word is complete when all of its children have sent their messages
        for at in range(n):
            j = room.order[at]
            largest = 0.0
            for h in range(k):
                largest = max(largest, room.beta[j, h])
            found.log[0] += np.log(largest)  # beta is scaled, the log likelihood keeps what was taken out
            head = heads[j - 1]
            for h in range(k):
                room.beta[j, h] /= largest
            if head > 0:
                step = states.steps[LEFT if j < head else RIGHT]
                for h in range(k):
                    room.message[j, h] = 0.0
                for c in range(k):
                    part = room.beta[j, c]
                    for h in range(k):
                        room.message[j, h] += part * step[c, h]
                for h in range(k):
                    room.beta[head, h] *= room.message[j, h]
        # downwards: gamma is the distribution of a word's state, given the whole sentence
        for at in range(n - 1, -1, -1):
            j = room.order[at]
            head = heads[j - 1]
            gamma = room.gamma[j]
            gamma[:] = 0.0
            if head == 0:
                total = 0.0
                for h in range(k):
                    gamma[h] = states.start[h] * room.beta[j, h]
                    total += gamma[h]
                found.log[0] += np.log(total)
                for h in range(k):
                    gamma[h] /= total
                    found.start[h] += gamma[h]
            else:
                side = LEFT if j < head else RIGHT
                for c in range(k):
                    below = room.beta[j, c]
                    for h in range(k):
                        # the head's gamma holds this child's message: divided out, then the two states together
                        both = room.gamma[head, h] * states.steps[side, c, h] * below / room.message[j, h]
                        found.steps[side, c, h] += both
                        gamma[c] += both
            for h in range(k):
                found.words[trees.symbols[begin + j - 1], h] += gamma[h]
                found.stopped[h] += gamma[h]
                if len(states.tags) > 0:
                    found.tags[trees.marks[begin + j - 1], h] += gamma[h]
