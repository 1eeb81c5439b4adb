"""Spanning trees: all dependency trees of a sentence, crossing or not.

Position 0 is the root, positions 1..n are the words; ``arcs[h, m]`` is the score of the arc from head h to modifier m,
and a tree scores the sum of its arcs.

``best_tree``: every word takes its best head. If that makes a cycle, the cycle becomes one group: an arc into it scores
what it gains over the arc of the cycle that it replaces, and the group takes its best head in turn, until there is no
cycle left; then the groups are opened again, the last one first. Groups are numbered like words, from n + 1 on, and
have a row with the scores of all heads, so that no graph is ever copied: O(n^2) in all. A single root: an arc from the
root costs more than all other arcs can gain, so that the best tree has as few of them as possible.

``k_best_trees``: the trees that are not the best one, parted by the first word whose head differs (Lawler's branching):
each part forbids that arc, fixes those before it, and has a best tree of its own, the best of which is the next.

``shares``: the sum over all trees is a determinant, and its derivatives, the share of all trees that have an arc,
are an inverse (the matrix-tree theorem).

``climb``: with siblings the best tree is out of reach; from a given one, the head that gains most is changed, as long
as the result is a tree and gains.

McDonald, Pereira, Ribarov and Hajic, "Non-projective dependency parsing using spanning tree algorithms", 2005 (after
Chu and Liu, 1965, and Edmonds, 1967); Koo, Globerson, Carreras and Collins, "Structured prediction models via the
matrix-tree theorem", 2007; McDonald and Pereira, "Online learning of approximate dependency parsing algorithms", 2006.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel, part


@part
def best_tree(n, arcs, single, heads):
    """``heads`` int32 (n,) := the head of each word in the best tree; returns its score, -inf if there is none.

    ``arcs``: (n + 1, n + 1), of which column 0 and the diagonal are not read; -inf forbids an arc.
    """
    # gains[g, h]: of the best arc from word h into group g; targets[g, h]: the word that it enters.
    gains, targets = np.full((2 * n + 1, n + 1), -math.inf), np.zeros((2 * n + 1, n + 1), np.int64)
    lowest, highest = math.inf, -math.inf
    for m in range(1, n + 1):
        targets[m] = m
        for h in range(n + 1):
            if h != m and arcs[h, m] > -math.inf:
                gains[m, h] = arcs[h, m]
                lowest, highest = min(lowest, arcs[h, m]), max(highest, arcs[h, m])
    if single:
        gains[:, 0] -= 1.0 + n * max(highest - lowest, 0.0)
    parents, group_of, chosen = np.zeros(2 * n + 1, np.int64), np.arange(n + 1), np.zeros(2 * n + 1, np.int64)
    done, path, groups = np.zeros(2 * n + 1, np.bool_), np.empty(2 * n + 1, np.int64), n + 1
    done[0] = True
    for start in range(1, n + 1):
        length, group = 0, group_of[start]
        while not done[group]:
            on_path = -1
            for i in range(length):
                if path[i] == group:
                    on_path = i
            if on_path >= 0:
                _join(path[on_path:length], groups, gains, targets, chosen, parents, group_of)
                length, group, groups = on_path, groups, groups + 1
            best = -math.inf
            for h in range(n + 1):
                if group_of[h] != group and gains[group, h] > best:
                    best, chosen[group] = gains[group, h], h
            if best == -math.inf:
                return -math.inf
            path[length] = group
            length += 1
            group = group_of[chosen[group]]
        done[path[:length]] = True
    replaced = np.zeros(2 * n + 1, np.bool_)
    for group in range(groups - 1, 0, -1):
        if not replaced[group]:
            word = targets[group, chosen[group]]
            heads[word - 1] = chosen[group]
            while word != group:
                replaced[word] = True
                word = parents[word]
    total = 0.0
    for m in range(1, n + 1):
        total += arcs[heads[m - 1], m]
    return total


@part
def _join(cycle, new, gains, targets, chosen, parents, group_of):
    """Make the groups of a cycle one group, of number ``new``."""
    for group in cycle:
        lost = gains[group, chosen[group]]
        parents[group] = new
        for h in range(gains.shape[1]):
            if gains[group, h] - lost > gains[new, h]:
                gains[new, h], targets[new, h] = gains[group, h] - lost, targets[group, h]
            if group_of[h] == group:
                group_of[h] = new


@kernel
def k_best_trees(n, arcs, single, k, heads, scores):
    """``heads`` int32 (k, n), ``scores`` (k,) := the k best trees, the best one first; returns how many there are."""
    # A part of all trees: a tree of it is its best; words before its branch have this tree's heads, the word at the
    # branch has none of the heads that are forbidden there.
    trees, values = np.empty((k + n * k, n), np.int32), np.full(k + n * k, -math.inf)
    branches, forbidden = np.zeros(k + n * k, np.int64), np.zeros((k + n * k, n + 1), np.bool_)
    values[0] = best_tree(n, arcs, single, trees[0])
    parts, count = 1, 0
    limited = np.empty_like(arcs)
    while count < k:
        part = np.argmax(values[:parts])
        if values[part] == -math.inf or (single and np.sum(trees[part] == 0) > 1):
            break
        heads[count], scores[count] = trees[part], values[part]
        count += 1
        values[part] = -math.inf
        for branch in range(branches[part], n):
            if count == k:
                break
            new = parts
            forbidden[new] = False
            if branch == branches[part]:
                forbidden[new] = forbidden[part]
            forbidden[new, trees[part, branch]] = True
            branches[new] = branch
            # Words before the branch keep their heads, the one at it avoids some.
            limited[:] = arcs
            for m in range(1, branch + 1):
                limited[:, m] = -math.inf
                limited[trees[part, m - 1], m] = arcs[trees[part, m - 1], m]
            for h in range(n + 1):
                if forbidden[new, h]:
                    limited[h, branch + 1] = -math.inf
            values[new] = best_tree(n, limited, single, trees[new])
            if values[new] > -math.inf and not (single and np.sum(trees[new] == 0) > 1):
                parts += 1
            else:
                values[new] = -math.inf
    return count


def shares(arcs: np.ndarray, single: bool) -> tuple[np.ndarray, float]:
    """The share of the weight of all trees that have each arc, float64 (n + 1, n + 1), and the logarithm of the sum.

    ``arcs``: logarithms of weights, (n + 1, n + 1), of which column 0 and the diagonal are not read.
    """
    n = len(arcs) - 1
    scores = np.where(np.eye(n + 1, dtype=bool), -np.inf, arcs)[:, 1:]
    # Every tree has one arc into each word, so that the arcs into a word may be divided by their best.
    base = scores.max(0)
    weights = np.exp(scores - base)
    roots, inner = weights[0], weights[1:]
    laplacian = np.diag(inner.sum(0)) - inner
    if single:
        laplacian[0] = roots
    else:
        laplacian += np.diag(roots)
    sign, log_sum = np.linalg.slogdet(laplacian)
    if sign <= 0:
        return np.zeros_like(arcs), -math.inf
    inverse = np.linalg.inv(laplacian).T
    diagonal = np.diag(inverse).copy()
    result = np.zeros_like(arcs)
    result[0, 1:] = roots * (inverse[0] if single else diagonal)
    if single:
        inverse[0] = 0.0
        diagonal[0] = 0.0
    result[1:, 1:] = inner * (diagonal - inverse)
    return np.clip(result, 0.0, 1.0), float(log_sum + base.sum())


@part(inline=True)
def _side(h, toward, skipped, added, heads, siblings):
    """The sibling scores of the modifiers of h on one side (``toward``: 1 or -1), without one and with another."""
    total, last, m = 0.0, h, h + toward
    while 1 <= m <= len(heads):
        if (heads[m - 1] == h and m != skipped) or m == added:
            total += siblings[h, last, m]
            last = m
        m += toward
    return total


@part
def climb(arcs, siblings, single, heads):
    """Change the tree ``heads`` int32 (n,), head by head, as long as its score rises; returns how much it rose."""
    n, gained = len(heads), 0.0
    paired = len(siblings) > 0
    below = np.empty(n + 1, np.bool_)
    # Few steps are enough; with scores so large that rounding exceeds what a step gains, others might never end.
    for _ in range((n + 1) ** 2):
        best, best_m, best_h = 1e-9, 0, 0
        for m in range(1, n + 1):
            old = heads[m - 1]
            if single and old == 0:
                continue  # the root would have none
            lost = arcs[old, m]
            if paired:
                toward = 1 if m > old else -1
                lost += _side(old, toward, 0, 0, heads, siblings) - _side(old, toward, m, 0, heads, siblings)
            _mark_below(m, heads, below)
            for h in range(1 if single else 0, n + 1):
                if below[h] or h == old or arcs[h, m] == -math.inf:
                    continue
                gain = arcs[h, m] - lost
                if paired:
                    toward = 1 if m > h else -1
                    gain += _side(h, toward, 0, m, heads, siblings) - _side(h, toward, 0, 0, heads, siblings)
                if gain > best:
                    best, best_m, best_h = gain, m, h
        if best_m == 0:
            break
        heads[best_m - 1] = best_h
        gained += best
    return gained


@part
def _mark_below(m, heads, below):
    """``below`` := which words hang on m, m among them."""
    below[:] = False
    below[m] = True
    changed = True
    while changed:
        changed = False
        for word in range(1, len(heads) + 1):
            if not below[word] and heads[word - 1] > 0 and below[heads[word - 1]]:
                below[word] = changed = True
