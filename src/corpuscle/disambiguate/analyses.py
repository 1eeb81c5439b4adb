"""Analyses: labels, what these were counted with, and the candidates of the words of a text.

A label is a complete analysis: the values of its elements in a fixed order, joined by tabs; ``-`` where it has none.
The elements are ``lemma``, ``pos`` (UPOS), ``dpos`` (XPOS) and the names of FEATS.

Counts are made from tokens and looked up for candidates. Texts as they are written, the candidates of their words, and
ranked candidates are flat arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.kernels.ranking import N_KINDS, fill_contexts, fill_keys, look_up
from corpuscle.errors import SettingError
from corpuscle.hashing import hashes_of
from corpuscle.model import Array
from corpuscle.text.corpus import items_of
from corpuscle.text.treebank import Treebank

MISSING = "-"  # the value of an element that an analysis does not have
_COLUMNS = {"lemma": "lemmas", "pos": "tags", "dpos": "xpos"}
_VOWELS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+")
EDGES = hashes_of(["\x02", "\x03"])  # what stands before the first word of a sentence, and behind the last


def written(form: str, strip_vowels: bool = True) -> str:
    """A form as people write it, without the vowel signs of Arabic; a form of nothing else stays.

    >>> written("\u0628\u0650"), written("house")
    ('\u0628', 'house')
    """
    return (_VOWELS.sub("", form) or form) if strip_vowels else form


def pairs_of(features: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in features.split("|") if "=" in pair)


def elements_of(bank: Treebank, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The elements that the analyses of a treebank have, or those that are wanted, which it must have."""
    there = [name for name, layer in _COLUMNS.items() if getattr(bank, layer).ids.any()]
    there += sorted({key for features in bank.features.values for key in pairs_of(features)})
    missing = [name for name in wanted if name not in there]
    if missing:
        raise SettingError(
            f"the treebank has no element {missing[0]!r}; it has {', '.join(there) or 'neither lemmas nor tags'}"
        )
    if not there:
        raise bank.error("the words have no analyses to learn from: neither lemma, UPOS, XPOS nor FEATS")
    return tuple(dict.fromkeys(wanted)) or tuple(there)


def label_of(values: Mapping[str, str], elements: Sequence[str]) -> str:
    return "\t".join(values.get(name) or MISSING for name in elements)


