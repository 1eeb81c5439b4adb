"""Minimum error rate training against a grid."""

import math

import numpy as np
import pytest

from corpuscle.engine import mert
from corpuscle.random import Random


def pools(seed, figure, items=25, k=3):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 12, items)
    n = int(sizes.sum())
    features = generator.normal(size=(n, k))
    if figure == mert.SHARE:
        statistics = np.column_stack([generator.integers(0, 2, n), np.ones(n)]).astype(float)
    else:
        totals = np.maximum(generator.integers(3, 9, n)[:, None] - np.arange(4), 0)
        matches = generator.integers(0, totals + 1)
        statistics = np.zeros((n, 10))
        statistics[:, 0:8:2], statistics[:, 1:8:2] = matches, totals
        statistics[:, 8], statistics[:, 9] = totals[:, 0], generator.integers(3, 9, n)
    return mert.Pools(np.concatenate([[0], np.cumsum(sizes)]), features, statistics)


@pytest.mark.parametrize("figure", [mert.BLEU, mert.SHARE])
@pytest.mark.parametrize("seed", range(5))
def test_line_search_is_at_least_as_good_as_a_grid_and_keeps_its_word(seed, figure):
    pool = pools(seed, figure)
    generator = np.random.default_rng(100 + seed)
    weights, direction = generator.normal(size=3), generator.normal(size=3)
    value, x = mert.line_search(pool, weights, direction, figure)
    grid = [mert.quality(mert.total(pool, weights + y * direction), figure) for y in np.linspace(-50, 50, 20_001)]
    assert value >= max(grid)
    assert mert.quality(mert.total(pool, weights + x * direction), figure) == pytest.approx(value, abs=1e-12)


def test_identical_pools_leave_the_weights_alone():
    pool = mert.Pools(np.array([0, 2, 4]), np.ones((4, 3)), np.ones((4, 2)))
    start = np.array([0.2, 0.3, 0.5])
    value, weights = mert.climb(pool, start, mert.SHARE, Random(1, "test"))
    assert value == 1.0 and (weights == start).all()


def test_climbing_finds_the_weights_that_separate_right_from_wrong():
    generator = np.random.default_rng(5)
    features = generator.normal(size=(400, 3))
    truth = np.array([0.7, -0.2, 0.4])
    scores = (features @ truth).reshape(100, 4)
    right = (scores == scores.max(axis=1, keepdims=True)).ravel()
    pool = mert.Pools(np.arange(0, 401, 4), features, np.column_stack([right, np.ones(400)]).astype(float))
    best = max(mert.climb(pool, np.array([0.5, 0.5, 0.1]), mert.SHARE, Random(s, "test"))[0] for s in range(5))
    assert best > 0.95


def test_bleu_of_a_perfect_candidate_is_one_and_a_short_one_is_punished():
    perfect = np.array([5.0, 5, 4, 4, 3, 3, 2, 2, 5, 5])
    assert mert.quality(perfect, mert.BLEU) == 1.0
    short = np.array([5.0, 5, 4, 4, 3, 3, 2, 2, 5, 10])
    assert mert.quality(short, mert.BLEU) == pytest.approx(math.exp(1 - 2))
    assert mert.quality(np.array([5.0, 5, 4, 4, 3, 3, 0, 2, 5, 5]), mert.BLEU) == 0.0
