"""Fertility: after the hidden Markov model, chains of draws in which words have a habit of how many links they take.

A chain is nothing but its links: what it needs to know of its own text is counted anew before each sweep, so chains
cost little memory, and each of them can sweep on any worker. The laws of jumps and fertilities are those of all chains
together. The later half of the sweeps votes on the link of each word, and the links that win are what the model
counts; so its tables are those of one alignment, and new sentences are linked by draws under them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from corpuscle.align.base import MAX_JUMP, Aligner, Posteriors, Tables, tables_from
from corpuscle.align.expectation import Counts, chunks, folded, widened
from corpuscle.align.models import HMM, Work
from corpuscle.compiled import frozen
from corpuscle.engine import fertility as engine
from corpuscle.engine import symmetry
from corpuscle.engine.cooccurrence import Couples, Pairs
from corpuscle.errors import SettingError
from corpuscle.random import Random
from corpuscle.scale import chunks_of

__all__ = ["Fertility"]

_FERTILITY_PRIOR = 1.0
"""How many observations the fertilities of all words together are worth for those of one word."""

_JUMP_PRIOR = 0.5
_SWEEPS, _SKIP = 48, 8
"""How often the links of sentences are drawn under a finished model, and after how many times they count."""

_CELLS_A_CALL = 4_000_000
_MOST_VOTES = 255


class _Seen(NamedTuple):
    """What was seen in the links of one direction: ``fertilities`` float64 (state types, MOST + 1), ``jumps`` float64
    (2 MAX_JUMP + 1,)."""

    fertilities: np.ndarray
    jumps: np.ndarray


class _Votes(NamedTuple):
    """How often each link was drawn, uint8 (n_cells,), and no link, uint8 (outputs,)."""

    links: np.ndarray
    nulls: np.ndarray


@dataclass
class _Sampling:
    """All chains of both directions.

    - ``linked``: for each direction int16 (chains, outputs), the state of every output or -1;
    - ``votes`` and ``seen``: by direction; the latter by all chains in the last sweep, on the mean.
    """

    linked: tuple[np.ndarray, np.ndarray]
    votes: tuple[_Votes, _Votes]
    seen: tuple[_Seen, _Seen]

    def arrays(self, history: np.ndarray) -> dict[str, np.ndarray]:
        """The state of an unfinished run."""
        result: dict[str, np.ndarray] = {"history": history}
        for side, linked, votes, seen in zip(("forward", "backward"), self.linked, self.votes, self.seen, strict=True):
            result |= {
                f"chains/{side}": linked,
                f"votes/{side}": votes.links,
                f"votes/nulls/{side}": votes.nulls,
                f"fertilities/{side}": seen.fertilities,
                f"jumps/{side}": seen.jumps,
            }
        return result


@dataclass(eq=False)
class Fertility(HMM):
    """The hidden Markov model, and after it Gibbs sampling with fertilities, in the manner of eflomal.

    - ``chains``: how many chains are drawn in each direction; they start from the best links of the HMM;
    - ``sweeps``: how often each chain draws all links; the later half of them votes;
    - ``alpha``: the concentration of the Dirichlet prior of the table.
    """

    method: ClassVar[str] = "fertility"

    alpha: float = 0.001
    chains: int = 4
    sweeps: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chains * (self.sweeps - self.sweeps // 2) > _MOST_VOTES:
            raise SettingError(f"chains times half the sweeps are at most {_MOST_VOTES}")

    def further_steps(self) -> int:
        """One for each sweep."""
        return self.sweeps

    def refine(self, work: Work, counts: Counts | None) -> Counts:
        """Sweeps of all chains from the links of the HMM; what the links count that win the vote."""
        pairs, before = work.pairs, sum(count for _, count in self.stages())
        if counts is None:
            assert work.checkpoint.state is not None
            sampling = _restored(work.checkpoint.state.arrays, work, self.chains)
            done = work.checkpoint.iteration - before
        else:
            sampling, done = self._start(work, counts), 0
        del counts  # large, and not needed any more
        background = [_tally_of(work, d) for d in (0, 1)]
        known = [_known(work, d) for d in (0, 1)]
        tasks = [(d, chain) for d in (0, 1) for chain in range(self.chains)]
        pieces = work.pool.scatter(tasks)
        longest = _longest(pairs)
        for turn in range(done, self.sweeps):
            laws = [self._laws(_together(sampling.seen[d], known[d]), d, work.sizes[d], longest) for d in (0, 1)]

            def draw(task: tuple[int, int], now: tuple[int, list[engine.Laws]]) -> _Seen:
                d, chain = task
                dice = Random(self.seed, "align/fertility", now[0], 2 * chain + d).array()
                return _swept(pairs, d, sampling.linked[d][chain], background[d], now[1][d], dice)

            found = list(pieces.map(draw, (turn, laws)))
            sampling.seen = _mean(found[: self.chains]), _mean(found[self.chains :])
            if turn >= self.sweeps // 2:
                for d, chain in tasks:
                    engine.add_votes(pairs, d == 1, sampling.linked[d][chain], *sampling.votes[d])
            work.progress.advance()
            work.checkpoint.after(before + turn + 1, partial(sampling.arrays, self.history_))
        return self._decided(pairs, sampling.votes, background, known)

    def _start(self, work: Work, counts: Counts) -> _Sampling:
        """All chains at the best links of the HMM."""
        pairs = work.pairs
        tables = [
            tables_from(work.couples, counts.couples[d], counts.nulls[d], d, self.alpha, self.bayes) for d in (0, 1)
        ]

        def best(bounds: tuple[int, int]) -> list[np.ndarray]:
            return [self.best_path(pairs, *bounds, d, tables[d], counts.jumps[d]).astype(np.int16) for d in (0, 1)]

        parts = list(work.pool.scatter(chunks(pairs)).map(best))
        links = [np.concatenate([part[d] for part in parts]) for d in (0, 1)]
        chains = [np.tile(each, (self.chains, 1)) for each in links]
        votes = [_Votes(np.zeros(len(pairs.cells), np.uint8), np.zeros(len(each), np.uint8)) for each in links]
        seen = [_observed(pairs, d, links[d], work.sizes[1 - d]) for d in (0, 1)]
        return _Sampling((chains[0], chains[1]), (votes[0], votes[1]), (seen[0], seen[1]))

    def _laws(self, seen: _Seen, direction: int, output_types: int, longest: int) -> engine.Laws:
        """The laws under which links are drawn, for sentences of up to so many words."""
        total = seen.fertilities.sum(axis=0) + 0.5
        phi = seen.fertilities + _FERTILITY_PRIOR * total / total.sum()
        jumps = widened(seen.jumps + _JUMP_PRIOR, max(MAX_JUMP, longest + 1))
        odds = frozen(phi[:, 1:] / phi[:, :-1], np.float32)
        return engine.Laws(frozen(jumps / jumps.sum(), np.float64), odds, float(output_types), self.alpha, self.p0)

    def _decided(
        self,
        pairs: Pairs,
        votes: tuple[_Votes, _Votes],
        background: list[engine.Tally],
        known: list[_Seen | None],
    ) -> Counts:
        """The counts of the links with the most votes, and those of an older model."""
        couples = np.empty((2, len(background[0].couples) - 1), np.float32)
        jumps = np.empty((2, 2 * MAX_JUMP + 1))
        fertilities = []
        for d in (0, 1):
            best, tally = _winners(pairs, d, votes[d]), background[d]
            engine.place(pairs, d == 1, best, tally)
            seen = _together(_observed(pairs, d, best, len(tally.states)), known[d])
            couples[d], jumps[d] = tally.couples[:-1], seen.jumps
            fertilities.append(seen.fertilities.astype(np.float32))
        self.fertilities_ = fertilities[0], fertilities[1]
        nulls = background[0].nulls.astype(np.float64), background[1].nulls.astype(np.float64)
        return Counts(couples, nulls, np.full(2, 4.0), np.maximum(jumps, 1e-3))

    # The finished model.

    @cached_property
    def _tallies(self) -> tuple[engine.Tally, engine.Tally]:
        """The counts of the model as they are while links are drawn."""
        sizes = len(self.target_vocab_), len(self.source_vocab_)
        return tuple(  # type: ignore[return-value]
            _tally(self.couples_, self.counts_[d], self.null_counts_[d], d, sizes[1 - d]) for d in (0, 1)
        )

    def _tables(self, direction: int) -> Tables:
        """Probabilities from counts, smoothed by the prior."""
        tally, support = self._tallies[direction], len(self.null_counts_[direction])
        states = self.couples_.columns if direction else _rows(self.couples_)
        table = np.empty(len(tally.couples), np.float32)
        table[:-1] = (tally.couples[:-1] + self.alpha) / (tally.states[states] + self.alpha * support)
        table[-1] = self.alpha / (1 + self.alpha * support)
        null = (tally.nulls + self.alpha) / (tally.unlinked[0] + self.alpha * support)
        return Tables(frozen(table, np.float32), frozen(null, np.float32))

    def posteriors(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> Posteriors:
        """Link probabilities of sentence pairs first..last-1: means over draws that start from the best path."""
        linked = self.best_path(pairs, first, last, direction, tables, self.jumps_[direction])
        seen = _Seen(self.fertilities_[direction].astype(np.float64), self.jumps_[direction])
        laws = self._laws(seen, direction, len(self.null_counts_[direction]), _longest(pairs, first, last))
        links = np.empty(int(pairs.cell_starts[last] - pairs.cell_starts[first]), np.float32)
        nulls = np.empty(len(linked), np.float32)
        key = Random(self.seed, "align/fertility/apply", direction).array()[0]
        tally = self._tallies[direction]
        engine.draw_links(pairs, first, last, direction == 1, tally, laws, key, _SWEEPS, _SKIP, linked, links, nulls)
        return Posteriors(links, nulls, float("nan"))

    def best(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> np.ndarray:
        """The most probable state of every output, int32, -1 for the null word."""
        return Aligner.best(self, pairs, first, last, direction, tables)

    def more_arrays(self) -> dict[str, np.ndarray]:
        """The fertilities."""
        return {"fertilities/source": self.fertilities_[0], "fertilities/target": self.fertilities_[1]}

    def take_more(self, arrays: Mapping[str, np.ndarray]) -> None:
        """The fertilities from a file."""
        self.fertilities_ = arrays["fertilities/source"], arrays["fertilities/target"]


def _longest(pairs: Pairs, first: int = 0, last: int | None = None) -> int:
    """The length of the longest sentence."""
    both = (starts[first : None if last is None else last + 1] for starts in (pairs.source_starts, pairs.target_starts))
    return max(int(np.diff(starts).max(initial=0)) for starts in both)


def _rows(couples: Couples) -> np.ndarray:
    """The source type of every couple."""
    return np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))


def _tally(couples: Couples, counts: np.ndarray, nulls: np.ndarray, direction: int, types: int) -> engine.Tally:
    """Counts in whole numbers."""
    links, unlinked = (np.rint(each).astype(np.int32) for each in (counts, nulls))
    by_state = np.bincount(couples.columns if direction else _rows(couples), links, types).astype(np.int32)
    return engine.Tally(np.append(links, np.int32(0)), by_state, unlinked, np.array([unlinked.sum()], np.int64))


def _tally_of(work: Work, direction: int) -> engine.Tally:
    """What an older model has counted, as if those links were there and stood still; else nothing."""
    if work.before is None:
        sizes = len(work.couples.columns) + 1, work.sizes[1 - direction], work.sizes[direction]
        links, states, nulls = (np.zeros(size, np.int32) for size in sizes)
        return engine.Tally(links, states, nulls, np.zeros(1, np.int64))
    counts, nulls = work.before.couples[direction], work.before.nulls[direction]
    return _tally(work.couples, counts, nulls, direction, work.sizes[1 - direction])


def _known(work: Work, direction: int) -> _Seen | None:
    """What an older model has seen, with rows for new words."""
    if not isinstance(work.base, Fertility):
        return None
    old = work.base.fertilities_[direction]
    fertilities = np.zeros((work.sizes[1 - direction], engine.MOST + 1))
    fertilities[: len(old)] = old
    return _Seen(fertilities, work.base.jumps_[direction])


def _together(new: _Seen, old: _Seen | None) -> _Seen:
    """Both added up."""
    return new if old is None else _Seen(new.fertilities + old.fertilities, new.jumps + old.jumps)


def _mean(parts: list[_Seen]) -> _Seen:
    """What chains have seen, on the mean."""
    fertilities, jumps = (np.sum(arrays, axis=0) / len(parts) for arrays in zip(*parts, strict=True))
    return _Seen(fertilities, jumps)


def _observed(pairs: Pairs, direction: int, linked: np.ndarray, types: int) -> _Seen:
    """The fertilities and jumps of given links."""
    longest = _longest(pairs)
    fertilities, jumps = np.zeros((types, engine.MOST + 1)), np.zeros(2 * max(MAX_JUMP, longest + 1) + 1)
    engine.observe(pairs, direction == 1, linked, fertilities, jumps, engine.scratch_for(longest, types))
    return _Seen(fertilities, folded(jumps))


def _swept(
    pairs: Pairs, direction: int, linked: np.ndarray, background: engine.Tally, laws: engine.Laws, dice: np.ndarray
) -> _Seen:
    """Draw all links of a chain once, in place."""
    tally = engine.Tally(*(array.copy() for array in background))
    swap = direction == 1
    engine.place(pairs, swap, linked, tally)
    types = len(tally.states)
    fertilities, jumps = np.zeros((types, engine.MOST + 1)), np.zeros(len(laws.jumps))
    scratch = engine.scratch_for(_longest(pairs), types)
    for first, last in pairwise(chunks_of(np.diff(pairs.cell_starts), _CELLS_A_CALL).tolist()):
        engine.sweep(pairs, first, last, swap, linked, tally, laws, fertilities, jumps, scratch, dice)
    return _Seen(fertilities, folded(jumps))


def _winners(pairs: Pairs, direction: int, votes: _Votes) -> np.ndarray:
    """The state with the most votes for every output, int16, -1 for none."""
    outputs, states = pairs.target_starts, pairs.source_starts
    if direction == 1:
        outputs, states = states, outputs
    best = np.empty(len(votes.nulls), np.int32)
    for first, last in chunks(pairs):
        cells, span = slice(*pairs.cell_starts[[first, last]]), slice(*outputs[[first, last]])
        links, nulls = votes.links[cells].astype(np.float32), votes.nulls[span].astype(np.float32)
        symmetry.strongest(outputs, states, pairs.cell_starts, first, last, direction == 1, links, nulls, best[span])
    return best.astype(np.int16)


def _restored(arrays: Mapping[str, np.ndarray], work: Work, chains: int) -> _Sampling:
    """The state of an unfinished run."""
    linked, votes, seen = [], [], []
    starts = work.pairs.target_starts, work.pairs.source_starts
    for d, side in enumerate(("forward", "backward")):
        names = (f"chains/{side}", f"votes/{side}", f"votes/nulls/{side}", f"fertilities/{side}", f"jumps/{side}")
        parts = [np.array(arrays[name]) for name in names]
        outputs, types = int(starts[d][-1]), work.sizes[1 - d]
        states = np.repeat(np.diff(starts[1 - d]), np.diff(starts[d]))
        fits = [(chains, outputs), work.pairs.cells.shape, (outputs,), (types, engine.MOST + 1)]
        if [part.shape for part in parts[:4]] != fits or (parts[0] >= states).any():
            raise SettingError("the unfinished run does not fit this text")
        linked.append(parts[0])
        votes.append(_Votes(*parts[1:3]))
        seen.append(_Seen(*parts[3:]))
    return _Sampling((linked[0], linked[1]), (votes[0], votes[1]), (seen[0], seen[1]))
