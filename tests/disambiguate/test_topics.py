"""Words of documents: numbers and products against dense arithmetic, recovery of the word that decides."""

import numpy as np
import pytest

import corpuscle
from corpuscle.disambiguate import Ranker, weight_fitting
from corpuscle.disambiguate.topics import SparseProduct, Topics
from corpuscle.disambiguate.weight_fitting import Pool
from corpuscle.errors import InputError, SettingError
from corpuscle.hashing import hashes_of
from tests.disambiguate.test_ranker import ranks, with_documents
from tests.hostile import survives_hostile_edits


@pytest.fixture
def tables():
    """Topics of 200 tokens; rows of another text with some new words and lemmas; both as dense arrays."""
    dice = np.random.default_rng(3)
    words, lemmas, documents = dice.integers(1, 30, 200), dice.integers(1, 12, 200), np.sort(dice.integers(0, 6, 200))
    times = np.array([np.bincount(words[documents == d], minlength=40) for d in range(6)])
    counts = np.array([times[documents[lemmas == lemma]].sum(axis=0) for lemma in range(15)])
    topics = Topics.learn(words.astype(np.uint64), lemmas.astype(np.uint64), documents)
    here, at = dice.integers(1, 36, 80), np.sort(dice.integers(0, 3, 80))
    tokens, candidates = np.repeat(np.arange(80), 2), dice.integers(1, 15, 160)
    common = topics.common(here.astype(np.uint64), at, tokens, candidates.astype(np.uint64))
    known = np.isin(here, words)
    texts = np.array([np.bincount(here[(at == d) & known], minlength=40) for d in range(3)])[at[tokens]]
    texts[known[tokens], here[tokens[known[tokens]]]] -= 1  # the token itself is left out
    return topics, common, counts[candidates].reshape(160, 40), texts, len(np.unique(words))


def test_numbers_of_documents_equal_dense_arithmetic(tables):
    _, common, counts, texts, n = tables
    seen, size = counts.any(axis=1), np.maximum(texts.sum(axis=1), 1)
    logs = np.log((counts + 0.1) / (counts.sum(axis=1, keepdims=True) + 0.1 * n))
    fit = np.where(seen, (texts * logs).sum(axis=1) / size, -np.log(n))
    lengths = np.linalg.norm(counts, axis=1) * np.linalg.norm(texts, axis=1)
    cosine = (texts * counts).sum(axis=1) / np.maximum(lengths, 1e-12)
    assert common.numbers(160) == pytest.approx(np.column_stack([fit, cosine, seen]), abs=1e-5)


def test_a_known_lemma_in_a_text_without_a_known_word_has_nothing_in_common_with_it():
    topics = Topics.learn(*np.array([[1, 2, 3], [5, 5, 6]], np.uint64), np.array([0, 0, 1]))
    lemmas = np.array([5, 6, 9], np.uint64)
    common = topics.common(np.array([7, 8], np.uint64), np.zeros(2, np.int64), np.array([0, 0, 1]), lemmas)
    numbers = common.numbers(3)
    assert numbers[:, 2].tolist() == [1, 1, 0] and not numbers[:, 1].any()
    assert common.products(3, np.arange(3), 3, True).times(np.ones(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("logs", [False, True])
def test_products_are_those_of_counts_and_times_word_by_word(tables, logs):
    topics, common, counts, texts, _ = tables
    columns = topics.words.astype(np.int64)
    found = common.products(160, columns, 40, logs)
    expected = (np.log1p(counts) if logs else counts) * texts
    weights, values = np.random.default_rng(1).normal(size=(2, 160))
    assert found.times(weights[:40]) == pytest.approx(expected @ weights[:40])
    assert found.turned(values) == pytest.approx(values @ expected)
    twice = SparseProduct.joined([found, found.scaled(np.full(40, 2.0))])
    assert twice.times(weights[:40]) == pytest.approx(np.concatenate([expected, 2 * expected]) @ weights[:40])


def test_the_gradient_with_words_is_that_of_finite_differences(tables):
    topics, common, *_ = tables
    words = common.products(160, np.arange(len(topics.words)), len(topics.words), True)
    dice, right = np.random.default_rng(2), np.zeros(160, bool)
    right[::2] = True
    pool, at = Pool(dice.normal(size=(160, 2)), np.arange(0, 161, 2), right), dice.normal(size=2 + len(topics.words))
    _, gradient = weight_fitting.loss(pool, at / 10, 0.5, words)
    for i in (0, 1, 2, 9, len(at) - 1):
        step = 1e-5 * np.eye(len(at))[i]
        values = [weight_fitting.loss(pool, at / 10 + sign * step, 0.5, words)[0] for sign in (1, -1)]
        assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-4)


def cued(n, seed):
    """Documents of common words and names of their own; the lemma of x is told by which of two rare cues is there."""
    dice = np.random.default_rng(seed)
    words, lemmas = [], []
    for document in range(n):
        cue = int(dice.integers(0, 2))
        row = [f"c{w}" for w in dice.integers(0, 30, 40)] + [f"n{seed}-{document}-{k}" for k in range(20)]
        row += [f"cue{cue}", "x", "x"]
        words += [[word] for word in row]  # sentences of one word, so that neighbours say nothing
        lemmas += [[f"x/{cue}" if word == "x" else word] for word in row]
    return with_documents(words, size=63, lemmas=lemmas)


def test_a_lemma_that_one_word_of_the_document_tells_is_found_by_word(tmp_path):
    train, test = cued(150, 1), cued(60, 2)
    word = [sentence[0] == "x" for sentence in test.corpus]
    model = Ranker(by_word=True, c2=1.0).fit(train)
    alone = Ranker(documents=False).fit(train)
    right = [np.mean(ranks(each, test)[word] == 1) for each in (model, alone)]
    assert right[0] > 0.95 > 0.7 > right[1]
    cues = np.isin(model.topics_.words, hashes_of(["cue0", "cue1"]))
    assert model.word_weights_[cues].min() > 2 * abs(model.word_weights_[~cues]).max()
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    assert again.rank(test).probabilities.tolist() == model.rank(test).probabilities.tolist()
    assert survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).rank(test[:63]), edits=40) > 5


def test_words_of_documents_need_documents_and_the_conditional_logit():
    plain = with_documents([["a", "b"]] * 20, size=20, lemmas=[["a", "b"], ["b", "b"]] * 10)
    with pytest.raises(InputError, match="no documents with lemmas"):
        Ranker(by_word=True).fit(plain)
    for settings in ({"stage2": "ridge"}, {"method": "agreement"}):
        with pytest.raises(SettingError, match="stage2 softmax"):
            Ranker(by_word=True, **settings).fit(plain)
