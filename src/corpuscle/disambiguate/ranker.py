"""Ranker: analyses of words in context, by counts of them and of their elements, each kind under one learned weight.

Stage one counts (``kernels.counting``), stage two weighs (``weighing``). The weights are learned where nothing was
counted, or else the counts would tell the answers: on a part of the documents that is kept apart, or, cross-fitted, on
each of some parts with the counts, the candidates and the guesses of all others, before everything is counted.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate import weighing
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.base import (
    ARRAYS,
    Disambiguator,
    Lists,
    Ranking,
    Text,
    check_labels,
    ranked,
    select,
    text_of,
)
from corpuscle.disambiguate.counts import COUNTS, Counts, chunks, columns_for, transformed
from corpuscle.disambiguate.labels import label_hashes
from corpuscle.disambiguate.settings import RankerSettings
from corpuscle.disambiguate.topics import TOPICS, WIDTH, Topics
from corpuscle.disambiguate.weighing import Pool, Weights, shares_of
from corpuscle.errors import InputError
from corpuscle.model import Array
from corpuscle.progress import say
from corpuscle.random import folds
from corpuscle.settings import learned
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST

__all__ = ["Ranker"]

_ROWS = 20_000
"""A worker scores about so many candidates at a time."""


class Ranker(RankerSettings, Disambiguator):
    """Ranks the analyses of words in context.

    Learned: ``counts_``; ``weights_``: of the counts, then of the numbers of documents where the training text had
    documents (``topics_``, else None).
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.ranker",
        1,
        lambda extra: {
            **ARRAYS,
            **COUNTS,
            **{name: Array("float64", ("numbers",), finite=True) for name in ("weights", "means", "deviations")},
            **(TOPICS if extra.get("topics") is True else {}),
        },
        check=lambda loaded: _check(loaded),
    )

    counts_: Counts = learned()
    weights_: Weights = learned()
    topics_: Topics | None = learned()

    @property
    def columns(self) -> np.ndarray:
        """The counts that are looked up, see ``columns_for``."""
        return columns_for(self.method, len(self.elements_), self.free, self.transform == "fraction")

    # ---- learning

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> Ranker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        text, gold, pairs = self._prepared(bank, table)
        with_topics = self.documents and "lemma" in self.elements_ and _n_documents(bank) > 1
        values = label_hashes(self.labels_.strings[FIRST:], self.elements_)
        numbers, lengths, right = [], [0], []
        for known, held in self._parts(bank, text):
            lexicon, guesser = self._analysers(text, gold, pairs, known)
            lists = self._lists(text, lexicon, guesser)
            self.topics_ = self._topics(text, gold, values, known) if with_topics else None
            self.counts_ = Counts.of(text.contexts[known], gold[known], values, self.columns, self.min_count)
            lists, hits = _useful(lists, gold, held)
            numbers.append(self._numbers(text, lists))
            lengths += np.diff(lists.rows.starts).tolist()
            right.append(hits)
        if len(lengths) == 1:
            raise InputError(None, None, "no word has several analyses of which one is right: nothing to learn from")
        pool = Pool(np.concatenate(numbers), np.cumsum(lengths), np.concatenate(right))
        self.weights_ = weighing.fit(pool, self.stage2, self.c2, self.seed)
        if self.crossfit:
            known = np.ones(len(gold), bool)
            self.topics_ = self._topics(text, gold, values, known) if with_topics else None
            self.counts_ = Counts.of(text.contexts, gold, values, self.columns, self.min_count)
        self.lexicon_, self.guesser_ = self._analysers(text, gold, pairs, known)
        self.provenance_ = {
            "sentences": len(bank), "words": len(gold), "labels": len(values), "elements": list(self.elements_),
            "counts": len(self.counts_.table.keys), "weights": len(self.weights_.weights),
            "weighed_words": len(lengths) - 1,
        }  # fmt: skip
        return self

    def _parts(self, bank: Treebank, text: Text) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Which tokens are counted and on which the weights are learned, masks; by document, or else by sentence."""
        unit = text.documents
        if bank.corpus.document_starts is not None and _n_documents(bank) < 2:
            unit = np.repeat(np.arange(len(bank)), bank.corpus.lengths)
        kinds, unit = np.unique(unit, return_inverse=True)
        if len(kinds) < 2:
            raise InputError(None, None, "one sentence is not enough: some are counted, the weights learned on others")
        if _n_documents(bank) < 2:
            say("no documents are marked: parts are of sentences")
        if self.crossfit:
            part = folds(self.seed, "disambiguate/parts", len(kinds), min(max(2, self.crossfit), len(kinds)))[unit]
            for number in range(part.max() + 1):
                yield part != number, part == number
        else:
            order = folds(self.seed, "disambiguate/parts", len(kinds), len(kinds))[unit]
            held = order < min(max(1, round(self.d2 * len(kinds))), len(kinds) - 1)
            yield ~held, held

    def _topics(self, text: Text, gold: np.ndarray, values: np.ndarray, known: np.ndarray) -> Topics:
        lemmas = values[:, 1 + self.elements_.index("lemma")][gold]
        return Topics.learn(text.words[known], lemmas[known], text.documents[known])

    # ---- ranking

    def _numbers(self, text: Text, lists: Lists) -> np.ndarray:
        """The numbers of candidates, float32 (n_rows, n_numbers)."""
        counts = self.counts_.look_up(lists.rows, text.contexts, lists.values, self.columns)
        numbers = transformed(counts, self.transform)
        if self.topics_ is None:
            return numbers
        lemmas = lists.values[:, 1 + self.elements_.index("lemma")][lists.rows.labels]
        return np.hstack([numbers, self.topics_.numbers(text.words, text.documents, lists.rows.tokens, lemmas)])

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the likeliest first."""
        text = text_of(bank, self.strip_vowels)
        lists = self._lists(text)
        starts = lists.rows.starts
        scores, counts = np.zeros(len(lists.rows.tokens)), np.zeros(len(lists.rows.tokens), np.float32)
        doubtful = np.flatnonzero(np.diff(starts) > 1)
        some = select(lists, doubtful)
        jobs = [(text, select(some, np.arange(a, b))) for a, b in chunks(some.rows.starts, _ROWS)]
        found = list(self.spread(_score_chunk, jobs))
        at = np.flatnonzero(np.repeat(np.diff(starts) > 1, np.diff(starts)))
        if found:
            scores[at], counts[at] = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return ranked(lists, scores, counts, shares_of(scores, starts))

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        own = super()._arrays() | self.counts_.arrays() | self.weights_._asdict()
        return own if self.topics_ is None else own | self.topics_.arrays()

    def _extra(self) -> dict[str, object]:
        return super()._extra() | {"topics": self.topics_ is not None}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        arrays = loaded.arrays
        self.counts_ = Counts.from_arrays(arrays["counts/keys"], arrays["counts/values"])
        self.weights_ = Weights(*(arrays[name] for name in Weights._fields))
        names = [f"topics/{name}" for name in Topics._fields]
        self.topics_ = Topics(*(arrays[name] for name in names)) if loaded.extra["topics"] else None


