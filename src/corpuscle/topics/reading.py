"""Reading along: what comes next in a document that is being written, by a model that adapts to what it is about."""

from __future__ import annotations

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.text.vocab import FIRST, START, UNKNOWN
from corpuscle.topics.kernels.frozen import likelihoods
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.ngram import SAMPLED, NgramTopicModel

__all__ = ["DocumentReader"]


class DocumentReader:
    """One document, word by word.

    >>> reader = DocumentReader(model)                     # doctest: +SKIP
    >>> for word in "the hidden".split(): reader.observe(word)   # doctest: +SKIP
    >>> reader.predict(3)                                  # doctest: +SKIP
    [('layer', 0.31), ('markov', 0.22), ('state', 0.05)]
    """

    def __init__(self, model: NgramTopicModel, *, particles: int = 10, seed: int = 1):
        if not isinstance(model, NgramTopicModel):
            raise SettingError(f"reading along needs a model of the method {', '.join(SAMPLED)}")
        self.model = model
        self._readers = [Reader(sample["alpha"], particles=particles, seed=seed) for sample in model.samples_]
        self._history = [START]

    def __repr__(self) -> str:
        return f"DocumentReader({self.model!r})"

    @property
    def mixture(self) -> np.ndarray:
        """The expected shares of the topics given the words so far, float64 (topics,), by the last sample."""
        return self._readers[-1].mixture

    def _look(self, number: int, words: np.ndarray) -> Likelihoods:
        symbols = np.array(self._history, np.int32)
        available = min(len(symbols), self.model.order_ - 1)
        return likelihoods(
            self.model._predictors[number], self.model.topics_, symbols, np.full(len(words), len(symbols)), words,
            np.full(len(words), available, np.uint8),
        )  # fmt: skip

    def observe(self, word: str) -> float:
        """The next word is this: the natural log of the probability that it had."""
        id = self.model.vocab_.id(" ".join(self.model.preprocessing.words(word)))
        logs = [reader.read(self._look(i, np.array([id], np.int32)))[0] for i, reader in enumerate(self._readers)]
        self._history = [*self._history[-self.model.order_ :], id]
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)))

    def end_sentence(self) -> None:
        """A new sentence begins; what the document is about stays."""
        self._history = [START]

    def distribution(self) -> np.ndarray:
        """P(next word | everything so far), float64 (len(vocab),); 0 for boundaries."""
        words = np.array([UNKNOWN, *range(FIRST, len(self.model.vocab_))], np.int32)
        result = np.zeros(len(self.model.vocab_))
        for number, reader in enumerate(self._readers):
            seen = self._look(number, words)
            topical = seen.switch * (seen.topics @ reader.mixture)
            result[words] += (topical + (1.0 - seen.switch) * seen.common) / len(self._readers)
        return result

    def predict(self, most: int = 10) -> list[tuple[str, float]]:
        """The likeliest next words with their probabilities; never the unknown word."""
        probability = self.distribution()
        probability[UNKNOWN] = 0.0
        best = np.argsort(-probability, kind="stable")[:most]
        return [(self.model.vocab_.word(int(i)), float(probability[i])) for i in best]
