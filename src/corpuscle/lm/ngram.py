"""N-gram language models of the Kneser-Ney family, and back-off models from elsewhere.

The model keeps the raw counts of all orders; probabilities follow from them, the method and the discounts when they are
first needed. A pruned or imported model has probabilities and back-off weights instead, as an ARPA file does; its file
keeps them as float32, to seven digits, and no suffixes, which are found again when it is read.

Discounts are estimated, given by hand, or chosen on a development text: those that make it most likely. For
interpolated models the likelihood and its gradient follow in closed form from a few numbers of each event, so thousands
of settings cost a second. Back-off models are rebuilt for each try, with numerical gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams import smoothing, trie
from corpuscle.engine.ngrams.smoothing import context_totals, discount_features, discount_gradient
from corpuscle.engine.ngrams.trie import Automaton, BackoffTables, Ngrams, children_rise
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.kernels.counting import count_spilled, counting_bytes, merging_bytes, overlapping
from corpuscle.lm.kernels.scoring import score_few
from corpuscle.lm.settings import IMPORTED, NgramSettings
from corpuscle.memory import pieces, release, resident, trim
from corpuscle.scale import chunks_of
from corpuscle.settings import Parallel, learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.settings import ReadingSettings
from corpuscle.text.vocab import END, START, UNKNOWN, Vocab

AUTO_ORDERS = 6
"""Order ``auto`` tries this many."""
FEW = 10_000
"""The number of events that are read straight from the counts before it pays to lay out the model."""
MARGIN = 48 << 20
"""Of a memory limit, for what is small: kernels not yet used, blocks of files, the header of the model."""
LEAST_SYMBOLS, MOST_CHUNKS = 1 << 18, 64
"""The least length of a chunk that is counted within such a limit, and the greatest number of them: a merge of very
many would take long."""
ROWS = {
    "levels": container.Array("int64", ("levels",), low=0),
    "words": container.Array("int32", ("rows",), low=0, high="types+3"),
    "first_child": container.Array("int32", ("contexts+1",), low=0, rising=True),
    "suffix": container.Array("int32", ("rows",), low=-1),
}
"""The arrays of a trie in a file, see ``engine.ngrams.trie.Ngrams``."""
_ARRAYS = {
    **container.VOCAB,
    **container.ITEMS,
    **ROWS,
    "suffix": replace(ROWS["suffix"], optional=True),
    "discounts": container.Array("float64", ("orders", 4), finite=True),
    "counts": container.Array("int32", ("rows",), low=0, optional=True),
    "log_probability": container.Array("float32", ("rows",), optional=True),
    "backoff": container.Array("float32", ("contexts",), optional=True),
}


@dataclass(frozen=True)
class Method:
    """A member of the family: raw or adjusted counts, interpolated or back-off, one discount an order or three."""

    raw: bool
    interpolated: bool
    modified: bool


FAMILY = {
    "absolute": Method(raw=True, interpolated=True, modified=False),
    "backoff-kn": Method(raw=False, interpolated=False, modified=False),
    "kn": Method(raw=False, interpolated=True, modified=False),
    "backoff-mkn": Method(raw=False, interpolated=False, modified=True),
    "mkn": Method(raw=False, interpolated=True, modified=True),
}


class NgramModel(NgramSettings, LanguageModel):
    """Absolute discounting and Kneser-Ney models: interpolated or back-off, plain or modified.

    Learned: ``vocab_``, ``ngrams_`` (counts; None if pruned or imported), ``discounts_`` (order, 4), ``tables_``.
    """

    KIND: ClassVar[container.Kind] = container.Kind("lm.ngram", 1, _ARRAYS, check=lambda loaded: _check_loaded(loaded))
    TUNES = True
    DRAWS = False
    CLASSES = True
    ngrams_: Ngrams | None = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tables: BackoffTables | None = None
        self._walked = 0

    @property
    def method_name(self) -> str:
        return self.method

    def fit(self, corpus: Corpus, dev: Corpus | None = None, folder: str | None = None) -> NgramModel:
        """Learn from a text; with a development text choose the order (if ``auto``) and the discounts on it.

        ``folder``: where temporary files go if there is a limit to the ``memory`` (default: where the system has them).
        The text is released before its n-grams are counted, which frees memory if the caller holds no reference to it.
        """
        if self.method == IMPORTED:
            raise SettingError("an imported model cannot learn; choose one of " + ", ".join(FAMILY))
        if self.order == "auto" and dev is None:
            raise SettingError("order auto needs a development text to choose on")
        if self.memory is not None and (dev is not None or self.prune or self.entropy or self.cluster is not None):
            raise SettingError("memory limits counting alone: not with a development text, prune, entropy or a cluster")
        self._tables, self._walked = None, 0
        corpus = self._take(corpus)
        self.order_ = AUTO_ORDERS if self.order == "auto" else int(self.order)
        count = self._counting(corpus) if self.memory is None else _counting_within(self, corpus, self.memory, folder)
        del corpus
        self.vocab_.forget_index()
        trim()
        ngrams = count()
        del count
        trim()
        if dev is not None:
            dev = self._take_dev(dev)
            if self.order != "auto" and self.discounts is not None:
                warn("order and discounts are given: there is nothing to choose on the development text")
                self.tuning_items_, dev = np.empty(0, np.uint64), None
        if self.order == "auto":
            assert dev is not None
            ngrams = trie.truncate(ngrams, self._best_order(ngrams, dev))
        self.order_ = ngrams.order
        self._set_counts(ngrams, dev)
        if self.prune or self.entropy:
            self._prune(self.tables_, ngrams.counts, self.prune, self.entropy)
        return self

    def summary(self) -> dict[str, Any]:
        discounts = [[round(discount, 6) for discount in row[1:]] for row in self.discounts_.tolist()]
        return {"order": self.order_, "ngrams": self.sizes_, "discounts": discounts}

    def as_ngram(self) -> NgramModel:
        """The model itself, if it has sentence boundaries."""
        self._check_boundary()
        return self

    def at_order(self, order: int) -> NgramModel:
        """The model of a lower order with the same words, from the same counts, with discounts of its own."""
        if self.ngrams_ is None or not 1 <= order <= self.order_:
            raise SettingError(f"a model with counts has orders from 1 to {self.order_}, not {order}")
        other = self._passed_on(self.replace(order=order))
        other._set_counts(trie.truncate(self.ngrams_, order), None)
        return other

    def pruned(self, prune: Sequence[int] = (), entropy: float = 0.0) -> NgramModel:
        """The model without n-grams that are rare (``prune``) or change little (``entropy``), see these settings; one
        that has no counts, because it was pruned before or imported, can only be pruned by entropy."""
        wanted = NgramSettings(prune=tuple(prune), entropy=entropy)
        if not wanted.prune and not wanted.entropy:
            raise SettingError("nothing says what to leave out: give prune, entropy or both")
        if wanted.prune and self.ngrams_ is None:
            raise SettingError("a pruned or imported model has no counts to prune by; give entropy alone")
        total = {"prune": wanted.prune or self.prune, "entropy": max(wanted.entropy, self.entropy)}
        changes = {name: (value, "given") for name, value in total.items() if value}
        other = self._passed_on(NgramModel.restored(self.described() | changes))
        counts = np.empty(0, np.int32) if self.ngrams_ is None else self.ngrams_.counts
        other._prune(self.tables_, counts, wanted.prune, wanted.entropy)
        return other

    def _passed_on(self, other: NgramModel) -> NgramModel:
        """Another model, with our words, what we know of our training text, and our way to share work."""
        for name in ("vocab_", "provenance_", "items_", "tuning_items_", *Parallel.SETTINGS):
            setattr(other, name, getattr(self, name))
        return other

    @property
    def _adjusting(self) -> dict[str, Any]:
        return {"start": START, "keep_start": self.boundary == "single", "raw": FAMILY[self.method].raw}

    def _adjusted(self, ngrams: Ngrams) -> np.ndarray:
        return smoothing.adjusted_counts(ngrams, **self._adjusting)

    def _estimate(self, ngrams: Ngrams, adjusted: np.ndarray, discounts: np.ndarray) -> BackoffTables:
        interpolated, uniform = FAMILY[self.method].interpolated, self.unigram == "uniform"
        return smoothing.estimate(
            ngrams, adjusted, discounts, interpolated=interpolated, predictable=self._predictable, uniform=uniform
        )

    def _best_order(self, ngrams: Ngrams, dev: Corpus) -> int:
        """The order at which the development text is most likely, with the given or else estimated discounts."""
        shorter = [trie.truncate(ngrams, order) for order in range(1, ngrams.order + 1)]
        likelihoods = [self._likelihood(each, self._adjusted(each), self._discounts(each), dev) for each in shorter]
        self.chosen_["order"] = int(np.argmax(likelihoods)) + 1
        return self.chosen_["order"]

    def _discounts(self, ngrams: Ngrams, *, complain: bool = False) -> np.ndarray:
        """The given or else estimated discounts; ``complain`` where these cannot be estimated."""
        modified = FAMILY[self.method].modified
        if self.discounts is not None:
            orders = AUTO_ORDERS if self.order == "auto" else ngrams.order
            return given_discounts(self.discounts, orders, modified)[: ngrams.order]
        counts = smoothing.count_of_counts(ngrams, **self._adjusting)
        if complain:
            return estimated_discounts(counts, modified, self.strict)
        return smoothing.good_turing_discounts(counts, modified).values

    def _likelihood(self, ngrams: Ngrams, adjusted: np.ndarray, discounts: np.ndarray, dev: Corpus) -> float:
        automaton = trie.automaton(self._estimate(ngrams, adjusted, discounts))
        return self._mean_score(automaton, dev, f"with unigram {self.unigram} ")

    def _set_counts(self, ngrams: Ngrams, dev: Corpus | None) -> None:
        """Become the model of these counts; discounts that are not given are chosen on a development text."""
        self.ngrams_, self.discounts_ = ngrams, self._discounts(ngrams, complain=dev is None)
        if dev is None or self.discounts is not None:
            return
        method, adjusted = FAMILY[self.method], self._adjusted(ngrams)
        if method.interpolated and self.unigram == "uniform":
            end = END if self.boundary != "none" else -1
            objective = interpolated_objective(ngrams, adjusted, self._predictable, self._symbols(dev), end)
        else:

            def objective(discounts: np.ndarray) -> tuple[float, None]:
                return -self._likelihood(ngrams, adjusted, discounts, dev), None

        self.discounts_ = tune(self.discounts_, method.modified, objective)
        self.chosen_["discounts"] = self.discounts_[:, 1 : 4 if method.modified else 2].tolist()

    def _prune(self, tables: BackoffTables, counts: np.ndarray, prune: tuple[int, ...], entropy: float) -> None:
        """Become what is left of a model; ``counts`` (rows,) are needed for ``prune`` alone."""
        if prune:
            limits = [-1, *(prune[min(m, len(prune)) - 1] for m in range(2, tables.order + 1))]  # all words stay
            kept = counts > np.repeat(np.array(limits, np.int32), np.diff(tables.levels))
            tables = smoothing.prune_rows(tables, kept)
        if entropy:
            divergence = smoothing.relative_entropy(tables, START, END)
            tables = smoothing.prune_rows(tables, np.expm1(divergence) >= entropy)
        self._set_tables(tables)

    def _set_tables(self, tables: BackoffTables) -> None:
        self.ngrams_, self._tables = None, tables
        self.order_, self.discounts_ = tables.order, np.zeros((0, 4))

    @property
    def sizes_(self) -> list[int]:
        """How many n-grams of each order the model has."""
        core = self.ngrams_ if self.ngrams_ is not None else self.tables_
        return np.diff(core.levels).tolist()

    @classmethod
    def imitating(cls, model: LanguageModel, tables: BackoffTables) -> NgramModel:
        """A back-off model of these probabilities that has the words of another model and reads texts as it does."""
        settings = {name: getattr(model, name) for name in ("boundary", "workers", *ReadingSettings.SETTINGS)}
        return cls.from_tables(tables, model.vocab_, method=IMPORTED, **settings)

    @classmethod
    def from_tables(cls, tables: BackoffTables, vocab: Vocab, **settings: Any) -> NgramModel:
        """A model of given probabilities, such as an ARPA file has."""
        self = cls(order=tables.order, **settings)
        self.vocab_ = vocab
        self._set_tables(tables)
        return self

    @property
    def tables_(self) -> BackoffTables:
        """Probabilities and back-off weights of all n-grams; computed anew where the model keeps counts."""
        if self._tables is not None:
            return self._tables
        assert self.ngrams_ is not None
        return consistent(self._estimate(self.ngrams_, self._adjusted(self.ngrams_), self.discounts_))

    @cached_property
    def _own_adjusted(self) -> np.ndarray:
        """The adjusted counts of ``ngrams_``, int32 (rows,)."""
        assert self.ngrams_ is not None
        return frozen(self._adjusted(self.ngrams_), np.int32)

    @cached_property
    def automaton_(self) -> Automaton:
        """The model laid out for reading text, and for decoders (``engine.ngrams.step``)."""
        return trie.automaton(self.tables_)

    def _events(self, corpus: Corpus) -> Events:
        """The first few events are read straight from the counts, where the method allows it; for more of them, and for
        an empty text, the model is laid out as ``automaton_``."""
        events, bounded = len(corpus.tokens) + len(corpus), self.boundary != "none"
        is_small = 0 < events <= FEW - self._walked and "automaton_" not in self.__dict__
        if not is_small or self.ngrams_ is None or not FAMILY[self.method].interpolated:
            return super()._events(corpus)
        self._walked += events
        scores = score_few(
            self.ngrams_, self._own_adjusted, self.discounts_, corpus.tokens,
            corpus.sentence_starts if bounded else np.array([0, len(corpus.tokens)]), predictable=self._predictable,
            uniform=self.unigram == "uniform", start=START, left=self._left, end=END if bounded else -1,
        )  # fmt: skip
        if np.isnan(scores).any():
            raise InputError(None, None, CONTRADICTORY)
        return self._scored(corpus, scores)

    def next_words(self, context: str | Sequence[str], k: int = 10) -> list[tuple[str, float]]:
        """The k most likely next words with their probabilities, without a look at the whole vocabulary."""
        state = self._state_after(self.words_of(context))
        words, scores = trie.top_continuations(self.automaton_, state, self._ranked, k + 1)
        good = (words != UNKNOWN) & (scores > -np.inf)
        best = zip(words[good][:k].tolist(), np.exp(scores[good][:k]).tolist(), strict=True)
        return [(self.vocab_.word(word), probability) for word, probability in best]

    @cached_property
    def _ranked(self) -> np.ndarray:
        """All symbols by falling unigram probability, without the unknown word."""
        scores = self.automaton_.rows["log_probability"][: len(self.vocab_)]
        ranked = np.argsort(-scores, kind="stable")
        return ranked[ranked != UNKNOWN]

    def _arrays(self) -> dict[str, np.ndarray]:
        core = (self.ngrams_ if self.ngrams_ is not None else self.tables_)._asdict()
        if self.ngrams_ is None:
            del core["suffix"]
            core |= {name: core[name].astype(np.float32) for name in ("log_probability", "backoff")}
        return {**self.vocab_.arrays(), **core, "discounts": self.discounts_}

    def _restore(self, loaded: container.Container) -> None:
        arrays = loaded.arrays
        self.vocab_, self.discounts_ = Vocab.from_arrays(arrays), arrays["discounts"]
        self.order_ = len(arrays["levels"]) - 1
        if "counts" in arrays:
            self.ngrams_ = Ngrams.from_arrays(arrays)
        else:
            names = [name for name in BackoffTables._fields if name != "suffix"]
            self._set_tables(trie.linked_tables(*(arrays[name] for name in names)))


def _counting_within(
    model: NgramModel, corpus: Corpus, limit: int, folder: str | PathLike[str] | None
) -> Callable[[], Ngrams]:
    """A function that counts the n-grams of a text in the words of the model with at most ``limit`` bytes of memory, in
    chunks that go to temporary files in ``folder`` if need be; ``SettingError`` if that is too little.

    The limit is about the whole process: what it has when counting begins (the text, the vocabulary, the compiled
    kernels), what a chunk takes while it is counted, and what merging takes. The result does not depend on it.
    """
    trim()
    n_types, here = len(model.vocab_), resident() + MARGIN
    n_symbols, longest = corpus.n_tokens, 2 * model.order_
    if model.boundary != "none":
        n_symbols += len(corpus) * (model._left + 1)
        longest = int(corpus.lengths.max()) + model._left + 1
    each, besides = counting_bytes(model.order_, n_types)
    if here + besides + each * n_symbols <= limit:
        return model._counting(corpus)
    each_merged, besides_merged = merging_bytes(model.order_, n_types)
    shortest = max(LEAST_SYMBOLS, -(-n_symbols // MOST_CHUNKS))
    least = here + max(besides + each * (shortest + longest), besides_merged + each_merged * n_symbols)
    if least > limit:
        given, enough = limit / (1 << 20), -(-least // (1 << 20))
        raise SettingError(f"{given:.0f}M of memory are too little to count this text; {enough}M would do")
    streams = _streams(model, corpus, (limit - here - besides) // each - longest)
    return partial(count_spilled, streams, partial(model._count, workers=model.threads), folder)


def _streams(model: NgramModel, corpus: Corpus, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Chunks of about ``size`` symbols, as streams with their signs, see ``count_spilled``."""
    if model.boundary == "none":
        bounds = [*range(0, corpus.n_tokens - model.order_, size), corpus.n_tokens]
        yield from overlapping(corpus.tokens, bounds, model.order_)
        return
    for first, last in pairwise(chunks_of(corpus.lengths + model._left + 1, size).tolist()):
        yield model._symbols(corpus[first:last]), 1


