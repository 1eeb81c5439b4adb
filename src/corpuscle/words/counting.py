"""The words of a text that get classes, and how often each is the parent of each other one."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.scale import workers
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import START, UNKNOWN, Vocab
from corpuscle.words.forests import Forest
from corpuscle.words.kernels import exchange
from corpuscle.words.settings import ClassSettings

__all__ = ["Counted", "count_words"]

PAIRS = 1 << 20
"""So many pairs of words are counted at a time."""


class Counted(NamedTuple):
    """W words by falling frequency, the earlier first where they are equally frequent.

    - ``vocab``: the vocabulary after the cut-offs; ``ids`` int64 (W,): the id of each word, which may be ``UNKNOWN``;
    - ``near``: what each word occurs with; the root is number W;
    - ``provenance``: sizes of the text.
    """

    vocab: Vocab
    ids: np.ndarray
    near: exchange.Neighbours
    provenance: dict[str, int]


def count_words(text: Corpus | Forest, settings: ClassSettings) -> Counted:
    """The words of a text and their neighbours, as the settings of a learner ask; too few words are an error."""
    forest = Forest.of(text, settings.structure)
    corpus = forest.corpus
    if corpus.n_tokens == 0:
        raise SettingError("there are no words to learn classes from")
    seen = np.bincount(corpus.tokens, minlength=len(corpus.vocab)).astype(np.int64)
    whole = Vocab(corpus.vocab.bytes, corpus.vocab.offsets, seen)
    vocab, mapping = whole.cut(settings.min_count, settings.max_types)
    ids = np.flatnonzero(vocab.counts)
    ids = ids[np.argsort(-vocab.counts[ids], kind="stable")]
    if settings.classes > len(ids):
        raise SettingError(f"{settings.classes} classes are too many for {len(ids)} different words")
    rank = np.full(len(vocab), -1, np.int32)
    rank[ids] = np.arange(len(ids))
    rank[START] = len(ids)
    pairs = rank[mapping[np.stack([forest.parent_words, corpus.tokens])]]
    chunks = [pairs[:, first : first + PAIRS] for first in range(0, pairs.shape[1], PAIRS)]
    with workers(settings.workers, settings.cluster) as pool:
        count = partial(exchange.count_pairs, words=len(ids))
        near = exchange.neighbours_of(pool.scatter(chunks).map_reduce(count, exchange.merge_pairs), len(ids))
    sizes = {"sentences": len(corpus), "words": corpus.n_tokens, "types": len(ids) - bool(vocab.counts[UNKNOWN])}
    return Counted(vocab, ids, near, sizes)
