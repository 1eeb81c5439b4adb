"""Choosing among the best trees of a parser by features of whole trees, by the averaged perceptron or maximum entropy.

A tree scores sum_r w_r x_r + sum_f w_f, where x_0 is its standardised score by the parser, the other x_r are other
numbers (log p, say), and f goes over its features:

- for every head, the artificial root too, the tags of its nearest child to the left, of itself, of its nearest child to
  the right;
- for every word its side, its tag, and the tags of its head and of that word's head.

The perceptron is given the weight of the parser's score and learns the others: where the best tree is not the one with
most right heads of its list, the features of that one are added, those of the best tree subtracted. It could not learn
the former: the better tree of a pair, the one with fewer mistakes, scores worse whenever there is something to learn.

Maximum entropy over each list: p(tree) = exp(s(tree)) / sum over the list of exp(s), where s is that score. The loss of
a list is -log of the probability that one of the trees with most right heads is chosen; its gradient is the expectation
of numbers and features under p, minus that under p given that a best tree was chosen.

Features that all trees of a list share say nothing, and most are shared: each tree keeps the difference of its counts
from those of the first tree of its list, about a fifth of them.

Collins, "Discriminative reranking for natural language parsing", 2000; Collins, "Discriminative training methods for
hidden Markov models: theory and experiments with perceptron algorithms", 2002, for means of weights; Dhillon, Rodu,
Collins, Foster and Ungar, "Spectral dependency parsing with latent variables", 2012, section 6, for the features;
Charniak and Johnson, "Coarse-to-fine n-best parsing and MaxEnt discriminative reranking", 2005, section 4 (also for
several best trees).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.parse.kernels.features import place_of

_NONE, _ROOT, _TAGS = 1, 2, 8
"""Values of a tag that is missing, of the root's, and of the first tag."""
_TRIPLE, _GRANDPARENT = 1, 2
MOST_CHILDREN = 2
"""Whether another child follows depends on how many there are already, up to this number."""


class Lists(NamedTuple):
    """Lists of trees of some sentences: those of sentence s are ``firsts[s]`` to ``firsts[s + 1]``, and their heads,
    one tree after the other, begin at ``begins[s]`` (both int64 (n_sentences + 1,)) of ``heads`` int32; ``numbers``
    float64 (n_trees, numbers): x; ``tags`` int32 (n_words,), ``starts`` int64 (n_sentences + 1,) of words."""

    firsts: np.ndarray
    begins: np.ndarray
    heads: np.ndarray
    numbers: np.ndarray
    tags: np.ndarray
    starts: np.ndarray


class Ranking(NamedTuple):
    """``weights`` float64 (2^bits + numbers,): of features, then of numbers; ``totals`` float64, what must be
    subtracted, divided by the ``clock`` int64 (1,), to have their means; ``shift``: 64 - bits; ``tagged``: whether
    there are features of tags."""

    weights: np.ndarray
    totals: np.ndarray
    clock: np.ndarray
    shift: np.uint64
    tagged: bool


@part
def _room(lists):
    """Room for any of the trees: the nearest children of words, int32 (2, longest + 1), and the places of the features
    of two trees, uint32 (2, features)."""
    longest = 1
    for n in np.diff(lists.starts):
        longest = max(longest, n)
    return np.zeros((2, longest + 1), np.int32), np.zeros((2, 2 * longest + 1), np.uint32)


@part(inline=True)
def _tree(lists, sentence, tree):
    """Where the words of a sentence begin, how many there are, and where the heads of one of its trees begin."""
    begin, end = lists.starts[sentence], lists.starts[sentence + 1]
    return begin, end - begin, lists.begins[sentence] + (tree - lists.firsts[sentence]) * (end - begin)


@part(bare=True)
def _value(tags, word):
    """The tag of a word as a value of features; 0 is the root."""
    return np.uint64(_ROOT) if word == 0 else np.uint64(tags[word - 1] + _TAGS)


@part(bare=True)
def tree_features(tags, heads, shift, nearest, places):
    """``places`` := the features of a tree; returns how many."""
    n = len(heads)
    nearest[:, : n + 1] = 0
    for j in range(1, n + 1):
        head = heads[j - 1]
        if head > j:
            nearest[0, head] = j
        elif nearest[1, head] == 0:
            nearest[1, head] = j
    count = 0
    for j in range(n + 1):
        left = _value(tags, nearest[0, j]) if nearest[0, j] > 0 else np.uint64(_NONE)
        right = _value(tags, nearest[1, j]) if nearest[1, j] > 0 else np.uint64(_NONE)
        places[count] = place_of(left, _value(tags, j), right, _TRIPLE, shift)
        count += 1
        if j > 0:
            head = heads[j - 1]
            above = _value(tags, heads[head - 1]) if head > 0 else np.uint64(_NONE)
            side = _GRANDPARENT + (1 if j < head else 0)
            places[count] = place_of(_value(tags, j), _value(tags, head), above, side, shift)
            count += 1
    return count


