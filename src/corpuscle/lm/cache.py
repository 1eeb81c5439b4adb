"""A cache: words of the document so far, the last ones with most weight, come again.

A cache learns only how common words are; it is meant for mixtures with other models, which know what comes after what.
It reads documents: those of the text, or else what stands between empty sentences.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.lm.base import Events, LanguageModel, documents_of, events_of
from corpuscle.lm.kernels.cache import cache_distribution, score_documents
from corpuscle.lm.settings import CacheSettings
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, UNKNOWN, Vocab


class CacheModel(CacheSettings, LanguageModel):
    """A cache of the document so far.

    Learned: ``vocab_``, ``base_`` float64 (n_types,): how common every word is, before a document has begun.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "lm.cache",
        1,
        {
            **container.VOCAB,
            **container.ITEMS,
            "base": container.Array("float64", ("types+3",), low=0.0, high=1.0 + 1e-9, finite=True),
        },
    )

    SAVED: ClassVar = {"vocab_": container.Record(Vocab), "base_": container.Arrays("base")}

    by_document = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order_ = 1

    def fit(self, corpus: Corpus) -> CacheModel:
        """Learn how common words are; what may be predicted has been seen once more than in the text."""
        corpus = self._take(corpus)
        counts = np.bincount(corpus.tokens, minlength=len(self.vocab_)) + 1.0
        counts[END] += len(corpus)
        counts[~self._predictable] = 0.0
        self.base_ = counts / counts.sum()
        return self

    @property
    def _decay(self) -> float:
        return 0.5 ** (1.0 / self.half_life)

    def _events(self, corpus: Corpus) -> Events:
        symbols, unknown, starts = corpus.tokens, np.asarray(corpus.tokens == UNKNOWN), corpus.sentence_starts
        if self.boundary != "none":
            starts = starts + np.arange(len(corpus) + 1)
            symbols = np.full(starts[-1], END, np.int32)
            symbols[events_of(corpus, np.ones(len(corpus.tokens), bool))] = corpus.tokens
            unknown = events_of(corpus, unknown)
        out, documents = np.empty(len(symbols)), frozen(starts[documents_of(corpus)], np.int64)
        symbols, base = frozen(symbols, np.int32), frozen(self.base_, np.float64)
        score_documents(symbols, documents, self._decay, self.strength, base, out)
        return Events(out, unknown, starts)

    def _distribution(self, context: list[str]) -> np.ndarray:
        ids = self.vocab_.encode(context[1:] if self._begins(context) else context)
        out = np.empty(len(self.vocab_))
        cache_distribution(frozen(ids, np.int32), self._decay, self.strength, frozen(self.base_, np.float64), out)
        return out

    def summary(self) -> dict[str, Any]:
        return {"order": self.order_, "half_life": self.half_life, "strength": self.strength}
