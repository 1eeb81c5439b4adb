"""The two Gibbs samplers of ``HpyModel``, of fixed and of infinite order, behind one face.

A sampler works in steps, pieces of a sweep that last a fraction of a second; sweep 0 seats the words for the first
time.
Random numbers are keyed by sweep and step, so a sampler that was stopped after any step goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.engine.ngrams.trie import Ngrams, chunk_bounds
from corpuscle.engine.restaurants import gibbs, seating
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.contexts import Contexts, freeze
from corpuscle.engine.restaurants.pool import Restaurants, grown, new_pool, new_root
from corpuscle.model import Array, prefixed, stripped
from corpuscle.random import Random
from corpuscle.text.vocab import START

STOP_PRIOR = (4.0, 1.0)
"""How words of infinite order stop before anything is known: four in five at every node."""

_STEP = 1 << 17
_VARIABLE_STEP = 1 << 15


def _parameter_arrays(prefix: str, laws: str) -> dict[str, Array]:
    return {
        f"{prefix}discounts": Array("float64", (laws,), low=0.0, high=1.0),
        f"{prefix}strengths": Array("float64", (laws,), low=0.0, finite=True),
    }


def pool_arrays(prefix: str, laws: str) -> dict[str, Array]:
    """The arrays of a pool of restaurants in a file (``seating.to_arrays``); ``laws``: the name of their number."""
    return {
        f"{prefix}nodes": Array("int32", (f"{prefix}nodes", 8)),
        f"{prefix}entries": Array("int32", (f"{prefix}entries", 8)),
        f"{prefix}cells": Array("int32", (f"{prefix}cells", 3)),
        f"{prefix}counters": Array("int64", (3, 3), low=-1),
        **_parameter_arrays(prefix, laws),
    }


def tree_arrays(prefix: str, symbols: str, laws: str, stops: bool = True) -> dict[str, Array]:
    """The arrays of ``Contexts`` in a file, with or without what only variable depth needs, and of the parameters;
    ``symbols`` and ``laws`` name the numbers of those."""
    nodes, entries = f"{prefix}nodes", f"{prefix}entries"
    counts = {f"{prefix}{name}": Array("int32", (nodes,), low=0) for name in ("stops", "passes")} if stops else {}
    return counts | {
        f"{prefix}symbols": Array("int32", (nodes,), low=0, high=symbols),
        f"{prefix}first_child": Array("int32", (f"{nodes}+1",), low=1, rising=True),
        f"{prefix}first_entry": Array("int32", (f"{nodes}+1",), offsets_into=entries),
        f"{prefix}dishes": Array("int32", (entries,), low=0, high=symbols),
        f"{prefix}customers": Array("int32", (entries,), low=1),
        f"{prefix}tables": Array("int32", (entries,), low=1),
        **_parameter_arrays(prefix, laws),
    }


def sample_arrays(infinite: bool, number: int) -> dict[str, Array]:
    """The arrays of one sample in a file."""
    name = f"sample/{number}/"
    if infinite:
        return tree_arrays(name, "types+3", "laws")
    return _parameter_arrays(name, "laws") | {name + "tables": Array("int32", ("rows",), low=0)}


def state_arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays of a sampler's state: the pool, and where every word stopped."""
    depths = {"depths": Array("uint8", ("positions",))} if extra["infinite"] else {}
    return pool_arrays("pool/", "laws") | depths


class _Chain:
    """One Markov chain over seatings."""

    pool: Restaurants
    base: float
    seed: int
    n_steps: int

    def steps(self, sweep: int) -> int:
        """The same in every sweep."""
        return self.n_steps

    def finish(self, sweep: int) -> float:
        """End a sweep: draw discounts and strengths. Returns the log probability of text and seating."""
        seating.sample_parameters(self.pool, self.seed, sweep)
        return self.log_joint()

    def log_joint(self) -> float:
        """Natural log of the joint probability of the text and its seating."""
        return seating.log_seating(self.pool) + float(self.pool.nodes[0, col.TABLES]) * float(np.log(self.base))

    def _parameters(self) -> dict[str, np.ndarray]:
        return {"discounts": self.pool.discounts.copy(), "strengths": self.pool.strengths.copy()}

    def _pool_arrays(self) -> dict[str, np.ndarray]:
        return prefixed("pool/", seating.to_arrays(self.pool))


