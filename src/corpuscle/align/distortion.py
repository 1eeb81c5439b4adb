"""Where links go: the law of positions of each model, what is expected under it, and what it learns from that.

- ``Uniform``: every state and the null word are as good as any other (IBM Model 1);
- ``Diagonal``: states near the diagonal are better (Model 2 of Dyer, Chahuneau and Smith 2013);
- ``Jumps``: a state depends on the one before it (the hidden Markov model of Vogel, Ney and Tillmann 1996).

A law is a record for both directions. ``expect`` turns the translation probabilities of cells into link probabilities
and moments, which add up over a text, from ``no_moments`` on; ``learned`` is the law that these moments call for. See
``kernels.translation`` and ``kernels.distortion`` for the mathematics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from corpuscle.align.counts import Posteriors
from corpuscle.align.kernels import distortion as engine
from corpuscle.align.kernels import translation
from corpuscle.align.kernels.cooccurrence import Directed
from corpuscle.compiled import frozen
from corpuscle.model import Array

MAX_JUMP = 50
"""Longer jumps share one count in each direction."""

JUMPS = Array("float64", (2, 2 * MAX_JUMP + 1), low=1e-12, high=1e15)
STRENGTHS = Array("float64", (2,), low=0.1, high=14.001)

_STEPS, _RATE = 8, 20.0  # how the pull of the diagonal climbs in each iteration
_WEAKEST, _STRONGEST = 0.1, 14.0


@dataclass(frozen=True)
class Law(ABC):
    """A law of positions. ``parameter``: the name of the array that is learned, none where nothing is."""

    parameter: ClassVar[str] = ""

    @abstractmethod
    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities, in the place of the translation probabilities ``links`` float32 (n_cells,), and moments;
        ``null`` float32 (output types,) is what the null word generates."""

    def no_moments(self) -> np.ndarray:
        """What the moments of a text are added to, float64 (2, n_moments)."""
        return np.zeros((2, 2))

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        """The law after an iteration with these moments over pairs of these ``lengths`` int64 (n_pairs, 2); ``first``:
        there was no table before it."""
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        """What is learned, for a file."""
        return {self.parameter: getattr(self, self.parameter)} if self.parameter else {}

    def restored(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """This law with what was learned as a file has it."""
        return replace(self, **{name: np.array(arrays[name]) for name in self.arrays()})


def _independent(
    pairs: Directed, links: np.ndarray, null: np.ndarray, kind: int, strength: float = 1.0, p0: float = 0.0
) -> Posteriors:
    """Link probabilities where the states of outputs do not depend on each other; moments: sum of h, sum of links."""
    nulls = np.ones(len(pairs.outputs), np.float32)
    likelihood, *moments = translation.posteriors(pairs, frozen(null, np.float32), kind, strength, p0, links, nulls)
    return Posteriors(links, nulls, likelihood, np.array(moments))


@dataclass(frozen=True)
class Uniform(Law):
    """All states and the null word alike; nothing is learned, and nobody asks for moments."""

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities."""
        return _independent(pairs, links, null, translation.UNIFORM)


@dataclass(frozen=True)
class Diagonal(Law):
    """An output comes from the null word with probability ``p0``, else from a state near the diagonal; ``strengths``
    float64 (2,): how near, by direction."""

    parameter: ClassVar[str] = "strengths"
    p0: float
    strengths: np.ndarray

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities, the sum of h over links, and the sum of links."""
        strength = float(self.strengths[int(pairs.swap)])
        return _independent(pairs, links, null, translation.DIAGONAL, strength, self.p0)

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        """Some steps towards the mean of h that the links have; none as long as the table knows nothing."""
        if first:
            return self
        means = moments[:, 0] / moments[:, 1]
        strengths = [_climbed(lengths, d, float(self.strengths[d]), float(means[d])) for d in (0, 1)]
        return replace(self, strengths=np.array(strengths))


def _climbed(lengths: np.ndarray, direction: int, strength: float, mean_h: float) -> float:
    """The strength of one direction after some steps towards the mean of h."""
    longest = int(lengths.max(initial=0)) + 1
    states, outputs = lengths[:, direction], lengths[:, 1 - direction]
    keys, counts = np.unique(states * longest + outputs, return_counts=True)
    shapes = np.column_stack(np.divmod(keys, longest))
    for _ in range(_STEPS):
        strength += _RATE * (mean_h - translation.expected_h(shapes, counts, strength))
        strength = min(max(strength, _WEAKEST), _STRONGEST)
    return strength


def widened(jumps: np.ndarray, width: int) -> np.ndarray:
    """Counts of jumps for all distances up to ``width``; those beyond the last bucket share its count."""
    distances = np.clip(np.arange(-width, width + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    return frozen(jumps[distances], np.float64)


def folded(wide: np.ndarray) -> np.ndarray:
    """The inverse of ``widened`` for expected counts."""
    width = len(wide) // 2
    buckets = np.clip(np.arange(-width, width + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    return np.bincount(buckets, wide, 2 * MAX_JUMP + 1)


@dataclass(frozen=True)
class Jumps(Law):
    """An output comes from the null word with probability ``p0``, else a jump leads to its state: with probability
    ``rho`` to any, else by ``jumps`` float64 (2, 2 MAX_JUMP + 1), counts by direction and distance; those that are
    ``known``, from an older model, stay."""

    parameter: ClassVar[str] = "jumps"
    p0: float
    rho: float
    jumps: np.ndarray
    known: np.ndarray | None = None

    def _of(self, pairs: Directed, null: np.ndarray) -> engine.Law:
        """The law for kernels, with counts of all jumps that these pairs can have."""
        longest = int(np.diff(pairs.state_starts).max(initial=0))
        wide = widened(self.jumps[int(pairs.swap)], max(longest + 1, MAX_JUMP))
        return engine.Law(wide, frozen(null, np.float32), self.p0, self.rho)

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities and expected counts of jumps."""
        law, nulls = self._of(pairs, null), np.ones(len(pairs.outputs), np.float32)
        counts = np.zeros(len(law.jumps))
        likelihood = engine.jump_posteriors(pairs, law, links, nulls, counts)
        return Posteriors(links, nulls, likelihood, folded(counts))

    def best_path(self, pairs: Directed, values: np.ndarray, null: np.ndarray) -> np.ndarray:
        """The best state of every output, int32, -1 for the null word, by the translation probabilities ``values``
        float32 (n_cells,)."""
        best = np.empty(len(pairs.outputs), np.int32)
        engine.best_path(pairs, self._of(pairs, null), values, best)
        return best

    def no_moments(self) -> np.ndarray:
        """A little of every jump, and those that stay."""
        return np.full_like(self.jumps, 1e-3) if self.known is None else self.known + 1e-3

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        """The law with these counts."""
        return replace(self, jumps=moments)
