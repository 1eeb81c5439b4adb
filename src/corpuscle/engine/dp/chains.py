"""Chains: sums over, and the best of, all paths through n positions with the same s states at each.

A path has a state at every position. Its weight is the product of ``first`` (of its first state), ``emission`` (of each
position and state), ``steps`` (of each two states that follow each other) and ``last`` (of its last state): a hidden
Markov model, or a conditional random field whose steps may depend on the position. The forward table

    table[0, q] = first[q] emission[0, q]
    table[j, q] = (plus over p of table[j - 1, p] steps[j, p, q]) emission[j, q]

is filled row by row: a state p adds its share to the whole next row, which runs along memory. Sums are scaled so that
each row adds up to one; the logarithms of the scales add up to that of the total.

- ``expectations`` is the same sweep reversed: the backward row of a position is made of that behind it with the
  transposed steps, multiplies the forward row, which makes it a distribution over states, and both together say how
  often each step is taken.
- ``k_best`` goes back over the table of the best: the r-th best path to a state is the best continuation of what its
  predecessors have not used yet, and only those states are asked for another path whose last one has been used. It
  takes n s^2 + k n s steps, not k n s^2.

Buffers may be larger than n and s.

Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989: his pi, a and b
are first, steps and emission. Jimenez and Marzal, "Computing the k shortest paths: a new algorithm and an experimental
comparison", 1999; Huang and Chiang, "Better k-best parsing", 2005.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM


class Chain(NamedTuple):
    """The weights of a chain (for MAX their logarithms).

    - ``first``, ``last``: (s,); ``emission``: (n, s);
    - ``steps``: (1, s, s), from row to column, at all positions; or (n, s, s), ``steps[j]`` leading into position j.
    """

    first: np.ndarray
    emission: np.ndarray
    steps: np.ndarray
    last: np.ndarray


class Room(NamedTuple):
    """Where ``expectations`` works and leaves its results.

    - ``table``: (n, s), the forward table, at last the probability of each state at each position;
    - ``taken``: like ``steps``, the expected number of times that each step is taken;
    - ``coming``, ``reached``: (s,); ``scales``: (n,).
    """

    table: np.ndarray
    taken: np.ndarray
    coming: np.ndarray
    reached: np.ndarray
    scales: np.ndarray


def chain(semiring: int) -> Any:
    """The kernel that fills the forward table of a chain."""

    @part(bare=True)
    def sweep(n, s, chain, table, scales):
        """Fill ``table`` (n, s); returns the logarithm of the sum over all paths, or of the best one; -inf if no path
        has any weight. ``scales`` (n,): what each row of sums but the first was multiplied by; of the best, none."""
        nothing = 0.0 if semiring == SUM else -math.inf
        logarithm, total = 0.0, 0.0
        for q in range(s):
            if semiring == SUM:
                table[0, q] = chain.first[q] * chain.emission[0, q]
                total += table[0, q]
            else:
                table[0, q] = chain.first[q] + chain.emission[0, q]
        if semiring == SUM:
            if not total > 0.0:
                return -math.inf
            for q in range(s):
                table[0, q] /= total
            logarithm = math.log(total)
        for j in range(1, n):
            steps, row = chain.steps[min(j, len(chain.steps) - 1)], table[j]
            for q in range(s):
                row[q] = nothing
            for p in range(s):
                share = table[j - 1, p]
                if share > nothing:
                    for q in range(s):
                        if semiring == SUM:
                            row[q] += share * steps[p, q]
                        else:
                            value = share + steps[p, q]
                            row[q] = value if value > row[q] else row[q]
            total = 0.0
            for q in range(s):
                if semiring == SUM:
                    row[q] *= chain.emission[j, q]
                    total += row[q]
                else:
                    row[q] += chain.emission[j, q]
            if semiring == SUM:
                if not total > 0.0:
                    return -math.inf
                scales[j] = 1.0 / total
                for q in range(s):
                    row[q] *= scales[j]
                logarithm += math.log(total)
        total = nothing
        for q in range(s):
            if semiring == SUM:
                total += table[n - 1, q] * chain.last[q]
            else:
                total = max(total, table[n - 1, q] + chain.last[q])
        if semiring == MAX:
            return total
        return logarithm + math.log(total) if total > 0.0 else -math.inf

    return sweep


sum_chain, best_chain = chain(SUM), chain(MAX)


@part(bare=True)
def best_path(n, s, chain, table, path):
    """``path`` int32 (n,) := the best path, by a walk back over the finished table of ``best_chain``; among equals,
    smaller states. Some path must have a weight."""
    best, at = -math.inf, 0
    for q in range(s):
        if table[n - 1, q] + chain.last[q] > best:
            best, at = table[n - 1, q] + chain.last[q], q
    path[n - 1] = at
    for j in range(n - 1, 0, -1):
        steps = chain.steps[min(j, len(chain.steps) - 1)]
        best, before = -math.inf, 0
        for p in range(s):
            if table[j - 1, p] + steps[p, at] > best:
                best, before = table[j - 1, p] + steps[p, at], p
        at = before
        path[j - 1] = at


@part(bare=True)
def expectations(n, s, chain, turned, room):
    """The log of the sum over all paths, and how often a random path is where; -inf if no path has any weight.

    ``turned`` is the transpose of each of ``chain.steps``, so that all inner loops run along memory. Leaves the
    probability of each state at each position in ``room.table``, and the expected steps in ``room.taken``.
    """
    table, taken, coming, reached = room.table, room.taken, room.coming, room.reached
    logarithm = sum_chain(n, s, chain, table, room.scales)
    if logarithm == -math.inf:
        return logarithm
    total = 0.0
    for q in range(s):
        total += table[n - 1, q] * chain.last[q]
    for q in range(s):
        reached[q] = chain.last[q] / total
    taken[: len(chain.steps), :s, :s] = 0.0
    for j in range(n - 1, -1, -1):
        for q in range(s):
            table[j, q] *= reached[q]
        if j == 0:
            break
        t = min(j, len(chain.steps) - 1)
        back, counts = turned[t], taken[t]
        for q in range(s):
            coming[q] = chain.emission[j, q] * reached[q] * room.scales[j]
            reached[q] = 0.0
        for q in range(s):
            if coming[q] > 0.0:
                for p in range(s):
                    reached[p] += coming[q] * back[q, p]
        for p in range(s):
            share = table[j - 1, p]
            if share > 0.0:
                for q in range(s):
                    counts[p, q] += share * coming[q]
    for t in range(len(chain.steps)):
        for p in range(s):
            for q in range(s):
                taken[t, p, q] *= chain.steps[t, p, q]
    return logarithm


_UNKNOWN, _NONE = -2, -1


class _Ranks(NamedTuple):
    """Ranked paths to states. State q of position j is node ``j s + q``, and node ``n s`` stands behind the last
    position; path number v, for v up to n s, is the best one to node v.

    - ``scores``: float64 (paths,); ``nodes``: int64, where each ends; ``before``: int64, the path that it goes on from;
    - ``worse``: int64 (paths,), the next best to the same node, -1 if there is none, -2 if it has not been looked for;
    - ``rows``: int64 (nodes,), -1 or the row of ``unused``, int64 (rows, s): of the paths to each state before, the
      best one that no path to this node goes on from, -1 if there is none.
    """

    scores: np.ndarray
    nodes: np.ndarray
    before: np.ndarray
    worse: np.ndarray
    rows: np.ndarray
    unused: np.ndarray


@part(bare=True)
def _continue(n, s, chain, ranks, node, unused):
    """The best of the unused paths (s,) to go on from to a node, -1 if there is none, and the score with its step;
    among equals, that of the smaller state."""
    j, q = node // s, node % s
    best, path = -math.inf, np.int64(_NONE)
    for p in range(s):
        if unused[p] >= 0:
            score = ranks.scores[unused[p]]
            score += chain.last[p] if j == n else chain.steps[min(j, len(chain.steps) - 1), p, q]
            if score > best:
                best, path = score, unused[p]
    return path, best


@part(bare=True)
def _find_before(n, s, chain, ranks, path, firsts):
    """The path that a path goes on from, looked for at the first call; ``firsts`` (s,) is room."""
    if ranks.before[path] == _UNKNOWN:
        node = ranks.nodes[path]
        for p in range(s):
            firsts[p] = (node // s - 1) * s + p
        ranks.before[path] = _continue(n, s, chain, ranks, node, firsts)[0]
    return ranks.before[path]


@kernel
def k_best(n, s, chain, k, paths, scores):
    """The ``k`` paths of the largest weight, given logarithms of all weights; returns how many there are.

    Fills ``paths`` int32 (k, n) and ``scores`` float64 (k,), best first. Among equals, smaller states come first, those
    of later positions before those of earlier ones.
    """
    table, end = np.empty((n, s)), n * s
    best = best_chain(n, s, chain, table, np.empty(0))
    if best == -math.inf:
        return 0
    room = end + 1 + (k - 1) * n
    ranks = _Ranks(
        np.empty(room), np.empty(room, np.int64), np.full(room, _UNKNOWN), np.full(room, _UNKNOWN),
        np.full(end + 1, _NONE), np.empty((min(end, (k - 1) * n) + 1, s), np.int64),
    )  # fmt: skip
    for node in range(end):
        ranks.scores[node], ranks.nodes[node] = table[node // s, node % s], node
    ranks.scores[end], ranks.nodes[end] = best, end
    made, n_rows = end + 1, 0
    firsts, asked = np.empty(s, np.int64), np.empty(n + 1, np.int64)
    path = np.int64(end)
    for found in range(k):
        scores[found] = ranks.scores[path]
        at = path
        for j in range(n - 1, -1, -1):
            at = _find_before(n, s, chain, ranks, at, firsts)
            paths[found, j] = ranks.nodes[at] % s
        if found == k - 1:
            break
        # Who is asked for its next best path asks the one that its last path goes on from, and so on.
        depth = 0
        while ranks.worse[path] == _UNKNOWN and ranks.nodes[path] >= s:
            asked[depth] = path
            depth += 1
            path = _find_before(n, s, chain, ranks, path, firsts)
        if ranks.worse[path] == _UNKNOWN:  # there is one path to a state of the first position
            ranks.worse[path] = _NONE
        while depth > 0:
            depth -= 1
            path = asked[depth]
            node, used = ranks.nodes[path], ranks.before[path]
            if ranks.rows[node] < 0:
                ranks.rows[node] = n_rows
                for p in range(s):
                    ranks.unused[n_rows, p] = (node // s - 1) * s + p
                n_rows += 1
            unused = ranks.unused[ranks.rows[node]]
            unused[ranks.nodes[used] % s] = ranks.worse[used]
            ranks.before[made], score = _continue(n, s, chain, ranks, node, unused)
            if ranks.before[made] < 0:
                ranks.worse[path] = _NONE
                ranks.before[made] = _UNKNOWN
                continue
            ranks.scores[made] = score if node == end else score + chain.emission[node // s, node % s]
            ranks.nodes[made] = node
            ranks.worse[path] = made
            made += 1
        path = ranks.worse[path]
        if path < 0:
            return found + 1
    return k
