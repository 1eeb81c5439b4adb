"""Singular values of sparse matrices and operators, against dense algebra."""

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from corpuscle.engine.linalg import lowrank
from corpuscle.engine.linalg.lowrank import gaussian, krylov_svd, right_vectors
from corpuscle.engine.linalg.sparse import Rows, SparseOperator, added, scaled, transposed
from corpuscle.words.spelling import ridge


def low_rank(rank: int = 6, rows: int = 80, columns: int = 50, noise: float = 1e-3) -> np.ndarray:
    chance = np.random.default_rng(rank)
    return chance.normal(size=(rows, rank)) @ chance.normal(size=(rank, columns)) + noise * chance.normal(
        size=(rows, columns)
    )


def sparse(rows: int, columns: int, seed: int, density: float = 0.2) -> np.ndarray:
    return random_array((rows, columns), density=density, rng=np.random.default_rng(seed)).toarray()


def test_a_low_rank_matrix_with_noise_is_decomposed_as_by_dense_algebra():
    dense = low_rank()
    left, values, right = np.linalg.svd(dense, full_matrices=False)
    found = krylov_svd(SparseOperator(Rows.of(dense)), 6)
    assert found.values == pytest.approx(values[:6], rel=1e-6)
    for side in found.left, found.right:
        assert abs(side.T @ side - np.eye(6)).max() < 1e-12
    assert abs(found.left * found.values @ found.right.T - left[:, :6] * values[:6] @ right[:6]).max() < 1e-6
    assert (found.left[abs(found.left).argmax(axis=0), range(6)] > 0).all()


def test_the_same_seed_gives_the_same_bits():
    operator = SparseOperator(Rows.of(sparse(60, 40, 1)))
    first, second, other = (krylov_svd(operator, 5, seed=seed) for seed in (3, 3, 4))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    assert first.left.tobytes() != other.left.tobytes()


def test_the_number_of_workers_changes_no_bit(monkeypatch):
    monkeypatch.setattr("corpuscle.engine.linalg.sparse.WORK", 200)
    matrix = Rows.of(sparse(90, 70, 2))
    one, several = (krylov_svd(SparseOperator(matrix, count), 8) for count in (1, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, several, strict=True))


def test_krylov_is_nearer_to_a_flat_spectrum_with_fewer_products():
    chance = np.random.default_rng(5)
    dense = chance.normal(size=(400, 300))
    exact = np.linalg.svd(dense, compute_uv=False)[:20]
    products = []

    class Counting(LinearOperator):
        def __init__(self):
            super().__init__(np.float64, dense.shape)

        def _matmat(self, X):
            products.append(X.shape[1])
            return dense @ X

        def _rmatmat(self, X):
            products.append(X.shape[1])
            return dense.T @ X

    krylov = krylov_svd(Counting(), 20, rounds=14)
    used, products[:] = sum(products), []
    power, _ = right_vectors(Counting(), 20, rounds=7)
    assert used < sum(products)
    assert abs(krylov.values / exact - 1).max() < abs(power / exact - 1).max() / 4
    assert abs(dense @ krylov.right - krylov.left * krylov.values).max() < 1e-10  # A V = U S, converged or not


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_krylov_goes_on_where_the_matrix_has_no_more_directions(rank):
    dense = np.zeros((30, 20))
    dense[:rank, :rank] = np.diag(3.0 - np.arange(rank))
    found = krylov_svd(dense, 6)
    assert found.values == pytest.approx([*(3.0 - np.arange(rank)), *[0.0] * (6 - rank)], abs=1e-12)
    for side in found.left, found.right:
        assert abs(side.T @ side - np.eye(6)).max() < 1e-10


def test_operators_compose_without_being_formed():
    a, b, u, v = sparse(30, 20, 1), sparse(20, 25, 2), np.arange(30.0)[:, None], np.ones((25, 1))
    product = SparseOperator(Rows.of(a)) @ SparseOperator(Rows.of(b)) - aslinearoperator(u) @ aslinearoperator(v.T)
    exact = np.linalg.svd(a @ b - u @ v.T, compute_uv=False)
    assert krylov_svd(product, 4).values == pytest.approx(exact[:4], rel=1e-6)


