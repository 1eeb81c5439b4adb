"""What a sequence-to-sequence model is: its weights by name, and the forward pass in plain NumPy, slow and obvious.

``Weights`` are an architecture, two tables of symbols and named float32 arrays. Training (PyTorch), this pass (NumPy)
and the decoder (compiled) share this record, and ``shapes`` alone says which arrays there are. Vectors are rows: a
layer is ``x @ W + b``.

A recurrent cell has a prefix ``P``; the parts of its gates stand side by side in one matrix, d is the size of a state:

- GRU: ``P/W`` (input, 3d), ``P/U`` (d, 3d), ``P/b`` (3d,), in the order reset, update, candidate;
- transition (a GRU without input): ``P/U``, ``P/b``;
- multiplicative LSTM: ``P/Wm`` (input, d), ``P/Um`` (d, d), ``P/W`` (input, 4d), ``P/U`` (d, 4d), ``P/b`` (4d,), in the
  order input, forget, output, candidate;
- with layer normalisation the gains ``P/gx`` and ``P/gh`` of the products with W and U.

Cells: ``encoder/forward/LAYER/CELL``, ``encoder/backward/LAYER/CELL`` and ``decoder/LAYER/CELL``, numbers from 1 on;
the first cell of a layer reads its input, ``decoder/1/2`` reads what the attention has found, others are transitions.
A source is its symbols and END; a target begins with START and ends with END, ids of ``text.vocab``.

The forward pass does one sequence at a time; the model in training and the compiled decoder are tested against it.

- GRU, transitions, encoder, decoder: Miceli Barone, Helcl, Sennrich, Haddow and Birch, "Deep architectures for neural
  machine translation", 2017, the BiDeep model; layer normalisation: Ba, Kiros and Hinton, "Layer normalization", 2016;
- multiplicative LSTM: Krause, Lu, Murray and Renals, "Multiplicative LSTM for sequence modelling", 2016, eq. 6-10;
- transformer: Vaswani et al., "Attention is all you need", 2017, with normalisation before each part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

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
        for name in self.arrays:
            if name not in wanted:
                raise ValueError(f"tensor {name!r} does not belong to this architecture")
        return self


def shapes(architecture: Architecture, source_size: int, target_size: int) -> dict[str, Shape]:
    """Name -> shape of every array; ``source_size``, ``target_size``: numbers of symbols, with the reserved ones."""
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


EPSILON = 1e-5
"""Added to variances in layer normalisation."""


class Encoded(NamedTuple):
    """What the encoder says about a source of n symbols (END included): ``context`` (n, 2d), or (n, embedding) in a
    transformer; ``keys``: the part of the attention that does not depend on the decoder, (n, attention), or ``context``
    again in a transformer."""

    context: np.ndarray
    keys: np.ndarray


class State(NamedTuple):
    """Where the decoder is: ``layers`` (n_layers, d), the states; ``memory`` (d,), the cell of a multiplicative LSTM
    (zero elsewhere). In a transformer ``layers`` are the vectors of the symbols so far, (length, embedding)."""

    layers: np.ndarray
    memory: np.ndarray


def encode(weights: Weights, source: np.ndarray) -> Encoded:
    """Read a source: int (n,), its symbols and END."""
    p, a = weights.arrays, weights.architecture
    vectors = p["embedding" if a.tied else "source_embedding"][source]
    if not a.recurrent:
        x = vectors * np.sqrt(a.embedding) + positions(len(source), a.embedding)
        for layer in range(1, a.encoder_layers + 1):
            x = x + _attended(weights, f"encoder/{layer}/self", x)[0]
            x = x + _feed(weights, f"encoder/{layer}/feed", x)
        x = _norm(weights, "encoder/norm", x)
        return Encoded(x, x)
    columns = [_column(weights, column, vectors) for column in ("forward", "backward")]
    context = np.concatenate(columns, axis=1)
    return Encoded(context, normalised(context @ p["attention/U"], p.get("attention/gu")))


def start(weights: Weights, encoded: Encoded) -> State:
    """The decoder before its first step."""
    p, a = weights.arrays, weights.architecture
    if not a.recurrent:
        return State(np.zeros((0, a.embedding), np.float32), np.zeros(0, np.float32))
    first = np.tanh(normalised(encoded.context.mean(axis=0) @ p["start/W"], p.get("start/g")))
    return State(np.tile(first, (a.decoder_layers, 1)), np.zeros(a.state, np.float32))


def step(weights: Weights, encoded: Encoded, state: State, symbol: int) -> tuple[np.ndarray, State, np.ndarray]:
    """The logits (target_size,) of what follows a symbol (START at first), the new state, and the attention over the
    source, (n,): in a transformer the mean over the heads of the last layer."""
    p, a = weights.arrays, weights.architecture
    if not a.recurrent:
        return _transformer_step(weights, encoded, state, symbol)
    y = p["embedding"][symbol]
    h, memory = _first_cell(weights, "decoder/1/1", y, state.layers[0], state.memory)
    query = normalised(h @ p["attention/W"], p.get("attention/gw"))
    attention = softmax(np.tanh(encoded.keys + query + p["attention/b"]) @ p["attention/v"])
    context = attention @ encoded.context
    h = gru(weights, "decoder/1/2", context, h)
    for depth in range(3, a.base_depth + 1):
        h = gru(weights, f"decoder/1/{depth}", None, h)
    layers, q = [h], h
    for layer in range(2, a.decoder_layers + 1):
        x = np.concatenate([q, context]) if a.high_context else q
        h = gru(weights, f"decoder/{layer}/1", x, state.layers[layer - 1])
        for depth in range(2, a.high_depth + 1):
            h = gru(weights, f"decoder/{layer}/{depth}", None, h)
        layers.append(h)
        q = h + q
    o = np.tanh(normalised(np.concatenate([y, q, context]) @ p["read/W"], p.get("read/g")))
    return _logits(weights, o), State(np.array(layers), memory), attention


def gru(weights: Weights, cell: str, x: np.ndarray | None, h: np.ndarray) -> np.ndarray:
    """The next state of a GRU; without input x, of a transition."""
    p, d = weights.arrays, len(h)
    U = normalised(h @ p[f"{cell}/U"], p.get(f"{cell}/gh"))
    X = np.zeros_like(U) if x is None else normalised(x @ p[f"{cell}/W"], p.get(f"{cell}/gx"))
    b = p[f"{cell}/b"]
    reset = sigmoid(X[:d] + U[:d] + b[:d])
    update = sigmoid(X[d : 2 * d] + U[d : 2 * d] + b[d : 2 * d])
    candidate = np.tanh(X[2 * d :] + reset * U[2 * d :] + b[2 * d :])
    return (1 - update) * candidate + update * h


def _first_cell(
    weights: Weights, cell: str, x: np.ndarray, h: np.ndarray, memory: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The next state and memory of the cell that reads the input of a layer, a GRU or a multiplicative LSTM."""
    if weights.architecture.cell != "mlstm":
        return gru(weights, cell, x, h), memory
    p, d = weights.arrays, len(h)
    mixed = (x @ p[f"{cell}/Wm"]) * (h @ p[f"{cell}/Um"])
    X = normalised(x @ p[f"{cell}/W"], p.get(f"{cell}/gx"))
    U = normalised(mixed @ p[f"{cell}/U"], p.get(f"{cell}/gh"))
    gates = X + U + p[f"{cell}/b"]
    put, keep, out = sigmoid(gates[:d]), sigmoid(gates[d : 2 * d]), sigmoid(gates[2 * d : 3 * d])
    memory = keep * memory + put * np.tanh(gates[3 * d :])
    return out * np.tanh(memory), memory


