"""Models that have learned nothing: what is computed does not depend on what was learned."""

import numpy as np

from corpuscle.neural.settings import Architecture
from corpuscle.neural.weights import Weights, shapes
from corpuscle.text.vocab import END, Vocab


def random_weights(
    architecture: Architecture, symbols: int = 20, seed: int = 1, scale: float = 0.5, end: float = 0.0
) -> Weights:
    """Normal weights with gains around 1; ``end`` is added to the bias of END, so that targets do not become too long."""
    rng = np.random.default_rng(seed)
    vocab = Vocab.from_words([f"w{i}" for i in range(symbols - 3)])
    arrays = {}
    for name, shape in shapes(architecture, symbols, symbols).items():
        gain = name.rpartition("/")[2] in ("g", "gx", "gh", "gu", "gw")
        arrays[name] = (rng.normal(size=shape) * scale + gain).astype(np.float32)
    arrays["output_bias"][END] += end
    return Weights(architecture, vocab, vocab, arrays).checked()