CONTRADICTORY = "the counts of this model contradict one another"


def consistent(tables: BackoffTables, otherwise: str = CONTRADICTORY) -> BackoffTables:
    """The same tables, if all their numbers are numbers."""
    if np.isnan(tables.log_probability).any() or np.isnan(tables.backoff).any():
        raise InputError(None, None, otherwise)
    return tables


def check_rows(loaded: container.Container) -> None:
    """Raise ``ValueError`` unless levels, children, suffixes and words make a trie, on which kernels rely."""
    arrays = loaded.arrays
    levels, first_child, suffix = arrays["levels"], arrays["first_child"], arrays.get("suffix")
    order = len(levels) - 1
    if order < 1 or levels[0] != 0 or np.any(np.diff(levels) < 0) or levels[1] != len(arrays["vocab/counts"]):
        raise ValueError("the levels of the n-gram trie do not fit")
    if levels[-1] != len(arrays["words"]) or levels[-2] + 1 != len(first_child):
        raise ValueError("the levels of the n-gram trie do not fit its rows")
    words = arrays["words"]
    if not np.array_equal(words[: levels[1]], np.arange(levels[1])):
        raise ValueError("unigram rows must be the symbols themselves")
    if suffix is not None and np.any(suffix[: levels[1]] != -1):
        raise ValueError("a unigram has no suffix")
    for m in range(1, order):
        if first_child[levels[m - 1]] != levels[m]:
            raise ValueError("the rows of an order must follow the contexts of the order below")
        begin, end = int(levels[m]), int(levels[m + 1])
        for piece in pieces(suffix[begin:end] if suffix is not None else np.empty(0)):
            if piece.min() < 0 or piece.max() >= begin:
                raise ValueError("a suffix must be a shorter n-gram")
    if order > 1 and first_child[-1] != levels[-1]:
        raise ValueError("the last context must end with the last row")
    for ends in pieces(frozen(first_child, np.int32), overlap=1):
        if not children_rise(frozen(words, np.int32), ends):
            raise ValueError("the words after a context must rise")
        release(words)


