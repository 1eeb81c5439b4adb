"""Bracketings of many sentences in which each span has a score of its own: the chart of one symbol and one rule.

The spans of a sentence of n words stand by width, as the cells of ``engine.dp.cky``: n (n + 1) / 2 of them, words
first, the whole sentence last; those of several sentences one after the other. A score is the logarithm of a weight.

Klein and Manning, "A generative constituent-context model for improved grammar induction", 2002, section 3 (sums,
random splits; the yield of a span is its string of tags, its context the two tags around it, or the boundary of the
sentence); Goodman, "Parsing algorithms and metrics", 1996 (the bracketing with the greatest sum of posteriors).
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.cky import ALL, Chart, best_chart, best_tree, cell_of, expectations, rules_for, sum_chart
from corpuscle.random import below, gamma, mix

WEIGHTS = rules_for([0], [0], [0], [1.0], 1)
"""The one rule, as a weight."""
BRACKETS = WEIGHTS._replace(weights=np.zeros(1))
"""And as a logarithm, for the best."""


@part
def span_chart(n):
    """Room for sentences of n words."""
    cells = n * (n + 1) // 2
    live = np.zeros((cells, 1), np.int32)
    return Chart(np.zeros((cells, 1)), np.zeros(cells, np.int64), live, np.zeros(cells, np.int64))


@part
def _longest(lengths):
    longest = 1
    for n in lengths:
        longest = max(longest, n)
    return longest


@part
def best_brackets(scores, n, rules, chart, tree, brackets):
    """The best bracketing of one sentence by ``scores`` (n_cells,): ``brackets`` int32 (n - 1, 2) gets its spans of at
    least two words in preorder, those of the right-branching tree if no tree has a score; ``tree`` int32 (2 n - 1, 3)
    is room."""
    best_chart(n, rules, np.zeros(1), np.zeros((n, 1)), scores, ALL, chart)
    if not best_tree(n, rules, np.zeros(1), chart, tree):
        for i in range(n - 1):
            brackets[i, 0], brackets[i, 1] = i, n
        return
    found = 0
    for node in range(2 * n - 1):
        if tree[node, 2] - tree[node, 1] > 1:
            brackets[found, 0], brackets[found, 1] = tree[node, 1], tree[node, 2]
            found += 1


@kernel
def best_bracketings(scores, lengths, rules, brackets):
    """The best bracketings of many sentences; ``brackets`` int32 (sum of n - 1, 2)."""
    longest = _longest(lengths)
    chart, tree = span_chart(longest), np.zeros((2 * longest, 3), np.int32)
    at, put = 0, 0
    for n in lengths:
        cells = n * (n + 1) // 2
        if n > 1:
            best_brackets(scores[at : at + cells], n, rules, chart, tree, brackets[put : put + n - 1])
            put += n - 1
        at += cells


@kernel
def posteriors(scores, lengths, rules, shares, totals):
    """How likely every span of many sentences is: ``shares`` as long as ``scores``, and ``totals`` (n_sentences,), the
    logarithms of the weight of all bracketings."""
    longest = _longest(lengths)
    chart, outside = span_chart(longest), np.zeros((longest * (longest + 1) // 2, 1))
    weights, used, at = np.zeros(longest * (longest + 1) // 2), np.zeros(1), 0
    for sentence in range(len(lengths)):
        n = lengths[sentence]
        cells = n * (n + 1) // 2
        if n == 0:
            totals[sentence] = 0.0
            continue
        for cell in range(cells):
            weights[cell] = math.exp(scores[at + cell])
        totals[sentence] = sum_chart(n, rules, np.ones(1), np.ones((n, 1)), weights[:cells], ALL, chart)
        expectations(n, rules, np.ones(1), weights[:cells], chart, outside, used)
        for cell in range(cells):
            shares[at + cell] = chart.inside[cell, 0] * outside[cell, 0]
        at += cells


@kernel
def random_splits(lengths, shares):
    """How likely each span is when every span is split at a place drawn uniformly, and its parts again: 1 for words and
    the whole sentence, 1 / w for a span of w words at one end of the sentence, else 2 / (w (w + 1))."""
    at = 0
    for n in lengths:
        for width in range(1, n + 1):
            for i in range(n + 1 - width):
                if width == n:
                    shares[at] = 1.0
                elif i == 0 or i + width == n:
                    shares[at] = 1.0 / width
                else:
                    shares[at] = 2.0 / (width * (width + 1))
                at += 1


@kernel
def random_bracketing(n, draws, brackets):
    """Draw a bracketing of n words by uniform splits: ``brackets`` int32 (n - 1, 2), preorder."""
    todo, waiting, found = np.empty((n + 1, 2), np.int64), 0, 0
    if n > 1:
        todo[0, 0], todo[0, 1], waiting = 0, n, 1
    while waiting:
        waiting -= 1
        a, b = todo[waiting, 0], todo[waiting, 1]
        brackets[found, 0], brackets[found, 1] = a, b
        found += 1
        k = a + 1 + below(draws, b - a - 1)
        for first, last in ((k, b), (a, k)):
            if last - first > 1:
                todo[waiting, 0], todo[waiting, 1] = first, last
                waiting += 1


@kernel
def fill_gammas(draws, shape, values):
    """Draw a gamma number for every place of ``values`` (rows, columns)."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = gamma(draws, shape)


# ---- what stands in a span and around it


@kernel
def keys_of_spans(symbols, lengths, boundary, yields, contexts):
    """Fill ``yields`` and ``contexts`` uint64 (n_spans,) for sentences of ``symbols`` int32, spans by width;
    ``boundary`` is the symbol outside of sentences. A context is the left symbol times 2^32 plus the right one."""
    begin, at = 0, 0
    for n in lengths:
        for i in range(n):
            key = np.uint64(1)
            left = symbols[begin + i - 1] if i > 0 else boundary
            for j in range(i + 1, n + 1):
                key = mix(key + np.uint64(symbols[begin + j - 1]) + np.uint64(1))
                right = symbols[begin + j] if j < n else boundary
                cell = at + cell_of(n, i, j)
                yields[cell] = key >> np.uint64(1)
                contexts[cell] = (np.uint64(left) << np.uint64(32)) + np.uint64(right)
        begin += n
        at += n * (n + 1) // 2
