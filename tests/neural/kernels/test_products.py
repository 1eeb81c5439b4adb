"""Products in 8 bits: exact where numbers are, close elsewhere, alike on every processor."""

import numpy as np
import pytest

from corpuscle.neural.kernels import products
from corpuscle.neural.kernels.products import MATRICES, WIDTH, Matrix, SmallMatrix

SHAPES = [(1, 1, 1), (3, 5, 7), (4, 64, 32), (9, 33, 100), (17, 96, 288)]


@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_whole_multiples_of_the_scales_are_multiplied_exactly(rows, n_in, n_out):
    rng = np.random.default_rng(rows)
    p, q = rng.integers(-127, 128, (rows, n_in)), rng.integers(-127, 128, (n_in, n_out))
    p[:, 0], q[0] = 127, -127  # so that the scales are those below
    x, w = (p * np.float32(0.5)).astype(np.float32), (q * np.float32(0.25)).astype(np.float32)
    found = SmallMatrix(w)(x, np.empty((rows, n_out), np.float32))
    assert np.array_equal(found, (p @ q * 0.125).astype(np.float32))


@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_other_numbers_are_off_by_no_more_than_rounding(rows, n_in, n_out):
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, n_in)).astype(np.float32), rng.normal(size=(n_in, n_out)).astype(np.float32)
    found = SmallMatrix(w)(x, np.empty((rows, n_out), np.float32))
    s, t = np.abs(x).max(axis=1)[:, None] / 254, np.abs(w).max(axis=0) / 254  # half a scale
    bound = (s * (np.abs(w).sum(axis=0) + n_in * t) + t * np.abs(x).sum(axis=1)[:, None]) * 1.001
    assert (np.abs(found - x @ w) <= bound + 1e-5).all()


@pytest.mark.skipif(products.BYTES is None, reason="this processor has no VNNI")
@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_a_processor_without_vnni_gets_the_same_numbers(rows, n_in, n_out, monkeypatch):
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, n_in)).astype(np.float32), rng.normal(size=(n_in, n_out)).astype(np.float32)
    quick = SmallMatrix(w)(x, np.empty((rows, n_out), np.float32))
    monkeypatch.setattr(products, "BYTES", None)
    assert np.array_equal(SmallMatrix(w)(x, np.empty((rows, n_out), np.float32)), quick)


@pytest.mark.parametrize("matrix", MATRICES.values())
def test_some_columns_are_some_columns_of_the_whole(matrix):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(6, 40)).astype(np.float32), rng.normal(size=(40, 150)).astype(np.float32)
    made = matrix(w)
    whole, part = made(x, np.empty((6, 150), np.float32)), np.empty((6, 150 - WIDTH), np.float32)
    assert np.allclose(made(x, part, WIDTH, 150), whole[:, WIDTH:], atol=1e-6)


def test_zeros_stay_zeros_and_what_is_not_a_number_stays_seen():
    x, w = np.zeros((2, 8), np.float32), np.zeros((8, 3), np.float32)
    assert not SmallMatrix(w)(x, np.empty((2, 3), np.float32)).any()
    w[:] = 1
    x[1, 3] = np.nan
    found = SmallMatrix(w)(x, np.empty((2, 3), np.float32))
    assert not found[0].any() and np.isnan(found[1]).all()
    assert issubclass(SmallMatrix, Matrix)
