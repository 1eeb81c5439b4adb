"""How the weights of a parser are learned, pass by pass: first those of arcs, then those of relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from corpuscle.learning import Shuffled
from corpuscle.model import Array
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.relations import learn_relations
from corpuscle.parse.kernels.training import Decoding, Learning, Room, learn

ARCS = {
    "weights": Array("float32", ("table",), finite=True),
    "totals": Array("float64", ("table",), finite=True),
    "clock": Array("int64", (1,), low=0),
    "best": Array("float32", ("best",), finite=True),
    "best_share": Array("float64", (1,), finite=True),
}
RELATIONS = {
    "weights": Array("float32", ("rows", "relations"), finite=True),
    "totals": Array("float64", ("rows", "relations"), finite=True),
    "clock": Array("int64", (1,), low=0),
}


class Online(Shuffled):
    """Sentences in an order of its own each pass, a few at a time."""

    def __init__(self, first_words: np.ndarray, seed: int, purpose: str):
        super().__init__(np.diff(first_words), seed, purpose)
        self._wrong = 0

    def _mistakes(self) -> int:
        wrong, self._wrong = self._wrong, 0
        return wrong


class ArcLearner(Online):
    """Learns the weights of arcs and pairs; ``judge``: mean weights -> how good they are, or None."""

    def __init__(
        self,
        layers: Layers,
        heads: np.ndarray,
        first_words: np.ndarray,
        decoding: Decoding,
        learning: Learning,
        room: Room,
        *,
        seed: int,
        judge: Callable[[np.ndarray], float] | None = None,
    ):
        super().__init__(first_words, seed, "parse.arcs")
        self._text = layers, heads, first_words
        self.decoding, self.learning, self._room, self._judge = decoding, learning, room, judge
        most = int(np.diff(first_words).max(initial=1))
        self._touched = np.empty((learning.trees, (most + 4) * 4 * len(room.places)), np.uint32)
        self.best, self.best_share = np.empty(0, np.float32), np.full(1, -1.0)

    def step(self, sweep: int, number: int) -> None:
        layers, heads, first_words = self._text
        part = self.part(sweep, number)
        self._wrong += learn(layers, part, heads, first_words, self.decoding, self.learning, self._room, self._touched)

    def mean(self) -> np.ndarray:
        """The mean of the weights after all sentences so far, float32."""
        return (self.learning.weights - self.learning.totals / max(1, self.learning.clock[0])).astype(np.float32)

    def finish(self, sweep: int) -> list[float]:
        """The share of training words with a wrong head in this pass, and how good the means are (0: not judged)."""
        share = 0.0
        if self._judge is not None:
            mean = self.mean()
            share = self._judge(mean)
            if share > self.best_share[0]:
                self.best, self.best_share[0] = mean, share
        return [self._mistakes() / max(1, len(self._text[1])), share]

    def state(self) -> dict[str, np.ndarray]:
        kept = {name: getattr(self.learning, name) for name in ("weights", "totals", "clock")}
        return kept | {"best": self.best, "best_share": self.best_share}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        for name in ("weights", "totals", "clock"):
            getattr(self.learning, name)[:] = arrays[name]
        self.best, self.best_share = np.array(arrays["best"]), np.array(arrays["best_share"])


class RelationLearner(Online):
    """Learns the weights of relations on right trees; ``bank``: heads, relations, first words."""

    def __init__(self, layers: Layers, bank: Any, rows: int, relations: int, room: Room, *, seed: int):
        super().__init__(bank[2], seed, "parse.relations")
        self._text, self._room, self._scores = (layers, bank), room, np.zeros(relations, np.float32)
        self._shift = np.uint64(64 - (rows - 1).bit_length())
        self.weights, self.totals = np.zeros((rows, relations), np.float32), np.zeros((rows, relations))
        self.clock = np.zeros(1, np.int64)

    def step(self, sweep: int, number: int) -> None:
        layers, bank = self._text
        learning = self.weights, self.totals, self.clock
        part = self.part(sweep, number)
        self._wrong += learn_relations(layers, part, bank, self._shift, learning, self._room, self._scores)

    def mean(self) -> np.ndarray:
        """The mean of the weights after all arcs so far, float32."""
        return (self.weights - self.totals / max(1, self.clock[0])).astype(np.float32)

    def finish(self, sweep: int) -> list[float]:
        """The share of arcs with a wrong relation in this pass."""
        return [self._mistakes() / max(1, len(self._text[1][0]))]

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "totals": self.totals, "clock": self.clock}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        for name, array in self.state().items():
            array[:] = arrays[name]
