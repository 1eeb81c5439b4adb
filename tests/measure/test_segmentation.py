"""Claims about corpuscle.measure.segmentation: counts against brute force over sets of spans."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle import measure
from corpuscle.measure.segmentation import OtherText, segmentation_counts
from corpuscle.random import Random
from corpuscle.text import Corpus


def spans(words: list[str]) -> set[tuple[int, int]]:
    ends = np.cumsum([len(word) for word in words]).tolist()
    return {(end - len(word), end) for end, word in zip(ends, words, strict=True)}


def inner(words: list[str]) -> set[int]:
    return {end for _, end in spans(words)} - {len("".join(words))}


def cut(text: str, stream: Random, rate: float = 0.5) -> list[str]:
    words = [text[:1]] if text else []
    for character in text[1:]:
        if stream.uniform() < rate:
            words.append(character)
        else:
            words[-1] += character
    return words


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("aé語🜁\u0301", max_size=9), min_size=1, max_size=6), st.integers(0, 99))
def test_counts_are_those_of_sets_of_spans(lines, seed):
    stream = Random(seed, "test cuts")
    gold, found = ([cut(line, stream) for line in lines] for _ in range(2))
    tokens, boundaries = segmentation_counts(Corpus.from_sentences(gold), Corpus.from_sentences(found))
    for i, (g, f) in enumerate(zip(gold, found, strict=True)):
        assert tokens[i].tolist() == [len(spans(g) & spans(f)), len(f), len(g)]
        assert boundaries[i].tolist() == [len(inner(g) & inner(f)), len(inner(f)), len(inner(g))]
    scores = measure.segmentation_scores(Corpus.from_sentences(gold), Corpus.from_sentences(found), draws=10)
    words, gold_words = ({word for line in side for word in line} for side in (found, gold))
    common = len(words & gold_words)
    assert scores["lexicon_precision"] == pytest.approx(common / len(words) if words else np.nan, nan_ok=True)
    assert scores["lexicon_recall"] == pytest.approx(common / len(gold_words) if words else np.nan, nan_ok=True)
    assert scores["characters"] == sum(map(len, lines))


def test_the_gold_segmentation_scores_one_and_its_mean_length_is_that_of_the_words():
    gold = Corpus.from_sentences([["über", "den"], [], ["a"]])
    scores = measure.segmentation_scores(gold, Corpus.from_sentences(list(gold)))
    for name in ("precision", "recall", "f1", "boundary_f1", "lexicon_f1"):
        assert scores[name] == 1.0
    assert scores["word_length"] == scores["gold_word_length"] == pytest.approx(8 / 3)
    assert json.loads(json.dumps(scores.to_json()))["sentences"] == 3


def test_every_figure_has_its_name_and_value():
    gold, found = ([["das", "Öl", "ist"], ["da"]], [["dasÖl", "ist"], ["d", "a"]])
    result = measure.segmentation_scores(Corpus.from_sentences(gold), Corpus.from_sentences(found), draws=3)
    expected = {
        "precision": 1 / 4, "recall": 1 / 4, "f1": 1 / 4,
        "boundary_precision": 1 / 2, "boundary_recall": 1 / 2, "boundary_f1": 1 / 2,
        "lexicon_precision": 1 / 4, "lexicon_recall": 1 / 4, "lexicon_f1": 1 / 4,
        "word_length": 10 / 4, "gold_word_length": 10 / 4, "words": 4, "gold_words": 4, "lexicon": 4,
        "gold_lexicon": 4, "characters": 10, "sentences": 2,
    }  # fmt: skip
    edges = {name + end for name in list(expected)[:6] for end in ("_low", "_high")}
    assert {name: result[name] for name in expected} == pytest.approx(expected)
    assert set(result.figures) == set(expected) | edges
    assert result.interval is not None and result.interval.high == result["f1_high"]


def test_every_character_a_word_has_full_boundary_recall_and_the_whole_line_none():
    lines = ["thedog", "acat"]
    gold = Corpus.from_sentences([["the", "dog"], ["a", "cat"]])
    characters = measure.segmentation_scores(gold, Corpus.from_sentences([list(line) for line in lines]))
    assert characters["boundary_recall"] == 1.0
    assert characters["boundary_precision"] == 2 / 8
    assert characters["recall"] == 1 / 4
    whole = measure.segmentation_scores(gold, Corpus.from_sentences([[line] for line in lines]))
    assert (whole["boundary_recall"], whole["f1"]) == (0.0, 0.0) and np.isnan(whole["boundary_precision"])


def test_words_are_compared_as_strings_whatever_their_numbers_and_reserved_symbols_are_ordinary_text():
    gold, found = Corpus.from_sentences([["b", "a"], ["c"]]), Corpus.from_sentences([["b", "a"], ["c"]])
    found = found.recode(Corpus.from_sentences([["c", "x", "a", "b"]]).vocab)
    assert measure.segmentation_scores(gold, found)["lexicon_f1"] == 1.0
    unknown = Corpus.from_sentences([["<unk>"]], gold.vocab)  # what the reader makes of a literal <unk>
    assert unknown.tokens.tolist() == [0]
    scores = measure.segmentation_scores(unknown, Corpus.from_sentences([["<", "unk>"]]))
    assert (scores["characters"], scores["lexicon_f1"], scores["f1"]) == (5, 0.0, 0.0)
    assert measure.segmentation_scores(unknown, unknown)["lexicon_f1"] == 1.0


def test_words_of_the_vocabulary_that_do_not_occur_are_not_in_the_lexicon():
    vocab = Corpus.from_sentences([["ab", "a", "b"]]).vocab
    gold, found = Corpus.from_sentences([["ab"]], vocab), Corpus.from_sentences([["a", "b"]])
    for one, other, counts in ((gold, found, (2, 1)), (found, gold, (1, 2))):
        scores = measure.segmentation_scores(one, other)
        assert (scores["lexicon"], scores["gold_lexicon"]) == counts and scores["lexicon_f1"] == 0.0


def test_all_reserved_symbols_are_spelled_as_they_are_written():
    vocab = Corpus.from_sentences([["x"]]).vocab
    symbols = Corpus(np.arange(4, dtype=np.int32), np.array([0, 4]), vocab)
    scores = measure.segmentation_scores(symbols, Corpus.from_sentences([["<unk><", "s>", "</s", ">x"]]))
    assert (scores["characters"], scores["boundary_recall"], scores["words"]) == (13, 1 / 3, 4)


@pytest.mark.parametrize(
    ("found", "sentence", "reason"),
    [
        ([["ab"], ["cx"], ["d"]], 1, "other characters"),
        ([["ab"], ["cd"], ["x"]], 2, "other characters"),
        ([["ab"], ["c"], ["d"]], 1, "not as many characters"),
        ([["abc"], ["c"], ["d"]], 0, "not as many characters"),
        ([["xb"], ["c"], ["d"]], 0, "other characters"),
        ([["ab"], ["c", "d"]], 2, "3 sentences, but 2"),
        ([["ab"], ["cd"], ["d"], []], 3, "3 sentences, but 4"),
    ],
)
def test_other_text_is_refused_with_the_number_of_its_first_sentence(found, sentence, reason):
    gold = Corpus.from_sentences([["a", "b"], ["cd"], ["d"]])
    with pytest.raises(OtherText, match=reason) as error:
        measure.segmentation_scores(gold, Corpus.from_sentences(found))
    assert error.value.sentence == sentence and str(error.value).startswith(f"sentence {sentence + 1}: ")


def test_a_difference_behind_the_first_piece_of_the_text_is_found(monkeypatch):
    from corpuscle.measure import segmentation

    monkeypatch.setattr(segmentation, "_CHUNK", 7)
    lines = [["ab", "c", "defgh"] for _ in range(20)]
    gold = Corpus.from_sentences(lines)
    assert measure.segmentation_scores(gold, Corpus.from_sentences([["abcd", "efgh"]] * 20), draws=5)["words"] == 40
    with pytest.raises(OtherText) as error:
        measure.segmentation_scores(gold, Corpus.from_sentences([*lines[:17], ["abcdefgx"], *lines[18:]]))
    assert error.value.sentence == 17


def test_intervals_are_those_of_f1_over_sentences_and_a_better_system_is_told_from_a_worse():
    stream = Random(3, "test comparison")
    lines = ["".join("abcde"[stream.below(5)] for _ in range(12)) for _ in range(300)]
    gold = [cut(line, stream) for line in lines]
    better = [words if stream.uniform() < 0.6 else cut("".join(words), stream) for words in gold]
    worse = [cut(line, stream) for line in lines]
    corpora = [Corpus.from_sentences(each) for each in (gold, better, worse)]
    scores = measure.segmentation_scores(*corpora[:2])
    assert scores["f1_low"] < scores["f1"] < scores["f1_high"]
    assert scores["boundary_f1_low"] < scores["boundary_f1"] < scores["boundary_f1_high"]
    comparison = measure.compare_segmentations(*corpora)
    assert comparison.difference == scores["f1"] - measure.segmentation_scores(corpora[0], corpora[2])["f1"]
    assert comparison.low > 0.0 and comparison.p_value < 0.01


def test_no_sentence_is_an_error_and_empty_sentences_are_not():
    with pytest.raises(ValueError, match="no sentence"):
        measure.segmentation_scores(Corpus.from_sentences([]), Corpus.from_sentences([]))
    scores = measure.segmentation_scores(Corpus.from_sentences([[]]), Corpus.from_sentences([[]]))
    assert np.isnan([scores["f1"], scores["lexicon_f1"]]).all() and scores.to_json()["word_length"] is None
