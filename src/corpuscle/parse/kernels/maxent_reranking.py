"""How likely the best trees of lists are, by the weights of features of whole trees: maximum entropy over each list.

p(tree) = exp(s(tree)) / sum over the list of exp(s), where s is the score of ``reranking``, of weighted numbers and
features. The loss of a list is -log of the probability that one of the trees with most right heads is chosen; its
gradient is the expectation of numbers and features under p, minus that under p given that a best tree was chosen.

Features that all trees of a list share say nothing, and most are shared: each tree keeps the difference of its counts
from those of the first tree of its list, about a fifth of them.

Charniak and Johnson, "Coarse-to-fine n-best parsing and MaxEnt discriminative reranking", 2005, section 4 (also for
several best trees).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.parse.kernels.reranking import tree_features


class Differences(NamedTuple):
    """How the features of trees differ from those of the first tree of their list: ``places`` uint32 and ``counts``
    int16, those of tree t from ``ends[t]`` to ``ends[t + 1]`` of int64 (n_trees + 1,)."""

    ends: np.ndarray
    places: np.ndarray
    counts: np.ndarray


@kernel
def differ(lists, first, last, shift, room, balance, ends, places, counts):
    """The differences of the trees of the sentences ``first`` to ``last``, from the beginning of ``places`` and
    ``counts``, which must have room for all their features twice; ``ends[t + 1]`` := how many those of tree t are.
    ``balance`` int16 (table,) is 0 before and after. Returns how many there are together."""
    at = 0
    for sentence in range(first, last):
        begin, end = lists.starts[sentence], lists.starts[sentence + 1]
        head, n, tags = lists.begins[sentence], end - begin, lists.tags[begin:end]
        of_first = tree_features(tags, lists.heads[head : head + n], shift, room.nearest, room.places[0])
        for tree in range(lists.firsts[sentence], lists.firsts[sentence + 1]):
            count = tree_features(tags, lists.heads[head : head + n], shift, room.nearest, room.places[1])
            for i in range(of_first):
                balance[room.places[0, i]] -= 1
            for i in range(count):
                balance[room.places[1, i]] += 1
            before = at
            for which, many in ((0, of_first), (1, count)):
                at = _settled(room.places[which, :many], balance, places, counts, at)
            ends[tree + 1] = at - before
            head += n
    return at


@part(bare=True)
def _settled(features, balance, places, counts, at):
    """Write down what is not in balance among ``features``, from ``at`` on, and balance it."""
    for place in features:
        if balance[place] != 0:
            places[at], counts[at] = place, balance[place]
            balance[place] = 0
            at += 1
    return at


@part(bare=True)
def _log_sum(scores, chosen, n):
    """The log of the sum of exp of the scores of the trees that are chosen."""
    top, total = -np.inf, 0.0
    for i in range(n):
        if chosen[i]:
            top = max(top, scores[i])
    for i in range(n):
        if chosen[i]:
            total += np.exp(scores[i] - top)
    return top + np.log(total)


@kernel
def choice_loss(lists, best, apart, weights, scores, gradient):
    """The loss of all lists; adds its slopes to ``gradient`` float64, like ``weights``, of features, then of numbers.
    ``best`` bool (n_trees,): the trees with most right heads of their lists; ``scores`` float64 (longest list,)."""
    loss, numbers = 0.0, lists.numbers.shape[1]
    size = len(weights) - numbers
    every = np.ones(len(scores), np.bool_)
    for sentence in range(len(lists.firsts) - 1):
        first, n = lists.firsts[sentence], lists.firsts[sentence + 1] - lists.firsts[sentence]
        if n == 0:
            continue
        for i in range(n):
            total = 0.0
            for r in range(numbers):
                total += weights[size + r] * lists.numbers[first + i, r]
            for at in range(apart.ends[first + i], apart.ends[first + i + 1]):
                total += weights[apart.places[at]] * apart.counts[at]
            scores[i] = total
        of_all, of_best = _log_sum(scores, every, n), _log_sum(scores, best[first : first + n], n)
        loss += of_all - of_best
        for i in range(n):
            slope = np.exp(scores[i] - of_all) - (np.exp(scores[i] - of_best) if best[first + i] else 0.0)
            for r in range(numbers):
                gradient[size + r] += slope * lists.numbers[first + i, r]
            for at in range(apart.ends[first + i], apart.ends[first + i + 1]):
                gradient[apart.places[at]] += slope * apart.counts[at]
    return loss