class FixedSampler(_Chain):
    """Fixed order: the restaurants are the rows of a trie of n-grams; ``base`` is the probability of any one word."""

    def __init__(self, ngrams: Ngrams, base: float, seed: int):
        self.base, self.seed = base, seed
        self.direct = gibbs.direct_counts(ngrams, START)
        self.pool = gibbs.static_pool(ngrams, START)
        self.bounds = chunk_bounds(np.concatenate([[0], np.cumsum(self.direct, dtype=np.int64)]), _STEP).tolist()
        self.n_steps = len(self.bounds) - 1

    def step(self, sweep: int, number: int) -> None:
        stream = Random(self.seed, "lm.hpy", sweep, number).array()
        row, done, last = self.bounds[number], 0, self.bounds[number + 1]
        while True:
            row, done = gibbs.sweep_rows(self.pool, self.direct, self.base, row, last, done, sweep == 0, stream)
            if row == last:
                return
            self.pool = grown(self.pool)

    def sample(self) -> dict[str, np.ndarray]:
        return {"tables": self.pool.entries[:, col.TABLES].copy(), **self._parameters()}

    def state(self) -> dict[str, np.ndarray]:
        return self._pool_arrays()

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        kept = stripped("pool/", arrays)
        same = all(
            len(kept[name]) == len(fresh) and np.array_equal(kept[name][:, columns], fresh[:, columns])
            for name, fresh, columns in (
                ("nodes", self.pool.nodes, [col.PARENT, col.SYMBOL, col.LAW]),
                ("entries", self.pool.entries, [col.NODE, col.DISH, col.UP]),
            )
        )
        if not same or len(kept["discounts"]) != len(self.pool.discounts):
            raise ValueError("its restaurants are not those of the text")
        pool = seating.from_arrays(kept, indexed=False, empty=True)
        rows = slice(0, len(self.direct))
        self.pool = pool._replace(nodes=pool.nodes[: len(kept["nodes"])].copy(), entries=pool.entries[rows].copy())
        seated = self.direct.copy()
        if sweep == 0:
            seated[self.bounds[number] :] = 0
        if not np.array_equal(seating.verify(self.pool, empty=True), seated):
            raise ValueError("it has other words than the text")


class VariableSampler(_Chain):
    """Infinite order: every word of a stream of symbols chooses its depth, at most ``deepest``."""

    def __init__(self, symbols: np.ndarray, deepest: int, base: float, seed: int):
        self.base, self.seed = base, seed
        available, depths = gibbs.available_context(symbols, START, deepest), np.zeros(len(symbols), np.uint8)
        self.text = gibbs.Text(np.ascontiguousarray(symbols, np.int32), available, depths, START, base)
        room = len(symbols) // 2 + 1024
        self.pool = new_pool(deepest + 1, nodes=room, entries=2 * room, cells=room // 8, stop_prior=STOP_PRIOR)
        self.root = int(new_root(self.pool, 0))
        self.n_steps = -(-len(symbols) // _VARIABLE_STEP)

    def step(self, sweep: int, number: int) -> None:
        stream = Random(self.seed, "lm.hpy", sweep, number).array()
        at, last = number * _VARIABLE_STEP, min((number + 1) * _VARIABLE_STEP, len(self.text.symbols))
        while True:
            at = gibbs.sweep_text(self.pool, self.root, self.text, at, last, sweep == 0, stream)
            if at == last:
                return
            self.pool = grown(self.pool)

    def log_joint(self) -> float:
        return super().log_joint() + seating.log_stopping(self.pool, START)

    def sample(self) -> dict[str, np.ndarray]:
        return {**freeze(self.pool, self.root)._asdict(), **self._parameters()}

    def state(self) -> dict[str, np.ndarray]:
        return {**self._pool_arrays(), "depths": self.text.depths.copy()}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        kept, deepest = stripped("pool/", arrays), len(self.pool.discounts) - 1
        if len(kept["discounts"]) != deepest + 1 or len(arrays["depths"]) != len(self.text.depths):
            raise ValueError("it does not fit the text")
        self.pool = seating.from_arrays(kept, deepest=deepest, stop_prior=STOP_PRIOR, variable=True)
        self.text.depths[:] = arrays["depths"]
        if len(kept["nodes"]) == 0 or kept["nodes"][0, col.PARENT] != -1 or (kept["nodes"][1:, col.PARENT] == -1).any():
            raise ValueError("its contexts are not one tree")
        seated = min(number * _VARIABLE_STEP, len(self.text.symbols)) if sweep == 0 else len(self.text.symbols)
        counts = np.zeros(len(kept["entries"]), np.int64)
        found = gibbs.count_stops(self.pool, self.root, self.text, seated, counts)
        if not found or not np.array_equal(counts, seating.verify(self.pool, variable=True)):
            raise ValueError("it has other words than the text")


Sampler = FixedSampler | VariableSampler
"""A learner; its ``sample()`` is what prediction needs of the present state."""


def contexts_of(sample: Mapping[str, np.ndarray]) -> Contexts:
    """The counts of a sample of infinite order."""
    return Contexts(*(sample[name] for name in Contexts._fields))
