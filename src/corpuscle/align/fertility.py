"""Fertility: after the hidden Markov model, Gibbs sampling with fertilities: how many links each word tends to have.

A chain is nothing but its links: their counts are made anew before each sweep, so chains cost little memory and can
sweep on any worker; two go through the text together, so that its cells are found once for both. The laws of jumps and
fertilities are those of all chains together. The later half of the sweeps votes on the link of each word, and the model
counts the links that win: its tables are those of one alignment, and new sentences are linked by draws under them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import learning
from corpuscle.align.base import COUNTED, Aligner, check_rows
from corpuscle.align.counts import BitextChunks, LinkCounts, PairChunk, Posteriors, TranslationTables, rows_of
from corpuscle.align.distortion import JUMPS, MAX_JUMP, Jumps, folded, widened
from corpuscle.align.em_models import (
    HMM_STAGES,
    Counted,
    TrainingData,
    Translation,
    keep,
    learn_hmm,
    training,
    translation_of,
)
from corpuscle.align.kernels import fertility as kernels
from corpuscle.align.kernels.cooccurrence import Couples, directed
from corpuscle.align.settings import FertilitySettings
from corpuscle.compiled import frozen
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Arrays, Container, Kind
from corpuscle.random import Random
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import starts_of

_FERTILITY_PRIOR = 1.0
"""How many observations the fertilities of all words together are worth for those of one word."""

_JUMP_PRIOR = 0.5
_SWEEPS, _SKIP = 48, 8
"""Draws of the links of a sentence under a finished model, and how many of them are burn-in."""

_TOGETHER = 2
"""How many chains go through the text together: each of them needs a count for every shared couple."""

_SIDES = ("forward", "backward")
_NAMES = ("chains", "votes/sizes", "votes/states", "votes/counts", "fertilities", "jumps")
_DRAWN = {
    f"{name}/{side}": array
    for side, output, state in (("forward", "target", "source"), ("backward", "source", "target"))
    for name, array in {
        "chains": Array("int16", ("chains", f"{output}_tokens"), low=-1),
        "votes/sizes": Array("uint8", (f"{output}_tokens",)),
        "votes/states": Array("int16", (f"{output}_votes",), low=-1),
        "votes/counts": Array("uint8", (f"{output}_votes",)),
        "fertilities": Array("float64", (f"{state}_types", kernels.MOST + 1), low=0, finite=True),
        "jumps": Array("float64", (2 * MAX_JUMP + 1,), low=0, high=1e15),
    }.items()
}
"""The state of unfinished sampling."""

_FERTILITIES = {
    "fertilities/source": Array("float32", ("source_types+3", kernels.MOST + 1), low=0, finite=True),
    "fertilities/target": Array("float32", ("target_types+3", kernels.MOST + 1), low=0, finite=True),
}


def _check(loaded: Container) -> None:
    check_rows(loaded)
    if max(loaded.arrays[name].sum() for name in ("counts", "null/forward", "null/backward")) >= 2**31:
        raise ValueError("it counts more links than there can be")


class _Statistics(NamedTuple):
    """What was seen in the links of one direction: ``fertilities`` float64 (state types, MOST + 1), ``jumps`` float64
    (2 MAX_JUMP + 1,)."""

    fertilities: np.ndarray
    jumps: np.ndarray


class _Votes(NamedTuple):
    """The links that were drawn in one chunk of the text: ``sizes`` uint8 (outputs,), the number of different states of
    each output; ``states`` int8 or int16, these states (-1: none), and ``counts`` uint8, how often each was drawn."""

    sizes: np.ndarray
    states: np.ndarray
    counts: np.ndarray


_Chains = tuple[BitextChunks, LinkCounts | None, int, range]
"""Chains that go through the text together: the text, the counts of an older model, the direction, their numbers."""


class _Sampling(learning.Learner):
    """A learner (see ``corpuscle.learning``) whose sweeps draw the links of all chains of both directions.

    - ``linked``: for each direction int8 (int16 if sentences are long) (chains, outputs), the state of every output, or
      -1;
    - ``votes``: by direction and chunk; ``seen``: by direction, of all chains in the last sweep, on the mean;
    - ``known``: by direction, what an older model has seen.
    """

    def __init__(self, settings: FertilitySettings, work: TrainingData, known: list[_Statistics]):
        self.settings, self.text, self.known = settings, work.text, known
        self.linked: list[np.ndarray] = []
        self.votes: list[list[_Votes]] = []
        self.seen: list[_Statistics] = []
        all_chains = range(settings.chains)
        numbers = [all_chains[first : first + _TOGETHER] for first in all_chains[::_TOGETHER]]
        self._tasks = work.pool.scatter([(self.text, work.before, d, each) for d in (0, 1) for each in numbers])

    def start(self, links: list[np.ndarray]) -> None:
        text, width, no_counts = self.text, _width(self.text), np.zeros(0, np.uint8)
        self.linked = [np.tile(each.astype(width), (self.settings.chains, 1)) for each in links]
        sizes = [np.diff(text.first_outputs[d]).tolist() for d in (0, 1)]
        self.votes = [[_Votes(np.zeros(n, np.uint8), np.zeros(0, width), no_counts) for n in own] for own in sizes]
        self.seen = [_observed(text, d, links[d]) for d in (0, 1)]

    def finish(self, sweep: int) -> list[float]:
        """Draw all links of all chains once; the later half of the sweeps votes. Its row of the history is empty."""
        text, settings = self.text, self.settings
        laws = [_laws(settings, _sum(self.seen[d], self.known[d]), text.sizes[d], text.longest) for d in (0, 1)]
        found = [_unseen(text, d) for d in (0, 1)]
        for d, chains, links, seen in self._tasks.map(_swept, (self.linked, laws, settings.seed, sweep)):
            self.linked[d][chains.start : chains.stop] = links
            found[d] = _sum(seen, found[d])
        self.seen = [_Statistics(*(each / settings.chains for each in seen)) for seen in found]
        if sweep >= settings.sweeps // 2:
            for d in (0, 1):
                for number, own in _of_chunks(text, d):
                    sizes, states, counts = self.votes[d][number]
                    now = self.linked[d][:, own].astype(np.int16)
                    most = len(states) + now.size
                    new_states, new_counts = np.empty(most, np.int16), np.empty(most, np.uint8)
                    end = kernels.add_votes(now, sizes, states.astype(np.int16), counts, new_states, new_counts)
                    kept = new_states[:end].astype(states.dtype), new_counts[:end].copy()
                    self.votes[d][number] = _Votes(sizes, *kept)
        return []

    def state(self) -> dict[str, np.ndarray]:
        result: dict[str, np.ndarray] = {}
        for side, linked, votes, seen in zip(_SIDES, self.linked, self.votes, self.seen, strict=True):
            sizes, states, counts = (np.concatenate(arrays) for arrays in zip(*votes, strict=True))
            arrays = linked.astype(np.int16), sizes, states.astype(np.int16), counts, *seen
            result |= {f"{name}/{side}": array for name, array in zip(_NAMES, arrays, strict=True)}
        return result

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        text, lengths, width = self.text, self.text.lengths, _width(self.text)
        for d, side in enumerate(_SIDES):
            linked, sizes, states, counts, fertilities, jumps = (np.array(arrays[f"{name}/{side}"]) for name in _NAMES)
            outputs, types = int(text.first_outputs[d][-1]), text.sizes[1 - d]
            wanted = [(self.settings.chains, outputs), (outputs,), (types, kernels.MOST + 1), (sizes.sum(),)]
            most = np.repeat(lengths[:, d], lengths[:, 1 - d])
            fits = [linked.shape, sizes.shape, fertilities.shape, states.shape] == wanted
            if not fits or (linked >= most).any() or (states >= np.repeat(most, sizes)).any():
                raise ValueError("it does not fit the text")
            first_votes, votes = starts_of(sizes), []
            for _, own in _of_chunks(text, d):
                cut = slice(first_votes[own.start], first_votes[own.stop])
                votes.append(_Votes(sizes[own].copy(), states[cut].astype(width), counts[cut].copy()))
            self.linked.append(linked.astype(width))
            self.votes.append(votes)
            self.seen.append(_Statistics(fertilities, jumps))


def _laws(settings: FertilitySettings, seen: _Statistics, output_types: int, longest: int) -> kernels.Laws:
    """The laws under which links are drawn, for sentences of at most ``longest`` words."""
    total = seen.fertilities.sum(axis=0) + 0.5
    phi = seen.fertilities + _FERTILITY_PRIOR * total / total.sum()
    jumps = widened(seen.jumps + _JUMP_PRIOR, max(MAX_JUMP, longest + 1))
    odds = frozen(phi[:, 1:] / phi[:, :-1], np.float32)
    return kernels.Laws(frozen(jumps / jumps.sum(), np.float64), odds, float(output_types), settings.alpha, settings.p0)


class Fertility(FertilitySettings, Aligner):
    """The hidden Markov model, and after it Gibbs sampling with fertilities, in the manner of eflomal (Östling and
    Tiedemann, "Efficient word alignment with Markov chain Monte Carlo", 2016). Chains are drawn in parallel.

    - ``jumps_`` float64 (2, 2 MAX_JUMP + 1): counts of jumps, by direction and distance;
    - ``fertilities_``: float32 (types, MOST + 1) of source and of target types: how often a word had 0, 1, ... links.
    """

    method: ClassVar[str] = "fertility"
    KIND: ClassVar[Kind] = Kind("align.fertility", 1, COUNTED | {"jumps": JUMPS} | _FERTILITIES, check=_check)
    PARTIAL: ClassVar[Kind] = learning.partial(KIND.name, *HMM_STAGES, _DRAWN)
    SAVED: ClassVar = Counted.SAVED | {
        "jumps_": Arrays("jumps"),
        "fertilities_": Arrays("fertilities/source", "fertilities/target"),
    }

    jumps_: np.ndarray = learned()
    fertilities_: tuple[np.ndarray, np.ndarray] = learned()

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        with training(self, bitext, checkpoint, base) as work:
            em, self.history_ = learn_hmm(self, work, None if base is None else base.jumps_, self.method)
            known = [_unseen(work.text, d) for d in (0, 1)]
            if base is not None:  # what the older model has seen; the last rows are new words
                for seen, fertilities, jumps in zip(known, base.fertilities_, base.jumps_, strict=True):
                    seen.fertilities[: len(fertilities)], seen.jumps[:] = fertilities, jumps
            sampling = _Sampling(self, work, known)
            if em.counts is not None:  # else unfinished work has come further
                now = [translation_of(em.text, em.counts, d, em.estimation) for d in (0, 1)], em.law
                parts = zip(*em.chunks.map(_best_of_chunk, now), strict=True)
                sampling.start([np.concatenate(each) for each in parts])
            del em  # large, and not needed any more
            work.checkpoint.run(sampling, self.sweeps, columns=0, title=self.method, note="")
            sampling.linked = []  # large, and not needed any more
            counts = self._decided(work, sampling.votes, sampling.known)
        keep(self, work.text, counts)
        vars(self).pop("_tallies", None)
        return self

    def _decided(self, work: TrainingData, votes: list[list[_Votes]], known: list[_Statistics]) -> LinkCounts:
        """The counts of the links with the most votes, and those of an older model."""
        text = work.text
        linked = np.zeros((2, text.n_singles), np.uint8)
        couples = np.empty((2, text.n_shared), np.float32)
        jumps = np.empty((2, 2 * MAX_JUMP + 1))
        fertilities, nulls = [], []
        for d in (0, 1):
            parts: list[np.ndarray] = []
            tally = _tally_before(text, work.before, d)
            for number, each in enumerate(votes[d]):
                best = np.empty(len(each.sizes), np.int16)
                kernels.elect(each.sizes, each.states.astype(np.int16), each.counts, best)
                kernels.place(directed(text.chunk(number), d), best, tally, linked[d])
                parts.append(best.astype(_width(text)))
            votes[d].clear()
            seen = _sum(_observed(text, d, np.concatenate(parts)), known[d])
            couples[d], jumps[d] = tally.couples[:-1], seen.jumps
            fertilities.append(seen.fertilities.astype(np.float32))
            nulls.append(tally.nulls.astype(np.float64))
        self.fertilities_, self.jumps_ = (fertilities[0], fertilities[1]), np.maximum(jumps, 1e-3)
        return LinkCounts(couples, (nulls[0], nulls[1]), linked, (np.zeros(0), np.zeros(0)))

    @cached_property
    def _tallies(self) -> tuple[kernels.Tally, kernels.Tally]:
        """The counts of the model as they are while links are drawn."""
        sizes = len(self.source_vocab_), len(self.target_vocab_)
        forward, backward = (_tally(self.couples_, self.counts_[d], self.null_counts_[d], d, sizes[d]) for d in (0, 1))
        return forward, backward

    @cached_property
    def tables_(self) -> tuple[TranslationTables, TranslationTables]:
        """The probabilities of both directions, smoothed by the prior."""
        found = []
        for d, tally in enumerate(self._tallies):
            mass = self.alpha * len(tally.nulls)
            states = self.couples_.columns if d else rows_of(self.couples_)
            table = np.empty(len(tally.couples), np.float32)
            table[:-1] = (tally.couples[:-1] + self.alpha) / (tally.states[states] + mass)
            table[-1] = self.alpha / (1 + mass)
            null = (tally.nulls + self.alpha) / (tally.unlinked[0] + mass)
            found.append(TranslationTables(frozen(table, np.float32), frozen(null, np.float32)))
        return found[0], found[1]

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs: means over draws that start from the best path of the HMM."""
        table, null = self.tables_[direction]
        own = directed(pairs, direction)
        linked = Jumps(self.p0, self.rho, self.jumps_).best_path(own, table[pairs.cells], null)
        seen = _Statistics(self.fertilities_[direction].astype(np.float64), self.jumps_[direction])
        longest = max(int(np.diff(starts).max(initial=0)) for starts in (pairs.source_starts, pairs.target_starts))
        laws = _laws(self, seen, len(null), longest)
        links, nulls = np.empty(len(pairs.cells), np.float32), np.empty(len(linked), np.float32)
        key = Random(self.seed, "align/fertility/apply", direction).array()[0]
        kernels.draw_links(own, self._tallies[direction], laws, key, _SWEEPS, _SKIP, linked, links, nulls)
        return Posteriors(links, nulls, float("nan"))


