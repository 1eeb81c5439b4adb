"""Hierarchical Pitman-Yor language models: Kneser-Ney smoothing as the mean of a distribution instead of a formula.

Every context has a distribution over the next word, drawn around that of the context without its oldest word. Gibbs
sampling seats the words of the text in the restaurants of ``engine.restaurants.hierarchy`` and draws discounts and
strengths along with them, so there is nothing to tune; predictions are averaged over several samples of the chain.

With ``order="infinite"`` every word chooses for itself how much of its context to look at (Mochihashi and Sumita 2007);
with a number the model is that of Teh (2006), and one sample of it is a back-off model that ARPA files can hold.

The two Gibbs samplers, of fixed and of infinite order, have one interface. They work in steps, pieces of a sweep that
last a fraction of a second; sweep 0 seats the words for the first time. Random numbers are keyed by sweep and step, so
a sampler that was stopped after any step goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams, chunk_bounds
from corpuscle.engine.restaurants import contexts, gibbs, seating
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.contexts import Contexts, freeze
from corpuscle.engine.restaurants.pool import Restaurants, grown, new_pool, new_root
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.ngram import ROWS, NgramModel, check_rows
from corpuscle.lm.settings import INFINITE, HpySettings
from corpuscle.model import Array, prefixed, stripped
from corpuscle.random import Random
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import END, START, Vocab

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
    name = f"sample/{number}/"
    if infinite:
        return tree_arrays(name, "types+3", "laws")
    return _parameter_arrays(name, "laws") | {name + "tables": Array("int32", ("rows",), low=0)}


def state_arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays of a sampler's state: the pool, and where every word stopped."""
    depths = {"depths": Array("uint8", ("positions",))} if extra["infinite"] else {}
    return pool_arrays("pool/", "laws") | depths


class _Chain:
    """One Markov chain over seatings; ``sample()`` is what prediction needs of the present state. ``base``: the
    probability of any one word."""

    def __init__(self, pool: Restaurants, base: float, seed: int, n_steps: int):
        self.pool, self.base, self.seed, self.n_steps = pool, base, seed, n_steps

    def steps(self, sweep: int) -> int:
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

    def state(self) -> dict[str, np.ndarray]:
        return prefixed("pool/", seating.to_arrays(self.pool))


