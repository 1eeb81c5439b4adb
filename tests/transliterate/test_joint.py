"""Grids against enumeration of all ways to cut two sequences: sums, the best, expected units."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.transliterate.kernels.joint import best_grid, best_path, expectations, sum_grid

SHAPES = np.array([(1, 1), (1, 2), (2, 1), (1, 0), (0, 1)])


def any_grid(n: int, m: int, seed: int, fits: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A unit for each edge that fits, and any weights; some edges are left out."""
    dice = np.random.default_rng(seed)
    units = np.full(((n + 1) * (m + 1), len(SHAPES)), -1, np.int32)
    for i in range(n + 1):
        for j in range(m + 1):
            for shape, (a, b) in enumerate(SHAPES.tolist()):
                if i >= a and j >= b and dice.uniform() < fits:
                    units[i * (m + 1) + j, shape] = dice.integers(7)
    return units, dice.uniform(0.1, 1, 7)


def ways(units, m, cell):
    """All paths to a cell: lists of (cell, shape), the last one first."""
    if cell == 0:
        yield []
        return
    for shape, (a, b) in enumerate(SHAPES.tolist()):
        if units[cell, shape] >= 0:
            for way in ways(units, m, cell - a * (m + 1) - b):
                yield [(cell, shape), *way]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1000), st.sampled_from([1.0, 0.6]))
def test_sums_expected_units_and_the_best_equal_enumeration(n, m, seed, fits):
    units, weights = any_grid(n, m, seed, fits)
    cells = len(units)
    every = [(math.prod(weights[units[step]] for step in way), way) for way in ways(units, m, cells - 1)]
    z = sum(weight for weight, _ in every)
    table, backward, counts = np.zeros(cells), np.zeros(cells), np.zeros(7)
    assert sum_grid(units, SHAPES, m + 1, weights, table) == pytest.approx(z, abs=1e-13)
    logarithm = expectations(units, SHAPES, m + 1, weights, table, backward, counts)
    path = np.zeros((2, cells), np.int64)
    length = best_path(units, SHAPES, m + 1, np.log(weights), table, path)
    if not every:
        assert logarithm == -math.inf and not counts.any() and length == 0
        return
    expected = np.zeros(7)
    for weight, way in every:
        for step in way:
            expected[units[step]] += weight / z
    assert logarithm == pytest.approx(math.log(z), abs=1e-12)
    np.testing.assert_allclose(counts, expected, atol=1e-12)
    top = max(weight for weight, _ in every)
    assert best_grid(units, SHAPES, m + 1, np.log(weights), table) == pytest.approx(math.log(top), abs=1e-12)
    found = list(zip(*path[:, :length].tolist(), strict=True))
    assert dict(zip(map(str, (way for _, way in every)), every, strict=True))[str(found)][0] == pytest.approx(top)


def test_a_weight_that_is_no_number_has_no_path():
    units, weights = any_grid(2, 2, 1)
    table, path = np.zeros(9), np.zeros((2, 9), np.int64)
    assert best_path(units, SHAPES, 3, np.full(7, np.nan), table, path) == 0
    assert best_path(units, SHAPES, 3, np.full(7, -np.inf), table, path) == 0
    assert len(weights) == 7
