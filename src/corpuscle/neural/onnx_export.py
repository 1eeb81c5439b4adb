"""Models as ONNX files, for programs in other languages: the encoder, and one step of the decoder.

An encoder reads ``source`` int64 (b, n), symbols and END, padded with anything, and ``lengths`` int64 (b,), END
counted. It gives, float32,

- recurrent models: ``context`` (b, n, 2d), ``keys`` (b, n, a), ``state`` (b, layers, d), before the first step; those
  with a multiplicative LSTM also ``memory`` (b, d);
- transformers: ``context`` (b, n, e).

A step reads what the encoder gives, a row for each hypothesis, ``lengths`` int64 (rows,), and ``symbols``: the last
one of each hypothesis, START at first, int64 (rows,); in a transformer all of them from START on, (rows, m). It gives
``logs`` (rows, V), natural logs of the probabilities of what comes next, and ``next_state`` (and ``next_memory``).
The search is left to the program; ``corpuscle.neural.reference`` says what is computed. The symbols are in the
metadata of both files, ``symbols``: a JSON list of the strings of the ids, the first three of which are reserved
(unknown, START, END).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from corpuscle.errors import require
from corpuscle.neural.reference import EPSILON, Weights, positions
from corpuscle.text.files import write_atomically

OPSET, IR_VERSION = 18, 9
LONGEST = 1024
"""Positions that an exported transformer knows."""

Shape = Sequence[str | int]


class _Graph:
    """A graph in the making. Values are known by their names; ``+`` and the like are methods."""

    def __init__(self, weights: Weights, outside: _Graph | None = None):
        self.onnx = require("onnx", extra="onnx")
        self.weights = weights
        self.root: _Graph = self if outside is None else outside.root
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.count = 0

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """The name of what an operator gives; several names if it gives several things."""
        self.root.count += 1
        names = [f"{kind}_{self.root.count}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def array(self, name: str, array: Any) -> str:
        """A constant, which stands in the outermost graph."""
        if name not in self.root.constants:
            self.root.constants[name] = self.onnx.numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def weight(self, name: str) -> str:
        return self.array(name, self.weights.arrays[name])

    def ints(self, *values: int) -> str:
        return self.array(f"ints {values}", np.array(values, np.int64))

    def product(self, x: str, name: str) -> str:
        return self.op("MatMul", x, self.weight(name))

    def add(self, *terms: str) -> str:
        total = terms[0]
        for term in terms[1:]:
            total = self.op("Add", total, term)
        return total

    def normal(self, x: str, gain: str, bias: str = "") -> str:
        """Layer normalisation, where the model has such a gain."""
        if gain not in self.weights.arrays:
            return x
        more = [self.weight(bias)] if bias else []
        return self.op("LayerNormalization", x, self.weight(gain), *more, axis=-1, epsilon=EPSILON)

    def embedded(self, symbols: str, table: str = "embedding") -> str:
        return self.op("Gather", self.weight(table), symbols, axis=0)

    def made(self, name: str, inputs: Mapping[str, tuple[Any, Shape]], outputs: Mapping[str, tuple[str, Shape]]) -> Any:
        """The graph: inputs name -> (type, shape), outputs name -> (value, shape), float32."""
        helper, float32 = self.onnx.helper, self.onnx.TensorProto.FLOAT
        self.nodes += [helper.make_node("Identity", [value], [output]) for output, (value, _) in outputs.items()]
        read = [helper.make_tensor_value_info(each, kind, shape) for each, (kind, shape) in inputs.items()]
        made = [helper.make_tensor_value_info(each, float32, shape) for each, (_, shape) in outputs.items()]
        return helper.make_graph(self.nodes, name, read, made, list(self.constants.values()))


# ---- cells


def _gru(g: _Graph, cell: str, x: str | None, h: str) -> str:
    """The next state; x: the input times its matrix, normalised, with the bias, or None for a transition."""
    u_r, u_z, u_c = g.op("Split", g.normal(g.product(h, f"{cell}/U"), f"{cell}/gh"), outputs=3, axis=-1, num_outputs=3)
    parts = g.weight(f"{cell}/b") if x is None else x
    x_r, x_z, x_c = g.op("Split", parts, outputs=3, axis=-1, num_outputs=3)
    reset, update = g.op("Sigmoid", g.add(x_r, u_r)), g.op("Sigmoid", g.add(x_z, u_z))
    candidate = g.op("Tanh", g.add(x_c, g.op("Mul", reset, u_c)))
    return g.add(candidate, g.op("Mul", update, g.op("Sub", h, candidate)))


def _first(g: _Graph, cell: str, x: str, mixer: str | None, h: str, memory: str) -> tuple[str, str]:
    """The next state and memory of the cell that reads the input of a layer; ``mixer``: of a multiplicative LSTM."""
    if mixer is None:
        return _gru(g, cell, x, h), memory
    mixed = g.op("Mul", mixer, g.product(h, f"{cell}/Um"))
    gates = g.add(x, g.normal(g.product(mixed, f"{cell}/U"), f"{cell}/gh"))
    put, keep, out, new = g.op("Split", gates, outputs=4, axis=-1, num_outputs=4)
    kept = g.op("Mul", g.op("Sigmoid", keep), memory)
    memory = g.add(kept, g.op("Mul", g.op("Sigmoid", put), g.op("Tanh", new)))
    return g.op("Mul", g.op("Sigmoid", out), g.op("Tanh", memory)), memory


def _inputs(g: _Graph, cell: str, x: str) -> tuple[str, str | None]:
    """An input times the matrices of a cell: with the bias, and for the mixing of a multiplicative LSTM."""
    made = g.add(g.normal(g.product(x, f"{cell}/W"), f"{cell}/gx"), g.weight(f"{cell}/b"))
    return made, g.product(x, f"{cell}/Wm") if f"{cell}/Wm" in g.weights.arrays else None


# ---- recurrent models


def _scanned(g: _Graph, name: str, below: str, alive: str, zeros: str, forward: bool) -> str:
    """The states (n, b, d) of a layer of the encoder; padding leaves them as they are."""
    a, float32 = g.weights.architecture, g.onnx.TensorProto.FLOAT
    x, mixer = _inputs(g, f"{name}/1", below)
    body, state = _Graph(g.weights, g), ("b", a.state)
    kinds: dict[str, tuple[Any, Shape]] = {"h": (float32, state), "memory": (float32, state)}
    kinds |= {"x": (float32, ("b", (4 if mixer else 3) * a.state)), "alive": (g.onnx.TensorProto.BOOL, ("b", 1))}
    kinds |= {} if mixer is None else {"mixer": (float32, state)}
    inner = {each: f"{each}_{name}" for each in kinds}
    h, memory = _first(body, f"{name}/1", inner["x"], inner.get("mixer"), inner["h"], inner["memory"])
    for depth in range(2, a.encoder_depth + 1):
        h = _gru(body, f"{name}/{depth}", None, h)
    chosen = [
        body.op("Where", inner["alive"], new, body.op("Identity", old))
        for new, old in ((h, inner["h"]), (memory, inner["memory"]))
    ]
    inputs = {inner[each]: kind for each, kind in kinds.items()}
    outputs: dict[str, tuple[str, Shape]] = {
        f"h_next_{name}": (chosen[0], state), f"memory_next_{name}": (chosen[1], state), f"y_{name}": (chosen[0], state)
    }  # fmt: skip
    scanned, way = [x, alive, *([] if mixer is None else [mixer])], 0 if forward else 1
    return g.op(
        "Scan", zeros, zeros, *scanned, outputs=3, body=body.made(name, inputs, outputs), num_scan_inputs=len(scanned),
        scan_input_directions=[way] * len(scanned), scan_output_directions=[way],
    )[2]  # fmt: skip


def _recurrent_encoder(g: _Graph, source: str, lengths: str) -> dict[str, tuple[str, Shape]]:
    p, a = g.weights.arrays, g.weights.architecture
    time = g.op("Transpose", source, perm=[1, 0])
    vectors = g.embedded(time, "embedding" if a.tied else "source_embedding")
    alive = _real(g, time, lengths, axis=0)
    alive3 = g.op("Unsqueeze", alive, g.ints(-1))
    row = g.op("Gather", vectors, g.array("zero", np.int64(0)), axis=0)
    size = g.op("Concat", g.op("Shape", row, start=0, end=1), g.ints(a.state), axis=0)
    zeros = g.op("ConstantOfShape", size, value=g.onnx.helper.make_tensor("0", g.onnx.TensorProto.FLOAT, [1], [0.0]))
    columns = []
    for column in "forward", "backward":
        below = vectors
        for layer in range(1, a.encoder_layers + 1):
            forward = (layer % 2 == 1) == (column == "forward")
            states = _scanned(g, f"encoder/{column}/{layer}", below, alive3, zeros, forward)
            below = states if layer == 1 else g.add(states, below)
        columns.append(below)
    context = g.op("Transpose", g.op("Concat", *columns, axis=-1), perm=[1, 0, 2])
    keys = g.add(g.normal(g.product(context, "attention/U"), "attention/gu"), g.weight("attention/b"))
    real = g.op("Unsqueeze", _real(g, source, lengths, axis=1), g.ints(-1))
    kept = g.op("Where", real, context, g.array("nothing", np.float32(0)))
    count = g.op("Unsqueeze", g.op("Cast", lengths, to=g.onnx.TensorProto.FLOAT), g.ints(-1))
    mean = g.op("Div", g.op("ReduceSum", kept, g.ints(1), keepdims=0), count)
    first = g.op("Tanh", g.normal(g.product(mean, "start/W"), "start/g"))
    state = g.op("Concat", *[g.op("Unsqueeze", first, g.ints(1))] * a.decoder_layers, axis=1)
    outputs: dict[str, tuple[str, Shape]] = {
        "context": (context, ("b", "n", 2 * a.state)),
        "keys": (keys, ("b", "n", len(p["attention/b"]))),
        "state": (state, ("b", a.decoder_layers, a.state)),
    }
    return outputs | ({"memory": (zeros, ("b", a.state))} if a.cell == "mlstm" else {})


def _real(g: _Graph, symbols: str, lengths: str, axis: int) -> str:
    """Which positions of symbols, counted along an axis, are before the end: bool, of the shape of symbols."""
    n = g.op("Squeeze", g.op("Shape", symbols, start=axis, end=axis + 1))
    places = g.op("Range", g.array("zero", np.int64(0)), n, g.array("one", np.int64(1)))
    return g.op("Less", g.op("Unsqueeze", places, g.ints(1 - axis)), g.op("Unsqueeze", lengths, g.ints(axis)))


def _recurrent_step(g: _Graph) -> dict[str, tuple[str, Shape]]:
    a = g.weights.architecture
    y = g.embedded("symbols")
    layers = [
        g.op("Gather", "state", g.array(f"layer {layer}", np.int64(layer)), axis=1) for layer in range(a.decoder_layers)
    ]
    h, memory = _first(g, "decoder/1/1", *_inputs(g, "decoder/1/1", y), layers[0], "memory")
    query = g.op("Unsqueeze", g.normal(g.product(h, "attention/W"), "attention/gw"), g.ints(1))
    energy = g.op("MatMul", g.op("Tanh", g.add("keys", query)), g.weight("attention/v"))
    hidden = g.array("minus infinity", np.float32(-np.inf))
    first_key = g.op("Gather", "keys", g.array("zero", np.int64(0)), axis=2)
    shares = g.op("Softmax", g.op("Where", _real(g, first_key, "lengths", axis=1), energy, hidden), axis=-1)
    context = g.op("Squeeze", g.op("MatMul", g.op("Unsqueeze", shares, g.ints(1)), "context"), g.ints(1))
    h = _gru(g, "decoder/1/2", _inputs(g, "decoder/1/2", context)[0], h)
    for depth in range(3, a.base_depth + 1):
        h = _gru(g, f"decoder/1/{depth}", None, h)
    states, q = [h], h
    for layer in range(2, a.decoder_layers + 1):
        x = g.op("Concat", q, context, axis=-1) if a.high_context else q
        h = _gru(g, f"decoder/{layer}/1", _inputs(g, f"decoder/{layer}/1", x)[0], layers[layer - 1])
        for depth in range(2, a.high_depth + 1):
            h = _gru(g, f"decoder/{layer}/{depth}", None, h)
        states.append(h)
        q = g.add(h, q)
    o = g.op("Tanh", g.normal(g.product(g.op("Concat", y, q, context, axis=-1), "read/W"), "read/g"))
    state = g.op("Concat", *(g.op("Unsqueeze", each, g.ints(1)) for each in states), axis=1)
    outputs = {"logs": _logs(g, o), "next_state": (state, ("r", a.decoder_layers, a.state))}
    return outputs | ({"next_memory": (memory, ("r", a.state))} if a.cell == "mlstm" else {})


def _logs(g: _Graph, o: str) -> tuple[str, Shape]:
    p = g.weights.arrays
    vectors = g.array("output, transposed", p["embedding" if g.weights.architecture.tied else "output"].T)
    logs = g.op("LogSoftmax", g.add(g.op("MatMul", o, vectors), g.weight("output_bias")), axis=-1)
    return logs, ("r", len(p["output_bias"]))


# ---- transformers


def _placed(g: _Graph, symbols: str, table: str) -> str:
    a = g.weights.architecture
    vectors = g.op("Mul", g.embedded(symbols, table), g.array("scale", np.float32(np.sqrt(a.embedding))))
    known = g.array("positions", positions(LONGEST, a.embedding))
    n = g.op("Shape", symbols, start=1, end=2)
    return g.add(vectors, g.op("Slice", known, g.ints(0), n, g.ints(0)))


def _attended(g: _Graph, part: str, q: str, k: str, v: str, hidden: str) -> str:
    a = g.weights.architecture
    size = a.embedding // a.heads

    def split(x: str, last: bool = False) -> str:
        parts = g.op("Reshape", x, g.ints(0, 0, a.heads, size))
        return g.op("Transpose", parts, perm=[0, 2, 3, 1] if last else [0, 2, 1, 3])

    scores = g.op("Div", g.op("MatMul", split(q), split(k, last=True)), g.array("root", np.float32(np.sqrt(size))))
    found = g.op("MatMul", g.op("Softmax", g.add(scores, hidden), axis=-1), split(v))
    together = g.op("Reshape", g.op("Transpose", found, perm=[0, 2, 1, 3]), g.ints(0, 0, a.embedding))
    return _layer(g, f"{part}/O", together)


def _layer(g: _Graph, name: str, x: str) -> str:
    return g.add(g.product(x, name), g.weight(f"{name}/b"))


def _own(g: _Graph, part: str, x: str, hidden: str) -> str:
    made = _layer(g, f"{part}/QKV", g.normal(x, f"{part}/norm/g", f"{part}/norm/b"))
    q, k, v = g.op("Split", made, outputs=3, axis=-1, num_outputs=3)
    return g.add(x, _attended(g, part, q, k, v, hidden))


def _feed(g: _Graph, part: str, x: str) -> str:
    inside = g.op("Relu", _layer(g, f"{part}/W", g.normal(x, f"{part}/norm/g", f"{part}/norm/b")))
    return g.add(x, _layer(g, f"{part}/V", inside))


def _hidden(g: _Graph, seen: str) -> str:
    """0 where something is seen, -inf elsewhere."""
    return g.op("Where", seen, g.array("nothing", np.float32(0)), g.array("minus infinity", np.float32(-np.inf)))


def _transformer_encoder(g: _Graph, source: str, lengths: str) -> dict[str, tuple[str, Shape]]:
    a = g.weights.architecture
    hidden = _hidden(g, g.op("Unsqueeze", _real(g, source, lengths, axis=1), g.ints(1, 2)))
    x = _placed(g, source, "embedding" if a.tied else "source_embedding")
    for layer in range(1, a.encoder_layers + 1):
        x = _feed(g, f"encoder/{layer}/feed", _own(g, f"encoder/{layer}/self", x, hidden))
    return {"context": (g.normal(x, "encoder/norm/g", "encoder/norm/b"), ("b", "n", a.embedding))}


def _transformer_step(g: _Graph) -> dict[str, tuple[str, Shape]]:
    a = g.weights.architecture
    m = g.op("Squeeze", g.op("Shape", "symbols", start=1, end=2))
    places = g.op("Range", g.array("zero", np.int64(0)), m, g.array("one", np.int64(1)))
    before = g.op("LessOrEqual", g.op("Unsqueeze", places, g.ints(0)), g.op("Unsqueeze", places, g.ints(1)))
    causal = _hidden(g, before)
    first = g.op("Gather", "context", g.array("zero", np.int64(0)), axis=2)
    hidden = _hidden(g, g.op("Unsqueeze", _real(g, first, "lengths", axis=1), g.ints(1, 2)))
    x = _placed(g, "symbols", "embedding")
    for layer in range(1, a.decoder_layers + 1):
        part = f"decoder/{layer}"
        x = _own(g, f"{part}/self", x, causal)
        q = _layer(g, f"{part}/cross/Q", g.normal(x, f"{part}/cross/norm/g", f"{part}/cross/norm/b"))
        k, v = g.op("Split", _layer(g, f"{part}/cross/KV", "context"), outputs=2, axis=-1, num_outputs=2)
        x = g.add(x, _attended(g, f"{part}/cross", q, k, v, hidden))
        x = _feed(g, f"{part}/feed", x)
    last = g.op("Gather", x, g.array("last", np.int64(-1)), axis=1)
    o = g.normal(last, "decoder/norm/g", "decoder/norm/b")
    return {"logs": _logs(g, o)}


# ---- files


def _finished(g: _Graph, name: str, inputs: Mapping[str, tuple[Any, Shape]], outputs: Mapping[str, Any]) -> bytes:
    """A model, checked, as bytes."""
    helper, graph = g.onnx.helper, g.made(name, inputs, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    made.producer_name = "corpuscle"
    sides = {"source_symbols": g.weights.source, "symbols": g.weights.target}
    helper.set_model_props(made, {key: json.dumps(each.strings, ensure_ascii=False) for key, each in sides.items()})
    g.onnx.checker.check_model(made, full_check=True)
    return made.SerializeToString()


def encoder_file(path: str | PathLike[str]) -> Path:
    """Where the encoder goes whose decoder is the file ``path``: ``m.onnx`` -> ``m.encoder.onnx``."""
    path = Path(path)
    return path.with_name(f"{path.stem}.encoder{path.suffix or '.onnx'}")


def write_onnx(weights: Weights, path: str | PathLike[str]) -> tuple[Path, Path]:
    """Write a model: a step of its decoder to ``path``, its encoder to ``encoder_file(path)``; the two files."""
    onnx = require("onnx", extra="onnx")
    int64, float32 = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    recurrent = weights.architecture.recurrent
    g = _Graph(weights)
    inputs: dict[str, tuple[Any, Shape]] = {"source": (int64, ("b", "n")), "lengths": (int64, ("b",))}
    outputs = (_recurrent_encoder if recurrent else _transformer_encoder)(g, "source", "lengths")
    encoder = _finished(g, "encoder", inputs, outputs)
    g = _Graph(weights)
    inputs = {"symbols": (int64, ("r",) if recurrent else ("r", "m")), "lengths": (int64, ("r",))}
    inputs |= {name: (float32, ("r", *shape[1:])) for name, (_, shape) in outputs.items()}
    step = _finished(g, "step", inputs, (_recurrent_step if recurrent else _transformer_step)(g))
    for place, content in (encoder_file(path), encoder), (path, step):
        with write_atomically(place, "wb") as out:
            out.write(content)
    return Path(path), encoder_file(path)
