"""Claims about words of several senses."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from corpuscle.random import Random
from corpuscle.text import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.words import HmmClasses, ambiguities, ambiguous_words


def corpus(n: int = 1500) -> Corpus:
    """Nouns after articles, verbs after pronouns; ``bear`` is both."""
    random = Random(1, "senses")
    nouns, verbs = ["dog", "cat", "tree", "bear"], ["run", "sing", "bear", "fall"]
    made = []
    for _ in range(n):
        article, pronoun = random.choice(["the", "a"]), random.choice(["we", "they"])
        made.append([article, random.choice(nouns), random.choice(verbs)] if random.below(2) else
                    [pronoun, random.choice(verbs), article, random.choice(nouns)])  # fmt: skip
    return Corpus.from_sentences(made)


@pytest.fixture(scope="module")
def model() -> HmmClasses:
    return HmmClasses(classes=4, init="random", passes=100, seed=3).fit(corpus())


def test_ambiguity_is_the_formula(model):
    found = ambiguities(model)
    emission, shares = model.emission_.astype(float), model.shares_
    for id in range(FIRST, len(model.vocab_)):
        alike = sum(
            shares[id, c] * shares[id, d] * np.sqrt(emission[:, c] * emission[:, d]).sum()
            for c in range(4)
            for d in range(4)
        )
        assert found[id] == pytest.approx(1 - alike, abs=1e-6)


def test_the_word_of_two_parts_of_speech_comes_first_with_a_sentence_of_each(model):
    first, *rest = ambiguous_words(model, corpus(), k=3, least=50)
    assert first.word == "bear" and len(first.classes) == 2
    assert all(first.ambiguity > other.ambiguity for other in rest)
    nouns, verbs = sorted(first.classes, key=lambda sense: "dog" not in sense.words)
    assert {"dog", "cat", "tree"} <= set(nouns.words) and {"run", "sing", "fall"} <= set(verbs.words)
    assert nouns.sentence[nouns.place] == verbs.sentence[verbs.place] == "bear"
    assert nouns.sentence[nouns.place - 1] in ("the", "a") and verbs.sentence[verbs.place - 1] not in ("the", "a")


def test_words_of_one_class_and_rare_words_are_not_listed(model):
    listed = {each.word for each in ambiguous_words(model, corpus(), k=100, least=1, share=0.1)}
    assert not listed & {"the", "we"} and ambiguous_words(model, corpus(), least=10**6) == []


def test_a_clear_sentence_is_looked_for_among_the_first_ones_only(model, monkeypatch):
    monkeypatch.setattr(sys.modules["corpuscle.words.senses"], "SEARCHED", 40)  # the package has a function ``senses``
    text = corpus()
    for sense in ambiguous_words(model, text, k=1, least=50)[0].classes:
        tokens, found = 0, False
        for i in range(len(text)):
            tokens += text.words(i).count("bear")
            found |= text.words(i) == sense.sentence
            if tokens >= 40:
                break
        assert found
