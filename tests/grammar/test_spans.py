"""Binary bracketings with a weight for each span: against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corpuscle.engine.dp.cky import cells_of as spans_of
from corpuscle.grammar.kernels.spans import BRACKETS, WEIGHTS, best_bracketings, posteriors, random_splits
from tests.grammar.test_minimum_evolution import bracketings, spans

RANDOM = np.random.default_rng(7)


def place(i, j, n):
    return [(a, a + width) for width in range(1, n + 1) for a in range(n + 1 - width)].index((i, j))


def scores_of(tree, n, flat) -> float:
    """The sum over the spans of a tree, words included."""
    parts = spans(tree) | {(i, i + 1) for i in range(n)}
    return sum(flat[place(i, j, n)] for i, j in parts)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_posteriors_equal_all_bracketings(n):
    trees = bracketings(0, n)
    assert len(trees) == math.comb(2 * n - 2, n - 1) // n  # 132 for seven words
    flat = RANDOM.normal(size=spans_of(n)) * 3
    weights = [math.exp(scores_of(tree, n, flat)) for tree in trees]
    shares, totals = np.zeros(spans_of(n)), np.zeros(1)
    posteriors(flat, np.array([n]), WEIGHTS, shares, totals)
    assert totals[0] == pytest.approx(math.log(sum(weights)), abs=1e-10)
    for i in range(n):
        for j in range(i + 1, n + 1):
            with_it = [w for w, tree in zip(weights, trees, strict=True) if j - i == 1 or (i, j) in spans(tree)]
            assert shares[place(i, j, n)] == pytest.approx(sum(with_it) / sum(weights), abs=1e-10)


def test_scores_that_are_no_numbers_branch_to_the_right():
    brackets = np.zeros((3, 2), np.int32)
    best_bracketings(np.full(10, np.nan), np.array([4]), BRACKETS, brackets)
    assert brackets.tolist() == [[0, 4], [1, 4], [2, 4]]


def test_many_sentences_are_each_alone():
    lengths = np.array([3, 0, 1, 6, 2])
    flat = RANDOM.normal(size=sum(map(spans_of, lengths.tolist())))
    shares, totals = np.zeros(len(flat)), np.zeros(5)
    posteriors(flat, lengths, WEIGHTS, shares, totals)
    brackets = np.zeros((8, 2), np.int32)
    best_bracketings(flat, lengths, BRACKETS, brackets)
    at = put = 0
    for which, n in enumerate(lengths.tolist()):
        own = flat[at : at + spans_of(n)]
        alone, total = np.zeros(len(own)), np.zeros(1)
        posteriors(own, np.array([n]), WEIGHTS, alone, total)
        assert (shares[at : at + len(own)] == alone).all()
        assert totals[which] == total[0]
        if n > 1:
            best = max(bracketings(0, n), key=lambda tree, n=n, own=own: scores_of(tree, n, own))
            assert {tuple(span) for span in brackets[put : put + n - 1].tolist()} == spans(best)
            put += n - 1
        at += len(own)


def test_random_splits_have_their_closed_form():
    n, chance = 7, {}

    def descend(i, j, weight):
        chance[i, j] = chance.get((i, j), 0.0) + weight
        for k in range(i + 1, j):
            descend(i, k, weight / (j - i - 1))
            descend(k, j, weight / (j - i - 1))

    descend(0, n, 1.0)
    shares = np.zeros(spans_of(n))
    random_splits(np.array([n]), shares)
    for (i, j), value in chance.items():
        assert shares[place(i, j, n)] == pytest.approx(value, abs=1e-12)


def test_long_sentences_do_not_underflow():
    flat = np.full(spans_of(60), -400.0)
    shares, totals = np.zeros(len(flat)), np.zeros(1)
    posteriors(flat, np.array([60]), WEIGHTS, shares, totals)
    assert np.isfinite(totals[0])
    assert shares[-1] == pytest.approx(1.0)
