"""SequenceRanker: the analyses of a sentence chosen together, among the first few that a ranker gives each word.

The score of a sequence is the sum of u_0 times the score of each analysis by the ranker and of u_e times
log(c(a, b) N / (c(a) c(b))) for each element e with the values a and b of analyses that follow each other, counts plus
a half. The weights u maximise the likelihood of the right analyses, with a penalty on squares of u_e; where none of the
few is right, all may be. The best sequence is found exactly: the first analysis of a word is its part of it, the others
follow by their probabilities under all sequences; those that took no part come last.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
is the ranker; Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for segmenting and
labeling sequence data", 2001.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import ClassVar, NamedTuple

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.analyses import COUNTS, Counts, Lists, Ranking, Rows, Text, in_order, text_of
from corpuscle.disambiguate.base import Disambiguator, Learning
from corpuscle.disambiguate.kernels.ranking import best_sequences, expected
from corpuscle.disambiguate.ranker import Ranker
from corpuscle.disambiguate.settings import SequenceSettings
from corpuscle.disambiguate.twopass import FIRST_RANKER, contain, first_pass, with_workers
from corpuscle.disambiguate.weight_fitting import shares_of
from corpuscle.model import Array
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank

_STEP = 2000  # sentences that are decoded by one call
_ROUNDS = 60


class Bigrams(NamedTuple):
    """Counts of values alone and after others."""

    counts: Counts
    n_elements: int

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both values, the first, the second; the context of kind 0 is empty, of kind 1 + e a value of e before."""
        kinds = 1 + np.arange(self.n_elements, dtype=np.int32)
        zeros = np.zeros(self.n_elements, np.int32)
        return np.column_stack([kinds, kinds]), np.column_stack([zeros - 1, kinds]), np.column_stack([kinds, zeros])

    @classmethod
    def of(cls, gold: np.ndarray, values: np.ndarray, sentences: np.ndarray) -> Bigrams:
        """Of the labels of tokens, int32 (n,), -1 where there is none."""
        empty = cls(Counts.of_keys(np.zeros(0, np.uint64), np.zeros(0, np.int32)), values.shape[1] - 1)
        second = np.flatnonzero((np.diff(sentences) == 0) & (gold[:-1] >= 0) & (gold[1:] >= 0)) + 1
        contexts = _contexts(values[gold[second - 1]])
        columns = np.concatenate([*empty.columns, [[-1, 0]]]).astype(np.int32)
        return empty._replace(counts=Counts.of(contexts, gold[second], values, columns))

    def information(self, before: np.ndarray, behind: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Of pairs of labels, int32 (n,) each: log(c(a, b) N / (c(a) c(b))) by element, float32 (n, n_elements)."""
        rows = Rows(np.arange(len(before)), behind, np.arange(len(before) + 1))
        contexts = _contexts(values[before])
        both, first, second = (self.counts.look_up(rows, contexts, values, each) for each in self.columns)
        total = self.counts.look_up(rows, contexts, values, np.array([[-1, 0]], np.int32))
        return np.log((both + 0.5) * (total + 0.5) / ((first + 0.5) * (second + 0.5)))


def _contexts(values: np.ndarray) -> np.ndarray:
    """An empty context, then the values of the label before, uint64 (n, 1 + n_elements)."""
    return np.hstack([np.full((len(values), 1), 1, np.uint64), values[:, 1:]])


class SequenceRanker(SequenceSettings, Disambiguator):
    """Chooses the analyses of a sentence together. Learned: ``first_ranker_``; ``bigrams_``; ``weights_``: u."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.sequence", 1,
        {**container.TRAINING_ITEMS, **COUNTS, "weights": Array("float64", ("weights",), finite=True)},
        components={"first_ranker": (Ranker.KIND,)}, check=lambda loaded: _check(loaded),
    )  # fmt: skip
    SAVED: ClassVar = {**FIRST_RANKER, "weights_": container.Arrays("weights")}

    first_ranker_: Ranker = learned()
    bigrams_: Bigrams = learned()
    weights_: np.ndarray = learned()

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> SequenceRanker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        first, learning = first_pass(self, bank, table)
        contain(self, first.learn(learning))
        gold, values, sentences = learning.gold, learning.values, learning.text.sentences
        found, total = [], first.counted(learning)
        for known, held in first.parts(learning):
            part = copy(first)
            part.count(learning, known, total)
            bigrams = Bigrams.of(gold[known], values, sentences[known])
            text = learning.text.part(held)
            few, scores, _ = self._few(*_sorted(part, text))
            found.append(Grid.of(text, few, scores, bigrams, self.top, gold[held]))
        self.weights_ = _fitted(found, self.c2)
        self.bigrams_ = Bigrams.of(gold, values, sentences) if self.crossfit else bigrams
        self.provenance_ = {
            **first.provenance_, "weights": first.provenance_["weights"] + len(self.weights_),
            "counts": first.provenance_["counts"] + len(self.bigrams_.counts.keys),
        }  # fmt: skip
        return self

    def _few(self, lists: Lists, scores: np.ndarray) -> tuple[Lists, np.ndarray, np.ndarray]:
        """The first few candidates of tokens, their scores, and which rows they are, a mask."""
        starts = lists.rows.starts
        few = np.arange(len(scores)) - np.repeat(starts[:-1], np.diff(starts)) < self.top
        sizes = np.minimum(np.diff(starts), self.top)
        rows = Rows(lists.rows.tokens[few], lists.rows.labels[few], starts_of(sizes))
        return lists._replace(rows=rows), scores[few], few

    def _count_more(self, more: Learning) -> None:
        self.first_ranker_ = self.first_ranker_.updated(more.bank)
        new = Bigrams.of(more.gold, more.values, more.text.sentences)
        self.bigrams_ = new._replace(counts=self.bigrams_.counts.added(new.counts))

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, that of the best sequence first."""
        first, bank = with_workers(self, self.first_ranker_), self.words_of(bank)
        text = text_of(bank, self.strip_vowels)
        lists, scores = _sorted(first, text)
        few, some, mask = self._few(lists, scores)
        grid = Grid.of(text, few, some, self.bigrams_, self.top)
        path, shares = grid.decoded(self.weights_)
        token, starts = lists.rows.tokens, lists.rows.starts
        place = np.arange(len(token)) - starts[token]
        likely = shares_of(scores, starts)
        mass = np.bincount(token[mask], likely[mask], len(starts) - 1)
        likely[mask] = shares[token[mask], place[mask]] * mass[token[mask]]
        order = np.lexsort((place, -likely, ~mask, place != path[token], token))
        return Ranking(starts, lists.rows.labels[order], likely[order], lists.names)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **self.bigrams_.counts.arrays()}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        contain(self, self.first_ranker_)
        self.bigrams_ = Bigrams(Counts.from_arrays(loaded.arrays), len(self.elements_))


class Grid(NamedTuple):
    """The few candidates of the tokens of a text, ``top`` places for each: ``scores`` float64 (n_tokens, top), by a
    ranker, -inf where there is none; ``right`` bool, of the same shape; ``starts`` of sentences; two candidates that
    follow each other are at ``places`` (token, place before, place), int64 (3, n_pairs), and say ``which`` of the rows
    of ``information``, float32 (n_kinds, n_elements)."""

    scores: np.ndarray
    right: np.ndarray
    starts: np.ndarray
    places: tuple[np.ndarray, np.ndarray, np.ndarray]
    which: np.ndarray
    information: np.ndarray

    @classmethod
    def of(
        cls, text: Text, few: Lists, scores: np.ndarray, bigrams: Bigrams, top: int, gold: np.ndarray | None = None
    ) -> Grid:
        """Of candidates with scores; with gold labels, only the right ones of tokens that have any are ``right``."""
        n, starts, tokens = len(text.tokens), few.rows.starts, few.rows.tokens
        place = np.arange(len(scores)) - starts[tokens]
        grid = np.full((n, top), -np.inf)
        grid[tokens, place] = scores
        right = grid > -np.inf
        if gold is not None:
            hits = np.zeros((n, top), bool)
            hits[tokens, place] = few.rows.labels == gold[tokens]
            right = np.where(np.any(hits, axis=1, keepdims=True), hits, right)
        sizes = np.diff(starts)
        second = np.flatnonzero(np.diff(text.sentences) == 0) + 1
        pairs = sizes[second - 1] * sizes[second]
        token = np.repeat(second, pairs)
        inside = np.arange(len(token)) - np.repeat(starts_of(pairs)[:-1], pairs)
        p, q = inside // sizes[token], inside % sizes[token]
        labels = few.rows.labels.astype(np.int64)
        keys = labels[starts[token - 1] + p] * len(few.names) + labels[starts[token] + q]
        kinds, which = np.unique(keys, return_inverse=True)
        before, behind = (part.astype(np.int32) for part in np.divmod(kinds, len(few.names)))
        sentences = np.concatenate([[0], np.flatnonzero(np.diff(text.sentences)) + 1, [n]]).astype(np.int64)
        information = bigrams.information(before, behind, few.values)
        return cls(grid, right, sentences, (token, p, q), which.ravel(), information)

    def _steps(self, weights: np.ndarray) -> np.ndarray:
        steps = np.full((*self.scores.shape, self.scores.shape[1]), -np.inf)
        steps[self.places] = (self.information @ weights[1:])[self.which]
        return steps

    def _emission(self, weight: float) -> np.ndarray:
        """Weighted scores; what is no candidate stays none, whatever the weight."""
        return np.multiply(self.scores, weight, out=np.full_like(self.scores, -np.inf), where=self.scores > -np.inf)

    def _calls(self) -> Iterator[np.ndarray]:
        """The starts of some sentences at a time."""
        for at in range(0, len(self.starts) - 1, _STEP):
            yield self.starts[at : at + _STEP + 1]

    def decoded(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The place of the best sequence at each token, int32, and the probabilities of all, (n_tokens, top)."""
        emission, steps = self._emission(weights[0]), self._steps(weights)
        path, shares = np.zeros(len(emission), np.int32), np.zeros_like(emission)
        taken = np.zeros_like(steps)
        for starts in self._calls():
            best_sequences(starts, emission, steps, path)
            expected(starts, emission, steps, shares, taken)
        return path, shares

    def figure(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood of the right candidates, and its gradient."""
        emission, steps = self._emission(weights[0]), self._steps(weights)
        value, gradient = 0.0, np.zeros_like(weights)
        shares, taken = np.zeros_like(emission), np.zeros_like(steps)
        scores = np.where(self.scores > -np.inf, self.scores, 0)
        for sign, some in ((1, np.where(self.right, emission, -np.inf)), (-1, emission)):
            value += sign * sum(expected(starts, some, steps, shares, taken) for starts in self._calls())
            gradient[0] += sign * (shares * scores).sum()
            times = np.bincount(self.which, taken[self.places], len(self.information))
            gradient[1:] += sign * (times @ self.information)
        return value, gradient


def _fitted(grids: Sequence[Grid], penalty: float) -> np.ndarray:
    """The weights that make the right analyses likeliest: 1 for the ranker and 0 for pairs, if nothing is better."""
    from scipy.optimize import minimize

    start = np.zeros(1 + grids[0].information.shape[1])
    start[0] = 1.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        figures = [grid.figure(weights) for grid in grids]
        away = weights - start
        value = penalty / 2 * away @ away - sum(value for value, _ in figures)
        return value, penalty * away - sum(slope for _, slope in figures)

    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS}).x)


def _sorted(first: Ranker, text: Text) -> tuple[Lists, np.ndarray]:
    """The candidates of tokens in the order of a ranker, and their scores."""
    lists = first.lists_of(text)
    scores, counts = first.scores(text, lists)
    order = in_order(lists, scores, counts)
    rows = Rows(lists.rows.tokens[order], lists.rows.labels[order], lists.rows.starts)
    return lists._replace(rows=rows), scores[order]


def _check(loaded: container.Container) -> None:
    SequenceRanker.restored(loaded.described)
    first = loaded.component("first_ranker")
    if Ranker.restored(first.described).method != "full":
        raise ValueError("its first pass is not a full ranker")
    if len(loaded.arrays["weights"]) != 1 + len(first.extra["elements"]):
        raise ValueError("its weights do not fit its elements")
