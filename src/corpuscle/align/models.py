"""Model 1, the diagonal model and the hidden Markov model: settings, learning, link probabilities."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.base import MAX_JUMP, Aligner, Posteriors, Tables
from corpuscle.align.expectation import (
    JUMPS,
    Counts,
    Setting,
    Singles,
    iterate,
    link_posteriors,
    no_singles,
    values_of,
    widened,
)
from corpuscle.align.kernels import jumps as jumps_engine
from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.align.kernels.fertility import MOST
from corpuscle.align.kernels.sharing import take_apart
from corpuscle.align.kernels.translation import DIAGONAL, UNIFORM
from corpuscle.align.pieces import Text
from corpuscle.align.update import counts_of, extended
from corpuscle.compiled import frozen
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Container, Kind
from corpuscle.progress import bar
from corpuscle.scale import Workers, chunks_of
from corpuscle.scale import workers as some_workers
from corpuscle.text.bitext import Bitext
from corpuscle.text.preprocessing import Preprocessing

__all__ = ["HMM", "Diagonal", "Model1"]

_SIDES = ("forward", "backward")
_EXPECTED = {"couples", "singles", "strengths", "jumps"} | {
    f"{n}/{side}" for n in ("nulls", "totals") for side in _SIDES
}
_DRAWN = {
    f"{name}/{side}"
    for name in ("chains", "votes/sizes", "votes/states", "votes/counts", "fertilities", "jumps")
    for side in _SIDES
}


def _whole(container: Container) -> None:
    if container.arrays.keys() - {"history"} not in (_EXPECTED, _DRAWN):
        raise ValueError("parts of it are missing")


PARTIAL = Kind(
    "align.partial",
    2,
    {
        "couples": Array("float64", (2, "couples"), low=0, finite=True, optional=True),
        "singles": Array("float32", (2, "singles"), low=0, high=1.001, optional=True),
        "totals/forward": Array("float64", ("source",), low=0, finite=True, optional=True),
        "totals/backward": Array("float64", ("target",), low=0, finite=True, optional=True),
        "nulls/forward": Array("float64", ("target",), low=0, finite=True, optional=True),
        "nulls/backward": Array("float64", ("source",), low=0, finite=True, optional=True),
        "strengths": Array("float64", (2,), low=0.1, high=14.001, optional=True),
        "jumps": Array("float64", (2, 2 * MAX_JUMP + 1), low=1e-12, high=1e15, optional=True),
        "chains/forward": Array("int16", ("chains", "target_tokens"), low=-1, optional=True),
        "chains/backward": Array("int16", ("chains", "source_tokens"), low=-1, optional=True),
        "votes/sizes/forward": Array("uint8", ("target_tokens",), optional=True),
        "votes/sizes/backward": Array("uint8", ("source_tokens",), optional=True),
        "votes/states/forward": Array("int16", ("target_votes",), low=-1, optional=True),
        "votes/states/backward": Array("int16", ("source_votes",), low=-1, optional=True),
        "votes/counts/forward": Array("uint8", ("target_votes",), optional=True),
        "votes/counts/backward": Array("uint8", ("source_votes",), optional=True),
        "fertilities/forward": Array("float64", ("source_types", MOST + 1), low=0, finite=True, optional=True),
        "fertilities/backward": Array("float64", ("target_types", MOST + 1), low=0, finite=True, optional=True),
        "jumps/forward": Array("float64", (2 * MAX_JUMP + 1,), low=0, high=1e15, optional=True),
        "jumps/backward": Array("float64", (2 * MAX_JUMP + 1,), low=0, high=1e15, optional=True),
        "history": Array("float64", ("iterations", 2), finite=True),
    },
    check=_whole,
)
"""The state of an unfinished run of expectation and maximisation, or of sampling after it."""

_COUPLES_AT_ONCE = 1_000_000
KEEP = 1e-4
"""A couple with fewer expected links than this, in both directions, is not kept in the model."""


def signature_of(bitext: Bitext) -> str:
    """A short hash of the text of both sides."""
    return bitext.source.signature() + bitext.target.signature()


def usable(bitext: Bitext, max_length: int) -> np.ndarray:
    """The pairs to learn from, bool (n_pairs,): both sides have words, and not too many. Warns about the others."""
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    empty, long = (lengths == 0).any(axis=1), (lengths > max_length).any(axis=1)
    if empty.any():
        warn(f"{int(empty.sum()):,} of {len(bitext):,} sentence pairs have an empty side; they get no links")
    if (long & ~empty).any():
        count = int((long & ~empty).sum())
        warn(f"{count:,} sentence pairs have a side of more than {max_length} words and are not learned from")
    chosen = ~(empty | long)
    if not chosen.any():
        raise InputError(None, None, "there are no sentence pairs to learn from")
    if chosen.sum() == 1:
        warn("there is only one sentence pair to learn from")
    return chosen


class Work(NamedTuple):
    """What a learner works on, and with.

    - ``base``: an older model to go on from, and ``before`` what it has counted, in the couples of this text.
    """

    text: Text
    base: Aligner | None
    before: Counts | None
    checkpoint: Checkpoint
    pool: Workers
    progress: Any


@dataclass(eq=False)
class Learned(Aligner):
    """What the three methods share: expectation and maximisation.

    - ``iterations``: how many with the method's own prior of positions;
    - ``bayes``: learn the table by variational Bayes, with a Dirichlet prior of concentration ``alpha`` for each row;
      else by maximum likelihood, and ``alpha`` is not used;
    - ``agreement``: both directions learn from the products of their link probabilities;
    - ``max_length``: pairs with a longer side are not learned from.
    """

    iterations: int = 5
    alpha: float = 0.01
    bayes: bool = True
    agreement: bool = False
    max_length: int = 100
    workers: int | None = None

    prior: ClassVar[int]
    p0 = 0.0
    rho = 0.0

    def __post_init__(self) -> None:
        for name, kind, low, high in (
            ("iterations", int, 1, 10_000),
            ("alpha", float, 1e-6, 1e6),
            ("max_length", int, 1, 10_000),
            ("warm_up", int, 0, 10_000),
            ("chains", int, 1, 255),
            ("sweeps", int, 2, 500),
            ("seed", int, 0, 2**63 - 1),
            ("p0", float, 1e-6, 0.999),
            ("rho", float, 1e-6, 1.0),
            ("strength", float, 0.1, 14.0),
        ):
            if name not in {field.name for field in dataclasses.fields(self)}:
                continue
            value = getattr(self, name)
            right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
            if not right or not low <= value <= high:
                raise SettingError(f"{name} is between {low} and {high}, not {value!r}")
        for name in "bayes", "agreement":
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} is true or false, not {getattr(self, name)!r}")
        if self.workers is not None and self.workers < 1:
            raise SettingError(f"workers must be at least 1, not {self.workers}")

    def stages(self) -> list[tuple[int, int]]:
        """Priors of positions, and how many iterations each has."""
        return [(self.prior, self.iterations)]

    def posteriors(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> Posteriors:
        """Link probabilities of sentence pairs first..last-1 whose cells are filled."""
        return link_posteriors(
            pairs,
            first,
            last,
            direction,
            tables,
            self.prior,
            self.p0,
            self.rho,
            float(self.strengths_[direction]),
            self.jumps_[direction],
        ).posteriors

    def checkpoint(self, bitext: Bitext, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, PARTIAL, self.settings(), signature_of(bitext), resume=resume)

    def fit(
        self,
        bitext: Bitext,
        *,
        preprocessing: Preprocessing | None = None,
        checkpoint: Checkpoint | None = None,
        base: Aligner | None = None,
    ) -> Self:
        """Learn from sentence pairs.

        ``preprocessing`` says what was done to the text, for the model's record; ``checkpoint`` keeps unfinished work;
        ``base`` is a model of the same method whose counts are built upon: it learns from new pairs what it does not
        know, and need not see the old ones again.
        """
        signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
        chosen = usable(bitext, self.max_length)
        learned = bitext if base is None else extended(bitext, base)
        text = Text(learned, chosen, None if base is None else base.couples_)
        before = None if base is None else counts_of(base, text)
        with ExitStack() as stack:
            if checkpoint is None:
                checkpoint = stack.enter_context(Checkpoint(None, PARTIAL, self.settings(), signature))
            pool = stack.enter_context(some_workers(self.workers))
            total = sum(count for _, count in self.stages()) + self.further_steps()
            progress = stack.enter_context(bar(self.method, total))
            work = Work(text, base, before, checkpoint, pool, progress)
            counts = self.refine(work, self._climb(work))
        self._keep(text, counts)
        self.source_vocab_, self.target_vocab_ = learned.source.vocab, learned.target.vocab
        self.preprocessing_ = preprocessing or Preprocessing()
        self.provenance_ = {
            "sentence_pairs": len(bitext),
            "learned_from": int(chosen.sum()),
            "source_tokens": int(text.first_outputs[1][-1]),
            "target_tokens": int(text.first_outputs[0][-1]),
            "signature": signature,
        }
        return self

    def _climb(self, work: Work) -> Counts | None:
        """All iterations of all stages, from the start or from where an interrupted run had come to; None if that had
        come further. Keeps their history."""
        text, base, checkpoint = work.text, work.before, work.checkpoint
        start = Counts(
            np.zeros((2, text.n_shared)),
            (np.zeros(text.sizes[0]), np.zeros(text.sizes[1])),
            np.full(2, float(getattr(self, "strength", 4.0))),
            np.ones((2, 2 * MAX_JUMP + 1)),
            no_singles(text),
        )
        history = np.zeros((0, 2))
        counts, done = base, 0
        if base is not None:
            start = start._replace(strengths=base.strengths, jumps=base.jumps)
        if checkpoint.state is not None:
            arrays = checkpoint.state.arrays
            self.history_ = history = np.array(arrays["history"])
            if "couples" not in arrays:
                return None
            counts, done = _restored(arrays, start), checkpoint.iteration
        number = 0
        tokens = np.array([outputs[-1] for outputs in text.first_outputs])
        for stage, (prior, iterations) in enumerate(self.stages()):
            if base is not None and stage < len(self.stages()) - 1:
                number += iterations
                continue
            agreement = self.agreement and prior == self.prior  # Model 1 by itself agrees on too little
            setting = Setting(prior, self.p0, self.rho, self.alpha, self.bayes, agreement)
            for iteration in range(iterations):
                number += 1
                if number <= done:
                    continue
                climb = iteration > 0 or base is not None
                shared = text.sharing.couples
                counts, likelihoods = iterate(text, shared, counts, setting, climb, base, work.pool, start)
                history = np.vstack([history, likelihoods / tokens])
                work.progress.advance(note=f"{history[-1, 0]:.4f} {history[-1, 1]:.4f}")
                checkpoint.after(number, partial(_partial, counts, history))
        self.history_ = history
        return counts

    def further_steps(self) -> int:
        """How many steps ``refine`` takes."""
        return 0

    def refine(self, work: Work, counts: Counts | None) -> Counts:
        """What a method does with the counts after the last iteration."""
        assert counts is not None
        return counts

    def _keep(self, text: Text, counts: Counts) -> None:
        """Keep the couples that matter, by rising columns in every row."""
        parts = [*_kept_couples(text.sharing.couples, counts.couples), *_kept_singles(text, counts.singles)]
        rows, columns, links = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        del parts
        order = np.lexsort((columns, rows))
        row_starts = np.zeros(text.sizes[1] + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=text.sizes[1]), out=row_starts[1:])
        self.couples_ = Couples(frozen(row_starts, np.int64), frozen(columns[order], np.int32))
        self.counts_ = links[:, order]
        self.null_counts_ = counts.nulls
        self.strengths_, self.jumps_ = counts.strengths, counts.jumps
        for name in "tables_", "_tallies":
            self.__dict__.pop(name, None)


_Kept = Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Source types, target types, and counts float32 (2, n) of some couples."""


