"""Learning a model from counts: what every such method does before, between and after its iterations.

A method says which laws of positions it goes through (``Stage``); ``training`` prepares the text, ``learn_counts`` goes
through the stages, ``keep`` leaves in the model the couples that matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.base import Aligner, signature_of
from corpuscle.align.expectation import Expectation
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.sharing import take_apart
from corpuscle.align.pieces import Counts, Singles, Text
from corpuscle.align.positions import Law
from corpuscle.align.tables import Estimation
from corpuscle.align.update import counts_of, extended
from corpuscle.compiled import frozen
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Kind
from corpuscle.progress import bar
from corpuscle.scale import Workers, chunks_of
from corpuscle.scale import workers as some_workers
from corpuscle.text.bitext import Bitext

__all__ = ["EXPECTED", "KEEP", "Learned", "Stage", "Work", "keep", "learn_counts", "partial_kind", "training", "usable"]

EXPECTED = {
    "couples": Array("float64", (2, "couples"), low=0, finite=True),
    "singles": Array("float32", (2, "singles"), low=0, high=1.001),
    "totals/forward": Array("float64", ("source",), low=0, finite=True),
    "totals/backward": Array("float64", ("target",), low=0, finite=True),
    "nulls/forward": Array("float64", ("target",), low=0, finite=True),
    "nulls/backward": Array("float64", ("source",), low=0, finite=True),
    "history": Array("float64", ("iterations", 2), finite=True),
}
"""The state of an unfinished run of expectation and maximisation, besides its law of positions."""

KEEP = 1e-4
"""A couple with fewer expected links than this, in both directions, is not kept in the model."""

_COUPLES_AT_ONCE = 1_000_000


def partial_kind(method: str, **law: Array) -> Kind:
    """The kind of file that keeps an unfinished run of a method."""
    return Kind(f"align.{method}.partial", 1, EXPECTED | law)


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


class Stage(NamedTuple):
    """Iterations under one law of positions, as it is at first."""

    law: Any
    iterations: int
    agreement: bool = False


class Work(NamedTuple):
    """What a learner works on, and with. ``before``: what an older model has counted, in the couples of this text."""

    text: Text
    before: Counts | None
    checkpoint: Checkpoint
    pool: Workers
    progress: Any


class Learned(NamedTuple):
    """What came of all stages: ``counts`` None if an interrupted run had come further; the law of the last stage;
    ``history`` float64 (iterations, 2), the log-likelihood a token."""

    counts: Counts | None
    law: Any
    history: np.ndarray


@contextmanager
def training(
    model: Aligner, bitext: Bitext, checkpoint: Checkpoint | None, base: Aligner | None, steps: int
) -> Iterator[Work]:
    """Everything that learning needs; the model gets the vocabularies and the record of its text."""
    if base is not None and type(base) is not type(model):
        raise SettingError(f"a model of the method {model.method} does not go on from one of {base.method}")
    signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
    chosen = usable(bitext, model.max_length)
    if base is not None:
        bitext = extended(bitext, base.source_vocab_, base.target_vocab_)
    text = Text(bitext, chosen, None if base is None else base.couples_)
    before = None if base is None else counts_of(text, base.couples_, base.counts_, base.null_counts_)
    with ExitStack() as stack:
        if checkpoint is None:
            checkpoint = stack.enter_context(Checkpoint(None, model.PARTIAL, model.dependence(), signature))
        pool = stack.enter_context(some_workers(model.workers, model.cluster))
        yield Work(text, before, checkpoint, pool, stack.enter_context(bar(model.method, steps)))
    model.source_vocab_, model.target_vocab_ = bitext.source.vocab, bitext.target.vocab
    model.provenance_ = {
        "sentence_pairs": len(bitext),
        "learned_from": int(chosen.sum()),
        "source_tokens": int(text.first_outputs[1][-1]),
        "target_tokens": int(text.first_outputs[0][-1]),
        "signature": signature,
    }


def learn_counts(work: Work, stages: list[Stage], estimation: Estimation) -> Learned:
    """All iterations of all stages, from the start or from where an interrupted run had come to.

    Where an older model has counted before, only the last stage is left to do; its law is that of the model.
    """
    text, checkpoint, counts = work.text, work.checkpoint, work.before
    own, history, done = stages[-1].law, np.zeros((0, 2)), 0
    em = Expectation(text, estimation, work.pool, work.before, None if work.before is None else own)
    if checkpoint.state is not None:
        arrays = checkpoint.state.arrays
        history = np.array(arrays["history"])
        if "couples" not in arrays:
            return Learned(None, own, history)
        counts, own, done = _restored(arrays, text), own.restored(arrays), checkpoint.iteration
    tokens = np.array([outputs[-1] for outputs in text.first_outputs])
    number = 0
    for k, stage in enumerate(stages):
        last = k == len(stages) - 1
        if work.before is not None and not last:
            number += stage.iterations
            continue
        law = own if last else stage.law
        for _ in range(stage.iterations):
            number += 1
            if number <= done:
                continue
            counts, law, likelihoods = em.iterate(counts, law, stage.agreement)
            own = law if last else own
            history = np.vstack([history, likelihoods / tokens])
            work.progress.advance(note=f"{history[-1, 0]:.4f} {history[-1, 1]:.4f}")
            checkpoint.after(number, partial(_state, counts, own, history))
    return Learned(counts, own, history)


def _state(counts: Counts, law: Law, history: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of an unfinished run."""
    assert counts.singles is not None
    return law.arrays() | {
        "couples": counts.couples,
        "singles": counts.singles.counts,
        "totals/forward": counts.singles.totals[0],
        "totals/backward": counts.singles.totals[1],
        "nulls/forward": counts.nulls[0],
        "nulls/backward": counts.nulls[1],
        "history": history,
    }


def _restored(arrays: Mapping[str, np.ndarray], text: Text) -> Counts:
    """The counts of an unfinished run."""
    wanted = text.no_counts()
    assert wanted.singles is not None
    nulls, totals = ((arrays[f"{name}/forward"], arrays[f"{name}/backward"]) for name in ("nulls", "totals"))
    sizes = [array.shape for array in (arrays["couples"], arrays["singles"], *nulls, *totals)]
    if sizes != [
        array.shape for array in (wanted.couples, wanted.singles.counts, *wanted.nulls, *wanted.singles.totals)
    ]:
        raise SettingError("the unfinished run does not fit this text")
    return Counts(np.array(arrays["couples"]), nulls, Singles(np.array(arrays["singles"]), totals))


def keep(model: Aligner, text: Text, counts: Counts | None) -> None:
    """Leave in the model the couples that matter, by rising columns in every row."""
    assert counts is not None
    parts = [*_kept_couples(text.couples, counts.couples), *_kept_singles(text, counts.singles)]
    rows, columns, links = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
    del parts
    order = np.lexsort((columns, rows))
    row_starts = np.zeros(text.sizes[1] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=text.sizes[1]), out=row_starts[1:])
    model.couples_ = Couples(frozen(row_starts, np.int64), frozen(columns[order], np.int32))
    model.counts_, model.null_counts_ = links[:, order], counts.nulls
    vars(model).pop("tables_", None)  # those of an earlier text


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
