"""TwoPassRanker: a ranker, and another that also looks at the part of speech and the lemma of the neighbours; and what
all models share that rank a second time: a full ranker inside, whose words and labels are theirs.

A candidate has the numbers of the first pass, and the counts of its label and elements with the word and the part of
speech, or the lemma, of the analysis before and behind; the same without the word. They are counted on right analyses,
and looked up with those that the first pass puts first (``predicted``), or with the right ones (``gold``), which no
reader has, but which say how much there is to gain.

``PairRanker``: lemmas ranked by one model, all other elements together by another; a pair need not be a candidate.

The probability of a pair is the product of the two, so that the second best pair is the better one of the best lemma
with the second best rest and of the second best lemma with the best rest.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 5 and table 5 (M_cheat; M_ind).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate import weight_fitting
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.analyses import (
    COUNTS,
    Counts,
    Lists,
    Ranking,
    Text,
    columns_for,
    contexts_of,
    in_order,
    label_hashes,
    ranked,
    text_of,
    transformed,
    useful,
)
from corpuscle.disambiguate.base import ARRAYS, Disambiguator, Learning, added, check_labels
from corpuscle.disambiguate.ranker import WEIGHTS, Ranker, pooled
from corpuscle.disambiguate.settings import PairSettings, TwoPassSettings
from corpuscle.disambiguate.weight_fitting import Pool, Weights, shares_of
from corpuscle.errors import SettingError
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank

_LOOKED_AT = ("pos", "lemma")


FIRST_RANKER = {"first_ranker_": container.Inner("first_ranker", "corpuscle.disambiguate:Ranker")}
"""How the ranker inside is saved."""


def first_pass(model: Disambiguator, bank: Treebank, table: Sequence[Entry] | None) -> tuple[Ranker, Learning]:
    """A full ranker with the settings of a model, which has yet to learn, and what it learns from."""
    known = Ranker().settings
    first = Ranker(**{name: value for name, value in model.settings.items() if name in known})
    return first, first.prepared(bank, table)


def contain(model: Any, first: Ranker) -> None:
    """Put a ranker inside of a model; what it has learned about words is that of the model."""
    model.first_ranker_ = first
    for name in Disambiguator.SAVED:
        setattr(model, name, getattr(first, name))
    model.items_, model.chosen_ = first.items_, {}


def with_workers(model: Any, inside: Ranker) -> Ranker:
    """A ranker inside of a model, with the workers of that."""
    inside.workers, inside.cluster = model.workers, model.cluster
    return inside


class TwoPassRanker(TwoPassSettings, Disambiguator):
    """Ranks twice. Learned: ``first_ranker_``; ``counts_`` with neighbours; ``weights_`` of all numbers."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.twopass", 1, {**container.TRAINING_ITEMS, **COUNTS, **WEIGHTS},
        components={"first_ranker": (Ranker.KIND,)}, check=lambda loaded: _check(loaded),
    )  # fmt: skip
    SAVED: ClassVar = {**FIRST_RANKER, "counts_": container.Record(Counts), "weights_": container.Record(Weights)}

    first_ranker_: Ranker = learned()
    counts_: Counts = learned()
    weights_: Weights = learned()

    @property
    def _columns(self) -> np.ndarray:
        places, shares = _places(self.elements_), self.transform == "fraction"
        return columns_for("full", len(self.elements_), self.free, shares, 2 * len(places))

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> TwoPassRanker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        first, learning = first_pass(self, bank, table)
        if not _places(first.elements_):
            raise SettingError("the analyses of neighbours are their pos and lemma: one of them must be an element")
        contain(self, first.learn(learning))
        right = _around(learning.text, learning.values[learning.gold], self.elements_)
        found, total = [], first.counted(learning)
        every = Counts.of(right, learning.gold, learning.values, self._columns)
        for known, held in first.parts(learning):
            part = copy(first)
            part.count(learning, known, total)
            others = Counts.of(right[~known], learning.gold[~known], learning.values, self._columns)
            self.counts_ = every.less(others).kept(self.min_count)
            text = learning.text.part(held)
            lists = part.lists_of(text)
            around = right[held] if self.neighbours == "gold" else self._predicted(part, text, lists)
            some, hits = useful(lists, learning.gold[held])
            found.append(Pool(self._numbers(part, text, some, around), some.rows.starts, hits))
        self.weights_ = weight_fitting.fit(pooled(found, learning.bank), self.stage2, self.c2, self.seed)
        if self.crossfit:
            self.counts_ = every.kept(self.min_count)
        self.provenance_ = {
            **first.provenance_, "weights": len(self.weights_.weights),
            "counts": first.provenance_["counts"] + len(self.counts_.keys),
        }  # fmt: skip
        return self

    def _count_more(self, more: Learning) -> None:
        self.first_ranker_ = self.first_ranker_.updated(more.bank)
        gold = more.values[np.maximum(more.gold, 0)] * (more.gold >= 0)[:, None].astype(np.uint64)
        self.counts_ = added(self.counts_, _around(more.text, gold, self.elements_), more, self._columns)

    def _predicted(self, first: Ranker, text: Text, lists: Lists) -> np.ndarray:
        """The contexts of tokens by the analyses that the first pass puts first."""
        best = in_order(lists, *first.scores(text, lists))[lists.rows.starts[:-1]]
        return _around(text, lists.values[lists.rows.labels[best]], self.elements_)

    def _numbers(self, first: Ranker, text: Text, lists: Lists, around: np.ndarray) -> np.ndarray:
        """The numbers of the first pass, then those with neighbours."""
        more = self.counts_.look_up(lists.rows, around, lists.values, self._columns)
        return np.hstack([first.numbers(text, lists, first.common(text, lists)), transformed(more, self.transform)])

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the likeliest first."""
        first, bank = with_workers(self, self.first_ranker_), self.words_of(bank)
        text = text_of(bank, self.strip_vowels)
        lists = first.lists_of(text)
        if self.neighbours == "gold":
            names, ids = self.labels_of(bank)
            around = _around(text, label_hashes(names, self.elements_)[ids], self.elements_)
        else:
            around = self._predicted(first, text, lists)
        numbers = self._numbers(first, text, lists, around)
        scores = numbers @ self.weights_.weights
        return ranked(lists, scores, numbers[:, 0], shares_of(scores, lists.rows.starts))

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        contain(self, self.first_ranker_)


def _places(elements: Sequence[str]) -> list[int]:
    """Where the elements of neighbours that are looked at stand among the hashes of a label."""
    return [1 + elements.index(name) for name in _LOOKED_AT if name in elements]


def _around(text: Text, values: np.ndarray, elements: Sequence[str]) -> np.ndarray:
    """The contexts of tokens: the word with the part of speech, or the lemma, of the analysis before and behind, and
    the same without the word, uint64 (n_tokens, 4 or 8); ``values``: hashes of the analysis of each token."""
    return contexts_of(text.words, text.sentences, [values[:, place] for place in _places(elements)])


def _check(loaded: container.Container) -> None:
    model, first = TwoPassRanker.restored(loaded.described), loaded.component("first_ranker")
    elements = first.extra["elements"]
    places = _places(elements)
    columns = columns_for("full", len(elements), model.free, shares=False, n_kinds=2 * len(places))
    inner = Ranker.restored(first.described)
    same = inner.method == "full" and inner.transform == model.transform and inner.free == model.free
    if not places or not same or len(loaded.arrays["weights"]) != len(first.arrays["weights"]) + len(columns):
        raise ValueError("its weights do not fit its first pass")


class PairRanker(PairSettings, Disambiguator):
    """Ranks lemmas and all other elements one by one. Learned: ``lemma_ranker_``, ``rest_ranker_``."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.pairs", 1, ARRAYS, components={"lemma_ranker": (Ranker.KIND,), "rest_ranker": (Ranker.KIND,)},
        check=lambda loaded: _check_pairs(loaded),
    )  # fmt: skip
    SAVED: ClassVar = {
        **Disambiguator.SAVED,
        "lemma_ranker_": container.Inner("lemma_ranker", "corpuscle.disambiguate:Ranker"),
        "rest_ranker_": container.Inner("rest_ranker", "corpuscle.disambiguate:Ranker"),
    }

    lemma_ranker_: Ranker = learned()
    rest_ranker_: Ranker = learned()

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> PairRanker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        learning = self.prepared(bank, table)
        if "lemma" not in self.elements_ or len(self.elements_) == 1:
            raise SettingError("lemmas and all else are ranked one by one: analyses need a lemma and something else")
        self.lexicon_, self.guesser_ = self.analysers_of(learning)
        rest = tuple(name for name in self.elements_ if name != "lemma")
        self.lemma_ranker_, self.rest_ranker_ = (
            Ranker(**(self.settings | {"elements": elements})).fit(bank, table) for elements in (("lemma",), rest)
        )
        self.provenance_ = {
            **self.rest_ranker_.provenance_, "labels": len(self.labels_.strings) - 3, "elements": list(self.elements_),
            "counts": sum(each.provenance_["counts"] for each in (self.lemma_ranker_, self.rest_ranker_)),
            "weights": sum(each.provenance_["weights"] for each in (self.lemma_ranker_, self.rest_ranker_)),
        }  # fmt: skip
        return self

    def _count_more(self, more: Learning) -> None:
        self.lemma_ranker_ = self.lemma_ranker_.updated(more.bank)
        self.rest_ranker_ = self.rest_ranker_.updated(more.bank)

    def rank(self, bank: Treebank) -> Ranking:
        """All pairs of a lemma and a rest of every word, the likeliest first."""
        lemmas, rests = (with_workers(self, each).rank(bank) for each in (self.lemma_ranker_, self.rest_ranker_))
        n_lemmas, n_rests = np.diff(lemmas.starts), np.diff(rests.starts)
        starts = starts_of(n_lemmas * n_rests)
        item = np.repeat(np.arange(len(n_lemmas)), n_lemmas * n_rests)
        inside = np.arange(starts[-1]) - starts[:-1][item]
        one, other = lemmas.starts[item] + inside // n_rests[item], rests.starts[item] + inside % n_rests[item]
        shares = lemmas.probabilities[one] * rests.probabilities[other]
        keys = lemmas.labels[one].astype(np.int64) * len(rests.names) + rests.labels[other]
        kinds, labels = np.unique(keys, return_inverse=True)
        place, names = self.elements_.index("lemma"), []
        for key in kinds.tolist():
            values = rests.names[key % len(rests.names)].split("\t")
            values.insert(place, lemmas.names[key // len(rests.names)])
            names.append("\t".join(values))
        order = np.lexsort((inside, -shares, item))
        return Ranking(starts, labels.ravel()[order].astype(np.int32), shares[order], names)


def _check_pairs(loaded: container.Container) -> None:
    elements = check_labels(loaded)
    PairRanker.restored(loaded.described)
    parts = [loaded.component(name).extra["elements"] for name in ("lemma_ranker", "rest_ranker")]
    if parts != [["lemma"], [name for name in elements if name != "lemma"]] or len(elements) < 2:
        raise ValueError("its parts do not fit its elements")