def _kept_couples(couples: Couples, counts: np.ndarray) -> _Kept:
    """The shared couples that matter, some rows at a time."""
    for first, last in pairwise(chunks_of(np.diff(couples.row_starts), _COUPLES_AT_ONCE).tolist()):
        begin, end = couples.row_starts[first], couples.row_starts[last]
        kept = np.flatnonzero((counts[:, begin:end] >= KEEP).any(axis=0))
        rows = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(couples.row_starts[first : last + 1]))
        yield rows[kept], couples.columns[begin:end][kept], counts[:, begin + kept].astype(np.float32)


def _kept_singles(text: Text, singles: Singles | None) -> _Kept:
    """The singles that matter, piece by piece."""
    assert singles is not None
    for number, (begin, end) in enumerate(pairwise(text.first_singles.tolist())):
        counts = singles.counts[:, begin:end]
        kept = np.flatnonzero((counts >= KEEP).any(axis=0))
        if len(kept):
            types = np.empty((2, end - begin), np.int32)
            take_apart(text.piece(number), text.n_shared, begin, types)
            yield types[0, kept], types[1, kept], counts[:, kept].astype(np.float32)


def _partial(counts: Counts, history: np.ndarray) -> dict[str, np.ndarray]:
    assert counts.singles is not None
    return {
        "couples": counts.couples,
        "singles": counts.singles.counts,
        "totals/forward": counts.singles.totals[0],
        "totals/backward": counts.singles.totals[1],
        "nulls/forward": counts.nulls[0],
        "nulls/backward": counts.nulls[1],
        "strengths": counts.strengths,
        "jumps": counts.jumps,
        "history": history,
    }


