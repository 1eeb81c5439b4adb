"""The model in PyTorch: equal to the reference, to the framework's own cells, whatever the padding; its gradients."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra neural")

from corpuscle.neural import encode, start, step
from corpuscle.neural.network import Batch, Cell, forward, keep_all
from corpuscle.text.vocab import END, START
from tests.neural.made import SMALL, made, tensors

SOURCES = [[4, 5, 3, 6, 3, END], [3, END], [6, 6, 5, END]]
INPUTS = [[START, 3, 4, 5], [START, 6, 6, 3, 3, 4], [START]]


def padded(sources, inputs):
    def rows(sequences):
        longest = max(map(len, sequences))
        return torch.tensor([[*sequence, *[END] * (longest - len(sequence))] for sequence in sequences])

    n = max(map(len, sources))
    real = torch.tensor([[i < len(source) for i in range(n)] for source in sources])
    return Batch(rows(sources), rows(inputs), real)


@pytest.mark.parametrize("kind", SMALL)
def test_logits_and_attention_are_those_of_the_reference_whatever_the_padding(kind):
    weights = made(SMALL[kind])
    p = tensors(weights.arrays)
    with torch.no_grad():
        together, shares = forward(weights.architecture, p, padded(SOURCES, INPUTS))
        for k, (source, inputs) in enumerate(zip(SOURCES, INPUTS, strict=True)):
            alone, _ = forward(weights.architecture, p, padded([source], [inputs]))
            np.testing.assert_allclose(alone[0], together[k, : len(inputs)], atol=1e-5)
            encoded = encode(weights, np.array(source))
            state = start(weights, encoded)
            for j, symbol in enumerate(inputs):
                logits, state, attention = step(weights, encoded, state, symbol)
                np.testing.assert_allclose(together[k, j].numpy(), logits, atol=1e-4)
                np.testing.assert_allclose(shares[k, j, : len(source)].numpy(), attention, atol=1e-5)


def test_a_gru_without_normalisation_is_that_of_the_framework():
    weights = made(SMALL["gru, plain"])
    p, (e, d) = tensors(weights.arrays), (8, 6)
    cell = Cell.of(p, "decoder/1/1")
    theirs = torch.nn.GRUCell(e, d)
    with torch.no_grad():
        theirs.weight_ih.copy_(cell.W.T)
        theirs.weight_hh.copy_(cell.U.T)
        theirs.bias_ih.copy_(cell.b)
        theirs.bias_hh.zero_()
        x, h = torch.linspace(-1, 1, 3 * e).view(3, e), torch.linspace(1, -1, 3 * d).view(3, d)
        np.testing.assert_allclose(cell.gru(cell.projected(x), h, None), theirs(x, h), atol=1e-6)


def test_one_layer_of_depth_one_is_the_usual_bidirectional_encoder():
    weights = made(dataclasses.replace(SMALL["gru, plain"], tied=True))
    theirs = torch.nn.GRU(8, 6, bidirectional=True, batch_first=True)
    p = tensors(weights.arrays)
    with torch.no_grad():
        for column, suffix in ("forward", ""), ("backward", "_reverse"):
            cell = Cell.of(p, f"encoder/{column}/1/1")
            getattr(theirs, f"weight_ih_l0{suffix}").copy_(cell.W.T)
            getattr(theirs, f"weight_hh_l0{suffix}").copy_(cell.U.T)
            getattr(theirs, f"bias_ih_l0{suffix}").copy_(cell.b)
            getattr(theirs, f"bias_hh_l0{suffix}").zero_()
        source = SOURCES[0]
        expected = theirs(p["embedding"][source].unsqueeze(0))[0][0]
    np.testing.assert_allclose(encode(weights, np.array(source)).context, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["gru", "mlstm", "transformer"])
def test_gradients_are_those_of_finite_differences(kind):
    weights = made(SMALL[kind])
    p = tensors(weights.arrays, torch.float64)
    batch = padded(SOURCES, INPUTS)
    names = [name for name in p if name.rsplit("/", 1)[-1] in ("U", "gx", "embedding", "QKV", "Um", "KV")]

    def total(*values):
        logits, _ = forward(weights.architecture, {**p, **dict(zip(names, values, strict=True))}, batch, keep_all)
        return torch.log_softmax(logits, -1)[:, :, 4].sum()

    total(*(p[name] for name in names)).backward()
    for name in names:
        values = p[name].detach().clone()
        place = tuple(size // 2 for size in values.shape)
        sides = []
        for shift in (1e-5, -1e-5):
            values[place] += shift
            sides.append(total(*(values if other == name else p[other] for other in names)).item())
            values[place] -= shift
        slope = (sides[0] - sides[1]) / 2e-5
        assert p[name].grad[place].item() == pytest.approx(slope, rel=1e-5, abs=1e-7), name


@pytest.mark.parametrize("dropping", [True, False])
@pytest.mark.parametrize("kind", ["gru", "gru, context above"])
def test_gradients_of_the_compiled_layers_are_those_of_the_operations(kind, dropping):
    weights = made(SMALL[kind])
    batch = padded(SOURCES, INPUTS)

    def gradients(dtype):
        p, masks = tensors(weights.arrays, dtype), torch.Generator().manual_seed(1)

        def drop(*shape, symbols=False):
            return (torch.rand(*shape, generator=masks) > 0.3).to(dtype) / 0.7 if dropping else None

        logits, shares = forward(weights.architecture, p, batch, drop)
        real = batch.real.unsqueeze(1).to(dtype)
        (torch.log_softmax(logits, -1)[:, :, 4].sum() + (shares.square() * real).cumsum(-1).sum()).backward()
        return {name: tensor.grad for name, tensor in p.items()}

    quick, exact = gradients(torch.float32), gradients(torch.float64)
    for name, gradient in exact.items():
        scale = gradient.abs().max().item()
        np.testing.assert_allclose(quick[name], gradient, atol=1e-3 * max(1.0, scale), err_msg=name)
