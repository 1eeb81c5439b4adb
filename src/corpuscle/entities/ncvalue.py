"""NC-values: how much the open-class words around a word are those that stand around mentions.

From training mentions, for each section S of the notes (all sections together where S has fewer than 20 mentions):

    weight_B(b, S) = mentions in S with the word b among the two tokens before them / mentions in S

and weight_A for the two tokens behind. The score of a token adds up the weights of its own two neighbours on a side;
that of a word type in a section is the sum over its occurrences (``raw``, as published: it grows with frequency) or
their mean (``mean``). ``token`` takes the neighbours of the occurrence alone. A score is none, low, medium or high,
by the thirds of the scores in the training text that are not 0.

Frantzi, Ananiadou and Mima, "Automatic recognition of multi-word terms: the C-value/NC-value method", 2000; Parikh,
Avinesh, Mustafi, Agarwalla and Mungi, "ThinkMiners: disorder recognition using conditional random fields and
distributional semantics", 2014, section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.random import folds

WINDOW = 2
_FEWEST = 20
"""A section with fewer mentions has the weights of all sections together."""
_FOLDS = 5
_SMALL = 1000
"""In texts of fewer tokens a word type says nothing: its occurrence is judged alone."""
_OPEN = ("N", "V", "ADJ", "ADV", "JJ", "RB")
_CLOSED = ("NUM",)
ALL = np.uint64(0)
"""The section that stands for all sections."""

NC_ARRAYS = {
    "nc/keys": Array("uint64", ("nc_words",), rising=True),
    "nc/weights": Array("float64", ("nc_words", 2), low=0.0, high=1.0000001),
    "nc/sections": Array("uint64", ("nc_sections",), rising=True),
    "nc/thresholds": Array("float64", (2, 2), low=0.0, finite=True),
}


def open_class(documents: Documents) -> np.ndarray:
    """Which tokens are nouns, verbs, adjectives or adverbs by their tags, bool (n_tokens,)."""
    names = documents.tags.vocab.strings
    return np.array([tag.startswith(_OPEN) and tag not in _CLOSED for tag in names], bool)[documents.tags.ids]


def _keys(documents: Documents) -> tuple[np.ndarray, np.ndarray]:
    """Of each token the hash of its word in lower case, and of its section: uint64 (n_tokens,)."""
    corpus = documents.corpus
    words = hashes_of([word.lower() for word in corpus.vocab.strings])[corpus.tokens]
    sections = hashes_of([f"section {name}" for name in documents.sections.values])[documents.sections.ids]
    return words, sections


def _joint(word: np.ndarray, section: np.ndarray) -> np.ndarray:
    """One number for a word in a section."""
    with np.errstate(over="ignore"):
        return word * np.uint64(0x9E3779B97F4A7C15) ^ section


class NcValues(NamedTuple):
    """Weights of context words, and the thresholds of the classes of scores.

    - ``keys``: uint64 (n,), words in sections, ascending; ``weights``: float64 (n, 2), before and behind mentions;
    - ``sections``: uint64, those with weights of their own; ``thresholds``: float64 (2, 2), by side.
    """

    keys: np.ndarray
    weights: np.ndarray
    sections: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def learn(cls, documents: Documents, scope: str) -> NcValues:
        """From documents with mentions and tags."""
        words, sections = _keys(documents)
        is_open, starts = open_class(documents), documents.corpus.sentence_starts
        contexts: list[tuple[int, int, int]] = []  # token, section of its mention as a token, side
        of_mentions: list[int] = []
        for i, (first, last) in enumerate(pairwise(starts.tolist())):
            for mention in documents.mentions[i]:
                begin, end = first + mention.tokens[0], first + mention.tokens[-1] + 1
                of_mentions.append(begin)
                contexts += [(t, begin, 0) for t in range(max(first, begin - WINDOW), begin) if is_open[t]]
                contexts += [(t, begin, 1) for t in range(end, min(last, end + WINDOW)) if is_open[t]]
        at = sections[of_mentions] if of_mentions else np.zeros(0, np.uint64)
        names, counts = np.unique(at, return_counts=True)
        own = names[counts >= _FEWEST]
        totals = {int(name): int(count) for name, count in zip(names, counts, strict=True)}
        table: dict[tuple[int, int], np.ndarray] = {}
        seen = {(int(words[t]), begin, side) for t, begin, side in contexts}
        for word, begin, side in seen:
            section = int(sections[begin])
            for place, total in ((section, totals[section]), (int(ALL), len(of_mentions))):
                if place == int(ALL) or section in own:
                    table.setdefault((word, place), np.zeros(2))[side] += 1.0 / total
        pairs = list(table)
        keys = _joint(
            np.array([word for word, _ in pairs], np.uint64), np.array([place for _, place in pairs], np.uint64)
        )
        order = np.argsort(keys)
        weights = np.array([table[pair] for pair in pairs]).reshape(-1, 2)
        self = cls(keys[order], np.minimum(weights[order], 1.0), own, np.zeros((2, 2)))
        scores = self.scores(documents, scope)
        thresholds = np.array([
            np.quantile(side[side > 0], [1 / 3, 2 / 3]) if (side > 0).any() else np.zeros(2) for side in scores.T
        ])  # fmt: skip
        return NcValues(self.keys, self.weights, self.sections, thresholds)

    def scores(self, documents: Documents, scope: str) -> np.ndarray:
        """The scores of all tokens, before and behind: float64 (n_tokens, 2)."""
        words, sections = _keys(documents)
        place = np.where(np.isin(sections, self.sections), sections, ALL)
        sentence = np.repeat(np.arange(len(documents.corpus)), documents.corpus.lengths)
        is_open, n = open_class(documents), len(words)
        scores = np.zeros((n, 2))
        for side, sign in ((0, -1), (1, 1)):
            for distance in range(1, WINDOW + 1):
                here = np.arange(max(0, -sign * distance), n - max(0, sign * distance))
                there = here + sign * distance
                good = (sentence[here] == sentence[there]) & is_open[there]
                row = find(_joint(words[there[good]], place[here[good]]), self.keys)
                scores[here[good], side] += np.where(row >= 0, self.weights[row, side] if len(self.keys) else 0.0, 0.0)
        if scope == "token" or n < _SMALL:
            return scores
        _, number, count = np.unique(_joint(words, sections), return_inverse=True, return_counts=True)
        sums = np.column_stack([np.bincount(number, scores[:, side], len(count)) for side in (0, 1)])
        return (sums if scope == "raw" else sums / count[:, None])[number]

    def classes(self, documents: Documents, scope: str) -> np.ndarray:
        """0 none, 1 low, 2 medium, 3 high, before and behind: int64 (n_tokens, 2)."""
        scores = self.scores(documents, scope)
        levels = [
            np.where(side > 0, 1 + np.searchsorted(edges, side, "left"), 0)
            for side, edges in zip(scores.T, self.thresholds, strict=True)
        ]
        return np.column_stack(levels)


def cross_fitted(documents: Documents, scope: str, seed: int) -> np.ndarray:
    """The classes of training tokens, each by the weights of other documents, so that no mention supports its own
    context: int64 (n_tokens, 2)."""
    part = folds(seed, "entities.nc", len(documents), min(_FOLDS, len(documents)))
    found = np.zeros((documents.corpus.n_tokens, 2), np.int64)
    document = np.repeat(documents.document_of, documents.corpus.lengths)
    for fold in range(part.max(initial=-1) + 1):
        held = np.flatnonzero(part == fold)
        others = np.flatnonzero(part != fold)
        if len(others):
            learned = NcValues.learn(documents.select(others), scope)
            found[np.isin(document, held)] = learned.classes(documents.select(held), scope)
    return found
