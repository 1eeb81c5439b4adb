"""Random streams: uniform, with the right moments, the same in kernels and in Python, the same in every version."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corpuscle import random
from corpuscle.compiled import kernel
from corpuscle.random import Random, purpose_id

PURPOSE = purpose_id("test")
N = 40_000

UNIFORM, BELOW, NORMAL, GAMMA_SMALL, GAMMA, BETA = range(6)


@kernel
def draws(seed, purpose, which, values):
    stream = random.stream(seed, purpose, 0, 0)
    for i in range(len(values)):
        if which == UNIFORM:
            values[i] = random.uniform(stream)
        elif which == BELOW:
            values[i] = random.below(stream, 10)
        elif which == NORMAL:
            values[i] = random.normal(stream)
        elif which == GAMMA_SMALL:
            values[i] = random.gamma(stream, 0.4)
        elif which == GAMMA:
            values[i] = random.gamma(stream, 7.5)
        else:
            values[i] = random.beta(stream, 0.7, 3.0)


@kernel
def first_of_each_item(seed, purpose, values):
    for item in range(len(values)):
        values[item] = random.uniform(random.stream(seed, purpose, 3, item))


@kernel
def picks(seed, purpose, weights, counts, draws):
    stream = random.stream(seed, purpose, 0, 0)
    for _ in range(draws):
        counts[random.categorical(stream, weights)] += 1


@kernel
def shuffled(seed, purpose, items):
    random.shuffle(random.stream(seed, purpose, 0, 0), items)


def sample(which, n=N, seed=1):
    values = np.empty(n)
    draws(seed, PURPOSE, which, values)
    return values


DISTRIBUTIONS = {
    UNIFORM: stats.uniform(),
    NORMAL: stats.norm(),
    GAMMA_SMALL: stats.gamma(0.4),
    GAMMA: stats.gamma(7.5),
    BETA: stats.beta(0.7, 3.0),
}


@pytest.mark.parametrize("which", DISTRIBUTIONS)
def test_draws_have_their_distribution_and_its_moments(which):
    values, wanted = sample(which), DISTRIBUTIONS[which]
    assert stats.kstest(values, wanted.cdf).pvalue > 0.01
    error = wanted.std() / math.sqrt(N)
    assert abs(values.mean() - wanted.mean()) < 4 * error
    assert values.var() == pytest.approx(wanted.var(), rel=0.05)


def test_digits_and_pairs_of_digits_are_uniform():
    digits = sample(BELOW).astype(int)
    assert stats.chisquare(np.bincount(digits, minlength=10)).pvalue > 0.01
    pairs = digits[:-1:2] * 10 + digits[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=100)).pvalue > 0.01


def test_neighbouring_streams_are_unrelated():
    values = np.empty(N)
    first_of_each_item(1, PURPOSE, values)
    assert stats.kstest(values, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4 / math.sqrt(N)
    assert not np.intersect1d(sample(UNIFORM, seed=1), sample(UNIFORM, seed=2)).size


def test_categorical_follows_its_weights_and_never_picks_a_weight_of_zero():
    weights = np.array([0.0, 3.0, 0.0, 1.0, 6.0, 0.0])
    counts = np.zeros(6, np.int64)
    picks(1, PURPOSE, weights, counts, N)
    assert counts[weights == 0].sum() == 0
    assert stats.chisquare(counts[weights > 0], N * weights[weights > 0] / 10).pvalue > 0.01


def test_every_order_of_a_shuffle_is_equally_likely():
    orders = {}
    for seed in range(6000):
        items = np.arange(3)
        shuffled(seed, PURPOSE, items)
        orders[tuple(items)] = orders.get(tuple(items), 0) + 1
    assert len(orders) == 6 and stats.chisquare(list(orders.values())).pvalue > 0.01


@given(st.integers(0, 2**63 - 1), st.text(max_size=9), st.integers(0, 2**40), st.integers(0, 2**40))
def test_python_and_kernels_draw_the_same_numbers(seed, purpose, iteration, item):
    plain = Random(seed, purpose, iteration, item)
    compiled = random.stream(seed, purpose_id(purpose), iteration, item)
    assert [plain.uniform() for _ in range(3)] == [random.uniform(compiled) for _ in range(3)]
    assert [plain.below(n) for n in (1, 2, 1000)] == [random.below(compiled, n) for n in (1, 2, 1000)]
    handed_over = plain.array()
    assert random.uniform(handed_over) == random.uniform(compiled) == plain.uniform()


def test_python_choices_and_orders():
    dice = Random(1, "test")
    assert {dice.choice("ab") for _ in range(50)} == {"a", "b"}
    assert {dice.choice("abc", [0.0, 1.0, 0.0]) for _ in range(50)} == {"b"}
    items = list(range(20))
    order = dice.shuffled(items)
    assert sorted(order) == items and order != items
    array = np.arange(20)
    shuffled(1, PURPOSE, array)
    assert Random(1, "test").shuffled(range(20)) == array.tolist()


GOLDEN_STREAM = [2137090184569165773, 0]
GOLDEN = {
    UNIFORM: [0.918736833067927, 0.98548046268857, 0.958680517423018],
    BELOW: [9, 9, 9, 4, 5, 5, 1, 5],
    NORMAL: [2.23124618115708, -2.4414778425745416, -1.0892994102698519],
    GAMMA_SMALL: [0.013937303783221095, 0.2748670603629457, 1.3766490221388639],
    GAMMA: [14.953020893196241, 4.598260642592639, 5.662345635792056],
    BETA: [0.1501380514697481, 0.10074253042417701, 0.4136864189374086],
}


def test_streams_are_the_same_in_every_version():
    """Seeds that people have published must go on giving the same results."""
    assert PURPOSE == 7616549391962068683
    assert random.stream(1, PURPOSE, 2, 3).tolist() == GOLDEN_STREAM
    assert sample(UNIFORM, 3).tolist() == GOLDEN[UNIFORM]
    assert sample(BELOW, 8).tolist() == GOLDEN[BELOW]
    for which in NORMAL, GAMMA_SMALL, GAMMA, BETA:
        assert sample(which, 3).tolist() == pytest.approx(GOLDEN[which], rel=1e-12)


def test_many_numbers_at_once_are_those_that_come_one_by_one():
    at_once, one_by_one = Random(3, "test", 1, 2), Random(3, "test", 1, 2)
    for shape in (5,), (2, 3), (0,):
        expected = [one_by_one.uniform() for _ in range(math.prod(shape))]
        np.testing.assert_array_equal(at_once.uniforms(*shape), np.reshape(expected, shape))
    assert at_once.uniform() == one_by_one.uniform()


@given(st.integers(1, 200), st.integers(2, 12), st.integers(0, 9))
def test_folds_are_of_equal_size_and_differ_by_seed(n, k, seed):
    parts = random.folds(seed, "test", n, k)
    sizes = np.bincount(parts, minlength=k)
    assert sizes.sum() == n and sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(parts, random.folds(seed, "test", n, k))
    assert n < 30 or not np.array_equal(parts, random.folds(seed + 1, "test", n, k))
