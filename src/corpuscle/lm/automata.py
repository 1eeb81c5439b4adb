"""Language models that are laid out as one automaton over a trie of n-grams, whatever their probabilities come from.

Text is then read by the compiled steps of ``engine.ngrams.trie``, and decoders can take such a model inside.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from corpuscle.engine.ngrams import trie
from corpuscle.engine.ngrams.trie import Automaton
from corpuscle.lm.base import Events, events_of
from corpuscle.lm.learner import Learner
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START, UNKNOWN

__all__ = ["AutomatonModel"]


class AutomatonModel(Learner):
    """A language model that is learned from text and read as an automaton."""

    @property
    @abstractmethod
    def automaton_(self) -> Automaton:
        """The model laid out for reading text, and for decoders (``engine.ngrams.trie.step``)."""

    @property
    def initial_state(self) -> int:
        """The state of ``automaton_`` at the beginning of a sentence."""
        return self._initial(self.automaton_)

    def _initial(self, model: Automaton) -> int:
        return int(trie.state_of(model, np.full(self._left, START, np.int32)))

    @property
    def _left(self) -> int:
        """How many start symbols stand before a sentence."""
        return {"single": 1, "pad": self.order_ - 1, "none": 0}[self.boundary]

    def _score(self, model: Automaton, corpus: Corpus) -> np.ndarray:
        if self.boundary == "none":
            return trie.score_stream(model, corpus.tokens)
        starts, initial = corpus.sentence_starts, self._initial(model)
        return trie.score_sentences(model, corpus.tokens, starts, initial, END, self.threads)

    def _scores(self, corpus: Corpus) -> np.ndarray:
        """Log probability of every event."""
        return self._score(self.automaton_, corpus)

    def _events(self, corpus: Corpus) -> Events:
        scores = self._scores(corpus)
        if self.boundary == "none":
            return Events(scores, corpus.tokens == UNKNOWN, corpus.sentence_starts)
        starts = corpus.sentence_starts + np.arange(len(corpus) + 1)
        return Events(scores, events_of(corpus, corpus.tokens == UNKNOWN), starts)

    def _distribution(self, context: list[str]) -> np.ndarray:
        return trie.distribution(self.automaton_, self._state_after(context), len(self.vocab_))

    def _state_after(self, context: list[str]) -> int:
        ids = self.vocab_.encode(context)
        if self._begins(context):
            left = 1 if self.boundary == "single" else max(1, self.order_ - 1)
            ids = np.concatenate([np.full(left, START, np.int32), ids[1:]])
        return int(trie.state_of(self.automaton_, ids))
