"""Factorisation under the generalised Kullback-Leibler divergence: margins, descent, the formulas written densely."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.linalg.sparse import Rows
from corpuscle.lm.kernels import plre as module
from corpuscle.lm.kernels.plre import Blocks, Factors, factorise, factorise_blocks


def divergence(matrix: Rows, factors: Factors) -> float:
    """gKL(A || X) for factors of one block; entries that are 0 take no part in the logarithm."""
    rows = matrix.row_numbers()
    left = factors.left.astype(np.float64) * factors.row_scales[:, None]
    right = factors.right.astype(np.float64) * factors.column_scales[:, None]
    here, there = left[rows[matrix.values > 0]], right[matrix.columns[matrix.values > 0]]
    values = matrix.values[matrix.values > 0]
    inside = (values * np.log(values / np.einsum("ek,ek->e", here, there))).sum()
    return float(inside - matrix.values.sum() + left.sum(0) @ right.sum(0))


def sparse(rows=30, columns=40, seed=1):
    chance = np.random.default_rng(seed)
    return chance.poisson(0.7, (rows, columns)) * chance.random((rows, columns))


def margins_error(dense, found):
    low = found.dense()
    return max(abs(low.sum(axis) / dense.sum(axis) - 1).max() for axis in (0, 1))


def test_the_example_of_the_paper_has_its_row_sums():
    example = np.array([[1, 2, 1], [0, 5, 0], [2, 0, 0]], float)
    powers = [np.where(example > 0, example**power, 0).sum(1) for power in (1, 0.5, 0)]
    np.testing.assert_allclose(powers, [(4, 5, 2), (3.41, 2.24, 1.41), (3, 1, 1)], atol=0.005)


@pytest.mark.parametrize("power", [1, 0.5, 0])
def test_rank_one_is_the_product_of_the_margins(power):
    dense = np.where(sparse() > 0, sparse() ** power, 0)
    expected = np.outer(dense.sum(1), dense.sum(0)) / dense.sum()
    np.testing.assert_allclose(factorise(Rows.of(dense), 1).dense(), expected, rtol=1e-12)


@pytest.mark.parametrize("iterations", [0, 1, 7, 60])
def test_after_the_balance_both_margins_are_exact_whatever_came_before(iterations):
    dense = sparse()
    assert margins_error(dense, factorise(Rows.of(dense), 4, iterations=iterations)) < 1e-10


def test_no_update_increases_the_divergence_and_a_higher_rank_comes_nearer():
    matrix = Rows.of(sparse())
    falling = [divergence(matrix, factorise(matrix, 4, iterations=number)) for number in range(1, 30)]
    assert (np.diff(falling) < 1e-3).all() and falling[-1] < 0.9 * falling[0]
    assert divergence(matrix, factorise(matrix, 12)) < divergence(matrix, factorise(matrix, 6)) < falling[-1]


def test_updates_are_those_of_the_formula_written_densely():
    dense = sparse()
    start, found = (factorise(Rows.of(dense), 3, iterations=number) for number in (0, 5))
    left, right = start.left.astype(float), start.right.astype(float)
    for _ in range(5):
        right *= (dense / (left @ right.T)).T @ left / left.sum(0)
        left *= (dense / (left @ right.T)) @ right / right.sum(0)
    np.testing.assert_allclose(found.left, left, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found.right, right, rtol=1e-4, atol=1e-9)


def test_a_matrix_of_low_rank_is_found_again():
    chance = np.random.default_rng(5)
    dense = chance.random((25, 2)) @ chance.random((2, 30))
    np.testing.assert_allclose(factorise(Rows.of(dense), 2, iterations=2000).dense(), dense, rtol=0.02)


def test_lines_without_entries_get_nothing():
    dense = sparse()
    dense[3], dense[:, 5] = 0, 0
    low = factorise(Rows.of(dense), 3).dense()
    assert not low[3].any() and not low[:, 5].any() and np.isfinite(low).all()


def test_blocks_have_factorisations_of_their_own_and_small_ones_are_left_out():
    one, small, other = sparse(12, 15, 1), np.ones((2, 9)), sparse(20, 10, 2)
    dense = np.zeros((34, 34))
    dense[:12, :15], dense[12:14, 15:24], dense[14:, 24:] = one, small, other
    found = factorise_blocks(Rows.of(dense), Blocks(np.array([0, 12, 14, 34]), np.array([0, 15, 24, 34])), 3)
    low = found.dense()
    assert not found.row_scales[12:14].any() and not found.column_scales[15:24].any()
    for rows, columns in (slice(0, 12), slice(0, 15)), (slice(14, 34), slice(24, 34)):
        assert np.linalg.matrix_rank(low[rows, columns], tol=1e-4) == 3
        np.testing.assert_allclose(low[rows, columns].sum(1), dense[rows, columns].sum(1), rtol=1e-10)
        np.testing.assert_allclose(low[rows, columns].sum(0), dense[rows, columns].sum(0), rtol=1e-10)


def test_large_blocks_come_out_like_small_ones_and_workers_change_no_bit(monkeypatch):
    matrix = Rows.of(sparse(80, 70))
    small = factorise(matrix, 4)
    monkeypatch.setattr(module, "_LARGE", 100)
    monkeypatch.setattr(module, "_WORK", 500)
    one, three = (factorise(matrix, 4, workers=count) for count in (1, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, three, strict=True))
    np.testing.assert_allclose(one.dense(), small.dense(), rtol=1e-3, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 9), st.integers(3, 9), st.integers(1, 2), st.integers(0, 20), st.integers(0, 2**32))
def test_margins_of_any_matrix_fit(rows, columns, rank, iterations, seed):
    chance = np.random.default_rng(seed)
    dense = chance.integers(1, 5, (rows, columns)) * (chance.random((rows, columns)) < 0.5) * 1.0
    low = factorise(Rows.of(dense), rank, iterations=iterations).dense()
    if (dense.sum(1) > 0).sum() > rank and (dense.sum(0) > 0).sum() > rank:
        np.testing.assert_allclose(low.sum(1), dense.sum(1), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(low.sum(0), dense.sum(0), rtol=1e-6, atol=1e-12)
    else:
        assert not low.any()


@pytest.mark.parametrize("rank", [0, 3, 9])
def test_a_rank_that_the_matrix_cannot_have_is_refused(rank):
    with pytest.raises(ValueError, match="below 3"):
        factorise(Rows.of(np.ones((3, 4))), rank)


def test_negative_entries_are_refused():
    with pytest.raises(ValueError, match="negative"):
        factorise(Rows.of(np.array([[1.0, -1.0], [1.0, 1.0]])), 1)
