"""Figures of dependency trees, by hand."""

import numpy as np
import pytest

from corpuscle.measure import attachment, attachment_by, compare_attachment
from corpuscle.text.treebank import Treebank

WORDS = [["the", "dog", "barks", "."], ["it", "rains"], []]


def bank(heads, relations):
    tags = [["DET", "NOUN", "VERB", "PUNCT"], ["PRON", "VERB"], []]
    return Treebank.from_sentences(WORDS, heads=heads, relations=relations, tags=tags)


GOLD = bank([[2, 3, 0, 3], [2, 0], []], [["det", "nsubj", "root", "punct"], ["nsubj", "root"], []])
FOUND = bank([[2, 3, 0, 2], [2, 0], []], [["det", "nsubj:pass", "root", "punct"], ["obj", "root"], []])


def test_figures_are_those_counted_by_hand():
    result = attachment(GOLD, FOUND, draws=20)
    assert result["uas"] == pytest.approx(5 / 6) and result["las"] == pytest.approx(3 / 6)
    assert result["uas_nopunct"] == 1.0 and result["las_nopunct"] == pytest.approx(3 / 5)
    assert result["complete"] == 0.5 and result["root"] == 1.0
    assert result["words"] == 6 and result["sentences"] == 2
    assert attachment(GOLD, FOUND, mode="conll18", draws=20)["las"] == pytest.approx(4 / 6)
    assert attachment(GOLD, GOLD, draws=20)["las"] == 1.0
    other = bank([[3, 3, 0, 3], [0, 1], []], [["det", "nsubj", "root", "punct"], ["nsubj", "root"], []])
    assert attachment(GOLD, other, draws=20)["root"] == 0.5


def test_without_tags_punctuation_is_what_consists_of_it():
    bare = [each.replace(tags=each.lemmas) for each in (GOLD, FOUND)]
    assert attachment(*bare, draws=20)["uas_nopunct"] == 1.0


def test_tables_add_up_and_comparisons_are_paired():
    for by in "relation", "distance", "length":
        rows = attachment_by(GOLD, FOUND, by)
        assert sum(row["words"] for row in rows) == 6
        assert sum(row["words"] * row["uas"] for row in rows) == pytest.approx(5)
    comparison = compare_attachment(GOLD, GOLD, FOUND, figure="uas")
    assert comparison.to_json()["difference"] == pytest.approx(1 / 6)
    with pytest.raises(ValueError, match="same sentences"):
        attachment(GOLD, FOUND[:1])
    assert np.isfinite(comparison.to_json()["low"])
