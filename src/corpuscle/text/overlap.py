"""Which items of a corpus a model has seen: hashes that tell, without the text.

A model keeps hashes of its training and tuning sentences (``corpuscle.model.ITEMS``); every evaluation reports which
share of its sentences is among them. The hash of a sentence is made from those of its words, so it does not depend on
how a vocabulary numbers them. Words that a vocabulary lacks all look alike, so hash a corpus in its own vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import warn
from corpuscle.hashing import string_hashes
from corpuscle.text.corpus import Corpus
from corpuscle.text.kernels import hash_sentences
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import percent


def _sentence_hashes(corpus: Corpus) -> np.ndarray:
    vocab, hashes = corpus.vocab, np.empty(len(corpus), np.uint64)
    # The reserved ids have no string and hash as themselves.
    of_types = np.concatenate([np.arange(FIRST, dtype=np.uint64), string_hashes(vocab.bytes, vocab.offsets)])
    tokens, starts = frozen(corpus.tokens, np.int32), frozen(corpus.sentence_starts, np.int64)
    hash_sentences(tokens, starts, of_types, hashes)
    return hashes


def item_hashes(corpus: Corpus) -> np.ndarray:
    """The hashes of the different non-empty sentences of a corpus, uint64, ascending."""
    return np.unique(_sentence_hashes(corpus)[corpus.lengths > 0])


def seen(hashes: np.ndarray, corpus: Corpus) -> np.ndarray:
    """For each sentence whether it is among the hashed ones, bool (n_sentences,); an empty sentence never is."""
    return np.isin(_sentence_hashes(corpus), hashes) & (corpus.lengths > 0)


def overlap(hashes: np.ndarray, corpus: Corpus) -> float:
    """The share of the non-empty sentences of a corpus that are among the hashed ones; 0 if there are none."""
    total = np.count_nonzero(corpus.lengths)
    return np.count_nonzero(seen(hashes, corpus)) / total if total else 0.0


def overlap_shares(model: Any, corpus: Corpus, name: str) -> dict[str, float]:
    """How much of a text a model has seen before; a warning, with the model's name, if that is more than a little."""
    shares = {"overlap_training": overlap(model.items_, corpus), "overlap_tuning": overlap(model.tuning_items_, corpus)}
    for key, share in shares.items():
        if share > 0.05:
            warn(f"{percent(share, 0)} of these sentences were in the {key[8:]} text of {name}")
    return shares
