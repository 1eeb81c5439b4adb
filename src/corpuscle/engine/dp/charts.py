"""Charts: all projective dependency trees of a sentence, in which no two arcs cross.

Position 0 is the root, positions 1..n are the words. A tree gives every word a head; its weight is the product of the
weights of its arcs, ``arcs[h, m]`` for head h and modifier m, and, in the second order, of its pairs of neighbouring
modifiers: ``siblings[h, s, m]``, where s is the next modifier of h on the same side that is nearer to h, and s = h if
there is none. Without siblings the array has no entries, and the program is that of the first order.

A span of words that hangs together has its head at one of its ends, so two numbers say everything:

- ``complete[h, e]``: h with all its modifiers towards e, e the last word below them;
- ``incomplete[h, m]``: the arc from h to m, with everything that lies between them;
- ``between[s, t]`` (s < t): what lies between two words that have no arc: the right half of s, the left half of t.

With plus over the split r, from short spans to long ones:

    between[s, t]    = plus_{s <= r < t} complete[s, r] complete[t, r + 1]
    incomplete[h, m] = arcs[h, m] between[h, m]                                                   (first order)
                     = arcs[h, m] ( siblings[h, h, m] complete[m, next to h]                      (second order)
                                    plus_{r between h and m} siblings[h, r, m] incomplete[h, r] between[r, m] )
    complete[h, e]   = plus_{r from h (exclusive) to e} incomplete[h, r] complete[r, e]

and ``complete[0, n]`` is the answer: every tree is built in exactly one way. A tree with a single root has nothing
between the root and its modifier: for h = 0 only the split r = 0, and only the first modifier, are allowed.

``expectations`` is the sum with its sweep reversed: the share of all trees' weight that passes through each arc. Sums
are taken of weights; ``tilt`` makes logarithms of any size into weights by which the best tree has weight 1, which
changes no share, because every tree has exactly one arc into each word. ``k_best`` walks the finished table of the
best: a tree is the best one but for some splits, and what it loses is the sum of what each of these splits loses.

Eisner, "Three new probabilistic models for dependency parsing", 1996 (first order); McDonald and Pereira, "Online
learning of approximate dependency parsing algorithms", 2006 (second order); the k best as in Huang and Chiang, "Better
k-best parsing", 2005, by losses instead of lists.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.heap import pop, push

NO_SIBLINGS = np.empty((0, 0, 0))
_COMPLETE, _INCOMPLETE, _BETWEEN = 0, 1, 2


class Chart(NamedTuple):
    """The table of a program; each float64 (n + 1, n + 1), see the top."""

    complete: np.ndarray
    incomplete: np.ndarray
    between: np.ndarray


def chart_for(n: int) -> Chart:
    """Room for sentences of up to n words."""
    return Chart(*(np.zeros((n + 1, n + 1)) for _ in Chart._fields))


def eisner(semiring: int) -> Any:
    """The kernel that fills the chart of a sentence."""
    one = 1.0 if semiring == SUM else 0.0
    none = 0.0 if semiring == SUM else -math.inf

    @part
    def fill(n, arcs, siblings, single, chart):
        """Fill ``chart`` for n words; returns the sum over all trees, or the score of the best.

        ``arcs``: float64 (n + 1, n + 1) and ``siblings`` (n + 1, n + 1, n + 1) or empty, of which column 0 is not read;
        logarithms for the best. ``single``: whether the root has one modifier only.
        """
        complete, incomplete, between = chart.complete, chart.incomplete, chart.between
        paired = len(siblings) > 0
        for i in range(n + 1):
            complete[i, i] = one
        for width in range(1, n + 1):
            for s in range(n + 1 - width):
                t = s + width
                value = none
                for r in range(s, s + 1 if single and s == 0 else t):
                    if semiring == SUM:
                        value += complete[s, r] * complete[t, r + 1]
                    else:
                        value = max(value, complete[s, r] + complete[t, r + 1])
                between[s, t] = value
                for side in range(1 if s == 0 else 2):  # nothing is the head of the root
                    h, m = (s, t) if side == 0 else (t, s)
                    if paired:
                        inner = complete[m, h + 1] if side == 0 else complete[m, h - 1]
                        value = inner * siblings[h, h, m] if semiring == SUM else inner + siblings[h, h, m]
                        for r in range(s + 1, s + 1 if single and h == 0 else t):
                            gap = between[r, t] if side == 0 else between[s, r]
                            if semiring == SUM:
                                value += incomplete[h, r] * gap * siblings[h, r, m]
                            else:
                                value = max(value, incomplete[h, r] + gap + siblings[h, r, m])
                    else:
                        value = between[s, t]
                    incomplete[h, m] = value * arcs[h, m] if semiring == SUM else value + arcs[h, m]
                for side in range(1 if s == 0 else 2):  # nothing is the head of the root
                    h, e = (s, t) if side == 0 else (t, s)
                    value = none
                    for r in range(s + 1 - side, t + 1 - side):
                        if semiring == SUM:
                            value += incomplete[h, r] * complete[r, e]
                        else:
                            value = max(value, incomplete[h, r] + complete[r, e])
                    complete[h, e] = value
        return complete[0, n]

    return fill


sum_chart, best_chart = eisner(SUM), eisner(MAX)


@part(inline=True)
def _splits(what, h, e, single):
    """The splits of an item: from the first to before the last; incomplete spans with siblings have h before them."""
    s, t = min(h, e), max(h, e)
    if what == _BETWEEN:
        return s, s + 1 if single and s == 0 else t
    if what == _INCOMPLETE:
        return s + 1, s + 1 if single and h == 0 else t
    return (s + 1, t + 1) if h == s else (s, t)


@part(inline=True)
def _score(what, h, e, r, arcs, siblings, chart):
    """The best score of an item whose split is r."""
    if what == _COMPLETE:
        return chart.incomplete[h, r] + chart.complete[r, e]
    if what == _BETWEEN:
        return chart.complete[h, r] + chart.complete[e, r + 1]
    if len(siblings) == 0:
        return chart.between[min(h, e), max(h, e)] + arcs[h, e]
    if r == h:
        return chart.complete[e, h + 1 if h < e else h - 1] + siblings[h, h, e] + arcs[h, e]
    return chart.incomplete[h, r] + chart.between[min(r, e), max(r, e)] + siblings[h, r, e] + arcs[h, e]


@part(inline=True)
def _push_parts(what, h, e, r, paired, todo, top):
    """Put what an item with split r is made of on the stack ``todo`` (room, 3); returns its new height."""
    if what == _COMPLETE:
        parts = ((_INCOMPLETE, h, r), (_COMPLETE, r, e))
    elif what == _BETWEEN:
        parts = ((_COMPLETE, h, r), (_COMPLETE, e, r + 1))
    elif not paired:
        parts = ((_BETWEEN, min(h, e), max(h, e)), (_COMPLETE, e, e))
    elif r == h:
        parts = ((_COMPLETE, e, h + 1 if h < e else h - 1), (_COMPLETE, e, e))
    else:
        parts = ((_INCOMPLETE, h, r), (_BETWEEN, min(r, e), max(r, e)))
    for piece in parts:
        if piece[1] != piece[2]:
            todo[top, 0], todo[top, 1], todo[top, 2] = piece
            top += 1
    return top


@part(inline=True)
def _best_split(what, h, e, single, arcs, siblings, chart):
    """The split of the best score of an item; the first of equal ones."""
    first, last = _splits(what, h, e, single)
    best, found = -math.inf, h
    if what == _INCOMPLETE:
        best = _score(what, h, e, h, arcs, siblings, chart)
        if len(siblings) == 0:
            return found
    for r in range(first, last):
        score = _score(what, h, e, r, arcs, siblings, chart)
        if score > best:
            best, found = score, r
    return found


class Candidates(NamedTuple):
    """Trees that may come next, see ``k_best``: a heap by ``losses``, float64 (room,), negative, with ``names``, int64
    (room,); ``records``, int64 (room, 3), by name the origin, place and choice of each; ``counts``, int64 (2,), how
    many are in the heap, and how many have a name."""

    losses: np.ndarray
    names: np.ndarray
    records: np.ndarray
    counts: np.ndarray


@part
def room_for_candidates(k):
    """No candidates for the k best trees yet."""
    room = 4 * k + 16
    return Candidates(np.empty(room), np.empty(room, np.int64), np.empty((room, 3), np.int64), np.zeros(2, np.int64))


@part
def offer(candidates, wanted, loss, origin, place, choice):
    """A candidate; where there is no more room, only the ``wanted`` ones that lose least are kept, with new names."""
    losses, names, records, counts = candidates
    if max(counts[0] + 1, counts[1]) == len(losses):
        order = np.argsort(-losses[: counts[0]], kind="mergesort")[:wanted]
        losses[: len(order)] = losses[order]  # falling, so a heap
        records[: len(order)] = records[names[order]]
        names[: len(order)] = np.arange(len(order))
        counts[:] = len(order)
    records[counts[1], 0], records[counts[1], 1], records[counts[1], 2] = origin, place, choice
    push(losses, names, counts[0], -loss, counts[1])
    counts += 1


@part
def take_best(candidates):
    """Remove the candidate that loses least: its loss, origin, place and choice."""
    losses, names, records, counts = candidates
    loss, name = -losses[0], names[0]
    pop(losses, names, counts[0])
    counts[0] -= 1
    return loss, records[name, 0], records[name, 1], records[name, 2]


@kernel
def best_heads(n, arcs, siblings, single, chart, heads):
    """``heads`` int32 (n,) := the head of each word in the best tree; returns its score, -inf if there is none."""
    score = best_chart(n, arcs, siblings, single, chart)
    if not score > -math.inf:
        return -math.inf
    todo = np.empty((2 * n + 4, 3), np.int64)
    todo[0] = _COMPLETE, 0, n
    top = 1
    while top > 0:
        top -= 1
        what, h, e = todo[top]
        if what == _INCOMPLETE:
            heads[e - 1] = h
        r = _best_split(what, h, e, single, arcs, siblings, chart)
        top = _push_parts(what, h, e, r, len(siblings) > 0, todo, top)
    return score


@kernel
def k_best(n, arcs, siblings, single, k, chart, heads, scores):
    """``heads`` int32 (k, n), ``scores`` (k,) := the k best trees, the best one first; returns how many there are.

    A candidate is a tree that differs from an earlier one (``origin``) in the split of one item, the ``place``-th in
    the order in which trees are unfolded; all splits before it are those of its origin, all behind it the best ones. So
    every tree is a candidate once. Only the k candidates that lose least can ever be chosen: others are not kept.
    """
    if not best_chart(n, arcs, siblings, single, chart) > -math.inf:
        return 0
    paired = len(siblings) > 0
    todo, candidates = np.empty((2 * n + 4, 3), np.int64), room_for_candidates(k)
    splits = np.empty((k, 4 * n + 4), np.int64)  # of the chosen trees, item by item
    offer(candidates, k, 0.0, -1, -1, 0)
    count = 0
    while candidates.counts[0] > 0 and count < k:
        loss, origin, place, choice = take_best(candidates)
        todo[0] = _COMPLETE, 0, n
        top, item = 1, 0
        while top > 0:
            top -= 1
            what, h, e = todo[top]
            if what == _INCOMPLETE:
                heads[count, e - 1] = h
            if item < place:
                r = splits[origin, item]
            elif item == place:
                r = choice
            else:
                r = _best_split(what, h, e, single, arcs, siblings, chart)
                best = _score(what, h, e, r, arcs, siblings, chart)
                first, last = _splits(what, h, e, single)
                if what == _INCOMPLETE:
                    first = first - 1 if paired else last  # one more, for the split h
                for other in range(first, last):
                    split = h if what == _INCOMPLETE and other == first else other
                    if split == r:
                        continue
                    total = loss + best - _score(what, h, e, split, arcs, siblings, chart)
                    if total < math.inf:
                        offer(candidates, k - count, total, count, item, split)
            splits[count, item] = r
            item += 1
            top = _push_parts(what, h, e, r, paired, todo, top)
        scores[count] = chart.complete[0, n] - loss
        count += 1
    return count


@kernel
def expectations(n, arcs, siblings, single, chart, outside, expected):
    """``expected`` (n + 1, n + 1) := the share of the weight of all trees that have each arc; returns the sum.

    ``chart``, ``outside``: room. ``outside`` is what a unit of an entry of ``chart`` adds to the share of all trees.
    """
    total = sum_chart(n, arcs, siblings, single, chart)
    expected[: n + 1, : n + 1] = 0.0
    if not total > 0.0:
        return total
    complete, incomplete, between = chart.complete, chart.incomplete, chart.between
    for table in outside:
        table[: n + 1, : n + 1] = 0.0
    outside.complete[0, n] = 1.0 / total
    paired = len(siblings) > 0
    for width in range(n, 0, -1):
        for s in range(n + 1 - width):
            t = s + width
            for side in range(1 if s == 0 else 2):  # nothing is the head of the root
                h, e = (s, t) if side == 0 else (t, s)
                flow = outside.complete[h, e]
                if flow == 0.0:
                    continue
                for r in range(s + 1 - side, t + 1 - side):
                    outside.incomplete[h, r] += flow * complete[r, e]
                    outside.complete[r, e] += flow * incomplete[h, r]
            for side in range(1 if s == 0 else 2):
                h, m = (s, t) if side == 0 else (t, s)
                expected[h, m] = outside.incomplete[h, m] * incomplete[h, m]
                flow = outside.incomplete[h, m] * arcs[h, m]
                if not paired:
                    outside.between[s, t] += flow
                    continue
                outside.complete[m, h + 1 if side == 0 else h - 1] += flow * siblings[h, h, m]
                for r in range(s + 1, s + 1 if single and h == 0 else t):
                    weight = flow * siblings[h, r, m]
                    a, b = (r, t) if side == 0 else (s, r)
                    outside.incomplete[h, r] += weight * between[a, b]
                    outside.between[a, b] += weight * incomplete[h, r]
            flow = outside.between[s, t]
            for r in range(s, s + 1 if single and s == 0 else t):
                outside.complete[s, r] += flow * complete[t, r + 1]
                outside.complete[t, r + 1] += flow * complete[s, r]
    return total


@kernel
def tilt(n, heads, arcs, siblings):
    """Logarithms to weights, in place, by which the tree ``heads`` int32 (n,) has weight 1: every arc into a word is
    divided by what that word's arc (and pair) in this tree have; returns the logarithm of what all were divided by."""
    total = 0.0
    for m in range(1, n + 1):
        h = heads[m - 1]
        base = arcs[h, m]
        if len(siblings) > 0:
            step = 1 if h > m else -1
            sibling = m + step
            while sibling != h and heads[sibling - 1] != h:
                sibling += step
            base += siblings[h, sibling, m]
        total += base
        for g in range(n + 1):
            arcs[g, m] = math.exp(min(arcs[g, m] - base, 500.0))  # beyond 709 exp overflows
    for h in range(len(siblings)):
        for s in range(n + 1):
            for m in range(1, n + 1):
                siblings[h, s, m] = math.exp(min(siblings[h, s, m], 500.0))
    return total
