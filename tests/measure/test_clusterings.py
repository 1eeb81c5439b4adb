"""Claims about corpuscle.measure.clusterings: measures against brute force."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle import measure

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


def test_each_side_of_the_v_measure_is_its_own():
    result = measure.compare_clusterings([0, 0, 1, 2], ["a", "a", "b", "b"])  # pure clusters, one class in two
    assert (result["homogeneity"], result["completeness"]) == (1.0, pytest.approx(1 / 1.5))
    turned = measure.compare_clusterings(["a", "a", "b", "b"], [0, 0, 1, 2])
    assert (turned["completeness"], turned["homogeneity"]) == (1.0, pytest.approx(1 / 1.5))
    assert [result[name] for name in ("items", "clusters", "classes")] == [4, 3, 2]
    assert result.signature.startswith("clusterings|entropies:bits|") and result.interval is None


def test_clusters_and_classes_that_say_nothing_about_each_other_have_no_v_measure():
    result = measure.compare_clusterings([0, 0, 1, 1], [0, 1, 0, 1])
    assert (result["v_measure"], result["homogeneity"], result["completeness"]) == (0.0, 0.0, 0.0)


def test_many_items_have_more_pairs_than_a_small_integer_holds():
    labels = np.repeat(np.arange(2, dtype=np.int32), 70_000)
    assert measure.compare_clusterings(labels, labels)["adjusted_rand"] == 1.0
    assert measure.compare_clusterings(labels, labels[::-1] * 0)["adjusted_rand"] == 0.0


@pytest.mark.parametrize(("predicted", "gold"), [([], []), ([1], [1, 2]), ([[1]], [[1]])])
def test_two_labellings_of_the_same_items_are_needed(predicted, gold):
    with pytest.raises(ValueError, match="two labellings of the same items"):
        measure.compare_clusterings(predicted, gold)
    assert measure.compare_clusterings([1], [2])["v_measure"] == 1.0


def test_renamed_clusters_agree_perfectly():
    result = measure.compare_clusterings(["x", "y", "x", "z"], [2, 0, 2, 1])
    names = ("v_measure", "many_to_one", "one_to_one", "adjusted_rand")
    assert [result[name] for name in names] == pytest.approx([1, 1, 1, 1])
    assert result["variation_of_information"] == pytest.approx(0)
