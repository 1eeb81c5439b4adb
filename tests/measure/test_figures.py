"""Claims about corpuscle.measure: intervals against theory, metrics against brute force."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle import measure
from corpuscle.measure.bootstrap import MAX_ITEMS
from corpuscle.random import Random


def numbers(n: int, item: int = 0) -> np.ndarray:
    stream = Random(7, "test numbers", 0, item)
    return np.array([stream.uniform() for _ in range(n)])


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
        p = measure.approximate_randomisation(
            table_a, table_b, lambda s: s[..., 0] / s[..., 1], draws=300, seed=trial
        )
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


def test_perplexity_is_exp_of_the_mean_negative_log_probability():
    events = [np.log([0.5, 0.25]), np.log([0.125]), np.log([0.5, 0.5, 0.5])]
    result = measure.perplexity([e.sum() for e in events], [len(e) for e in events])
    bits = (1 + 2 + 3 + 1 + 1 + 1) / 6
    assert result["bits_per_token"] == pytest.approx(bits)
    assert result["perplexity"] == result["perplexity_without_oov"] == pytest.approx(2**bits)
    assert (result["tokens"], result["oov"]) == (6, 0)
    assert result["low"] <= result["perplexity"] <= result["high"]
    assert {"perplexity", "low", "high", "deviation", "signature"} <= json.loads(
        json.dumps(result.to_json())
    ).keys()


def test_perplexity_without_oov_leaves_those_events_out():
    result = measure.perplexity(
        np.log([2**-6, 2**-2]), [2, 2], oov=[1, 0], known_log_probabilities=np.log([0.5, 0.25])
    )
    assert result["perplexity"] == pytest.approx(4)
    assert result["perplexity_without_oov"] == pytest.approx(2)
    assert result["oov"] == 1


def test_an_impossible_event_gives_infinity_and_null_in_json():
    result = measure.perplexity([-math.inf, -1.0], [1, 1], oov=[1, 0], known_log_probabilities=[0.0, -1.0])
    assert result["perplexity"] == math.inf and result["perplexity_without_oov"] == pytest.approx(math.e)
    assert result.to_json()["perplexity"] is None
    json.dumps(result.to_json(), allow_nan=False)


def test_perplexity_of_nothing_but_oov_has_no_value_without_them():
    result = measure.perplexity([-1.0], [1], oov=[1], known_log_probabilities=[0.0])
    assert result.to_json()["perplexity_without_oov"] is None


def test_comparing_perplexities_equals_their_difference():
    a, b, tokens = -10 * numbers(90), -11 * numbers(90, 5), np.full(90, 4)
    comparison = measure.compare_perplexity(a, b, tokens)
    difference = measure.perplexity(a, tokens)["perplexity"] - measure.perplexity(b, tokens)["perplexity"]
    assert comparison.difference == pytest.approx(difference)
    assert comparison.low < comparison.difference < comparison.high


def test_precision_recall_and_f1_from_counts():
    result = measure.precision_recall([1, 2, 0], [2, 2, 1], [2, 4, 0])
    assert result["precision"] == pytest.approx(3 / 5)
    assert result["recall"] == pytest.approx(3 / 6)
    assert result["f1"] == pytest.approx(6 / 11)
    assert result["f1_low"] <= result["f1"] <= result["f1_high"]
    assert result.interval is not None and result.interval.low == result["f1_low"]
    assert measure.precision_recall([0], [0], [0])["f1"] == 0.0
    with pytest.raises(ValueError):
        measure.precision_recall([2], [1], [3])


def test_f1_of_two_systems_is_compared_on_the_same_items():
    gold, correct_a, correct_b = np.full(100, 10), np.full(100, 9), np.tile([7, 8], 50)
    comparison = measure.compare_f1(correct_a, gold, correct_b, gold, gold)
    assert comparison.difference == pytest.approx(0.15) and comparison.low > 0.1 and comparison.p_value < 0.01


def test_accuracy_interval_is_binomial():
    correct = np.array([1] * 800 + [0] * 200)
    result = measure.accuracy(correct, np.ones(1000))
    assert result["accuracy"] == 0.8 and result.interval is not None
    assert result.interval.deviation == pytest.approx(math.sqrt(0.8 * 0.2 / 1000), rel=0.1)


labellings = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n) for _ in range(2)])
)


def entropy(labels: list) -> float:
    return -sum(k / len(labels) * math.log2(k / len(labels)) for k in Counter(labels).values())


@settings(max_examples=150, deadline=None)
@given(labellings)
def test_clusterings_agree_with_brute_force(pair):
    predicted, gold = pair
    result = measure.compare_clusterings(predicted, gold)
    both, n = list(zip(predicted, gold, strict=True)), len(gold)
    h_k, h_c, h_kc = entropy(predicted), entropy(gold), entropy(both)
    assert result["variation_of_information"] == pytest.approx(2 * h_kc - h_k - h_c, abs=1e-12)
    if h_k + h_c > 0:  # V-measure is the mutual information over the mean entropy
        assert result["v_measure"] == pytest.approx((h_k + h_c - h_kc) / ((h_k + h_c) / 2), abs=1e-12)
    else:
        assert result["v_measure"] == 1.0

    majority = sum(Counter(g for p, g in both if p == k).most_common(1)[0][1] for k in set(predicted))
    assert result["many_to_one"] == pytest.approx(majority / n)
    best = max(sum(names[p] == g for p, g in both) for names in permutations(range(4)))
    assert result["one_to_one"] == pytest.approx(best / n)

    pairs = list(combinations(range(n), 2))
    same_k = [predicted[i] == predicted[j] for i, j in pairs]
    same_c = [gold[i] == gold[j] for i, j in pairs]
    agree = sum(k and c for k, c in zip(same_k, same_c, strict=True))
    chance = sum(same_k) * sum(same_c) / len(pairs)
    most = (sum(same_k) + sum(same_c)) / 2
    expected = 1.0 if most == chance else (agree - chance) / (most - chance)
    assert result["adjusted_rand"] == pytest.approx(expected, abs=1e-12)


def test_renamed_clusters_agree_perfectly():
    result = measure.compare_clusterings(["x", "y", "x", "z"], [2, 0, 2, 1])
    names = ("v_measure", "many_to_one", "one_to_one", "adjusted_rand")
    assert [result[name] for name in names] == pytest.approx([1, 1, 1, 1])
    assert result["variation_of_information"] == pytest.approx(0)


def test_signatures_say_what_was_counted():
    result = measure.perplexity([-1.0, -2.0], [1, 2], draws=50, seed=9)
    assert result.signature.startswith("perplexity|events:tokens and </s>|")
    assert "50 draws, seed 9" in result.signature and "version:" in result.signature
