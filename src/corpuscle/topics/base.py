"""What every topic model can do, whatever is inside: one primitive and the verbs that follow from it.

A model gives the log probability of every word of a collection of documents, each word given all before it in its
document. Perplexity and files are the same for all models and live here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any

import numpy as np

from corpuscle.errors import InputError, warn
from corpuscle.measure import Result, perplexity
from corpuscle.model import Part, save_part
from corpuscle.text.corpus import Corpus
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import UNKNOWN, Vocab
from corpuscle.topics.documents import document_bounds

__all__ = ["TopicModel"]


class TopicModel(ABC):
    """A distribution over documents, one word after the other; sentences begin anew, but their ends are not predicted.

    ``vocab_`` are the words that it knows, ``topics`` how many topics it has, ``order`` how many words it looks at (the
    predicted one included); words that occur less than ``min_count`` times are unknown, ``unk_token`` and ``preprocessing``
    say how its texts are read; ``items_`` are hashes of the sentences that it has learned from, ``history_`` the log
    probability of text and state after each sweep.
    """

    topics: int
    order: int
    min_count: int
    unk_token: str
    preprocessing: Preprocessing
    vocab_: Vocab
    items_: np.ndarray
    history_: np.ndarray

    def _known_words(self, corpus: Corpus) -> Corpus:
        """A text to learn from, its rare words unknown; sets ``vocab_``. ``InputError`` if it is too small."""
        lengths = np.diff(document_bounds(corpus))
        if not (lengths > 1).any():
            raise InputError(None, None, "no document has two words")
        if len(lengths) == 1 and self.topics > 1:
            warn("the text is a single document; topics are what tells documents apart, and blank lines end them")
        self.vocab_, mapping = corpus.vocab.cut(self.min_count)
        corpus = corpus.map_tokens(mapping, self.vocab_)
        if len(np.unique(corpus.tokens)) < 2:
            raise InputError(None, None, f"fewer than two different words occur {self.min_count} times")
        return corpus

    @abstractmethod
    def log_probabilities(
        self,
        corpus: Corpus,
        *,
        particles: int = 10,
        every: int = 10,
        mode: str = "weighted",
        rejuvenate: bool = False,
        seed: int = 1,
        workers: int | None = None,
    ) -> np.ndarray:
        """The natural log of the probability of every word given all before it in its document: float64 (n_tokens,).

        ``workers``: threads, each of which reads whole documents; for the others see
        ``kernels.particles.Reader``.
        """

    @abstractmethod
    def part(self) -> Part:
        """The model as it goes into a file, alone or inside another model."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file."""
        save_part(path, self.part())

    def perplexity(self, corpus: Corpus, *, draws: int = 1000, seed: int = 1, **reading: Any) -> Result:
        """Perplexity with a bootstrap interval over documents, with and without unknown words.

        ``reading`` are the settings of ``log_probabilities``.
        """
        return self.perplexity_of(
            corpus, self.log_probabilities(corpus, seed=seed, **reading), draws=draws, seed=seed
        )

    def perplexity_of(self, corpus: Corpus, logs: np.ndarray, *, draws: int = 1000, seed: int = 1) -> Result:
        """The same, given the log probabilities of the words."""
        bounds = document_bounds(corpus)
        unknown = corpus.recode(self.vocab_).tokens == UNKNOWN
        document = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        every, known, oov = (
            np.bincount(document, values, len(bounds) - 1) for values in (logs, np.where(unknown, 0.0, logs), unknown)
        )
        return perplexity(
            every, np.diff(bounds), oov.astype(np.int64), known, draws=draws, seed=seed, events="tokens",
            units="documents",
        )  # fmt: skip
