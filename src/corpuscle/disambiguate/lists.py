"""Texts as they are written, the candidates of their words, and ranked candidates, as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.counts import Rows
from corpuscle.disambiguate.labels import contexts_of, written
from corpuscle.hashing import hashes_of
from corpuscle.text.corpus import items_of
from corpuscle.text.treebank import Treebank


class Text(NamedTuple):
    """A text as it is written: ``forms`` of types; ``tokens`` int32 (n,), types; ``words`` uint64 (n,),
    hashes of forms; ``contexts`` uint64 (n, 14); ``sentences`` int64 (n,); ``documents`` int64 (n,), or sentences where
    there are none."""

    forms: list[str]
    tokens: np.ndarray
    words: np.ndarray
    contexts: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray

    def part(self, chosen: np.ndarray) -> Text:
        """Some of the tokens, a mask, with the types that they have."""
        kinds, tokens = np.unique(self.tokens[chosen], return_inverse=True)
        rest = (each[chosen] for each in (self.words, self.contexts, self.sentences, self.documents))
        return Text([self.forms[kind] for kind in kinds.tolist()], tokens.astype(np.int32), *rest)


class Lists(NamedTuple):
    """The candidates of tokens: ``rows``, whose labels are ids of ``names``, and hashes of these (``label_hashes``)."""

    rows: Rows
    names: list[str]
    values: np.ndarray


class Ranking(NamedTuple):
    """Ranked analyses: those of token i are ``labels[starts[i]:starts[i + 1]]``, int32, ids of ``names``, the likeliest
    first, with their ``probabilities``, float64."""

    starts: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    names: list[str]


def text_of(bank: Treebank, strip_vowels: bool) -> Text:
    """A treebank as a text."""
    corpus = bank.corpus
    kinds, tokens = np.unique(corpus.tokens, return_inverse=True)
    strings = corpus.vocab.strings
    numbers: dict[str, int] = {}
    bare = np.array([numbers.setdefault(written(strings[i], strip_vowels), len(numbers)) for i in kinds], np.int32)
    types = bare[tokens] if len(kinds) else np.zeros(0, np.int32)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    starts = corpus.document_starts
    documents = sentences if starts is None else np.searchsorted(starts, sentences, "right") - 1
    words = hashes_of(list(numbers))[types]
    contexts = contexts_of(list(numbers), types, words, corpus.sentence_starts)
    return Text(list(numbers), types, words, contexts, sentences, documents)


def select(lists: Lists, items: np.ndarray) -> Lists:
    """The lists of some items by index."""
    at, starts = items_of(lists.rows.starts, items)
    return lists._replace(rows=Rows(lists.rows.tokens[at], lists.rows.labels[at], starts))


def useful(lists: Lists, gold: np.ndarray) -> tuple[Lists, np.ndarray]:
    """The lists of the tokens that have several candidates, one of them right; and which rows are. ``gold``: the label
    of each token, int32."""
    right = lists.rows.labels == gold[lists.rows.tokens]
    hits = np.add.reduceat(right, lists.rows.starts[:-1]) if len(right) else np.zeros(0)
    some = select(lists, np.flatnonzero((hits > 0) & (np.diff(lists.rows.starts) > 1)))
    return some, some.rows.labels == gold[some.rows.tokens]


def in_order(lists: Lists, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rows of each token in the order of their scores, then of ``counts``, then of the analyser, int64."""
    item = np.repeat(np.arange(len(lists.rows.starts) - 1), np.diff(lists.rows.starts))
    return np.lexsort((np.arange(len(scores)), -counts, -scores, item))


def ranked(lists: Lists, scores: np.ndarray, counts: np.ndarray, shares: np.ndarray) -> Ranking:
    """Candidates in the order of their scores, then of ``counts``, then of the analyser."""
    order = in_order(lists, scores, counts)
    return Ranking(lists.rows.starts, lists.rows.labels[order], shares[order], lists.names)