def _score_chunk(job: tuple[Text, Lists], ranker: Ranker) -> tuple[np.ndarray, np.ndarray]:
    """The scores of some candidates, and how often each label was seen with the form."""
    text, lists = job
    numbers = ranker._numbers(text, lists)
    return numbers @ ranker.weights_.weights, numbers[:, 0]


def _useful(lists: Lists, gold: np.ndarray, held: np.ndarray) -> tuple[Lists, np.ndarray]:
    """The lists of the held tokens that have several candidates, one of them right; and which rows are."""
    right = lists.rows.labels == gold[lists.rows.tokens]
    hits = np.add.reduceat(right, lists.rows.starts[:-1])
    items = np.flatnonzero(held & (hits > 0) & (np.diff(lists.rows.starts) > 1))
    some = select(lists, items)
    return some, some.rows.labels == gold[some.rows.tokens]


def _n_documents(bank: Treebank) -> int:
    starts = bank.corpus.document_starts
    return 0 if starts is None else len(starts) - 1


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    elements, model = check_labels(loaded), Ranker.restored(loaded.described)
    if not isinstance(loaded.extra.get("topics"), bool) or (loaded.extra["topics"] and "lemma" not in elements):
        raise ValueError("it does not say whether it looks at documents")
    columns = columns_for(model.method, len(elements), model.free, shares=False)
    if len(loaded.arrays["weights"]) != len(columns) + WIDTH * loaded.extra["topics"]:
        raise ValueError("its weights do not fit its elements")
