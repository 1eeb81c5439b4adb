"""Learning a model from counts: what every such method does before and after its passes over the text.

``training`` prepares the text and all that is needed to work on it, with the words and couples of an older model beside
those of new sentence pairs; ``keep`` leaves in the model the couples that matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.base import Aligner, signature_of
from corpuscle.align.chunks import ChunkedText, Counts, Singles, no_counts
from corpuscle.align.expectation import Expectation
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.sharing import places_of, take_apart
from corpuscle.align.settings import CountedSettings
from corpuscle.align.tables import Estimation, sorted_couples
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.scale import Workers, chunks_of
from corpuscle.scale import workers as some_workers
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["KEEP", "Work", "keep", "no_pairs", "training", "usable"]

KEEP = 1e-4
"""A couple with fewer expected links than this, in both directions, is not kept in the model."""

_COUPLES_AT_ONCE = 1_000_000


def no_pairs(long: bool, max_length: int) -> str:
    """What to say where no sentence pair can be learned from, ``long``: because some at least are too long."""
    why = f": all have an empty side, or one of more than {max_length} words (max_length)"
    return "there are no sentence pairs to learn from" + (why if long else "")


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
        raise bitext.error(no_pairs(bool(long.any()), max_length))
    if chosen.sum() == 1:
        warn("there is only one sentence pair to learn from")
    return chosen


class Work(NamedTuple):
    """What a learner works on, and with. ``before``: what an older model has counted, in the couples of this text."""

    text: ChunkedText
    before: Counts | None
    checkpoint: Checkpoint
    pool: Workers

    def expectation(self, settings: CountedSettings, law: Any, agreement: bool = False) -> Expectation:
        """Expectation and maximisation over the text."""
        estimation = Estimation(settings.alpha, settings.bayes)
        return Expectation(self.text, estimation, self.pool, law, agreement, self.before)

    def run(self, em: Expectation, passes: int, method: str) -> np.ndarray:
        """Passes, from where unfinished work stands; the log-likelihood a token, float64 (passes, 2)."""
        return self.checkpoint.run(em, passes, columns=2, title=method, note="{:.4f} {:.4f}").history


def _with_new_words(vocab: Vocab, corpus: Corpus) -> Corpus:
    """The corpus in the ids of ``vocab``, which are kept, and of its own new words, which come behind them."""
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


def _counts_of(model: Aligner, text: ChunkedText) -> Counts:
    """The counts of a model in the couples of a text that shares them."""
    result = no_counts(text)
    result.couples[:, places_of(text.sharing, model.couples_)] = model.counts_
    for known, all_types in zip(model.null_counts_, result.nulls, strict=True):
        all_types[: len(known)] = known
    return result


@contextmanager
def training(model: Aligner, bitext: Bitext, checkpoint: Checkpoint | None, base: Aligner | None) -> Iterator[Work]:
    """Everything that learning needs; afterwards the model has the vocabularies and the record of its text."""
    if base is not None and type(base) is not type(model):
        raise SettingError(f"a model of the method {model.method} does not go on from one of {base.method}")
    signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
    chosen = usable(bitext, model.max_length)
    if base is not None:
        known = (base.source_vocab_, bitext.source), (base.target_vocab_, bitext.target)
        bitext = Bitext(*(_with_new_words(vocab, side) for vocab, side in known))
    text = ChunkedText(bitext, chosen, None if base is None else base.couples_)
    before = None if base is None else _counts_of(base, text)
    with some_workers(model.workers, model.cluster) as pool:
        yield Work(text, before, checkpoint or Checkpoint(), pool)
    model.source_vocab_, model.target_vocab_ = bitext.source.vocab, bitext.target.vocab
    model.provenance_ = {
        "sentence_pairs": len(bitext),
        "learned_from": int(chosen.sum()),
        "source_tokens": int(text.first_outputs[1][-1]),
        "target_tokens": int(text.first_outputs[0][-1]),
        "signature": signature,
    }


def keep(model: Aligner, text: ChunkedText, counts: Counts | None) -> None:
    """Leave in the model the couples that matter, by rising columns in every row."""
    assert counts is not None
    parts = [*_kept_couples(text.couples, counts.couples), *_kept_singles(text, counts.singles)]
    rows, columns, links = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
    del parts
    model.couples_, order = sorted_couples(rows, columns, text.sizes[1])
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


def _kept_singles(text: ChunkedText, singles: Singles) -> _Kept:
    """The singles that matter, chunk by chunk."""
    for number, (begin, end) in enumerate(pairwise(text.first_singles.tolist())):
        counts = singles.counts[:, begin:end]
        kept = np.flatnonzero((counts >= KEEP).any(axis=0))
        if len(kept):
            types = np.empty((2, end - begin), np.int32)
            take_apart(text.chunk(number), text.n_shared, begin, types)
            yield types[0, kept], types[1, kept], counts[:, kept].astype(np.float32)
