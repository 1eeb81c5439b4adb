"""Claims about the word classes that ``corpuscle learn`` finds."""

from __future__ import annotations

import numpy as np

from corpuscle.packs.steps.word_classes import number_of_classes


def test_the_number_of_classes_follows_the_rule():
    assert number_of_classes(np.array([2] * 100 + [1] * 1000)) == 10
    assert number_of_classes(np.array([1, 1, 1])) == 2
    assert number_of_classes(np.array([5])) == 1
    assert number_of_classes(np.full(4_000_000, 2)) == 1000