def _tally(couples: Couples, counts: np.ndarray, nulls: np.ndarray, direction: int, types: int) -> kernels.Tally:
    """Counts as whole numbers; ``types``: the number of types of states."""
    links, unlinked = (np.rint(each).astype(np.int32) for each in (counts, nulls))
    by_state = np.bincount(couples.columns if direction else rows_of(couples), links, types).astype(np.int32)
    return kernels.Tally(np.append(links, np.int32(0)), by_state, unlinked, np.array([unlinked.sum()], np.int64))


def _tally_before(text: BitextChunks, before: LinkCounts | None, direction: int) -> kernels.Tally:
    """What an older model has counted, as links that are never drawn again; zeros without one."""
    types = text.sizes[1 - direction]
    if before is None:
        links, states, nulls = (np.zeros(size, np.int32) for size in (text.n_shared + 1, types, text.sizes[direction]))
        return kernels.Tally(links, states, nulls, np.zeros(1, np.int64))
    return _tally(text.couples, before.couples[direction], before.nulls[direction], direction, types)


def _unseen(text: BitextChunks, direction: int) -> _Statistics:
    return _Statistics(np.zeros((text.sizes[1 - direction], kernels.MOST + 1)), np.zeros(2 * MAX_JUMP + 1))


def _sum(new: _Statistics, old: _Statistics) -> _Statistics:
    return _Statistics(new.fertilities + old.fertilities, new.jumps + old.jumps)


