"""Class n-grams: predict the class of the next word from the classes before it, then the word from its class.

    P(w | h) = P_KN(class(w) | classes of h) * c(w) / c(class(w))

Few parameters, so it needs little text, and it mixes well with a word model, which sees what classes cannot. The class
sequence is modelled by any method of the Kneser-Ney family. Brown et al. (1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.lm.base import Events, LanguageModel, events_of
from corpuscle.lm.ngram import NgramModel
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.vocab import FIRST, MARKUP, START, UNKNOWN, Vocab

_ARRAYS = {
    **container.VOCAB,
    **container.ITEMS,
    "class_of": container.Array("int32", ("types+3",), low=0),
    "log_emission": container.Array("float64", ("types+3",), high=1e-9),
}


class ClassModel(LanguageModel):
    """A class n-gram over given word classes.

    ``classes``: the class of each word, such as ``WordClasses.as_dict()``; training words without a class become the
    unknown word, which is a class of its own. ``ngram``: the model of the class sequences, whose settings say how texts
    are read.

    Learned: ``vocab_``, ``class_of_`` int32 (n_types,), ``log_emission_`` float64 (n_types,): log P(word | its class).
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "lm.class", 1, _ARRAYS, {"ngram": (NgramModel.KIND,)}, check=lambda loaded: _check(loaded)
    )
    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "class_of_": container.Arrays("class_of"),
        "log_emission_": container.Arrays("log_emission"),
    }

    TUNES = True

    def __init__(self, classes: Mapping[str, Any], ngram: NgramModel):
        if not classes:
            raise SettingError("a class n-gram needs word classes")
        if ngram.min_count != 1:
            raise SettingError("a class n-gram knows the words that have a class: min_count is 1 for its n-grams")
        super().__init__(workers=ngram.workers, cluster=ngram.cluster)
        self.classes, self.ngram = classes, ngram
        self.boundary, self.allow_markup, self.order_ = ngram.boundary, ngram.allow_markup, ngram.order_

    @property
    def reading(self) -> dict[str, Any]:
        return self.ngram.reading

    @property
    def method_name(self) -> str:
        return self.ngram.method

    def summary(self) -> dict[str, Any]:
        return self.ngram.summary()

    def fit(self, corpus: Corpus, dev: Corpus | None = None) -> ClassModel:
        """Learn from a text; a development text chooses order and discounts of the class sequence."""
        corpus = self._taken(corpus)
        strings = corpus.vocab.strings
        has_class = np.array([False] * FIRST + [word in self.classes for word in strings[FIRST:]])
        kept = np.flatnonzero(has_class & (corpus.vocab.counts > 0))
        if len(kept) == 0:
            raise corpus.error("no word of the training text has a class")
        self.vocab_ = corpus.vocab.subset(kept)
        corpus = corpus.recode(self.vocab_)
        names = [self.classes[word] for word in self.vocab_.strings[FIRST:]]
        labels, numbers = np.unique(np.array(names), return_inverse=True)
        self.class_of_ = np.concatenate([np.arange(FIRST), FIRST + numbers]).astype(np.int32)
        counts = np.bincount(corpus.tokens, minlength=len(self.vocab_)).astype(np.float64)
        totals = np.bincount(self.class_of_, weights=counts, minlength=FIRST + len(labels))
        self.log_emission_ = np.zeros(len(self.vocab_))
        self.log_emission_[FIRST:] = np.log(counts[FIRST:] / totals[self.class_of_[FIRST:]])
        class_vocab = Vocab.from_words([str(label) for label in labels.tolist()])
        sequences = corpus.map_tokens(self.class_of_, class_vocab)
        class_vocab.counts[:] = np.bincount(sequences.tokens, minlength=len(class_vocab))
        if dev is not None:
            self.tuning_items_ = item_hashes(dev)
            dev = dev.recode(self.vocab_).map_tokens(self.class_of_, class_vocab)
        self.ngram.fit(sequences, dev)
        self.order_, self.provenance_, self.chosen_ = self.ngram.order_, self.ngram.provenance_, self.ngram.chosen_
        return self

    def _events(self, corpus: Corpus) -> Events:
        events = self.ngram._events(corpus.map_tokens(self.class_of_, self.ngram.vocab_))
        emission = self.log_emission_[corpus.tokens]
        if self.boundary != "none":
            emission = events_of(corpus, emission)
        return events._replace(log_probability=events.log_probability + emission)

    def _distribution(self, context: list[str]) -> np.ndarray:
        begins = self._begins(context)
        ids = self.vocab_.encode(context[1:] if begins else context)
        classes = self.ngram.vocab_.decode(self.class_of_[ids])
        inner = self.ngram.distribution([MARKUP[START], *classes] if begins else classes)
        return inner[self.class_of_] * np.exp(self.log_emission_)

    def described(self) -> dict[str, tuple[Any, str]]:
        """The settings of the model of class sequences."""
        return self.ngram.described()

    def _components(self) -> dict[str, container.Part]:
        return {"ngram": self.ngram.part()}

    @classmethod
    def restored_from(cls, loaded: container.Container) -> ClassModel:
        """An unfitted model over the classes of a file."""
        ngram = NgramModel.from_container(loaded.component("ngram"))
        words, strings = Vocab.from_arrays(loaded.arrays).strings[FIRST:], ngram.vocab_.strings
        numbers = loaded.arrays["class_of"][FIRST:].tolist()
        return cls({word: strings[number] for word, number in zip(words, numbers, strict=True)}, ngram)


def _check(loaded: container.Container) -> None:
    classes = len(loaded.arrays["ngram/vocab/counts"])
    if loaded.arrays["class_of"].max() >= classes or loaded.arrays["class_of"][UNKNOWN] != UNKNOWN:
        raise ValueError("the classes of the words do not fit the model of their sequences")
