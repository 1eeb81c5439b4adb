"""Weights made up for tests: small models of every architecture."""

import numpy as np

from corpuscle.neural import Architecture, Weights, shapes
from corpuscle.random import Random
from corpuscle.text.vocab import Vocab

_DEEP = {"encoder_layers": 3, "decoder_layers": 2, "embedding": 8, "state": 6, "attention": 10}
SMALL = {
    "gru": Architecture(**_DEEP),
    "gru, plain": Architecture(
        embedding=8, state=6, attention=10, encoder_depth=1, base_depth=2, layer_norm=False, tied=False
    ),
    "gru, context above": Architecture(**_DEEP, high_context=True),
    "mlstm": Architecture(cell="mlstm", **_DEEP),
    "mlstm, plain": Architecture(cell="mlstm", **_DEEP, layer_norm=False, tied=False),
    "transformer": Architecture(
        cell="transformer", embedding=8, state=8, heads=2, feedforward=12, encoder_layers=2, decoder_layers=2
    ),
}


def made(architecture, source="abcdefg", target="abcdefg", seed=1, scale=0.5):
    """Random weights of a known kind: uniform in -scale..scale, gains around 1."""
    left, right = Vocab.from_words(source), Vocab.from_words(target)
    random, arrays = Random(seed, "made up weights"), {}
    for name, shape in shapes(architecture, len(left), len(right)).items():
        values = (random.uniforms(*shape) * 2 - 1) * scale
        gain = name.rsplit("/", 1)[-1] in ("g", "gx", "gh", "gu", "gw")
        arrays[name] = (values + 1 if gain else values).astype(np.float32)
    return Weights(architecture, left, right, arrays).checked()


def tensors(arrays, dtype=None):
    """Arrays as tensors that need gradients."""
    import torch

    made = {name: torch.tensor(np.asarray(array), dtype=dtype or torch.float32) for name, array in arrays.items()}
    return {name: tensor.requires_grad_() for name, tensor in made.items()}
