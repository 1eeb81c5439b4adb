"""RESCALING: an n-gram model bent towards the topics of the document, word by word.

    p(w | h, d) ~ (p(w | d) / p(w)) ** exponent * P(w | h)

P is a Pitman-Yor language model of the sentences, p(w | d) the mixture of topics by latent Dirichlet allocation in the
document so far, p(w) the same before its first word. So the first words of a document, and all words if the exponent is
0, have the probability of the language model. The normaliser is exact: see ``kernels.lda``.

Gildea and Hofmann, "Topic-based language models using EM", 1999."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.restaurants import gibbs
from corpuscle.learning import Checkpoint
from corpuscle.lm import HpyModel
from corpuscle.lm.pitman_yor import sample_arrays, state_arrays
from corpuscle.model import Array
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.settings import TextSettings, TokenSettings
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN
from corpuscle.topics.base import DocumentChunk, Look, TopicModel, document_bounds, of_documents
from corpuscle.topics.kernels.lda import Lda, Shares, Topics, mixed, rescaled, shares_of, topics_of
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.settings import RescalingSettings


class RescalingModel(RescalingSettings, TopicModel):
    """A Pitman-Yor language model, rescaled by the topics of the document. Learned: ``vocab_``, ``words_`` (the
    language model), ``types_`` int32 (types, topics), how often a word has a topic, ``alpha_`` float64 (topics,),
    ``history_`` float64 (sweeps + 1,), log probabilities."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "topics.rescaling",
        1,
        {
            "types": Array("int32", ("rows", "topics"), low=0),
            "alpha": Array("float64", ("topics",), low=1e-300, finite=True),
            "history": Array("float64", ("history",)),
        }
        | container.TRAINING_ITEMS,
        components={"words": (HpyModel.KIND,)},
        check=lambda loaded: _check(loaded),
    )
    PARTIAL: ClassVar[container.Kind] = learning.partial(
        "topics.rescaling",
        {
            "topics": Array("int32", ("positions",), low=0, high="n_topics"),
            "alpha": Array("float64", ("n_topics",), low=0.0, finite=True),
        },
        state_arrays,
        sample=lambda _, number: sample_arrays(False, number),
    )
    """An unfinished run: first of the topics, then of the language model."""

    SAVED: ClassVar = {
        "words_": container.Inner("words", "corpuscle.lm:HpyModel"),
        "types_": container.Arrays("types", copied=True),
        "alpha_": container.Arrays("alpha", copied=True),
        "history_": container.Arrays("history", copied=True),
    }

    words_: HpyModel = learned()
    types_: np.ndarray = learned()
    alpha_: np.ndarray = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.method = "rescaling"

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint, log: Callable[[int, float], None] | None) -> None:
        known = self._known_words(corpus)
        bounds = document_bounds(corpus)
        lda = Lda(_rows(known.tokens), bounds, len(self.vocab_) - 2, self.topics, prior=self.prior, seed=self.seed)
        facts = {"n_topics": self.topics}
        history, _ = checkpoint.run(lda, self.sweeps + 1, facts=facts, lasting=True, log=log, title="topics")
        reading = {name: getattr(self, name) for name in (*TextSettings.SETTINGS, *TokenSettings.SETTINGS)}
        self.words_ = HpyModel(
            order=self.order, sweeps=self.word_sweeps, samples=self.samples, min_count=self.min_count,
            allow_markup=True, workers=self.workers, seed=self.seed, **reading,
        )  # fmt: skip
        self.words_.predicts_ends = False
        self.words_.fit(corpus, checkpoint=checkpoint)
        self.types_, self.alpha_, self.history_ = lda.types.copy(), lda.alpha.copy(), history[:, 0]

    def uses(self) -> np.ndarray:
        counts = np.zeros((len(self.vocab_), self.topics_ + 1), np.int64)
        counts[[UNKNOWN, *range(FIRST, len(counts))], 1:] = self.types_
        return counts

    @property
    def nodes(self) -> int:
        """How many contexts the language model has, the empty one among them."""
        assert self.words_.ngrams_ is not None
        return 1 + int((np.diff(self.words_.ngrams_.first_child) > 0).sum())

    @cached_property
    def _shares(self) -> Shares:
        assert self.words_.ngrams_ is not None
        return shares_of(self.words_.ngrams_, self.words_.sample_tables())

    @cached_property
    def _topics(self) -> Topics:
        return topics_of(self.types_, self.prior)

    @cached_property
    def _common(self) -> np.ndarray:
        """p(w), of a document of which nothing is known."""
        return mixed(self._topics, self.alpha_ / self.alpha_.sum())

    @cached_property
    def _by_type(self) -> np.ndarray:
        """P(w | topic), float64 (types, topics)."""
        return (self.types_ + self.prior) * self._topics.scale

    def _prepare(self) -> None:
        assert self._shares and self._by_type.size and self._common.size

    def _look(self, corpus: Corpus, sample: int) -> tuple[np.ndarray, Look]:
        rows = _rows(corpus.tokens)

        def look(first: int, last: int) -> Likelihoods:
            return Likelihoods(self._by_type[rows[first:last]], np.zeros(last - first), np.ones(last - first))

        return self.alpha_, look

    def sample_log_probabilities(self, corpus: Corpus, **reading: Any) -> np.ndarray:
        """See ``TopicModel``: float64 (1, n_tokens). The factors of words change with the mixture of topics, every
        ``every`` words."""
        [documents] = self._by_sample(corpus, partial(_rescaled_words, **reading))
        return np.concatenate([np.empty(0), *documents])[None]

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        self.words_.predicts_ends = False
        self.vocab_ = self.words_.vocab_


def _rescaled_words(chunk: DocumentChunk, model: RescalingModel, every: int = 10, **settings: Any) -> list[np.ndarray]:
    """The natural log of the probability of every word of some documents."""
    corpus = Corpus(chunk.tokens, chunk.sentence_starts, model.vocab_, chunk.document_starts)
    symbols = frozen(model.words_._symbols(corpus), np.int32)
    available = frozen(gibbs.available_context(symbols, START, model.order - 1), np.uint8)
    positions = np.flatnonzero((symbols != START) & (symbols != END))

    def read(reader: Reader, look: Look, first: int, last: int) -> np.ndarray:
        out = np.empty(last - first)
        for begin in range(first, last, every):
            end = min(begin + every, last)
            # (p(w | d) / p(w)) ** exponent of every type, and 0 for the boundaries among the ids.
            bent = np.exp(model.exponent * np.log(mixed(model._topics, reader.mixture) / model._common))
            factors = np.concatenate([bent[:1], np.zeros(FIRST - 1), bent[1:]])
            out[begin - first : end - first] = rescaled(
                model._shares, symbols, available, positions[begin:end], factors
            )
            reader.read(look(begin, end))
        return out

    return of_documents(chunk, model, read, every=every, **settings)


def _rows(tokens: np.ndarray) -> np.ndarray:
    """Token ids without those of the boundary symbols: the unknown word is 0, ordinary words follow."""
    return np.where(tokens >= FIRST, tokens - (FIRST - 1), 0).astype(np.int32)


def _check(loaded: container.Container) -> None:
    model = RescalingModel.from_container(loaded)
    words = model.words_
    if words.infinite or words.boundary != "single" or words.order_ != model.order:
        raise ValueError("its language model is of another sort")
    if model.types_.shape != (len(words.vocab_) - 2, model.topics):
        raise ValueError("its topics do not fit its words")
