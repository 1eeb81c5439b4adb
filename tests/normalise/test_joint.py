"""Whole messages: contexts as they are in plain lists, and the best reading by enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import state_of, step
from corpuscle.lm import NgramModel
from corpuscle.normalise import Normaliser
from corpuscle.normalise.kernels.context import (
    Candidates,
    Stream,
    best_candidates,
    contexts_of,
    decode_messages,
    score_candidates,
)
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import END, START

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


@pytest.fixture(scope="module")
def lm():
    random = Random(1, "tests.joint")
    sentences = [[random.choice("abcd") for _ in range(2 + random.below(5))] for _ in range(60)]
    return NgramModel(order=3, min_count=1).fit(Corpus.from_sentences(sentences))


def laid_out(places):
    """Candidates, each a list of word ids, place by place."""
    flat = [words for candidates in places for words in candidates]
    return Candidates(
        frozen(starts_of(map(len, places)), np.int64),
        frozen(np.array([word for words in flat for word in words], np.int32), np.int32),
        frozen(starts_of(map(len, flat)), np.int64),
    )


def log_probability(lm, words):
    state, total = state_of(lm.automaton_, np.array([START], np.int32)), 0.0
    for word in [*words, END]:
        state, score = step(lm.automaton_, state, word)
        total += score
    return total


READINGS = st.lists(
    st.one_of(st.integers(4, 7), st.lists(st.lists(st.integers(3, 7), max_size=2), min_size=1, max_size=3)),
    min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(message=READINGS, seed=st.integers(0, 99))
def test_the_best_reading_is_the_best_of_all(lm, message, seed):
    places = [slot for slot in message if isinstance(slot, list)]
    numbers = iter(range(len(places)))
    items = [START, *(slot if isinstance(slot, int) else -1 - next(numbers) for slot in message), END]
    stream = Stream(np.array(items, np.int32), np.array([0, len(items)]))
    candidates = laid_out(places)
    n = len(candidates.starts) - 1
    own, weight = Random(seed, "tests.own").uniforms(n) * 4, 0.7
    chosen = np.full(len(places), -1, np.int64)
    stream = Stream(*(frozen(array, array.dtype) for array in stream))
    decode_messages(lm.automaton_, stream, candidates, own, own, weight, (8, 500), chosen)

    def score(picked):
        filled, which = [], iter(picked)
        for slot in message:
            filled += [slot] if isinstance(slot, int) else slot[next(which)]
        begins = candidates.places.tolist()
        return sum(own[begins[p] + k] for p, k in enumerate(picked)) + weight * log_probability(lm, filled)

    readings = [score(picked) for picked in product(*(range(len(place)) for place in places))]
    mine = score([int(k) - int(candidates.places[p]) for p, k in enumerate(chosen)])
    assert mine == pytest.approx(max(readings), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(message=READINGS, reach=st.integers(0, 3))
def test_contexts_are_what_stands_on_both_sides(message, reach):
    places = [slot[0] for slot in message if isinstance(slot, list)]
    numbers = iter(range(len(places)))
    items = [START, *(slot if isinstance(slot, int) else -1 - next(numbers) for slot in message), END]
    words, starts = np.array([w for place in places for w in place], np.int32), starts_of(map(len, places))
    rows = np.empty((len(places), 2 * reach), np.int32)
    contexts_of(
        Stream(frozen(np.array(items, np.int32), np.int32), frozen(np.array([0, len(items)]), np.int64)),
        frozen(words, np.int32), frozen(np.column_stack([starts[:-1], starts[1:]]), np.int64), reach, rows,
    )  # fmt: skip
    at = 0
    for k, slot in enumerate(message):
        if isinstance(slot, list):
            before, behind = (
                [w for other in part for w in ([other] if isinstance(other, int) else other[0])]
                for part in (message[:k], message[k + 1 :])
            )
            before, behind = [START, *before][::-1][:reach], [*behind, END][:reach]
            assert rows[at].tolist() == ([*before, *[-1] * reach][:reach][::-1] + [*behind, *[-1] * reach][:reach])
            at += 1


def test_ties_go_to_the_context_then_to_the_frequency_then_to_the_first():
    best, sure = np.empty(3, np.int64), np.empty(3)
    scores, context = np.zeros(6), np.array([0.0, 1, 0, 0, 0, 0])
    best_candidates(np.array([0, 2, 4, 6]), scores, context, np.array([1.0, 0, 0, 1, 2, 2]), best, sure)
    assert best.tolist() == [1, 3, 4] and sure.tolist() == [0.5] * 3


def test_scores_in_context_are_the_trigrams_that_involve_a_candidate(lm):
    contexts = np.array([[4, 5, 6, 7]], np.int32)
    scores = np.empty(2)
    score_candidates(lm.automaton_, frozen(contexts, np.int32), laid_out([[[4], [5, 6]]]), scores)
    for words, score in zip(([4], [5, 6]), scores, strict=True):
        state, total = state_of(lm.automaton_, np.array([4, 5], np.int32)), 0.0
        for word in [*words, 6, 7]:
            state, one = step(lm.automaton_, state, word)
            total += one
        assert score == pytest.approx(total, abs=1e-12)


def test_neighbours_that_are_both_wrong_help_each_other_when_decoded_together():
    clean = [["see", "you", "later"]] * 30 + [["sea", "water"]] * 40 + [["yon", "lake"]] * 40 + [["see", "it"]]
    results = {}
    for decode in ("token", "joint"):
        model = Normaliser(min_count=1, decode=decode, phonetic=False).fit(clean=clean)
        results[decode] = model.normalise([["seu", "yom", "latr"]])
    assert results["joint"] == [["see", "you", "later"]] != results["token"]
