"""Rank correlation against SciPy, and its interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from corpuscle.measure import rank_correlation, spearman

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
