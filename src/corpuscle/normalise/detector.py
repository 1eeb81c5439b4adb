"""The detector: whether a word is ill-formed, learned from clean text alone.

A word fits its place if entries of the dependency bank speak for it there. Every word of the clean text in its own
context is a positive example; one of the five words of its confusion set that fit best by the language model, put in
its place, is a negative one, unless its entries are those of some positive example. Words for which nothing speaks
teach nothing. A linear support vector machine tells both apart, by the entries and by the sum, the maximum and the
number of their values. A token is ill-formed if at least ``positives`` of its candidates fit: something else was meant.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.2; Fan et al.,
"LIBLINEAR: a library for large linear classification", 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.model import Array
from corpuscle.normalise.bank import Matches, matches
from corpuscle.normalise.contexts import Messages, windows_of
from corpuscle.normalise.kernels.context import Candidates, score_candidates
from corpuscle.normalise.tokens import is_examined
from corpuscle.random import Random
from corpuscle.text.corpus import starts_of
from corpuscle.text.origin import error_about
from corpuscle.text.vocab import END, START

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser

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
    from scipy.sparse import csr_matrix, hstack
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
    from scipy.sparse import vstack

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
    others = np.concatenate([
        np.zeros(0, np.int32),
        *(_others(model, sentences, found[a : a + _CHUNK], a) for a in range(0, len(found), _CHUNK)),
    ])  # fmt: skip
    share = model.expand
    return matches(model.bank_, windows, places, words, share), matches(model.bank_, windows, places, others, share)


def _others(model: Normaliser, sentences: Messages, found: list[tuple[int, int]], item: int) -> np.ndarray:
    """A word that may be mistaken for each of some words, drawn from those that fit best; -1: there is none."""
    sets, contexts, reach = [], [], model.order - 1
    for i, k in found:
        word = sentences[i][k]
        sets.append(model.confused(word))
        ids = [START, *model.lm_.vocab_.encode(sentences[i]).tolist(), END]
        before, behind = ids[: k + 1][-reach:] if reach else [], ids[k + 2 :][:reach]
        contexts.append([-1] * (reach - len(before)) + before + behind + [-1] * (reach - len(behind)))
    places = starts_of(map(len, sets))
    numbers = np.concatenate([np.zeros(0, np.int32), *sets])
    words = frozen(model.lm_words[numbers], np.int32)
    candidates = Candidates(frozen(places, np.int64), words, frozen(np.arange(len(words) + 1), np.int64))
    scores = np.empty(len(words))
    score_candidates(
        model.lm_.automaton_, frozen(np.array(contexts, np.int32).reshape(len(found), 2 * reach), np.int32), candidates,
        scores,
    )  # fmt: skip
    drawn = Random(model.seed, "normalise.detector", 1, item).uniforms(len(found))
    chosen = np.full(len(found), -1, np.int32)
    for k in range(len(found)):
        mine = slice(places[k], places[k + 1])
        best = np.argsort(-scores[mine], kind="stable")[:_BEST]
        if len(best):
            chosen[k] = numbers[mine][best[int(drawn[k] * len(best))]]
    return chosen
