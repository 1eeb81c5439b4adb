"""Proximal operators against an independent convex solver, against one another, and on the worked example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from corpuscle.errors import SettingError
from corpuscle.lm.kernels import proximal
from corpuscle.lm.kernels.proximal import (
    forest_of,
    heaps_of,
    l1,
    penalty_of,
    squared_l2,
    tree_l2,
    tree_linf,
)  # fmt: skip
from tests.lm.pivot import tree_linf_by_pivot

FIGURE_1 = np.array([-1, 0, 1, 2, 3, 3, 1, 6])
POINT = np.array([3.0, 4, 6, 6, 4, 5, 7, 7])


def random_tree(rng, n):
    """Parents of a random tree, of depth and breadth that vary."""
    reach = rng.integers(1, n + 1)
    return np.array([-1] + [int(rng.integers(max(0, i - reach), i)) for i in range(1, n)])


def below(parents):
    """The entries of every subtree, bool (n, n)."""
    n = len(parents)
    inside = np.eye(n, dtype=bool)
    for j in range(n - 1, 0, -1):
        inside[parents[j]] |= inside[j]
    return inside


def depths(parents):
    found = np.zeros(len(parents), int)
    for j in range(1, len(parents)):
        found[j] = found[parents[j]] + 1
    return found


def value(w, u, groups, thresholds, norm):
    norms = [np.linalg.norm(w[group], norm) for group in groups]
    return 0.5 * ((w - u) ** 2).sum() + (thresholds * norms).sum()


def solved(u, groups, thresholds, norm, positive):
    """The least value by sequential quadratic programming: bounds t of all norms, and w, are the variables."""
    n = len(u)
    start = np.concatenate([np.maximum(u, 0) if positive else u, [np.linalg.norm(u[g], norm) for g in groups]])
    if norm == 2:

        def norms(x):
            return np.sqrt(groups @ x[:n] ** 2 + 1e-18)

        constraints = [
            {
                "type": "ineq",
                "fun": lambda x: x[n:] - norms(x),
                "jac": lambda x: np.concatenate([groups * -x[:n] / norms(x)[:, None], np.eye(n)], 1),
            }
        ]
    else:
        rows = np.concatenate([
            np.concatenate([sign * np.eye(n)[group], np.tile(np.eye(n)[j], (group.sum(), 1))], 1)
            for j, group in enumerate(groups)
            for sign in (1.0, -1.0)
        ])
        constraints = [{"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda x: rows}]
    bounds = [(0.0 if positive else None, None)] * n + [(0.0, None)] * n
    found = minimize(
        lambda x: 0.5 * ((x[:n] - u) ** 2).sum() + thresholds @ x[n:],
        start,
        jac=lambda x: np.concatenate([x[:n] - u, thresholds]),
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.x[:n]


def test_the_worked_example_both_panels():
    np.testing.assert_allclose(
        tree_linf(forest_of(FIGURE_1, 0.8), POINT), [3, 4, 5.2, 5.2, 3.2, 4.2, 5.4, 5.4], atol=1e-12
    )
    np.testing.assert_allclose(
        tree_l2(forest_of(FIGURE_1, 0.8), POINT), [2.805, 3.506, 4.809, 4.328, 2.308, 3.029, 5.610, 4.969], atol=5e-4
    )


def test_the_worked_example_collapsed():
    forest = forest_of(np.array([-1, 0, 1, 2, 2, 1]), 0.8, np.array([1, 1, 2, 1, 1, 2]))
    for operator in (tree_linf, tree_linf_by_pivot):
        np.testing.assert_allclose(operator(forest, [3, 4, 6, 4, 5, 7]), [3, 4, 5.2, 3.2, 4.2, 5.4], atol=1e-12)


@pytest.mark.parametrize("norm, operator", [(2, tree_l2), (np.inf, tree_linf)])
@pytest.mark.parametrize("positive", [True, False])
def test_tree_norms_are_what_a_convex_solver_finds(norm, operator, positive):
    rng = np.random.default_rng(3)
    for alpha in (0.5, 0.85, 1.0, 1.1):
        for n in (1, 4, 9, 13):
            parents, u = random_tree(rng, n), rng.normal(0, 2, n)
            thresholds = rng.choice([0.1, 0.6, 2.0]) * alpha ** depths(parents)
            groups = below(parents)
            ours = operator(forest_of(parents, thresholds), np.maximum(u, 0) if positive else u)
            theirs = solved(u, groups, thresholds, norm, positive)
            assert value(ours, u, groups, thresholds, norm) <= value(theirs, u, groups, thresholds, norm) + 1e-9
            np.testing.assert_allclose(ours, theirs, atol=2e-4)


def test_one_entry_operators_are_what_a_solver_finds():
    rng = np.random.default_rng(1)
    u, thresholds = rng.normal(0, 2, 40), rng.uniform(0, 2, 40)
    grid = np.linspace(-8, 8, 160_001)
    for operator, penalty in ((l1, np.abs(grid)), (squared_l2, grid**2 / 2)):
        best = [grid[np.argmin(0.5 * (grid - x) ** 2 + k * penalty)] for x, k in zip(u, thresholds, strict=True)]
        np.testing.assert_allclose(operator(u, thresholds), best, atol=1e-4)


def test_pivots_and_heaps_agree():
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 400):
        for _ in range(20):
            u = rng.normal(0, 1, n) * rng.integers(0, 2, n)
            forest = forest_of(
                random_tree(rng, n), rng.random(n) * rng.choice([0, 0.01, 0.3, 3]), rng.integers(1, 4, n)
            )
            np.testing.assert_allclose(tree_linf(forest, u), tree_linf_by_pivot(forest, u), atol=1e-12)


def collapsed_and_not(rng, alpha):
    """tree l-infinity on a tree with chains of equal values, as it is and with the chains as one entry each."""
    n = 12
    parents, counts, values = random_tree(rng, n), rng.integers(1, 5, n), np.abs(rng.normal(0, 2, n))
    last, long_parents, owner, depth = {}, [], [], []
    for j in range(n):
        for k in range(counts[j]):
            parent = last[parents[j]] if k == 0 and j else len(owner) - 1 if k else -1
            long_parents.append(parent)
            depth.append(0 if parent < 0 else depth[parent] + 1)
            owner.append(j)
        last[j] = len(owner) - 1
    long_thresholds = 0.3 * alpha ** np.array(depth)
    thresholds = np.bincount(owner, long_thresholds)
    short = tree_linf(forest_of(parents, thresholds, counts), values)
    return short[owner], tree_linf(forest_of(np.array(long_parents), long_thresholds), values[owner])


@pytest.mark.parametrize("alpha", [0.5, 0.85, 1.0])
def test_collapsing_is_exact_where_thresholds_do_not_grow_with_depth(alpha):
    rng = np.random.default_rng(5)
    for _ in range(50):
        np.testing.assert_allclose(*collapsed_and_not(rng, alpha), atol=1e-13)


def test_collapsing_is_not_exact_where_thresholds_grow_with_depth():
    rng = np.random.default_rng(5)
    assert max(np.abs(np.subtract(*collapsed_and_not(rng, 1.1))).max() for _ in range(50)) > 1e-3


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10))
def test_scaling_zero_thresholds_and_zero_subtrees(seed, factor):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    parents, u = random_tree(rng, n), rng.normal(0, 1, n)
    thresholds = rng.random(n) * rng.choice([0.2, 1.0])
    for operator in (tree_l2, tree_linf):
        w = operator(forest_of(parents, thresholds), u)
        np.testing.assert_allclose(
            operator(forest_of(parents, factor * thresholds), factor * u), factor * w, atol=1e-11
        )
        np.testing.assert_array_equal(operator(forest_of(parents, 0.0), u), u)
        for j in range(1, n):
            if w[parents[j]] == 0.0 and u[parents[j]] != 0.0:
                assert w[j] == 0.0
        roots = np.full(n, -1)  # trees of one entry
        np.testing.assert_allclose(operator(forest_of(roots, thresholds), u), l1(u, thresholds), atol=1e-14)


def test_the_value_of_a_penalty():
    rng = np.random.default_rng(2)
    parents, w, thresholds = random_tree(rng, 12), rng.normal(0, 1, 12), rng.random(12)
    forest, groups, ones = forest_of(parents, thresholds), below(parents), np.ones(12)
    expected = [
        (thresholds * np.abs(w)).sum(),
        (thresholds * w**2).sum() / 2,
        value(w, w, groups, thresholds, 2),
        value(w, w, groups, thresholds, np.inf),
    ]
    for kind in range(4):
        assert penalty_of(forest, ones, kind, w, np.empty(12)) == pytest.approx(expected[kind], rel=1e-12)


@pytest.mark.parametrize(
    "parents, thresholds, counts, reason",
    [
        ([-1, 1], 1.0, None, "before its children"),
        ([-1, 0], -1.0, None, "not negative"),
        ([-1, 0], np.nan, None, "not negative"),
        ([-1, 0], 1.0, [1, 0], "at least 1"),
        ([-1, 0], [1.0], None, "one number an entry"),
    ],
)
def test_what_is_no_forest(parents, thresholds, counts, reason):
    with pytest.raises(SettingError, match=reason):
        forest_of(np.array(parents), np.asarray(thresholds) if np.ndim(thresholds) else thresholds, counts)


def test_tree_l2_refuses_collapsed_entries_and_odd_points():
    with pytest.raises(SettingError, match="tears collapsed"):
        tree_l2(forest_of(np.array([-1, 0]), 1.0, np.array([1, 2])), [1.0, 2.0])
    with pytest.raises(SettingError, match="one finite number"):
        tree_linf(forest_of(np.array([-1, 0]), 1.0), [1.0, np.nan])


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_a_mergeable_heap_sorts(values, seed):
    rng, n = np.random.default_rng(seed), len(values)
    heaps = heaps_of(n)
    array = np.array(values)
    heaps.child[:], heaps.sibling[:] = proximal.EMPTY, proximal.EMPTY
    tops = list(range(n))
    while len(tops) > 1:
        a, b = (tops.pop(int(rng.integers(len(tops)))) for _ in range(2))
        tops.append(_merge(array, heaps, a, b))
    found, heap = [], tops[0]
    while heap >= 0:
        found.append(array[heap])
        heap = proximal.without_top(array, heaps.child, heaps.sibling, heap)
    assert found == sorted(values, reverse=True)


def _merge(values, heaps, a, b):
    """``proximal.merge_heaps`` itself lives inside other kernels."""
    merge = getattr(proximal.merge_heaps, "py_func", proximal.merge_heaps)  # itself where compiling is switched off
    return merge(values, heaps.child, heaps.sibling, a, b)
