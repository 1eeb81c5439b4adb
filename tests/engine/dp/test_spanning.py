"""Spanning trees: every program against all trees of short sentences."""

import math

import numpy as np
import pytest

from corpuscle.engine.dp import charts, spanning
from tests.engine.dp.test_charts import is_tree, ranked, score, scores_for

CASES = [(seed, n, single) for seed in range(4) for n in (1, 2, 3, 4, 5) for single in (False, True)]


@pytest.mark.parametrize(("seed", "n", "single"), CASES)
def test_the_best_trees_are_the_best_of_all_and_complete(seed, n, single):
    arcs, _ = scores_for(seed, n, 1)
    expected = ranked(n, arcs, charts.NO_SIBLINGS, single, projective=False)
    heads = np.zeros(n, np.int32)
    best = spanning.best_tree(n, arcs, single, heads)
    assert best == pytest.approx(expected[0][0], abs=1e-12) and tuple(heads) == expected[0][1]
    for k in (1, 4, 60) if n == 5 else (1, 4, 200):
        trees, scores = np.zeros((k, n), np.int32), np.zeros(k)
        count = spanning.k_best_trees(n, arcs, single, k, trees, scores)
        assert count == min(k, len(expected))
        assert scores[:count] == pytest.approx([total for total, _ in expected[:count]], abs=1e-9)
        assert len({tuple(tree) for tree in trees[:count].tolist()}) == count


@pytest.mark.parametrize("seed", range(25))
def test_cycles_inside_cycles_are_opened_again(seed):
    """Strong arcs between neighbours make nested cycles; no projective tree is better, and the heads are a tree."""
    n = 12
    arcs, _ = scores_for(seed, n, 1)
    arcs[1:, 1:] += 3.0
    for a in range(1, n, 2):
        arcs[a, a + 1] += 5.0
        arcs[a + 1, a] += 5.0
    heads, chart_heads = np.zeros(n, np.int32), np.zeros(n, np.int32)
    for single in False, True:
        best = spanning.best_tree(n, arcs, single, heads)
        projective = charts.best_heads(n, arcs, charts.NO_SIBLINGS, single, charts.chart_for(n), chart_heads)
        assert is_tree(tuple(heads.tolist())) and best >= projective - 1e-9
        assert best == pytest.approx(score(tuple(heads.tolist()), arcs, charts.NO_SIBLINGS))
        assert not single or heads.tolist().count(0) == 1


@pytest.mark.parametrize(("seed", "n", "single"), CASES[:20])
def test_shares_are_those_of_all_trees(seed, n, single):
    arcs, _ = scores_for(seed, n, 1)
    trees = ranked(n, arcs, charts.NO_SIBLINGS, single, projective=False)
    total = sum(math.exp(value) for value, _ in trees)
    expected = np.zeros((n + 1, n + 1))
    for value, heads in trees:
        for m, h in enumerate(heads, 1):
            expected[h, m] += math.exp(value) / total
    found, log_sum = spanning.shares(arcs + 900.0, single)
    assert found == pytest.approx(expected, abs=1e-10)
    assert log_sum == pytest.approx(math.log(total) + 900.0 * n, rel=1e-10)


@pytest.mark.parametrize(("seed", "scale"), [(172, 1e16), (4294, 1e17)])
def test_climbing_ends_where_rounding_is_more_than_a_step_gains(seed, scale):
    dice, n = np.random.default_rng(seed), 3
    arcs = np.round(2 * dice.normal(size=(n + 1,) * 2)) * scale
    siblings = np.round(2 * dice.normal(size=(n + 1,) * 3)) * scale + dice.integers(-2, 3, size=(n + 1,) * 3)
    heads = np.arange(n, dtype=np.int32)
    spanning.climb(arcs, siblings, False, heads)
    assert is_tree(tuple(heads.tolist()))


@pytest.mark.parametrize(("seed", "single"), [(seed, single) for seed in range(8) for single in (False, True)])
def test_climbing_keeps_a_tree_and_its_gain_is_true(seed, single):
    n, (arcs, siblings) = 6, scores_for(seed, 6, 2)
    heads = np.zeros(n, np.int32)
    start = charts.best_heads(n, arcs, siblings, single, charts.chart_for(n), heads)
    gained = spanning.climb(arcs, siblings, single, heads)
    tree = tuple(heads.tolist())
    assert is_tree(tree) and score(tree, arcs, siblings) == pytest.approx(start + gained, abs=1e-9)
    assert not single or tree.count(0) == 1
    for m in range(1, n + 1):  # no single change gains
        for h in range(n + 1):
            other = (*tree[: m - 1], h, *tree[m:])
            if h != m and is_tree(other) and (not single or other.count(0) == 1):
                assert score(other, arcs, siblings) <= start + gained + 1e-9
    assert spanning.climb(arcs, siblings, single, heads) == 0.0


def test_without_arcs_there_is_no_tree():
    arcs = np.full((3, 3), -math.inf)
    arcs[1, 2], arcs[2, 1] = 1.0, 1.0
    heads = np.zeros(2, np.int32)
    assert spanning.best_tree(2, arcs, False, heads) == -math.inf
    assert spanning.k_best_trees(2, arcs, False, 3, np.zeros((3, 2), np.int32), np.zeros(3)) == 0