def labels_of(bank: Treebank, elements: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct labels of a treebank in the order in which they come, and which one each word has, int32."""
    layers = [bank.lemmas, bank.tags, bank.xpos, bank.features]
    if not bank.corpus.n_tokens:
        return [], np.zeros(0, np.int32)
    kinds, inverse = np.unique(np.column_stack([layer.ids for layer in layers]), axis=0, return_inverse=True)
    names = []
    for ids in kinds.tolist():
        lemma, pos, dpos, features = (layer.values[id] if id else "" for layer, id in zip(layers, ids, strict=True))
        names.append(label_of(pairs_of(features) | {"lemma": lemma, "pos": pos, "dpos": dpos}, elements))
    numbers: dict[str, int] = {}
    words = inverse.ravel()
    _, first = np.unique(words, return_index=True)
    for kind in words[np.sort(first)].tolist():
        numbers.setdefault(names[kind], len(numbers))
    return list(numbers), np.array([numbers[name] for name in names], np.int32)[words]


def columns_of(values: Mapping[str, str]) -> tuple[str, str, str, str]:
    """LEMMA, UPOS, XPOS and FEATS of a label."""
    given = {name: value for name, value in values.items() if value != MISSING}
    features = "|".join(f"{name}={given[name]}" for name in sorted(given, key=str.lower) if name not in _COLUMNS)
    lemma, pos, dpos = (given.get(name, "_") for name in _COLUMNS)
    return lemma, pos, dpos, features or "_"


def label_hashes(labels: Sequence[str], elements: Sequence[str]) -> np.ndarray:
    """Hashes of whole labels and of the values of their elements, uint64 (n_labels, 1 + n_elements)."""
    hashes = np.zeros((len(labels), 1 + len(elements)), np.uint64)
    hashes[:, 0] = hashes_of(["\t" + label for label in labels])
    rows = [label.split("\t") for label in labels]
    for column, element in enumerate(elements):
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(row[column], len(numbers)) for row in rows]
        if ids:
            hashes[:, 1 + column] = hashes_of([f"{element}={value}" for value in numbers])[ids]
    return hashes


def contexts_of(
    words: np.ndarray, sentences: np.ndarray, values: Sequence[np.ndarray], alone: bool = False
) -> np.ndarray:
    """The contexts of tokens (see ``kernels.ranking``), uint64 (n_tokens, 2 n_kinds): the word with nothing (``alone``)
    and with each of some ``values``, uint64 (n_tokens,), of the tokens before and behind it; then without the word."""
    new = np.ones(len(words) + 1, bool)
    new[1:-1] = np.diff(sentences) != 0
    fields = [np.zeros(len(words), np.uint64)] * alone
    for here in values:
        fields += [np.where(new[:-1], EDGES[0], np.roll(here, 1)), np.where(new[1:], EDGES[1], np.roll(here, -1))]
    contexts = np.zeros((len(words), 2 * len(fields)), np.uint64)
    fill_contexts(words, np.array(fields, np.uint64).reshape(len(fields), len(words)), contexts)
    return contexts


COUNTS = {"counts/keys": Array("uint64", ("keys",), rising=True), "counts/values": Array("int32", ("keys",), low=0)}
_STEP = 4096
_HALF = N_KINDS // 2


def columns_for(method: str, n_elements: int, free: bool, shares: bool, n_kinds: int = _HALF) -> np.ndarray:
    """Which counts a method looks at, int32 (n_columns, 2): target (0: the whole label, then the elements) and kind;
    the count of a label with its form comes first. ``free``: also without the form; ``shares``: behind them, one
    for each, the counts of the contexts alone; ``n_kinds``: of contexts with the form."""
    targets = range(1) if method == "baseline" else range(1 + n_elements)
    kinds, halves = range(1) if method == "uni" else range(n_kinds), (0, n_kinds) if free else (0,)
    columns = [(target, kind + more) for more in halves for target in targets for kind in kinds]
    if shares:
        columns += [(-1, kind) for _, kind in columns]
    return np.array(columns, np.int32)


class Rows(NamedTuple):
    """Candidates of tokens: ``tokens`` int64 (n,), ``labels`` int32 (n,), and where each item begins, ``starts`` int64
    (n_items + 1,)."""

    tokens: np.ndarray
    labels: np.ndarray
    starts: np.ndarray


class Counts(NamedTuple):
    """``keys`` uint64 (n,), ascending; ``counts`` int32 (n,); ``buckets`` int64: where the keys with the same first
    bits begin; ``shift`` uint64: how many bits are not first."""

    keys: np.ndarray
    counts: np.ndarray
    buckets: np.ndarray
    shift: np.uint64

    @classmethod
    def of_keys(cls, keys: np.ndarray, counts: np.ndarray) -> Counts:
        """From sorted keys, uint64 (n,), and their counts, int32 (n,)."""
        bits = max(1, min(30, len(keys).bit_length() - 2))
        shift = np.uint64(64 - bits)
        firsts = np.arange(1 << bits, dtype=np.uint64) << shift
        buckets = np.append(np.searchsorted(keys, firsts), len(keys)).astype(np.int64)
        return cls(keys, counts, buckets, shift)

    @classmethod
    def of(cls, contexts: np.ndarray, labels: np.ndarray, values: np.ndarray, columns: np.ndarray) -> Counts:
        """Count the labels of tokens: int32 (n,), of ``values``, see ``label_hashes``."""
        columns = np.unique(columns, axis=0)
        keys = np.zeros((len(labels), len(columns)), np.uint64)
        for first in range(0, len(labels), _STEP):
            here = slice(first, first + _STEP)
            fill_keys(contexts[here], labels[here], values, columns, keys[here])
        distinct, counts = np.unique(keys.ravel(), return_counts=True)
        return cls.of_keys(distinct, counts.astype(np.int32))

    def added(self, other: Counts) -> Counts:
        distinct, at = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([self.counts, other.counts]), len(distinct))
        return Counts.of_keys(distinct, counts.astype(np.int32))

    def less(self, other: Counts) -> Counts:
        """The counts without those of some of the tokens, which makes some of them 0."""
        counts = self.counts.copy()
        counts[np.searchsorted(self.keys, other.keys)] -= other.counts
        return self._replace(counts=counts)

    def kept(self, min_count: int) -> Counts:
        """The counts that are not smaller than that."""
        enough = self.counts >= min_count
        return self if enough.all() else Counts.of_keys(self.keys[enough], self.counts[enough])

    def look_up(self, rows: Rows, contexts: np.ndarray, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The counts of rows, float32 (n_rows, n_columns)."""
        out = np.zeros((len(rows.tokens), len(columns)), np.float32)
        for first in range(0, len(out), _STEP):
            here = slice(first, first + _STEP)
            look_up(rows.tokens[here], rows.labels[here], contexts, values, columns, self, out[here])
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        return {"counts/keys": self.keys, "counts/values": self.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Counts:
        return cls.of_keys(*(arrays[name] for name in COUNTS))


def transformed(counts: np.ndarray, transform: str) -> np.ndarray:
    """What becomes of counts: log(1 + c), c itself, or c / (1 + c of the context), which stands behind the counts."""
    if transform == "log":
        return np.log1p(counts)
    if transform == "raw":
        return counts
    half = counts.shape[1] // 2
    return counts[:, :half] / (1 + counts[:, half:])


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
    corpus = bank.corpus
    kinds, tokens = np.unique(corpus.tokens, return_inverse=True)
    strings = corpus.vocab.strings
    numbers: dict[str, int] = {}
    bare = np.array([numbers.setdefault(written(strings[i], strip_vowels), len(numbers)) for i in kinds], np.int32)
    types = bare[tokens] if len(kinds) else np.zeros(0, np.int32)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    starts = corpus.document_starts
    documents = sentences if starts is None else np.searchsorted(starts, sentences, "right") - 1
    forms = list(numbers)
    words = hashes_of(forms)[types]
    letters = [hashes_of([form[part] for form in forms])[types] for part in (slice(1), slice(-1, None))]
    contexts = contexts_of(words, sentences, [words, *letters], alone=True)
    return Text(forms, types, words, contexts, sentences, documents)


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
