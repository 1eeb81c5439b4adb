"""The forward pass in PyTorch, for training: whole batches, all positions that can be computed at once in one product.

What ``reference`` computes for one sequence, this computes for a batch of padded ones. Few large products instead of
many small ones: the three parts of a gate side by side, inputs of a layer times W for all positions before the loop
over positions, both columns of the encoder as one product, upper layers of the decoder and the output after the loop
of the layer below. Tensors are float32, or float64 where gradients are checked; in float32 the loops over GRUs with
layer normalisation are compiled (``fused``).

Grundkiewicz and Heafield, "Neural machine translation techniques for named entity transliteration", 2018; dropout with
one mask for a sequence: Gal and Ghahramani, "A theoretically grounded application of dropout in recurrent neural
networks", 2016. Notation: b sequences, n source and m target positions, d numbers of a state, e of an embedding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from corpuscle.errors import require
from corpuscle.neural import fused
from corpuscle.neural.reference import EPSILON, positions
from corpuscle.neural.settings import Architecture

torch: Any = require("torch", extra="neural")

Tensor = Any
Parameters = Mapping[str, Tensor]


class Batch(NamedTuple):
    """Padded sequences: ``sources`` int64 (b, n), symbols and END; ``inputs`` int64 (b, m), START and symbols; ``real``
    bool (b, n), which source positions are not padding."""

    sources: Tensor
    inputs: Tensor
    real: Tensor


Dropping = Callable[..., Tensor | None]
"""``drop(size, ...)`` gives a mask of that shape: 0 for what is dropped, 1 / (1 - share) for what stays, or None where
nothing is dropped; ``symbols=True`` by the share of symbols."""


def keep_all(*shape: int, symbols: bool = False) -> None:
    """No dropout, as in validation."""


def masked(x: Tensor, mask: Tensor | None) -> Tensor:
    """The numbers that dropout leaves; a mask with one axis less is the same for all positions."""
    if mask is None:
        return x
    return x * (mask if mask.dim() == x.dim() else mask.unsqueeze(-2))


class Cell(NamedTuple):
    """The parameters of one cell, or of the same cell of both columns, stacked (then vectors are (2, 1, size))."""

    U: Tensor
    b: Tensor
    gh: Tensor | None = None
    W: Tensor | None = None
    gx: Tensor | None = None
    Wm: Tensor | None = None
    Um: Tensor | None = None

    @classmethod
    def of(cls, p: Parameters, prefix: str) -> Cell:
        return cls(**{name: p[f"{prefix}/{name}"] for name in cls._fields if f"{prefix}/{name}" in p})

    @classmethod
    def both(cls, p: Parameters, suffix: str) -> Cell:
        """The cells of the forward and of the backward column."""
        one, other = (cls.of(p, f"encoder/{column}/{suffix}") for column in ("forward", "backward"))
        stacked = [None if a is None else torch.stack([a, b]) for a, b in zip(one, other, strict=True)]
        return cls(*(x.unsqueeze(1) if x is not None and x.dim() == 2 else x for x in stacked))

    def projected(self, x: Tensor) -> Tensor:
        """The part of the gates that depends on the input, with the bias, for whole sequences."""
        return normalised(x @ self.W, self.gx) + self.b

    def gru(self, projected: Tensor | None, h: Tensor, drop: Tensor | None) -> Tensor:
        """The next state; ``projected``: of the input, None for a transition."""
        d = h.shape[-1]
        gates, candidate = (self.b if projected is None else projected).split((2 * d, d), -1)
        own_gates, own_candidate = normalised(masked(h, drop) @ self.U, self.gh).split((2 * d, d), -1)
        reset, update = torch.sigmoid(gates + own_gates).chunk(2, -1)
        return torch.lerp(torch.tanh(torch.addcmul(candidate, reset, own_candidate)), h, update)

    def read(
        self, projected: Tensor, mixing: Tensor | None, h: Tensor, memory: Tensor, drop: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The next state and memory of a cell that reads; ``mixing``: of a multiplicative LSTM, the input times Wm."""
        if mixing is None:
            return self.gru(projected, h, drop), memory
        d = h.shape[-1]
        mixed = mixing * (masked(h, drop) @ self.Um)
        gates = projected + normalised(mixed @ self.U, self.gh)
        put, keep, out = torch.sigmoid(gates[..., : 3 * d]).chunk(3, -1)
        memory = keep * memory + put * torch.tanh(gates[..., 3 * d :])
        return out * torch.tanh(memory), memory


