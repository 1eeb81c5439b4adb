"""Claims about corpuscle.measure.links: the alignment error rate, and the links of rare words."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.measure import alignment_error, compare_alignments, singleton_fertility
from corpuscle.text import Alignments, Corpus


def test_the_worked_example_of_the_error_rate() -> None:
    gold = Alignments.from_pairs([[(0, 0), (1, 1), (2, 3), (2, 2), (3, 3)]], [[True, True, True, False, False]])
    found = Alignments.from_pairs([[(0, 0), (1, 1), (2, 2), (3, 1)]])
    result = alignment_error(gold, found)
    assert [round(result[name], 3) for name in ("precision", "recall", "aer")] == [0.75, 0.667, 0.286]
    assert alignment_error(gold, gold.only_sure())["aer"] == 0
    nothing = Alignments.from_pairs([[]])
    assert alignment_error(gold, nothing)["aer"] == 1
    assert compare_alignments(gold, gold.only_sure(), found).difference == pytest.approx(-0.286, abs=1e-3)


def test_fertility_counts_the_links_of_words_seen_once() -> None:
    training = Corpus.from_sentences([["a", "b"], ["a", "c"]])
    text = Corpus.from_sentences([["b", "a"], ["c", "new"]])
    found = Alignments.from_pairs([[(0, 0), (0, 1), (1, 2)], [(1, 0)]])
    assert singleton_fertility(found, text, training) == 1.0
    assert np.isnan(singleton_fertility(found, text, Corpus.from_sentences([["z", "z"]])))
