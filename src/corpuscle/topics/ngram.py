"""Topic n-gram models: Pitman-Yor language models whose words also choose a topic, by what their document is about.

Four of the five methods of Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013:

- ``hpylm``: no topics, one Pitman-Yor n-gram model;
- ``hpytm``: every topic is an n-gram model of its own;
- ``hierarchical``: every topic leans, in each context, on the shorter context and on a global model;
- ``switching``: each word comes from the global model or from a topic; which of the two depends on its context.

The fifth is ``RescalingModel``. A new document is read from left to right with particles that guess its topics
(``kernels.particles``); nothing is normalised over the vocabulary.

**The Gibbs sampler** can stop after any step of a sweep and go on. The steps are pieces of the text, word by word, then
(with block moves) pieces of the n-grams, table by table. The latter take turns (a fourth of them moves in a sweep): all
of them take three times as long as the words and bring little more. Sweep 0 seats the words for the first time,
documents in random order. Random numbers are keyed by sweep and step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.gibbs import available_context
from corpuscle.engine.restaurants.seating import to_arrays
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint, Learner
from corpuscle.lm.pitman_yor import pool_arrays
from corpuscle.model import Array, stripped
from corpuscle.random import Random
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import FIRST, START, UNKNOWN, Vocab
from corpuscle.topics.base import Look, TopicModel, all_words, document_bounds, of_documents
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels import state
from corpuscle.topics.kernels.blocks import new_block, sweep_tables
from corpuscle.topics.kernels.check import verify
from corpuscle.topics.kernels.frozen import Predictor, freeze, likelihoods, predictor
from corpuscle.topics.kernels.lda import sample_prior
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.kernels.seating import DOUBLY, SEPARATE, SWITCHING, Seats, UnindexedPool
from corpuscle.topics.kernels.state import number_grams
from corpuscle.topics.kernels.token_sampler import sweep_words
from corpuscle.topics.settings import INFINITE, NgramTopicSettings

_WORDS = 1 << 15
_TABLES = 1 << 16
_ROOM = 1 << 16

STATE = {
    **pool_arrays("pool/", "depths"),
    **pool_arrays("switch/", "depths"),
    "links": Array("int32", ("pool/entries", 8), low=-1),
    "first_entry": Array("int32", ("state_rows",), low=-1),
    "contexts": Array("int32", ("state_contexts", 4), low=-1),
    "words": Array("int32", ("words", 4), low=-1),
    "alpha": Array("float64", ("n_topics",), low=1e-300, finite=True),
}
"""The arrays of an unfinished run."""

_CONTEXT_COLUMNS = [at.FIRST_NODE, at.STOPPED, at.PASSED, at.SWITCH]
_WORD_COLUMNS = [at.ROW, at.TOPIC, at.NEXT_WORD, at.WORD_BEFORE]


def stream_of(corpus: Corpus, deepest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A text with a start symbol before every sentence, int32; the places of its words in that, int64 (n_tokens,); and
    the lengths of their contexts, uint8 (n_tokens,), at most ``deepest``."""
    places = np.arange(corpus.n_tokens) + np.repeat(np.arange(1, len(corpus) + 1), corpus.lengths)
    symbols = np.full(corpus.n_tokens + len(corpus), START, np.int32)
    symbols[places] = corpus.tokens
    return symbols, places, available_context(symbols, START, deepest)[places]