def _column(weights: Weights, column: str, vectors: np.ndarray) -> np.ndarray:
    """One column of the encoder, (n, d): layers of alternating direction, from the second on added to those below."""
    a = weights.architecture
    below = vectors
    for layer in range(1, a.encoder_layers + 1):
        forward = (layer % 2 == 1) == (column == "forward")
        places = range(len(vectors)) if forward else range(len(vectors) - 1, -1, -1)
        h = memory = np.zeros(a.state, np.float32)
        states = np.zeros((len(vectors), a.state), np.float32)
        for i in places:
            h, memory = _first_cell(weights, f"encoder/{column}/{layer}/1", below[i], h, memory)
            for depth in range(2, a.encoder_depth + 1):
                h = gru(weights, f"encoder/{column}/{layer}/{depth}", None, h)
            states[i] = h
        below = states if layer == 1 else states + below
    return below


def _transformer_step(
    weights: Weights, encoded: Encoded, state: State, symbol: int
) -> tuple[np.ndarray, State, np.ndarray]:
    p, a = weights.arrays, weights.architecture
    place = positions(len(state.layers) + 1, a.embedding)[-1]
    x = prefix = np.vstack([state.layers, p["embedding"][symbol] * np.sqrt(a.embedding) + place]).astype(np.float32)
    attention = np.zeros(len(encoded.context))
    for layer in range(1, a.decoder_layers + 1):
        cell = f"decoder/{layer}"
        x = x + _attended(weights, f"{cell}/self", x, causal=True)[0]
        found, shares = _attended(weights, f"{cell}/cross", x, encoded.keys)
        x, attention = x + found, shares[:, -1].mean(axis=0)
        x = x + _feed(weights, f"{cell}/feed", x)
    o = _norm(weights, "decoder/norm", x[-1])
    return _logits(weights, o), State(prefix, state.memory), attention


