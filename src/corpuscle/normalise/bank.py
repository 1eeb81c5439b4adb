"""A dependency bank: which words stand near which, and how far, in parsed text.

For every edge between words x and y, at most three tokens apart, of parsed text, the bank counts the target x with its
context y at the offset of y seen from x, and the other way round; ``look`` two behind ``way`` is (look, way, +2). The
value of an entry met n times is log(1 + n) / log(1 + n_max), or its normalised pointwise mutual information; entries
met less than twice are left out. Without parsed text all pairs of words within three tokens take the place of edges,
weighted by one over their distance.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.2; Bouma,
"Normalized (pointwise) mutual information in collocation extraction", 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.model import Array
from corpuscle.normalise.kernels.bank import OFFSETS, SPAN, Entries, Windows, matching_entries
from corpuscle.text.treebank import Treebank

BANK = {
    "bank/keys": Array("int64", ("entries",), low=0, rising=True),
    "bank/values": Array("float32", ("entries",), low=0.0, high=1.001),
}
_REACH = OFFSETS[-1]
_FEWEST = 2.0 - 1e-9
"""Twice, but for rounding."""


class Matches(NamedTuple):
    """What speaks for words in their places, word by word: ``sums``, ``highest`` and ``numbers`` of values, float64;
    and the entries themselves: ``starts`` (n + 1,), ``rows`` of the bank, ``values``."""

    sums: np.ndarray
    highest: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def empty_bank(words: int) -> Entries:
    """A bank without entries."""
    return Entries(np.zeros(0, np.int64), np.zeros(0, np.float32), words)


def bank_of_trees(treebank: Treebank, numbers: dict[str, int], score: str) -> Entries:
    """From parsed text, of words by their numbers in the lexicon."""
    ids = _ids(treebank.corpus.vocab.strings, numbers)[treebank.corpus.tokens]
    starts = treebank.corpus.sentence_starts
    heads = treebank.heads  # 1-based within the sentence, 0: the root
    at = np.flatnonzero(heads > 0)
    first = np.repeat(starts[:-1], np.diff(starts))[at]
    apart = first + heads[at] - 1 - at
    close = np.abs(apart) <= _REACH
    x, y, d = ids[at[close]], ids[(at + apart)[close]], apart[close]
    return _bank(np.concatenate([y, x]), np.concatenate([x, y]), np.concatenate([d, -d]), None, len(numbers), score)


def bank_of_pairs(sentences: Sequence[Sequence[str]], numbers: dict[str, int], score: str) -> Entries:
    """From sentences, of all pairs of words at most three tokens apart."""
    ids = np.array([numbers.get(word, -1) for sentence in sentences for word in sentence], np.int64)
    sentence = np.repeat(np.arange(len(sentences)), [len(words) for words in sentences])
    contexts, targets, offsets = [], [], []
    for d in range(1, _REACH + 1):
        same = sentence[:-d] == sentence[d:]
        x, y = ids[:-d][same], ids[d:][same]
        contexts += [y, x]
        targets += [x, y]
        offsets += [np.full(len(x), d), np.full(len(x), -d)]
    distance = np.concatenate(offsets)
    return _bank(
        np.concatenate(contexts), np.concatenate(targets), distance, 1.0 / np.abs(distance), len(numbers), score
    )


def _ids(strings: Sequence[str], numbers: dict[str, int]) -> np.ndarray:
    return np.array([numbers.get(word.lower(), -1) for word in strings], np.int64)


def _bank(
    contexts: np.ndarray, targets: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None, words: int, score: str
) -> Entries:
    known = (contexts >= 0) & (targets >= 0)
    all_keys = (contexts[known] * words + targets[known]) * SPAN + offsets[known] + _REACH
    keys, which = np.unique(all_keys, return_inverse=True)
    counts = np.bincount(which, None if weights is None else weights[known], minlength=len(keys))
    kept = counts >= _FEWEST
    values = np.log1p(counts) / np.log1p(counts.max(initial=1.0))
    if score == "npmi":
        total = counts.sum()
        by_context = np.bincount(contexts[known], None if weights is None else weights[known], minlength=words)
        by_target = np.bincount(targets[known], None if weights is None else weights[known], minlength=words)
        pair = keys // SPAN
        joint = np.log(counts / total)
        apart = np.log(by_context[pair // words] / total) + np.log(by_target[pair % words] / total)
        values = np.minimum(1.0, (joint - apart) / np.where(joint < 0, -joint, 1.0))
        kept &= values > 0
    return Entries(frozen(keys[kept], np.int64), frozen(values[kept], np.float32), words)


def matches(bank: Entries, windows: Windows, places: np.ndarray, words: np.ndarray, share: float) -> Matches:
    """What speaks for each of some words (numbers, -1: none) at its place."""
    starts, room = np.zeros(len(words) + 1, np.int64), 8 * len(words) + 64
    places, words = frozen(places, np.int64), frozen(words, np.int32)
    while True:
        rows, values = np.empty(room, np.int64), np.empty(room)
        size = matching_entries(bank, windows, places, words, float(share), starts, rows, values)
        if size <= room:
            break
        room = size
    rows, values, numbers = rows[:size], values[:size], np.diff(starts)
    which = np.repeat(np.arange(len(words)), numbers)
    highest = np.zeros(len(words))
    np.maximum.at(highest, which, values)
    sums = np.bincount(which, values, minlength=len(words)).astype(np.float64)
    return Matches(sums, highest, numbers.astype(np.float64), starts, rows, values)
