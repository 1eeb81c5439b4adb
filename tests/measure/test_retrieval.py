"""Retrieval measures: worked examples, and rankings made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from corpuscle.measure import pair_agreement, rank_items, retrieval


def by_hand(items: np.ndarray, labels: np.ndarray, query: int) -> tuple[list[float], float, float]:
    """Levels, R-precision and average precision of one query, from the ranking itself."""
    others = [i for i in range(len(items)) if i != query]
    others.sort(key=lambda i: (float(((items[i] - items[query]) ** 2).sum()), i))
    hits = np.array([labels[i] == labels[query] for i in others])
    relevant = int(hits.sum())
    precision, recall = np.cumsum(hits) / np.arange(1, len(hits) + 1), np.cumsum(hits) / relevant
    levels = [max(precision[recall >= level / 10 - 1e-9]) for level in range(11)]
    return levels, hits[:relevant].mean(), float(precision[hits].mean())


def test_rankings_agree_with_those_made_by_sorting() -> None:
    random = np.random.default_rng(1)
    items = random.integers(0, 4, (60, 2)).astype(float)  # many ties
    labels = random.integers(0, 9, 60)
    labels[0] = 99
    ranked = rank_items(items, labels)
    assert ranked.skipped == 1 and len(ranked.average) == 59
    for row, query in enumerate(range(1, 60)):
        levels, r_precision, average = by_hand(items, labels, query)
        np.testing.assert_allclose(ranked.levels[row], levels, atol=1e-12)
        assert ranked.r_precision[row] == pytest.approx(r_precision) and ranked.average[row] == pytest.approx(average)


def test_sparse_items_are_ranked_as_dense_ones() -> None:
    random = np.random.default_rng(2)
    items, labels = random.integers(0, 3, (70, 9)).astype(float), random.integers(0, 5, 70)
    for sparse, dense in zip(rank_items(csr_array(items), labels), rank_items(items, labels), strict=True):
        np.testing.assert_array_equal(sparse, dense)


def test_relevant_items_at_ranks_one_three_and_six() -> None:
    items = np.array([[0.0], [1], [2], [3], [4], [5], [6]])
    labels = np.array(["a", "a", "b", "a", "c", "d", "a"])
    first = rank_items(items, labels)
    assert first.levels[0].mean() == pytest.approx((4 * 1 + 3 * 2 / 3 + 4 * 1 / 2) / 11)
    assert round(float(first.levels[0].mean()), 4) == 0.7273


def test_a_perfect_ranking_has_precision_one() -> None:
    result = retrieval(rank_items(np.array([[0.0], [0.1], [9], [9.1], [20]]), list("aabbc")))
    assert result["eleven_point"] == result["r_precision"] == result["map"] == 1.0
    assert result["queries"] == 4 and result["skipped"] == 1 and result["precision_at_100"] == 1.0
    assert "11-point average precision 1.000" in str(result)


def test_items_without_companions_cannot_be_evaluated() -> None:
    with pytest.raises(ValueError, match="every group has one member"):
        retrieval(rank_items(np.eye(3), list("abc")))
    with pytest.raises(ValueError, match="a label each"):
        rank_items(np.eye(3), list("ab"))


def test_pairs_on_which_clusterings_agree() -> None:
    predicted, gold = [0, 0, 1, 1, 1], list("xxxyy")
    same = [(predicted[i] == predicted[j], gold[i] == gold[j]) for i in range(5) for j in range(i)]
    rand = np.mean([a == b for a, b in same])
    together, apart = [b for a, b in same if a], [not b for a, b in same if not a]
    assert pair_agreement(predicted, gold) == pytest.approx((rand, (np.mean(together) + np.mean(apart)) / 2))
    assert np.isnan(pair_agreement([3], ["x"])).all()
