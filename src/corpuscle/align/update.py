"""Going on from a saved model: its words and couples beside those of new sentence pairs."""

from __future__ import annotations

import numpy as np

from corpuscle.align.base import Aligner
from corpuscle.align.expectation import Counts
from corpuscle.compiled import frozen
from corpuscle.engine.cooccurrence import Couples, Pairs, couples_of, locate
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["extended", "joined_couples"]


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


def extended(bitext: Bitext, base: Aligner) -> Bitext:
    """The bitext in the ids of a model, with new ids for new words."""
    return Bitext(
        _with_new_words(base.source_vocab_, bitext.source), _with_new_words(base.target_vocab_, bitext.target)
    )


def _keys(couples: Couples, target_types: int) -> np.ndarray:
    rows = np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))
    return rows * np.int64(target_types) + couples.columns


def joined_couples(pairs: Pairs, source_types: int, target_types: int, base: Aligner) -> tuple[Couples, Counts]:
    """The couples of new pairs and of a model together, and the counts of the model for them; fills the cells."""
    old = _keys(base.couples_, target_types)
    both = np.union1d(_keys(couples_of(pairs, source_types, target_types), target_types), old)
    row_starts = np.zeros(source_types + 1, np.int64)
    np.cumsum(np.bincount(both // target_types, minlength=source_types), out=row_starts[1:])
    couples = Couples(frozen(row_starts, np.int64), frozen(both % target_types, np.int32))
    locate(pairs, couples, 0, len(pairs.source_starts) - 1)
    counts = np.zeros((2, len(both)))
    counts[:, np.searchsorted(both, old)] = base.counts_
    nulls = np.zeros(target_types), np.zeros(source_types)
    for known, all_types in zip(base.null_counts_, nulls, strict=True):
        all_types[: len(known)] = known
    return couples, Counts(counts, nulls, np.array(base.strengths_), np.array(base.jumps_))
