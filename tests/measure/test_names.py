"""Claims about corpuscle.measure.names: the measures of the NEWS shared tasks."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.measure import accuracy_at, news_measures, news_statistics


def test_measures_of_hand_cases():
    rows = news_statistics([["abcd"], ["x", "y"], [], ["u", "v", "w"]], [["abed", "xyz"], ["y", "x"], ["a"], ["w"]])
    np.testing.assert_allclose(rows[0], [0, 0.75, 0, 0])
    np.testing.assert_allclose(rows[1], [1, 1, 1, 1])  # two references, both in the first two ranks
    np.testing.assert_allclose(rows[2], [0, 0, 0, 0])
    np.testing.assert_allclose(rows[3], [0, 0, 1 / 3, 0])
    result = news_measures([["a"], ["b"]], [["a"], ["c"]])
    assert result["acc"] == result["map_ref"] == 0.5 and result["names"] == 2
    assert result.interval is not None and result.interval.low == result["acc_low"]
    with pytest.raises(ValueError, match="1 lists of candidates, but 0 names"):
        news_measures([["a"]], [])
    with pytest.raises(ValueError, match="name 2 has no reference"):
        news_measures([["a"], ["b"]], [["a"], []])


@pytest.mark.parametrize(
    ("candidate", "references", "expected"),
    [("abc", ["abc", "xyz"], 1.0), ("abc", ["x"], 0.0), ("", [""], 0.0), ("abcd", ["abcdefg", "ab"], 4 / 6)],
)
def test_f_is_that_of_the_nearest_reference(candidate, references, expected):
    assert news_statistics([[candidate]], [references])[0, 1] == pytest.approx(expected)


def test_half_a_letter_of_broken_text_is_a_letter():
    assert news_statistics([["a\ud800b"]], [["a\ud800c"]])[0, 1] == pytest.approx(2 / 3)


def test_of_references_that_are_equally_near_the_first_counts():
    near, long = "abx", "abcde"  # distance 2 from "abc" both, with 2 and 3 letters in common
    rows = news_statistics([["abc"]] * 2, [[near, long], [long, near]])
    np.testing.assert_allclose(rows[:, 1], [4 / 6, 6 / 8])


def test_references_are_compared_after_normalisation():
    assert news_measures([["e\u0301"]], [["\u00e9"]])["acc"] == 1.0


def test_accuracy_at_a_rank_counts_names_with_the_answer_among_so_many():
    found = accuracy_at([["a", "b"], ["x", "y", "c"], [], ["d"]], [["a"], ["c", "z"], ["e"], ["q"]], (1, 2, 3, 20))
    assert found == {1: 0.25, 2: 0.25, 3: 0.5, 20: 0.5}