def normalised(x: Tensor, gain: Tensor | None) -> Tensor:
    """Layer normalisation over the last axis, x itself without a gain."""
    if gain is None:
        return x
    size, norm = (x.shape[-1],), torch.nn.functional.layer_norm
    if gain.dim() == 1:
        return norm(x, size, gain, None, EPSILON)
    return norm(x, size, None, None, EPSILON) * gain.reshape(gain.shape[:1] + (1,) * (x.dim() - 2) + size)


def forward(a: Architecture, p: Parameters, batch: Batch, drop: Dropping = keep_all) -> tuple[Tensor, Tensor]:
    """Logits (b, m, target_size) of what follows each input symbol, and the attention (b, m, n) over the source."""
    if not a.recurrent:
        return _transformer(a, p, batch, drop)
    vectors = _embedded(p["embedding" if a.tied else "source_embedding"], batch.sources, drop)
    context = _encoded(a, p, vectors, batch.real, drop)
    y = _embedded(p["embedding"], batch.inputs, drop)
    states, found, attention = _base(a, p, y, context, batch.real, drop)
    q = states
    for layer in range(2, a.decoder_layers + 1):
        x = torch.cat([q, found], -1) if a.high_context else q
        q = q + _layer(a, p, f"decoder/{layer}", x, _start(p, context, batch.real), drop)
    o = torch.tanh(normalised(torch.cat([y, q, found], -1) @ p["read/W"], p.get("read/g")))
    return _logits(a, p, o), attention


def _fused(a: Architecture, x: Tensor) -> bool:
    """Whether ``fused`` has the cells: GRUs with layer normalisation, in float32."""
    return a.cell == "gru" and a.layer_norm and x.dtype == torch.float32


def _embedded(matrix: Tensor, symbols: Tensor, drop: Dropping) -> Tensor:
    return masked(torch.nn.functional.embedding(symbols, matrix), drop(*symbols.shape, 1, symbols=True))


def _logits(a: Architecture, p: Parameters, o: Tensor) -> Tensor:
    return o @ p["embedding" if a.tied else "output"].T + p["output_bias"]


def _encoded(a: Architecture, p: Parameters, vectors: Tensor, real: Tensor, drop: Dropping) -> Tensor:
    """The context (b, n, 2d): both columns side by side, (2, b, n, size), the one that reads from the right
    mirrored. Padding, which then comes first, leaves states as they are."""
    below = torch.stack([vectors, vectors])
    for layer in range(1, a.encoder_layers + 1):
        from_right = 1 if layer % 2 else 0
        x = _mirrored(below, from_right)
        alive = torch.stack([real, real]).unsqueeze(-1)
        states = _both_columns(a, p, layer, x, _mirrored(alive, from_right), drop)
        states = _mirrored(states, from_right)
        below = states if layer == 1 else states + below
    return torch.cat([below[0], below[1]], -1)


def _mirrored(x: Tensor, column: int) -> Tensor:
    """Both columns, one of them from right to left."""
    parts = [x[0], x[1]]
    parts[column] = parts[column].flip(1)
    return torch.stack(parts)


