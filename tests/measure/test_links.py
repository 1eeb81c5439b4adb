"""Claims about corpuscle.measure.links: the alignment error rate, and the links of rare words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


link = st.tuples(st.integers(0, 2), st.integers(0, 2))
pair = st.tuples(st.dictionaries(link, st.booleans()), st.sets(link))


@settings(max_examples=60, deadline=None)
@given(st.lists(pair, min_size=1, max_size=4))
def test_figures_are_those_of_sets_of_links(pairs):
    gold = Alignments.from_pairs([list(marks) for marks, _ in pairs], [list(marks.values()) for marks, _ in pairs])
    result = alignment_error(gold, Alignments.from_pairs([list(found) for _, found in pairs]), draws=2)
    a = {(i, *link) for i, (_, found) in enumerate(pairs) for link in found}
    p = {(i, *link) for i, (marks, _) in enumerate(pairs) for link in marks}
    s = {(i, *link) for i, (marks, _) in enumerate(pairs) for link, sure in marks.items() if sure}
    precision, recall = len(a & p) / len(a) if a else np.nan, len(a & s) / len(s) if s else np.nan
    both = np.nansum([precision, recall])
    assert (result["precision"], result["recall"]) == pytest.approx((precision, recall), nan_ok=True)
    f1 = 2 * precision * recall / both if both and a and s else 0.0 if a or s else np.nan
    assert result["f1"] == pytest.approx(f1, nan_ok=True)
    aer = 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else np.nan
    assert result["aer"] == pytest.approx(aer, nan_ok=True)
    counts = [result[name] for name in ("links", "sure", "possible", "sentence_pairs")]
    assert counts == [len(a), len(s), len(p), len(pairs)]
    assert result.interval is not None and result.interval.low == pytest.approx(result["aer_low"], nan_ok=True)


def test_links_of_other_texts_are_an_error():
    with pytest.raises(ValueError, match="gold links of 1 sentence pairs, but 2 were aligned"):
        alignment_error(Alignments.from_pairs([[]]), Alignments.from_pairs([[], []]))


def test_only_words_seen_exactly_once_count_as_singletons():
    training = Corpus.from_sentences([["twice", "once", "twice", "also"], ["thrice"] * 3])
    text = Corpus.from_sentences([["once", "twice", "also"], ["thrice", "new", "once"]])
    found = Alignments.from_pairs([[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)], [(0, 0), (1, 0)]])
    assert singleton_fertility(found, text, training) == 1.0  # 3 links of "once", "also", and "once" again
    assert singleton_fertility(found, text, Corpus.from_sentences([["twice", "x", "x"]])) == 2.0
    vocab = Corpus.from_sentences([["once", "twice"], ["also"], ["more"]]).vocab
    rare = Corpus.from_sentences([["once"]], vocab)  # most of its vocabulary does not occur
    assert singleton_fertility(found, text, rare) == 1.5
    with np.errstate(all="raise"):
        assert np.isnan(singleton_fertility(found, text, Corpus.from_sentences([["thrice"] * 2])))
