"""How the weights of a tagger are learned, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.learning import Shuffled
from corpuscle.model import Array
from corpuscle.tag.kernels.decoding import Room
from corpuscle.tag.kernels.features import Labels, Words
from corpuscle.tag.kernels.training import Learning, learn

__all__ = ["STATE", "TagLearner"]

STATE = {
    "weights": Array("float32", ("table",), finite=True),
    "totals": Array("float64", ("table",), finite=True),
    "squares": Array("float32", ("table",), finite=True, low=0),
    "clock": Array("int64", (1,), low=0),
    "wrong": Array("int64", (1,), low=0),
    "best": Array("float32", ("best",), finite=True),
    "best_share": Array("float64", (1,), finite=True),
}


class TagLearner(Shuffled):
    """Learns weights; ``judge``: mean weights -> how good they are, or None."""

    def __init__(
        self,
        words: Words,
        gold: np.ndarray,
        labels: Labels,
        learning: Learning,
        room: Room,
        *,
        seed: int,
        judge: Callable[[np.ndarray], float] | None,
    ):
        super().__init__(np.diff(words.starts), seed, "tag.words")
        self._text, self._learning, self._room, self._judge = (words, gold, labels), learning, room, judge
        self._weights = frozen(learning.weights, np.float32)
        self._wrong = 0
        self.best, self.best_share = np.empty(0, np.float32), np.full(1, -1.0)

    def step(self, sweep: int, number: int) -> None:
        """Learn from some sentences."""
        words, gold, labels = self._text
        order = self.part(sweep, number)
        self._wrong += learn(words, order, gold, labels, self._weights, self._learning, self._room)

    def mean(self) -> np.ndarray:
        """The mean of the weights after all sentences so far, float32."""
        return (self._learning.weights - self._learning.totals / max(1, self._learning.clock[0])).astype(np.float32)

    def finish(self, sweep: int) -> list[float]:
        """The share of training words with a wrong label in this pass, and how good the means are (0: not judged)."""
        share, wrong = 0.0, self._wrong / max(1, len(self._text[1]))
        self._wrong = 0
        if self._judge is not None:
            mean = self.mean()
            share = self._judge(mean)
            if share > self.best_share[0]:
                self.best, self.best_share[0] = mean, share
        return [wrong, share]

    def state(self) -> dict[str, np.ndarray]:
        """What a file keeps."""
        kept = {name: getattr(self._learning, name) for name in ("weights", "totals", "squares", "clock")}
        return kept | {"best": self.best, "best_share": self.best_share, "wrong": np.array([self._wrong], np.int64)}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Stand where the kept state stands."""
        for name in ("weights", "totals", "squares", "clock"):
            getattr(self._learning, name)[:] = arrays[name]
        self.best, self.best_share = np.array(arrays["best"]), np.array(arrays["best_share"])
        self._wrong = int(arrays["wrong"][0])
