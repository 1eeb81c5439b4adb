"""What every tagger can do, whatever is inside: it gives each word a label, and labels make up layers of a treebank.

A tagger of another method, also of another package, is a class with ``fit``, ``tag`` and ``known``; what its ``fit``
takes besides a treebank it declares. Annotation, commands and the workbench follow.

``jackknife``: tags as new text would have them, for every sentence of a treebank: each part is tagged by a tagger of
the others. What is learned from gold tags alone trusts tags more than it should. Ten folds as in McDonald, Crammer and
Pereira, "Online large-margin training of dependency parsers", 2005, section 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.model import Model
from corpuscle.random import folds
from corpuscle.scale import each
from corpuscle.settings import learned
from corpuscle.text.corpus import items_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import WordFeatures


class Tagging(NamedTuple):
    """Labels of words: ``labels`` int32 (n_words,), ids of the tagger's labels; ``confidence`` float64 (n_words,), how
    likely each is, or empty."""

    labels: np.ndarray
    confidence: np.ndarray


class WordTagger(Model, ABC):
    """A tagger: ``labels_`` is a ``Vocab`` of labels, each with the values of all ``layers_`` (names of layers of a
    treebank), tabs between them.

    ``TUNES``: its ``fit`` takes development sentences (``dev``); ``SOURCES``: it takes what raw text says about words
    (``sources``).
    """

    TUNES: ClassVar[bool] = False
    SOURCES: ClassVar[bool] = False

    labels_: Vocab = learned()
    layers_: tuple[str, ...] = learned()

    @abstractmethod
    def fit(self, bank: Treebank, *more: Any, **named: Any) -> Self:
        """Learn from the words and tags of a treebank."""

    @abstractmethod
    def tag(self, bank: Treebank, *, confidence: bool = False) -> Tagging:
        """The best label of every word; ``confidence``: also how likely it is."""

    @abstractmethod
    def known(self, bank: Treebank) -> np.ndarray:
        """Which words were in the training text, bool (n_words,)."""

    def summary(self) -> dict[str, Any]:
        """Figures of what was learned, beside the sizes of the treebank."""
        return {}

    def _lemmas(self, bank: Treebank, labels: np.ndarray) -> Layer | None:
        """Lemmas of words with these labels, if there were any to learn from."""
        return None

    def annotate(self, bank: Treebank, *, confidence: bool = False) -> Treebank:
        """The treebank with the best tags, and lemmas if there were any to learn from; ``confidence``: with how likely
        each label is in MISC (``TagConfidence=``)."""
        bank = Treebank.checked(bank)
        found = self.tag(bank, confidence=confidence)
        if confidence:
            bank = bank.with_misc("TagConfidence", [f"{value:.3f}" for value in found.confidence])
        values = [label.split("\t") for label in self.labels_.strings[FIRST:]]
        layers: dict[str, Layer] = {}
        for column, name in enumerate(self.layers_):
            kinds = Layer.from_strings(row[column] for row in values)
            layers[name] = Layer(kinds.ids[found.labels], kinds.vocab)
        if (lemmas := self._lemmas(bank, found.labels)) is not None:
            layers["lemmas"] = lemmas
        return bank.replace(**layers)


def jackknife(
    tagger: WordTagger, bank: Treebank, n_folds: int = 10, *, sources: WordFeatures | None = None
) -> Treebank:
    """The treebank with the tags, and lemmas, of taggers that did not see them: one like ``tagger`` (whose settings it
    has, fitted or not) for each part, learned from the other parts; ``sources``: for a tagger that takes them.

    The parts are learned side by side on the threads of ``tagger``; their number changes nothing.
    """
    n_folds = min(n_folds, len(bank))
    if n_folds < 2:
        raise bank.error("one sentence cannot be tagged by a tagger of the others")
    part_of = folds(getattr(tagger, "seed", 1), "tag.jackknife", len(bank), n_folds)

    def tagged(part: int) -> Treebank:
        learner = tagger.replace(workers=1)
        more = {} if sources is None else {"sources": sources}
        return learner.fit(bank.select(part_of != part), **more).annotate(bank.select(part_of == part))

    parts = each(tagged, range(n_folds), tagger.threads)
    order = np.concatenate([np.flatnonzero(part_of == part) for part in range(n_folds)])
    tokens, _ = items_of(bank.corpus.sentence_starts, order)
    places = np.argsort(tokens)
    names = {name for part in parts for name in ("tags", "xpos", "features", "lemmas") if getattr(part, name).ids.any()}
    return bank.replace(**{
        name: Layer.from_strings([value for part in parts for value in getattr(part, name).strings()])[places]
        for name in sorted(names)
    })  # fmt: skip
