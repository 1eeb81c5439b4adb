"""Models whose tables come from expected counts of links: Model1, Diagonal and HMM differ in where links go.

- IBM Model 1 (Brown et al., "The mathematics of statistical machine translation", 1993): every word of the other
  sentence, and the null word, may generate a word, wherever it stands;
- Model 2 with links near the diagonal (Dyer, Chahuneau and Smith, "A simple, fast, and effective reparameterization of
  IBM Model 2", 2013), the fastest method that is any good;
- the hidden Markov model (Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996): a link
  depends on the one before it.

The laws of positions are those of ``corpuscle.align.distortion``. Workers compute the link probabilities of both
directions of a chunk; one thread adds them to the counts, chunk by chunk in order, so that neither the result nor the
memory depends on the workers. (Sums over parts of the text would need a table for each part.)

With agreement (Liang, Taskar and Klein 2006) the counts of links of both directions are the products of their
probabilities: each direction learns from what the other believes too.

``training`` prepares the text, with the words and couples of an older model and those of new sentence pairs;
``keep`` leaves in the model the couples that matter. Both serve the model of fertilities, too, which begins with the
hidden Markov model.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.base import COUNTED, Aligner, check_rows, signature_of
from corpuscle.align.counts import (
    UNSEEN,
    BitextChunks,
    Estimation,
    LinkCounts,
    PairChunk,
    Posteriors,
    StoredPairs,
    TranslationTables,
    no_counts,
    part_of,
    references_from,
    sorted_couples,
    tables_from,
)
from corpuscle.align.distortion import JUMPS, MAX_JUMP, STRENGTHS, Jumps, Law, Uniform
from corpuscle.align.distortion import Diagonal as DiagonalLaw
from corpuscle.align.kernels import em as kernels
from corpuscle.align.kernels.cooccurrence import Pairs, directed, places_of, take_apart
from corpuscle.align.settings import DiagonalSettings, FertilitySettings, HmmSettings, Ibm1Settings
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint, Learner, partial
from corpuscle.model import Array, Arrays, Kind
from corpuscle.scale import Workers, chunks_of
from corpuscle.scale import workers as some_workers
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab


class Translation(NamedTuple):
    """The translation probabilities of one direction, of all couples of a text.

    Those of shared couples are in ``table`` float32 (n_shared + 1,); those of singles are computed when they are
    needed, from their counts, ``singles`` float32, and the ``references`` of their generating types. Without a table
    all are equal. ``null`` float32 (output types,) is what the null word generates.
    """

    direction: int
    estimation: Estimation
    null: np.ndarray
    table: np.ndarray | None = None
    singles: np.ndarray | None = None
    references: np.ndarray | None = None

    def values(self, pairs: Pairs) -> np.ndarray:
        """Those of all cells of a chunk, float32."""
        if self.table is None:
            return np.full(len(pairs.cells), self.null[0])
        values, swap = np.empty(len(pairs.cells), np.float32), self.direction == 1
        kernels.translate(pairs, swap, self.table, self.singles, self.references, *self.estimation, values)
        return values


def translation_of(
    text: StoredPairs | BitextChunks, counts: LinkCounts | None, direction: int, estimation: Estimation
) -> Translation:
    """The translation probabilities after these counts; None: at the start."""
    if counts is None:
        types = text.sizes[direction]
        return Translation(direction, estimation, np.full(types, np.float32(1.0 / types)))
    couples, known = counts.couples[direction], (counts.totals[direction], text.supports[direction])
    references = references_from(text.couples, couples, direction, estimation, known)
    table, null = tables_from(text.couples, couples, counts.nulls[direction], direction, estimation, references)
    return Translation(direction, estimation, null, table, counts.singles[direction], references)


EXPECTED = {
    "couples": Array("float64", (2, "couples"), low=0, finite=True),
    "singles": Array("float32", (2, "singles"), low=0, high=1.001),
    "totals/forward": Array("float64", ("source",), low=0, finite=True),
    "totals/backward": Array("float64", ("target",), low=0, finite=True),
    "nulls/forward": Array("float64", ("target",), low=0, finite=True),
    "nulls/backward": Array("float64", ("source",), low=0, finite=True),
}
"""The state of unfinished expectation and maximisation, without its law of positions."""


def _expected(chunk: PairChunk, now: tuple[list[Translation], Law, bool]) -> tuple[Pairs, list[Posteriors]]:
    """Both directions of a chunk; in agreement (the last value of ``now``) the first has the products of links."""
    pairs, (translations, law, agreement) = chunk.pairs(), now
    both = [law.expect(directed(pairs, each.direction), each.values(pairs), each.null) for each in translations]
    if agreement:
        links = both[0].links
        links *= both[1].links
        both[1] = both[1]._replace(links=links[:0])
    return pairs, both


@dataclass
class Expectation(Learner):
    """A learner (see ``corpuscle.learning``) whose sweeps are passes over a text under a law of positions.

    ``counts`` None is the start, where all translation probabilities are equal. ``before`` are the counts of an older
    model, to which those of this text are added.
    """

    text: StoredPairs | BitextChunks
    estimation: Estimation
    pool: Workers
    law: Any
    agreement: bool = False
    before: LinkCounts | None = None

    def __post_init__(self) -> None:
        self.counts = self.before
        self.chunks = self.pool.scatter([PairChunk(self.text, number) for number in range(self.text.count)])

    def finish(self, sweep: int) -> np.ndarray:
        """One pass: new counts, in the place of the old ones, and a new law. Returns the log-likelihood per token of
        both directions under the old ones, float64 (2,)."""
        old, law, agreement = self.counts, self.law, self.agreement
        translations = [translation_of(self.text, old, d, self.estimation) for d in (0, 1)]
        new = self._emptied(old)
        moments, likelihoods = law.no_moments(), np.zeros(2)
        for pairs, both in self.chunks.map(_expected, (translations, law, agreement)):
            if agreement:
                _add(new, pairs, both[0].links, 0, both=True)
            for d, part in enumerate(both):
                if not agreement:
                    _add(new, pairs, part.links, d)
                outputs = pairs.source if d else pairs.target
                np.add.at(new.nulls[d], outputs, part.nulls.astype(np.float64))
                likelihoods[d] += part.likelihood
                moments[d] += part.moments
        if agreement:  # direction 1 gets the links of direction 0
            new.couples[1] += new.couples[0] - (0.0 if self.before is None else self.before.couples[0])
            new.singles[1] = new.singles[0]
        lengths = self.text.lengths
        self.counts, self.law = new, law.learned(moments, lengths, old is None)
        return likelihoods / lengths.sum(axis=0)[::-1]

    def state(self) -> dict[str, np.ndarray]:
        assert self.counts is not None
        return self.law.arrays() | dict(zip(EXPECTED, _arrays_of(self.counts), strict=True))

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        wanted = no_counts(self.text)
        found, places = [arrays[name] for name in EXPECTED], _arrays_of(wanted)
        if [array.shape for array in found] != [array.shape for array in places]:
            raise ValueError("it does not fit the text")
        for place, array in zip(places, found, strict=True):
            place[:] = array
        self.counts, self.law = wanted, self.law.restored(arrays)

    def _emptied(self, old: LinkCounts | None) -> LinkCounts:
        """Counts to add to, in the arrays of the old ones, which are not needed once there are tables. Singles keep
        their counts, each until its only chunk is counted."""
        if old is None:
            return no_counts(self.text)
        base = self.before
        links = np.empty_like(old.couples) if old is base else old.couples
        links[:] = 0.0 if base is None else base.couples
        nulls = [np.zeros_like(old.nulls[d]) if base is None else base.nulls[d].copy() for d in (0, 1)]
        singles, (by_source, by_target) = old.singles.copy() if old is base else old.singles, old.totals
        return LinkCounts(links, (nulls[0], nulls[1]), singles, (np.zeros_like(by_source), np.zeros_like(by_target)))


def _arrays_of(counts: LinkCounts) -> list[np.ndarray]:
    """All arrays of some counts, in the order of ``EXPECTED``."""
    return [counts.couples, counts.singles, *counts.totals, *counts.nulls]


def _add(counts: LinkCounts, pairs: Pairs, links: np.ndarray, direction: int, both: bool = False) -> None:
    """Add the links of a chunk to one direction (``both``: and already to the totals of the other)."""
    singles, (by_source, by_target) = counts.singles[direction], counts.totals
    forward, backward = both or direction == 0, both or direction == 1
    kernels.add_counts(pairs, links, counts.couples[direction], singles, forward, by_source, backward, by_target)


KEEP = 1e-4
"""A couple with fewer expected links than this, in both directions, is not kept in the model."""

_COUPLES_AT_ONCE = 1_000_000


def usable(bitext: Bitext, max_length: int) -> np.ndarray:
    """The pairs to learn from, bool (n_pairs,): both sides have 1 to ``max_length`` words. Warns about the others."""
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    empty, long = (lengths == 0).any(axis=1), (lengths > max_length).any(axis=1)
    if empty.any():
        warn(f"{int(empty.sum()):,} of {len(bitext):,} sentence pairs have an empty side; they get no links")
    if (long & ~empty).any():
        count = int((long & ~empty).sum())
        warn(f"{count:,} sentence pairs have a side of more than {max_length} words and are not learned from")
    chosen = ~(empty | long)
    if not chosen.any():
        why = f": all have an empty side, or one of more than {max_length} words (max_length)" if long.any() else ""
        raise bitext.error(f"there are no sentence pairs to learn from{why}")
    if chosen.sum() == 1:
        warn("there is only one sentence pair to learn from")
    return chosen


class TrainingData(NamedTuple):
    """The text and the means of a learner. ``before``: what an older model has counted, in the couples of this text."""

    text: BitextChunks
    before: LinkCounts | None
    checkpoint: Checkpoint
    pool: Workers

    def expectation(self, settings: Any, law: Any, agreement: bool = False) -> Expectation:
        estimation = Estimation(settings.alpha, settings.bayes)
        return Expectation(self.text, estimation, self.pool, law, agreement, self.before)

    def run(self, em: Expectation, passes: int, method: str) -> np.ndarray:
        """Passes, from where unfinished work stands; the log-likelihood per token, float64 (passes, 2)."""
        return self.checkpoint.run(em, passes, columns=2, title=method, note="{:.4f} {:.4f}").history


def _with_new_words(vocab: Vocab, corpus: Corpus) -> Corpus:
    """The corpus in the ids of ``vocab``, followed by those of its own new words."""
    mapping = vocab.mapping_from(corpus.vocab)
    new = FIRST + np.flatnonzero(mapping[FIRST:] == UNKNOWN)
    mapping[new] = len(vocab) + np.arange(len(new))
    more = corpus.vocab.subset(new)
    joined = Vocab(
        np.concatenate([vocab.bytes, more.bytes]),
        np.concatenate([vocab.offsets, vocab.offsets[-1] + more.offsets[1:]]),
        np.append(vocab.counts, np.zeros(len(new), np.int64)),
    )
    np.add.at(joined.counts, mapping, corpus.vocab.counts)
    return corpus.map_tokens(mapping, joined)


@contextmanager
def training(
    model: Aligner, bitext: Bitext, checkpoint: Checkpoint | None, base: Aligner | None
) -> Iterator[TrainingData]:
    """Everything that learning needs; afterwards the model has the vocabularies and the record of its text."""
    if base is not None and type(base) is not type(model):
        raise SettingError(f"a model of the method {model.method} does not go on from one of {base.method}")
    signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
    chosen = usable(bitext, model.max_length)
    if base is not None:
        known = (base.source_vocab_, bitext.source), (base.target_vocab_, bitext.target)
        bitext = Bitext(*(_with_new_words(vocab, side) for vocab, side in known))
    text = BitextChunks(bitext, chosen, None if base is None else base.couples_)
    before = None
    if base is not None:  # its counts, in the couples of this text
        before = no_counts(text)
        before.couples[:, places_of(text.sharing, base.couples_)] = base.counts_
        for counts, all_types in zip(base.null_counts_, before.nulls, strict=True):
            all_types[: len(counts)] = counts
    with some_workers(model.workers, model.cluster) as pool:
        yield TrainingData(text, before, checkpoint or Checkpoint(), pool)
    model.source_vocab_, model.target_vocab_ = bitext.source.vocab, bitext.target.vocab
    model.provenance_ = {
        "sentence_pairs": len(bitext),
        "learned_from": int(chosen.sum()),
        "source_tokens": int(text.first_outputs[1][-1]),
        "target_tokens": int(text.first_outputs[0][-1]),
        "signature": signature,
    }


def keep(model: Aligner, text: BitextChunks, counts: LinkCounts | None) -> None:
    """Put the couples that matter (``KEEP``) into the model, by rising columns in every row."""
    assert counts is not None
    parts = zip(*_kept(text, counts.couples, counts.singles), strict=True)
    rows, columns, links = (np.concatenate(arrays, axis=-1) for arrays in parts)
    model.couples_, order = sorted_couples(rows, columns, text.sizes[1])
    model.counts_, model.null_counts_ = links[:, order], counts.nulls
    vars(model).pop("tables_", None)  # those of an earlier text


def _kept(text: BitextChunks, shared: np.ndarray, singles: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """The couples that matter: source types, target types, and counts float32 (2, n); first the shared ones, some rows
    at a time, then singles, chunk by chunk."""
    couples = text.couples
    for first, last in pairwise(chunks_of(np.diff(couples.row_starts), _COUPLES_AT_ONCE).tolist()):
        begin, end = couples.row_starts[first], couples.row_starts[last]
        kept = np.flatnonzero((shared[:, begin:end] >= KEEP).any(axis=0))
        rows = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(couples.row_starts[first : last + 1]))
        yield rows[kept], couples.columns[begin:end][kept], shared[:, begin + kept].astype(np.float32)
    for number, (begin, end) in enumerate(pairwise(text.first_singles.tolist())):
        counts = singles[:, begin:end]
        kept = np.flatnonzero((counts >= KEEP).any(axis=0))
        if len(kept):
            types = np.empty((2, end - begin), np.int32)
            take_apart(text.chunk(number), text.n_shared, begin, types)
            yield types[0, kept], types[1, kept], counts[:, kept].astype(np.float32)


HMM_STAGES = EXPECTED, EXPECTED | {"jumps": JUMPS}
"""The states of unfinished work: of Model 1, and of the hidden Markov model after it."""


if TYPE_CHECKING:
    _Mixed = Aligner
else:
    _Mixed = object


class Counted(_Mixed):
    """Aligners that count expected links under a law of positions; its array is an attribute of theirs, too."""

    SAVED: ClassVar = Aligner.SAVED | {"null_counts_": Arrays("null/forward", "null/backward")}

    passes: int
    alpha: float
    bayes: bool
    agreement: bool

    @property
    @abstractmethod
    def law(self) -> Any:
        """The law of positions that was learned."""

    def _learned(self, work: TrainingData, base: Any) -> tuple[Expectation, np.ndarray]:
        """A learner that has gone through a text, beginning with the law of an older model; and its history."""
        em = work.expectation(self, self._first_law(base), self.agreement)
        return em, work.run(em, self.passes, self.method)

    def _first_law(self, base: Any) -> Law:
        """The law of positions to begin with."""
        return self.law

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        if not self.bayes:
            self._refuse(("alpha",), "without bayes: relative frequencies have no prior")
        with training(self, bitext, checkpoint, base) as work:
            em, self.history_ = self._learned(work, base)
        keep(self, work.text, em.counts)
        vars(self).update({f"{name}_": learned_ for name, learned_ in em.law.arrays().items()})
        return self

    @cached_property
    def tables_(self) -> tuple[TranslationTables, TranslationTables]:
        """The probabilities of both directions, with a floor for couples that were never seen."""
        estimation, found = Estimation(self.alpha, self.bayes), []
        for d in (0, 1):
            tables = tables_from(self.couples_, self.counts_[d], self.null_counts_[d], d, estimation)
            floored = (frozen(np.maximum(each, UNSEEN, dtype=np.float32), np.float32) for each in tables)
            found.append(TranslationTables(*floored))
        return found[0], found[1]

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        table, null = self.tables_[direction]
        return self.law.expect(directed(pairs, direction), table[pairs.cells], null)

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        table, null = self.tables_[direction]
        for number in range(len(pairs.cell_starts) - 1):
            pair = directed(part_of(pairs, number, number + 1), direction)
            yield self.law.k_best(pair, table[pair.cells], null, k)


class Model1(Ibm1Settings, Counted, Aligner):
    """IBM Model 1: every position is as good as any other."""

    method: ClassVar[str] = "ibm1"
    KIND: ClassVar[Kind] = Kind("align.ibm1", 1, COUNTED, check=check_rows)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED)
    law: ClassVar[Law] = Uniform()


class Diagonal(DiagonalSettings, Counted, Aligner):
    """Model 2 with a diagonal; ``strengths_`` float64 (2,): how strongly it draws links, by direction.

    By maximum likelihood and in agreement it makes fewer errors than as its authors learn it, by variational Bayes
    (``bayes=True, agreement=False``).
    """

    method: ClassVar[str] = "diagonal"
    KIND: ClassVar[Kind] = Kind("align.diagonal", 1, COUNTED | {"strengths": STRENGTHS}, check=check_rows)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, EXPECTED | {"strengths": STRENGTHS})
    SAVED: ClassVar = Counted.SAVED | {"strengths_": Arrays("strengths")}

    strengths_: np.ndarray = learned()

    @property
    def law(self) -> DiagonalLaw:
        return DiagonalLaw(self.p0, self.strengths_)

    def _first_law(self, base: Diagonal | None) -> DiagonalLaw:
        return DiagonalLaw(self.p0, np.full(2, self.strength) if base is None else np.array(base.strengths_))


def learn_hmm(
    settings: HmmSettings | FertilitySettings, work: TrainingData, known: np.ndarray | None, method: str
) -> tuple[Any, np.ndarray]:
    """Passes of Model 1, which by itself agrees on too little, then of the hidden Markov model; and their history.

    ``known``: the counts of jumps of an older model, which has had its Model 1.
    """
    em = work.expectation(settings, Uniform())
    before = work.run(em, settings.warm_up if known is None else 0, method)
    counts = np.ones((2, 2 * MAX_JUMP + 1)) if known is None else np.array(known)
    em.law, em.agreement = Jumps(settings.p0, settings.rho, counts, known), settings.agreement
    return em, np.vstack([before, work.run(em, settings.passes, method)])


class HMM(HmmSettings, Counted, Aligner):
    """The hidden Markov model; ``jumps_`` float64 (2, 2 MAX_JUMP + 1): counts of jumps, by direction and distance."""

    method: ClassVar[str] = "hmm"
    KIND: ClassVar[Kind] = Kind("align.hmm", 1, COUNTED | {"jumps": JUMPS}, check=check_rows)
    PARTIAL: ClassVar[Kind] = partial(KIND.name, *HMM_STAGES)
    SAVED: ClassVar = Counted.SAVED | {"jumps_": Arrays("jumps")}

    jumps_: np.ndarray = learned()

    @property
    def law(self) -> Jumps:
        return Jumps(self.p0, self.rho, self.jumps_)

    def _learned(self, work: TrainingData, base: HMM | None) -> tuple[Expectation, np.ndarray]:
        return learn_hmm(self, work, None if base is None else base.jumps_, self.method)

    def best(self, pairs: Any, direction: int) -> np.ndarray:
        """The best path through all outputs, int32, -1 for the null word."""
        table, null = self.tables_[direction]
        return self.law.best_path(directed(pairs, direction), table[pairs.cells], null)