def _both_columns(a: Architecture, p: Parameters, layer: int, x: Tensor, alive: Tensor, drop: Dropping) -> Tensor:
    """The states (2, b, n, d) of one layer of both columns, which read x (2, b, n, size) from left to right."""
    _, b, n, size = x.shape
    cells = [Cell.both(p, f"{layer}/{depth}") for depth in range(1, a.encoder_depth + 1)]
    first, masks = cells[0], [drop(2, b, a.state) for _ in cells]
    flat = masked(x, drop(2, b, size)).reshape(2, b * n, size)
    inputs = first.projected(flat).reshape(2, b, n, -1)
    if _fused(a, x):
        start = x.new_zeros(2, b, a.state)
        living = alive.squeeze(-1).permute(2, 0, 1).contiguous()
        return fused.layer(cells, inputs.permute(2, 0, 1, 3), start, living, masks).permute(1, 2, 0, 3)
    projected = inputs.unbind(2)
    mixing = [None] * n if first.Wm is None else (flat @ first.Wm).reshape(2, b, n, -1).unbind(2)
    h = memory = x.new_zeros(2, b, a.state)
    padded = (~alive).any(dim=0).any(dim=0).flatten().tolist()
    states = []
    for i in range(n):
        before, kept = h, memory
        h, memory = first.read(projected[i], mixing[i], h, memory, masks[0])
        for cell, mask in zip(cells[1:], masks[1:], strict=True):
            h = cell.gru(None, h, mask)
        if padded[i]:
            h = torch.where(alive[:, :, i], h, before)
            memory = memory if first.Wm is None else torch.where(alive[:, :, i], memory, kept)
        states.append(h)
    return torch.stack(states, 2)


def _start(p: Parameters, context: Tensor, real: Tensor) -> Tensor:
    """The first states of the decoder, (b, d): from the mean over real positions."""
    share = real / real.sum(1, keepdim=True)
    mean = (share.unsqueeze(1).to(context.dtype) @ context).squeeze(1)
    return torch.tanh(normalised(mean @ p["start/W"], p.get("start/g")))


def _base(
    a: Architecture, p: Parameters, y: Tensor, context: Tensor, real: Tensor, drop: Dropping
) -> tuple[Tensor, Tensor, Tensor]:
    """The first layer of the decoder: states (b, m, d), what the attention found (b, m, 2d), and its shares."""
    b, m, size = y.shape
    cells = [Cell.of(p, f"decoder/1/{depth}") for depth in range(1, a.base_depth + 1)]
    first, second = cells[:2]
    masks = [drop(b, a.state) for _ in cells]
    flat = masked(y, drop(b, size))
    inputs = first.projected(flat)
    keys = normalised(context @ p["attention/U"], p.get("attention/gu")) + p["attention/b"]
    drop_found = drop(b, 2 * a.state)
    h = _start(p, context, real)
    if _fused(a, y):
        attention = [p[f"attention/{name}"] for name in ("W", "gw", "v")]
        made = fused.base(cells, inputs.transpose(0, 1), h, keys, context, real, drop_found, masks, attention)
        return tuple(part.transpose(0, 1) for part in made)
    projected = inputs.unbind(1)
    mixing = [None] * m if first.Wm is None else (flat @ first.Wm).unbind(1)
    hidden = torch.zeros_like(real, dtype=y.dtype).masked_fill_(~real, -math.inf).unsqueeze(1)
    memory = torch.zeros_like(h)
    states, found, shares = [], [], []
    for j in range(m):
        h, memory = first.read(projected[j], mixing[j], h, memory, masks[0])
        query = normalised(h @ p["attention/W"], p.get("attention/gw")).unsqueeze(1)
        scores = (torch.tanh(keys + query) @ p["attention/v"]).unsqueeze(1)
        share = torch.softmax(scores + hidden, -1)
        c = (share @ context).squeeze(1)
        h = second.gru(second.projected(masked(c, drop_found)), h, masks[1])
        for cell, mask in zip(cells[2:], masks[2:], strict=True):
            h = cell.gru(None, h, mask)
        states.append(h)
        found.append(c)
        shares.append(share)
    return torch.stack(states, 1), torch.stack(found, 1), torch.cat(shares, 1)


