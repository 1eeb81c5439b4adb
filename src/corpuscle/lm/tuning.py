"""Discounts, given by hand or chosen on a development text: those that make it most likely.

For interpolated models the likelihood and its gradient follow in closed form from a few numbers of each event, so
thousands of settings cost a second. Back-off models are rebuilt for each try, with numerical gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.smoothing import context_totals, discount_features, discount_gradient
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.errors import SettingError

_MARGIN = 1e-3

Objective = Callable[[np.ndarray], tuple[float, np.ndarray | None]]
"""Discounts (order, 4) -> negative log likelihood, and its gradient if that is known."""


def given_discounts(given: Sequence[Any] | float, order: int, modified: bool) -> np.ndarray:
    """Discounts (order, 4) from one number, three numbers, or a list of either with one entry an order."""
    width = 3 if modified else 1
    try:
        flat = np.atleast_1d(np.asarray(given, np.float64))
        if flat.ndim == 1 and len(flat) == width:
            flat = np.tile(flat, (order, 1))
        values = np.zeros((order, 4))
        values[:, 1:] = flat.reshape(order, width)
    except ValueError:
        wanted = "three numbers" if modified else "one number"
        raise SettingError(f"discounts are {wanted}, or {order} times that; not {given!r}") from None
    highest = np.array([1.0, 2.0, 3.0]) if modified else 1.0
    low_enough, positive = values[:, 1:] <= highest, values[:, 1:] > 0
    if not (low_enough & positive).all():
        raise SettingError(f"a discount for count k lies above 0 and at most at k (plain: 1); not {given!r}")
    return values


def interpolated_objective(
    ngrams: Ngrams, adjusted: np.ndarray, predictable: np.ndarray, symbols: np.ndarray, end: int
) -> Objective:
    """The negative log likelihood, a predicted event, of a stream of symbols under an interpolated model."""
    order = ngrams.order
    adjusted = frozen(adjusted, np.int32)
    totals = np.zeros((len(ngrams.first_child) - 1, 4), np.int64)
    context_totals(ngrams.first_child, adjusted, totals)
    known, numbers = np.zeros(len(symbols), np.int32), np.zeros((len(symbols), order, 5), np.int32)
    discount_features(
        ngrams.words, ngrams.first_child, adjusted, totals, frozen(symbols, np.int32), end, order, known, numbers
    )
    events = np.flatnonzero(predictable[symbols])
    unigrams = adjusted[: ngrams.levels[1]][predictable]
    freed = np.bincount(np.minimum(unigrams, 3), minlength=4).astype(np.float64)
    total, types = float(unigrams.sum()), float(predictable.sum())

    def objective(discounts: np.ndarray) -> tuple[float, np.ndarray | None]:
        gradient = np.zeros_like(discounts)
        likelihood = discount_gradient(numbers, known, events, total, freed, types, discounts, gradient)
        return -likelihood / len(events), -gradient / len(events)

    return objective


def tune(start: np.ndarray, modified: bool, objective: Objective) -> np.ndarray:
    """Discounts (order, 4) near a local optimum of the objective, from ``start``; one D an order unless ``modified``.

    Discounts at their bounds, which Good-Turing estimates may be, begin a little inside.
    """
    from scipy.optimize import minimize

    order = len(start)
    width = 3 if modified else 1
    highest = np.arange(1, 4) if modified else np.ones(1)
    bounds = [(_MARGIN, high - _MARGIN) for _ in range(order) for high in highest]

    def unpack(flat: np.ndarray) -> np.ndarray:
        discounts = np.zeros((order, 4))
        discounts[:, 1:] = flat.reshape(order, width)
        return discounts

    def value_and_slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(unpack(flat))
        if gradient is not None:
            columns = gradient[:, 1:]
            return value, (columns if modified else columns.sum(1, keepdims=True)).ravel()
        slope = np.empty_like(flat)
        for i in range(len(flat)):
            nudged = flat.copy()
            nudged[i] += 1e-4 if flat[i] + 1e-4 < bounds[i][1] else -1e-4
            slope[i] = (objective(unpack(nudged))[0] - value) / (nudged[i] - flat[i])
        return value, slope

    first = np.clip(start[:, 1 : 1 + width].ravel(), [b[0] for b in bounds], [b[1] for b in bounds])
    best = minimize(value_and_slope, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return unpack(best.x)
