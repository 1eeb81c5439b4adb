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

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.learning import Checkpoint
from corpuscle.model import Array
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import Vocab
from corpuscle.topics.base import Look, TopicModel, all_words, of_documents
from corpuscle.topics.kernels.frozen import Predictor, likelihoods, predictor
from corpuscle.topics.kernels.particles import Likelihoods
from corpuscle.topics.kernels.seats import DOUBLY, SEPARATE, SWITCHING
from corpuscle.topics.sampling import STATE, TopicSampler, stream_of
from corpuscle.topics.settings import INFINITE, NgramTopicSettings

__all__ = ["SAMPLED", "NgramTopicModel"]

SAMPLED = {"hpylm": SEPARATE, "hpytm": SEPARATE, "hierarchical": DOUBLY, "switching": SWITCHING}
"""Method -> its number in ``kernels.seats``."""

_MOST_SAMPLES = 1000


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


class NgramTopicModel(NgramTopicSettings, TopicModel):
    """A topic n-gram model; ``workers`` read new documents, sampling uses one thread.

    Learned: ``vocab_``, ``samples_`` (a list of dicts of arrays), ``uses_`` (how often words had topics), ``history_``
    float64 (sweeps + 1,): the log probability of words, topics and seats after each sweep.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "topics.ngram",
        1,
        lambda extra: {
            **container.VOCAB, **container.TRAINING_ITEMS, **_USES, "history": Array("float64", ("history",)),
            **_samples(extra),
        },
        check=lambda loaded: _check(loaded),
    )  # fmt: skip
    PARTIAL: ClassVar[container.Kind] = learning.partial(
        "topics.ngram", STATE, sample=lambda _, number: _sample_arrays(number)
    )

    _FOLLOWS: ClassVar[tuple[str, ...]] = ("_predictors",)

    samples_: list[dict[str, np.ndarray]] = learned()
    uses_: dict[str, np.ndarray] = learned()

    @property
    def infinite(self) -> bool:
        """Whether every word chooses its own order."""
        return self.order == INFINITE

    def chain(self, corpus: Corpus) -> TopicSampler:
        """The sampler that ``fit`` runs on a text, before its first sweep; sets ``vocab_``."""
        corpus = self._known_words(corpus)
        blocks = self.sampler == "table" and (self.topics_ > 1 or self.method == "switching")
        return TopicSampler(
            corpus, self.topics_, SAMPLED[self.method], self.order_ - 1, fixed=not self.infinite,
            turns=self.turns if blocks else 0, seed=self.seed,
        )  # fmt: skip

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint, log: Callable[[int, float], None] | None) -> None:
        chain = self.chain(corpus)
        after = learning.spread(self.sweeps_, self.samples, apart=10)
        history, self.samples_ = checkpoint.run(
            chain,
            self.sweeps_ + 1,
            samples=learning.Samples(after, chain.sample, self._predictor),
            facts={"types": len(self.vocab_) - 3, "n_topics": self.topics_},
            log=log,
        )
        self.history_ = history[:, 0]
        pairs, counts = np.unique(chain.tokens.astype(np.int64) * (self.topics_ + 1) + chain.topics, return_counts=True)
        words, topics = np.divmod(pairs, self.topics_ + 1)
        self.uses_ = {
            name: array.astype(np.int32) for name, array in (("words", words), ("topics", topics), ("counts", counts))
        }

    def _predictor(self, sample: Mapping[str, np.ndarray]) -> Predictor:
        """A sample ready to predict; ``ValueError`` if it cannot be one of this model."""
        if len(sample["discounts"]) > self.order_ or len(sample["alpha"]) != self.topics_:
            raise ValueError("a sample of another order or another number of topics")
        base = 1.0 / (len(self.vocab_) - 2)
        return predictor(sample, SAMPLED[self.method], base, fixed=not self.infinite)

    @cached_property
    def _predictors(self) -> list[Predictor]:
        return [self._predictor(sample) for sample in self.samples_]

    @property
    def nodes(self) -> int:
        """How many restaurants the last sample has: contexts of all lengths, each once for every topic that uses it."""
        return len(self._predictors[-1].node_topic)

    def _prepare(self) -> None:
        assert self._predictors

    def _look(self, corpus: Corpus, sample: int) -> tuple[np.ndarray, Look]:
        symbols, places, available = stream_of(corpus, self.order_ - 1)

        def look(first: int, last: int) -> Likelihoods:
            here = slice(first, last)
            words = corpus.tokens[here]
            return likelihoods(self._predictors[sample], self.topics_, symbols, places[here], words, available[here])

        return self.samples_[sample]["alpha"], look

    def sample_log_probabilities(self, corpus: Corpus, **reading: Any) -> np.ndarray:
        """The natural log of the probability of every word by each sample, see ``TopicModel``."""
        by_sample = self._by_sample(corpus, partial(of_documents, read=all_words, **reading), len(self.samples_))
        return np.array([np.concatenate([np.empty(0), *documents]) for documents in by_sample])

    def _arrays(self) -> dict[str, np.ndarray]:
        samples = container.numbered("sample", self.samples_)
        return {**self.vocab_.arrays(), **container.prefixed("uses/", self.uses_), **samples, "history": self.history_}

    def _extra(self) -> dict[str, Any]:
        return {"samples": len(self.samples_), "n_topics": self.topics_}

    def _restore(self, loaded: container.Container) -> None:
        arrays = loaded.arrays
        self.vocab_, self.history_ = Vocab.from_arrays(arrays), arrays["history"]
        self.uses_ = container.stripped("uses/", arrays)
        self.samples_ = container.separated("sample", arrays, loaded.extra["samples"])


def _check(loaded: container.Container) -> None:
    """Validate what a file claims to be before any kernel sees it; ``ValueError``."""
    model = NgramTopicModel.from_container(loaded)
    if model.samples != loaded.extra["samples"] or model.topics_ != loaded.extra["n_topics"]:
        raise ValueError("its settings do not fit its samples")
    assert model._predictors
