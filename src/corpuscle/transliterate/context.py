"""Pieces in their context: how likely a small piece of both sides is among the source letters around it.

The joint model looks back only, and its history is what has been written; this model looks at the source to the left
and to the right of a place, and at the spelling of the whole word. See ``kernels.windows``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.transliterate.kernels.windows import Windows, learn, windows
from corpuscle.transliterate.table import Learned

__all__ = ["EPOCHS", "Context"]

EPOCHS = 4
"""More of them learn single names by heart."""


@dataclass(eq=False)
class Context:
    """The source letters of all pieces (CSR), how often each piece was seen, and the weights; all empty where there is
    no such model. ``radius``: how many letters it sees to either side; ``n_letters``: size of the source vocabulary."""

    radius: int
    n_letters: int
    starts: np.ndarray
    letters: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @classmethod
    def none(cls) -> Self:
        """A model that says nothing."""
        nothing = np.empty(0, np.int64)
        return cls(0, FIRST, np.zeros(1, np.int64), nothing.astype(np.int32), nothing, np.empty(0, np.float32))

    @classmethod
    def learned(cls, names: Learned, source: Corpus, radius: int, seed: int) -> Self:
        """Learn from names that are cut into pieces."""
        counts = np.bincount(names.units.tokens, minlength=len(names.units.vocab))
        n_letters = len(source.vocab)
        model = windows(names.piece_starts, names.piece_letters, counts, n_letters, radius)
        learn(
            model, source.tokens, source.sentence_starts, names.units.tokens, names.units.sentence_starts, EPOCHS, seed
        )
        return cls(radius, n_letters, names.piece_starts, names.piece_letters, counts, model.weights)

    @cached_property
    def windows(self) -> Windows:
        """As the engine wants it."""
        return windows(self.starts, self.letters, self.counts, self.n_letters, self.radius, self.weights)

    def arrays(self) -> dict[str, np.ndarray]:
        """As a model file keeps it."""
        return {
            "pieces/starts": self.starts,
            "pieces/symbols": self.letters,
            "pieces/counts": self.counts,
            "context": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], radius: int, n_letters: int) -> Self:
        """The inverse of ``arrays``."""
        names = ("pieces/starts", "pieces/symbols", "pieces/counts", "context")
        return cls(radius, n_letters, *(arrays[name] for name in names))
