"""What the language models that are learned from text have in common: how they take a text, and what they say of it.

A learner is a class with the settings of ``WordSettings``, a ``fit(corpus, ...)`` and the primitives of
``LanguageModel``. ``lm train`` asks it for the rest: whether a development text is of use to it (``TUNES``), whether
unfinished work can go on (``RESUMES``: it has a ``checkpoint`` and ``fit`` takes one), what it has learned
(``summary``) and whether it has the form of an ARPA file (``check_arpa``, ``as_ngram``).
"""

from __future__ import annotations

import numpy as np

from corpuscle.errors import InputError
from corpuscle.lm.base import LanguageModel
from corpuscle.lm.settings import WordSettings
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes
from corpuscle.text.vocab import END, MARKUP, START, UNKNOWN

__all__ = ["Learner", "find_markup"]


def find_markup(corpus: Corpus) -> tuple[int, str] | None:
    """The first sentence (counted from 0) with a literal ``<s>`` or ``</s>``, and which of them it has."""
    ids = corpus.vocab.encode((MARKUP[START], MARKUP[END]))
    if (ids == UNKNOWN).all():
        return None
    where = np.flatnonzero(np.isin(corpus.tokens, ids[ids != UNKNOWN]))
    if len(where) == 0:
        return None
    sentence = int(np.searchsorted(corpus.sentence_starts, where[0], side="right") - 1)
    return sentence, corpus.vocab.word(int(corpus.tokens[where[0]]))


class Learner(WordSettings, LanguageModel):
    """A language model that is learned from text."""

    def _take(self, corpus: Corpus) -> Corpus:
        """Check a training text, remember what it was, choose the words (``vocab_``): the text in these words."""
        corpus = Corpus.checked(corpus, **self.reading)
        if corpus.n_tokens == 0:
            raise InputError(None, None, "the training text is empty")
        if not self.allow_markup and (found := find_markup(corpus)) is not None:
            raise InputError(None, None, f"sentence {found[0] + 1} has a literal {found[1]}; allow_markup accepts it")
        corpus = corpus.counted()
        self.items_, self.tuning_items_ = item_hashes(corpus), np.empty(0, np.uint64)
        self.provenance_ = {"sentences": len(corpus), "words": corpus.n_tokens, "types_in_text": len(corpus.vocab) - 3}
        self.chosen_ = {}
        self.vocab_ = corpus.vocab
        if self.min_count > 1:
            self.vocab_, mapping = corpus.vocab.cut(self.min_count)
            corpus = corpus.map_tokens(mapping, self.vocab_)
        return corpus

    def _take_dev(self, dev: Corpus) -> Corpus:
        """Check a development text, and remember that settings were chosen on it: the text in the model's words."""
        dev = Corpus.checked(dev, **self.reading)
        if dev.n_tokens == 0:
            raise InputError(None, None, "the development text is empty")
        self.tuning_items_ = item_hashes(dev)
        return dev.recode(self.vocab_)
