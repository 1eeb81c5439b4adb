"""The Gibbs sampler of ``NgramTopicModel``: a chain over topics and seats that can stop after any step and go on.

A sweep is a number of steps that last a fraction of a second: first pieces of the text, word by word, then (with block
moves) pieces of the n-grams, table by table. Pieces take turns (of a large text every fourth piece moves in a sweep),
for all of them take three times as long as the words and bring little more. Sweep 0 seats the words for the first time,
documents in random order. Random numbers are keyed by sweep and step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corpuscle.engine.ngrams.trie import chunk_bounds
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.gibbs import available_context
from corpuscle.engine.restaurants.seating import to_arrays
from corpuscle.learning import Learner
from corpuscle.lm.pitman_yor import pool_arrays
from corpuscle.model import Array, stripped
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import START
from corpuscle.topics.documents import document_bounds
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels import state
from corpuscle.topics.kernels.block_weights import new_block
from corpuscle.topics.kernels.blocks import sweep_tables
from corpuscle.topics.kernels.check import verify
from corpuscle.topics.kernels.frozen import freeze
from corpuscle.topics.kernels.grams import number_grams
from corpuscle.topics.kernels.prior import sample_prior
from corpuscle.topics.kernels.seating import Seats, UnindexedPool
from corpuscle.topics.kernels.token_sampler import sweep_words

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
    """A text with a start symbol before every sentence, int32; where its words stand in that, int64 (n_tokens,); and
    how much context each word has, uint8 (n_tokens,), at most ``deepest``."""
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
        pools = {"pool/": self.seats.pool, "switch/": self.seats.switch}
        arrays = {
            prefix + name: array
            for prefix, pool in pools.items()
            for name, array in to_arrays(state.restaurants(pool)).items()
        }
        return arrays | {
            "links": self.seats.links[: len(arrays["pool/entries"])].copy(),
            "first_entry": self.seats.rows[:, at.FIRST_ENTRY].copy(),
            "contexts": np.ascontiguousarray(self.seats.contexts[:, _CONTEXT_COLUMNS]),
            "words": np.ascontiguousarray(self.seats.words[:, _WORD_COLUMNS]),
            "alpha": self.seats.alpha[1:].copy(),
        }

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        seats = self.seats
        fits = (
            len(arrays["first_entry"]) == len(seats.rows)
            and len(arrays["contexts"]) == len(seats.contexts)
            and len(arrays["words"]) == len(seats.words)
            and len(arrays["alpha"]) == len(seats.alpha) - 1
            and len(arrays["pool/discounts"]) == len(seats.pool.discounts)
        )
        if not fits:
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
