"""What the forward passes of all architectures share: sentences that have been read, room for the arrays of a step.

``corpuscle.neural.reference`` says what is computed; ``recurrent`` and ``transformer`` compute it for many sentences
and hypotheses at once, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.neural.kernels.products import Matrix
from corpuscle.neural.weights import Weights
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
    def of(cls, sources: Sequence[np.ndarray]) -> Batch:
        """Some sentences together."""
        return cls(
            np.concatenate([*sources, np.zeros(0)]).astype(np.int32), np.cumsum([0, *map(len, sources)], dtype=np.int64)
        )

    @classmethod
    def ended(cls, sequences: Sequence[np.ndarray]) -> Batch:
        """Some sequences together, END after each."""
        symbols, starts = cls.of(sequences)
        return cls(np.insert(symbols, starts[1:], END), starts + np.arange(len(starts)))


class Encoded(NamedTuple):
    """Sentences that have been read: ``starts`` (n_sentences + 1,) int64; ``kept``: arrays with a row for each
    position; ``first``: the state before the first step, arrays with a row for each sentence."""

    starts: np.ndarray
    kept: tuple[np.ndarray, ...]
    first: State

    def only(self, sentences: np.ndarray) -> Encoded:
        """Some of them."""
        lengths = np.diff(self.starts)[sentences]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[sentences] - starts[:-1], lengths)
        return Encoded(starts, tuple(a[places] for a in self.kept), tuple(a[sentences] for a in self.first))

    def joined(self, more: Encoded) -> Encoded:
        """With more sentences behind."""
        starts = np.concatenate([self.starts, more.starts[1:] + self.starts[-1]])
        kept = tuple(np.concatenate(pair) for pair in zip(self.kept, more.kept, strict=True))
        return Encoded(starts, kept, stacked(self.first, more.first))


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


class Network(Protocol):
    """What a decoder needs of a model."""

    def encode(self, batch: Batch, room: Buffers, limits: np.ndarray) -> Encoded:
        """Read sentences; ``limits``: how long what is written for each may become."""
        ...

    def step(
        self, encoded: Encoded, sentences: np.ndarray, symbols: np.ndarray, state: State, room: Buffers
    ) -> tuple[np.ndarray, State]:
        """The vectors (rows, embedding) before the output layer and the states after a symbol of each row, int32
        (rows,) each, for the sentence that it belongs to. The given states are overwritten."""
        ...


def network(weights: Weights, matrix: type[Matrix] = Matrix) -> Network:
    """The forward pass of some weights; ``matrix`` does its large products."""
    from corpuscle.neural.recurrent import Recurrent
    from corpuscle.neural.transformer import Transformer

    return (Recurrent if weights.architecture.recurrent else Transformer)(weights, matrix)
