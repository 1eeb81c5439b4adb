"""The contract of weights, and the forward pass in plain NumPy: counts, invariants, special cases."""

import dataclasses

import numpy as np
import pytest

from corpuscle.errors import SettingError
from corpuscle.neural import PRESETS, Architecture, Weights, encode, shapes, start, step
from corpuscle.neural.reference import gru, normalised, positions, softmax
from corpuscle.neural.settings import NetworkSettings
from corpuscle.text.vocab import END, START, Vocab
from tests.neural.made import SMALL, made

SOURCE = np.array([4, 5, 3, 6, END])


@pytest.mark.parametrize(
    ("preset", "millions"), [("tiny", 0.41), ("small", 1.14), ("medium", 4.7), ("paper", 132), ("transformer", 1.0)]
)
def test_presets_have_the_number_of_parameters_that_the_table_gives(preset, millions):
    count = sum(int(np.prod(shape)) for shape in shapes(PRESETS[preset], 100, 100).values())
    assert count / 1e6 == pytest.approx(millions, rel=0.025)


def test_the_first_mismatched_tensor_is_named():
    good = made(SMALL["gru"])
    assert good.checked() is good
    names = list(good.arrays)
    for broken, message in (
        ({name: good.arrays[name] for name in names if name != "read/W"}, "'read/W' is missing"),
        ({**good.arrays, "start/W": good.arrays["start/W"][:-1]}, r"'start/W' is float32 \(\d+, \d+\), not float32"),
        ({**good.arrays, "read/W": good.arrays["read/W"].astype(np.float64)}, "'read/W' is float64"),
        ({**good.arrays, "start/W": good.arrays["start/W"] * np.nan}, "'start/W' has values"),
        ({**good.arrays, "more": good.arrays["read/W"]}, "'more' does not belong"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(good, arrays=broken).checked()
    with pytest.raises(ValueError, match="different symbols"):
        dataclasses.replace(good, target=Vocab.from_words("xy")).checked()


def test_sizes_that_make_no_sense_are_refused():
    for wrong in ({"cell": "rnn"}, {"state": 0}, {"base_depth": 1}, {"cell": "transformer"}):
        with pytest.raises(SettingError):
            Architecture(**wrong)
    with pytest.raises(SettingError, match="has no state"):
        _ = NetworkSettings(preset="transformer", state=64).architecture
    assert NetworkSettings(preset="tiny", state=32).architecture.attention == 64


@pytest.mark.parametrize("kind", SMALL)
def test_attention_is_a_distribution_and_logits_are_finite(kind):
    weights = made(SMALL[kind])
    encoded = encode(weights, SOURCE)
    state, symbol = start(weights, encoded), START
    for _ in range(3):
        logits, state, attention = step(weights, encoded, state, symbol)
        assert logits.shape == (len(weights.target),) and np.isfinite(logits).all()
        assert attention.shape == (len(SOURCE),) and attention.sum() == pytest.approx(1, abs=1e-6)
        symbol = int(np.argmax(logits))


def test_the_backward_column_is_the_forward_one_of_the_reversed_source():
    weights = made(SMALL["gru"])
    mirrored = {
        name: weights.arrays[name.replace("backward", "swap").replace("forward", "backward").replace("swap", "forward")]
        for name in weights.arrays
    }
    other = dataclasses.replace(weights, arrays=mirrored)
    d = weights.architecture.state
    here, there = encode(weights, SOURCE).context, encode(other, SOURCE[::-1]).context[::-1]
    np.testing.assert_allclose(here, np.concatenate([there[:, d:], there[:, :d]], axis=1), rtol=1e-5, atol=1e-6)


def test_layer_normalisation_and_softmax_by_hand():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(normalised(x, np.ones(3)), (x - 2) / np.sqrt(2 / 3 + 1e-5))
    assert normalised(x, None) is x
    np.testing.assert_allclose(softmax(x), np.exp(x) / np.exp(x).sum())
    assert positions(3, 4)[1].tolist() == pytest.approx([np.sin(1), np.sin(0.01), np.cos(1), np.cos(0.01)])


def test_a_transition_is_a_gru_whose_input_says_nothing():
    weights = made(dataclasses.replace(SMALL["gru"], layer_norm=False))
    h = np.linspace(-0.5, 0.5, weights.architecture.state).astype(np.float32)
    zero = np.zeros(weights.architecture.embedding, np.float32)
    np.testing.assert_allclose(gru(weights, "decoder/1/1", None, h), gru(weights, "decoder/1/1", zero, h))


def test_untied_weights_have_a_matrix_for_each_purpose():
    weights = made(dataclasses.replace(SMALL["gru"], tied=False), source="abcdefg", target="xyz")
    assert weights.arrays["source_embedding"].shape[0] == 10 and weights.arrays["output"].shape[0] == 6
    encoded = encode(weights, SOURCE)
    assert step(weights, encoded, start(weights, encoded), START)[0].shape == (6,)
    assert isinstance(weights, Weights)
