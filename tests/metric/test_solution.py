"""Metrics: the solutions against their definitions, brute force and known truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import check_estimator

from corpuscle.errors import CorpuscleWarning, SettingError
from corpuscle.measure import rank_items
from corpuscle.metric import DistortionMetric, k_means_agreement
from corpuscle.metric.settings import SolutionSettings
from corpuscle.metric.solution import Solution, grouped, shrinkage, solve


def data(seed: int = 0, groups: int = 12, each: int = 9, n: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    centres = random.normal(size=(groups, n)) * 1.5
    labels = np.repeat(np.arange(groups), each)
    return centres[labels] + random.normal(size=(groups * each, n)) @ root, labels


def scatter(items: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """A from its definition."""
    total = np.zeros((items.shape[1],) * 2)
    for number, label in enumerate(np.unique(labels)):
        group = items[labels == label]
        around = group - group.mean(axis=0)
        total += (1.0 if weights is None else weights[number]) * around.T @ around
    return total


def fit(items: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, **settings: object) -> Solution:
    given = {"method": "distortion", "singular": "pinv", **settings}
    return solve(items, grouped(labels), SolutionSettings(**given), weights)  # type: ignore[arg-type]


def test_the_metric_minimises_distortion_among_matrices_of_determinant_one() -> None:
    items, labels = data()
    found, a = fit(items, labels), scatter(items, labels)
    metric, n = found.map.T @ found.map, items.shape[1]
    least = n * np.exp(np.linalg.slogdet(a)[1] / n)
    assert np.linalg.slogdet(metric)[1] == pytest.approx(0, abs=1e-10)
    assert np.trace(metric @ a) == pytest.approx(least, rel=1e-10)
    np.testing.assert_allclose(metric, np.exp(np.linalg.slogdet(a)[1] / n) * np.linalg.inv(a), rtol=1e-8)
    random = np.random.default_rng(1)
    for _ in range(50):
        other = random.normal(size=(n, n))
        other = other @ other.T
        other /= np.exp(np.linalg.slogdet(other)[1] / n)
        assert np.trace(other @ a) >= least


def test_mapped_groups_scatter_alike_in_all_directions() -> None:
    items, labels = data()
    found = fit(items, labels)
    np.testing.assert_allclose(scatter(items @ found.map.T, labels), found.scale * np.eye(5), atol=1e-9 * found.scale)


def test_only_the_ratios_of_weights_matter() -> None:
    items, labels = data()
    weights = np.random.default_rng(2).uniform(0.1, 2, 12)
    once, twice = fit(items, labels, weights), fit(items, labels, 7 * weights)
    np.testing.assert_allclose(once.map.T @ once.map, twice.map.T @ twice.map, rtol=1e-9)
    by_size = fit(items[:-3], labels[:-3], weights=None)
    given = fit(items[:-3], labels[:-3], 1.0 / np.bincount(labels[:-3]))
    named = solve(
        items[:-3], grouped(labels[:-3]), SolutionSettings(method="distortion", singular="pinv", weights="size")
    )
    np.testing.assert_allclose(given.map, named.map)
    assert not np.allclose(by_size.map, named.map)


def test_a_linear_change_of_the_features_scales_all_distances_alike() -> None:
    items, labels = data()
    change = np.random.default_rng(3).normal(size=(5, 5))
    before, after = items @ fit(items, labels).map.T, (items @ change) @ fit(items @ change, labels).map.T
    factor = np.abs(np.linalg.det(change)) ** (2 / 5)
    for i, j in ((0, 1), (3, 80), (17, 44)):
        once, again = ((before[i] - before[j]) ** 2).sum(), ((after[i] - after[j]) ** 2).sum()
        assert again == pytest.approx(factor * once, rel=1e-8)


def test_one_group_gives_the_mahalanobis_metric_and_single_items_change_nothing() -> None:
    items, labels = data(groups=1, each=40)
    found = fit(items, labels)
    metric = found.map.T @ found.map
    inverse = np.linalg.inv(np.cov(items.T))
    np.testing.assert_allclose(metric / metric[0, 0], inverse / inverse[0, 0], rtol=1e-8)
    more = fit(np.vstack([items, 100 * items[:3]]), np.concatenate([labels, [7, 8, 9]]))
    np.testing.assert_allclose(more.map.T @ more.map, metric, rtol=1e-9)


def test_directions_without_scatter_get_no_weight_by_the_pseudo_inverse_and_a_large_one_by_a_ridge() -> None:
    random = np.random.default_rng(4)
    labels = np.repeat(np.arange(30), 6)
    marker = np.arange(30.0)[labels]
    items = np.column_stack([random.normal(size=(180, 3)) * 3, marker])
    pinv, ridge = fit(items, labels), fit(items, labels, singular="ridge", ridge=1e-3)
    metric = pinv.map.T @ pinv.map
    assert pinv.map.shape == (3, 4)
    np.testing.assert_allclose(metric @ [0, 0, 0, 1], 0, atol=1e-9)
    assert np.log(np.linalg.eigvalsh(metric)[1:]).sum() == pytest.approx(0, abs=1e-9)
    precision = [rank_items(items @ found.map.T, labels).levels.mean() for found in (pinv, ridge)]
    assert precision[0] < 0.4 and precision[1] > 0.99


def test_in_one_dimension_nothing_changes() -> None:
    items, labels = data(n=1)
    plain, mapped = rank_items(items, labels), rank_items(items @ fit(items, labels).map.T, labels)
    np.testing.assert_array_equal(plain.levels, mapped.levels)


def test_the_true_covariance_is_recovered_and_new_groups_are_found_better() -> None:
    random = np.random.default_rng(5)
    root = random.normal(size=(10, 10))
    covariance = root @ root.T + 0.05 * np.eye(10)
    draw = np.linalg.cholesky(covariance)

    def sample(groups: int, each: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(groups), each)
        return random.normal(size=(groups, 10))[labels] * 1.5 + random.normal(size=(len(labels), 10)) @ draw.T, labels

    items, labels = sample(200, 20)
    found = fit(items, labels)
    truth = np.exp(np.linalg.slogdet(covariance)[1] / 10) * np.linalg.inv(covariance)
    assert np.linalg.norm(found.map.T @ found.map - truth) < 0.05 * np.linalg.norm(truth)
    fresh, groups = sample(50, 10)
    plain, mapped = rank_items(fresh, groups).levels.mean(), rank_items(fresh @ found.map.T, groups).levels.mean()
    assert mapped >= 3 * plain
    better = fit(items, labels, method="discriminant")
    assert rank_items(fresh @ better.map.T, groups).levels.mean() >= mapped - 0.01


@pytest.mark.parametrize("method", ["distortion", "diagonal", "discriminant"])
def test_with_a_scaled_ridge_units_of_features_do_not_matter(method) -> None:
    items, labels = data()
    units = np.array([1e-6, 1.0, 1e4, 0.3, 7.0])
    how = {"method": method, "singular": "scaled", "ridge": 0.3}
    before, after = fit(items, labels, **how).mapped(items), fit(items * units, labels, **how).mapped(items * units)
    ours, theirs = (((m[:, None] - m) ** 2).sum(axis=2) for m in (before, after))
    factor = 1.0 if method == "discriminant" else np.exp(2 * np.log(units).mean())
    np.testing.assert_allclose(theirs, factor * ours, rtol=1e-6, atol=1e-6 * theirs.max())


def test_a_scaled_ridge_is_a_share_of_the_variance_of_each_feature() -> None:
    items, labels = data()
    found = fit(items, labels, singular="scaled", ridge=0.2)
    a = scatter(items, labels) + np.diag(0.2 * ((items - items.mean(axis=0)) ** 2).sum(axis=0))
    metric = found.map.T @ found.map
    np.testing.assert_allclose(metric, np.linalg.det(a) ** (1 / 5) * np.linalg.inv(a), rtol=1e-9)


def test_a_feature_that_tells_groups_apart_alone_keeps_weight_and_one_that_never_varies_has_none() -> None:
    items, labels = data()
    more = np.column_stack([items, labels, np.full(len(items), 3.0)])
    found = fit(more, labels, singular="scaled")
    weights = (found.map**2).sum(axis=0)
    assert np.isfinite(found.map).all() and weights[5] > 0 and weights[6] == 0


@pytest.mark.parametrize("singular", ["scaled", "ridge", "pinv"])
@pytest.mark.parametrize("weights", [None, "by hand"])
def test_weights_of_sparse_features_are_those_of_dense_ones(singular, weights) -> None:
    items, labels = data()
    items = np.where(np.abs(items) > np.abs(items).mean(), items, 0.0)
    xi = None if weights is None else np.linspace(0.5, 2.0, len(np.unique(labels)))
    how = SolutionSettings(method="diagonal", singular=singular)
    dense, sparse = (solve(kind, grouped(labels), how, xi) for kind in (items, csr_array(items)))
    np.testing.assert_allclose(sparse.map, dense.map, rtol=1e-9)
    np.testing.assert_allclose(sparse.mapped(csr_array(items)), dense.mapped(items), rtol=1e-9)


def test_the_diagonal_metric_is_the_best_diagonal_one() -> None:
    items, labels = data()
    found, a = fit(items, labels, method="diagonal"), scatter(items, labels)
    weights = found.map**2
    np.testing.assert_allclose(weights, np.exp(np.log(np.diag(a)).mean()) / np.diag(a))
    random = np.random.default_rng(6)
    for _ in range(50):
        other = np.exp(random.normal(size=5))
        other /= np.exp(np.log(other).mean())
        assert (other * np.diag(a)).sum() >= (weights * np.diag(a)).sum() - 1e-9


def test_discriminant_directions_solve_the_generalised_eigenproblem() -> None:
    items, labels = data(groups=40)
    found = fit(items, labels, method="discriminant")
    inside = scatter(items, labels) / (len(items) - 40)
    total = np.cov(items.T, bias=True)
    directions = found.map / np.sqrt(found.values / (1 + found.values))[:, None]
    np.testing.assert_allclose(directions @ inside @ directions.T, np.eye(len(directions)), atol=1e-9)
    np.testing.assert_allclose(directions @ total @ directions.T, np.diag(1 + found.values), atol=1e-8)
    fewer = fit(items, labels, method="discriminant", directions=2)
    np.testing.assert_allclose(fewer.map, found.map[:2])


def test_shrinkage_is_that_of_ledoit_and_wolf() -> None:
    items, _ = data(seed=7, groups=2, each=8)
    expected = ledoit_wolf_shrinkage(items, assume_centered=True)
    assert 0 < expected < 1 and shrinkage(items) == pytest.approx(expected, rel=1e-12)


def test_the_range_of_the_data_is_kept_and_nothing_else() -> None:
    items, labels = data()
    wide = np.column_stack([items, items[:, :1], np.ones(len(items))])
    assert fit(wide, labels, singular="range", ridge=0.01).map.shape == (5, 7)
    shrunk = fit(wide, labels, singular="shrink")
    assert shrunk.map.shape == (7, 7) and np.isfinite(shrunk.map).all()


def test_what_cannot_be_solved_is_said() -> None:
    items, labels = data()
    with pytest.raises(SettingError, match="no group has two items"):
        fit(items, np.arange(len(items)))
    with pytest.raises(SettingError, match="no group has any scatter"):
        fit(np.ones((6, 2)), np.repeat([0, 1, 2], 2))
    with pytest.raises(SettingError, match="12 numbers from 0 on"):
        fit(items, labels, -np.ones(12))
    with pytest.raises(SettingError, match="5 directions, not 6"):
        fit(items, labels, directions=6)
    nearly = np.column_stack([items, items[:, 0] + 1e-7 * items[:, 1] ** 2])
    with pytest.warns(CorpuscleWarning, match="nearly singular"):
        fit(nearly, labels)


def test_wine_and_iris_cluster_better_with_the_metric() -> None:
    for bunch, low, high, starts, least in ((load_wine(), 0.70, 0.73, 20, 0.95), (load_iris(), 0.83, 0.85, 100, 0.90)):
        mapped = DistortionMetric(singular="pinv").fit_transform(bunch.data, bunch.target)
        plain = k_means_agreement(bunch.data, bunch.target, starts=20)[0]
        assert low <= plain <= high and k_means_agreement(mapped, bunch.target, starts)[0] >= least


def test_scikit_learn_accepts_the_transformer() -> None:
    results = check_estimator(DistortionMetric(), on_fail=None, on_skip=None)
    assert len(results) > 40 and [one["check_name"] for one in results if one["status"] == "failed"] == []


def test_the_transformer_takes_a_weight_for_each_group_and_names_its_columns() -> None:
    items, labels = data()
    weights = np.linspace(1, 2, 12)
    found = DistortionMetric(singular="pinv", weights=weights).fit(items, labels)
    np.testing.assert_allclose(found.components_, fit(items, labels, weights).map)
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), found.components_.T @ found.components_)
    assert found.get_feature_names_out()[0] == "distortionmetric0"
