"""Canonical correlation: exact cases, invariances, and several views."""

import numpy as np
import pytest

from corpuscle.engine.linalg.cca import dense_cca, diagonal_cca, one_hot_cca, several_views_cca, whitening
from corpuscle.engine.linalg.sparse import Rows


def views(*widths: int, items: int = 500, shared: int = 2, seed: int = 1) -> list[np.ndarray]:
    """Views that share some hidden variables."""
    chance = np.random.default_rng(seed)
    hidden = chance.normal(size=(items, shared))
    return [hidden @ chance.normal(size=(shared, width)) + chance.normal(size=(items, width)) for width in widths]


def moments(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return x.T @ x / len(x), x.T @ y / len(x), y.T @ y / len(x)


def test_a_view_correlates_with_itself_by_one():
    (x,) = views(5)
    assert dense_cca(*moments(x, x)).correlations == pytest.approx(np.ones(5))


def test_correlations_do_not_change_under_invertible_maps():
    x, y = views(5, 4)
    chance = np.random.default_rng(3)
    before = dense_cca(*moments(x, y)).correlations
    after = dense_cca(*moments(x @ chance.normal(size=(5, 5)), y @ chance.normal(size=(4, 4)))).correlations
    assert after == pytest.approx(before, abs=1e-10) and 0 < before[-1] < before[0] < 1


def test_projected_views_are_white_and_correlate_as_said():
    x, y = views(6, 4)
    found = dense_cca(*moments(x, y), 3)
    left, right = x @ found.left, y @ found.right
    assert left.T @ left / len(x) == pytest.approx(np.eye(3), abs=1e-10)
    assert left.T @ right / len(x) == pytest.approx(np.diag(found.correlations), abs=1e-10)


def test_directions_without_variance_do_not_count():
    x, y = views(4, 3)
    doubled = np.hstack([x, x[:, :1]])
    assert whitening(doubled.T @ doubled).shape[1] == 4
    assert dense_cca(*moments(doubled, y)).correlations == pytest.approx(dense_cca(*moments(x, y)).correlations)
    with pytest.raises(ValueError, match="ranks are 4 and 3"):
        dense_cca(*moments(doubled, y), 4)
    with pytest.raises(ValueError, match="not finite"):
        whitening(np.full((2, 2), np.nan))


def test_kappa_shrinks_correlations():
    x, y = views(5, 4)
    plain, less = (dense_cca(*moments(x, y), kappa=kappa).correlations for kappa in (0.0, 0.5))
    assert (less < plain).all()


def test_one_hot_views_with_one_slot_begin_with_one_and_the_roots_of_probabilities():
    counts = np.random.default_rng(4).integers(0, 5, (12, 9)).astype(float)
    counts[5] = 0.0  # an item that never occurs
    joint = counts / counts.sum()
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    found = diagonal_cca(Rows.of(joint), p, q, 4)
    assert found.correlations[0] == pytest.approx(1.0, abs=1e-10)
    assert found.left[p > 0, 0] == pytest.approx(np.ones(11), abs=1e-10)  # sqrt(p), whitened
    assert found.right[:, 0] == pytest.approx(np.ones(9), abs=1e-10) and not found.left[5].any()
    dense = np.linalg.svd((joint / np.sqrt(np.where(p > 0, p, 1))[:, None]) / np.sqrt(q), compute_uv=False)
    assert found.correlations == pytest.approx(dense[:4], abs=1e-10)
    same = one_hot_cca(p, joint, np.diag(q), 4)
    assert same.correlations == pytest.approx(dense[:4], abs=1e-10)
    assert abs(same.left) == pytest.approx(abs(found.left), abs=1e-8)


def test_two_views_of_maxvar_are_those_of_cca():
    x, y = views(5, 4)
    xx, xy, yy = moments(x, y)
    pair, both = dense_cca(xx, xy, yy), several_views_cca({(0, 0): xx, (0, 1): xy, (1, 1): yy}, 4)
    assert both.values == pytest.approx(1 + pair.correlations)
    cosine = both.projections[0][:, 0] @ pair.left[:, 0] / np.linalg.norm(both.projections[0][:, 0])
    assert abs(cosine) / np.linalg.norm(pair.left[:, 0]) == pytest.approx(1.0)


def test_several_views_find_the_variable_that_all_of_them_predict_best():
    parts = views(4, 3, 5, items=2000, shared=1)
    given = {(i, j): parts[i].T @ parts[j] / 2000 for i in range(3) for j in range(i, 3)}
    found = several_views_cca(given, 2)
    assert 1 < found.values[1] < found.values[0] < 3
    best = sum(part @ projection[:, 0] for part, projection in zip(parts, found.projections, strict=True))

    def predicted(variable: np.ndarray) -> float:
        """The sum over views of R^2."""
        fits = (part @ np.linalg.lstsq(part, variable, rcond=None)[0] for part in parts)
        return sum((fit @ fit) / (variable @ variable) for fit in fits)

    assert predicted(best) == pytest.approx(found.values[0])
    chance = np.random.default_rng(1)
    for _ in range(20):
        assert predicted(best + 0.3 * chance.normal(size=2000)) < found.values[0]
    with pytest.raises(ValueError, match="13 directions"):
        several_views_cca(given, 13)
