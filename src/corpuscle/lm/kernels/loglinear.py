"""A log-linear model over the contexts of a suffix tree: exact loss and gradient in two passes over its entries.

Every context s of a history x adds a weight to the scores of the words that have followed it:

    score(v | x) = sum of g_s w(s, v) over the contexts s of x that v followed in training
    p(v | x) = exp score(v | x) / Z(x)

Most words have followed the root alone, so Z changes little from a context to a longer one. With E(s, v) = exp of the
score up to s, which is that of the parent entry times exp(g w),

    Z(s) = Z(parent of s) + sum over the entries of s of E(parent entry) (exp(g w) - 1)

needs the entries of s and nothing else: all normalisers of a text cost one pass down the tree, parents first. The
gradient of the summed loss needs one pass up. With A(s) = sum of 1/Z over the positions whose history has s,

    G(s, v) = sum over these positions of p(v | history)
            = E(s, v) A(s) + sum over children s' of [G(s', v) - E(s, v) A(s')]

and the slope of w(s, v) is G - count. Neither pass depends on how many words there are times how many positions.

A collapsed node stands for c contexts with one weight: its g has the factor c, its slope, which is that of each of
them, has not. ``base`` are the scores of words before any weight: 0, or minus infinity for what is never predicted.

Nelakanti, Archambeau, Mairal, Bach and Bouchard, "Structured penalties for log-linear language models", 2013, eq. 1-2;
the sums over shared contexts follow Wu and Khudanpur, "Efficient training methods for maximum entropy language
modeling", 2000.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel


class Passes(NamedTuple):
    """A suffix tree, what a node's weight counts for, a text to be predicted, and room for the passes.

    - ``parents``, ``starts``, ``entry_parents``: see ``SuffixTree``;
    - ``gains``: float64 (nodes,), what a score gains by a weight of 1; ``slopes``: float64 (nodes,), the same for one
      of the contexts of a collapsed node;
    - ``ends``: int32 (nodes,), how many positions have no longer context; ``counts``: int32 (entries,);
    - ``base``: float64 (n_types,);
    - ``exps``: float64 (entries,), E; ``totals``, ``sums``: float64 (nodes,), Z and A. All E and Z are divided by the
      exponential of the largest score at the root.
    """

    parents: np.ndarray
    starts: np.ndarray
    entry_parents: np.ndarray
    gains: np.ndarray
    slopes: np.ndarray
    ends: np.ndarray
    counts: np.ndarray
    base: np.ndarray
    exps: np.ndarray
    totals: np.ndarray
    sums: np.ndarray


@kernel
def root_down(passes, weights, positions):
    """The pass down at the root: its part of the loss, with what all ``positions`` have in common."""
    n, gain = passes.starts[1], passes.gains[0]
    top, total, linear = -np.inf, 0.0, 0.0
    for e in range(n):
        top = max(top, passes.base[e] + gain * weights[e])
    for e in range(n):  # with the largest score taken off, no exponential is too large
        passes.exps[e] = math.exp(passes.base[e] + gain * weights[e] - top)
        total += passes.exps[e]
        linear += passes.counts[e] * gain * weights[e]
    passes.totals[0] = total
    return passes.ends[0] * math.log(total) + positions * top - linear


@kernel
def tree_down(passes, weights, first, last):
    """The pass down over the nodes ``first`` to ``last``, whose parents are among them or the root: their part of the
    loss."""
    exps, counts = passes.exps, passes.counts
    loss = 0.0
    for s in range(first, last):
        gain, total = passes.gains[s], passes.totals[passes.parents[s]]
        for e in range(passes.starts[s], passes.starts[s + 1]):
            above = exps[passes.entry_parents[e]]
            exps[e] = above
            if weights[e] != 0.0:  # penalties leave most at zero: these cost no exponential
                added = gain * weights[e]
                more = above * math.expm1(added)  # exp - 1 loses nothing where g w is small
                total += more
                exps[e] += more
                loss -= counts[e] * added
        passes.totals[s] = total
        if passes.ends[s] > 0:
            loss += passes.ends[s] * math.log(total)
    return loss


@kernel
def tree_up(passes, positions, first, last, root, gradient):
    """The pass up over the same nodes: ``gradient`` (entries,), divided by ``positions``, and in ``root``
    (n_types + 1,) what goes up to the root, whose last number is for A."""
    exps, sums, n = passes.exps, passes.sums, passes.starts[1]
    for e in range(passes.starts[first], passes.starts[last]):
        gradient[e] = 0.0
    for s in range(first, last):
        sums[s] = 0.0
    for s in range(last - 1, first - 1, -1):  # children first; until its node comes, gradient[e] gathers theirs
        here = sums[s] + passes.ends[s] / passes.totals[s]  # A(s)
        if passes.parents[s] == 0:
            root[n] += here
        else:
            sums[passes.parents[s]] += here
        for e in range(passes.starts[s], passes.starts[s + 1]):
            expected = gradient[e] + exps[e] * here  # G(s, v)
            parent = passes.entry_parents[e]
            rest = expected - exps[parent] * here  # a term of the sum over children in G of the parent
            if parent < n:
                root[parent] += rest
            else:
                gradient[parent] += rest
            gradient[e] = passes.slopes[s] * (expected - passes.counts[e]) / positions


@kernel
def root_up(passes, positions, root, gradient):
    """The pass up at the root, after all others, with the sum of what they left for it."""
    n = passes.starts[1]
    here = root[n] + passes.ends[0] / passes.totals[0]
    for e in range(n):
        gradient[e] = passes.slopes[0] * (root[e] + passes.exps[e] * here - passes.counts[e]) / positions


@kernel
def descend(starts, depths, steps, metric, scale, signed, out, first, last):
    """A step against the gradient at the nodes ``first`` to ``last``; ``steps`` are the point and the gradient there.
    Weights of contexts with ``signed`` words or more do not become negative."""
    point, gradient = steps
    for s in range(first, last):
        for e in range(starts[s], starts[s + 1]):
            out[e] = point[e] - gradient[e] / (scale * metric[e])
            if out[e] < 0.0 and depths[s] >= signed:
                out[e] = 0.0


@kernel
def count_positions(starts, entry_parents, entries, ends, counts):
    """The counts of positions whose longest n-grams are ``entries``: ``ends`` (nodes,) and ``counts`` (entries,)."""
    for e in entries:
        counts[e] += 1
    # ends first, while counts are those of longest n-grams alone; then each entry gives its count to the one above
    for s in range(len(ends) - 1, -1, -1):
        for e in range(starts[s], starts[s + 1]):
            ends[s] += counts[e]
    for e in range(len(counts) - 1, -1, -1):
        if entry_parents[e] >= 0:
            counts[entry_parents[e]] += counts[e]


@kernel
def score_rows(ngrams, added, base, scores, totals):
    """Scores of all n-grams and log Z of all contexts from what every n-gram adds to its score, ``added`` (rows,):
    ``scores`` (rows,), and ``totals`` (contexts + 1,), whose last number is that of the empty context."""
    n, contexts = len(base), len(ngrams.first_child) - 1
    top, total = -np.inf, 0.0
    for row in range(n):
        scores[row] = base[row] + added[row]
        top = max(top, scores[row])
    for row in range(n):
        total += math.exp(scores[row] - top)
    totals[contexts] = total
    for context in range(contexts):
        suffix = ngrams.suffix[context]
        total = totals[suffix if suffix >= 0 else contexts]  # suffixes stand before: theirs are final, not yet logs
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            above = scores[ngrams.suffix[row]]
            scores[row] = above + added[row]
            if added[row] != 0.0:
                total += math.exp(above - top) * math.expm1(added[row])
        totals[context] = total
    for context in range(contexts + 1):
        totals[context] = math.log(totals[context]) + top
