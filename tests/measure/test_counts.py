"""Claims about corpuscle.measure.bootstrap: precision, recall, F1, accuracy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corpuscle import measure
from corpuscle.measure.bootstrap import share
from corpuscle.text import Alignments, Mention, Standoff
from corpuscle.text.columns import Normalised


def test_precision_recall_and_f1_from_counts():
    result = measure.precision_recall([1, 2, 0], [2, 2, 1], [2, 4, 0])
    assert result["precision"] == pytest.approx(3 / 5)
    assert result["recall"] == pytest.approx(3 / 6)
    assert result["f1"] == pytest.approx(6 / 11)
    assert result["f1_low"] <= result["f1"] <= result["f1_high"]
    assert result.interval is not None and result.interval.low == result["f1_low"]
    assert np.isnan(measure.precision_recall([0], [0], [0])["f1"])
    with pytest.raises(ValueError):
        measure.precision_recall([2], [1], [3])


def test_counts_are_added_up_and_named():
    result = measure.precision_recall([1, 2, 0], [2, 2, 1], [2, 4, 0], of="names")
    assert (result["correct"], result["predicted"], result["gold"]) == (3, 5, 6)
    assert "|of:names|" in result.signature
    result = measure.accuracy([1, 2, 0], [2, 2, 1], of="tags")
    assert (result["correct"], result["total"], result["accuracy"]) == (3, 5, 0.6)
    assert "|of:tags|" in result.signature


@pytest.mark.parametrize(("correct", "total"), [([-1], [1]), ([2], [1]), ([1, 2], [1, 1]), ([0, -1], [1, 1])])
def test_more_right_than_there_is_or_less_than_nothing_is_an_error(correct, total):
    with pytest.raises(ValueError, match="between 0 and total"):
        measure.accuracy(correct, total)
    for predicted, gold in ((total, [9, 9][: len(total)]), ([9, 9][: len(total)], total)):
        with pytest.raises(ValueError, match="between 0 and both predicted and gold"):
            measure.precision_recall(correct, predicted, gold)
    assert math.isnan(measure.accuracy([0], [0])["accuracy"])


def test_nothing_out_of_nothing_is_no_number_wherever_it_stands():
    whole = np.array([0.0, 2.0, 0.0] * 1000)
    np.empty(3000)[:] = 7.0  # memory that a result without a value of its own would show
    found = share(np.ones(3000) * (whole > 0), whole)
    assert np.array_equal(found, [np.nan, 0.5, np.nan] * 1000, equal_nan=True)


def test_f1_of_two_systems_is_compared_on_the_same_items():
    gold, correct_a, correct_b = np.full(100, 10), np.full(100, 9), np.tile([7, 8], 50)
    comparison = measure.compare_f1(*(np.column_stack([correct, gold, gold]) for correct in (correct_a, correct_b)))
    assert comparison.difference == pytest.approx(0.15) and comparison.low > 0.1 and comparison.p_value < 0.01


def test_accuracy_interval_is_binomial():
    correct = np.array([1] * 800 + [0] * 200)
    result = measure.accuracy(correct, np.ones(1000))
    assert result["accuracy"] == 0.8 and result.interval is not None
    assert result.interval.deviation == pytest.approx(math.sqrt(0.8 * 0.2 / 1000), rel=0.1)


def test_a_figure_of_nothing_is_missing_and_neither_0_nor_100_per_cent():
    one, two = Standoff("a b", (Mention("X", ((0, 1),)),)), Standoff("a b")
    found = measure.mention_scores([one, two], [one, two])
    assert "with gaps, strict F1 n/a" in found.text() and found.to_json()["discontinuous_f1"] is None
    assert found["strict_f1"] == 1.0
    nothing = measure.mention_scores([one], [two])
    assert (nothing["strict_f1"], nothing["strict_recall"]) == (0.0, 0.0) and math.isnan(nothing["strict_precision"])
    links = Alignments.from_pairs([[(0, 0)]])
    missed = measure.alignment_error(links, Alignments.from_pairs([[]]))
    assert (missed["recall"], missed["f1"], missed["aer"]) == (0.0, 0.0, 1.0) and math.isnan(missed["precision"])
    assert "precision: n/a (n/a to n/a)" in missed.text()
    assert math.isnan(measure.agreement([[["a", "a"]]])["alpha"])  # one label: nothing to agree on beyond chance
    assert math.isnan(measure.calibration_error(np.zeros(0), np.zeros(0, bool)))
    assert all(map(math.isnan, measure.pair_agreement([3], ["x"])))
    assert math.isnan(measure.bleu(["a b"], ["a b"], draws=2)["precision_4"])


def test_messages_without_errors_have_no_recall():
    gold = Normalised.from_messages([["a", "b"]], [["a", "b"]])
    found = measure.normalisation_scores(gold, [["a", "b"]], draws=5)
    assert found["word_accuracy"] == 1.0
    assert all(math.isnan(found[name]) for name in ("f1", "precision", "recall", "error_reduction"))
    assert "F1 n/a" in found.text() and found.to_json()["f1"] is None