def _best_of_chunk(chunk: PairChunk, now: tuple[list[Translation], Jumps]) -> list[np.ndarray]:
    """The best links of the hidden Markov model, by direction."""
    translations, law = now
    pairs = chunk.pairs()
    return [law.best_path(directed(pairs, d), each.values(pairs), each.null) for d, each in enumerate(translations)]


def _width(text: BitextChunks) -> type:
    """The smallest integers that can number the words of all sentences."""
    return np.int8 if text.longest <= np.iinfo(np.int8).max else np.int16


def _of_chunks(text: BitextChunks, direction: int) -> Iterator[tuple[int, slice]]:
    """The chunks of a text, and where their outputs stand among all."""
    for number, (begin, end) in enumerate(pairwise(text.first_outputs[direction].tolist())):
        yield number, slice(begin, end)


def _observed(text: BitextChunks, direction: int, linked: np.ndarray) -> _Statistics:
    longest, types = text.longest, text.sizes[1 - direction]
    fertilities, jumps = np.zeros((types, kernels.MOST + 1)), np.zeros(2 * max(MAX_JUMP, longest + 1) + 1)
    scratch = kernels.scratch_for(longest, types)
    for number, own in _of_chunks(text, direction):
        chunk = directed(text.plain(number), direction)
        kernels.observe(chunk, linked[own].astype(np.int16), fertilities, jumps, scratch)
    return _Statistics(fertilities, folded(jumps))