def _attended(
    weights: Weights, part: str, x: np.ndarray, context: np.ndarray | None = None, causal: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """What the heads find for each row of x, in x itself or in a context; and their shares (heads, rows, columns)."""
    p, inside = weights.arrays, _norm(weights, f"{part}/norm", x)
    if context is None:
        q, k, v = np.split(inside @ p[f"{part}/QKV"] + p[f"{part}/QKV/b"], 3, axis=1)
    else:
        q = inside @ p[f"{part}/Q"] + p[f"{part}/Q/b"]
        k, v = np.split(context @ p[f"{part}/KV"] + p[f"{part}/KV/b"], 2, axis=1)
    hidden = np.triu(np.full((len(x), len(x)), -np.inf), 1) if causal else 0.0
    size = q.shape[1] // weights.architecture.heads
    found, shares = [], []
    for first in range(0, q.shape[1], size):
        head = slice(first, first + size)
        shares.append(softmax(q[:, head] @ k[:, head].T / np.sqrt(size) + hidden))
        found.append(shares[-1] @ v[:, head])
    return np.concatenate(found, axis=1) @ p[f"{part}/O"] + p[f"{part}/O/b"], np.array(shares)


def _feed(weights: Weights, part: str, x: np.ndarray) -> np.ndarray:
    p = weights.arrays
    inside = np.maximum(0.0, _norm(weights, f"{part}/norm", x) @ p[f"{part}/W"] + p[f"{part}/W/b"])
    return inside @ p[f"{part}/V"] + p[f"{part}/V/b"]


def _norm(weights: Weights, part: str, x: np.ndarray) -> np.ndarray:
    return normalised(x, weights.arrays[f"{part}/g"]) + weights.arrays[f"{part}/b"]


def _logits(weights: Weights, o: np.ndarray) -> np.ndarray:
    p = weights.arrays
    return o @ p["embedding" if weights.architecture.tied else "output"].T + p["output_bias"]


def normalised(x: np.ndarray, gain: np.ndarray | None) -> np.ndarray:
    """Layer normalisation over the last axis; x itself where there is no gain."""
    if gain is None:
        return x
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def softmax(x: np.ndarray) -> np.ndarray:
    exponents = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def positions(length: int, size: int) -> np.ndarray:
    """Sinusoids of positions 0..length-1, (length, size): sines in the first half of a row, cosines in the other."""
    frequencies = 10000.0 ** (-np.arange(0, size, 2) / size)
    angles = np.arange(length)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
