"""Beam search with a trained recurrent model as one writes it in PyTorch, or around a step in ONNX Runtime.

What ``corpuscle.neural.reference`` computes, for padded batches: hypotheses stay in their rows, ended or not, until the
last sentence of the batch has ended (``naive`` batching); with batches of one sentence, that is a sentence at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import layer_norm

from corpuscle.neural.reference import Weights
from corpuscle.text.vocab import END, START, UNKNOWN

__all__ = ["TorchModel", "search"]


def padded(sources: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """Symbols with END (b, n) and which of them are real."""
    longest = max(map(len, sources)) + 1
    symbols, real = np.zeros((len(sources), longest), np.int64), np.zeros((len(sources), longest), bool)
    for i, source in enumerate(sources):
        symbols[i, : len(source)], symbols[i, len(source)], real[i, : len(source) + 1] = source, END, True
    return torch.from_numpy(symbols), torch.from_numpy(real)


class TorchModel:
    """A GRU model: tensors by name."""

    def __init__(self, weights: Weights):
        self.p = {name: torch.from_numpy(np.array(array)) for name, array in weights.arrays.items()}
        self.a = weights.architecture

    def normal(self, x: torch.Tensor, gain: str) -> torch.Tensor:
        return layer_norm(x, x.shape[-1:], self.p[gain], None, 1e-5) if gain in self.p else x

    def cell(self, name: str, x: torch.Tensor | None, h: torch.Tensor) -> torch.Tensor:
        d = h.shape[-1]
        u = self.normal(h @ self.p[f"{name}/U"], f"{name}/gh")
        x = self.p[f"{name}/b"] if x is None else x + self.p[f"{name}/b"]
        reset = torch.sigmoid(x[..., :d] + u[..., :d])
        update = torch.sigmoid(x[..., d : 2 * d] + u[..., d : 2 * d])
        candidate = torch.tanh(x[..., 2 * d :] + reset * u[..., 2 * d :])
        return (1 - update) * candidate + update * h

    def encode(self, symbols: torch.Tensor, real: torch.Tensor) -> dict[str, torch.Tensor]:
        """Context and keys (b, n, ...), first states (b, layers, d)."""
        columns = []
        for column in "forward", "backward":
            below = self.p["embedding"][symbols]
            for layer in range(1, self.a.encoder_layers + 1):
                name = f"encoder/{column}/{layer}"
                X = self.normal(below @ self.p[f"{name}/1/W"], f"{name}/1/gx")
                h, states = X.new_zeros(len(symbols), self.a.state), [None] * symbols.shape[1]
                places = range(symbols.shape[1])
                for i in places if (layer % 2 == 1) == (column == "forward") else reversed(places):
                    new = self.cell(f"{name}/1", X[:, i], h)
                    for depth in range(2, self.a.encoder_depth + 1):
                        new = self.cell(f"{name}/{depth}", None, new)
                    h = states[i] = torch.where(real[:, i, None], new, h)
                below = torch.stack(states, 1) if layer == 1 else torch.stack(states, 1) + below
            columns.append(below)
        context = torch.cat(columns, -1)
        keys = self.normal(context @ self.p["attention/U"], "attention/gu") + self.p["attention/b"]
        mean = (context * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        first = torch.tanh(self.normal(mean @ self.p["start/W"], "start/g"))
        return {"context": context, "keys": keys, "first": first[:, None].repeat(1, self.a.decoder_layers, 1)}

    def step(
        self, read: dict[str, torch.Tensor], real: torch.Tensor, symbols: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (rows, V) and the next states (rows, layers, d)."""
        y = self.p["embedding"][symbols]
        h = self.cell("decoder/1/1", self.normal(y @ self.p["decoder/1/1/W"], "decoder/1/1/gx"), state[:, 0])
        query = self.normal(h @ self.p["attention/W"], "attention/gw")
        energy = (torch.tanh(read["keys"] + query[:, None]) @ self.p["attention/v"]).masked_fill(~real, -torch.inf)
        c = (torch.softmax(energy, -1)[:, None] @ read["context"])[:, 0]
        h = self.cell("decoder/1/2", self.normal(c @ self.p["decoder/1/2/W"], "decoder/1/2/gx"), h)
        for depth in range(3, self.a.base_depth + 1):
            h = self.cell(f"decoder/1/{depth}", None, h)
        states, q = [h], h
        for layer in range(2, self.a.decoder_layers + 1):
            name = f"decoder/{layer}"
            h = self.cell(f"{name}/1", self.normal(q @ self.p[f"{name}/1/W"], f"{name}/1/gx"), state[:, layer - 1])
            for depth in range(2, self.a.high_depth + 1):
                h = self.cell(f"{name}/{depth}", None, h)
            states.append(h)
            q = h + q
        o = torch.tanh(self.normal(torch.cat([y, q, c], -1) @ self.p["read/W"], "read/g"))
        return o @ self.p["embedding"].T + self.p["output_bias"], torch.stack(states, 1)


@torch.inference_mode()
def search(model: Any, sources: Sequence[np.ndarray], beam: int, step: Callable[..., Any] | None = None) -> list[Any]:
    """The best target of each source of one batch: (symbols, score). ``step`` in place of the model's."""
    step = step or model.step
    symbols, real = padded(sources)
    b, vocabulary = len(sources), len(model.p["output_bias"])
    read = model.encode(symbols, real)
    state = read.pop("first").repeat_interleave(beam, 0)
    read = {name: tensor.repeat_interleave(beam, 0) for name, tensor in read.items()}
    real = real.repeat_interleave(beam, 0)
    totals = torch.full((b, beam), -torch.inf)
    totals[:, 0] = 0
    limits = [3 * len(source) + 10 for source in sources]
    width, finished = torch.full((b,), beam), [[] for _ in sources]
    history = torch.zeros(b * beam, 0, dtype=torch.int64)
    last = torch.full((b * beam,), START)
    places = torch.arange(b)[:, None] * beam
    for length in range(1, max(limits) + 1):
        logits, state = step(read, real, last, state)
        logits[:, [UNKNOWN, START]] = -torch.inf
        logs = torch.log_softmax(logits, -1)
        totals, best = (totals.reshape(-1, 1) + logs).reshape(b, -1).topk(beam)
        totals[torch.arange(beam) >= width[:, None]] = -torch.inf
        parents, last = (places + best // vocabulary).reshape(-1), (best % vocabulary).reshape(-1)
        state, history = state[parents], torch.cat([history[parents], last[:, None]], 1)
        ended = (last.reshape(b, beam) == END) & (totals > -torch.inf)
        for i, j in ended.nonzero().tolist():
            finished[i].append((history[i * beam + j, :-1].tolist(), totals[i, j].item() / length))
        width -= ended.sum(1)
        totals[ended] = -torch.inf
        for i in [i for i, limit in enumerate(limits) if limit == length]:
            for j in (totals[i] > -torch.inf).nonzero().flatten().tolist():
                finished[i].append((history[i * beam + j].tolist(), totals[i, j].item() / length))
            totals[i] = -torch.inf
        if not (totals > -torch.inf).any():
            break
    return [max(each, key=lambda found: found[1]) for each in finished]