def _restored(arrays: dict[str, np.ndarray], start: Counts) -> Counts:
    assert start.singles is not None
    nulls, totals = ((arrays[f"{name}/forward"], arrays[f"{name}/backward"]) for name in ("nulls", "totals"))
    sizes = [array.shape for array in (arrays["couples"], arrays["singles"], *nulls, *totals)]
    wanted = start.couples, start.singles.counts, *start.nulls, *start.singles.totals
    if sizes != [array.shape for array in wanted]:
        raise SettingError("the unfinished run does not fit this text")
    singles = Singles(np.array(arrays["singles"]), totals)
    return Counts(np.array(arrays["couples"]), nulls, arrays["strengths"], arrays["jumps"], singles)


@dataclass(eq=False)
class Model1(Learned):
    """IBM Model 1 (Brown et al. 1993): every position is as good as any other."""

    method: ClassVar[str] = "ibm1"
    prior: ClassVar[int] = UNIFORM


@dataclass(eq=False)
class Diagonal(Learned):
    """Model 2 with a diagonal (Dyer, Chahuneau and Smith 2013): the fastest that is any good.

    - ``p0``: how often a word comes from nothing;
    - ``strength``: lambda, how strongly links are drawn to the diagonal, at the start; it is learned.

    By maximum likelihood and in agreement it makes fewer errors than as its authors learn it, by variational Bayes
    (``bayes=True, agreement=False``).
    """

    method: ClassVar[str] = "diagonal"
    prior: ClassVar[int] = DIAGONAL

    bayes: bool = False
    agreement: bool = True
    p0: float = 0.08
    strength: float = 4.0