class TopicSampler(Learner):
    """One Markov chain; ``turns``: in how many sweeps every table moves once, 0: none moves."""

    def __init__(self, corpus: Corpus, topics: int, method: int, deepest: int, *, fixed: bool, turns: int, seed: int):
        self.tokens = corpus.tokens
        symbols, places, available = stream_of(corpus, deepest)
        every = np.zeros(len(symbols), np.uint8)
        every[places] = available
        self.grams = number_grams(symbols, every, START, len(corpus.vocab))
        bounds = document_bounds(corpus)
        document_of = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        self.seats: Seats = state.new_seats(
            self.grams, document_of, topics, method, 1.0 / (len(corpus.vocab) - 2), fixed=fixed
        )
        state.set_prior(self.seats, np.full(topics, 1.0 / topics))
        self.buffers, self.block = state.new_buffers(self.seats), new_block(self.seats, self.grams.row_count)
        self.seed = seed
        order = Random(seed, "topics.order").shuffled(range(len(bounds) - 1))
        self.first_visits = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in order]).astype(np.int32)
        # Words with the same context one after the other: what one touches is near for the next.
        contexts = self.grams.row_context[self.grams.longest]
        self.visits = np.lexsort((self.grams.longest, contexts)).astype(np.int32)
        self.word_steps = -(-len(places) // _WORDS)
        moving = np.where(self.grams.row_count > 1, self.grams.row_count, 0)
        self.rows = chunk_bounds(starts_of(moving), _TABLES).tolist() if turns else [0]
        self.turns = turns

    def steps(self, sweep: int) -> int:
        """How many steps a sweep has: those of the words and, after sweep 0, those of the tables."""
        return self.word_steps + (len(self.rows) - 1 if sweep else 0)

    def step(self, sweep: int, number: int) -> None:
        stream = Random(self.seed, "topics.sampler", sweep, number).array()
        if number < self.word_steps:
            visits = self.visits if sweep else self.first_visits
            done, last = number * _WORDS, min((number + 1) * _WORDS, len(visits))
            while True:
                done = sweep_words(self.seats, self.buffers, visits, done, last, sweep == 0, stream)
                if done == last:
                    return
                self.seats = state.more_room(self.seats, _ROOM)
        piece = number - self.word_steps
        if (piece + sweep) % min(self.turns, len(self.rows) - 1):
            return
        row, last = self.rows[piece : piece + 2]
        moved = 0
        while True:
            row, moved = sweep_tables(self.seats, self.buffers, self.block, row, last, moved, stream)
            if row == last:
                return
            most = int(self.grams.row_count[row]) * len(self.seats.pool.discounts)
            self.seats = state.more_room(self.seats, most + _ROOM)

    def finish(self, sweep: int) -> float:
        """End a sweep: draw all parameters. Returns the log probability of words, topics and seats."""
        state.sample_discounts(self.seats, self.seed, sweep)
        if len(self.seats.alpha) > 2:
            counts = np.ascontiguousarray(self.seats.documents[:, 1:-1])
            state.set_prior(self.seats, sample_prior(counts, self.seats.alpha[1:], self.seed, sweep))
        return state.log_joint(self.seats)

    def sample(self) -> dict[str, np.ndarray]:
        """What prediction needs of the present state."""
        return freeze(self.seats, self.grams)

    @property
    def topics(self) -> np.ndarray:
        """The topic of every word, int32 (words,); 0 is that of function words."""
        return self.seats.words[:, at.TOPIC]

    def state(self) -> dict[str, np.ndarray]:
        arrays = dict[str, np.ndarray]()
        for prefix, pool in (("pool/", self.seats.pool), ("switch/", self.seats.switch)):
            arrays |= container.prefixed(prefix, to_arrays(state.restaurants(pool)))
        return arrays | {
            "links": self.seats.links[: len(arrays["pool/entries"])].copy(),
            "first_entry": self.seats.rows[:, at.FIRST_ENTRY].copy(),
            "contexts": np.ascontiguousarray(self.seats.contexts[:, _CONTEXT_COLUMNS]),
            "words": np.ascontiguousarray(self.seats.words[:, _WORD_COLUMNS]),
            "alpha": self.seats.alpha[1:].copy(),
        }

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        seats = self.seats
        lengths = {
            "first_entry": len(seats.rows), "contexts": len(seats.contexts), "words": len(seats.words),
            "alpha": len(seats.alpha) - 1, "pool/discounts": len(seats.pool.discounts),
        }  # fmt: skip
        if any(len(arrays[name]) != length for name, length in lengths.items()):
            raise ValueError("it does not fit the text")
        pools = [_pool_of(stripped(prefix, arrays)) for prefix in ("pool/", "switch/")]
        if len(pools[1].entries) != 2 * len(pools[1].nodes):
            raise ValueError("a switch has two labels")
        links = np.full((len(pools[0].entries), 8), -1, np.int32)
        links[: len(arrays["links"])] = arrays["links"]
        seats.rows[:, at.FIRST_ENTRY] = arrays["first_entry"]
        seats.contexts[:, _CONTEXT_COLUMNS] = arrays["contexts"]
        seats.words[:, _WORD_COLUMNS] = arrays["words"]
        self.seats = seats._replace(pool=pools[0], switch=pools[1], links=links)
        state.set_prior(self.seats, arrays["alpha"])
        # Before sweep 1 only some documents have come.
        seated = np.sort(self.first_visits[: number * _WORDS]) if sweep == 0 else np.arange(len(self.visits))
        verify(self.seats, seated, rebuild=True)


def _pool_of(arrays: Mapping[str, np.ndarray]) -> UnindexedPool:
    """A pool of a file, without room for more."""
    if arrays["counters"][:, col.USED].tolist() != [len(arrays[name]) for name in ("nodes", "entries", "cells")]:
        raise ValueError("counters that do not fit")
    copies = {name: np.array(array) for name, array in arrays.items()}
    return UnindexedPool(**copies, work=np.zeros((3, len(copies["discounts"]) + 1)))


SAMPLED = {"hpylm": SEPARATE, "hpytm": SEPARATE, "hierarchical": DOUBLY, "switching": SWITCHING}
"""Method -> its number in ``kernels.seating``."""

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
"""How often words had topics in the last sample: a word, a topic, and how often it had it."""


class NgramTopicModel(NgramTopicSettings, TopicModel):
    """A topic n-gram model. Learned: ``vocab_``, ``samples_`` (a list of dicts of arrays), ``uses_`` (how often words
    had topics), ``history_`` float64 (sweeps + 1,): the log probability of words, topics and seats after each sweep."""

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

    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "samples_": container.Samples(),
        "uses_": container.Arrays(*_USES),
        "history_": container.Arrays("history"),
    }

    samples_: list[dict[str, np.ndarray]] = learned()
    uses_: tuple[np.ndarray, ...] = learned()

    @property
    def n_samples(self) -> int:
        return len(self.samples_)

    def uses(self) -> np.ndarray:
        counts = np.zeros((len(self.vocab_), self.topics_ + 1), np.int64)
        words, topics, times = self.uses_
        counts[words, topics] = times
        return counts

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
        self.uses_ = tuple(array.astype(np.int32) for array in (words, topics, counts))

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
        """How many restaurants the last sample has: contexts, each once for every topic that uses it."""
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
        by_sample = self._by_sample(corpus, partial(of_documents, read=all_words, **reading))
        return np.array([np.concatenate([np.empty(0), *documents]) for documents in by_sample])

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "n_topics": self.topics_}


def _check(loaded: container.Container) -> None:
    model = NgramTopicModel.from_container(loaded)
    if model.samples != loaded.extra["samples"] or model.topics_ != loaded.extra["n_topics"]:
        raise ValueError("its settings do not fit its samples")
    assert model._predictors


class DocumentReader:
    """Predicts the next word of a document that is being written.

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
