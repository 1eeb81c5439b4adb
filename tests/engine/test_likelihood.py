"""Weights under which right candidates are likely."""

import numpy as np
import pytest

from corpuscle.engine import likelihood
from corpuscle.engine.mert import Pools
from corpuscle.random import Random


def pools(seed, items=20, k=3):
    random = Random(seed, "test")
    sizes = [1 + random.below(6) for _ in range(items)]
    n = sum(sizes)
    features = np.array([[3.0 * random.uniform() for _ in range(k)] for _ in range(n)])
    right = np.array([float(random.below(3) == 0) for _ in range(n)])
    return Pools(np.concatenate([[0], np.cumsum(sizes)]), features, np.column_stack([right, np.ones(n)]))


def test_the_figure_is_the_mean_log_share_of_right_candidates():
    given, weights = pools(1), np.array([0.4, -0.3, 1.2])
    logs = []
    for a, b in zip(given.starts, given.starts[1:], strict=False):
        parts = np.exp(given.features[a:b] @ weights)
        right = given.statistics[a:b, 0] > 0
        if right.any():
            logs.append(np.log(parts[right].sum() / parts.sum()))
    assert 0 < len(logs) < 20
    expected = np.mean(logs) - likelihood.PENALTY * weights @ weights
    assert likelihood.figure(given, weights)[0] == pytest.approx(expected, abs=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    given, weights = pools(2), np.array([0.4, -0.3, 1.2])
    for i in range(3):
        step = np.eye(3)[i] * 1e-6
        slope = (likelihood.figure(given, weights + step)[0] - likelihood.figure(given, weights - step)[0]) / 2e-6
        assert likelihood.figure(given, weights)[1][i] == pytest.approx(slope, abs=1e-7)


def test_at_the_maximum_nothing_is_gained_and_huge_scores_do_no_harm():
    given = pools(3)
    value, best = likelihood.maximise(given, np.array([300.0, -300.0, 0.0]), np.zeros(3, bool))
    assert np.abs(likelihood.figure(given, best)[1]).max() < 1e-3
    for i in range(20):
        random = Random(4, "test", i)
        near = best + 0.1 * np.array([random.uniform() - 0.5 for _ in range(3)])
        assert likelihood.figure(given, near)[0] <= value + 1e-9


def test_positive_weights_stay_positive_where_the_maximum_would_not_be():
    given = pools(3)
    free, best = likelihood.maximise(given, np.ones(3), np.zeros(3, bool))
    held, bounded = likelihood.maximise(given, np.ones(3), best < 0)
    assert (best < 0).any() and (bounded[best < 0] == 0.0).all() and held < free
    slopes = likelihood.figure(given, bounded)[1]
    assert np.abs(slopes[best >= 0]).max(initial=0.0) < 1e-3 and (slopes[best < 0] <= 1e-3).all()


def test_candidates_separate_if_some_item_has_right_and_wrong_ones():
    features = np.ones((4, 1))
    for right, expected in ([0, 0, 0, 0], False), ([1, 1, 0, 0], False), ([1, 1, 0, 1], True):
        statistics = np.column_stack([np.array(right, np.float64), np.ones(4)])
        assert likelihood.separates(Pools(np.array([0, 2, 4]), features, statistics)) == expected


def test_pools_without_a_right_candidate_leave_the_weights_to_the_penalty():
    given = pools(5)
    value, gradient = likelihood.figure(given._replace(statistics=np.zeros_like(given.statistics)), np.ones(3))
    assert value == pytest.approx(-3 * likelihood.PENALTY)
    np.testing.assert_allclose(gradient, -2 * likelihood.PENALTY)
