"""Fertility: after the hidden Markov model, chains of draws in which words have a habit of how many links they take.

A chain is nothing but its links: what it needs to know of its own text is counted anew before each sweep, so chains
cost little memory, and each of them can sweep on any worker; two go through the text together, to find its cells once
for both. The laws of jumps and fertilities are those of all chains
together. The later half of the sweeps votes on the link of each word, and the links that win are what the model
counts; so its tables are those of one alignment, and new sentences are linked by draws under them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import ClassVar, NamedTuple, cast

import numpy as np

from corpuscle.align.base import MAX_JUMP, Aligner, Posteriors, Tables
from corpuscle.align.expectation import Counts, Setting, Singles, Translation, folded, widened
from corpuscle.align.kernels import fertility as engine
from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.align.models import HMM, Work
from corpuscle.align.pieces import Text
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.random import Random
from corpuscle.text.corpus import starts_of

__all__ = ["Fertility"]

_FERTILITY_PRIOR = 1.0
"""How many observations the fertilities of all words together are worth for those of one word."""

_JUMP_PRIOR = 0.5
_SWEEPS, _SKIP = 48, 8
"""How often the links of sentences are drawn under a finished model, and after how many times they count."""

_TOGETHER = 2
"""How many chains go through the text together: each of them needs a count for every shared couple."""

_MOST_VOTES = 255


class _Seen(NamedTuple):
    """What was seen in the links of one direction: ``fertilities`` float64 (state types, MOST + 1), ``jumps`` float64
    (2 MAX_JUMP + 1,)."""

    fertilities: np.ndarray
    jumps: np.ndarray


class _Votes(NamedTuple):
    """How often each link was drawn, in one piece of the text: ``sizes`` uint8 (outputs,), how many different states
    were drawn for each output; ``states`` int8 or int16, which (-1: none), and ``counts`` uint8, how often."""

    sizes: np.ndarray
    states: np.ndarray
    counts: np.ndarray


@dataclass
class _Sampling:
    """All chains of both directions.

    - ``linked``: for each direction int8 (int16 if sentences are long) (chains, outputs), the state of every output, or
      -1;
    - ``votes``: by direction and piece; ``seen``: by direction, of all chains in the last sweep, on the mean.
    """

    linked: tuple[np.ndarray, np.ndarray]
    votes: tuple[list[_Votes], list[_Votes]]
    seen: tuple[_Seen, _Seen]

    def arrays(self, history: np.ndarray) -> dict[str, np.ndarray]:
        """The state of an unfinished run."""
        result: dict[str, np.ndarray] = {"history": history}
        for side, linked, votes, seen in zip(("forward", "backward"), self.linked, self.votes, self.seen, strict=True):
            sizes, states, counts = (np.concatenate(arrays) for arrays in zip(*votes, strict=True))
            result |= {
                f"chains/{side}": linked.astype(np.int16),
                f"votes/sizes/{side}": sizes,
                f"votes/states/{side}": states.astype(np.int16),
                f"votes/counts/{side}": counts,
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
        text, before = work.text, sum(count for _, count in self.stages())
        if counts is None:
            assert work.checkpoint.state is not None
            sampling = _restored(work.checkpoint.state.arrays, work, self.chains)
            done = work.checkpoint.iteration - before
        else:
            links, done = self._best_paths(work, counts), 0
            del counts  # large, and not needed any more
            sampling = self._start(text, links)
        known = [_known(work, d) for d in (0, 1)]
        tasks = [(d, first) for d in (0, 1) for first in range(0, self.chains, _TOGETHER)]
        pieces = work.pool.scatter(tasks)
        longest = text.longest
        for turn in range(done, self.sweeps):
            laws = [self._laws(_together(sampling.seen[d], known[d]), d, text.sizes[d], longest) for d in (0, 1)]

            def draw(task: tuple[int, int], now: tuple[int, list[engine.Laws]]) -> tuple[int, _Seen]:
                d, first = task
                linked = sampling.linked[d][first : first + _TOGETHER]
                numbers = range(first, first + len(linked))
                dice = [Random(self.seed, "align/fertility", now[0], 2 * chain + d).array() for chain in numbers]
                return d, _swept(work, d, linked, now[1][d], dice)

            found: list[_Seen | None] = [None, None]
            for d, seen in pieces.map(draw, (turn, laws)):
                found[d] = _together(seen, found[d])
            sampling.seen = cast(tuple[_Seen, _Seen], tuple(_mean(each, self.chains) for each in found))
            if turn >= self.sweeps // 2:
                for d in (0, 1):
                    _vote(text, d, sampling.linked[d], sampling.votes[d])
            work.progress.advance()
            work.checkpoint.after(before + turn + 1, partial(sampling.arrays, self.history_))
        sampling.linked = np.empty((0, 0), np.int8), np.empty((0, 0), np.int8)  # large, and not needed any more
        return self._decided(work, sampling.votes, known)

    def _best_paths(self, work: Work, counts: Counts) -> list[np.ndarray]:
        """The best links of the HMM, by direction."""
        text = work.text
        setting = Setting(self.prior, self.p0, self.rho, self.alpha, self.bayes, self.agreement)
        couples = text.sharing.couples
        laws = [Translation(text, couples, counts, d, setting, text.sizes[d]) for d in (0, 1)]

        def best(number: int) -> list[np.ndarray]:
            piece = text.piece(number)
            last = len(piece.source_starts) - 1
            paths = (
                self.best_path(piece, 0, last, d, laws[d].values(piece), laws[d].null, counts.jumps[d]) for d in (0, 1)
            )
            return [path.astype(_width(text)) for path in paths]

        parts = list(work.pool.scatter(range(text.pieces)).map(best))
        return [np.concatenate([part[d] for part in parts]) for d in (0, 1)]

    def _start(self, text: Text, links: list[np.ndarray]) -> _Sampling:
        """All chains at the same links."""
        chains = [np.tile(each, (self.chains, 1)) for each in links]
        votes = [[_no_votes(own.stop - own.start, _width(text)) for _, own in _of_pieces(text, d)] for d in (0, 1)]
        seen = [_observed(text, d, links[d]) for d in (0, 1)]
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
        work: Work,
        votes: tuple[list[_Votes], list[_Votes]],
        known: list[_Seen | None],
    ) -> Counts:
        """The counts of the links with the most votes, and those of an older model."""
        text = work.text
        linked = np.zeros((2, int(text.first_singles[-1])), np.uint8)
        couples = np.empty((2, text.n_shared), np.float32)
        jumps = np.empty((2, 2 * MAX_JUMP + 1))
        fertilities, nulls = [], []
        for d in (0, 1):
            parts: list[np.ndarray] = []
            tally = _tally_of(work, d)
            for number, each in enumerate(votes[d]):
                best = np.empty(len(each.sizes), np.int16)
                engine.elect(each.sizes, each.states.astype(np.int16), each.counts, best)
                engine.place(text.piece(number), d == 1, best, tally, linked[d])
                parts.append(best.astype(_width(text)))
            votes[d].clear()
            seen = _together(_observed(text, d, np.concatenate(parts)), known[d])
            couples[d], jumps[d] = tally.couples[:-1], seen.jumps
            fertilities.append(seen.fertilities.astype(np.float32))
            nulls.append(tally.nulls.astype(np.float64))
        self.fertilities_ = fertilities[0], fertilities[1]
        nobody = np.zeros(0), np.zeros(0)
        return Counts(couples, (nulls[0], nulls[1]), np.full(2, 4.0), np.maximum(jumps, 1e-3), Singles(linked, nobody))

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
        linked = HMM.best(self, pairs, first, last, direction, tables)
        seen = _Seen(self.fertilities_[direction].astype(np.float64), self.jumps_[direction])
        both = (np.diff(starts[first : last + 1]) for starts in (pairs.source_starts, pairs.target_starts))
        longest = max(int(lengths.max(initial=0)) for lengths in both)
        laws = self._laws(seen, direction, len(self.null_counts_[direction]), longest)
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
    text = work.text
    if work.before is None:
        sizes = text.n_shared + 1, text.sizes[1 - direction], text.sizes[direction]
        links, states, nulls = (np.zeros(size, np.int32) for size in sizes)
        return engine.Tally(links, states, nulls, np.zeros(1, np.int64))
    counts, nulls = work.before.couples[direction], work.before.nulls[direction]
    return _tally(text.sharing.couples, counts, nulls, direction, text.sizes[1 - direction])


def _known(work: Work, direction: int) -> _Seen | None:
    """What an older model has seen, with rows for new words."""
    if not isinstance(work.base, Fertility):
        return None
    old = work.base.fertilities_[direction]
    fertilities = np.zeros((work.text.sizes[1 - direction], engine.MOST + 1))
    fertilities[: len(old)] = old
    return _Seen(fertilities, work.base.jumps_[direction])


def _together(new: _Seen, old: _Seen | None) -> _Seen:
    """Both added up."""
    return new if old is None else _Seen(new.fertilities + old.fertilities, new.jumps + old.jumps)


def _mean(seen: _Seen | None, chains: int) -> _Seen:
    """What chains have seen, on the mean."""
    assert seen is not None
    return _Seen(seen.fertilities / chains, seen.jumps / chains)


def _width(text: Text) -> type:
    """The smallest integers that can number the words of all sentences."""
    return np.int8 if text.longest <= np.iinfo(np.int8).max else np.int16


def _of_pieces(text: Text, direction: int) -> Iterator[tuple[int, slice]]:
    """The pieces of a text, and where their outputs stand among all."""
    for number, (begin, end) in enumerate(pairwise(text.first_outputs[direction].tolist())):
        yield number, slice(begin, end)


def _observed(text: Text, direction: int, linked: np.ndarray) -> _Seen:
    """The fertilities and jumps of given links."""
    longest, types = text.longest, text.sizes[1 - direction]
    fertilities, jumps = np.zeros((types, engine.MOST + 1)), np.zeros(2 * max(MAX_JUMP, longest + 1) + 1)
    scratch = engine.scratch_for(longest, types)
    for number, own in _of_pieces(text, direction):
        engine.observe(text.plain(number), direction == 1, linked[own].astype(np.int16), fertilities, jumps, scratch)
    return _Seen(fertilities, folded(jumps))


def _swept(work: Work, direction: int, linked: np.ndarray, laws: engine.Laws, dice: list[np.ndarray]) -> _Seen:
    """Draw all links of some chains once, in place; ``linked`` (chains, outputs). What they have seen, added up."""
    text, swap, types = work.text, direction == 1, work.text.sizes[1 - direction]
    tallies = [_tally_of(work, direction) for _ in dice]
    for number, own in _of_pieces(text, direction):
        piece = text.plain(number)
        for chain, tally in enumerate(tallies):
            engine.recount(piece, text.sharing, swap, linked[chain, own].astype(np.int16), tally)
    fertilities, jumps = np.zeros((types, engine.MOST + 1)), np.zeros(len(laws.jumps))
    scratch = engine.scratch_for(text.longest, types)
    for number, own in _of_pieces(text, direction):
        piece = text.piece(number)
        piece = piece._replace(cells=np.minimum(piece.cells, text.n_shared))
        for chain, tally in enumerate(tallies):
            links = linked[chain, own].astype(np.int16)
            engine.sweep(piece, swap, links, tally, laws, fertilities, jumps, scratch, dice[chain])
            linked[chain, own] = links
    return _Seen(fertilities, folded(jumps))


def _no_votes(outputs: int, width: type) -> _Votes:
    return _Votes(np.zeros(outputs, np.uint8), np.zeros(0, width), np.zeros(0, np.uint8))


def _vote(text: Text, direction: int, linked: np.ndarray, votes: list[_Votes]) -> None:
    """Add the present links of all chains to the votes of every piece."""
    for number, own in _of_pieces(text, direction):
        sizes, states, counts = votes[number]
        most = len(states) + linked[:, own].size
        new_states, new_counts = np.empty(most, np.int16), np.empty(most, np.uint8)
        end = engine.add_votes(
            linked[:, own].astype(np.int16), sizes, states.astype(np.int16), counts, new_states, new_counts
        )
        votes[number] = _Votes(sizes, new_states[:end].astype(states.dtype), new_counts[:end].copy())


def _restored(arrays: Mapping[str, np.ndarray], work: Work, chains: int) -> _Sampling:
    """The state of an unfinished run."""
    text, lengths = work.text, work.text.lengths
    linked: list[np.ndarray] = []
    all_votes, seen = [], []
    for d, side in enumerate(("forward", "backward")):
        names = ("chains", "votes/sizes", "votes/states", "votes/counts", "fertilities", "jumps")
        chain, sizes, states, counts, fertilities, jumps = (np.array(arrays[f"{name}/{side}"]) for name in names)
        outputs, types = int(text.first_outputs[d][-1]), text.sizes[1 - d]
        fits = [chain.shape, sizes.shape, fertilities.shape] == [
            (chains, outputs),
            (outputs,),
            (types, engine.MOST + 1),
        ]
        most = np.repeat(lengths[:, d], lengths[:, 1 - d])
        if not fits or (chain >= most).any() or len(states) != sizes.sum() or (states >= np.repeat(most, sizes)).any():
            raise SettingError("the unfinished run does not fit this text")
        first_votes, width = starts_of(sizes), _width(text)
        votes = []
        for _, own in _of_pieces(text, d):
            cut = slice(first_votes[own.start], first_votes[own.stop])
            votes.append(_Votes(sizes[own].copy(), states[cut].astype(width), counts[cut].copy()))
        linked.append(chain.astype(width))
        all_votes.append(votes)
        seen.append(_Seen(fertilities, jumps))
    return _Sampling((linked[0], linked[1]), (all_votes[0], all_votes[1]), (seen[0], seen[1]))
