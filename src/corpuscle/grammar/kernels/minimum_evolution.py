"""The shortest projective latent tree of a sentence: minimum evolution for words that stand in a row.

Leaves are the n words, in their order; inner nodes are latent and have three neighbours each. Distances ``d[a, b]``
between words determine the lengths of all edges of any such tree, and its cost is their sum. Spans [i, j) are half
open. Rooted at the edge between [0, R) and [R, n), every inner node has a span [i, j), a split k, the children [i, k)
and [k, j), and, on its third side, everything outside of [i, j). With avg(A, B) the mean of d over A and B, the edge
between a leaf x and a node with sides A, B, and the edge between nodes with sides A, B and G, H have the lengths

    e3(x; A, B)    = 1/2 (avg(x, A) + avg(x, B) - avg(A, B))
    e4(A, B; G, H) = 1/2 (l (avg(A, G) + avg(B, H)) + (1 - l) (avg(A, H) + avg(B, G)) - avg(A, B) - avg(G, H))

where l = 1/2 averages over all choices of leaves (``MEAN``), and l = (|A| |H| + |B| |G|) / ((|A| + |B|) (|G| + |H|))
is least squares (``LEAST_SQUARES``). All sides are spans or the outside of one, so a two-dimensional prefix sum of d
gives each avg in constant time.

The edge above a child depends on where the child splits, so a state has three numbers. Scores are negative lengths, and

    score[i, j, k] = child([i, k)) + child([k, j)) - lean[k - i] + spans[i, j]
    child(X)       = - e3                                   if X is a word
                   = plus_s score[X, s] - e4(X at s; sibling, outside of [i, j))
    total          = plus_R roots[R] + plus_{s, t} score[[0, R), s] + score[[R, n), t] - e4([0, R) at s; [R, n) at t)

with plus the maximum, or the logarithm of a sum of exponentials. Sums here are of logarithms, since lengths of either
sign have no scale: O(n^3) states, O(n^4) steps. The length of a tree does not depend on where it is rooted, so R must
be given (``roots``, logarithms of weights, -inf where it cannot be). ``lean`` (by the width of a left child) and
``spans`` are what else speaks for or against a bracket; both are 0 in the paper.

``shortest_trees`` are those of many sentences. The distance of two words depends on their symbols (tags) and on how far
apart they stand, ``table[s, t, delta]`` for s before t; greater distances are that of the last entry.

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, eq. 3-5, algorithm 1, section
4; Rzhetsky and Nei, "Theoretical foundation of the minimum-evolution method of phylogenetic inference", 1993, for least
squares.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.dp.cky import cell_of
from corpuscle.grammar.kernels.spans import _longest, best_brackets, span_chart

MEAN, LEAST_SQUARES = 0, 1
TIE = 1e-12
"""Among scores that differ by less, the smallest split wins."""


class Leanings(NamedTuple):
    """What speaks for trees besides their lengths; all are added to scores.

    - ``roots``: float64 (n + 1,), by the first word of the right part; entries 0 and n are not read;
    - ``lean``: float64 (n + 1,), what is taken off for the width of a left child, but at the root;
    - ``spans``: float64 (n + 1, n + 1), for each bracket [i, j) of at least two words but the whole sentence.
    """

    roots: np.ndarray
    lean: np.ndarray
    spans: np.ndarray


class Evolution(NamedTuple):
    """The table of a program, each float64 (n + 1, n + 1, n + 1) by span and split.

    - ``score``: of everything below a node that splits there, 0 for single words; ``left``, ``right``: what its
      children add to that;
    - ``outside``: of everything else, after ``marginals``.
    """

    score: np.ndarray
    left: np.ndarray
    right: np.ndarray
    outside: np.ndarray


@part
def evolution_for(n):
    """Room for sentences of up to n words."""
    cube = (n + 1, n + 1, n + 1)
    return Evolution(np.zeros(cube), np.zeros(cube), np.zeros(cube), np.zeros(cube))


@part
def prefix_sums(distances, n, result):
    """Fill ``result`` (n + 1, n + 1): at [a, b] the sum of distances between words before a and words before b."""
    for a in range(n + 1):
        result[a, 0] = result[0, a] = 0.0
    for a in range(n):
        row = 0.0
        for b in range(n):
            row += distances[a, b]
            result[a + 1, b + 1] = result[a, b + 1] + row


@part(inline=True)
def _within(sums, a, b, c, d):
    """The mean distance between [a, b) and [c, d)."""
    return (sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]) / ((b - a) * (d - c))


@part(inline=True)
def _beyond(sums, n, a, b, i, j):
    """The mean distance between [a, b) and all that is outside of [i, j)."""
    inner = sums[b, j] - sums[a, j] - sums[b, i] + sums[a, i]
    return (sums[b, n] - sums[a, n] - inner) / ((b - a) * (n - j + i))


@part(inline=True)
def _below(sums, n, a, s, b, c, d, i, j, estimator):
    """The edge above the node [a, b), split at s, whose sibling is [c, d) and whose parent is [i, j)."""
    ag, bg = _within(sums, a, s, c, d), _within(sums, s, b, c, d)
    ah, bh = _beyond(sums, n, a, s, i, j), _beyond(sums, n, s, b, i, j)
    share = 0.5
    if estimator == LEAST_SQUARES:
        share = ((s - a) * (n - j + i) + (b - s) * (d - c)) / ((b - a) * (d - c + n - j + i))
    crossed = share * (ag + bh) + (1.0 - share) * (ah + bg)
    return 0.5 * (crossed - _within(sums, a, s, s, b) - _beyond(sums, n, c, d, i, j))


@part(inline=True)
def _at_root(sums, n, s, root, t, estimator):
    """The edge between [0, root), split at s, and [root, n), split at t; s = 0 and t = n for single words."""
    if s == 0 and t == n:
        return sums[1, 2] - sums[1, 1]
    if s == 0:
        return 0.5 * (_within(sums, 0, root, root, t) + _within(sums, 0, root, t, n) - _within(sums, root, t, t, n))
    if t == n:
        return 0.5 * (_within(sums, root, n, 0, s) + _within(sums, root, n, s, root) - _within(sums, 0, s, s, root))
    ag, ah = _within(sums, 0, s, root, t), _within(sums, 0, s, t, n)
    bg, bh = _within(sums, s, root, root, t), _within(sums, s, root, t, n)
    share = 0.5
    if estimator == LEAST_SQUARES:
        share = (s * (n - t) + (root - s) * (t - root)) / (root * (n - root))
    crossed = share * (ag + bh) + (1.0 - share) * (ah + bg)
    return 0.5 * (crossed - _within(sums, 0, s, s, root) - _within(sums, root, t, t, n))


@part(inline=True)
def _leaf(sums, n, x, c, d, i, j):
    """The edge above the word x, whose sibling is [c, d) and whose parent is [i, j)."""
    near, far = _within(sums, x, x + 1, c, d), _beyond(sums, n, x, x + 1, i, j)
    return 0.5 * (near + far - _beyond(sums, n, c, d, i, j))


@part(inline=True)
def _log_add(a, b):
    """The logarithm of the sum of two exponentials."""
    high, low = max(a, b), min(a, b)
    if low == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


def evolution(semiring: int) -> Any:
    """The kernel that fills the table of a sentence."""

    @part
    def fill(sums, n, estimator, leanings, table):
        """Fill ``table`` for n words from their prefix sums; returns the total, at least two words. ``left`` and
        ``right`` of the whole sentence at R hold the total for that R."""
        score, left, right = table.score, table.left, table.right
        for width in range(2, n):
            for i in range(n - width + 1):
                j = i + width
                for k in range(i + 1, j):
                    for side in range(2):
                        a, b, c, d = (i, k, k, j) if side == 0 else (k, j, i, k)
                        if b - a == 1:
                            value = -_leaf(sums, n, a, c, d, i, j)
                        else:
                            value = -math.inf
                            for s in range(a + 1, b):
                                one = score[a, b, s] - _below(sums, n, a, s, b, c, d, i, j, estimator)
                                value = _log_add(value, one) if semiring == SUM else max(value, one)
                        if side == 0:
                            left[i, j, k] = value
                        else:
                            right[i, j, k] = value
                    score[i, j, k] = left[i, j, k] + right[i, j, k] - leanings.lean[k - i] + leanings.spans[i, j]
        total = -math.inf
        for root in range(1, n):
            value = -math.inf
            if leanings.roots[root] > -math.inf:
                # a single word has one split, at its outer end: 0 on the left, n on the right
                for s in range(min(1, root - 1), max(1, root)):
                    for t in range(root + 1, max(n, root + 2)):
                        one = score[0, root, s] + score[root, n, t]
                        one += leanings.roots[root] - _at_root(sums, n, s, root, t, estimator)
                        value = _log_add(value, one) if semiring == SUM else max(value, one)
            left[0, n, root] = right[0, n, root] = value
            total = _log_add(total, value) if semiring == SUM else max(total, value)
        return total

    return fill


sum_evolution, best_evolution = evolution(SUM), evolution(MAX)


@part
def best_tree(sums, n, estimator, leanings, table, brackets, lengths, leaves):
    """Walk a filled table of the best: ``brackets`` int32 (n - 1, 2) gets the spans of the best tree in preorder, the
    whole sentence first, ``lengths`` float64 (n - 1,) the edges above them and ``leaves`` (n,) those above words. The
    edge at the root is that of both its children, and of the whole sentence."""
    score, root, best = table.score, 1, -math.inf
    for r in range(1, n):
        if table.left[0, n, r] > best + TIE:
            root, best = r, table.left[0, n, r]
    left_split, right_split, best = 0, n, -math.inf
    for s in range(min(1, root - 1), max(1, root)):
        for t in range(root + 1, max(n, root + 2)):
            one = score[0, root, s] + score[root, n, t] - _at_root(sums, n, s, root, t, estimator)
            if one > best + TIE:
                left_split, right_split, best = s, t, one
    edge = _at_root(sums, n, left_split, root, right_split, estimator)
    brackets[0, 0], brackets[0, 1], lengths[0] = 0, n, edge
    stack, height, found = np.empty((n + 1, 3), np.int64), 0, 1
    above = np.empty(n + 1)
    for a, b, s in ((root, n, right_split), (0, root, left_split)):
        if b - a > 1:
            stack[height, 0], stack[height, 1], stack[height, 2], above[height] = a, b, s, edge
            height += 1
        else:
            leaves[a] = edge
    while height:
        height -= 1
        i, j, k = stack[height]
        brackets[found, 0], brackets[found, 1], lengths[found] = i, j, above[height]
        found += 1
        for a, b, c, d in ((k, j, i, k), (i, k, k, j)):
            if b - a == 1:
                leaves[a] = _leaf(sums, n, a, c, d, i, j)
                continue
            split, best, length = a + 1, -math.inf, 0.0
            for s in range(a + 1, b):
                edge = _below(sums, n, a, s, b, c, d, i, j, estimator)
                if score[a, b, s] - edge > best + TIE:
                    split, best, length = s, score[a, b, s] - edge, edge
            stack[height, 0], stack[height, 1], stack[height, 2], above[height] = a, b, split, length
            height += 1


@part
def marginals(sums, n, estimator, leanings, table, total, shares, roots):
    """Fill ``shares`` (n + 1, n + 1), how likely each bracket of at least two words is, and ``roots`` (n + 1,), from
    a table filled by sums; the probability of a tree is the exponential of its score, over that of all."""
    score, outside = table.score, table.outside
    outside[: n + 1, : n + 1, : n + 1] = -math.inf
    for root in range(1, n):
        roots[root] = math.exp(table.left[0, n, root] - total)
        if leanings.roots[root] == -math.inf:
            continue
        for s in range(min(1, root - 1), max(1, root)):
            for t in range(root + 1, max(n, root + 2)):
                edge = leanings.roots[root] - _at_root(sums, n, s, root, t, estimator)
                outside[0, root, s] = _log_add(outside[0, root, s], edge + score[root, n, t])
                outside[root, n, t] = _log_add(outside[root, n, t], edge + score[0, root, s])
    shares[0, n] = 1.0
    for width in range(n - 1, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            share = 0.0
            for k in range(i + 1, j):
                above = outside[i, j, k]
                if above == -math.inf:
                    continue
                share += math.exp(above + score[i, j, k] - total)
                above += leanings.spans[i, j] - leanings.lean[k - i]
                for side in range(2):
                    a, b, c, d = (i, k, k, j) if side == 0 else (k, j, i, k)
                    other = above + (table.right[i, j, k] if side == 0 else table.left[i, j, k])
                    for s in range(a + 1, b):
                        one = other - _below(sums, n, a, s, b, c, d, i, j, estimator)
                        outside[a, b, s] = _log_add(outside[a, b, s], one)
            shares[i, j] = share


# ---- many sentences


class Metric(NamedTuple):
    """How trees are scored.

    - ``table``: float64 (symbols, symbols, distances + 1), entry 0 of the last axis not read;
    - ``gaps``: float64 (gap symbols, gap symbols), added to a bracket for each of its two ends inside the sentence;
    - ``lean``: float64, what is taken off for the width of a left child; wider ones are as the last;
    - ``estimator``: of edge lengths; ``temperature``: scores are divided by it where trees are weighed;
    - ``risk``: 1 for trees with the most expected brackets, 0 for the shortest.
    """

    table: np.ndarray
    gaps: np.ndarray
    lean: np.ndarray
    estimator: int
    temperature: float
    risk: int


class Found(NamedTuple):
    """Trees of sentences, one after the other; a sentence of n words has max(0, n - 1) brackets.

    - ``brackets``: int32 (n_brackets, 2), preorder; ``lengths``: float64 (n_brackets,), of the edges above them;
    - ``leaves``: float64 (n_words,), of the edges above words;
    - ``shares``: float64 (n_brackets,), how likely each is, where trees were weighed;
    - ``costs``: float64 (n_sentences,), the least cost of a tree.
    """

    brackets: np.ndarray
    lengths: np.ndarray
    leaves: np.ndarray
    shares: np.ndarray
    costs: np.ndarray


@kernel
def shortest_trees(words, starts, roots, root_starts, metric, rules, weigh, found):
    """Fill ``found`` for sentences of ``words``: two arrays int32, the symbols of distances and those of gaps, which
    begin at ``starts``; ``roots``: for each sentence n + 1 logarithms of weights of the first word of the right part,
    beginning at ``root_starts``. ``weigh``: whether how likely brackets are is asked for; ``rules``: that of
    ``spans``, as a logarithm."""
    longest = _longest(np.diff(starts))
    room = longest + 1
    distances, sums, spans = np.zeros((room, room)), np.zeros((room, room)), np.zeros((room, room))
    shares, chances, cells = np.zeros((room, room)), np.zeros(room), np.zeros(longest * room // 2)
    chart, tree = span_chart(longest), np.zeros((2 * room, 3), np.int32)
    symbols, kinds = words
    ends, lean = np.zeros(room), metric.lean[np.minimum(np.arange(room), len(metric.lean) - 1)]
    table = evolution_for(longest)
    farthest, put = metric.table.shape[2] - 1, 0
    for sentence in range(len(starts) - 1):
        begin, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n < 2:
            found.costs[sentence] = 0.0
            continue
        for a in range(n):
            distances[a, a] = 0.0
            for b in range(a + 1, n):
                value = metric.table[symbols[begin + a], symbols[begin + b], min(b - a, farthest)]
                distances[a, b] = distances[b, a] = value
            ends[a] = 0.0 if a == 0 else metric.gaps[kinds[begin + a - 1], kinds[begin + a]]
        ends[n] = 0.0
        for i in range(n):
            for j in range(i + 2, n + 1):
                spans[i, j] = ends[i] + ends[j]
        prefix_sums(distances, n, sums)
        own = roots[root_starts[sentence] : root_starts[sentence] + n + 1]
        brackets, lengths = found.brackets[put : put + n - 1], found.lengths[put : put + n - 1]
        leanings = Leanings(own, lean, spans)
        leaves = found.leaves[begin - starts[0] : begin - starts[0] + n]
        found.costs[sentence] = -best_evolution(sums, n, metric.estimator, leanings, table)
        best_tree(sums, n, metric.estimator, leanings, table, brackets, lengths, leaves)
        if weigh or metric.risk:
            sums[:] /= metric.temperature
            leanings = Leanings(own, lean / metric.temperature, spans / metric.temperature)
            total = sum_evolution(sums, n, metric.estimator, leanings, table)
            marginals(sums, n, metric.estimator, leanings, table, total, shares, chances)
            if metric.risk:
                for i in range(n):
                    for j in range(i + 1, n + 1):
                        cells[cell_of(n, i, j)] = shares[i, j] if j - i > 1 else 0.0
                best_brackets(cells, n, rules, chart, tree, brackets)
            for at in range(n - 1):
                found.shares[put + at] = shares[brackets[at, 0], brackets[at, 1]]
        put += n - 1