def test_more_values_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="no 5 singular values"):
        krylov_svd(np.eye(4), 5)


def test_products_sums_and_transposes_are_those_of_dense_matrices():
    a, b, block = sparse(40, 30, 3), sparse(40, 30, 4), np.random.default_rng(1).normal(size=(30, 7))
    operator = SparseOperator(Rows.of(a))
    assert operator.matmat(block) == pytest.approx(a @ block)
    assert operator.rmatmat(a) == pytest.approx(a.T @ a)
    assert operator.matvec(block[:, 0]) == pytest.approx(a @ block[:, 0])
    assert operator.rmatvec(a[:, 0]) == pytest.approx(a.T @ a[:, 0])
    assert np.array_equal(added(Rows.of(a), Rows.of(b)).dense(), a + b)
    assert np.array_equal(transposed(Rows.of(a)).dense(), a.T)
    left, right = np.arange(40.0), np.arange(30.0) - 3
    assert scaled(Rows.of(a), left, right).dense() == pytest.approx(left[:, None] * a * right)
    assert Rows.of(a).row_sums() == pytest.approx(a.sum(axis=1))
    assert Rows.of(a).column_sums() == pytest.approx(a.sum(axis=0))
    with pytest.raises(ValueError, match="cannot be added"):
        added(Rows.of(a), Rows.of(b.T))


def test_normal_numbers_are_normal_and_rows_do_not_depend_on_their_number():
    block = gaussian(2000, 5, 7)
    assert abs(block.mean(axis=0)).max() < 0.1 and abs(block.std(axis=0) - 1).max() < 0.06
    assert np.array_equal(gaussian(10, 5, 7), block[:10])


def test_ridge_regression_solves_the_normal_equations():
    chance = np.random.default_rng(2)
    features, targets, weights = sparse(60, 12, 6), chance.normal(size=(60, 3)), chance.uniform(size=60)
    found = ridge(SparseOperator(Rows.of(features)), targets, weights, 0.7, steps=40)
    moment = features.T @ (weights[:, None] * features) + 0.7 * np.eye(12)
    assert found == pytest.approx(np.linalg.solve(moment, features.T @ (weights[:, None] * targets)), abs=1e-9)
    assert not ridge(SparseOperator(Rows.of(features)), np.zeros((60, 2)), weights).any()


@pytest.mark.parametrize("rows, columns", [(300, 25), (25, 300), (600, 400), (400, 600), (700, 700)])
def test_right_vectors_are_those_of_dense_algebra(rows, columns):
    random = np.random.default_rng(5)
    matrix = random.normal(size=(rows, 6)) @ np.diag([9.0, 7, 5, 3, 2, 1]) @ random.normal(size=(6, columns))
    matrix += 1e-4 * random.normal(size=matrix.shape)
    values, vectors = right_vectors(matrix, 4)
    _, expected, right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(values, expected[:4], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors.T @ right[:4].T), np.eye(4), atol=1e-5)
    with pytest.raises(ValueError, match=f"no {min(rows, columns) + 1} singular values"):
        right_vectors(matrix, min(rows, columns) + 1)


@pytest.mark.parametrize("rows, columns", [(600, 900), (900, 600)])
def test_many_right_vectors_come_from_the_square_of_the_smaller_side(rows, columns, monkeypatch):
    matrix = np.random.default_rng(6).normal(size=(rows, columns)) * np.geomspace(1.0, 1e-4, columns)
    monkeypatch.setattr(lowrank, "gaussian", None)  # nothing is drawn
    values, vectors = right_vectors(matrix, 150)
    _, expected, right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(values, expected[:150], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors.T @ right[:150].T), np.eye(150), atol=1e-7)


def test_right_vectors_beyond_the_rank_are_orthonormal_and_their_values_drown():
    matrix = sparse(40, 5, 7).T @ sparse(40, 300, 8)
    values, vectors = right_vectors(matrix, 5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-12)
    doubled = np.concatenate([matrix, matrix])
    values, vectors = right_vectors(doubled, 10)
    assert (values[5:] < 1e-7 * values[0]).all() and (values[:5] > 1e-3 * values[0]).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-12)
