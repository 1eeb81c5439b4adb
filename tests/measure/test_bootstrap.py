"""Claims about corpuscle.measure.bootstrap: intervals and tests against theory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corpuscle import measure
from corpuscle.measure.bootstrap import MAX_ITEMS
from tests.measure.numbers import numbers


def test_bootstrap_of_a_mean_has_the_standard_error_of_theory():
    x = numbers(400)
    interval = measure.bootstrap_ratio(x, np.ones(400), draws=4000)
    error = x.std() / math.sqrt(400)  # the bootstrap's variance is exactly this, up to the number of draws
    assert interval.deviation == pytest.approx(error, rel=0.05)
    assert interval.mean == pytest.approx(x.mean(), abs=4 * error / math.sqrt(4000))
    assert interval.low == pytest.approx(x.mean() - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(x.mean() + 1.96 * error, abs=0.15 * error)


def test_intervals_cover_the_truth_about_95_times_in_100():
    hits = 0
    for trial in range(300):
        interval = measure.bootstrap_ratio(numbers(60, trial), np.ones(60), draws=400, seed=trial)
        hits += interval.low <= 0.5 <= interval.high
    assert 0.89 <= hits / 300 <= 0.98


def test_blocks_keep_the_variance():
    n = 10 * MAX_ITEMS
    x = np.tile(numbers(MAX_ITEMS), 10)
    interval = measure.bootstrap_ratio(x, np.ones(n))
    assert interval.deviation == pytest.approx(x.std() / math.sqrt(n), rel=0.1)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    x = numbers(50)
    first = measure.bootstrap_ratio(x, np.ones(50), seed=3)
    assert first == measure.bootstrap_ratio(x, np.ones(50), seed=3)
    assert first != measure.bootstrap_ratio(x, np.ones(50), seed=4)


def test_transform_may_come_from_math_or_numpy():
    x = numbers(30)
    assert measure.bootstrap_ratio(x, np.ones(30), transform=math.exp).high == pytest.approx(
        measure.bootstrap_ratio(x, np.ones(30), transform=np.exp).high, rel=1e-14
    )


def test_draws_without_a_value_are_left_out():
    interval = measure.bootstrap_ratio([1, 0, 0], [1, 0, 0])
    assert interval.low == interval.high == 1.0
    assert math.isnan(measure.bootstrap_ratio([0], [0]).low)


@pytest.mark.parametrize(("numerators", "denominators"), [([], []), ([math.nan], [1]), ([[[1]]], [[[1]]])])
def test_statistics_that_make_no_sense_are_refused(numerators, denominators):
    with pytest.raises(ValueError):
        measure.bootstrap_ratio(numerators, denominators)


def test_paired_bootstrap_sees_the_sign_and_the_size():
    b = numbers(200)
    better = measure.paired_bootstrap(b - 0.05 + 0.01 * numbers(200, 1), b, np.ones(200))
    assert better.difference == pytest.approx(-0.045, abs=0.002)
    assert better.low < better.difference < better.high < 0
    assert better.p_value <= 2 / 1001
    worse = measure.paired_bootstrap(b, b - 0.05 + 0.01 * numbers(200, 1), np.ones(200))
    assert (worse.difference, worse.low, worse.high) == pytest.approx(
        (-better.difference, -better.high, -better.low), rel=1e-3
    )


def test_a_system_does_not_differ_from_itself():
    x = numbers(100)
    same = measure.paired_bootstrap(x, x, np.ones(100))
    assert (same.difference, same.p_value) == (0.0, 1.0)
    table = np.column_stack([x, np.ones(100)])
    assert measure.approximate_randomisation(table, table, lambda s: s[..., 0] / s[..., 1]) == 1.0


def test_where_two_systems_have_no_difference_there_is_no_p_value():
    infinite = np.full(50, np.inf)
    comparison = measure.paired_bootstrap(infinite, infinite, np.ones(50))
    assert np.isnan([comparison.difference, comparison.low, comparison.high, comparison.p_value]).all()


def test_draws_without_a_difference_count_for_no_p_value():
    some = np.r_[np.inf, np.zeros(4)]  # drawn in about two draws of three, and then infinity minus infinity
    a, b = np.column_stack([some, np.ones(5)]), np.column_stack([some, np.ones(5)])
    assert measure.compare(a, b, lambda sums: sums[..., 0] / sums[..., 1]).p_value == 1.0


def test_p_values_of_systems_that_do_not_differ_are_spread_evenly():
    small = {"bootstrap": 0, "randomisation": 0}
    for trial in range(200):
        a, b = numbers(80, 2 * trial), numbers(80, 2 * trial + 1)
        one = np.ones(80)
        small["bootstrap"] += measure.paired_bootstrap(a, b, one, draws=300, seed=trial).p_value < 0.1
        table_a, table_b = np.column_stack([a, one]), np.column_stack([b, one])
        p = measure.approximate_randomisation(table_a, table_b, lambda s: s[..., 0] / s[..., 1], draws=300, seed=trial)
        small["randomisation"] += p < 0.1
    assert 8 <= small["bootstrap"] <= 36 and 8 <= small["randomisation"] <= 36


def test_randomisation_of_a_few_items_is_the_exact_permutation_test():
    a, b = np.array([3.0, 1.0, 4.0, 2.0, 6.0]), np.array([1.0, 1.5, 2.0, 1.0, 5.0])
    observed, as_large = abs((a - b).sum()), 0
    for swapped in range(32):
        signs = np.array([-1 if swapped >> i & 1 else 1 for i in range(5)])
        as_large += abs((signs * (a - b)).sum()) >= observed - 1e-12
    p = measure.approximate_randomisation(a, b, lambda s: s[..., 0], draws=20000)
    assert p == pytest.approx(as_large / 32, abs=0.01)
