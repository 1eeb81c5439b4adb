"""RESCALING: an n-gram model bent towards the topics of the document, word by word.

    p(w | h, d) ~ (p(w | d) / p(w)) ** exponent * P(w | h)

P is a Pitman-Yor language model of the sentences, p(w | d) the mixture of topics that a model of latent Dirichlet
allocation sees in the document so far, p(w) the same for a document of which nothing is known. So the first words of a
document have just the probability that the language model gives them, and so has every word where the exponent is 0.
The normaliser is exact: see ``kernels.rescaled``. Gildea and Hofmann (1999).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, cast

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.counting import count_ngrams
from corpuscle.engine.restaurants import gibbs
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.lm import HpyModel
from corpuscle.lm.sampling import FixedSampler, Sampler, sample_arrays, state_arrays
from corpuscle.model import Array
from corpuscle.scale import default_workers
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import END, FIRST, START
from corpuscle.topics.base import TopicModel
from corpuscle.topics.documents import document_bounds
from corpuscle.topics.kernels.lda import Lda, Topics, mixed, topics_of
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.kernels.rescaled import Shares, rescaled, shares_of

__all__ = ["RescalingModel"]

class WordModel(HpyModel):
    """A Pitman-Yor model of the words of sentences: they begin somewhere, but nobody predicts where they end."""

    @property
    def _predictable(self) -> np.ndarray:
        predictable = super()._predictable
        predictable[END] = False
        return predictable

    def _sampler(self, corpus: Corpus) -> Sampler:
        ngrams = count_ngrams(self._symbols(corpus), len(self.vocab_), self.order, END, self.workers)
        self.ngrams_ = ngrams._replace(counts=frozen(np.where(ngrams.words == END, 0, ngrams.counts), np.int32))
        return FixedSampler(self.ngrams_, 1.0 / int(self._predictable.sum()), self.seed)


PARTIAL = learning.partial(
    "topics.rescaling",
    {
        "topics": Array("int32", ("positions",), low=0, high="n_topics"),
        "alpha": Array("float64", ("n_topics",), low=0.0, finite=True),
    },
    state_arrays,
    sample=lambda _, number: sample_arrays(False, number),
)
"""An unfinished run: first of the topics, then of the language model."""


class RescalingModel(TopicModel):
    """A Pitman-Yor language model, rescaled by the topics of the document.

    - ``topics``: how many; ``order``: of the n-grams; ``exponent``: how far probabilities are bent;
    - ``iterations``: sweeps of the topics; ``word_iterations``, ``samples``: sweeps of the language model, and how many
      of its samples are averaged; ``prior``: of every word in every topic;
    - ``min_count``: rarer words are unknown; ``unk_token``, ``preprocessing``: how texts are read; ``seed``.

    Learned: ``vocab_``, ``words_`` (the language model), ``types_`` int32 (types, topics), how often a word has a
    topic, ``alpha_`` float64 (topics,), ``history_`` float64 (iterations + 1,), log probabilities.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "topics.rescaling",
        1,
        {
            "types": Array("int32", ("rows", "topics"), low=0),
            "alpha": Array("float64", ("topics",), low=1e-300, finite=True),
            "history": Array("float64", ("history",)),
        }
        | container.ITEMS,
        components={"words": (HpyModel.KIND,)},
        check=lambda loaded: _check(loaded),
    )

    def __init__(
        self,
        topics: int = 50,
        order: int = 3,
        *,
        iterations: int = 900,
        word_iterations: int = 100,
        samples: int = 5,
        exponent: float = 0.7,
        prior: float = 0.01,
        min_count: int = 4,
        unk_token: str = "unknown",
        preprocessing: Preprocessing | None = None,
        workers: int | None = None,
        seed: int = 1,
    ):
        for name, number in (("topics", topics), ("iterations", iterations), ("order", order)):
            if type(number) is not int or number < 1:
                raise SettingError(f"{name} is a number from 1 on, not {number!r}")
        for name, amount, least in (("exponent", exponent, 0.0), ("prior", prior, 1e-9)):
            if type(amount) not in (int, float) or not least <= amount < 1e9:
                raise SettingError(f"{name} is a number from {least:g} on, not {amount!r}")
        self.topics, self.order, self.iterations = topics, order, iterations
        self.exponent, self.prior, self.min_count = float(exponent), float(prior), min_count
        self.unk_token, self.preprocessing = unk_token, preprocessing or Preprocessing()
        self.seed, self.workers = seed, workers or default_workers()
        self.words_ = WordModel(
            order, iterations=word_iterations, samples=samples, min_count=min_count, unk_token=unk_token,
            preprocessing=self.preprocessing, allow_markup=True, workers=workers, seed=seed,
        )  # fmt: skip
        self.origins: dict[str, str] = {}
        self.provenance: dict[str, Any] = {}
        self.items_ = np.empty(0, np.uint64)

    # ---- learning

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a corpus."""
        settings = {name: value for name, (value, _) in self.settings().items()} | self.preprocessing.settings
        documents = hashlib.blake2b(document_bounds(corpus).tobytes(), digest_size=8).hexdigest()
        return Checkpoint(path, PARTIAL, settings, f"{corpus.signature()}-{documents}", resume=resume)

    def fit(
        self,
        corpus: Corpus,
        *,
        checkpoint: Checkpoint | None = None,
        log: Callable[[int, float], None] | None = None,
    ) -> RescalingModel:
        """Learn from documents. ``checkpoint`` keeps unfinished work; ``log`` gets the number and log probability of
        every sweep of the topics."""
        bounds = document_bounds(corpus)
        known = self._known_words(corpus)
        self.items_ = item_hashes(corpus)
        self.provenance = {"documents": len(bounds) - 1, "sentences": len(corpus), "tokens": corpus.n_tokens}
        lda = Lda(_rows(known.tokens), bounds, len(self.vocab_) - 2, self.topics, prior=self.prior, seed=self.seed)
        checkpoint, facts = checkpoint or Checkpoint(), {"n_topics": self.topics}
        history, _ = checkpoint.run(lda, self.iterations + 1, facts=facts, lasting=True, log=log, title="topics")
        self.words_.fit(corpus, checkpoint=checkpoint)
        self.types_, self.alpha_, self.history_ = lda.types.copy(), lda.alpha.copy(), history[:, 0]
        self._forget()
        return self

    # ---- predicting

    def _forget(self) -> None:
        for name in ("_shares", "_topics", "_common", "_by_type"):
            self.__dict__.pop(name, None)

    @cached_property
    def _shares(self) -> Shares:
        assert self.words_.ngrams_ is not None
        ngrams, samples = self.words_.ngrams_, self.words_.samples_
        direct = gibbs.direct_counts(ngrams, START)
        tables = [
            gibbs.backoff_tables(
                ngrams, gibbs.customers_of(ngrams, direct, sample["tables"]), sample["tables"], sample["discounts"],
                sample["strengths"], self.words_._predictable,
            )
            for sample in samples
        ]  # fmt: skip
        return shares_of(ngrams, tables)

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

    def _factors(self, mixture: np.ndarray) -> np.ndarray:
        """``(p(w | d) / p(w)) ** exponent`` for every id, float64 (len(vocab),); 0 for boundaries."""
        bent = np.exp(self.exponent * np.log(mixed(self._topics, mixture) / self._common))
        return np.concatenate([bent[:1], np.zeros(FIRST - 1), bent[1:]])

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

        The belief about the topics follows the words; the factors follow the belief every ``every`` words.
        """
        corpus = corpus.recode(self.vocab_)
        bounds = document_bounds(corpus).tolist()
        symbols = frozen(self.words_._symbols(corpus), np.int32)
        available = frozen(gibbs.available_context(symbols, START, self.order - 1), np.uint8)
        positions = np.flatnonzero((symbols != START) & (symbols != END))
        rows, out = _rows(corpus.tokens), np.empty(len(corpus.tokens))
        shares, by_type, _ = self._shares, self._by_type, self._common  # made before the threads ask

        def read(document: int) -> None:
            reader = Reader(
                self.alpha_, particles=particles, every=every, mode=mode, rejuvenate=rejuvenate, seed=seed,
                document=document,
            )  # fmt: skip
            for first in range(bounds[document], bounds[document + 1], every):
                last = min(first + every, bounds[document + 1])
                factors = self._factors(reader.mixture)
                out[first:last] = rescaled(shares, symbols, available, positions[first:last], factors)
                nothing = np.zeros(last - first)
                reader.read(Likelihoods(by_type[rows[first:last]], nothing, nothing + 1.0))

        with ThreadPoolExecutor(workers or self.workers) as pool:
            for _ in pool.map(read, range(len(bounds) - 1)):
                pass
        return out

    # ---- keeping

    def settings(self) -> dict[str, tuple[Any, str]]:
        """Every setting with its origin."""
        names = ("topics", "order", "iterations", "exponent", "prior", "min_count", "unk_token", "seed")
        values: dict[str, Any] = {"method": "rescaling"} | {name: getattr(self, name) for name in names}
        values |= {"word_iterations": self.words_.iterations, "samples": self.words_.samples}
        return {name: (value, self.origins.get(name, "default")) for name, value in values.items()}

    def part(self) -> container.Part:
        """The model as it goes into a file."""
        return container.Part(
            self.KIND,
            {"types": self.types_, "alpha": self.alpha_, "history": self.history_, "items/training": self.items_},
            settings=self.settings(),
            preprocessing=self.preprocessing.settings,
            provenance=self.provenance,
            components={"words": self.words_.part()},
        )

    @classmethod
    def from_container(cls, loaded: container.Container) -> RescalingModel:
        """The model of a file that has been read and validated."""
        values = dict(loaded.settings)
        values.pop("method")
        self = cls(**values, preprocessing=Preprocessing(**loaded.preprocessing))
        self.origins, self.provenance = loaded.origins, dict(loaded.provenance)
        self.words_ = cast(WordModel, WordModel.from_container(loaded.component("words")))
        self.vocab_ = self.words_.vocab_
        arrays = loaded.arrays
        self.types_, self.alpha_, self.history_ = (np.array(arrays[n]) for n in ("types", "alpha", "history"))
        self.items_ = arrays.get("items/training", self.items_)
        return self


def _rows(tokens: np.ndarray) -> np.ndarray:
    """Token ids without those of the boundary symbols: the unknown word is 0, ordinary words follow."""
    return np.where(tokens >= FIRST, tokens - (FIRST - 1), 0).astype(np.int32)


def _check(loaded: container.Container) -> None:
    """Whether the parts of a file fit one another; ``ValueError``."""
    model = RescalingModel.from_container(loaded)
    words = model.words_
    if words.infinite or words.boundary != "single" or words.order != model.order:
        raise ValueError("its language model is of another sort")
    if model.types_.shape != (len(words.vocab_) - 2, model.topics):
        raise ValueError("its topics do not fit its words")
