"""The fast forward passes are the plain one, for every architecture, in any company."""

import numpy as np
import pytest

from corpuscle.neural import forward, reference
from corpuscle.neural.forward import Batch, Buffers, Store, network, stacked
from corpuscle.neural.settings import PRESETS, Architecture
from corpuscle.text.vocab import END, START
from tests.neural.made import SMALL, made

SHALLOW = Architecture(embedding=8, state=6, attention=10, encoder_depth=1, base_depth=2)
LETTERS = "abcdefghijklmnopq"
CLOSE = {"mlstm": 1e-4}
"""Sums of single precision in another order: 1e-5, but products of states that are normalised make more of it."""


def greatest_difference(weights, lengths=(4, 0, 7, 2, 7), steps=4) -> float:
    """How far logits of a batch of hypotheses, which change places on the way, are from those of the plain pass."""
    rng = np.random.default_rng(7)
    size = len(weights.target)
    sources = [rng.integers(3, len(weights.source), n) for n in lengths]
    rows = np.repeat(np.arange(len(sources), dtype=np.int32), 2)
    net, room = network(weights), Buffers()
    encoded, state = net.encode(Batch.ended(sources), room, np.full(len(sources), steps))
    state = tuple(array[rows] for array in state)
    plain = [reference.encode(weights, np.append(source, END)) for source in sources]
    states = [reference.start(weights, plain[row]) for row in rows]
    symbols = np.full(len(rows), START, np.int32)
    vectors = weights.arrays["embedding" if weights.architecture.tied else "output"]
    worst = 0.0
    for _ in range(steps):
        hidden, state = net.step(encoded, rows, symbols, state, room)
        logits = hidden @ vectors.T + weights.arrays["output_bias"]
        for i, row in enumerate(rows):
            expected, states[i], _ = reference.step(weights, plain[row], states[i], int(symbols[i]))
            worst = max(worst, float(np.abs(expected - logits[i]).max()))
        moved = rng.permutation(len(rows))[: max(3, len(rows) - 2)]
        rows, states, state = rows[moved], [states[i] for i in moved], tuple(array[moved] for array in state)
        symbols = rng.integers(3, size, len(rows)).astype(np.int32)
    return worst


@pytest.mark.parametrize("architecture", [*SMALL.values(), SHALLOW], ids=[*SMALL, "gru, shallow"])
def test_logits_are_those_of_the_plain_pass(architecture):
    assert greatest_difference(made(architecture)) < CLOSE.get(architecture.cell, 1e-5)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "paper"])
def test_presets_too(preset):
    assert greatest_difference(made(PRESETS[preset], LETTERS, LETTERS, scale=0.2), lengths=(6, 3), steps=2) < 1e-4


@pytest.mark.parametrize("name", ["gru", "mlstm"])
def test_products_that_are_not_kept_ready_are_made_on_the_way(name, monkeypatch):
    monkeypatch.setattr(forward, "TABLE_BYTES", 0)
    assert greatest_difference(made(SMALL[name])) < CLOSE.get(name, 1e-5)


def test_a_transformer_finds_its_symbols_again_after_the_store_has_been_cleared(monkeypatch):
    monkeypatch.setattr(Store, "FIRST", 12)
    assert greatest_difference(made(SMALL["transformer"]), steps=9) < 1e-5


def test_sentences_are_kept_dropped_and_joined_as_if_read_together():
    weights = made(SMALL["gru"])
    net, room = network(weights), Buffers()
    sources = [np.arange(3, 3 + n) for n in (3, 1, 5, 2)]
    whole, states = net.encode(Batch.ended(sources), room, np.full(4, 9))
    three, above = net.encode(Batch.ended(sources[:3]), room, np.full(3, 9))
    one, below = net.encode(Batch.ended(sources[3:]), room, np.full(1, 9))
    again, chosen = three.only(np.array([0, 2])).joined(one), whole.only(np.array([0, 2, 3]))
    assert np.array_equal(again.starts, chosen.starts)
    states = [array[[0, 2, 3]] for array in states]
    both = stacked(tuple(array[[0, 2]] for array in above), below)
    for a, b in zip((*again.kept, *both), (*chosen.kept, *states), strict=True):
        assert np.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("preset", ["tiny", "transformer", "mlstm"])
def test_logits_of_a_hundred_names_are_those_of_the_framework(preset):
    torch = pytest.importorskip("torch")
    from corpuscle.neural import network as framework

    weights, rng = made(PRESETS[preset], LETTERS, LETTERS, scale=0.2), np.random.default_rng(4)
    sources = [rng.integers(3, 20, rng.integers(1, 12)) for _ in range(100)]
    inputs = np.column_stack([np.full(100, START), rng.integers(3, 20, (100, 4))])
    padded, real = np.zeros((100, 12), np.int64), np.zeros((100, 12), bool)
    for i, source in enumerate(sources):
        padded[i, : len(source) + 1], real[i, : len(source) + 1] = np.append(source, END), True
    batch = framework.Batch(*map(torch.from_numpy, (padded, inputs, real)))
    tensors = {name: torch.from_numpy(array) for name, array in weights.arrays.items()}
    with torch.no_grad():
        expected = framework.forward(weights.architecture, tensors, batch)[0].numpy()
    net, room, rows = network(weights), Buffers(), np.arange(100, dtype=np.int32)
    encoded, state = net.encode(Batch.ended(sources), room, np.full(100, 5))
    for step in range(5):
        hidden, state = net.step(encoded, rows, inputs[:, step].astype(np.int32), state, room)
        logits = hidden @ weights.arrays["embedding"].T + weights.arrays["output_bias"]
        assert np.abs(logits - expected[:, step]).max() < 1e-4