class FixedSampler(_Chain):
    """Fixed order: the restaurants are the rows of a trie of n-grams."""

    def __init__(self, ngrams: Ngrams, base: float, seed: int):
        self.direct = gibbs.direct_counts(ngrams, START)
        self.bounds = chunk_bounds(starts_of(self.direct), _STEP).tolist()
        super().__init__(gibbs.static_pool(ngrams, START), base, seed, len(self.bounds) - 1)

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

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        kept = stripped("pool/", arrays)
        fixed = {"nodes": [col.PARENT, col.SYMBOL, col.LAW], "entries": [col.NODE, col.DISH, col.UP]}
        same = [np.array_equal(kept[name][:, at], getattr(self.pool, name)[:, at]) for name, at in fixed.items()]
        if not all(same) or len(kept["discounts"]) != len(self.pool.discounts):
            raise ValueError("its restaurants are not those of the text")
        pool = seating.from_arrays(self.pool, kept, empty=True)
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
        available, depths = gibbs.available_context(symbols, START, deepest), np.zeros(len(symbols), np.uint8)
        self.text = gibbs.Text(np.ascontiguousarray(symbols, np.int32), available, depths, START, base)
        room = len(symbols) // 2 + 1024
        pool = new_pool(deepest + 1, nodes=room, entries=2 * room, cells=room // 8, stop_prior=STOP_PRIOR)
        self.root = int(new_root(pool, 0))
        super().__init__(pool, base, seed, -(-len(symbols) // _VARIABLE_STEP))

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
        return {**super().state(), "depths": self.text.depths.copy()}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        kept, deepest = stripped("pool/", arrays), len(self.pool.discounts) - 1
        if len(kept["discounts"]) != deepest + 1 or len(arrays["depths"]) != len(self.text.depths):
            raise ValueError("it does not fit the text")
        self.pool = seating.from_arrays(self.pool, kept, variable=True)
        self.text.depths[:] = arrays["depths"]
        if len(kept["nodes"]) == 0 or kept["nodes"][0, col.PARENT] != -1 or (kept["nodes"][1:, col.PARENT] == -1).any():
            raise ValueError("its contexts are not one tree")
        seated = min(number * _VARIABLE_STEP, len(self.text.symbols)) if sweep == 0 else len(self.text.symbols)
        counts = np.zeros(len(kept["entries"]), np.int64)
        found = gibbs.count_stops(self.pool, self.root, self.text, seated, counts)
        if not found or not np.array_equal(counts, seating.verify(self.pool, variable=True)):
            raise ValueError("it has other words than the text")


def contexts_of(sample: Mapping[str, np.ndarray]) -> Contexts:
    """The counts of a sample of infinite order."""
    return Contexts(*(sample[name] for name in Contexts._fields))


_MOST_SAMPLES = 1000


def _arrays(extra: Any) -> dict[str, container.Array]:
    infinite, samples = extra["infinite"], extra["samples"]
    if type(infinite) is not bool or type(samples) is not int or not 1 <= samples <= _MOST_SAMPLES:
        raise ValueError("it does not say whether its order is infinite, or how many samples it has")
    arrays = {**container.VOCAB, **container.ITEMS, "history": container.Array("float64", ("history",))}
    if not infinite:
        arrays |= {**ROWS, "counts": container.Array("int32", ("rows",), low=0)}
    for number in range(samples):
        arrays |= sample_arrays(infinite, number)
    return arrays


class HpyModel(HpySettings, LanguageModel):
    """A hierarchical Pitman-Yor language model.

    ``workers`` are for reading text; sampling uses one. Where ``predicts_ends`` is set to False, before it learns and
    again after it was loaded, sentences begin somewhere, but nobody predicts where they end.

    Learned: ``vocab_``, ``samples_`` (a list of dicts of arrays), ``ngrams_`` (fixed order), ``history_`` float64
    (sweeps + 1,): the log probability of text and seating after each sweep.
    """

    PARTIAL = learning.partial(
        "lm.hpy", state_arrays, sample=lambda extra, number: sample_arrays(bool(extra["infinite"]), number)
    )
    samples_: list[dict[str, np.ndarray]] = learned()

    KIND: ClassVar[container.Kind] = container.Kind("lm.hpy", 1, _arrays, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "history_": container.Arrays("history"),
        "samples_": container.Samples(),
        "infinite": container.Fact("infinite"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self.infinite = self.order == INFINITE  # every word chooses its own order
        if self.infinite:
            self.order_ = self.max_order
        self.ngrams_: Ngrams | None = None
        self.predicts_ends = True

    @property
    def _predictable(self) -> np.ndarray:
        predictable = super()._predictable
        predictable[END] &= self.predicts_ends
        return predictable

    def fit(self, corpus: Corpus, *, checkpoint: Checkpoint | None = None) -> HpyModel:
        """Learn from a text; ``checkpoint`` keeps unfinished work."""
        corpus = self._take(corpus)
        self.stays_here("a Gibbs chain is sequential by nature")
        base = 1.0 / int(self._predictable.sum())
        if self.infinite:
            sampler: FixedSampler | VariableSampler = VariableSampler(
                self._symbols(corpus), self.order_ - 1, base, self.seed
            )
        else:
            ngrams = self._counting(corpus)()
            if not self.predicts_ends:
                ngrams = ngrams._replace(counts=frozen(np.where(ngrams.words == END, 0, ngrams.counts), np.int32))
            self.ngrams_ = ngrams
            sampler = FixedSampler(self.ngrams_, base, self.seed)
        after = learning.spread(self.sweeps, self.samples)
        history, self.samples_ = (checkpoint or Checkpoint()).run(
            sampler,
            self.sweeps + 1,
            samples=learning.Samples(after, sampler.sample, lambda sample: _check_sample(self, sample)),
            facts={"infinite": self.infinite, "types": len(self.vocab_) - 3},
        )
        self.history_ = history[:, 0]
        return self

    def sample_tables(self) -> list[BackoffTables]:
        """Every sample of a model of fixed order as a back-off model, exactly."""
        ngrams, predictable = self.ngrams_, self._predictable
        assert ngrams is not None
        direct = gibbs.direct_counts(ngrams, START)
        customers = [gibbs.customers_of(ngrams, direct, sample["tables"]) for sample in self.samples_]
        each = zip(customers, self.samples_, strict=True)
        return [gibbs.backoff_tables(ngrams, of, **sample, predictable=predictable) for of, sample in each]

    @cached_property
    def _ngram_models(self) -> list[NgramModel]:
        return [NgramModel.imitating(self, tables) for tables in self.sample_tables()]

    @cached_property
    def _predictors(self) -> list[contexts.Predictor]:
        return [
            contexts.predictor(contexts_of(sample), sample["discounts"], sample["strengths"], STOP_PRIOR)
            for sample in self.samples_
        ]

    def summary(self) -> dict[str, Any]:
        laws = {name: np.round(self.samples_[-1][name], 6).tolist() for name in ("discounts", "strengths")}
        run = {"order": self.order, "sweeps": self.sweeps, "samples": self.samples}
        return run | laws | {"log_likelihood": float(self.history_[-1])}

    def check_arpa(self) -> None:
        if self.infinite or self.samples != 1 or self.boundary == "none":
            raise SettingError("an ARPA file holds one sample of a model of fixed order with boundaries: --samples 1")

    def as_ngram(self) -> NgramModel:
        if self.infinite or len(self.samples_) != 1:
            why = "only a model of fixed order with one sample is a back-off model"
            raise SettingError(f"{why}; train it with samples 1")
        return self._ngram_models[0].as_ngram()

    def _events(self, corpus: Corpus) -> Events:
        if not self.infinite:
            several = [model._events(corpus) for model in self._ngram_models]
            logs = np.array([events.log_probability for events in several])
            with np.errstate(divide="ignore"):
                return several[0]._replace(log_probability=np.log(np.exp(logs).mean(0)))
        symbols = self._symbols(corpus)
        available = gibbs.available_context(symbols, START, self.order_ - 1)
        total, base = np.zeros(len(symbols)), 1.0 / int(self._predictable.sum())
        for predictor in self._predictors:
            contexts.score(predictor, symbols, available, START, base, total, self.threads)
        predicted = symbols != START
        with np.errstate(divide="ignore"):
            return self._scored(corpus, np.log(total[predicted] / len(self._predictors)))

    def _distribution(self, context: list[str]) -> np.ndarray:
        if not self.infinite:
            return np.mean([model.distribution(context) for model in self._ngram_models], axis=0)
        ids = self.vocab_.encode(context)
        if self._begins(context):
            ids[0] = START
        ids = ids[max(0, len(ids) - self.order_ + 1) :]
        base = self._predictable / self._predictable.sum()
        return np.mean([contexts.distribution(predictor, ids, base) for predictor in self._predictors], axis=0)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **({} if self.ngrams_ is None else self.ngrams_.arrays())}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        if not self.infinite:
            self.ngrams_ = Ngrams.from_arrays(loaded.arrays)


def _check_sample(model: HpyModel, sample: dict[str, np.ndarray]) -> None:
    """Whether a sample from a file can be one of the model's; ``ValueError``."""
    if len(sample["discounts"]) != model.order_:
        raise ValueError("a sample has a discount and a strength for every order")
    if not model.infinite:
        assert model.ngrams_ is not None
        if len(sample["tables"]) != len(model.ngrams_.words):
            raise ValueError("a sample has other n-grams than the text")
        gibbs.customers_of(model.ngrams_, gibbs.direct_counts(model.ngrams_, START), sample["tables"])
        return
    tree = contexts_of(sample)
    contexts.check_contexts(tree)
    if contexts.tree_depths(tree.first_child).max() >= model.order_:
        raise ValueError("a context is longer than the model looks back")


def _check(loaded: container.Container) -> None:
    model = HpyModel.restored(loaded.described)
    if model.infinite != loaded.extra["infinite"] or model.samples != loaded.extra["samples"]:
        raise ValueError("its settings do not fit its samples")
    if not model.infinite:
        check_rows(loaded)
        if len(loaded.arrays["levels"]) - 1 != model.order_:
            raise ValueError("its n-grams do not fit its order")
    model._restore(loaded)
    for sample in model.samples_:
        _check_sample(model, sample)
