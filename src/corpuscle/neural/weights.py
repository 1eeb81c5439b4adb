"""The weights of a sequence-to-sequence model: an architecture, two tables of symbols, and named float32 arrays.

Training (PyTorch), the reference pass (NumPy) and the decoder (compiled) share this record, and ``shapes`` alone says
which arrays there are. Vectors are rows: a layer is ``x @ W + b``.

A recurrent cell has a prefix ``P``; the parts of its gates stand side by side in one matrix, d is the size of a state:

- GRU: ``P/W`` (input, 3d), ``P/U`` (d, 3d), ``P/b`` (3d,), in the order reset, update, candidate;
- transition (a GRU without input): ``P/U``, ``P/b``;
- multiplicative LSTM: ``P/Wm`` (input, d), ``P/Um`` (d, d), ``P/W`` (input, 4d), ``P/U`` (d, 4d), ``P/b`` (4d,), in the
  order input, forget, output, candidate;
- with layer normalisation the gains ``P/gx`` and ``P/gh`` of the products with W and U.

Cells: ``encoder/forward/LAYER/CELL``, ``encoder/backward/LAYER/CELL`` and ``decoder/LAYER/CELL``, numbers from 1 on;
the first cell of a layer reads its input, ``decoder/1/2`` reads what the attention has found, others are transitions.
A source is its symbols and END; a target begins with START and ends with END, ids of ``text.vocab``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corpuscle.neural.settings import Architecture
from corpuscle.text.vocab import Vocab

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Weights:
    """A model that can be applied. ``arrays`` has what ``shapes`` says, see there; ``checked`` makes sure of it."""

    architecture: Architecture
    source: Vocab
    target: Vocab
    arrays: Mapping[str, np.ndarray]

    def checked(self) -> Weights:
        """This record, if its arrays are those of its architecture; ``ValueError`` names the first that is not."""
        if self.architecture.tied and self.source != self.target:
            raise ValueError("one matrix embeds both sides, but they have different symbols")
        wanted = shapes(self.architecture, len(self.source), len(self.target))
        for name, shape in wanted.items():
            if name not in self.arrays:
                raise ValueError(f"tensor {name!r} is missing")
            array = self.arrays[name]
            if array.dtype != np.float32 or array.shape != shape:
                raise ValueError(f"tensor {name!r} is {array.dtype} {array.shape}, not float32 {shape}")
            if not np.isfinite(array).all():
                raise ValueError(f"tensor {name!r} has values that are not finite")
        strange = next((name for name in self.arrays if name not in wanted), None)
        if strange is not None:
            raise ValueError(f"tensor {strange!r} does not belong to this architecture")
        return self


def shapes(architecture: Architecture, source_size: int, target_size: int) -> dict[str, Shape]:
    """Name -> shape of every array; ``source_size``, ``target_size``: how many symbols there are, the reserved ones
    included."""
    a = architecture
    embeddings = {"embedding": (target_size, a.embedding)}
    if not a.tied:
        embeddings |= {"source_embedding": (source_size, a.embedding), "output": (target_size, a.embedding)}
    inside = _recurrent(a) if a.recurrent else _transformer(a)
    return embeddings | inside | {"output_bias": (target_size,)}


def _cell(prefix: str, size: int, d: int, norm: bool, kind: str = "gru") -> dict[str, Shape]:
    """One cell that reads ``size`` numbers, 0 for a transition."""
    gates = 4 * d if kind == "mlstm" else 3 * d
    result: dict[str, Shape] = {"U": (d, gates), "b": (gates,)}
    if kind == "mlstm":
        result |= {"Wm": (size, d), "Um": (d, d)}
    if size:
        result |= {"W": (size, gates)}
    if norm:
        result |= {"gh": (gates,)} | ({"gx": (gates,)} if size else {})
    return {f"{prefix}/{name}": shape for name, shape in result.items()}


def _recurrent(a: Architecture) -> dict[str, Shape]:
    d, e, n = a.state, a.embedding, a.layer_norm
    result: dict[str, Shape] = {}
    for column in "forward", "backward":
        for layer in range(1, a.encoder_layers + 1):
            prefix = f"encoder/{column}/{layer}"
            result |= _cell(f"{prefix}/1", e if layer == 1 else d, d, n, a.cell)
            for depth in range(2, a.encoder_depth + 1):
                result |= _cell(f"{prefix}/{depth}", 0, d, n)
    result |= {"start/W": (2 * d, d)} | ({"start/g": (d,)} if n else {})
    result |= {"attention/U": (2 * d, a.attention), "attention/W": (d, a.attention)}
    result |= {"attention/b": (a.attention,), "attention/v": (a.attention,)}
    result |= {"attention/gu": (a.attention,), "attention/gw": (a.attention,)} if n else {}
    result |= _cell("decoder/1/1", e, d, n, a.cell)
    result |= _cell("decoder/1/2", 2 * d, d, n)
    for depth in range(3, a.base_depth + 1):
        result |= _cell(f"decoder/1/{depth}", 0, d, n)
    for layer in range(2, a.decoder_layers + 1):
        result |= _cell(f"decoder/{layer}/1", 3 * d if a.high_context else d, d, n)
        for depth in range(2, a.high_depth + 1):
            result |= _cell(f"decoder/{layer}/{depth}", 0, d, n)
    return result | {"read/W": (e + 3 * d, e)} | ({"read/g": (e,)} if n else {})


def _transformer(a: Architecture) -> dict[str, Shape]:
    """Layers ``encoder/LAYER`` and ``decoder/LAYER``: ``self`` (and ``cross``) with the product ``QKV`` (or ``Q`` and
    ``KV``) of queries, keys and values side by side, its bias, and ``O``; ``feed`` with two layers; each after a
    normalisation ``norm`` with gain and bias, and one more at the end of either side."""
    e, f = a.embedding, a.feedforward
    norm: dict[str, Shape] = {"norm/g": (e,), "norm/b": (e,)}
    end: dict[str, Shape] = {"O": (e, e), "O/b": (e,)}
    own = norm | {"QKV": (e, 3 * e), "QKV/b": (3 * e,)} | end
    cross = norm | {"Q": (e, e), "Q/b": (e,), "KV": (e, 2 * e), "KV/b": (2 * e,)} | end
    feed = norm | {"W": (e, f), "W/b": (f,), "V": (f, e), "V/b": (e,)}
    result: dict[str, Shape] = {}
    for side, layers in ("encoder", a.encoder_layers), ("decoder", a.decoder_layers):
        parts = {"self": own, "feed": feed} if side == "encoder" else {"self": own, "cross": cross, "feed": feed}
        for layer in range(1, layers + 1):
            for part, tensors in parts.items():
                result |= {f"{side}/{layer}/{part}/{name}": shape for name, shape in tensors.items()}
        result |= {f"{side}/{name}": shape for name, shape in norm.items()}
    return result
