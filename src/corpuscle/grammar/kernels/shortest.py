"""The trees of many sentences, from a table of distances between symbols.

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, section 4: the distance of two
words depends on their symbols (tags) and on how far apart they stand, ``table[s, t, delta]`` for s before t; greater
distances are that of the last entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.dp.cky import cell_of
from corpuscle.grammar.kernels.minimum_evolution import (
    Evolution,
    Leanings,
    best_evolution,
    best_tree,
    marginals,
    prefix_sums,
    sum_evolution,
)
from corpuscle.grammar.kernels.spans import best_brackets, span_chart


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
    longest = 0
    for sentence in range(len(starts) - 1):
        longest = max(longest, starts[sentence + 1] - starts[sentence])
    room = longest + 1
    distances, sums, scaled = np.zeros((room, room)), np.zeros((room, room)), np.zeros((room, room))
    shares, chances, cells = np.zeros((room, room)), np.zeros(room), np.zeros(longest * room // 2)
    chart, tree = span_chart(longest), np.zeros((2 * room, 3), np.int32)
    symbols, kinds = words
    spans, lean, ends = np.zeros((room, room)), np.zeros(room), np.zeros(room)
    for width in range(room):
        lean[width] = metric.lean[min(width, len(metric.lean) - 1)]
    cube = (room, room, room)
    table = Evolution(np.zeros(cube), np.zeros(cube), np.zeros(cube), np.zeros(cube))
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
            for a in range(n + 1):
                for b in range(n + 1):
                    scaled[a, b] = sums[a, b] / metric.temperature
                    spans[a, b] /= metric.temperature
            leanings = Leanings(own, lean / metric.temperature, spans)
            total = sum_evolution(scaled, n, metric.estimator, leanings, table)
            marginals(scaled, n, metric.estimator, leanings, table, total, shares, chances)
            if metric.risk:
                for i in range(n):
                    for j in range(i + 1, n + 1):
                        cells[cell_of(n, i, j)] = shares[i, j] if j - i > 1 else 0.0
                best_brackets(cells, n, rules, chart, tree, brackets)
            for at in range(n - 1):
                found.shares[put + at] = shares[brackets[at, 0], brackets[at, 1]]
        put += n - 1
