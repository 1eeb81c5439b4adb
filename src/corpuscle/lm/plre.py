"""Power low rank ensembles: Kneser-Ney with orders in between, such as a 1.5-gram, that are matrices of low rank.

The counts are those of Kneser-Ney. What discounting takes from a count goes to the shorter context in steps; on the
way, the part of each step is replaced by a matrix of low rank, which gives something to words that never followed a
context, if the context behaves like others that they did follow. See ``lm.kernels.plre``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.engine.ngrams import smoothing, trie
from corpuscle.engine.ngrams.trie import Automaton, BackoffTables, Layers, Ngrams, frozen_layers
from corpuscle.errors import SettingError, warn
from corpuscle.lm.base import LanguageModel
from corpuscle.lm.kernels import plre as kernels
from corpuscle.lm.ngram import ROWS, NgramModel, check_rows, consistent, estimated_discounts, given_discounts
from corpuscle.lm.settings import MAX_RANK, PlreSettings
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import START, Vocab

RANKS = (64, 2, 1)
"""Of the orders 2, 3 and 4; higher ones have none."""
TRIED_RANKS = ((16, 32, 64, 128), (0, 1, 2, 5), (0, 1, 2))
"""What is tried on a development text, for the orders 2, 3, and 4 and more."""
TRIED_POWERS = ((0.5,), (0.67, 0.33), (0.75, 0.5, 0.25))
TRIED_SCALES = (0.9, 1.1)
"""How discounts are changed, again and again as long as that helps."""
_NARROWER = 4
"""By this the rank is divided from one power to the next, where only one is given."""

_ARRAYS = {
    **container.VOCAB,
    **container.ITEMS,
    **ROWS,
    "counts": container.Array("int32", ("rows",), low=0),
    "discounts": container.Array("float64", ("order", 4), low=0.0, finite=True),
    "ranks": container.Array("int64", ("order-1", "eta"), low=0),
    "vectors": container.Array("float32", (2, "vectors"), low=0.0, finite=True),
    "scales": container.Array("float64", (2, "contexts", "eta"), low=0.0, finite=True),
}


class PlreModel(PlreSettings, LanguageModel):
    """A power low rank ensemble.

    Learned: ``vocab_``, ``ngrams_`` (counts), ``discounts_`` float64 (order, 4), ``powers_``, ``layers_`` (the matrices
    of low rank).
    """

    KIND: ClassVar[container.Kind] = container.Kind("lm.plre", 1, _ARRAYS, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "ngrams_": container.Record(Ngrams),
        "discounts_": container.Arrays("discounts"),
    }

    TUNES = True
    ngrams_: Ngrams = learned()
    layers_: Layers = learned()
    discounts_: np.ndarray = learned()
    powers_: tuple[float, ...] = learned()

    def fit(self, corpus: Corpus, dev: Corpus | None = None) -> PlreModel:
        """Learn from a text; with a development text choose powers, ranks and discounts, those that are not given."""
        self.stays_here("matrices are factorised by threads that share their memory")
        self.ngrams_ = self._counting(self._take(corpus))()
        longest = int(np.flatnonzero(np.diff(self.ngrams_.levels))[-1]) + 1
        if longest < self.order_:
            raise SettingError(f"the text has no n-grams of order {self.order_}: its longest sentence has {longest}")
        modified = self.discounting == "modified"
        if self.discounts is not None:
            self.discounts_ = given_discounts(self.discounts, self.order_, modified)
        else:
            counts = smoothing.count_of_counts(self.ngrams_, START, self.boundary == "single")
            self.discounts_ = estimated_discounts(counts, modified, self.strict)
        fit = _Fit(self)
        if dev is not None:
            fit.choose(self._take_dev(dev))
        self.layers_, self.discounts_, self.powers_ = fit.layers(), fit.discounts, fit.powers
        return self

    def _adjusted(self, discounts: np.ndarray) -> np.ndarray:
        keep_start = self.boundary == "single"
        if self.lower == "mass":
            return kernels.mass_counts(self.ngrams_, discounts, START, keep_start)
        return smoothing.adjusted_counts(self.ngrams_, START, keep_start).astype(np.float64)

    def _discountings(self, discounts: np.ndarray, powers: Sequence[float]) -> list[kernels.Discounting]:
        steps = len(powers) + 1
        exponents = np.array([1.0, *powers, 0.0])
        return [kernels.Discounting(np.tile(row ** (1 / steps), (steps, 1)), exponents) for row in discounts[1:]]

    def _estimate(self, discounts: np.ndarray, powers: Sequence[float], layers: Layers) -> BackoffTables:
        adjusted, uniform = self._adjusted(discounts), self.unigram == "uniform"
        counts = adjusted[: len(self.vocab_)]
        unigrams = smoothing.estimate_unigrams(counts, discounts[0], True, uniform, self._predictable)
        return kernels.estimate(self.ngrams_, adjusted, self._discountings(discounts, powers), layers, unigrams)

    @cached_property
    def tables_(self) -> BackoffTables:
        """Probabilities of all seen n-grams, and back-off weights; what unseen n-grams get is in ``layers_``."""
        return consistent(self._estimate(self.discounts_, self.powers_, self.layers_))

    @cached_property
    def automaton_(self) -> Automaton:
        """The model laid out for reading text, and for decoders (``engine.ngrams.trie.step``)."""
        return trie.automaton(self.tables_, self.layers_)

    def summary(self) -> dict[str, Any]:
        return {
            "order": self.order_,
            "ngrams": np.diff(self.ngrams_.levels).tolist(),
            "discounts": [[round(discount, 6) for discount in row[1:]] for row in self.discounts_.tolist()],
            "powers": list(self.powers_),
            "ranks": self.layers_.ranks.T.tolist(),
        }

    def as_ngram(self) -> NgramModel:
        """An ensemble is no back-off model: words that a context has not seen get shares of their own."""
        raise SettingError("an ensemble has no exact ARPA form; export --approximate writes one that comes near")

    def approximate_ngram(self) -> NgramModel:
        """A back-off model with the probabilities of all seen n-grams; the rest is shared out as in lower orders."""
        self._check_boundary()
        tables = smoothing.prune_rows(self.tables_, np.ones(len(self.tables_.words), bool))
        return NgramModel.imitating(self, tables)

    def _arrays(self) -> dict[str, np.ndarray]:
        layers = self.layers_._asdict()
        del layers["levels"]
        return {**super()._arrays(), **layers}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        arrays, self.powers_ = loaded.arrays, self.powers
        self.layers_ = frozen_layers(arrays["levels"][:-1], *(arrays[name] for name in Layers._fields[1:]))


class _Fit:
    """One way to fit a model after the other, and the best of them on a development text. A matrix is factorised once
    for each rank, power and discount that is tried."""

    def __init__(self, model: PlreModel):
        self.model, self.ngrams = model, model.ngrams_
        self.discounts: np.ndarray = model.discounts_
        self.powers: tuple[float, ...] = model.powers
        self.slices = [kernels.slices_of(self.ngrams, m) for m in range(2, model.order_ + 1)]
        adjusted = model._adjusted(self.discounts)
        self.most = [kernels.largest_slice(slices, adjusted) - 1 for slices in self.slices]
        self.given_ranks, self.first_ranks = self._checked_ranks()
        self._made: dict[tuple[Any, ...], kernels.Factors] = {}

    def _checked_ranks(self) -> tuple[list[list[int]] | None, list[int]]:
        """The ranks (powers, orders) if they are given for all powers; and those of the first power: the usual ones,
        at most a quarter of a slice, if none are given."""
        orders = self.model.order_ - 1
        layers = [layer + [0] * (orders - len(layer)) for layer in self.model.rank_lists]
        if not layers:
            usual = [*RANKS, *[0] * orders][:orders]
            return None, [min(rank, (most + 1) // 4) for rank, most in zip(usual, self.most, strict=True)]
        for layer in layers:
            for m, (rank, most) in enumerate(zip(layer, self.most, strict=True), 2):
                if rank > max(most, 0):
                    raise SettingError(f"no matrix of order {m} of this text has rank {rank + 1}: {max(most, 0)} fits")
        return (layers if len(layers) == len(self.powers) > 1 else None), layers[0]

    @property
    def ranks(self) -> list[list[int]]:
        """Ranks (powers, orders): lower from one power to the next where one list is given, but not 0."""
        if self.given_ranks is not None:
            return self.given_ranks
        return [[max(min(1, rank), rank // _NARROWER**j) for rank in self.first_ranks] for j in range(len(self.powers))]

    def layers(self) -> Layers:
        """The layers of the model with the present ranks, powers and discounts."""
        adjusted, steps = self.model._adjusted(self.discounts), range(len(self.powers))
        orders = enumerate(self.model._discountings(self.discounts, self.powers), 2)
        found = [[self._factors(m, j, adjusted, discounting) for j in steps] for m, discounting in orders]
        return kernels.layers_of(self.ngrams, adjusted, found, len(self.powers))

    def _factors(self, m: int, j: int, adjusted: np.ndarray, how: kernels.Discounting) -> kernels.Factors | None:
        rank, model = self.ranks[j][m - 2], self.model
        if rank == 0:
            return None
        on_which = self.discounts if model.lower == "mass" else self.discounts[m - 1]
        key = (m, j, rank, self.powers, on_which.tobytes())
        if key not in self._made:
            slices = self.slices[m - 2]
            values = kernels.shares(how, adjusted[slices.entries], j + 1)
            self._made[key] = kernels.factorise_slices(
                slices, values, rank, iterations=model.passes, seed=model.seed, number=m * len(self.powers) + j,
                workers=model.threads,
            )  # fmt: skip
        return self._made[key]

    def choose(self, dev: Corpus) -> None:
        """Choose what was not given: powers, then ranks, then discounts, order by order."""
        model = self.model
        fixed = {name for name in ("powers", "ranks", "discounts") if model.origins[name] == "given"}
        if len(fixed) == 3:
            warn("powers, ranks and discounts are given: there is nothing to choose on the development text")
            model.tuning_items_ = np.empty(0, np.uint64)
            return
        self.best = self._likelihood(dev)
        if "powers" not in fixed and self.given_ranks is None:
            for powers in TRIED_POWERS:
                self._improves(dev, "powers", powers)
            model.chosen_["powers"] = self.powers
        for m in range(2, model.order_ + 1):
            for rank in TRIED_RANKS[min(m - 2, len(TRIED_RANKS) - 1)] if "ranks" not in fixed else ():
                if rank <= max(0, self.most[m - 2]):
                    self._improves(dev, "first_ranks", [*self.first_ranks[: m - 2], rank, *self.first_ranks[m - 1 :]])
        if "ranks" not in fixed:
            model.chosen_["ranks"] = self.ranks
        highest = 0.99 * (np.arange(4) if model.discounting == "modified" else np.ones(4))
        for m in range(model.order_, 1, -1) if "discounts" not in fixed else ():
            for change in TRIED_SCALES:
                scale = np.ones((model.order_, 1))
                scale[m - 1] = change
                while self._improves(dev, "discounts", np.minimum(self.discounts * scale, highest)):
                    pass
        if "discounts" not in fixed:
            model.chosen_["discounts"] = self.discounts[:, 1 : 4 if model.discounting == "modified" else 2].tolist()

    def _improves(self, dev: Corpus, name: str, value: Any) -> bool:
        """Whether the development text is likelier with another value, which then stays."""
        before = getattr(self, name)
        setattr(self, name, value)
        likelihood = self._likelihood(dev)
        if likelihood > self.best + 1e-5:
            self.best = likelihood
            return True
        setattr(self, name, before)
        return False

    def _likelihood(self, dev: Corpus) -> float:
        model, layers = self.model, self.layers()
        tables = model._estimate(self.discounts, self.powers, layers)
        return model._mean_score(trie.automaton(tables, layers), dev)


def _check(loaded: container.Container) -> None:
    check_rows(loaded)
    model, arrays = PlreModel.restored(loaded.described), loaded.arrays
    levels, ranks = arrays["levels"].tolist(), arrays["ranks"]
    if len(levels) - 1 != model.order or ranks.shape != (model.order - 1, len(model.powers)):
        raise ValueError("its n-grams and ranks do not fit its order and powers")
    for m in range(2, model.order + 1):
        suffix = arrays["suffix"][levels[m - 1] : levels[m]]
        if len(suffix) and (suffix.min() < levels[m - 2] or suffix.max() >= levels[m - 1]):
            raise ValueError("a suffix must be an n-gram of the order below")
    if (ranks > MAX_RANK).any() or arrays["vectors"].shape[1] != int(ranks.sum(1) @ np.diff(levels[:-1])):
        raise ValueError("its vectors do not fit its ranks")
    if (arrays["discounts"] > np.arange(4)).any():
        raise ValueError("a discount is at most k for a count of k")
