"""Claims about holding out a tenth."""

from __future__ import annotations

import re

import numpy as np

from corpuscle.packs import learn
from corpuscle.packs.systems.language_model import LANGUAGE_MODEL
from corpuscle.text import Corpus
from corpuscle.text.heldout import split, tenth
from tests.packs.kits import sentences


def corpus_of(documents: int, each: int) -> Corpus:
    lines = [[f"d{d}", f"w{i}", "x"] for d in range(documents) for i in range(each)]
    return Corpus.from_sentences(lines).with_documents(np.arange(documents + 1) * each)


def test_whole_documents_are_held_out_when_there_are_enough():
    corpus = corpus_of(30, 8)
    train, held_out, unit = split(corpus, seed=1)
    assert unit == "documents" and len(train) + len(held_out) == len(corpus)
    documents = {words[0] for words in held_out}
    assert len(documents) == 3 and not documents & {words[0] for words in train}


def test_few_documents_are_split_by_sentence():
    corpus = corpus_of(3, 40)
    train, held_out, unit = split(corpus, seed=1)
    assert unit == "sentences" and len(held_out) == 12 and len(train) == 108


def test_a_sentence_that_is_nearly_all_of_the_text_is_learned_from():
    corpus = Corpus.from_sentences([["a"] * 10_000, *[["b", "c"]] * 30])
    for seed in range(20):
        train, held_out, _ = split(corpus, seed)
        assert held_out.lengths.max() == 2 and len(held_out) == 15 and len(train) == 16


def test_documents_that_are_hardly_anything_are_not_what_is_held_out():
    corpus = Corpus.from_sentences([["a", "b"]] * 1009).with_documents(np.append(0, np.arange(1000, 1010)))
    _, held_out, unit = split(corpus, seed=1)
    assert unit == "sentences" and len(held_out) == 101


def test_the_report_says_how_much_was_held_out_where_it_is_no_tenth(tmp_path):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    text = "\n".join([*sentences(30), " ".join(sentences(1000, seed=2))])
    (tmp_path / "kit" / "text" / "a.txt").write_text(text + "\n", encoding="utf-8")
    report = learn(tmp_path / "kit", tmp_path / "pack", workers=1, steps=[LANGUAGE_MODEL]).report
    assert re.search(r"trained without [12]\.\d % of the text \(15 sentences", report.read_text(encoding="utf-8"))


def test_the_training_part_does_not_know_the_words_of_the_rest():
    train, held_out, _ = split(corpus_of(30, 8), seed=1)
    assert {word for words in train for word in words} == set(train.vocab.strings[3:])
    assert train.vocab.counts[3:].min() > 0 and train.vocab.counts.sum() == train.n_tokens
    unknown = held_out.recode(train.vocab).tokens == 0
    assert unknown.sum() == len(held_out)  # the word that only this document has


def test_the_split_depends_on_the_seed_only():
    corpus = corpus_of(30, 8)
    first, again, other = (list(split(corpus, seed).held_out) for seed in (1, 1, 2))
    assert first == again != other


def test_a_text_with_counts_of_its_own_is_the_same_text():
    corpus = Corpus.from_sentences([["a", "b"], ["c"]])[1:]
    assert list(corpus.counted()) == [["c"]] and len(corpus.counted().vocab) == 4


def test_a_tenth_of_anything_is_at_least_one_item_and_depends_on_seed_and_purpose():
    items = [f"item {i}" for i in range(40)]
    some = tenth(items, 1, "a")
    assert len(some) == 4 and set(some) < set(items) and tenth(["x"], 1, "a") == ["x"]
    assert some == tenth(items, 1, "a") != tenth(items, 2, "a") and some != tenth(items, 1, "b")
