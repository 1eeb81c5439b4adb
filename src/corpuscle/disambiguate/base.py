"""What all disambiguators share: labels, analysers, and what they say about the words of a text.

What a reader has to learn in a text: words that are not known yet, the most frequent first, and how hard it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate.analysers import (
    GUESSER,
    LEXICON,
    Entry,
    Guesser,
    Lexicon,
    joined,
    proposed,
)
from corpuscle.disambiguate.analyses import (
    MISSING,
    Counts,
    Lists,
    Ranking,
    Rows,
    Text,
    columns_of,
    elements_of,
    label_hashes,
    label_of,
    labels_of,
    text_of,
    written,
)
from corpuscle.disambiguate.buckwalter import ELEMENTS
from corpuscle.disambiguate.settings import AnalyserSettings
from corpuscle.errors import InputError, SettingError
from corpuscle.hashing import find, hashes_of
from corpuscle.measure import Result, analyses, ranks_of
from corpuscle.model import Array, vocab_arrays
from corpuscle.settings import learned
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.heldout import item_hashes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab

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


Reading = dict[str, Any]  # a word as it is shown to readers and annotators, for JSON


class Learning(NamedTuple):
    """What is learned from: ``bank``; its ``text``; ``gold`` int32 (n_tokens,), ids of labels; ``values``: hashes of
    all labels, see ``label_hashes``; ``pairs``: the forms and labels of a table."""

    bank: Treebank
    text: Text
    gold: np.ndarray
    values: np.ndarray
    pairs: list[tuple[str, str]]


def added(counts: Counts, contexts: np.ndarray, more: Learning, columns: np.ndarray) -> Counts:
    """Counts with those of more tokens, whose gold label is not -1."""
    chosen = more.gold >= 0
    return counts.added(Counts.of(contexts[chosen], more.gold[chosen], more.values, columns))


class Disambiguator(AnalyserSettings, container.Model):
    """Ranks the analyses of words.

    Learned: ``elements_``: what a label consists of; ``labels_``: a ``Vocab``; ``lexicon_``, ``guesser_``: who proposes
    labels; ``spelled_``: a ``Vocab`` of vowelled forms and glosses, ``spelled_keys_``, ``spelled_ids_``: which a form
    with a label has.
    """

    SAVED: ClassVar = {
        "elements_": container.Fact("elements", tuple),
        "labels_": container.Record(Vocab),
        "lexicon_": container.Record(Lexicon, "lexicon/"),
        "guesser_": container.Record(Guesser),
        "spelled_": container.Record(Vocab, "spelled/"),
        "spelled_keys_": container.Arrays("spelled/keys"),
        "spelled_ids_": container.Arrays("spelled/ids"),
    }

    elements_: tuple[str, ...] = learned()
    labels_: Vocab = learned()
    lexicon_: Lexicon = learned()
    guesser_: Guesser = learned()
    spelled_: Vocab = learned()
    spelled_keys_: np.ndarray = learned()
    spelled_ids_: np.ndarray = learned()

    _values_of: tuple[Vocab, np.ndarray] | None = None  # the labels that were learned, with their ``label_hashes``

    # ---- learning

    def prepared(self, bank: Treebank, table: Sequence[Entry] | None) -> Learning:
        """Learn labels; what all else is learned from."""
        if (table is not None) != (self.analyser == "table"):
            raise SettingError(
                "analyser is table, but there is no table of candidates"
                if table is None
                else f"a table of candidates means nothing with the analyser {self.analyser}; set analyser to table"
            )
        bank = self.words_of(bank)
        if not bank.corpus.n_tokens:
            raise bank.error("there are no words to learn from")
        elements_of(bank)
        if self.analyser == "buckwalter":
            missing = next((name for name in self.elements if name not in ELEMENTS), None)
            if missing is not None:
                raise SettingError(f"the tables have no element {missing!r}; they have {', '.join(ELEMENTS)}")
            self.elements_ = tuple(dict.fromkeys(self.elements)) or ELEMENTS
        else:
            self.elements_ = elements_of(bank, self.elements)
        names, gold = self.labels_of(bank)
        pairs = [(written(form, self.strip_vowels), label_of(values, self.elements_)) for form, values in table or ()]
        self.labels_ = Vocab.from_words(dict.fromkeys([*names, *(label for _, label in pairs)]))
        text = text_of(bank, self.strip_vowels)
        self.items_, self.chosen_ = item_hashes(bank.corpus), {}
        self._keep_spelled(*_spelled(bank, text, gold, self.labels_.strings[FIRST:]))
        return Learning(bank, text, gold, label_hashes(self.labels_.strings[FIRST:], self.elements_), pairs)

    def analysers_of(self, learning: Learning, known: np.ndarray | None = None) -> tuple[Lexicon, Guesser]:
        """The lexicon and the guesser of all or some tokens, a mask, and of a table, which comes first."""
        _, text, gold, _, pairs = learning
        known = np.ones(len(gold), bool) if known is None else known
        names = self.labels_.strings[FIRST:]
        ids = (self.labels_.encode([label for _, label in pairs]) - FIRST).astype(np.int32)
        forms = np.concatenate([hashes_of([form for form, _ in pairs]), text.words[known]])
        lexicon = Lexicon.of(forms, np.concatenate([ids, gold[known]]))
        seen = np.unique(np.column_stack([text.tokens[known], gold[known]]), axis=0).tolist() if self.guesser else []
        return lexicon, Guesser.learn([(text.forms[type], names[label]) for type, label in seen], self.elements_)

    def _keep_spelled(self, keys: np.ndarray, notes: list[str]) -> None:
        """Keep vowelled forms and glosses, by the hashes of forms with labels."""
        order = np.argsort(keys)
        self.spelled_, self.spelled_keys_ = Vocab.from_words(sorted(set(notes))), keys[order]
        self.spelled_ids_ = (self.spelled_.encode(notes) - FIRST).astype(np.int32)[order]

    def updated(self, bank: Treebank, refit: bool = False) -> Self:
        """A model that has also counted the analysed words of a treebank; guesses stay as they are, and weights too,
        unless they are to be ``refit`` to those words, as the model knew them before. Words whose columns are empty are
        but neighbours, so that a sentence with one analysed word is one choice of an annotator."""
        bank = self.words_of(bank)
        chosen = np.any([layer.ids > 0 for layer in (bank.lemmas, bank.tags, bank.xpos, bank.features)], axis=0)
        if not chosen.any():
            raise bank.error("no word has an analysis to learn from")
        model, text = copy(self), text_of(bank, self.strip_vowels)
        if refit:
            model._refit(bank, text, chosen)
        names, ids = self.labels_of(bank)
        model.labels_ = Vocab.from_words(dict.fromkeys([*self.labels_.strings[FIRST:], *names]))
        gold = np.where(chosen, (model.labels_.encode(names) - FIRST).astype(np.int32)[ids], -1)
        old = self.lexicon_
        forms = np.concatenate([np.repeat(old.forms, np.diff(old.starts)), text.words[chosen]])
        model.lexicon_ = Lexicon.of(forms, np.concatenate([old.labels, gold[chosen]]))
        keys, notes = _spelled(bank, text, gold, model.labels_.strings[FIRST:])
        kept = ~np.isin(self.spelled_keys_, keys)
        before = [self.spelled_.word(FIRST + id) for id in self.spelled_ids_[kept].tolist()]
        model._keep_spelled(np.concatenate([self.spelled_keys_[kept], keys]), [*before, *notes])
        model.items_ = np.unique(np.concatenate([self.items_, item_hashes(bank.corpus)]))
        more = Learning(bank, text, np.where(chosen, ids, -1), label_hashes(names, self.elements_), [])
        model._count_more(more)
        words = self.provenance_["words"] + int(chosen.sum())
        model.provenance_ = {**self.provenance_, "words": words, "labels": len(model.labels_.strings) - FIRST}
        return model

    def _refit(self, bank: Treebank, text: Text, chosen: np.ndarray) -> None:
        """Learn the weights anew from some tokens, a mask."""
        raise SettingError("only a ranker of one pass (full, uni, baseline) can have its weights refit")

    def _count_more(self, more: Learning) -> None:
        """Count more tokens, those whose gold label is not -1."""
        raise TypeError(f"{type(self).__name__} cannot count more")

    # ---- what they say

    def words_of(self, bank: Treebank) -> Treebank:
        """A treebank with the words that are ranked: its own, or its multiword tokens (``join``)."""
        return joined(bank) if self.join else bank

    def labels_of(self, bank: Treebank) -> tuple[list[str], np.ndarray]:
        """The distinct labels of the words of a treebank, and which one each has, int32."""
        if self.analyser == "buckwalter":
            from corpuscle.disambiguate.analysers import matched
            from corpuscle.disambiguate.buckwalter import load_tables

            bank = matched(bank, load_tables(self.tables), self.expand_endings)
        return labels_of(bank, self.elements_)

    def _proposed(self, form: str) -> Mapping[str, tuple[str, str]]:
        """The labels of a form in Buckwalter's tables, each with a vowelled form and a gloss, if these are asked."""
        return proposed(self.tables, self.expand_endings, self.elements_, form) if self.analyser == "buckwalter" else {}

    def _analysed(self, forms: Sequence[str]) -> tuple[list[str], list[list[int]]]:
        """The labels of each form by tables and a lexicon, or else a guesser, or else one that says nothing; ids of the
        labels that are returned first: those that are known, then the others."""
        known, new = self.labels_, dict[str, int]()

        def number(label: str) -> int:
            at = known.ids.get(label)
            return new.setdefault(label, len(known) - FIRST + len(new)) if at is None else at - FIRST

        found = self.lexicon_.ids(forms)
        for place, (ids, form) in enumerate(zip(found, forms, strict=True)):
            found[place] = ids = list(dict.fromkeys([*map(number, self._proposed(form)), *ids]))
            if not ids:
                guesses = self.guesser_.guess(form, self.elements_) or [label_of({}, self.elements_)]
                ids.extend(map(number, guesses))
        return [*known.strings[FIRST:], *new], found

    def lists_of(self, text: Text) -> Lists:
        """The candidates of every token."""
        if self._values_of is None or self._values_of[0] is not self.labels_:
            self._values_of = self.labels_, label_hashes(self.labels_.strings[FIRST:], self.elements_)
        values = self._values_of[1]
        names, found = self._analysed(text.forms)
        flat = np.array([label for labels in found for label in labels], np.int32)
        at, starts = items_of(starts_of(map(len, found)), text.tokens)
        rows = Rows(np.repeat(np.arange(len(text.tokens)), np.diff(starts)), flat[at], starts)
        new = label_hashes(names[len(values) :], self.elements_)
        return Lists(rows, names, np.concatenate([values, new]) if len(new) else values)

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the likeliest first."""
        raise TypeError(f"{type(self).__name__} cannot rank")

    def analyse(self, form: str) -> list[str]:
        """The labels that a form may have."""
        names, found = self._analysed([written(form, self.strip_vowels)])
        return [names[label] for label in found[0]]

    def gold(self, bank: Treebank, ranking: Ranking | Lists) -> np.ndarray:
        """Which of the names of a ranking is right for each word, int32, -1 where none is."""
        numbers = {name: number for number, name in enumerate(ranking.names)}
        names, ids = self.labels_of(self.words_of(bank))
        return np.array([numbers.get(name, -1) for name in names], np.int32)[ids]

    def knows(self, bank: Treebank) -> np.ndarray:
        """Which words have an analysis that is not guessed, bool (n_words,)."""
        text = text_of(self.words_of(bank), self.strip_vowels)
        known = self.lexicon_.knows(text.forms) | np.array([bool(self._proposed(form)) for form in text.forms], bool)
        return known[text.tokens]

    def measured(self, bank: Treebank, seed: int) -> tuple[Result, np.ndarray, Ranking]:
        """How good it is on an annotated treebank (``measure.analyses``), the rank of the right analysis of each word,
        and the ranking."""
        bank = self.words_of(bank)
        ranking = self.rank(bank)
        ranks = ranks_of(ranking.starts, ranking.labels, self.gold(bank, ranking))
        starts = bank.corpus.sentence_starts
        return analyses(ranking.starts, ranks, self.knows(bank), starts, seed=seed), ranks, ranking

    def readings(self, bank: Treebank, nbest: int, familiar: Collection[str] | None = None) -> list[list[Reading]]:
        """For readers, by sentence: each word with its likeliest analyses, their elements, probabilities, and vowelled
        forms and glosses where the treebank or the tables have them; with words or lemmas that a reader knows, also
        whether it is one of those (``familiar``)."""
        bank = self.words_of(bank)
        text, ranking, known = text_of(bank, self.strip_vowels), self.rank(bank), self.knows(bank).tolist()
        kinds = [dict(zip(self.elements_, name.split("\t"), strict=True)) for name in ranking.names]
        starts, words = ranking.starts.tolist(), []
        for i, type in enumerate(text.tokens.tolist()):
            best = slice(starts[i], min(starts[i + 1], starts[i] + nbest))
            form, labels, shares = text.forms[type], ranking.labels[best].tolist(), ranking.probabilities[best].tolist()
            notes = self._notes(form, [ranking.names[label] for label in labels])
            analyses = [
                {"elements": kinds[label], "vowelled": vowelled, "gloss": gloss, "probability": share}
                for label, (vowelled, gloss), share in zip(labels, notes, shares, strict=True)
            ]
            word: Reading = {"form": form, "known": known[i], "candidates": starts[i + 1] - starts[i]}
            if familiar is not None:
                word["familiar"] = form in familiar or kinds[labels[0]].get("lemma") in familiar
            words.append(word | {"analyses": analyses})
        return [words[a:b] for a, b in pairwise(bank.corpus.sentence_starts.tolist())]

    def _notes(self, form: str, labels: Sequence[str]) -> list[tuple[str, str]]:
        """The vowelled form and the gloss of a form with each of some labels."""
        found, others = [], self._proposed(form)
        places = find(hashes_of([f"{form}\t{label}" for label in labels]), self.spelled_keys_)
        for label, place in zip(labels, places.tolist(), strict=True):
            note = self.spelled_.word(FIRST + self.spelled_ids_[place]) if place >= 0 else f"{form}\t"
            vowelled, _, gloss = note.partition("\t")
            found.append((vowelled, gloss) if place >= 0 else others.get(label, (vowelled, gloss)))
        return found

    def annotate(self, bank: Treebank) -> Treebank:
        """The treebank with the best analysis of each word in its columns and its probability in MISC (``Prob=``)."""
        bank = self.words_of(bank)
        ranking = self.rank(bank)
        best = ranking.labels[ranking.starts[:-1]]
        rows = [columns_of(dict(zip(self.elements_, name.split("\t"), strict=True))) for name in ranking.names]
        noted = bank.with_misc("Prob", [f"{share:.3f}" for share in ranking.probabilities[ranking.starts[:-1]]])
        names, layers = ("lemmas", "tags", "xpos", "features"), {}
        for name, column in zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True):
            kinds = Layer.from_strings(column)
            layers[name] = Layer(kinds.ids[best], kinds.vocab)
        return noted.replace(**layers)


def _spelled(bank: Treebank, text: Text, gold: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The vowelled form and the gloss that a form with a label (of ``names``) has most often, where these say more than
    the form; and the hashes of such forms with labels, which come first."""
    strings = bank.corpus.vocab.strings
    glosses = [
        next((note[6:] for note in misc.split("|") if note.startswith("Gloss=")), "") for misc in bank.misc.values
    ]
    seen = np.column_stack([text.tokens, gold, bank.corpus.tokens, bank.misc.ids])[gold >= 0]
    kinds, counts = np.unique(seen, axis=0, return_counts=True)
    votes: dict[tuple[int, int], Counter[str]] = {}
    for (type, label, form, misc), count in zip(kinds.tolist(), counts.tolist(), strict=True):
        spelled, gloss = strings[form], glosses[misc] if misc else ""
        if gloss or spelled != text.forms[type]:
            votes.setdefault((type, label), Counter())[f"{spelled}\t{gloss}"] += count
    best = {key: min((-count, note) for note, count in notes.items())[1] for key, notes in votes.items()}
    return hashes_of([f"{text.forms[type]}\t{names[label]}" for type, label in best]), list(best.values())


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


