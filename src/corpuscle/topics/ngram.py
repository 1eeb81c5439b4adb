"""Topic n-gram models: Pitman-Yor language models whose words also choose a topic, by what their document is about.

Four of the five methods of Noji, Mochihashi and Miyao (2013):

- ``hpylm``: no topics, one Pitman-Yor n-gram model;
- ``hpytm``: every topic is an n-gram model of its own;
- ``hierarchical``: every topic leans, in each context, on the shorter context and on a global model;
- ``switching``: each word comes from the global model or from a topic; which of the two depends on its context.

The fifth is ``RescalingModel``. A new document is read from left to right with particles that guess its topics
(``kernels.particles``); nothing is normalised over the vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array
from corpuscle.scale import default_workers
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import Vocab
from corpuscle.topics.base import TopicModel
from corpuscle.topics.documents import document_bounds
from corpuscle.topics.kernels.frozen import Predictor, likelihoods, predictor
from corpuscle.topics.kernels.particles import Reader
from corpuscle.topics.kernels.seats import DOUBLY, SEPARATE, SWITCHING
from corpuscle.topics.sampling import STATE, TopicSampler, stream_of

__all__ = ["INFINITE", "PARTIAL", "SAMPLED", "NgramTopicModel"]

INFINITE = "infinite"
SAMPLED = {"hpylm": SEPARATE, "hpytm": SEPARATE, "hierarchical": DOUBLY, "switching": SWITCHING}
"""Method -> its number in ``kernels.seats``."""

_MOST_SAMPLES = 1000
_PIECE = 1 << 12
"""So many words of a document are read at a time."""


def _sample_arrays(number: int) -> dict[str, Array]:
    """The arrays of one sample in a file, see ``kernels.frozen.freeze``."""
    rows, contexts, entries = f"rows{number}", f"contexts{number}", f"entries{number}"
    arrays = {
        "row_symbols": Array("int32", (rows,), low=0, high="types+3"),
        "row_children": Array("int32", (rows + "+1",), low=1, rising=True),
        "context_symbols": Array("int32", (contexts,), low=0, high="types+3"),
        "context_children": Array("int32", (contexts + "+1",), low=1, rising=True),
        "row_entries": Array("int32", (rows + "+1",), offsets_into=entries),
        "topics": Array("int32", (entries,), low=0, high="n_topics+1"),
        "customers": Array("int32", (entries,), low=1),
        "tables": Array("int32", (entries,), low=1),
        "switches": Array("int32", (contexts, 2), low=0),
        "stops": Array("int32", (contexts, 2), low=0),
        "discounts": Array("float64", ("depths",), low=0.0, high=1.0),
        "strengths": Array("float64", ("depths",), low=1e-300, finite=True),
        "switch_strengths": Array("float64", ("depths",), low=1e-300, finite=True),
        "alpha": Array("float64", ("n_topics",), low=1e-300, finite=True),
    }
    return container.prefixed(f"sample/{number}/", arrays)


def _samples(extra: Mapping[str, Any]) -> dict[str, Array]:
    number = extra["samples"]
    if type(number) is not int or not 1 <= number <= _MOST_SAMPLES:
        raise ValueError("it does not say how many samples it has")
    return {key: array for i in range(number) for key, array in _sample_arrays(i).items()}


_USES = {
    "uses/words": Array("int32", ("uses",), low=0, high="types+3"),
    "uses/topics": Array("int32", ("uses",), low=0, high="n_topics+1"),
    "uses/counts": Array("int32", ("uses",), low=1),
}
"""How often words had topics in the last sample."""

PARTIAL = learning.partial("topics.ngram", STATE, sample=lambda _, number: _sample_arrays(number))
"""An unfinished run."""


class NgramTopicModel(TopicModel):
    """A topic n-gram model.

    - ``method``: ``hpylm``, ``hpytm``, ``hierarchical`` or ``switching``; ``topics``: how many (``hpylm`` has one);
    - ``order``: how many words, or ``"infinite"``: every word chooses how much of its context to look at, of a model of
      at most ``max_order`` words;
    - ``iterations``: Gibbs sweeps (default: 500, ``hpylm`` 100); ``sampler``: ``token`` moves words one by one,
      ``table`` also whole tables with all that hangs on them;
    - ``samples``: how many states are kept, the last one and others before it, ten sweeps apart where there are enough;
    - ``min_count``: rarer words are unknown; ``unk_token``, ``preprocessing``: how texts are read;
    - ``seed``: of every random choice. ``workers``: threads that read new documents; sampling uses one.

    Learned: ``vocab_``, ``samples_`` (a list of dicts of arrays), ``uses_`` (how often words had topics), ``history_``
    float64 (iterations + 1,): the log probability of words, topics and seats after each sweep.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "topics.ngram",
        1,
        lambda extra: {
            **container.VOCAB, **container.ITEMS, **_USES, "history": Array("float64", ("history",)),
            **_samples(extra),
        },
        check=lambda loaded: _check(loaded),
    )  # fmt: skip

    def __init__(
        self,
        method: str = "switching",
        topics: int | None = None,
        order: int | str = 3,
        *,
        iterations: int | None = None,
        sampler: str = "table",
        samples: int = 1,
        max_order: int = 8,
        min_count: int = 4,
        unk_token: str = "unknown",
        preprocessing: Preprocessing | None = None,
        workers: int | None = None,
        seed: int = 1,
    ):
        for name, value, allowed in (
            ("method", method, (*SAMPLED,)),
            ("sampler", sampler, ("token", "table")),
            ("unk_token", unk_token, ("unknown", "literal")),
        ):
            if value not in allowed:
                raise SettingError(f"{name} is one of {', '.join(allowed)}; not {value!r}")
        if order != INFINITE and not (type(order) is int and 1 <= order <= 250):
            raise SettingError(f"order is a number from 1 to 250, or {INFINITE}; not {order!r}")
        if method == "hpylm" and topics not in (None, 1):
            raise SettingError(f"hpylm has no topics, not {topics}")
        topics = (1 if method == "hpylm" else 50) if topics is None else topics
        iterations = (100 if method == "hpylm" else 500) if iterations is None else iterations
        for name, number, least, most in (
            ("topics", topics, 1, 32_000),
            ("iterations", iterations, 1, 10**9),
            ("samples", samples, 1, min(_MOST_SAMPLES, iterations)),
            ("max_order", max_order, 1, 250),
            ("min_count", min_count, 1, 10**9),
        ):
            if type(number) is not int or not least <= number <= most:
                raise SettingError(f"{name} is a number from {least} to {most}, not {number!r}")
        self.method, self.topics, self.sampler, self.requested_order = method, topics, sampler, order
        self.order = max_order if isinstance(order, str) else order
        self.iterations, self.samples, self.max_order, self.min_count = iterations, samples, max_order, min_count
        self.unk_token, self.preprocessing = unk_token, preprocessing or Preprocessing()
        self.workers, self.seed = workers or default_workers(), seed
        self.origins: dict[str, str] = {}
        self.provenance: dict[str, Any] = {}
        self.samples_: list[dict[str, np.ndarray]] = []
        self.items_ = np.empty(0, np.uint64)

    @property
    def infinite(self) -> bool:
        """Whether every word chooses its own order."""
        return self.requested_order == INFINITE

    # ---- learning

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a corpus."""
        settings = {name: value for name, (value, _) in self.settings().items()} | self.preprocessing.settings
        digest = hashlib.blake2b(document_bounds(corpus).tobytes(), digest_size=8).hexdigest()
        return Checkpoint(path, PARTIAL, settings, f"{corpus.signature()}-{digest}", resume=resume)

    def fit(
        self,
        corpus: Corpus,
        *,
        checkpoint: Checkpoint | None = None,
        log: Callable[[int, float], None] | None = None,
    ) -> NgramTopicModel:
        """Learn from documents. ``checkpoint`` keeps unfinished work; ``log`` gets every sweep's number and log
        probability."""
        self.items_, documents = item_hashes(corpus), len(document_bounds(corpus)) - 1
        self.provenance = {"documents": documents, "sentences": len(corpus), "tokens": corpus.n_tokens}
        self._run(self.chain(corpus), checkpoint or Checkpoint(), log)
        self.__dict__.pop("_predictors", None)
        return self

    def chain(self, corpus: Corpus) -> TopicSampler:
        """The sampler that ``fit`` runs on a text, before its first sweep; sets ``vocab_``."""
        corpus = self._known_words(corpus)
        blocks = self.sampler == "table" and (self.topics > 1 or self.method == "switching")
        return TopicSampler(
            corpus, self.topics, SAMPLED[self.method], self.order - 1, fixed=not self.infinite, blocks=blocks,
            seed=self.seed,
        )  # fmt: skip

    def _run(self, chain: TopicSampler, checkpoint: Checkpoint, log: Callable[[int, float], None] | None) -> None:
        """All sweeps, from where the checkpoint stands."""
        after = learning.spread(self.iterations, self.samples, apart=10)
        history, self.samples_ = checkpoint.run(
            chain,
            self.iterations + 1,
            samples=learning.Samples(after, chain.sample, self._predictor),
            facts={"types": len(self.vocab_) - 3, "n_topics": self.topics},
            log=log,
        )
        self.history_ = history[:, 0]
        pairs, counts = np.unique(chain.tokens.astype(np.int64) * (self.topics + 1) + chain.topics, return_counts=True)
        words, topics = np.divmod(pairs, self.topics + 1)
        self.uses_ = {
            name: array.astype(np.int32) for name, array in (("words", words), ("topics", topics), ("counts", counts))
        }

    # ---- predicting

    def _predictor(self, sample: Mapping[str, np.ndarray]) -> Predictor:
        """A sample ready to predict; ``ValueError`` if it cannot be one of this model."""
        if len(sample["discounts"]) > self.order or len(sample["alpha"]) != self.topics:
            raise ValueError("a sample of another order or another number of topics")
        base = 1.0 / (len(self.vocab_) - 2)
        return predictor(sample, SAMPLED[self.method], base, fixed=not self.infinite)

    @cached_property
    def _predictors(self) -> list[Predictor]:
        return [self._predictor(sample) for sample in self.samples_]

    def sample_log_probabilities(
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
        """The natural log of the probability of every word given all before it in its document, by each sample:
        float64 (samples, n_tokens). ``particles``, ``every``, ``mode``, ``rejuvenate``: see ``Reader``."""
        corpus = corpus.recode(self.vocab_)
        symbols, places, available = stream_of(corpus, self.order - 1)
        bounds = document_bounds(corpus).tolist()
        out = np.empty((len(self.samples_), corpus.n_tokens))
        predictors = self._predictors  # made before the threads ask

        def read(job: tuple[int, int]) -> None:
            number, document = job
            reader = Reader(
                self.samples_[number]["alpha"], particles=particles, every=every, mode=mode, rejuvenate=rejuvenate,
                seed=seed, document=document,
            )  # fmt: skip
            for first in range(bounds[document], bounds[document + 1], _PIECE):
                piece = slice(first, min(first + _PIECE, bounds[document + 1]))
                words = likelihoods(
                    predictors[number], self.topics, symbols, places[piece], corpus.tokens[piece], available[piece]
                )
                out[number, piece] = reader.read(words)

        jobs = [(number, document) for number in range(len(predictors)) for document in range(len(bounds) - 1)]
        with ThreadPoolExecutor(workers or self.workers) as pool:
            for _ in pool.map(read, jobs):
                pass
        return out

    def log_probabilities(self, corpus: Corpus, **reading: Any) -> np.ndarray:
        """The same with the probabilities of all samples averaged: float64 (n_tokens,)."""
        by_sample = self.sample_log_probabilities(corpus, **reading)
        return np.logaddexp.reduce(by_sample, axis=0) - np.log(len(by_sample))

    # ---- keeping

    def settings(self) -> dict[str, tuple[Any, str]]:
        """Every setting with its origin."""
        names = ["method", "topics", "iterations", "sampler", "samples", "min_count", "unk_token", "seed"]
        values = {name: getattr(self, name) for name in names} | {"order": self.requested_order}
        if self.infinite:
            values["max_order"] = self.max_order
        return {name: (value, self.origins.get(name, "default")) for name, value in values.items()}

    def part(self) -> container.Part:
        """The model as it goes into a file."""
        uses = {f"uses/{name}": array for name, array in self.uses_.items()}
        return container.Part(
            self.KIND,
            {
                **self.vocab_.arrays(), **uses, **container.numbered("sample", self.samples_), "history": self.history_,
                "items/training": self.items_,
            },
            settings=self.settings(),
            preprocessing=self.preprocessing.settings,
            provenance=self.provenance,
            extra={"samples": len(self.samples_), "n_topics": self.topics},
        )  # fmt: skip

    @classmethod
    def from_container(cls, loaded: container.Container) -> NgramTopicModel:
        """The model of a file that has been read and validated."""
        self = cls(**loaded.settings, preprocessing=Preprocessing(**loaded.preprocessing))
        self.origins, self.provenance = loaded.origins, dict(loaded.provenance)
        arrays = loaded.arrays
        self.vocab_, self.history_ = Vocab.from_arrays(arrays), arrays["history"]
        self.items_ = arrays.get("items/training", self.items_)
        self.uses_ = {name: arrays[f"uses/{name}"] for name in ("words", "topics", "counts")}
        self.samples_ = container.separated("sample", arrays, loaded.extra["samples"])
        return self


def _check(loaded: container.Container) -> None:
    """Validate what a file claims to be before any kernel sees it; ``ValueError``."""
    model = NgramTopicModel.from_container(loaded)
    if model.samples != loaded.extra["samples"] or model.topics != loaded.extra["n_topics"]:
        raise ValueError("its settings do not fit its samples")
    assert model._predictors
