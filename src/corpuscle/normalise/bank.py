"""A dependency bank: which words stand near which, and how far, in parsed text; and a detector of ill-formed words.

For every edge between words x and y, at most three tokens apart, of parsed text, the bank counts the target x with its
context y at the offset of y seen from x, and the other way round; ``look`` two behind ``way`` is (look, way, +2). The
value of an entry met n times is log(1 + n) / log(1 + n_max), or its normalised pointwise mutual information; entries
met less than twice are left out. Without parsed text all pairs of words within three tokens take the place of edges,
weighted by one over their distance.

**The detector** learns from clean text alone which words are ill-formed. A word fits its place if entries of the bank
support it there. Every word of the clean text in its context is a positive example; one of the five words of its
confusion set that fit best by the language model, in its place, is a negative one, unless its entries are those of some
positive example. Words without entries are left out. A linear support vector machine classifies by the entries and by
sum, maximum and number of their values. A token is ill-formed if at least ``positives`` of its candidates fit.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.2; Bouma,
"Normalized (pointwise) mutual information in collocation extraction", 2009; Fan et al., "LIBLINEAR: a library for large
linear classification", 2008."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.model import Array
from corpuscle.normalise.candidates import windows_of
from corpuscle.normalise.kernels.context import (
    OFFSETS,
    SPAN,
    Candidates,
    Entries,
    Windows,
    matching_entries,
    score_candidates,
)
from corpuscle.normalise.lexicon import Messages
from corpuscle.normalise.tokens import is_examined, reduced
from corpuscle.random import Random
from corpuscle.text.corpus import starts_of
from corpuscle.text.origin import error_about
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import END, START

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser


BANK = {
    "bank/keys": Array("int64", ("entries",), low=0, rising=True),
    "bank/values": Array("float32", ("entries",), low=0.0, high=1.001),
}
_REACH = OFFSETS[-1]
_FEWEST = 2.0 - 1e-9
"""Twice, but for rounding."""


class Matches(NamedTuple):
    """The entries that support words in their places: ``sums``, ``highest`` and ``numbers`` of their values, float64,
    by word; ``starts`` (n + 1,), ``rows`` of the bank, ``values``."""

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
    corpus, heads = treebank.corpus, treebank.heads  # 1-based within the sentence, 0: the root
    of_types = [numbers.get(word.lower(), -1) for word in corpus.vocab.strings]
    ids = np.array(of_types, np.int64)[corpus.tokens]
    apart = np.repeat(corpus.sentence_starts[:-1], corpus.lengths) + heads - 1 - np.arange(len(heads))
    at = np.flatnonzero((heads > 0) & (np.abs(apart) <= _REACH))
    d = apart[at]
    x, y = ids[at], ids[at + d]
    sides = np.concatenate([y, x]), np.concatenate([x, y])
    return _bank(*sides, np.concatenate([d, -d]), np.ones(2 * len(d)), len(numbers), score)


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
    sides = np.concatenate(contexts), np.concatenate(targets)
    return _bank(*sides, distance, 1.0 / np.abs(distance), len(numbers), score)


def _bank(
    contexts: np.ndarray, targets: np.ndarray, offsets: np.ndarray, weights: np.ndarray, words: int, score: str
) -> Entries:
    known = (contexts >= 0) & (targets >= 0)
    contexts, targets, offsets, weights = (each[known] for each in (contexts, targets, offsets, weights))
    keys, which = np.unique((contexts * words + targets) * SPAN + offsets + _REACH, return_inverse=True)
    counts = np.bincount(which, weights, minlength=len(keys))
    kept = counts >= _FEWEST
    values = np.log1p(counts) / np.log1p(counts.max(initial=1.0))
    if score == "npmi":
        total = counts.sum()
        by_context, by_target = (np.bincount(side, weights, minlength=words) for side in (contexts, targets))
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


DETECTOR = {
    "detector/entries": Array("float64", ("entries",), finite=True, optional=True),
    "detector/others": Array("float64", (4,), finite=True, optional=True),
}
_BEST = 5
_CHUNK = 2000


class Detector(NamedTuple):
    """Weights of the entries of the bank, float64 (n_entries,), and ``others``, float64 (4,): of the sum, the maximum
    and the number of values, and the intercept."""

    entries: np.ndarray
    others: np.ndarray


def _dense(found: Matches) -> np.ndarray:
    return np.column_stack([found.sums, found.highest, found.numbers])


def fits(detector: Detector, found: Matches) -> np.ndarray:
    """Which words fit their places, given what speaks for them: bool (n,)."""
    which = np.repeat(np.arange(len(found.sums)), found.numbers.astype(np.int64))
    of_entries = np.bincount(which, found.values * detector.entries[found.rows], minlength=len(found.sums))
    scores = of_entries + _dense(found) @ detector.others[:3] + detector.others[3]
    return (found.numbers > 0) & (scores > 0)


def learn_detector(model: Normaliser, sentences: Messages) -> Detector:
    """Learn to tell words that fit from those that do not."""
    from scipy.sparse import csr_matrix, hstack, vstack
    from sklearn.svm import LinearSVC

    positive, negative = _examples(model, sentences)
    vectors = {_vector(positive, k) for k in range(len(positive.sums))}
    wrong = np.array([_vector(negative, k) not in vectors for k in range(len(negative.sums))], bool)
    parts, labels = [], []
    for found, label, kept in ((positive, 1, positive.numbers > 0), (negative, 0, wrong & (negative.numbers > 0))):
        shape = (len(found.sums), len(model.bank_.keys))
        entries = csr_matrix((found.values, found.rows, found.starts), shape=shape)
        dense = _dense(found) if model.aggregates else np.zeros((len(found.sums), 3))
        parts.append(hstack([entries, csr_matrix(dense)], format="csr")[kept])
        labels.append(np.full(int(kept.sum()), label))
    right = np.concatenate(labels)
    if len(set(right.tolist())) < 2:
        raise error_about(sentences, "too little text for a detector: nothing in the bank tells words apart")
    machine = LinearSVC(C=1.0, random_state=model.seed).fit(vstack(parts), right)
    weights = machine.coef_.ravel()
    return Detector(weights[:-3].copy(), np.append(weights[-3:], machine.intercept_))


def _vector(found: Matches, k: int) -> bytes:
    """The entries of an example and their values."""
    mine = slice(found.starts[k], found.starts[k + 1])
    return found.rows[mine].tobytes() + found.values[mine].tobytes()


def _examples(model: Normaliser, sentences: Messages) -> tuple[Matches, Matches]:
    """What speaks for words of the clean text, and for others in their places."""
    number = model.lexicon_.number
    found: list[tuple[int, int]] = []
    for i in Random(model.seed, "normalise.detector").shuffled(range(len(sentences))):
        if len(found) >= model.examples:
            break
        found += [(i, k) for k, word in enumerate(sentences[i]) if word in number and is_examined(word)]
    found = found[: model.examples]
    windows = windows_of(model, sentences, found)
    places = np.arange(len(found))
    words = np.array([number[sentences[i][k]] for i, k in found], np.int32)
    parts = [_others(model, sentences, found[a : a + _CHUNK], a) for a in range(0, len(found), _CHUNK)]
    others = np.concatenate([np.zeros(0, np.int32), *parts])
    right, wrong = (matches(model.bank_, windows, places, some, model.expand) for some in (words, others))
    return right, wrong


def _confused(model: Normaliser, word: str) -> np.ndarray:
    """The words of the lexicon, by number, that a word of it may be mistaken for: int32."""
    near = model.lexicon_.confusion_set(reduced(word, model.repeats), model.reach)
    return near[near != model.lexicon_.number[word]]


def _others(model: Normaliser, sentences: Messages, found: list[tuple[int, int]], item: int) -> np.ndarray:
    """A word that may be mistaken for each of some words, drawn from those that fit best; -1: there is none."""
    sets, contexts, reach = [], [], model.order - 1
    for i, k in found:
        word = sentences[i][k]
        sets.append(model.once(_confused, word))
        ids = [START, *model.lm_.vocab_.encode(sentences[i]).tolist(), END]
        before, behind = ids[: k + 1][-reach:] if reach else [], ids[k + 2 :][:reach]
        contexts.append([-1] * (reach - len(before)) + before + behind + [-1] * (reach - len(behind)))
    places = starts_of(map(len, sets))
    numbers = np.concatenate([np.zeros(0, np.int32), *sets])
    words = frozen(model.lm_words[numbers], np.int32)
    candidates = Candidates(frozen(places, np.int64), words, frozen(np.arange(len(words) + 1), np.int64))
    scores = np.empty(len(words))
    around = frozen(np.array(contexts).reshape(len(found), 2 * reach), np.int32)
    score_candidates(model.lm_.automaton_, around, candidates, scores)
    drawn = Random(model.seed, "normalise.detector", 1, item).uniforms(len(found))
    chosen = np.full(len(found), -1, np.int32)
    for k in range(len(found)):
        mine = slice(places[k], places[k + 1])
        best = np.argsort(-scores[mine], kind="stable")[:_BEST]
        if len(best):
            chosen[k] = numbers[mine][best[int(drawn[k] * len(best))]]
    return chosen
