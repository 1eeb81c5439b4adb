"""Texts as sparse vectors: how often each word occurs, and pairs of neighbouring function words; weighted by idf.

Features are the words of the training texts and the pairs of neighbours of which both are among the most frequent
words: what is said, and a little of how. Words that training did not see are ignored.

Mochihashi, Kikui and Kita, "Learning nonstructural distance metric by minimum cluster distortions", 2004, section 4.1
(features) and 4.2 (texts of equal length).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpuscle.metric.kernels.resampling import resample
from corpuscle.random import purpose_id
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, Vocab

_RESAMPLING = purpose_id("metric.length")


class Features(NamedTuple):
    """What is counted in texts.

    - ``vocab``: the words; feature f below ``n_words`` is the word ``FIRST + f``;
    - ``pairs`` int64 (pairs,), rising: ``first * len(vocab) + second`` of each pair; they follow the words;
    - ``idf`` float64 (features,).
    """

    vocab: Vocab
    pairs: np.ndarray
    idf: np.ndarray

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.vocab) - FIRST

    def names(self) -> list[str]:
        """The features as people see them."""
        size, strings = len(self.vocab), self.vocab.strings
        return strings[FIRST:] + [f"{strings[pair // size]} {strings[pair % size]}" for pair in self.pairs.tolist()]


def _pairs(corpus: Corpus, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of neighbours of a text as numbers, and the sentence of each."""
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    inside = np.flatnonzero(sentence[1:] == sentence[:-1])
    tokens = corpus.tokens.astype(np.int64)
    known = inside[(tokens[inside] >= FIRST) & (tokens[inside + 1] >= FIRST)]
    return tokens[known] * size + tokens[known + 1], sentence[known]


def find_features(corpus: Corpus, min_count: int, function_words: int) -> Features:
    """The features of training texts, a text a sentence; without idf yet (all ones)."""
    vocab, _ = corpus.counted().vocab.cut(min_count)
    corpus = corpus.recode(vocab)
    pairs = np.empty(0, np.int64)
    if function_words:
        ranked = FIRST + np.argsort(-vocab.counts[FIRST:], kind="stable")[:function_words]
        numbers, _ = _pairs(corpus, len(vocab))
        both = np.isin(numbers // len(vocab), ranked) & np.isin(numbers % len(vocab), ranked)
        found, counts = np.unique(numbers[both], return_counts=True)
        pairs = found[counts >= min_count]
    return Features(vocab, pairs, np.ones(len(vocab) - FIRST + len(pairs)))


def occurrences(corpus: Corpus, features: Features) -> tuple[np.ndarray, np.ndarray]:
    """The features that occur in texts, text by text: their numbers int64, and where each text begins, (texts + 1,)."""
    corpus = corpus.recode(features.vocab)
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    known = corpus.tokens >= FIRST
    found, where = corpus.tokens[known].astype(np.int64) - FIRST, sentence[known]
    if len(features.pairs):
        numbers, of = _pairs(corpus, len(features.vocab))
        place = np.minimum(np.searchsorted(features.pairs, numbers), len(features.pairs) - 1)
        hit = features.pairs[place] == numbers
        found = np.concatenate([found, features.n_words + place[hit]])
        where = np.concatenate([where, of[hit]])
        order = np.argsort(where, kind="stable")
        found, where = found[order], where[order]
    starts = np.zeros(len(corpus) + 1, np.int64)
    np.cumsum(np.bincount(where, minlength=len(corpus)), out=starts[1:])
    return found, starts


def resampled(found: np.ndarray, starts: np.ndarray, length: int | str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts of equal length: the features that are drawn from each, and where each text begins."""
    sizes = np.diff(starts)
    given = int(np.median(sizes[sizes > 0])) if length == "median" else int(length)
    begins = np.concatenate([[0], np.cumsum(np.where(sizes > 0, given, 0))])
    drawn = np.empty(begins[-1], np.int64)
    resample(found, starts, given, seed, _RESAMPLING, drawn)
    return drawn, begins


def counted(found: np.ndarray, starts: np.ndarray, features: Features) -> csr_array:
    """How often each feature occurs in each text, weighted by idf: sparse float64 (texts, features)."""
    shape = len(starts) - 1, len(features.idf)
    matrix = csr_array((np.ones(len(found)), found, starts), shape=shape)
    matrix.sum_duplicates()
    matrix.data *= features.idf[matrix.indices]
    return matrix


def with_idf(features: Features, matrix: csr_array) -> Features:
    """The features with idf, log(texts / texts that have the feature), of a matrix of counts."""
    having = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return features._replace(idf=np.log(matrix.shape[0] / np.maximum(having, 1)))
