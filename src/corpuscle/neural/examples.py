"""Pairs of symbol sequences as flat arrays, and batches of pairs of about equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.random import Random
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.vocab import END, START


class Padded(NamedTuple):
    """Sequences of a batch, the places after their ends filled with END: ``symbols`` int64 (b, longest); ``real`` bool,
    which places are not filled."""

    symbols: np.ndarray
    real: np.ndarray


class Examples(NamedTuple):
    """Pairs to learn from: ``sources`` and ``targets`` int32, one sequence after the other without START and END, and
    ``source_starts``, ``target_starts`` int64 (n + 1,), where each begins.

    ``links``: float32, for each pair one number for each target and source position (the target's rows one after the
    other, END excluded): how sure it is that they belong together; from ``link_starts`` int64 (n + 1,) on. Empty where
    nothing is known.
    """

    sources: np.ndarray
    source_starts: np.ndarray
    targets: np.ndarray
    target_starts: np.ndarray
    links: np.ndarray
    link_starts: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[np.ndarray, np.ndarray]], links: Sequence[np.ndarray] | None = None) -> Examples:
        """Pairs of int arrays; ``links``: a matrix (m, n) for each, if they are known."""
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        flat = [np.concatenate([*side, np.zeros(0)]).astype(np.int32) for side in sides]
        starts = [starts_of(map(len, side)) for side in sides]
        known = links or []
        cells = np.concatenate([*(matrix.ravel() for matrix in known), np.zeros(0)]).astype(np.float32)
        return cls(flat[0], starts[0], flat[1], starts[1], cells, starts_of([matrix.size for matrix in known]))

    def __len__(self) -> int:
        return len(self.source_starts) - 1

    def side(self, which: np.ndarray, target: bool) -> Padded:
        """The sources, or the targets, of some pairs."""
        if target:
            return padded(self.targets, self.target_starts, which)
        return padded(self.sources, self.source_starts, which)

    def links_of(self, which: np.ndarray, m: int, n: int) -> np.ndarray:
        """The links of some pairs, padded with zeros: float32 (b, m, n)."""
        result = np.zeros((len(which), m, n), np.float32)
        for row, i in enumerate(which.tolist()):
            matrix = self.links[self.link_starts[i] : self.link_starts[i + 1]]
            height = self.target_starts[i + 1] - self.target_starts[i]
            result[row, :height, : len(matrix) // max(1, height)] = matrix.reshape(height, -1)
        return result


def guide_of(links: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which positions of a source belong to each position of its target, float32 (m, n): rows sum to one, or to 0 where
    nothing is linked. ``links`` (k, 2): source and target units that belong together; ``rows`` (m,), ``columns`` (n,):
    of which unit each target and source position is a part.

    >>> guide_of(np.array([[0, 1], [1, 1]]), np.array([0, 1, 1]), np.array([0, 1])).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    """
    units = np.zeros((rows.max(initial=-1) + 1, columns.max(initial=-1) + 1), np.float32)
    units[links[:, 1], links[:, 0]] = 1
    matrix = units[rows][:, columns]
    return matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))


def padded(flat: np.ndarray, starts: np.ndarray, which: np.ndarray) -> Padded:
    """Some sequences with END after each."""
    lengths = starts[which + 1] - starts[which] + 1
    real = np.arange(lengths.max(initial=1)) < lengths[:, None]
    symbols = np.full(real.shape, END, np.int64)
    inside = real.copy()
    inside[np.arange(len(which)), lengths - 1] = False
    places, _ = items_of(starts, which)
    symbols[inside] = flat[places]
    return Padded(symbols, real)


def shifted(symbols: np.ndarray) -> np.ndarray:
    """What the decoder reads while it writes some symbols: START and all but the last."""
    return np.concatenate([np.full((len(symbols), 1), START), symbols[:, :-1]], axis=1)


def batches(examples: Examples, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """All pairs in batches of ``size``, pairs of about equal length together, in an order of this epoch."""
    random = Random(seed, "neural/batches", epoch)
    source, target = np.diff(examples.source_starts), np.diff(examples.target_starts)
    order = np.lexsort((random.uniforms(len(examples)), target, source))
    cut = [order[first : first + size] for first in range(0, len(order), size)]
    return random.shuffled(cut)
