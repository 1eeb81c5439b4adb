"""Latent Dirichlet allocation against an enumerated posterior, and on documents whose topics are known."""

from collections import Counter
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.special import gammaln

from corpuscle.learning import sweep as one_sweep
from corpuscle.topics.kernels.lda import _BLOCK, Lda


def run(lda, sweeps, first=0):
    for sweep in range(first, first + sweeps):
        one_sweep(lda, sweep)
    return lda


def test_the_chain_has_the_enumerated_posterior():
    lda = Lda(np.array([0, 1, 0, 2, 2, 1], np.int32), np.array([0, 3, 6]), 3, 2, prior=0.5)
    lda.counts.alpha[:2] = 0.3, 0.6
    weights = {}
    for topics in product(range(2), repeat=6):
        lda.restore({"topics": np.array(topics, np.int32), "alpha": lda.alpha.copy()}, 1, 0)
        weights[topics] = exp(lda.log_joint())
    total = sum(weights.values())
    seen = Counter()
    for sweep in range(1, 20_001):
        lda.step(sweep, 0)
        seen[tuple(lda.counts.topics.tolist())] += 1
    distance = sum(abs(seen[topics] / 20_000 - weight / total) for topics, weight in weights.items()) / 2
    assert distance < 0.03


def posterior(tokens, documents, alpha, types, prior):
    """P(topics | words), float64 (K, K, ...), from the formula: every assignment of topics to the words."""
    z = np.indices([len(alpha)] * len(tokens)).reshape(len(tokens), -1)
    one = z[:, :, None] == np.arange(len(alpha))  # (words, assignments, K)
    logs = -gammaln(one.sum(0) + types * prior).sum(1)
    for document in set(documents):
        logs += gammaln(one[np.array(documents) == document].sum(0) + alpha).sum(1)
    for word in set(tokens):
        logs += gammaln(one[np.array(tokens) == word].sum(0) + prior).sum(1)
    weights = np.exp(logs - logs.max())
    return (weights / weights.sum()).reshape([len(alpha)] * len(tokens))


@pytest.mark.parametrize("topics", [_BLOCK - 1, _BLOCK, _BLOCK + 1, 2 * _BLOCK + 1, 4 * _BLOCK])
def test_with_any_number_of_blocks_the_chain_has_the_enumerated_posterior(topics):
    """Blocks are what is searched for a topic; all topics have priors of their own, so none stands for another."""
    tokens, documents, alpha = [0, 1, 0], [0, 0, 1], np.linspace(0.2, 1.0, topics)[np.arange(topics) * 5 % topics]
    lda = Lda(np.array(tokens, np.int32), np.array([0, 2, 3]), 2, topics, prior=0.5)
    lda.counts.alpha[:topics] = alpha
    exact = posterior(tokens, documents, alpha, 2, 0.5)
    lda.step(0, 0)
    seen = np.empty((15_000, 3), np.int64)
    for sweep in range(1, len(seen) + 1):
        lda.step(sweep, 0)
        seen[sweep - 1] = lda.counts.topics
    for i in range(3):
        marginal = exact.sum(tuple({0, 1, 2} - {i}))
        shares = np.bincount(seen[:, i], minlength=topics) / len(seen)
        assert abs(shares - marginal).sum() / 2 < 0.03
    for i, j in ((0, 1), (0, 2), (1, 2)):
        same = np.trace(exact.sum(({0, 1, 2} - {i, j}).pop()))
        assert (seen[:, i] == seen[:, j]).mean() == pytest.approx(same, abs=0.015)


def sampled(seed=1, documents=60, length=80, types=50, topics=4):
    """Documents of known topics: tokens, bounds, the topic of every word."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(types, 0.05), topics)
    theta = random.dirichlet(np.full(topics, 0.1), documents)
    z = np.array([random.choice(topics, length, p=row) for row in theta])
    tokens = np.array([random.choice(types, p=phi[k]) for k in z.ravel()], np.int32)
    return tokens, np.arange(documents + 1) * length, z.ravel()


def test_the_topics_of_generated_documents_are_found():
    tokens, bounds, truth = sampled()
    lda = run(Lda(tokens, bounds, 50, 4), 60)
    agreement = np.zeros((4, 4), int)
    np.add.at(agreement, (truth, lda.counts.topics), 1)
    assert agreement.max(1).sum() / len(truth) > 0.85
    assert len(set(agreement.argmax(1).tolist())) == 4


@pytest.mark.parametrize("topics", [1, 3, 8, 20])
def test_counts_are_those_of_the_topics(topics):
    tokens, bounds, _ = sampled(documents=20)
    lda = run(Lda(tokens, bounds, 50, topics), 5)
    assert lda.counts.topics.max() < topics
    counts = lda.counts
    kept = [array.copy() for array in (counts.documents, counts.types, counts.totals)]
    assert kept[0].sum() == kept[1].sum() == kept[2].sum() == len(tokens)
    lda.restore({name: array.copy() for name, array in lda.state().items()}, 5, 0)
    for before, after in zip(kept, (counts.documents, counts.types, counts.totals), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(("sweep", "step"), [(0, 0), (0, 2), (3, 1), (4, 0)])
def test_a_chain_goes_on_from_its_topics_exactly(monkeypatch, sweep, step):
    monkeypatch.setattr("corpuscle.topics.kernels.lda._SLICE", 8 * 400)
    tokens, bounds, _ = sampled(documents=20)
    whole, stopped = (Lda(tokens, bounds, 50, 3, seed=2) for _ in range(2))
    assert whole.steps(0) == 4
    run(whole, 6)
    run(stopped, sweep)
    for number in range(step):
        stopped.step(sweep, number)
    again = Lda(tokens, bounds, 50, 3, seed=2)
    again.restore(stopped.state(), sweep, step)
    for number in range(step, again.steps(sweep)):
        again.step(sweep, number)
    again.finish(sweep)
    run(again, 5 - sweep, sweep + 1)
    np.testing.assert_array_equal(again.counts.topics, whole.counts.topics)
    np.testing.assert_array_equal(again.alpha, whole.alpha)


def test_the_probability_of_words_and_topics_rises():
    tokens, bounds, _ = sampled()
    lda = Lda(tokens, bounds, 50, 4)
    history = []
    for sweep in range(30):
        history.append(one_sweep(lda, sweep))
    assert np.mean(history[-5:]) > history[0]