def _check_loaded(loaded: container.Container) -> None:
    has_counts = "counts" in loaded.arrays
    has_tables = "log_probability" in loaded.arrays and "backoff" in loaded.arrays
    if has_counts == has_tables:
        raise ValueError("an n-gram model has either counts or probabilities with back-off weights")
    if has_counts != ("suffix" in loaded.arrays):
        raise ValueError("an n-gram model has suffixes if it has counts, and else none")
    check_rows(loaded)
    NgramModel.restored(loaded.described)
    order = len(loaded.arrays["levels"]) - 1
    if has_counts:
        discounts = loaded.arrays["discounts"]
        if len(discounts) != order or (discounts < 0).any() or (discounts > np.arange(4)).any():
            raise ValueError("a model with counts has discounts for every order, at most k for a count of k")
    if has_tables and (np.isnan(loaded.arrays["log_probability"]).any() or np.isnan(loaded.arrays["backoff"]).any()):
        raise ValueError("log probabilities must be numbers")


_INSIDE = 1e-3
"""How far tuned discounts stay from their bounds."""
Objective = Callable[[np.ndarray], tuple[float, np.ndarray | None]]
"""Discounts (order, 4) -> negative log likelihood, and its gradient if that is known."""


def given_discounts(given: Sequence[Any] | float, order: int, modified: bool) -> np.ndarray:
    """Discounts (order, 4) from one number, three numbers, or a list of either with one entry an order."""
    width = 3 if modified else 1
    try:
        flat = np.atleast_1d(np.asarray(given, np.float64))
        if flat.ndim == 1 and len(flat) == width:
            flat = np.tile(flat, (order, 1))
        values = np.zeros((order, 4))
        values[:, 1:] = flat.reshape(order, width)
    except ValueError:
        wanted = "three numbers" if modified else "one number"
        raise SettingError(f"discounts are {wanted}, or {order} times that; not {given!r}") from None
    highest = np.array([1.0, 2.0, 3.0]) if modified else 1.0
    low_enough, positive = values[:, 1:] <= highest, values[:, 1:] > 0
    if not (low_enough & positive).all():
        raise SettingError(f"a discount for count k lies above 0 and at most at k (plain: 1); not {given!r}")
    return values


