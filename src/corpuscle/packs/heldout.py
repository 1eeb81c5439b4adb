"""Holding out: a tenth of the text that a model does not see, so that its figures mean something.

Whole documents are held out where there are enough of them, since sentences of one document share words and would
make a model look better than it is. A text with fewer than ten documents, or with documents so large that none fits
into two tenths, is split by sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.random import purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import FIRST

__all__ = ["Split", "own_vocabulary", "split"]

SHARE = 0.1
FEWEST_DOCUMENTS = 10


class Split(NamedTuple):
    """Two parts of a text; ``unit`` says what was kept together: ``"documents"`` or ``"sentences"``.

    ``train`` has a vocabulary of its own words only; ``held_out`` keeps that of the whole text, which spells all its
    words.
    """

    train: Corpus
    held_out: Corpus
    unit: str


def own_vocabulary(corpus: Corpus) -> Corpus:
    """The same text with a vocabulary of just the types that occur in it, and their counts."""
    counts = np.bincount(corpus.tokens, minlength=len(corpus.vocab))
    used = np.flatnonzero(counts[FIRST:]) + FIRST
    vocab = corpus.vocab.subset(used)
    vocab.counts = np.concatenate([counts[:FIRST], counts[used]])
    mapping = np.zeros(len(corpus.vocab), np.int32)
    mapping[:FIRST] = np.arange(FIRST)
    mapping[used] = FIRST + np.arange(len(used))
    return corpus.map_tokens(mapping, vocab)


def _draw(weights: np.ndarray, seed: int, most: float) -> np.ndarray:
    """Units in random order, as many as it takes to reach the share, without those that would exceed ``most``."""
    order = np.arange(len(weights))
    shuffle(stream(seed, purpose_id("packs.heldout"), 0, 0), order)
    total, taken, held = int(weights.sum()), [], 0
    for unit in order:
        if held >= SHARE * total:
            break
        if held + weights[unit] <= most * total:
            taken.append(unit)
            held += int(weights[unit])
    return np.array(taken, np.int64)


def split(corpus: Corpus, seed: int) -> Split:
    """Set a tenth of the tokens aside: the same for the same text and seed."""
    sizes = corpus.lengths + 1  # with the end of the sentence, which a model predicts too
    held, unit = np.zeros(len(corpus), bool), "sentences"
    starts = corpus.document_starts
    if starts is not None and len(starts) > FEWEST_DOCUMENTS:
        for document in _draw(np.diff(starts_of(sizes)[starts]), seed, 2 * SHARE):
            held[starts[document] : starts[document + 1]] = True
            unit = "documents"
    if not held.any():
        held[_draw(sizes, seed, 1.0)] = True
    return Split(own_vocabulary(corpus.select(~held)), corpus.select(held), unit)
