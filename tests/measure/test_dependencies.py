"""Figures of dependency trees, by hand."""

import numpy as np
import pytest

from corpuscle.measure import attachment, attachment_by, calibration_error, compare_attachment, oracle, punctuation
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


def test_punctuation_is_what_the_mode_says():
    words = [["a", ".", "-", "``", "b", "("]]
    both = Treebank.from_sentences(
        words, heads=[[0, 1, 1, 1, 1, 1]], tags=[["X", "PUNCT", "SYM", "PUNCT", "PUNCT", "X"]],
        xpos=[["NN", ".", ":", "``", "NN", "-LRB-"]],
    )  # fmt: skip
    marks = {what: np.flatnonzero(punctuation(both, what)).tolist() for what in ("auto", "upos", "penn", "form")}
    assert marks == {"auto": [1, 3, 4], "upos": [1, 3, 4], "penn": [1, 2, 3], "form": [1, 2, 5]}
    penn = both.replace(tags=both.xpos)
    assert np.flatnonzero(punctuation(penn)).tolist() == [1, 2, 3]
    found = both.replace(heads=np.array([0, 1, 1, 1, 1, 3], np.int32))
    figures = {what: attachment(both, found, punct=what, draws=5)["uas_nopunct"] for what in marks}
    assert figures == pytest.approx({"auto": 2 / 3, "upos": 2 / 3, "penn": 2 / 3, "form": 1.0})
    with pytest.raises(ValueError, match="no such tags"):
        punctuation(both.replace(tags=both.lemmas), "upos")


def test_the_shared_task_of_2018_counts_content_words():
    gold = bank([[2, 3, 0, 3], [2, 0], []], [["det", "nsubj", "root", "punct"], ["nsubj:x", "root"], []])
    found = bank([[3, 3, 0, 2], [2, 0], []], [["det", "nsubj", "root", "punct"], ["nsubj", "aux"], []])
    result = attachment(gold, found, mode="conll18", draws=5)
    # Content words: nsubj, root, nsubj:x, root in the one, nsubj, root, nsubj in the other; right: nsubj, root, nsubj.
    assert result["clas"] == pytest.approx(2 * 3 / (4 + 3)) and result["las"] == pytest.approx(3 / 6)
    assert "CLAS" in result.text() and "clas" not in attachment(gold, found, draws=5).to_json()


def test_the_oracle_takes_the_best_tree_of_each_list():
    heads = [3, 3, 0, 2, 2, 3, 0, 2, 3, 1, 1, 0, 2, 0]
    lists = GOLD.select(np.array([0, 0, 0, 1, 2])).replace(heads=np.array(heads, np.int32)), np.array([3, 1, 1])
    found = oracle(GOLD, *lists)
    assert found["oracle_uas"] == pytest.approx(5 / 6) and found["oracle_complete"] == 0.5 and found["trees"] == 2.0
    assert found["oracle_las"] == pytest.approx(5 / 6)
    with pytest.raises(ValueError, match="not those of the gold"):
        oracle(GOLD, lists[0], np.array([2, 1, 1]))


def test_calibration_error_is_the_gap_between_confidence_and_share():
    confidence, right = np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False])
    assert calibration_error(confidence, right) == pytest.approx((2 * 0.45 + 2 * 0.15) / 4)
    assert calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0.0


def test_without_some_words_trees_stay_trees():
    heads = [[2, 4, 2, 0, 4, 5], [2, 0]]
    trees = Treebank.from_sentences([list("abcdef"), list("gh")], heads=heads)
    dropped = np.array([False, True, False, False, True, False, False, True])
    left = trees.without_words(dropped)
    assert [left.corpus.words(i) for i in range(2)] == [["a", "c", "d", "f"], ["g"]]
    assert left.heads.tolist() == [3, 3, 0, 3, 0]
    left.check_trees(single_root=True)
    assert len(trees.without_words(np.array([True] * 6 + [False] * 2))) == 1
