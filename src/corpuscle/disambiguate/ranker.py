"""Ranker: analyses of words in context, by counts of them and of their elements, each kind under one learned weight.

Stage one counts (``kernels.ranking``), stage two weighs the counts or lets elements vote (``weight_fitting``). The
weights are learned where nothing was counted, or else the counts would tell the answers: on a part of the documents
that is kept apart, or, cross-fitted, on each of some parts with the counts, the candidates and the guesses of all
others, before everything is counted.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010.

Baselines: the most frequent analysis of a form, and the first one that its analyser names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

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
    ranked,
    select,
    text_of,
    transformed,
    useful,
)
from corpuscle.disambiguate.base import ARRAYS, Disambiguator, Learning, added, check_labels
from corpuscle.disambiguate.settings import BaselineSettings, RankerSettings
from corpuscle.disambiguate.topics import TOPICS, WIDTH, WORD_WEIGHTS, Common, SparseProduct, Topics
from corpuscle.disambiguate.weight_fitting import Pool, Votes, Weights, fit_votes, shares_of
from corpuscle.errors import SettingError
from corpuscle.hashing import find
from corpuscle.model import Array
from corpuscle.progress import say
from corpuscle.random import folds
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank

_ALL = slice(None)
_ROWS = 20_000  # a worker scores about this number of candidates at a time
WEIGHTS = {name: Array("float64", ("numbers",), finite=True) for name in Weights._fields}
_VOTES = {
    "votes/weights": Array("float64", ("elements", "numbers"), finite=True),
    "votes/trust": Array("float64", ("elements",), low=0, finite=True),
}


_WEIGHTS_SAVED, _VOTES_SAVED = container.Record(Weights), container.Record(Votes, "votes/")


class Ranker(RankerSettings, Disambiguator):
    """Ranks the analyses of words in context.

    Learned: ``counts_``; ``weights_``: of the counts, then of the numbers of documents where the training text had
    documents (``topics_``, else None), as ``Weights`` or ``Votes``; ``word_weights_``: of the words of documents,
    float64 (n_words,), or None.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.ranker",
        1,
        lambda extra: {
            **ARRAYS,
            **COUNTS,
            **(_VOTES if extra.get("votes") is True else WEIGHTS),
            **(TOPICS if extra.get("topics") is True else {}),
            **(WORD_WEIGHTS if extra.get("by_word") is True else {}),
        },
        check=lambda loaded: _check(loaded),
    )
    SAVED: ClassVar = {
        **Disambiguator.SAVED,
        "counts_": container.Record(Counts),
        "topics_": container.Record(Topics, "topics/"),
        "word_weights_": container.Arrays("topics/weights"),
    }

    counts_: Counts = learned()
    weights_: Weights | Votes = learned()
    topics_: Topics | None = learned()
    word_weights_: np.ndarray | None = learned()

    @property
    def columns(self) -> np.ndarray:
        """The counts that are looked up, see ``columns_for``."""
        return columns_for(self.method, len(self.elements_), self.free, self.transform == "fraction")

    # ---- learning

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> Ranker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        return self.learn(self.prepared(bank, table))

    def learn(self, learning: Learning) -> Ranker:
        """Learn the weights, then count everything, or what is not kept apart."""
        found, values, products = [], [], []
        if self.by_word and (self.stage2 != "softmax" or self.method == "agreement"):
            raise SettingError("words of documents are weighed by stage2 softmax, and take no part in an agreement")
        self.word_weights_, all_words = None, np.unique(learning.text.words)
        if _n_documents(learning.bank) < 2:
            say("no documents are marked: parts are of sentences")
        total = self.counted(learning)
        for known, held in self.parts(learning):
            self.count(learning, known, total)
            text = learning.text.part(held)
            lists, right = useful(self.lists_of(text), learning.gold[held])
            common = self.common(text, lists)
            found.append(Pool(self.numbers(text, lists, common), lists.rows.starts, right))
            if self.by_word and common is not None:
                columns = find(common.topics.words, all_words)
                products.append(common.products(len(right), columns, len(all_words), self.transform != "raw"))
            if self.method == "agreement":
                values.append(lists.values[lists.rows.labels, 1:])
        pool = pooled(found, learning.bank)
        if self.method == "agreement":
            self.weights_ = fit_votes(pool, np.concatenate(values), self._own_columns(), self.c2)
        elif products:
            self.weights_, of_words = weight_fitting.fit_with_words(pool, SparseProduct.joined(products), self.c2)
        elif self.by_word:
            raise learning.bank.error("no documents with lemmas: there are no words of documents to weigh")
        else:
            self.weights_ = weight_fitting.fit(pool, self.stage2, self.c2, self.seed)
        if self.crossfit:
            self.count(learning, None, total)
        if products and self.topics_ is not None:
            self.word_weights_ = of_words[find(self.topics_.words, all_words)]
        self.provenance_ = {
            "sentences": len(learning.bank), "words": len(learning.gold), "labels": len(learning.values),
            "elements": list(self.elements_), "counts": len(self.counts_.keys),
            "weights": self.weights_.weights.size, "weighed_words": len(pool.starts) - 1,
        }  # fmt: skip
        return self

    def parts(self, learning: Learning) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Which tokens are counted and on which the weights are learned, masks; by document, or else by sentence."""
        several = _n_documents(learning.bank) > 1
        kinds, unit = np.unique(learning.text.documents if several else learning.text.sentences, return_inverse=True)
        if len(kinds) < 2:
            raise learning.bank.error("one sentence is not enough: some are counted, the weights learned on others")
        if self.crossfit:
            part = folds(self.seed, "disambiguate/parts", len(kinds), min(max(2, self.crossfit), len(kinds)))[unit]
            for number in range(part.max() + 1):
                yield part != number, part == number
        else:
            order = folds(self.seed, "disambiguate/parts", len(kinds), len(kinds))[unit]
            held = order < min(max(1, round(self.d2 * len(kinds))), len(kinds) - 1)
            yield ~held, held

    def counted(self, learning: Learning, chosen: np.ndarray | slice = _ALL) -> Counts:
        return Counts.of(learning.text.contexts[chosen], learning.gold[chosen], learning.values, self.columns)

    def count(self, learning: Learning, known: np.ndarray | None, total: Counts) -> None:
        """Count some tokens, a mask, or all; theirs are the analyses that are then proposed. ``total``: of all tokens,
        from which those of the others are taken away, which is quicker than to count again."""
        text, gold, values = learning.text, learning.gold, learning.values
        self.lexicon_, self.guesser_ = self.analysers_of(learning, known)
        less = total if known is None else total.less(self.counted(learning, ~known))
        self.counts_ = less.kept(self.min_count)
        known = np.ones(len(gold), bool) if known is None else known
        self.topics_ = None
        if self.documents and "lemma" in self.elements_ and _n_documents(learning.bank) > 1:
            lemmas = values[:, 1 + self.elements_.index("lemma")][gold]
            self.topics_ = Topics.learn(text.words[known], lemmas[known], text.documents[known])

    def _own_columns(self) -> list[np.ndarray]:
        """The numbers that are about each element alone."""
        targets = columns_for(self.method, len(self.elements_), self.free, shares=False)[:, 0]
        own = [np.flatnonzero(targets == 1 + e) for e in range(len(self.elements_))]
        if self.topics_ is not None:
            place = self.elements_.index("lemma")
            own[place] = np.append(own[place], len(targets) + np.arange(WIDTH))
        return own

    def _refit(self, bank: Treebank, text: Text, chosen: np.ndarray) -> None:
        if isinstance(self.weights_, Votes):
            return super()._refit(bank, text, chosen)
        lists = self.lists_of(text)
        lists, right = useful(lists, np.where(chosen, self.gold(bank, lists), -1))
        if len(right):
            pool = Pool(self.numbers(text, lists, self.common(text, lists)), lists.rows.starts, right)
            self.weights_ = weight_fitting.refit(pool, self.weights_, self.c2)

    def _count_more(self, more: Learning) -> None:
        if self.min_count > 1:
            raise SettingError("counts below min_count were not kept, so that nothing can be added to them")
        self.counts_ = added(self.counts_, more.text.contexts, more, self.columns)

    # ---- ranking

    def common(self, text: Text, lists: Lists) -> Common | None:
        """What candidates have in common with their documents, or None."""
        if self.topics_ is None:
            return None
        lemmas = lists.values[:, 1 + self.elements_.index("lemma")][lists.rows.labels]
        return self.topics_.common(text.words, text.documents, lists.rows.tokens, lemmas)

    def numbers(self, text: Text, lists: Lists, common: Common | None) -> np.ndarray:
        """The numbers of candidates, float32 (n_rows, n_numbers); ``common``: see there."""
        counts = self.counts_.look_up(lists.rows, text.contexts, lists.values, self.columns)
        numbers = transformed(counts, self.transform)
        return numbers if common is None else np.hstack([numbers, common.numbers(len(numbers))])

    def scores(self, text: Text, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """The scores of candidates, float64 (n_rows,), and how often each label was seen with the form."""
        starts = lists.rows.starts
        scores, counts = np.zeros(len(lists.rows.tokens)), np.zeros(len(lists.rows.tokens), np.float32)
        some = select(lists, np.flatnonzero(np.diff(starts) > 1))
        edges = chunks_of(np.diff(some.rows.starts), _ROWS).tolist()
        jobs = [(text, select(some, np.arange(a, b))) for a, b in pairwise(edges)]
        found = list(self.spread(_score_chunk, jobs))
        at = np.flatnonzero(np.repeat(np.diff(starts) > 1, np.diff(starts)))
        if found:
            scores[at], counts[at] = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return scores, counts

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the likeliest first."""
        text = text_of(self.words_of(bank), self.strip_vowels)
        lists = self.lists_of(text)
        scores, counts = self.scores(text, lists)
        return ranked(lists, scores, counts, shares_of(scores, lists.rows.starts))

    # ---- the file

    def _arrays(self) -> Mapping[str, np.ndarray]:
        how = _VOTES_SAVED if isinstance(self.weights_, Votes) else _WEIGHTS_SAVED
        return {**super()._arrays(), **how.arrays(self.weights_)}

    def _extra(self) -> Mapping[str, object]:
        return {
            **super()._extra(), "topics": self.topics_ is not None, "votes": isinstance(self.weights_, Votes),
            "by_word": self.word_weights_ is not None,
        }  # fmt: skip

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        self.weights_ = (_VOTES_SAVED if loaded.extra["votes"] else _WEIGHTS_SAVED).restored(loaded)


