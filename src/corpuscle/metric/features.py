"""Items with labels, from files, and texts as sparse vectors.

**Features**: how often each word occurs, and pairs of neighbouring function words; weighted by idf. Features are the
words of the training texts and the pairs of neighbours of which both are among the most frequent words: what is said,
and a little of how. Words that training did not see are ignored.

Texts of equal length: long ones are sampled without replacement, short ones are filled up with replacement.

**Items**, texts or vectors. A row of a table has a label first. If all other fields of the first row are numbers, the
items are vectors, all of the same length; otherwise the last field is a text. Fields are separated by tabs, or, in a
file whose name ends in ``.csv``, by commas. In running text with documents, every sentence is an item and its document
the label.

Mochihashi, Kikui and Kita, "Learning nonstructural distance metric by minimum cluster distortions", 2004, section 4.1
(features) and 4.2 (texts of equal length). Notation: the features of text t are found[starts[t]..starts[t + 1]].
"""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpuscle.compiled import kernel
from corpuscle.errors import InputError
from corpuscle.hashing import find
from corpuscle.random import below, purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import AnyPath, read_lines, suffix_of
from corpuscle.text.plain import read_text
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

_RESAMPLING = purpose_id("metric.length")


class Features(NamedTuple):
    """What is counted in texts.

    - ``vocab``: the words; feature f below ``n_words`` is the word ``FIRST + f``;
    - ``pairs`` int64 (pairs,), rising: ``first * len(vocab) + second`` of each pair; they follow the words;
    - ``idf`` float64 (features,): log(texts / texts that have the feature), or ones.
    """

    vocab: Vocab
    pairs: np.ndarray
    idf: np.ndarray

    @property
    def n_words(self) -> int:
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
    known = corpus.tokens >= FIRST
    found, where = corpus.tokens[known] - FIRST, np.repeat(np.arange(len(corpus)), corpus.lengths)[known]
    numbers, of = _pairs(corpus, len(features.vocab))
    place = find(numbers, features.pairs)
    found = np.concatenate([found, features.n_words + place[place >= 0]])
    where = np.concatenate([where, of[place >= 0]])
    order = np.argsort(where, kind="stable")
    return found[order], starts_of(np.bincount(where, minlength=len(corpus)))


@kernel
def resample(found, starts, length, seed, purpose, drawn):
    """Fill ``drawn`` with ``length`` features of each text that has any: some of a long one, all of a short one and
    more of them at random."""
    at = 0
    for text in np.flatnonzero(np.diff(starts)):
        here = found[starts[text] : starts[text + 1]].copy()
        source = stream(seed, purpose, 0, text)
        if len(here) > length:
            shuffle(source, here)
        for i in range(length):
            drawn[at] = here[i] if i < len(here) else here[below(source, len(here))]
            at += 1


def resampled(found: np.ndarray, starts: np.ndarray, length: int | str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts of equal length: the features that are drawn from each, and where each text begins."""
    sizes = np.diff(starts)
    given = int(np.median(sizes[sizes > 0])) if length == "median" else int(length)
    begins = starts_of(np.where(sizes > 0, given, 0))
    drawn = np.empty(begins[-1], np.int64)
    resample(found, starts, given, seed, _RESAMPLING, drawn)
    return drawn, begins


def counted(found: np.ndarray, starts: np.ndarray, features: Features) -> csr_array:
    """How often each feature occurs in each text, weighted by idf: sparse float64 (texts, features)."""
    matrix = csr_array((np.ones(len(found)), found, starts), shape=(len(starts) - 1, len(features.idf)))
    matrix.sum_duplicates()
    matrix.data *= features.idf[matrix.indices]
    return matrix


# ---- items


class Items(NamedTuple):
    """Texts or vectors with labels: ``content``, a list of strings or float64 (items, n); ``labels``."""

    content: list[str] | np.ndarray
    labels: list[str]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_items(path: AnyPath) -> Items:
    """The items of a table, the label first."""
    labels: list[str] = []
    texts: list[str] = []
    vectors: list[list[float]] = []
    numeric, rows = False, read_table(path)
    if suffix_of(path) == ".csv":
        rows = ((number, next(csv.reader([line]), [""])) for number, line in read_lines(path))
    for line, fields in rows:
        if len(fields) < 2:
            raise InputError(path, line, "a label, a tab, and a text or numbers are expected")
        if not labels:
            numeric = all(_number(field) is not None for field in fields[1:])
        labels.append(fields[0])
        if not numeric:
            texts.append(fields[-1])
            continue
        numbers = [_number(field) for field in fields[1:]]
        wrong = next((field for field, number in zip(fields[1:], numbers, strict=True) if number is None), None)
        if wrong is not None:
            raise InputError(path, line, f"{wrong[:40]!r} is not a number, and the first row has numbers only")
        if not np.isfinite(numbers).all():  # type: ignore[arg-type]
            raise InputError(path, line, "numbers must be finite")
        if vectors and len(numbers) != len(vectors[0]):
            raise InputError(path, line, f"{len(numbers)} numbers, where the first row has {len(vectors[0])}")
        vectors.append(numbers)  # type: ignore[arg-type]
    if not labels:
        raise InputError(path, None, "there are no items")
    return Items(np.array(vectors), labels) if numeric else Items(texts, labels)


def read_documents(path: AnyPath, documents: AnyPath | None = None) -> Items:
    """The sentences of a text, labelled by their documents: blank lines part them, or an index of documents does."""
    corpus: Corpus = read_text(path, documents=documents, blank="sentence" if documents else "document")
    if corpus.document_starts is None:
        raise InputError(path, None, "this text has no documents")
    sizes = np.diff(corpus.document_starts)
    names = corpus.labels or tuple(map(str, range(1, len(sizes) + 1)))
    labels = [name for name, size in zip(names, sizes.tolist(), strict=True) for _ in range(size)]
    return Items([" ".join(sentence) for sentence in corpus], labels)
