"""Projective trees: every program against all trees of short sentences."""

import math
from itertools import product

import numpy as np
import pytest

from corpuscle.engine.dp import charts
from corpuscle.random import Random


def all_heads(n):
    """Every way to give n words heads that makes a tree: tuples of n numbers from 0 to n."""
    for heads in product(range(n + 1), repeat=n):
        if is_tree(heads):
            yield heads


def is_tree(heads):
    for word in range(1, len(heads) + 1):
        seen = set()
        while word != 0:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def is_projective(heads):
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def score(heads, arcs, siblings):
    """The logarithm of a tree's weight, from the definition."""
    total = sum(arcs[h, m] for m, h in enumerate(heads, 1))
    if len(siblings):
        for h in range(len(heads) + 1):
            modifiers = [m for m, head in enumerate(heads, 1) if head == h]
            for side in [m for m in modifiers if m > h], [m for m in modifiers if m < h][::-1]:
                total += sum(siblings[h, s, m] for s, m in zip([h, *side], side, strict=False))
    return total


def scores_for(seed, n, order):
    """Random logarithms of weights for n words."""
    random = Random(seed, "charts", n, order)
    arcs, pairs = (4 * random.uniforms(*[n + 1] * axes) - 2 for axes in (2, 3))
    return arcs, pairs if order == 2 else charts.NO_SIBLINGS


def ranked(n, arcs, siblings, single, projective=True):
    """All trees with their scores, the best one first."""
    trees = [h for h in all_heads(n) if (not projective or is_projective(h)) and (not single or h.count(0) == 1)]
    return sorted(((score(tree, arcs, siblings), tree) for tree in trees), reverse=True)


CASES = [(seed, n, order, one) for seed in (1, 2, 3) for n in (1, 2, 3, 4, 5) for order in (1, 2) for one in (0, 1)]


def test_there_are_as_many_projective_trees_as_the_field_counts():
    assert [sum(map(is_projective, all_heads(n))) for n in (1, 2, 3, 4)] == [1, 3, 12, 55]
    zeros = np.zeros((6, 6))
    for n, single, plain in ((1, 1, 1), (2, 2, 3), (3, 7, 12), (4, 30, 55), (5, 143, 273)):
        for one_root, count in ((True, single), (False, plain)):
            arcs = np.exp(zeros[: n + 1, : n + 1])
            assert charts.sum_chart(n, arcs, charts.NO_SIBLINGS, one_root, charts.chart_for(n)) == pytest.approx(count)


@pytest.mark.parametrize(("seed", "n", "order", "single"), CASES)
def test_the_best_trees_are_the_best_of_all_and_complete(seed, n, order, single):
    arcs, siblings = scores_for(seed, n, order)
    expected = ranked(n, arcs, siblings, single)
    heads = np.zeros(n, np.int32)
    best = charts.best_heads(n, arcs, siblings, bool(single), charts.chart_for(n + 2), heads)
    assert best == pytest.approx(expected[0][0], abs=1e-12) and tuple(heads) == expected[0][1]
    for k in (1, 3, 50, 400):
        trees, scores = np.zeros((k, n), np.int32), np.zeros(k)
        count = charts.k_best(n, arcs, siblings, bool(single), k, charts.chart_for(n), trees, scores)
        assert count == min(k, len(expected))
        assert scores[:count] == pytest.approx([total for total, _ in expected[:count]], abs=1e-9)
        found = [tuple(tree) for tree in trees[:count].tolist()]
        assert len(set(found)) == count
        assert [score(tree, arcs, siblings) for tree in found] == pytest.approx(scores[:count], abs=1e-9)


@pytest.mark.parametrize(("seed", "n", "order", "single"), CASES)
def test_sums_and_shares_are_those_of_all_trees(seed, n, order, single):
    arcs, siblings = scores_for(seed, n, order)
    trees = ranked(n, arcs, siblings, single)
    total = sum(math.exp(value) for value, _ in trees)
    shares = np.zeros((n + 1, n + 1))
    for value, heads in trees:
        for m, h in enumerate(heads, 1):
            shares[h, m] += math.exp(value) / total
    expected = np.full((n + 1, n + 1), np.nan)
    result = charts.expectations(
        n, np.exp(arcs), np.exp(siblings), bool(single), charts.chart_for(n), charts.chart_for(n), expected
    )
    assert result == pytest.approx(total, rel=1e-12)
    assert expected == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_tilted_weights_have_the_same_shares_however_large_the_scores(order):
    n, (arcs, siblings) = 5, scores_for(7, 5, order)
    arcs *= 1.0
    heads = np.zeros(n, np.int32)
    shares = []
    for shift in (0.0, 3000.0, -3000.0):
        moved, pairs = arcs + shift, siblings.copy()
        charts.best_heads(n, moved, pairs, True, charts.chart_for(n), heads)
        shift_of_all = charts.tilt(n, heads, moved, pairs)
        expected = np.zeros((n + 1, n + 1))
        total = charts.expectations(n, moved, pairs, True, charts.chart_for(n), charts.chart_for(n), expected)
        exact = math.log(sum(math.exp(value) for value, _ in ranked(n, arcs, siblings, 1))) + n * shift
        assert math.log(total) + shift_of_all == pytest.approx(exact, rel=1e-12)
        shares.append(expected)
    assert shares[1] == pytest.approx(shares[0], abs=1e-9) and shares[2] == pytest.approx(shares[0], abs=1e-9)


def test_siblings_without_weight_make_no_difference():
    n, (arcs, _) = 9, scores_for(3, 9, 1)
    first, second = np.zeros(n, np.int32), np.zeros(n, np.int32)
    zeros = np.zeros((n + 1, n + 1, n + 1))
    one = charts.best_heads(n, arcs, charts.NO_SIBLINGS, True, charts.chart_for(n), first)
    two = charts.best_heads(n, arcs, zeros, True, charts.chart_for(n), second)
    assert one == pytest.approx(two, rel=1e-12) and first.tolist() == second.tolist()


def test_forbidden_arcs_can_leave_no_tree():
    arcs = np.full((3, 3), -math.inf)
    arcs[0, 1] = 0.0
    heads = np.zeros(2, np.int32)
    assert charts.best_heads(2, arcs, charts.NO_SIBLINGS, True, charts.chart_for(2), heads) == -math.inf
    arcs[1, 2] = -1.0
    assert charts.best_heads(2, arcs, charts.NO_SIBLINGS, True, charts.chart_for(2), heads) == -1.0
    assert heads.tolist() == [0, 1]
    trees, scores = np.zeros((5, 2), np.int32), np.zeros(5)
    assert charts.k_best(2, arcs, charts.NO_SIBLINGS, True, 5, charts.chart_for(2), trees, scores) == 1
