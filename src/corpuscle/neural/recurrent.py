"""The forward pass of recurrent models over many sentences and hypotheses at once.

What does not change while a model is applied is computed when it is loaded: the products of all embeddings with the
input matrix of a cell, normalised and with its bias, are a table whose rows are looked up. What does not change while
a sentence is written is computed when it is read: the keys of the attention, and the products of the sentence's
vectors with every matrix that would multiply what attention finds (cells that read it, and the layer before the
output).

The encoder has no padding: sentences are sorted by length, positions stand in order of time, and at each time those
that are still there are the first so many rows.
"""

from __future__ import annotations

import numpy as np

from corpuscle.neural.forward import NONE, Batch, Buffers, Encoded, State, numbers
from corpuscle.neural.kernels.cells import attend, gru, mix, mlstm, normalise, powers, read
from corpuscle.neural.kernels.products import Matrix
from corpuscle.neural.weights import Weights

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

    def next(self, inputs: tuple[np.ndarray, np.ndarray] | None, h: np.ndarray, room: Buffers) -> None:
        """Change states h to those of a GRU after inputs (X, its row for each state), or of a transition without."""
        products = self.U(h, room("products", len(h), self.U.outputs))
        X, places = inputs if inputs is not None else (self.alone, np.zeros(len(h), np.int32))
        gru(X, places, products, self.gh, h)

    def next_long(
        self,
        inputs: tuple[np.ndarray, np.ndarray],
        mixers: np.ndarray,
        h: np.ndarray,
        memory: np.ndarray,
        room: Buffers,
    ) -> None:
        """Change states h and memory to those of a multiplicative LSTM; ``mixers`` (rows, d): x Wm."""
        assert self.Um is not None
        mixed = self.Um(h, room("mixed", *h.shape))
        mixed *= mixers
        X, places = inputs
        mlstm(X, places, self.U(mixed, room("products", len(h), self.U.outputs)), self.gh, memory, h)


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

    def encode(self, batch: Batch, room: Buffers, limits: np.ndarray) -> Encoded:
        """Read sentences."""
        starts, lengths = batch.starts, np.diff(batch.starts)
        order = np.argsort(-lengths, kind="stable")
        there = np.searchsorted(-lengths[order], -np.arange(lengths.max(initial=0)), side="left")
        begins = np.concatenate([[0], np.cumsum(there)])
        # Where each position of the batch stands in order of time.
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        time = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        places = begins[time] + np.repeat(rank, lengths)
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
        return Encoded(starts, (keys, *(context @ matrix for matrix in self.found)), tuple(state))

    def _column(
        self, number: int, symbols: np.ndarray, there: np.ndarray, begins: np.ndarray, room: Buffers
    ) -> np.ndarray:
        """The states (n_positions, d) of a column's last layer with what is below, in order of time."""
        d, n = self.architecture.state, len(symbols)
        below = np.zeros((n, d), np.float32)
        for layer, cells in enumerate(self.columns[number]):
            first = cells[0]
            if layer == 0:
                gates, mixers = self.source_inputs[number]
                X, places = gates(symbols)
                mixed = None if mixers is None else _rows(mixers(symbols))
            else:
                X, places = first.read(below, room, "layer"), np.arange(n, dtype=np.int32)
                mixed = below @ first.Wm if first.Wm.size else None
            h = np.zeros((there[0], d), np.float32)
            memory = np.zeros_like(h)
            states = np.empty((n, d), np.float32)
            forward = (layer % 2 == 0) == (number == 0)
            for i in range(len(there)) if forward else range(len(there) - 1, -1, -1):
                now, inside = slice(begins[i], begins[i + 1]), slice(0, there[i])
                if mixed is None:
                    first.next((X, places[now]), h[inside], room)
                else:
                    first.next_long((X, places[now]), mixed[now], h[inside], memory[inside], room)
                for cell in cells[1:]:
                    cell.next(None, h[inside], room)
                states[now] = h[inside]
            below = states if layer == 0 else states + below
        return below

    # ---- the decoder

    def step(
        self, encoded: Encoded, sentences: np.ndarray, symbols: np.ndarray, state: State, room: Buffers
    ) -> tuple[np.ndarray, State]:
        """One step of the decoder, see ``Network``."""
        a, rows, d = self.architecture, len(symbols), self.architecture.state
        keys, *values = encoded.kept
        gates, mixers = self.inputs
        every = np.arange(rows, dtype=np.int32)
        h = state[0]
        if mixers is None:
            self.base[0].next(gates(symbols), h, room)
        else:
            self.base[0].next_long(gates(symbols), _rows(mixers(symbols)), h, state[-1], room)
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
