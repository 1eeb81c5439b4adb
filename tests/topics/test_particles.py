"""Reading documents from left to right, against the exact probability by a dynamic programme over counts."""

from itertools import product

import numpy as np
import pytest

from corpuscle.errors import SettingError
from corpuscle.topics.kernels.particles import Likelihoods, Reader, marks


def example(seed=1, n=60, types=12, switching=False):
    """What a model with two fixed topics says about a random document, mostly of one of them."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(types, 0.3), 3)
    switch = random.uniform(0.2, 0.9, n) if switching else np.ones(n)
    mixture = (1 - switch)[:, None] * phi[2] + switch[:, None] * (0.8 * phi[0] + 0.2 * phi[1])
    words = [random.choice(types, p=row) for row in mixture]
    return Likelihoods(np.ascontiguousarray(phi[:2, words].T), phi[2, words], switch)


def exact(words, alpha):
    """The log probability of a document with two topics: the sum over all ways to count topical words."""
    states = {(0, 0): 1.0}
    for (first, second), common, switch in zip(words.topics, words.common, words.switch, strict=True):
        following = {}
        for (a, b), weight in states.items():
            total = a + b + sum(alpha)
            for key, factor in (
                ((a, b), (1 - switch) * common),
                ((a + 1, b), switch * (a + alpha[0]) / total * first),
                ((a, b + 1), switch * (b + alpha[1]) / total * second),
            ):
                following[key] = following.get(key, 0.0) + weight * factor
        states = following
    return np.log(sum(states.values()))


@pytest.mark.parametrize("switching", [False, True])
@pytest.mark.parametrize("settings", [{}, {"rejuvenate": True}, {"mode": "wallach"}])
def test_the_mean_of_many_readings_is_the_exact_probability(switching, settings):
    words, alpha = example(switching=switching), np.array([0.3, 0.6])
    runs = [Reader(alpha, document=run, **settings).read(words).sum() for run in range(600)]
    assert np.logaddexp.reduce(runs) - np.log(600) == pytest.approx(exact(words, alpha), abs=0.1)


@pytest.mark.parametrize("settings", [{}, {"rejuvenate": True, "every": 2}, {"mode": "wallach"}])
def test_many_topics_have_their_enumerated_probabilities(settings):
    random = np.random.default_rng(3)
    alpha = random.uniform(0.1, 1.0, 9)
    words = Likelihoods(random.dirichlet(np.full(9, 0.5), 4), random.uniform(size=4), random.uniform(0.5, 1, 4))
    total, shares = 0.0, np.zeros(9)
    for topics in product(range(-1, 9), repeat=4):
        weight, counts = 1.0, alpha.copy()
        for i, k in enumerate(topics):
            if k < 0:
                weight *= (1 - words.switch[i]) * words.common[i]
            else:
                weight *= words.switch[i] * counts[k] / counts.sum() * words.topics[i, k]
                counts[k] += 1
        total += weight
        shares += weight * counts / counts.sum()
    readers = [Reader(alpha, particles=200, document=run, **settings) for run in range(20)]
    logs = [reader.read(words).sum() for reader in readers]
    assert np.exp(logs).mean() == pytest.approx(total, rel=0.02)
    np.testing.assert_allclose(np.mean([reader.mixture for reader in readers], axis=0), shares / total, atol=0.01)


def test_more_particles_vary_less():
    words, alpha = example(seed=2), np.array([0.3, 0.6])

    def spread(**settings):
        return np.std([Reader(alpha, document=run, **settings).read(words).sum() for run in range(100)])

    assert spread(particles=100) < 0.6 * spread(particles=10)


def test_the_first_word_and_single_topics_need_no_guessing():
    words, alpha = example(switching=True), np.array([0.3, 0.6])
    first = Reader(alpha).read(words)[0]
    expected = words.switch[0] * (words.topics[0] @ alpha) / alpha.sum() + (1 - words.switch[0]) * words.common[0]
    assert first == pytest.approx(np.log(expected), abs=1e-12)
    one = Likelihoods(words.topics[:, :1], words.common, words.switch)
    expected = words.switch * words.topics[:, 0] + (1 - words.switch) * words.common
    np.testing.assert_allclose(Reader(alpha[:1]).read(one), np.log(expected), rtol=1e-12)
    never = Likelihoods(words.topics, words.common, np.zeros(60))
    np.testing.assert_allclose(Reader(alpha).read(never), np.log(words.common), rtol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"rejuvenate": True, "every": 7}, {"mode": "wallach"}])
def test_word_by_word_is_all_at_once(settings):
    words, alpha = example(switching=True), np.array([0.3, 0.6])
    whole, by_word = Reader(alpha, **settings), Reader(alpha, **settings)
    at_once = whole.read(words)
    pieces = [by_word.read(Likelihoods(*(array[i : i + 1] for array in words))) for i in range(60)]
    np.testing.assert_array_equal(np.concatenate(pieces), at_once)
    np.testing.assert_array_equal(by_word.mixture, whole.mixture)


def test_the_mixture_predicts_the_next_word():
    words, alpha = example(switching=True), np.array([0.3, 0.6])
    reader = Reader(alpha)
    for i in range(60):
        topical = words.switch[i] * (words.topics[i] @ reader.mixture)
        expected = topical + (1 - words.switch[i]) * words.common[i]
        said = reader.read(Likelihoods(*(array[i : i + 1] for array in words)))[0]
        assert said == pytest.approx(np.log(expected), abs=1e-12)
    assert reader.mixture.sum() == pytest.approx(1, abs=1e-12)
    assert reader.mixture[0] > 0.5  # the document was drawn mostly from the first topic


def test_particles_keep_their_counts_and_their_topics_together():
    words, alpha = example(n=100, switching=True), np.array([0.3, 0.6])
    reader = Reader(alpha, rejuvenate=True)
    reader.read(words)
    belief = reader._belief
    for counts, total, topics in zip(belief.counts, belief.totals, belief.chosen, strict=True):
        np.testing.assert_allclose(counts, alpha + [(topics == k).sum() for k in range(2)])
        assert total == pytest.approx(counts.sum())


def test_marks_tell_topical_words_from_common_ones():
    words = Likelihoods(np.array([[0.5, 0.01], [0.01, 0.01]]), np.array([0.01, 0.5]), np.array([0.5, 0.5]))
    shares, topics = marks(words, np.array([0.9, 0.1]))
    assert shares[0] > 0.9 and shares[1] < 0.1 and topics[0] == 0
    assert marks(words._replace(switch=np.ones(2)), np.array([0.9, 0.1]))[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"particles": 0}, "particles is a number from 1 on"),
        ({"every": 0}, "every is a number from 1 on"),
        ({"mode": "best"}, "mode is one of weighted, wallach"),
        ({"mode": "wallach", "rejuvenate": True}, "rejuvenate means nothing"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        Reader(np.ones(2), **settings)