def estimated_discounts(counts: np.ndarray, modified: bool, strict: bool) -> np.ndarray:
    """Good-Turing discounts (order, 4) of counts of counts; where these give none, usual ones, unless ``strict``."""
    estimated = smoothing.good_turing_discounts(counts, modified)
    if estimated.fallback:
        orders = ", ".join(map(str, estimated.fallback))
        if strict:
            raise SettingError(f"the counts of order {orders} do not give discounts")
        fallback = "0.5, 1, 1.5" if modified else "0.5"
        warn(f"the counts of order {orders} do not give discounts; {fallback} is used there")
    return estimated.values


def interpolated_objective(
    ngrams: Ngrams, adjusted: np.ndarray, predictable: np.ndarray, symbols: np.ndarray, end: int
) -> Objective:
    """The negative log likelihood, a predicted event, of a stream of symbols under an interpolated model."""
    order = ngrams.order
    adjusted = frozen(adjusted, np.int32)
    totals = np.zeros((len(ngrams.first_child) - 1, 4), np.int64)
    context_totals(ngrams.first_child, adjusted, totals)
    known, numbers = np.zeros(len(symbols), np.int32), np.zeros((len(symbols), order, 5), np.int32)
    discount_features(
        ngrams.words, ngrams.first_child, adjusted, totals, frozen(symbols, np.int32), end, order, known, numbers
    )
    events = np.flatnonzero(predictable[symbols])
    unigrams = adjusted[: ngrams.levels[1]][predictable]
    freed = np.bincount(np.minimum(unigrams, 3), minlength=4).astype(np.float64)
    total, types = float(unigrams.sum()), float(predictable.sum())

    def objective(discounts: np.ndarray) -> tuple[float, np.ndarray | None]:
        gradient = np.zeros_like(discounts)
        likelihood = discount_gradient(numbers, known, events, total, freed, types, discounts, gradient)
        return -likelihood / len(events), -gradient / len(events)

    return objective


