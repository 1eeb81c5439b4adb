"""Overlap between what a model has seen and what it is evaluated on."""

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes, overlap, seen

TRAINING = Corpus.from_sentences([["a", "b"], ["b", "a"], [], ["a", "b"], ["c"]])


def test_hashes_are_of_different_sentences_and_sorted():
    hashes = item_hashes(TRAINING)
    assert hashes.dtype == np.uint64 and len(hashes) == 3 and (np.diff(hashes) > 0).all()


def test_overlap_does_not_depend_on_the_numbering_of_words():
    other = Corpus.from_sentences([["c"], ["x"], ["b", "a"], [], ["b"], ["ab"]])
    assert seen(item_hashes(TRAINING), other).tolist() == [True, False, True, False, False, False]
    assert overlap(item_hashes(TRAINING), other) == 2 / 5


def test_word_boundaries_and_order_matter():
    hashes = item_hashes(Corpus.from_sentences([["ab", "c"]]))
    for sentence in ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", "c"], ["ab"]:
        assert overlap(hashes, Corpus.from_sentences([sentence])) == 0.0


def test_an_empty_corpus_overlaps_with_nothing():
    empty = Corpus.from_sentences([[], []])
    assert len(item_hashes(empty)) == 0 and np.isnan(overlap(item_hashes(TRAINING), empty))


def test_a_slice_hashes_like_the_whole():
    assert overlap(item_hashes(TRAINING), TRAINING[1:]) == 1.0


def test_hashes_are_the_same_in_every_version():
    assert item_hashes(Corpus.from_sentences([["a", "b"]])).tolist() == [10653170222610540596]