@dataclass(eq=False)
class HMM(Learned):
    """The hidden Markov model (Vogel, Ney and Tillmann 1996): a link depends on where the link before it went.

    - ``warm_up``: iterations of Model 1 before;
    - ``p0``: how often a word comes from nothing; ``rho``: the share of jumps that go anywhere.
    """

    method: ClassVar[str] = "hmm"
    prior: ClassVar[int] = JUMPS

    warm_up: int = 5
    p0: float = 0.1
    rho: float = 0.05
    bayes: bool = False
    agreement: bool = True

    def stages(self) -> list[tuple[int, int]]:
        """Model 1 first."""
        return [(UNIFORM, self.warm_up), (JUMPS, self.iterations)]

    def best(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> np.ndarray:
        """The best path through all outputs, int32, -1 for the null word."""
        values = values_of(tables.couples, pairs, first, last)
        return self.best_path(pairs, first, last, direction, values, tables.null, self.jumps_[direction])

    def best_path(
        self,
        pairs: Pairs,
        first: int,
        last: int,
        direction: int,
        values: np.ndarray,
        null: np.ndarray,
        jumps: np.ndarray,
    ) -> np.ndarray:
        """The best path under any translation probabilities of cells and of the null word and any counts of jumps."""
        outputs, states = pairs.target_starts, pairs.source_starts
        if direction == 1:
            outputs, states = states, outputs
        best = np.empty(int(outputs[last] - outputs[first]), np.int32)
        wide = widened(jumps, max(int(np.diff(states[first : last + 1]).max(initial=0)) + 1, MAX_JUMP))
        law = jumps_engine.Law(wide, frozen(null, np.float32), self.p0, self.rho)
        jumps_engine.best_path(pairs, first, last, direction == 1, law, values, best)
        return best