@part(bare=True)
def _score(lists, sentence, tree, ranking, nearest, places):
    """The score of a tree, and how many features it has, which are in ``places``."""
    numbers = lists.numbers[tree]
    first = len(ranking.weights) - len(numbers)
    total, count = 0.0, 0
    for r in range(len(numbers)):
        total += ranking.weights[first + r] * numbers[r]
    if ranking.tagged:
        begin, n, at = _tree(lists, sentence, tree)
        tags, heads = lists.tags[begin : begin + n], lists.heads[at : at + n]
        count = tree_features(tags, heads, ranking.shift, nearest, places)
        for i in range(count):
            total += ranking.weights[places[i]]
    return total, count


@kernel
def score_candidates(lists, first, last, ranking, scores):
    """``scores`` (n_trees,) := those of the trees of the sentences ``first`` to ``last``."""
    nearest, places = _room(lists)
    for sentence in range(first, last):
        for tree in range(lists.firsts[sentence], lists.firsts[sentence + 1]):
            scores[tree], _ = _score(lists, sentence, tree, ranking, nearest, places[0])


@kernel
def learn_lists(lists, part, targets, ranking):
    """Learn from the lists of the sentences ``part`` int64, whose right trees are ``targets`` int64 (n_sentences,)."""
    numbers = lists.numbers
    of_numbers = len(ranking.weights) - numbers.shape[1]
    nearest, room = _room(lists)
    places = room[0]
    for sentence in part:
        first, last = lists.firsts[sentence], lists.firsts[sentence + 1]
        best, best_score = first, -np.inf
        for tree in range(first, last):
            score, _ = _score(lists, sentence, tree, ranking, nearest, places)
            if score > best_score:
                best, best_score = tree, score
        if last > first and best != targets[sentence]:
            age = np.float64(ranking.clock[0])
            for tree, sign in ((targets[sentence], 1.0), (best, -1.0)):
                _, count = _score(lists, sentence, tree, ranking, nearest, places)
                for i in range(count):
                    ranking.weights[places[i]] += sign
                    ranking.totals[places[i]] += sign * age
                for r in range(1, numbers.shape[1]):  # not the parser's score, whose weight is given
                    ranking.weights[of_numbers + r] += sign * numbers[tree, r]
                    ranking.totals[of_numbers + r] += sign * age * numbers[tree, r]
        ranking.clock[0] += 1


@kernel
def valences(lists, first, last, logs, found):
    """``found`` (n_trees,) := the log probability of the numbers of children in the trees of the sentences ``first`` to
    ``last``; ``logs`` (n_tags, 2, MOST_CHILDREN + 1, 2): see ``lists.valence_logs``."""
    children, _ = _room(lists)
    for sentence in range(first, last):
        for tree in range(lists.firsts[sentence], lists.firsts[sentence + 1]):
            begin, n, at = _tree(lists, sentence, tree)
            children[:, : n + 1] = 0
            for j in range(1, n + 1):
                head = lists.heads[at + j - 1]
                children[0 if j < head else 1, head] += 1
            total = 0.0
            for j in range(1, n + 1):
                tag = lists.tags[begin + j - 1]
                for side in range(2):
                    there = children[side, j]
                    for child in range(there):
                        total += logs[tag, side, min(child, MOST_CHILDREN), 1]
                    total += logs[tag, side, min(there, MOST_CHILDREN), 0]
            found[tree] = total


# ---- maximum entropy over each list


class Differences(NamedTuple):
    """How the features of trees differ from those of the first tree of their list: ``places`` uint32 and ``counts``
    int16, those of tree t from ``ends[t]`` to ``ends[t + 1]`` of int64 (n_trees + 1,)."""

    ends: np.ndarray
    places: np.ndarray
    counts: np.ndarray


@kernel
def differ(lists, first, last, shift, balance, ends, places, counts):
    """The differences of the trees of the sentences ``first`` to ``last``, from the beginning of ``places`` and
    ``counts``, which must have room for all their features twice; ``ends[t + 1]`` := how many those of tree t are.
    ``balance`` int16 (table,) is 0 before and after. Returns how many there are together."""
    at = of_first = 0
    nearest, features = _room(lists)
    for sentence in range(first, last):
        for tree in range(lists.firsts[sentence], lists.firsts[sentence + 1]):
            begin, n, place = _tree(lists, sentence, tree)
            tags, heads = lists.tags[begin : begin + n], lists.heads[place : place + n]
            count = tree_features(tags, heads, shift, nearest, features[1])
            if tree == lists.firsts[sentence]:
                of_first = tree_features(tags, heads, shift, nearest, features[0])
            for i in range(of_first):
                balance[features[0, i]] -= 1
            for i in range(count):
                balance[features[1, i]] += 1
            before = at
            # what is not in balance is a difference; each is written once, and balanced again
            for which, many in ((0, of_first), (1, count)):
                for feature in features[which, :many]:
                    if balance[feature] != 0:
                        places[at], counts[at] = feature, balance[feature]
                        balance[feature] = 0
                        at += 1
            ends[tree + 1] = at - before
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