def _layer(a: Architecture, p: Parameters, prefix: str, x: Tensor, h: Tensor, drop: Dropping) -> Tensor:
    """The states (b, m, d) of an upper layer of the decoder, which reads x (b, m, size)."""
    b, m, size = x.shape
    cells = [Cell.of(p, f"{prefix}/{depth}") for depth in range(1, a.high_depth + 1)]
    masks = [drop(b, a.state) for _ in cells]
    inputs = cells[0].projected(masked(x, drop(b, size)))
    if _fused(a, x):
        alive = torch.ones(m, 1, b, dtype=torch.bool)
        grouped = [None if own is None else own.unsqueeze(0) for own in masks]
        rows = inputs.transpose(0, 1).unsqueeze(1)
        return fused.layer(cells, rows, h.unsqueeze(0), alive, grouped).squeeze(1).transpose(0, 1)
    states = []
    for x in inputs.unbind(1):
        for cell, own in zip(cells, masks, strict=True):
            h, x = cell.gru(x, h, own), None
        states.append(h)
    return torch.stack(states, 1)


def _transformer(a: Architecture, p: Parameters, batch: Batch, drop: Dropping) -> tuple[Tensor, Tensor]:
    """Layers of attention; dropout on what each part adds, with one mask for a sequence."""
    b, m = batch.inputs.shape

    def embedded(matrix: Tensor, symbols: Tensor) -> Tensor:
        place = torch.from_numpy(positions(symbols.shape[1], a.embedding)).to(matrix.dtype)
        return _embedded(matrix, symbols, drop) * math.sqrt(a.embedding) + place

    def dropped(x: Tensor) -> Tensor:
        return masked(x, drop(b, a.embedding))

    real = batch.real[:, None, None, :]
    x = embedded(p["embedding" if a.tied else "source_embedding"], batch.sources)
    for layer in range(1, a.encoder_layers + 1):
        part = f"encoder/{layer}"
        x = x + dropped(_attended(a, p, f"{part}/self", x, None, real)[0])
        x = x + dropped(_feed(p, f"{part}/feed", x))
    context = _norm(p, "encoder/norm", x)
    before = torch.ones(m, m, dtype=torch.bool).tril()[None, None]
    y, shares = embedded(p["embedding"], batch.inputs), context
    for layer in range(1, a.decoder_layers + 1):
        part = f"decoder/{layer}"
        y = y + dropped(_attended(a, p, f"{part}/self", y, None, before)[0])
        found, shares = _attended(a, p, f"{part}/cross", y, context, real)
        y = y + dropped(found)
        y = y + dropped(_feed(p, f"{part}/feed", y))
    return _logits(a, p, _norm(p, "decoder/norm", y)), shares.mean(1)


def _norm(p: Parameters, part: str, x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), p[f"{part}/g"], p[f"{part}/b"], EPSILON)


def _feed(p: Parameters, part: str, x: Tensor) -> Tensor:
    inside = torch.relu(_norm(p, f"{part}/norm", x) @ p[f"{part}/W"] + p[f"{part}/W/b"])
    return inside @ p[f"{part}/V"] + p[f"{part}/V/b"]


def _attended(
    a: Architecture, p: Parameters, part: str, x: Tensor, context: Tensor | None, seen: Tensor
) -> tuple[Tensor, Tensor]:
    """What the heads find for every position of x, in x itself or in a context; and their shares (b, heads, m, n)."""
    inside = _norm(p, f"{part}/norm", x)
    if context is None:
        q, k, v = (inside @ p[f"{part}/QKV"] + p[f"{part}/QKV/b"]).chunk(3, -1)
    else:
        q = inside @ p[f"{part}/Q"] + p[f"{part}/Q/b"]
        k, v = (context @ p[f"{part}/KV"] + p[f"{part}/KV/b"]).chunk(2, -1)
    q, k, v = (side.unflatten(-1, (a.heads, -1)).transpose(1, 2) for side in (q, k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    shares = torch.softmax(scores.masked_fill(~seen, -math.inf), -1)
    found = (shares @ v).transpose(1, 2).flatten(-2)
    return found @ p[f"{part}/O"] + p[f"{part}/O/b"], shares
