"""What stands between matrix products is what its formulas say."""

import numpy as np
import pytest

from corpuscle.compiled import kernel
from corpuscle.neural.kernels import cells

RNG = np.random.default_rng(1)
NONE = np.zeros(0, np.float32)


def some(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def normal(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    if not gain.size:
        return x.astype(np.float64)
    x = x.astype(np.float64)
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@kernel
def _all_three(x, out):
    for i in range(x.size):
        out[0, i] = cells.exponential(x[i])
        out[1, i] = cells.sigmoid(x[i])
        out[2, i] = cells.tanh(x[i])


def test_the_exponential_is_right_to_single_precision_everywhere():
    x = np.linspace(-86.9, 87.9, 200_001).astype(np.float32)
    out = np.empty((3, x.size), np.float32)
    _all_three(x, out)
    wide = x.astype(np.float64)
    assert np.abs(out[0] / np.exp(wide) - 1).max() < 3e-7
    assert np.abs(out[1] - sigmoid(wide)).max() < 2e-7 and np.abs(out[2] - np.tanh(wide)).max() < 3e-7
    odd = np.array([-np.inf, -1e30, np.nan, np.inf, 0.0], np.float32)
    out = np.empty((3, 5), np.float32)
    _all_three(odd, out)
    assert out[0, 0] < 2e-38 and out[0, 1] < 2e-38 and np.isnan(out[:, 2]).all() and out[0, 4] == 1
    assert out[1, [0, 3, 4]].tolist() == pytest.approx([0, 1, 0.5]) and out[2, [0, 3, 4]].tolist() == [-1, 1, 0]


@pytest.mark.parametrize("gain", [NONE, some(36)])
def test_a_gru_is_its_formula(gain):
    table, places, h, products = some(5, 36), np.array([4, 0, 4], np.int32), some(3, 12), some(3, 36)
    u_r, u_z, u_c = np.split(normal(products, gain), 3, axis=1)
    x_r, x_z, x_c = np.split(table[places], 3, axis=1)
    z = sigmoid(x_z + u_z)
    expected = (1 - z) * np.tanh(x_c + sigmoid(x_r + u_r) * u_c) + z * h
    cells.gru(table, places, products, gain, h)
    assert np.allclose(h, expected, atol=2e-6)


@pytest.mark.parametrize("gain", [NONE, some(48)])
def test_a_multiplicative_lstm_is_its_formula(gain):
    table, places, memory, products = some(5, 48), np.array([4, 0, 4], np.int32), some(3, 12), some(3, 48)
    put, keep, out, new = np.split(table[places] + normal(products, gain), 4, axis=1)
    expected = sigmoid(keep) * memory + sigmoid(put) * np.tanh(new)
    found = np.empty_like(memory)
    cells.mlstm(table, places, products, gain, memory, found)
    assert np.allclose(memory, expected, atol=2e-6) and np.allclose(found, sigmoid(out) * np.tanh(expected), atol=2e-6)


def test_attention_looks_at_the_row_of_its_own_sentence_only():
    starts, sentences = np.array([0, 3, 4, 9]), np.array([2, 0, 2, 1], np.int32)
    keys, values, queries, v, gain = some(9, 20), some(9, 7), some(4, 20), some(20), some(20)
    shares, out, expected = np.zeros((4, 5), np.float32), np.empty((4, 7), np.float32), []
    for row, s in enumerate(sentences):
        here = slice(starts[s], starts[s + 1])
        weights = np.exp(np.tanh(keys[here] + normal(queries[row], gain)) @ v)
        expected.append(weights / weights.sum() @ values[here])
    cells.powers(keys)
    cells.attend(queries, gain, v, keys, starts, sentences, shares)
    cells.mix(shares, values, starts, sentences, out)
    assert np.allclose(out, expected, atol=2e-6)


def test_attention_by_powers_is_that_of_tanh_for_large_keys_and_queries():
    keys = np.float32([[-43, 43, 20, 0], [43, 43, -40, -9], [60, -300, np.inf, 9]])
    queries, v = np.float32([[43, -43, -20.5, 43], [-43, 0, 40, 8.5]]), some(4)
    energies = np.tanh(np.clip(keys, -43, 43) + queries[:, None]) @ v
    expected = np.exp(energies) / np.exp(energies).sum(axis=1, keepdims=True)
    shares = np.zeros((2, 3), np.float32)
    cells.powers(keys)
    cells.attend(queries, NONE, v, keys, np.array([0, 3]), np.zeros(2, np.int32), shares)
    assert np.allclose(shares, expected, atol=2e-6)


def test_heads_see_the_places_that_they_are_given():
    queries, pairs = some(3, 8), some(10, 16)
    places, which = np.array([[3, 1, 7], [9, 0, 0]], np.int32), np.array([1, 0, 0], np.int32)
    counts, out = np.array([3, 1], np.int32), np.empty((3, 8), np.float32)
    cells.heads(queries, pairs, places, which, counts, np.empty((2, 3), np.float32), out)
    for row, sentence in enumerate(which):
        seen = pairs[places[sentence, : counts[sentence]]]
        for head in range(2):
            part = slice(4 * head, 4 * head + 4)
            weights = np.exp(seen[:, :8][:, part] @ queries[row, part] / 2)
            assert np.allclose(out[row, part], weights / weights.sum() @ seen[:, 8:][:, part], atol=2e-6)


def test_reading_out_adds_normalises_and_bends():
    parts, table, places, found, gain = some(3, 8), some(4, 8), np.array([3, 3, 0], np.int32), some(3, 8), some(8)
    expected = np.tanh(normal(parts + table[places] + found, gain))
    cells.read(parts, table, places, found, gain)
    assert np.allclose(parts, expected, atol=2e-6)
    x, bias = some(3, 8), some(8)
    expected = normal(x, gain) + bias
    cells.normalise(x, gain, bias)
    assert np.allclose(x, expected, atol=2e-6)