class Card(NamedTuple):
    """A lemma that is to be learned: an example of it in the text, its gloss, and how often it is there."""

    lemma: str
    vowelled: str
    gloss: str
    times: int


class Vocabulary(NamedTuple):
    """``cards``: lemmas that are not known, the most frequent first; ``lemmas``: how many there are; ``words``; the
    shares of lemmas (``difficulty``) and of words (``unknown_words``) that are not known."""

    cards: list[Card]
    lemmas: int
    words: int
    difficulty: float
    unknown_words: float


def read_familiar(path: AnyPath) -> frozenset[str]:
    """The words or lemmas that a reader knows, one a line."""
    words = frozenset(line.strip() for _, line in read_lines(path)) - {""}
    if not words:
        raise InputError(path, None, "there are no words in it")
    return words


def vocabulary(sentences: Iterable[Sequence[dict[str, Any]]], familiar: Collection[str] = ()) -> Vocabulary:
    """Of readings (``Disambiguator.readings``), by the first analysis of each word; signs and digits are no words. A
    lemma is known if it or one of its forms is."""
    times, notes, known = Counter[str](), dict[str, tuple[str, str]](), set[str]()
    for word in (word for sentence in sentences for word in sentence if any(map(str.isalpha, word["form"]))):
        best = word["analyses"][0]
        lemma = best["elements"].get("lemma", MISSING)
        lemma = word["form"] if lemma == MISSING else lemma
        times[lemma] += 1
        notes.setdefault(lemma, (best["vowelled"], best["gloss"]))
        if word["form"] in familiar or lemma in familiar:
            known.add(lemma)
    cards = [Card(lemma, *notes[lemma], n) for lemma, n in times.items() if lemma not in known]
    cards.sort(key=lambda card: (-card.times, card.lemma))
    lemmas, words = len(times), times.total()
    missing = sum(card.times for card in cards)
    return Vocabulary(cards, lemmas, words, len(cards) / max(lemmas, 1), missing / max(words, 1))
