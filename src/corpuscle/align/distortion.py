"""Where links go: the law of positions of each model, what is expected under it, and what it learns from that.

- ``Uniform``: every state and the null word are as good as any other (IBM Model 1);
- ``Diagonal``: states near the diagonal are better (Model 2 of Dyer, Chahuneau and Smith 2013);
- ``Jumps``: a state depends on the one before it (the hidden Markov model of Vogel, Ney and Tillmann 1996).

A law is a record for both directions. ``expect`` turns the translation probabilities of cells into link probabilities
and moments, which add up over a text, from ``no_moments`` on; ``learned`` is the law that these moments call for. See
``kernels.em`` for the mathematics.

``k_best``: the best alignments of a pair are the best paths of a chain. Where the state of each output is chosen by
itself, its emissions are the probabilities of links and all steps are alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from corpuscle.align.counts import Posteriors
from corpuscle.align.kernels import em
from corpuscle.align.kernels.cooccurrence import Directed
from corpuscle.align.kernels.loglinear import LONGEST
from corpuscle.compiled import frozen
from corpuscle.engine.dp.chains import Chain, k_best
from corpuscle.model import Array

MAX_JUMP = 50
"""Longer jumps share one count in each direction."""

JUMPS = Array("float64", (2, 2 * MAX_JUMP + 1), low=1e-12, high=1e15)
STRENGTHS = Array("float64", (2,), low=0.1, high=14.001)

_STEPS, _RATE = 8, 20.0  # gradient steps for the strength of the diagonal in each iteration
_WEAKEST, _STRONGEST = 0.1, 14.0


@dataclass(frozen=True)
class Law(ABC):
    """A law of positions. ``parameter``: the name of the array that is learned, none where nothing is."""

    parameter: ClassVar[str] = ""

    @abstractmethod
    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities, in the place of the translation probabilities ``links`` float32 (n_cells,), and moments;
        ``null`` float32 (output types,) is what the null word generates."""

    def k_best(self, pair: Directed, values: np.ndarray, null: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` best alignments of one sentence pair by the translation probabilities ``values``: states int32
        (k, n_outputs), from 0, -1 for the null word, and log-probabilities float64 (k,), -inf where there are fewer. A
        pair with an empty or very long side has one, without links."""
        m, n = len(pair.states), len(pair.outputs)
        if min(m, n) == 0 or max(m, n) > LONGEST:
            return np.full((1, n), -1, np.int32), np.zeros(1)
        found = self.expect(pair, values.copy(), null)
        chain, places, total = self._chain(pair, values, null, found)
        paths, scores = np.zeros((k, n), np.int32), np.full(k, -np.inf)
        k_best(n, len(places), chain, k, paths, scores)
        return places[paths].astype(np.int32), scores - total

    def _chain(
        self, pair: Directed, values: np.ndarray, null: np.ndarray, found: Posteriors
    ) -> tuple[Chain, np.ndarray, float]:
        """The chain of the alignments of a pair, with the state of the sentence, or -1, that each of its states stands
        for, and the log of the sum over all alignments; ``found``: what ``expect`` says."""
        m = len(pair.states)
        emission = np.column_stack([found.nulls, _by_output(found.links, pair)]).astype(np.float64)
        none = np.zeros(m + 1)
        with np.errstate(divide="ignore"):
            logs = np.log(emission / emission.sum(axis=1, keepdims=True))
        return Chain(none, logs, np.zeros((1, m + 1, m + 1)), none), np.arange(-1, m), 0.0

    def no_moments(self) -> np.ndarray:
        """What the moments of a text are added to, float64 (2, n_moments)."""
        return np.zeros((2, 2))

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        """The law after an iteration; ``lengths`` int64 (n_pairs, 2); ``first``: there was no table before."""
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        """What is learned, for a file."""
        return {self.parameter: getattr(self, self.parameter)} if self.parameter else {}

    def restored(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """This law with what was learned as a file has it."""
        return replace(self, **{name: np.array(arrays[name]) for name in self.arrays()})


def _by_output(cells: np.ndarray, pair: Directed) -> np.ndarray:
    """Values of the cells of a sentence pair, (n_outputs, n_states)."""
    m, n = len(pair.states), len(pair.outputs)
    return cells.reshape(n, m) if pair.swap else cells.reshape(m, n).T


def _independent(
    pairs: Directed, links: np.ndarray, null: np.ndarray, kind: int, strength: float = 1.0, p0: float = 0.0
) -> Posteriors:
    """Link probabilities where the states of outputs do not depend on each other; moments: sum of h, sum of links."""
    nulls = np.ones(len(pairs.outputs), np.float32)
    likelihood, *moments = em.posteriors(pairs, frozen(null, np.float32), kind, strength, p0, links, nulls)
    return Posteriors(links, nulls, likelihood, np.array(moments))


@dataclass(frozen=True)
class Uniform(Law):
    """All states and the null word alike; nothing is learned."""

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        return _independent(pairs, links, null, em.UNIFORM)


@dataclass(frozen=True)
class Diagonal(Law):
    """An output comes from the null word by ``p0``, else from near the diagonal; ``strengths`` float64 (2,)."""

    parameter: ClassVar[str] = "strengths"
    p0: float
    strengths: np.ndarray

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        """Link probabilities, the sum of h over links, and the sum of links."""
        strength = float(self.strengths[int(pairs.swap)])
        return _independent(pairs, links, null, em.DIAGONAL, strength, self.p0)

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        """Some gradient steps towards the mean of h of the links; none while the table is still uniform."""
        if first:
            return self
        means = moments[:, 0] / moments[:, 1]
        strengths = [_climbed(lengths, d, float(self.strengths[d]), float(means[d])) for d in (0, 1)]
        return replace(self, strengths=np.array(strengths))


def _climbed(lengths: np.ndarray, direction: int, strength: float, mean_h: float) -> float:
    """The strength of one direction after some gradient steps towards the mean of h."""
    longest = int(lengths.max(initial=0)) + 1
    states, outputs = lengths[:, direction], lengths[:, 1 - direction]
    keys, counts = np.unique(states * longest + outputs, return_counts=True)
    shapes = np.column_stack(np.divmod(keys, longest))
    for _ in range(_STEPS):
        strength += _RATE * (mean_h - em.expected_h(shapes, counts, strength))
        strength = min(max(strength, _WEAKEST), _STRONGEST)
    return strength


def widened(jumps: np.ndarray, width: int) -> np.ndarray:
    """Counts of jumps for all distances up to ``width``; those beyond the last bucket share its count."""
    return frozen(jumps[_buckets(width)], np.float64)


def folded(wide: np.ndarray) -> np.ndarray:
    """The inverse of ``widened`` for expected counts."""
    return np.bincount(_buckets(len(wide) // 2), wide, 2 * MAX_JUMP + 1)


def _buckets(width: int) -> np.ndarray:
    return np.clip(np.arange(-width, width + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP


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

    def _of(self, pairs: Directed, null: np.ndarray) -> em.JumpLaw:
        """The law for kernels, with counts of all jumps that these pairs can have."""
        longest = int(np.diff(pairs.state_starts).max(initial=0))
        wide = widened(self.jumps[int(pairs.swap)], max(longest + 1, MAX_JUMP))
        return em.JumpLaw(wide, frozen(null, np.float32), self.p0, self.rho)

    def expect(self, pairs: Directed, links: np.ndarray, null: np.ndarray) -> Posteriors:
        law, nulls = self._of(pairs, null), np.ones(len(pairs.outputs), np.float32)
        counts = np.zeros(len(law.jumps))
        likelihood = em.jump_posteriors(pairs, law, links, nulls, counts)
        return Posteriors(links, nulls, likelihood, folded(counts))

    def best_path(self, pairs: Directed, values: np.ndarray, null: np.ndarray) -> np.ndarray:
        """The best state of every output, int32, -1 for the null word; ``values``: the translation probabilities."""
        best = np.empty(len(pairs.outputs), np.int32)
        em.best_path(pairs, self._of(pairs, null), values, best)
        return best

    def no_moments(self) -> np.ndarray:
        """A small count for every jump, and the counts that are known."""
        return np.full_like(self.jumps, 1e-3) if self.known is None else self.known + 1e-3

    def learned(self, moments: np.ndarray, lengths: np.ndarray, first: bool) -> Self:
        return replace(self, jumps=moments)

    def _chain(
        self, pair: Directed, values: np.ndarray, null: np.ndarray, found: Posteriors
    ) -> tuple[Chain, np.ndarray, float]:
        """Its states: null copies of the positions 0..m, then the positions 1..m."""
        m = len(pair.states)
        from_null = np.repeat(null[pair.outputs][:, None], m + 1, axis=1)
        emission = np.hstack([from_null, _by_output(values, pair)]).astype(np.float64)
        width = max(m + 1, MAX_JUMP)
        wide = widened(self.jumps[int(pair.swap)], width)
        counts = wide[width + np.arange(1, m + 1) - np.arange(m + 1)[:, None]]
        jumps = (1 - self.p0) * ((1 - self.rho) * counts / counts.sum(axis=1, keepdims=True) + self.rho / m)
        steps = np.hstack([self.p0 * np.eye(m + 1), jumps])
        with np.errstate(divide="ignore"):
            steps = np.log(np.vstack([steps, steps[1:]]))
            logs = np.log(emission)
        places = np.append(np.full(m + 1, -1), np.arange(m))
        return Chain(steps[0], logs, steps[None], np.zeros(2 * m + 1)), places, found.likelihood