def _swept(
    chains: _Chains, now: tuple[list[np.ndarray], list[kernels.Laws], int, int]
) -> tuple[int, range, np.ndarray, _Statistics]:
    """Draw all links of some chains once: their direction and numbers, their links (chains, outputs), and what they
    have seen, added up. ``now``: the present links and the laws by direction, the seed, the number of the sweep."""
    (text, before, d, numbers), (all_linked, both_laws, seed, sweep) = chains, now
    laws, types = both_laws[d], text.sizes[1 - d]
    linked = all_linked[d][numbers.start : numbers.stop].copy()
    dice = [Random(seed, "align/fertility", sweep, 2 * chain + d).array() for chain in numbers]
    tallies = [_tally_before(text, before, d) for _ in dice]
    for number, own in _of_chunks(text, d):
        chunk = directed(text.plain(number), d)
        for chain, tally in enumerate(tallies):
            kernels.recount(chunk, text.sharing, linked[chain, own].astype(np.int16), tally)
    fertilities, jumps = np.zeros((types, kernels.MOST + 1)), np.zeros(len(laws.jumps))
    scratch = kernels.scratch_for(text.longest, types)
    for number, own in _of_chunks(text, d):
        chunk = directed(text.chunk(number), d)
        chunk = chunk._replace(cells=np.minimum(chunk.cells, text.n_shared))
        for chain, tally in enumerate(tallies):
            links = linked[chain, own].astype(np.int16)
            kernels.sweep(chunk, links, tally, laws, fertilities, jumps, scratch, dice[chain])
            linked[chain, own] = links
    return d, numbers, linked, _Statistics(fertilities, folded(jumps))
