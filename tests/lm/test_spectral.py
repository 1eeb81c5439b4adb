"""Spectral hidden Markov models: exact with exact moments, whatever the basis; recovery; windows and their ends."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from bench.lm_truth import Truth, windows_of_moments
from corpuscle.engine.linalg.cca import duals_of
from corpuscle.engine.ngrams.counting import count_ngrams
from corpuscle.lm.kernels.spectral import (
    FULL,
    HIDDEN,
    REDUCED,
    Projection,
    clipped_totals,
    estimated_operators,
    hidden_operators,
    inverse_of,
    padded,
    pairs_of,
    project,
    recover,
    trace,
    windows_of,
)


def raw_product(operators, symbols):
    """b_inf' B_(x_m) ... B_(x_1) b_1 as its sign and the logarithm of its magnitude: a probability with exact moments,
    any number with estimated ones. Full or reduced operators."""
    belief, logarithm = operators.start, 0.0
    for symbol in symbols[:-1].tolist():
        matrix = operators.maps[symbol] if not len(operators.duals) else one_of(operators, symbol)
        belief = belief @ matrix
        size = float(np.abs(belief).max())
        if size == 0.0:
            return 0.0, -np.inf
        belief, logarithm = belief / size, logarithm + np.log(size)
    value = float(operators.outputs[symbols[-1]] @ belief)
    return float(np.sign(value)), logarithm + float(np.log(abs(value))) if value else -np.inf


def one_of(operators, symbol):
    """B_x of reduced operators, transposed."""
    return np.tensordot(operators.duals[symbol], operators.maps, 1)


def families(truth: Truth, windows):
    """Operators of all forms and bases, which are all exact."""
    d, dice = truth.k + 1, np.random.default_rng(9)
    svd, cca = project(windows, d, "svd"), project(windows, d, "cca")
    mixed, any_basis = svd.basis @ dice.normal(size=(d, d)), dice.normal(size=svd.basis.shape)
    full = {
        "full": svd,
        "full, canonical": cca,
        "full, canonical, another inverse": cca._replace(inverse=inverse_of(windows, cca.basis)),
        "full, any basis": svd._replace(basis=any_basis, inverse=inverse_of(windows, any_basis)),
    }
    reduced = {
        "reduced": svd,
        "reduced, one basis": svd._replace(inverse=inverse_of(windows, svd.basis, svd.basis)),
        "reduced, canonical": cca,
        "reduced, smoothed": project(windows, d, "cca", kappa=0.05),
        "reduced, not orthonormal": Projection(mixed, duals_of(mixed), inverse_of(windows, mixed), svd.values),
    }
    made = partial(estimated_operators, windows, opening=truth.opening)
    return {
        **{name: (FULL, made(each)) for name, each in full.items()},
        **{name: (REDUCED, made(each, reduced=True)) for name, each in reduced.items()},
        "hidden": (HIDDEN, hidden_operators(truth.parameters)),
    }


FORMS = list(families(Truth(1), windows_of_moments(Truth(1).moments())))


def beliefs_of(form, operators, symbols):
    beliefs = np.empty((len(symbols), len(operators.start)))
    return trace(form, operators, symbols, np.array([0, len(symbols)]), beliefs), beliefs


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_operators_of_exact_moments_are_the_model_whatever_the_basis(name, seed):
    truth = Truth(seed)
    form, operators = families(truth, windows_of_moments(truth.moments()))[name]
    for symbols in truth.sentences(3):
        resets, beliefs = beliefs_of(form, operators, symbols)
        predictions = beliefs @ operators.outputs.T
        assert resets == 0
        np.testing.assert_allclose(predictions.sum(axis=1), 1.0, atol=1e-9)
        assert predictions[np.arange(len(symbols)), symbols].prod() == pytest.approx(
            truth.probability(symbols), rel=1e-8
        )
        state = truth.first
        for symbol, prediction in zip(symbols, predictions, strict=True):
            np.testing.assert_allclose(prediction, truth.emission @ state, atol=1e-10)
            state = truth.steps @ (truth.emission[symbol] * state)
            state /= state.sum()
        if form != HIDDEN:
            sign, logarithm = raw_product(operators, symbols)
            assert sign == 1 and logarithm == pytest.approx(np.log(truth.probability(symbols)), abs=1e-8)


def test_the_matrix_form_is_the_sum_over_hidden_paths():
    truth = Truth(3)
    for symbols in truth.sentences(2):
        total = 0.0
        for path in itertools.product(range(truth.k + 1), repeat=len(symbols)):
            weight = truth.first[path[0]]
            for at, state in enumerate(path):
                weight *= truth.emission[symbols[at], state] * (truth.steps[state, path[at - 1]] if at else 1.0)
            total += weight
        assert truth.probability(symbols) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", ["full", "reduced", "full, canonical"])
def test_probabilities_of_all_finite_sentences_add_up_to_one(name):
    truth = Truth(4)
    _, operators = families(truth, windows_of_moments(truth.moments()))[name]
    words = np.append(np.ones(truth.end), 0.0)
    weights = words @ operators.duals if len(operators.duals) else words
    step, belief, total = np.tensordot(weights, operators.maps, 1), operators.start, 0.0
    for _ in range(61):
        total += float(operators.outputs[truth.end] @ belief)
        belief = belief @ step
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("pads", [1, 2, 3, 4])
def test_sentences_need_three_end_symbols(pads):
    truth = Truth(5)
    windows = windows_of_moments(truth.moments(pads))
    basis = project(windows, truth.k + 1, "svd").basis
    inverse = np.linalg.pinv(basis.T @ pairs_of(windows).dense(), rcond=1e-12)  # where a rank lacks, there is no other
    operators = estimated_operators(windows, Projection(basis, basis, inverse, np.empty(0)), truth.opening)
    errors = []
    for symbols in truth.sentences(2):
        sign, logarithm = raw_product(operators, symbols)
        errors.append(abs(sign * np.exp(logarithm) / truth.probability(symbols) - 1))
    assert max(errors) < 1e-8 if pads >= 3 else max(errors) > 0.1


def test_the_start_comes_from_sentences_and_not_from_windows():
    truth = Truth(6)
    windows = windows_of_moments(truth.moments())
    wrong = estimated_operators(windows, project(windows, truth.k + 1, "svd"), pairs_of(windows).column_sums())
    symbols = np.array([0, truth.end], np.int32)
    sign, logarithm = raw_product(wrong, symbols)
    assert abs(sign * np.exp(logarithm) / truth.probability(symbols) - 1) > 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_canonical_directions_need_their_own_duals(weighted):
    truth = Truth(7)
    windows = windows_of_moments(truth.moments())
    right = project(windows, truth.k + 1, "cca")
    duals = duals_of(right.basis) if weighted else right.basis
    wrong = estimated_operators(windows, right._replace(duals=duals), truth.opening, reduced=True)
    sign, logarithm = raw_product(wrong, np.array([0, 1, truth.end], np.int32))
    assert abs(sign * np.exp(logarithm) / truth.probability([0, 1, truth.end]) - 1) > 0.01


@pytest.mark.parametrize("name", [name for name in FORMS if name != "hidden"])
def test_parameters_are_recovered(name):
    truth = Truth(8)
    _, operators = families(truth, windows_of_moments(truth.moments()))[name]
    found = recover(operators)
    order = [int(np.abs(found.emission - column[:, None]).sum(axis=0).argmin()) for column in truth.emission.T]
    assert sorted(order) == list(range(truth.k + 1))
    np.testing.assert_allclose(found.emission[:, order], truth.emission, atol=1e-10)
    np.testing.assert_allclose(found.steps[np.ix_(order, order)], truth.steps, atol=1e-10)
    np.testing.assert_allclose(found.first[order], truth.first, atol=1e-10)


def test_the_number_of_singular_values_is_that_of_states():
    truth = Truth(9)
    windows = windows_of_moments(truth.moments())
    for how in "svd", "cca":
        values = project(windows, truth.k + 2, how).values
        assert values[truth.k] > 1e-4 and (values[truth.k + 1 :] < 1e-12).all()


def test_windows_are_those_of_the_padded_sentences():
    sentences, end = [[0, 1, 0], [], [2], [0, 1, 0, 1]], 3
    tokens = np.array([word for words in sentences for word in words], np.int32)
    starts = np.cumsum([0, *map(len, sentences)])
    windows = windows_of(count_ngrams(padded(tokens, starts, end, 4), 5, 3, end=4), end)
    expected = np.zeros((4, 4, 4))
    for words in sentences:
        whole = [*words, end, end, end]
        for a, x, c in zip(whole, whole[1:], whole[2:], strict=False):
            expected[c, x, a] += 1
    expected /= expected.sum()
    found = np.zeros_like(expected)
    middles = np.repeat(np.arange(4), np.diff(windows.places))
    for first, middle, begin, last in zip(windows.firsts, middles, windows.begins, windows.ends, strict=True):
        np.add.at(found, (windows.lasts[begin:last], middle, first), windows.shares[begin:last])
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_allclose(pairs_of(windows).dense(), expected.sum(axis=0), atol=1e-15)


def test_totals_of_clipped_predictions():
    dice = np.random.default_rng(1)
    outputs, beliefs, floors = dice.normal(size=(6, 700)), dice.normal(size=(5, 6)), np.full(700, 1e-6)
    floors[3] = 0.5
    totals = np.empty(5)
    clipped_totals(outputs, beliefs, floors, totals)
    np.testing.assert_allclose(totals, np.maximum(beliefs @ outputs, floors).sum(axis=1), rtol=1e-12)
    some = np.empty(2)
    clipped_totals(outputs, beliefs[2:4].copy(), floors, some)
    assert (some == totals[2:4]).all()


@pytest.mark.parametrize("form", [FULL, REDUCED, HIDDEN])
def test_a_belief_begins_anew_where_a_symbol_is_impossible(form):
    truth = Truth(2)
    operators = dict(families(truth, windows_of_moments(truth.moments())).values())[form]
    changed = operators._replace(outputs=operators.outputs.copy(), anew=operators.start * 0.5)
    changed.outputs[2] = 0.0
    resets, beliefs = beliefs_of(form, changed, np.array([1, 2, 0, truth.end], np.int32))
    assert resets == 1
    np.testing.assert_array_equal(beliefs[2], changed.anew)
