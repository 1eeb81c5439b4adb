"""What a first pass found of the same words in other sentences, as columns for the features of a second pass.

``near``, ``whole``: the label that most other occurrences of a word have in the sentences nearby, or in the whole text,
and how many of them are in mentions. Nearby are those of the same document, or thirty to either side where sentences
are all there is.

Krishnan and Manning, "An effective two-stage model for exploiting non-local dependencies in named entity recognition",
2006.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.entities.kernels.second_pass import SHARES, elsewhere
from corpuscle.hashing import hashes_of
from corpuscle.random import folds

COLUMNS = ("near", "whole")
FOLDS = 3
_NEARBY = 30
_RUN = 20


def parts_of(documents: Documents, seed: int) -> np.ndarray:
    """Which of a few parts each document belongs to, int64; documents of one sentence stay with those beside them."""
    run = max(1, min(_RUN, len(documents) // FOLDS)) if len(documents) == len(documents.corpus) else 1
    n = -(-len(documents) // run)
    return np.repeat(folds(seed, "entities.passes", n, min(FOLDS, n)), run)[: len(documents)]


def regions_of(documents: Documents) -> np.ndarray:
    """The sentences near each, from and to: int64 (n_sentences, 2)."""
    n = len(documents.corpus)
    if len(documents) == n:
        here = np.arange(n)
        return np.column_stack([np.maximum(here - _NEARBY, 0), np.minimum(here + _NEARBY + 1, n)])
    starts = documents.corpus.document_starts
    assert starts is not None
    return np.column_stack([starts[documents.document_of], starts[documents.document_of + 1]])


def document_features(documents: Documents, tags: Sequence[str]) -> dict[str, np.ndarray]:
    """The columns, hashes of a label and a share, 0 for nothing, uint64 (n_tokens,); ``tags``: of a first pass."""
    corpus = documents.corpus
    words = hashes_of([word.lower() for word in corpus.vocab.strings])[corpus.tokens]
    names = ["O", *sorted(set(tags) - {"O"})]
    number = {name: k for k, name in enumerate(names)}
    labels = np.array([number[tag] for tag in tags], np.int32)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    order = np.argsort(words, kind="stable")
    found = np.zeros((len(words), 2), np.int32)
    if len(words):
        groups = np.concatenate([[0], np.flatnonzero(np.diff(words[order])) + 1, [len(words)]]).astype(np.int64)
        elsewhere(groups, order, labels, sentences, regions_of(documents), len(names), found)
    spelled = hashes_of(["", *(f"{name} {share}" for name in names for share in range(SHARES))])
    return {name: spelled[found[:, k]] for k, name in enumerate(COLUMNS)}
