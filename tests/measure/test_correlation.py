"""Rank correlation against SciPy, and its interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from corpuscle.measure import compare_spearman, human_ceiling, rank_correlation, spearman
from corpuscle.measure.bootstrap import interval_of, item_draws

VALUES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=40)


@given(VALUES)
def test_ties_share_ranks_as_in_scipy(pairs):
    a, b = np.array(pairs, float).T
    ours = rank_correlation(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_a_result_has_coverage_an_interval_and_a_signature():
    chance = np.random.default_rng(1)
    gold = chance.normal(size=200)
    predicted = gold + chance.normal(size=200)
    result = spearman(predicted, gold, pairs=250, draws=300)
    assert result["pairs"] == 250 and result["covered"] == 200
    assert result["spearman"] == pytest.approx(spearmanr(predicted, gold).statistic)
    assert result.interval is not None and result.interval.low < result["spearman"] < result.interval.high
    # The deviation of Fisher's transform of a correlation is about 1.03 / sqrt(n - 3).
    expected = 1.03 / np.sqrt(197) * (1 - result["spearman"] ** 2)
    assert result.interval.deviation == pytest.approx(expected, rel=0.25)
    assert result.to_json() == spearman(predicted, gold, pairs=250, draws=300).to_json()
    assert result.text().splitlines()[1:] == ["covered 80.0 %", "pairs 250"] and "draws" in result.signature


@pytest.mark.parametrize(("a", "b"), [([], []), ([1, 2], [1]), ([1, np.nan], [1, 2])])
def test_what_cannot_be_correlated_is_an_error(a, b):
    with pytest.raises(ValueError):
        spearman(a, b)


@given(VALUES, st.integers(1, 4))
def test_draws_of_items_take_all_their_points_as_a_loop_does(pairs, size):
    predicted, gold = np.array(pairs, float).T
    items = np.arange(len(gold)) // size
    loop = []
    for drawn in item_draws(int(items.max()) + 1, 20, 1):
        points = np.concatenate([np.flatnonzero(items == item) for item in drawn])
        loop.append(rank_correlation(predicted[points], gold[points]))
    found, expected = spearman(predicted, gold, items=items, draws=20).interval, interval_of(np.array(loop))
    assert found is not None and np.allclose(list(vars(found).values()), list(vars(expected).values()), equal_nan=True)


def test_two_predictions_are_compared_on_the_same_draws():
    chance = np.random.default_rng(1)
    gold = chance.normal(size=150)
    good, bad = gold + 0.5 * chance.normal(size=150), gold + 3 * chance.normal(size=150)
    found = compare_spearman(good, bad, gold, draws=200)
    assert found.difference == pytest.approx(rank_correlation(good, gold) - rank_correlation(bad, gold))
    assert 0 < found.low < found.difference < found.high and found.p_value < 0.02
    same = compare_spearman(good, 2 * good + 1, gold, draws=50)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_the_ceiling_compares_each_subject_with_all_others():
    ratings = [1, 2, 3, 4, 2, 1, 3, 4, 4, 1, 2, 2]
    items, subjects = [0, 1, 2, 3] * 3, ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    table = np.array(ratings, float).reshape(3, 4)
    by_hand = [rank_correlation(table[i], np.delete(table, i, axis=0).mean(axis=0)) for i in range(3)]
    assert human_ceiling(ratings, items, subjects) == pytest.approx(np.mean(by_hand))
    assert np.isnan(human_ceiling([1, 2, 3], [0, 1, 2], ["a"] * 3))
