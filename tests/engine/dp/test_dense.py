"""Inside-outside of a dense grammar: against enumeration of every tree, and its sums."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from corpuscle.engine.dp.dense import inside_outside
from tests.grammar.test_minimum_evolution import bracketings, spans

RANDOM = np.random.default_rng(3)


def every_tree(tree, k: int, sentence, emissions, rules):
    """(symbol, weight, counts of rules, symbols of words) of every labelling of a bracketing."""
    if isinstance(tree, int):
        return [(a, emissions[tree, a], {}, {tree: a}) for a in range(k)]
    found = []
    for left, right in itertools.product(*(every_tree(part, k, sentence, emissions, rules) for part in tree)):
        for a in range(k):
            counts = dict(left[2])
            for rule, number in [*right[2].items(), ((a, left[0], right[0]), 1)]:
                counts[rule] = counts.get(rule, 0) + number
            weight = left[1] * right[1] * rules[a, left[0] * k + right[0]]
            found.append((a, weight, counts, left[3] | right[3]))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_totals_and_counts_equal_every_tree(n):
    k = 2
    rules, emissions = RANDOM.random((k, k * k)), RANDOM.random((3, n, k)) * 1e-3
    times = np.array([1.0, 2.0, 0.5])
    found = inside_outside(emissions, rules, times, spans=True)
    expected = np.zeros((k, k, k))
    for which in range(3):
        total, words, shares = 0.0, np.zeros((n, k)), {}
        counts = np.zeros((k, k, k))
        for tree in bracketings(0, n):
            for a, weight, used, symbols in every_tree(tree, k, which, emissions[which], rules):
                if a:
                    continue
                total += weight
                for rule, number in used.items():
                    counts[rule] += weight * number
                for word, symbol in symbols.items():
                    words[word, symbol] += weight
                for span in spans(tree):
                    shares[span] = shares.get(span, 0.0) + weight
        assert found.logarithms[which] == pytest.approx(math.log(total), rel=1e-12)
        assert found.words[which] == pytest.approx(times[which] * words / total, rel=1e-12)
        expected += times[which] * counts / total
        for (i, j), share in shares.items():
            shorter = j - i - 1
            cell = shorter * n - shorter * (shorter - 1) // 2 + i
            assert found.spans[cell, which] == pytest.approx(times[which] * share / total, rel=1e-12)
    assert found.rules == pytest.approx(expected.reshape(k, -1), rel=1e-12)


def test_every_sentence_has_a_word_for_each_leaf_and_a_rule_for_each_gap():
    k, n = 5, 9
    rules, emissions = RANDOM.random((k, k * k)), RANDOM.random((70, n, k))
    times = RANDOM.random(70)
    found = inside_outside(emissions, rules, times)
    assert found.words.sum(axis=(1, 2)) == pytest.approx(n * times, rel=1e-12)
    assert found.rules.sum() == pytest.approx((n - 1) * times.sum(), rel=1e-12)


@pytest.mark.parametrize("n", [1, 4, 12])
def test_one_symbol_is_catalans_number(n):
    weight, emissions = 0.3, RANDOM.random((1, n, 1))
    found = inside_outside(emissions, np.array([[weight]]), np.ones(1))
    catalan = math.comb(2 * n - 2, n - 1) / n
    assert found.logarithms[0] == pytest.approx(math.log(catalan * weight ** (n - 1)) + np.log(emissions).sum())


def test_sixty_words_of_small_weight_do_not_underflow():
    k = 3
    rules, emissions = RANDOM.random((k, k * k)) * 1e-5, RANDOM.random((2, 60, k)) * 1e-6
    found = inside_outside(emissions, rules, np.ones(2))
    assert np.isfinite(found.logarithms).all()
    assert found.rules.sum() == pytest.approx(118.0, rel=1e-9)


def test_a_single_word_has_the_root_above_it():
    found = inside_outside(RANDOM.random((1, 1, 4)), RANDOM.random((4, 16)), np.ones(1))
    assert found.words[0, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_sentence_without_trees_counts_nothing():
    emissions = np.ones((2, 2, 2))
    emissions[1, 0] = 0.0
    found = inside_outside(emissions, np.ones((2, 4)), np.ones(2))
    assert found.logarithms[1] == -np.inf
    assert found.words[1].sum() == 0.0
    assert found.rules.sum() == pytest.approx(1.0)