def _score_chunk(job: tuple[Text, Lists], ranker: Ranker) -> tuple[np.ndarray, np.ndarray]:
    """The scores of some candidates, and how often each label was seen with the form."""
    text, lists = job
    common = ranker.common(text, lists)
    numbers = ranker.numbers(text, lists, common)
    if isinstance(ranker.weights_, Votes):
        values = lists.values[lists.rows.labels, 1:]
        return ranker.weights_.scores(numbers, values, lists.rows.starts), numbers[:, 0]
    scores = numbers @ ranker.weights_.weights
    if common is not None and ranker.word_weights_ is not None:
        columns = np.arange(len(ranker.word_weights_))
        scores += common.products(len(scores), columns, len(columns), ranker.transform != "raw").times(
            ranker.word_weights_
        )
    return scores, numbers[:, 0]


def pooled(parts: Sequence[Pool], bank: Treebank) -> Pool:
    """The rows of several parts of a treebank in one pool; there must be some."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    if not len(lengths):
        raise bank.error("no word has several analyses of which one is right: nothing to learn from")
    numbers, right = (np.concatenate([part[at] for part in parts]) for at in (0, 2))
    return Pool(numbers, starts_of(lengths), right)


def _n_documents(bank: Treebank) -> int:
    starts = bank.corpus.document_starts
    return 0 if starts is None else len(starts) - 1


def _check(loaded: container.Container) -> None:
    elements, model = check_labels(loaded), Ranker.restored(loaded.described)
    topics, votes, by_word = (loaded.extra.get(name, False) for name in ("topics", "votes", "by_word"))
    if not isinstance(topics, bool) or (topics and "lemma" not in elements) or by_word is not model.by_word:
        raise ValueError("it does not say whether it looks at documents")
    if votes is not (model.method == "agreement"):
        raise ValueError("its weights are not those of its method")
    n_numbers = len(columns_for(model.method, len(elements), model.free, shares=False)) + WIDTH * topics
    shape = (len(elements), n_numbers) if votes else (n_numbers,)
    if loaded.arrays["votes/weights" if votes else "weights"].shape != shape:
        raise ValueError("its weights do not fit its elements")


_FREQUENCY = columns_for("uni", 0, free=False, shares=False)


class BaselineDisambiguator(BaselineSettings, Disambiguator):
    """The most frequent analysis of a form, or the first one; ``counts_``: of forms with labels."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.baseline", 1, {**ARRAYS, **COUNTS}, check=lambda loaded: _check_baseline(loaded)
    )
    SAVED: ClassVar = {**Disambiguator.SAVED, "counts_": container.Record(Counts)}

    counts_: Counts = learned()

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> BaselineDisambiguator:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        learning = self.prepared(bank, table)
        self.lexicon_, self.guesser_ = self.analysers_of(learning)
        self.counts_ = Counts.of(learning.text.contexts, learning.gold, learning.values, _FREQUENCY)
        self.provenance_ = {
            "sentences": len(bank), "words": len(learning.gold), "labels": len(learning.values),
            "elements": list(self.elements_),
        }  # fmt: skip
        return self

    def _count_more(self, more: Learning) -> None:
        self.counts_ = added(self.counts_, more.text.contexts, more, _FREQUENCY)

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the most frequent first (``frequency``), or as they come, all as likely."""
        text = text_of(self.words_of(bank), self.strip_vowels)
        lists = self.lists_of(text)
        counts = self.counts_.look_up(lists.rows, text.contexts, lists.values, _FREQUENCY)[:, 0]
        if self.method == "first":
            counts = np.zeros_like(counts)
        return ranked(lists, counts, counts, shares_of(np.log(counts + 0.5), lists.rows.starts))


def _check_baseline(loaded: container.Container) -> None:
    check_labels(loaded)
    BaselineDisambiguator.restored(loaded.described)
