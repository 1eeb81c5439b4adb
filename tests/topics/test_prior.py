"""The sampled prior of topics against its exact posterior."""

from math import exp, lgamma

import numpy as np
import pytest

from corpuscle.topics.kernels.lda import sample_prior


def chain(counts, draws, seed=1):
    """Samples of the prior of these counts, (draws, topics), after a short burn-in."""
    counts = np.array(counts, np.int32)
    alpha, kept = np.ones(counts.shape[1]), []
    for iteration in range(draws + 100):
        alpha = sample_prior(counts, alpha, seed, iteration)
        kept.append(alpha)
    return np.array(kept[100:])


def log_posterior(counts, beta, share):
    """Log of the prior of (beta, share) times the Dirichlet-multinomial probability of two topics' counts."""
    total = -beta
    for row in counts:
        total += lgamma(beta) - lgamma(beta + sum(row))
        for n, part in zip(row, (share, 1 - share), strict=True):
            total += lgamma(beta * part + n) - lgamma(beta * part)
    return total


def test_the_prior_has_its_posterior_means():
    counts = [[5, 1], [0, 4], [7, 2], [3, 3]]
    samples = chain(counts, 6000)
    beta, share = samples.sum(1), samples[:, 0] / samples.sum(1)
    assert beta.mean() == pytest.approx(1.64, abs=0.08)
    assert share.mean() == pytest.approx(0.496, abs=0.02)
    grid = [(b, s) for b in np.arange(0.05, 12, 0.1) for s in np.arange(0.01, 1, 0.02)]
    weights = np.array([exp(log_posterior(counts, b, s)) for b, s in grid])
    expected = (np.array(grid) * weights[:, None]).sum(0) / weights.sum()
    assert (beta.mean(), share.mean()) == pytest.approx(expected, abs=0.08)


def test_empty_documents_change_nothing_and_no_documents_give_the_prior_itself():
    counts = np.array([[5, 1, 0], [0, 4, 2]], np.int32)
    with_empty = np.insert(counts, 1, 0, axis=0)
    alpha = np.array([0.3, 0.5, 0.1])
    np.testing.assert_array_equal(sample_prior(counts, alpha, 3, 1), sample_prior(with_empty, alpha, 3, 1))
    samples = chain(np.zeros((0, 2)), 4000)
    assert samples.sum(1).mean() == pytest.approx(1.0, abs=0.05)  # Gamma(1, 1)
    assert (samples[:, 0] / samples.sum(1)).mean() == pytest.approx(0.5, abs=0.02)


def test_documents_of_one_topic_each_leave_a_tiny_prior_above_zero():
    samples = chain(100 * np.eye(2)[np.arange(3000) % 2], 50)
    assert np.isfinite(samples).all() and (samples > 0).all()
    assert samples.sum(1).mean() < 0.01


def test_the_same_seed_gives_the_same_prior_and_the_old_one_stays():
    counts, alpha = np.array([[5, 1], [0, 4]], np.int32), np.array([0.3, 0.5])
    first, second = (sample_prior(counts, alpha, 1, 7) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first != sample_prior(counts, alpha, 2, 7)).all() and alpha.tolist() == [0.3, 0.5]