def tune(start: np.ndarray, modified: bool, objective: Objective) -> np.ndarray:
    """Discounts (order, 4) near a local optimum of the objective, from ``start``; one D an order unless ``modified``.

    Discounts at their bounds, which Good-Turing estimates may be, begin a little inside.
    """
    from scipy.optimize import minimize

    order = len(start)
    width = 3 if modified else 1
    highest = np.tile(np.arange(1.0, width + 1), order) - _INSIDE

    def unpack(flat: np.ndarray) -> np.ndarray:
        discounts = np.zeros((order, 4))
        discounts[:, 1:] = flat.reshape(order, width)
        return discounts

    def value_and_slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(unpack(flat))
        if gradient is not None:
            columns = gradient[:, 1:]
            return value, (columns if modified else columns.sum(1, keepdims=True)).ravel()
        slope = np.empty_like(flat)
        for i in range(len(flat)):
            nudged = flat.copy()
            nudged[i] += 1e-4 if flat[i] + 1e-4 < highest[i] else -1e-4
            slope[i] = (objective(unpack(nudged))[0] - value) / (nudged[i] - flat[i])
        return value, slope

    first, bounds = np.clip(start[:, 1 : 1 + width].ravel(), _INSIDE, highest), [(_INSIDE, high) for high in highest]
    best = minimize(value_and_slope, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return unpack(best.x)
