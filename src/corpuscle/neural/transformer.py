"""The forward pass of transformers over many sentences and hypotheses at once.

The keys and values of all symbols written so far stand in one store; a hypothesis is the list of its places there,
and nothing moves when hypotheses are chosen. When the store is full, what no hypothesis needs any more is left out.
"""

from __future__ import annotations

import numpy as np

from corpuscle.neural.forward import Batch, Buffers, Encoded, State, numbers
from corpuscle.neural.kernels.cells import heads, normalise
from corpuscle.neural.kernels.products import Matrix
from corpuscle.neural.reference import positions
from corpuscle.neural.weights import Weights


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
        """x, normalised."""
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
        """``rows`` places that nobody uses, int32. ``slots`` (n, longest), of which the first ``counts`` (n,) of each
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
        self.decoder = [parts(f"decoder/{layer}") for layer in range(1, a.decoder_layers + 1)]
        self.cross = [
            _Part(weights, f"decoder/{layer}/cross", matrix, "Q", "O", "KV") for layer in range(1, a.decoder_layers + 1)
        ]
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

    def encode(self, batch: Batch, room: Buffers, limits: np.ndarray) -> Encoded:
        """Read sentences."""
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
        kept = []
        for part in self.cross:
            keys = part.layers[2]
            kept.append(keys(x, np.empty((len(x), keys.bias.size), np.float32)))
        slots = np.zeros((len(lengths), int(limits.max(initial=1))), np.int32)
        return Encoded(starts, tuple(kept), (slots, np.zeros(len(lengths), np.int32)))

    def step(
        self, encoded: Encoded, sentences: np.ndarray, symbols: np.ndarray, state: State, room: Buffers
    ) -> tuple[np.ndarray, State]:
        """One step of the decoder, see ``Network``."""
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
