"""Going on from a saved model: its words and couples beside those of new sentence pairs."""

from __future__ import annotations

import numpy as np

from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.sharing import places_of
from corpuscle.align.pieces import Counts, Text
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


def extended(bitext: Bitext, source: Vocab, target: Vocab) -> Bitext:
    """The bitext in the ids of these vocabularies, with new ids for new words."""
    return Bitext(_with_new_words(source, bitext.source), _with_new_words(target, bitext.target))


def counts_of(text: Text, couples: Couples, counts: np.ndarray, nulls: tuple[np.ndarray, np.ndarray]) -> Counts:
    """The counts of a model, float32 (2, n_couples) and of the null word, in the couples of a text that shares them."""
    result = text.no_counts()
    result.couples[:, places_of(text.sharing, couples)] = counts
    for known, all_types in zip(nulls, result.nulls, strict=True):
        all_types[: len(known)] = known
    return result
