"""Claims about corpuscle.measure.names: the measures of the NEWS shared tasks."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.measure import news_measures, news_statistics


def test_measures_of_hand_cases():
    rows = news_statistics([["abcd"], ["x", "y"], [], ["u", "v", "w"]], [["abed", "xyz"], ["y", "x"], ["a"], ["w"]])
    np.testing.assert_allclose(rows[0], [0, 0.75, 0, 0])
    np.testing.assert_allclose(rows[1], [1, 1, 1, 1])  # two references, both in the first two ranks
    np.testing.assert_allclose(rows[2], [0, 0, 0, 0])
    np.testing.assert_allclose(rows[3], [0, 0, 1 / 3, 0])
    result = news_measures([["a"], ["b"]], [["a"], ["c"]])
    assert result["acc"] == result["map_ref"] == 0.5 and result["names"] == 2
    with pytest.raises(ValueError):
        news_measures([["a"]], [])


def test_references_are_compared_after_normalisation():
    assert news_measures([["e\u0301"]], [["\u00e9"]])["acc"] == 1.0
