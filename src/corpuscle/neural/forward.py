"""The forward pass over many sentences and hypotheses at once, without PyTorch; ``reference`` says what is computed.

**Recurrent models**: what does not change while a model is applied is computed when it is loaded: the products of all
embeddings with the input matrix of a cell, normalised and with its bias, are a table whose rows are looked up. What
does not change while a sentence is written is computed when it is read: the keys of the attention, and the products of
the sentence's vectors with every matrix that would multiply what attention finds (cells that read it, and the layer
before the output).

The encoder has no padding: sentences are sorted by length, positions stand in order of time, and at each time those
that have not ended are the first rows.

**Transformers**: the keys and values of all symbols written so far stand in one store; a hypothesis is the list of its
places there, and nothing moves when hypotheses are chosen. When the store is full, what no hypothesis needs any more is
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.neural.kernels.cells import attend, gru, heads, mix, mlstm, normalise, powers, read
from corpuscle.neural.kernels.products import Matrix
from corpuscle.neural.reference import Weights, positions
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.vocab import END

NONE = frozen(np.zeros(0), np.float32)
"""No gain, no bias."""

State = tuple[np.ndarray, ...]
"""What a decoder carries along, a row for each hypothesis."""


def numbers(weights: Weights, name: str) -> np.ndarray:
    """A vector of a model as kernels take it, wherever it comes from; none if the model has none."""
    return frozen(weights.arrays[name], np.float32) if name in weights.arrays else NONE


class Batch(NamedTuple):
    """Sentences to read: ``symbols`` int32, one after the other, END included; ``starts`` (n_sentences + 1,) int64."""

    symbols: np.ndarray
    starts: np.ndarray

    @classmethod
    def ended(cls, sequences: Sequence[np.ndarray]) -> Batch:
        """Some sequences together, END after each."""
        starts, symbols = starts_of(map(len, sequences)), np.concatenate([*sequences, np.zeros(0)]).astype(np.int32)
        return cls(np.insert(symbols, starts[1:], END), starts + np.arange(len(starts)))


class Encoded(NamedTuple):
    """Sentences that have been read: ``starts`` (n_sentences + 1,) int64; ``kept``: arrays with a row per position."""

    starts: np.ndarray
    kept: tuple[np.ndarray, ...]

    def only(self, sentences: np.ndarray) -> Encoded:
        places, starts = items_of(self.starts, sentences)
        return Encoded(starts, tuple(array[places] for array in self.kept))

    def joined(self, more: Encoded) -> Encoded:
        starts = np.concatenate([self.starts, more.starts[1:] + self.starts[-1]])
        return Encoded(starts, tuple(np.concatenate(pair) for pair in zip(self.kept, more.kept, strict=True)))


def stacked(above: State, below: State) -> State:
    """Rows below rows; where one side has more columns, the other gets some."""

    def wide(array: np.ndarray, columns: int) -> np.ndarray:
        return np.pad(array, ((0, 0), (0, columns - array.shape[1]))) if array.ndim > 1 else array

    columns = [max(a.shape[-1], b.shape[-1]) for a, b in zip(above, below, strict=True)]
    sides = zip(above, below, columns, strict=True)
    return tuple(np.concatenate([wide(a, width), wide(b, width)]) for a, b, width in sides)


class Buffers:
    """Room for the arrays of a step, made once for the largest number of rows so far; one for each thread. ``kept``:
    what a network keeps from step to step."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.kept: dict[str, Any] = {}

    def __call__(self, name: str, rows: int, columns: int) -> np.ndarray:
        """A float32 array (rows, columns) under a name; its content is that of its last use."""
        size = rows * columns
        if name not in self.arrays or self.arrays[name].size < size:
            self.arrays[name] = np.empty(size + size // 4, np.float32)
        return self.arrays[name][:size].reshape(rows, columns)


TABLE_BYTES = 1 << 26
"""Products with all embeddings are kept ready if they take no more than this."""


class _Inputs:
    """What a cell makes of symbols: X = E[symbol] W, normalised, with the bias; a table if that is not too large."""

    def __init__(self, embeddings: np.ndarray, matrix: np.ndarray, gain: np.ndarray, bias: np.ndarray):
        self.embeddings, self.matrix, self.gain, self.bias = embeddings, matrix, gain, bias
        self.table = None
        if len(embeddings) * matrix.shape[1] * 4 <= TABLE_BYTES:
            self.table = self._made(embeddings)

    def _made(self, vectors: np.ndarray) -> np.ndarray:
        made = vectors @ self.matrix
        normalise(made, self.gain, self.bias)
        return made

    def __call__(self, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows, and which of them belongs to each symbol (n,)."""
        if self.table is not None:
            return self.table, symbols
        different, places = np.unique(symbols, return_inverse=True)
        return self._made(self.embeddings[different]), places.astype(np.int32)


class _Cell:
    """A GRU or multiplicative LSTM: its matrices, ready for use."""

    def __init__(self, weights: Weights, prefix: str, matrix: type[Matrix]):
        arrays = weights.arrays
        self.name = prefix
        self.U, self.b = matrix(arrays[f"{prefix}/U"]), numbers(weights, f"{prefix}/b")
        self.gx, self.gh = numbers(weights, f"{prefix}/gx"), numbers(weights, f"{prefix}/gh")
        self.W = matrix(arrays[f"{prefix}/W"]) if f"{prefix}/W" in arrays else None
        self.Um = matrix(arrays[f"{prefix}/Um"]) if f"{prefix}/Um" in arrays else None
        self.Wm = arrays.get(f"{prefix}/Wm", NONE)
        self.alone = self.b[None].copy()

    def read(self, x: np.ndarray, room: Buffers, place: str) -> np.ndarray:
        """X of inputs (rows, n_in), normalised, with the bias."""
        assert self.W is not None
        X = self.W(x, room(place, len(x), self.W.outputs))
        normalise(X, self.gx, self.b)
        return X

    def next(
        self, inputs: tuple[np.ndarray, np.ndarray] | None, h: np.ndarray, room: Buffers,
        mixers: np.ndarray | None = None, memory: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Change states h to those of a GRU after inputs (X, its row for each state), or of a transition without; with
        ``mixers`` x Wm (rows, d), h and ``memory`` to those of a multiplicative LSTM."""
        X, places = inputs if inputs is not None else (self.alone, np.zeros(len(h), np.int32))
        products = room("products", len(h), self.U.outputs)
        if mixers is None:
            gru(X, places, self.U(h, products), self.gh, h)
        else:
            assert self.Um is not None
            mixed = self.Um(h, room("mixed", *h.shape))
            mixed *= mixers
            mlstm(X, places, self.U(mixed, products), self.gh, memory, h)


class Recurrent:
    """BiDeep GRU models and multiplicative LSTMs."""

    def __init__(self, weights: Weights, matrix: type[Matrix]):
        p, a = weights.arrays, weights.architecture
        self.architecture, d = a, a.state
        self.embedding = p["embedding"]
        sources = p["embedding" if a.tied else "source_embedding"]

        def cells(layer: str, depth: int) -> list[_Cell]:
            return [_Cell(weights, f"{layer}/{cell}", matrix) for cell in range(1, depth + 1)]

        def inputs(cell: _Cell, embeddings: np.ndarray) -> tuple[_Inputs, _Inputs | None]:
            first = _Inputs(embeddings, p[f"{cell.name}/W"], cell.gx, cell.b)
            return first, _Inputs(embeddings, cell.Wm, NONE, NONE) if cell.Wm.size else None

        self.columns = [
            [cells(f"encoder/{column}/{layer}", a.encoder_depth) for layer in range(1, a.encoder_layers + 1)]
            for column in ("forward", "backward")
        ]
        self.source_inputs = [inputs(column[0][0], sources) for column in self.columns]
        self.base = cells("decoder/1", a.base_depth)
        self.inputs = inputs(self.base[0], self.embedding)
        self.higher = [cells(f"decoder/{layer}", a.high_depth) for layer in range(2, a.decoder_layers + 1)]
        self.start, self.start_gain = p["start/W"], numbers(weights, "start/g")
        self.Ua, self.gu, self.ba = p["attention/U"], numbers(weights, "attention/gu"), numbers(weights, "attention/b")
        self.Wa, self.gw = matrix(p["attention/W"]), numbers(weights, "attention/gw")
        self.v = numbers(weights, "attention/v")
        e = a.embedding
        symbol, state, context = np.split(p["read/W"], [e, e + d])
        self.read_symbol = _Inputs(self.embedding, symbol, NONE, NONE)
        self.read_state, self.read_gain = matrix(state), numbers(weights, "read/g")
        upper = [p[f"{cells[0].name}/W"] for cells in self.higher] if a.high_context else []
        self.higher_inputs = [matrix(whole[:d]) for whole in upper]
        self.found = [p["decoder/1/2/W"], context, *(whole[d:] for whole in upper)]

    # ---- the encoder

    def encode(self, batch: Batch, room: Buffers, limits: np.ndarray) -> tuple[Encoded, State]:
        """Read sentences, and the state before the first step, arrays with a row for each sentence; ``limits``: how
        long what is written for each may become."""
        starts, lengths = batch.starts, np.diff(batch.starts)
        order = np.argsort(-lengths, kind="stable")
        there = np.searchsorted(-lengths[order], -np.arange(lengths.max(initial=0)), side="left")
        begins = starts_of(there)
        # Where each position of the batch stands in order of time.
        time = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        places = begins[time] + np.repeat(np.argsort(order), lengths)
        symbols = np.empty_like(batch.symbols)
        symbols[places] = batch.symbols
        columns = [self._column(number, symbols, there, begins, room) for number in range(2)]
        context = np.concatenate(columns, axis=1)[places]
        keys = context @ self.Ua
        normalise(keys, self.gu, self.ba)
        powers(keys)
        first = np.add.reduceat(context, starts[:-1], axis=0) / lengths[:, None].astype(np.float32) @ self.start
        normalise(first, self.start_gain, NONE)
        first = np.tanh(first)
        state = [first.copy() for _ in range(self.architecture.decoder_layers)]
        if self.architecture.cell == "mlstm":
            state.append(np.zeros_like(first))
        return Encoded(starts, (keys, *(context @ matrix for matrix in self.found))), tuple(state)

    def _column(
        self, number: int, symbols: np.ndarray, there: np.ndarray, begins: np.ndarray, room: Buffers
    ) -> np.ndarray:
        """The states (n_positions, d) of a column's last layer with what is below, in order of time."""
        d, n = self.architecture.state, len(symbols)
        below = np.zeros((n, d), np.float32)
        for layer, cells in enumerate(self.columns[number]):
            first = cells[0]
            if layer == 0:
                gates, mixing = self.source_inputs[number]
                (X, places), mixed = gates(symbols), None if mixing is None else _rows(mixing(symbols))
            else:
                X, places = first.read(below, room, "layer"), np.arange(n, dtype=np.int32)
                mixed = below @ first.Wm if first.Wm.size else None
            h = np.zeros((there[0], d), np.float32)
            memory = np.zeros_like(h)
            states = np.empty((n, d), np.float32)
            forward = (layer % 2 == 0) == (number == 0)
            for i in range(len(there)) if forward else range(len(there) - 1, -1, -1):
                now, inside = slice(begins[i], begins[i + 1]), slice(0, there[i])
                mixers = None if mixed is None else mixed[now]
                first.next((X, places[now]), h[inside], room, mixers, memory[inside])
                for cell in cells[1:]:
                    cell.next(None, h[inside], room)
                states[now] = h[inside]
            below = states if layer == 0 else states + below
        return below

    # ---- the decoder

    def step(
        self, encoded: Encoded, sentences: np.ndarray, symbols: np.ndarray, state: State, room: Buffers
    ) -> tuple[np.ndarray, State]:
        """The vectors (rows, embedding) before the output layer and the states after a symbol of each row, int32
        (rows,) each, for the sentence that it belongs to. The given states are overwritten."""
        a, rows, d = self.architecture, len(symbols), self.architecture.state
        keys, *values = encoded.kept
        gates, mixing = self.inputs
        h, every = state[0], np.arange(rows, dtype=np.int32)
        mixers = None if mixing is None else _rows(mixing(symbols))
        self.base[0].next(gates(symbols), h, room, mixers, state[-1])
        queries = self.Wa(h, room("queries", rows, a.attention))
        shares = room("shares", rows, int(np.diff(encoded.starts).max()))
        attend(queries, self.gw, self.v, keys, encoded.starts, sentences, shares)
        found = [room(f"found {i}", rows, each.shape[1]) for i, each in enumerate(values)]
        for value, out in zip(values, found, strict=True):
            mix(shares, value, encoded.starts, sentences, out)
        normalise(found[0], self.base[1].gx, self.base[1].b)
        self.base[1].next((found[0], every), h, room)
        for cell in self.base[2:]:
            cell.next(None, h, room)
        q = h
        for layer, cells in enumerate(self.higher):
            if a.high_context:
                X = self.higher_inputs[layer](q, room("layer", rows, 3 * d))
                X += found[2 + layer]
                normalise(X, cells[0].gx, cells[0].b)
            else:
                X = cells[0].read(q, room, "layer")
            h = state[layer + 1]
            cells[0].next((X, every), h, room)
            for cell in cells[1:]:
                cell.next(None, h, room)
            q = h + q
        hidden = self.read_state(q, room("hidden", rows, a.embedding))
        read(hidden, *self.read_symbol(symbols), found[1], self.read_gain)
        return hidden, state


def _rows(found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    table, places = found
    return table[places]


class _Layer:
    """A product with its bias."""

    def __init__(self, weights: Weights, name: str, matrix: type[Matrix]):
        self.matrix, self.bias = matrix(weights.arrays[name]), weights.arrays[f"{name}/b"]

    def __call__(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        self.matrix(x, out)
        out += self.bias
        return out


class _Part:
    """Attention or a feed-forward net, with the normalisation before it."""

    def __init__(self, weights: Weights, name: str, matrix: type[Matrix], *layers: str):
        self.gain, self.bias = (numbers(weights, f"{name}/norm/{each}") for each in "gb")
        self.layers = [_Layer(weights, f"{name}/{layer}", matrix) for layer in layers]

    def normal(self, x: np.ndarray, room: Buffers) -> np.ndarray:
        out = room("normal", *x.shape)
        out[:] = x
        normalise(out, self.gain, self.bias)
        return out


class Store:
    """Keys and values of symbols written so far: ``pairs`` (n_layers, capacity, 2e), of which ``used`` are in use."""

    FIRST = 1024

    def __init__(self, n_layers: int, size: int):
        self.pairs, self.used = np.empty((n_layers, self.FIRST, 2 * size), np.float32), 0

    def claim(self, rows: int, slots: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """``rows`` free places, int32. ``slots`` (n, longest), of which the first ``counts`` (n,) of each
        row are in use, is brought up to date when others move."""
        if self.used + rows > self.pairs.shape[1]:
            there = np.arange(slots.shape[1]) < counts[:, None]
            kept = np.unique(slots[there])
            slots[there] = np.searchsorted(kept, slots[there])
            self.used = len(kept)
            pairs = self.pairs
            if 2 * (self.used + rows) > pairs.shape[1]:
                pairs = np.empty((len(pairs), 4 * (self.used + rows), pairs.shape[2]), np.float32)
            pairs[:, : self.used] = self.pairs[:, kept]
            self.pairs = pairs
        self.used += rows
        return np.arange(self.used - rows, self.used, dtype=np.int32)


class Transformer:
    """Encoder and decoder of the transformer, normalisation first."""

    def __init__(self, weights: Weights, matrix: type[Matrix]):
        p, a = weights.arrays, weights.architecture
        self.architecture = a
        scale = np.float32(np.sqrt(a.embedding))
        self.target = p["embedding"] * scale
        self.source = self.target if a.tied else p["source_embedding"] * scale

        def parts(layer: str) -> list[_Part]:
            own, feed = ("self", "QKV", "O"), ("feed", "W", "V")
            return [_Part(weights, f"{layer}/{name}", matrix, *layers) for name, *layers in (own, feed)]

        self.encoder = [parts(f"encoder/{layer}") for layer in range(1, a.encoder_layers + 1)]
        names = [f"decoder/{layer}" for layer in range(1, a.decoder_layers + 1)]
        self.decoder = [parts(name) for name in names]
        self.cross = [_Part(weights, f"{name}/cross", matrix, "Q", "O", "KV") for name in names]
        sides = ("encoder", "decoder")
        self.norms = {side: [numbers(weights, f"{side}/norm/{each}") for each in "gb"] for side in sides}
        self.places = positions(256, a.embedding)

    def _places(self, longest: int) -> np.ndarray:
        if longest > len(self.places):
            self.places = positions(2 * longest, self.architecture.embedding)
        return self.places

    def _feed(self, part: _Part, x: np.ndarray, room: Buffers) -> None:
        """Add what a feed-forward net makes of x."""
        wide, narrow = part.layers
        inside = wide(part.normal(x, room), room("inside", len(x), wide.bias.size))
        np.maximum(inside, 0, out=inside)
        x += narrow(inside, room("found", *x.shape))

    def _look(
        self, part: _Part, x: np.ndarray, queries: np.ndarray, pairs: np.ndarray, seen: tuple[np.ndarray, ...],
        room: Buffers,
    ) -> None:  # fmt: skip
        """Add what attention finds among ``pairs``; ``seen``: places, which of their rows is whose, counts."""
        places, which, counts = seen
        shares = room("shares", self.architecture.heads, places.shape[1])
        heads(queries, pairs, places, which, counts, shares, room("found", *x.shape))
        x += part.layers[1](room("found", *x.shape), room("normal", *x.shape))

    def _own(self, part: _Part, x: np.ndarray, room: Buffers) -> tuple[np.ndarray, np.ndarray]:
        """Queries, and keys with values, of a layer's own vectors."""
        e = self.architecture.embedding
        made = part.layers[0](part.normal(x, room), room("own", len(x), 3 * e))
        queries, pairs = room("queries", len(x), e), room("pairs", len(x), 2 * e)
        queries[:], pairs[:] = made[:, :e], made[:, e:]
        return queries, pairs

    def encode(self, batch: Batch, room: Buffers, limits: np.ndarray) -> tuple[Encoded, State]:
        starts, lengths = batch.starts, np.diff(batch.starts)
        sentence = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        time = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        seen = (_ranges(starts), sentence, lengths.astype(np.int32))
        x = self.source[batch.symbols] + self._places(int(lengths.max(initial=1)))[time]
        for own, feed in self.encoder:
            queries, pairs = self._own(own, x, room)
            self._look(own, x, queries, pairs, seen, room)
            self._feed(feed, x, room)
        normalise(x, *self.norms["encoder"])
        wide = [part.layers[2] for part in self.cross]
        kept = tuple(keys(x, np.empty((len(x), keys.bias.size), np.float32)) for keys in wide)
        slots = np.zeros((len(lengths), int(limits.max(initial=1))), np.int32)
        return Encoded(starts, kept), (slots, np.zeros(len(lengths), np.int32))

    def step(
        self, encoded: Encoded, sentences: np.ndarray, symbols: np.ndarray, state: State, room: Buffers
    ) -> tuple[np.ndarray, State]:
        a, rows = self.architecture, len(symbols)
        slots, counts = state
        store = room.kept.setdefault("store", Store(a.decoder_layers, a.embedding))
        new = store.claim(rows, slots, counts)
        every = np.arange(rows, dtype=np.int32)
        slots[every, counts] = new
        x = self.target[symbols] + self._places(int(counts.max(initial=0)) + 1)[counts]
        counts = counts + np.int32(1)
        source = (_ranges(encoded.starts), sentences, np.diff(encoded.starts).astype(np.int32))
        for layer, (own, feed) in enumerate(self.decoder):
            queries, pairs = self._own(own, x, room)
            store.pairs[layer, new] = pairs
            self._look(own, x, queries, store.pairs[layer], (slots, every, counts), room)
            cross = self.cross[layer]
            queries = cross.layers[0](cross.normal(x, room), room("queries", *x.shape))
            self._look(cross, x, queries, encoded.kept[layer], source, room)
            self._feed(feed, x, room)
        normalise(x, *self.norms["decoder"])
        return x, (slots, counts)


def _ranges(starts: np.ndarray) -> np.ndarray:
    """The positions of every sentence, (n_sentences, longest) int32; what is beyond its end is not looked at."""
    longest = int(np.diff(starts).max(initial=0))
    return (starts[:-1, None] + np.arange(longest)).astype(np.int32)


Network = Recurrent | Transformer


def network(weights: Weights, matrix: type[Matrix] = Matrix) -> Network:
    """The forward pass of some weights; ``matrix`` does its large products."""
    return (Recurrent if weights.architecture.recurrent else Transformer)(weights, matrix)
