"""What all disambiguators share: labels, analysers, and what they say about the words of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate.analysers import GUESSER, LEXICON, Entry, Guesser, Lexicon, analysed, table_pairs
from corpuscle.disambiguate.counts import Rows
from corpuscle.disambiguate.labels import (
    columns_of,
    contexts_of,
    elements_of,
    label_hashes,
    labels_of,
    written,
)
from corpuscle.disambiguate.settings import AnalyserSettings
from corpuscle.errors import InputError, SettingError
from corpuscle.model import Array, vocab_arrays
from corpuscle.settings import learned
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.hashes import find, hashes_of
from corpuscle.text.layers import Layer
from corpuscle.text.overlap import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab

__all__ = ["ARRAYS", "Disambiguator", "Lists", "Ranking", "Text"]

ARRAYS = {
    **container.TRAINING_ITEMS,
    **container.VOCAB,
    **LEXICON,
    **GUESSER,
    **vocab_arrays("spelled/", "spellings"),
    "spelled/keys": Array("uint64", ("spelled_keys",), rising=True),
    "spelled/ids": Array("int32", ("spelled_keys",), low=0, high="spellings"),
}
"""What the file of every disambiguator holds."""


class Text(NamedTuple):
    """A text as it is written: ``forms`` of types; ``tokens`` int32 (n,), types; ``contexts`` uint64 (n, 14);
    ``documents`` int64 (n,), or of sentences where there are none."""

    forms: list[str]
    tokens: np.ndarray
    contexts: np.ndarray
    documents: np.ndarray

    @property
    def words(self) -> np.ndarray:
        """Hashes of forms, uint64 (n_tokens,)."""
        return hashes_of(self.forms)[self.tokens]


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
    return Text(list(numbers), types, contexts_of(list(numbers), types, corpus.sentence_starts), documents)


def select(lists: Lists, items: np.ndarray) -> Lists:
    """The lists of some items by index."""
    at, starts = items_of(lists.rows.starts, items)
    return lists._replace(rows=Rows(lists.rows.tokens[at], lists.rows.labels[at], starts))


class Disambiguator(AnalyserSettings, container.Model):
    """Ranks the analyses of words.

    Learned: ``elements_``: what a label consists of; ``labels_``: a ``Vocab``; ``lexicon_``, ``guesser_``: who proposes
    labels; ``spelled_``: a ``Vocab`` of vowelled forms and glosses, ``spelled_keys_``, ``spelled_ids_``: which a form
    with a label has.
    """

    elements_: tuple[str, ...] = learned()
    labels_: Vocab = learned()
    lexicon_: Lexicon = learned()
    guesser_: Guesser = learned()
    spelled_: Vocab = learned()
    spelled_keys_: np.ndarray = learned()
    spelled_ids_: np.ndarray = learned()

    # ---- learning

    def _prepared(
        self, bank: Treebank, table: Sequence[Entry] | None
    ) -> tuple[Text, np.ndarray, list[tuple[str, str]]]:
        """Learn labels; the text, the gold label of each token, and the pairs of the table."""
        if (table is None) != (self.analyser == "lexicon"):
            raise SettingError(
                "analyser is table, but there is no table of candidates"
                if table is None
                else "a table of candidates means nothing with the analyser lexicon; set analyser to table"
            )
        if not Treebank.checked(bank).corpus.n_tokens:
            raise InputError(None, None, "there are no words to learn from")
        self.elements_ = elements_of(bank, self.elements)
        names, gold = labels_of(bank, self.elements_)
        pairs = table_pairs(table or (), self.elements_, self.strip_vowels)
        self.labels_ = Vocab.from_words(dict.fromkeys([*names, *(label for _, label in pairs)]))
        text = text_of(bank, self.strip_vowels)
        self.items_, self.chosen_ = item_hashes(bank.corpus), {}
        self._spell(bank, text, gold)
        return text, gold, pairs

    def _analysers(
        self, text: Text, gold: np.ndarray, pairs: Sequence[tuple[str, str]], known: np.ndarray
    ) -> tuple[Lexicon, Guesser]:
        """The lexicon and the guesser of some tokens, a mask, and of a table, which comes first."""
        names = self.labels_.strings[FIRST:]
        ids = (self.labels_.encode([label for _, label in pairs]) - FIRST).astype(np.int32)
        forms = np.concatenate([hashes_of([form for form, _ in pairs]), text.words[known]])
        lexicon = Lexicon.of(forms, np.concatenate([ids, gold[known]]))
        if not self.guesser:
            return lexicon, Guesser.none()
        seen = np.unique(np.column_stack([text.tokens[known], gold[known]]), axis=0).tolist()
        return lexicon, Guesser.learn([(text.forms[type], names[label]) for type, label in seen], self.elements_)

    def _spell(self, bank: Treebank, text: Text, gold: np.ndarray) -> None:
        """Learn the vowelled form and the gloss that a form with a label has most often."""
        strings, glosses = bank.corpus.vocab.strings, [_gloss(misc) for misc in bank.misc.values]
        seen = np.column_stack([text.tokens, gold, bank.corpus.tokens, bank.misc.ids])
        kinds, counts = np.unique(seen, axis=0, return_counts=True)
        votes: dict[tuple[int, int], Counter[str]] = {}
        for (type, label, form, misc), count in zip(kinds.tolist(), counts.tolist(), strict=True):
            spelled, gloss = strings[form], glosses[misc] if misc else ""
            if gloss or spelled != text.forms[type]:
                votes.setdefault((type, label), Counter())[f"{spelled}\t{gloss}"] += count
        best = {key: min((-count, note) for note, count in notes.items())[1] for key, notes in votes.items()}
        labels = self.labels_.strings[FIRST:]
        keys = hashes_of([f"{text.forms[type]}\t{labels[label]}" for type, label in best])
        self.spelled_ = Vocab.from_words(sorted(set(best.values())))
        order = np.argsort(keys)
        self.spelled_keys_ = keys[order]
        self.spelled_ids_ = (self.spelled_.encode(list(best.values())) - FIRST).astype(np.int32)[order]

    # ---- what they say

    def _lists(self, text: Text, lexicon: Lexicon | None = None, guesser: Guesser | None = None) -> Lists:
        """The candidates of every token."""
        names, found = analysed(
            text.forms, self.labels_.strings[FIRST:], lexicon or self.lexicon_, guesser or self.guesser_, self.elements_
        )
        flat = np.array([label for labels in found for label in labels], np.int32)
        at, starts = items_of(starts_of(map(len, found)), text.tokens)
        rows = Rows(np.repeat(np.arange(len(text.tokens)), np.diff(starts)), flat[at], starts)
        return Lists(rows, names, label_hashes(names, self.elements_))

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the likeliest first."""
        raise TypeError(f"{type(self).__name__} cannot rank")

    def analyse(self, form: str) -> list[str]:
        """The labels that a form may have."""
        form = written(form, self.strip_vowels)
        names, found = analysed([form], self.labels_.strings[FIRST:], self.lexicon_, self.guesser_, self.elements_)
        return [names[label] for label in found[0]]

    def gold(self, bank: Treebank, ranking: Ranking) -> np.ndarray:
        """Which of the names of a ranking is right for each word, int32, -1 where none is."""
        numbers = {name: number for number, name in enumerate(ranking.names)}
        names, ids = labels_of(bank, self.elements_)
        return np.array([numbers.get(name, -1) for name in names], np.int32)[ids]

    def knows(self, bank: Treebank) -> np.ndarray:
        """Which words have an analysis that is not guessed, bool (n_words,)."""
        text = text_of(bank, self.strip_vowels)
        return self.lexicon_.knows(text.forms)[text.tokens]

    def readings(self, bank: Treebank, nbest: int) -> list[list[dict[str, Any]]]:
        """For readers, by sentence: each word with its likeliest analyses, their elements, probabilities, and vowelled
        forms and glosses where the treebank had them."""
        text, ranking, known = text_of(bank, self.strip_vowels), self.rank(bank), self.knows(bank).tolist()
        kinds = [dict(zip(self.elements_, name.split("\t"), strict=True)) for name in ranking.names]
        starts, words = ranking.starts.tolist(), []
        for i, type in enumerate(text.tokens.tolist()):
            best = slice(starts[i], min(starts[i + 1], starts[i] + nbest))
            form, labels = text.forms[type], ranking.labels[best].tolist()
            places = find(hashes_of([f"{form}\t{ranking.names[label]}" for label in labels]), self.spelled_keys_)
            analyses = []
            for label, place, share in zip(labels, places.tolist(), ranking.probabilities[best].tolist(), strict=True):
                note = self.spelled_.word(FIRST + self.spelled_ids_[place]) if place >= 0 else f"{form}\t"
                vowelled, _, gloss = note.partition("\t")
                analyses.append({"elements": kinds[label], "vowelled": vowelled, "gloss": gloss, "probability": share})
            words.append(
                {"form": form, "known": known[i], "candidates": starts[i + 1] - starts[i], "analyses": analyses}
            )
        return [words[a:b] for a, b in pairwise(bank.corpus.sentence_starts.tolist())]

    def annotate(self, bank: Treebank) -> Treebank:
        """The treebank with the best analysis of each word in its columns and its probability in MISC (``Prob=``)."""
        ranking = self.rank(bank)
        best = ranking.labels[ranking.starts[:-1]]
        rows = [columns_of(dict(zip(self.elements_, name.split("\t"), strict=True))) for name in ranking.names]
        noted = bank.with_misc("Prob", [f"{share:.3f}" for share in ranking.probabilities[ranking.starts[:-1]]])
        layers = {}
        for name, column in zip(("lemmas", "tags", "xpos", "features"), zip(*rows, strict=True), strict=True):
            kinds = Layer.from_strings(column)
            layers[name] = Layer(kinds.ids[best], kinds.vocab)
        return noted.replace(**layers)

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        spelled = {"spelled/keys": self.spelled_keys_, "spelled/ids": self.spelled_ids_}
        own = self.labels_.arrays() | self.lexicon_.arrays() | self.guesser_.arrays()
        return own | self.spelled_.arrays("spelled/") | spelled

    def _extra(self) -> dict[str, Any]:
        return {"elements": list(self.elements_)}

    def _restore(self, loaded: container.Container) -> None:
        arrays = loaded.arrays
        self.elements_, self.labels_ = tuple(loaded.extra["elements"]), Vocab.from_arrays(arrays)
        self.lexicon_ = Lexicon(*(arrays[f"lexicon/{name}"] for name in ("forms", "starts", "labels")))
        self.guesser_ = Guesser.from_arrays(arrays)
        self.spelled_ = Vocab.from_arrays(arrays, "spelled/")
        self.spelled_keys_, self.spelled_ids_ = arrays["spelled/keys"], arrays["spelled/ids"]


