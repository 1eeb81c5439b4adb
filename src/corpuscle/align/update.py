"""Going on from a saved model: its words and couples beside those of new sentence pairs."""

from __future__ import annotations

import numpy as np

from corpuscle.align.base import Aligner
from corpuscle.align.expectation import Counts, no_singles
from corpuscle.align.kernels.sharing import places_of
from corpuscle.align.pieces import Text
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["counts_of", "extended"]


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


def counts_of(base: Aligner, text: Text) -> Counts:
    """The counts of a model, in the couples of a text that shares them."""
    counts = np.zeros((2, text.n_shared))
    counts[:, places_of(text.sharing, base.couples_)] = base.counts_
    nulls = np.zeros(text.sizes[0]), np.zeros(text.sizes[1])
    for known, all_types in zip(base.null_counts_, nulls, strict=True):
        all_types[: len(known)] = known
    return Counts(counts, nulls, np.array(base.strengths_), np.array(base.jumps_), no_singles(text))