def _gloss(misc: str) -> str:
    return next((note[6:] for note in misc.split("|") if note.startswith("Gloss=")), "")


def check_labels(loaded: container.Container) -> tuple[str, ...]:
    """The elements of a file; ``ValueError`` unless its labels fit them."""
    elements = loaded.extra.get("elements")
    if (
        not isinstance(elements, list)
        or not elements
        or any(not isinstance(name, str) or not name or len(name) > 1000 for name in elements)
        or len(set(elements)) != len(elements)
    ):
        raise ValueError("it does not say what its analyses consist of")
    arrays: Mapping[str, np.ndarray] = loaded.arrays
    if any(label.count("\t") != len(elements) - 1 for label in Vocab.from_arrays(arrays).strings[FIRST:]):
        raise ValueError("its labels do not fit its elements")
    if (np.diff(arrays["lexicon/starts"]) == 0).any() or (np.diff(arrays["endings/starts"]) == 0).any():
        raise ValueError("a word or an ending has no analysis")
    Guesser.from_arrays(arrays).check(len(elements))
    return tuple(elements)


def ranked(lists: Lists, scores: np.ndarray, counts: np.ndarray, shares: np.ndarray) -> Ranking:
    """Candidates in the order of their scores, then of ``counts``, then of the analyser."""
    item = np.repeat(np.arange(len(lists.rows.starts) - 1), np.diff(lists.rows.starts))
    order = np.lexsort((np.arange(len(scores)), -counts, -scores, item))
    return Ranking(lists.rows.starts, lists.rows.labels[order], shares[order], lists.names)
