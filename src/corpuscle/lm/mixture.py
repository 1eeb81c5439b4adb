"""Mixtures of language models, the cache that is meant for them, and the best mixture for a text.

    P(w | h) = sum_i weight_i P_i(w | h)

with weights learned by EM on a development text.
The models may have different vocabularies; the mixture knows the words that any of them knows. A model that lacks some
of them divides the probability of its unknown word evenly between those and the mixture's own unknown word, so that the
mixture, too, sums to one.

A cache expects the words of the document so far, the last ones with most weight, to come again. It learns only how
common words are; the other models of a mixture know what comes after what. It reads documents: those of the text, or
else what stands between empty sentences.

The best model for a text (``AutoModel``): several are learned, mixed, and kept if they pay. The candidates differ in
what they know: modified Kneser-Ney and a power low rank ensemble of words, a Pitman-Yor model where the text is small
enough, an n-gram model of word classes, and a cache of the document so far. From the mixture of all of them that one is
dropped without which the development text loses least, again and again, as long as it loses less than a thousandth of
its perplexity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.catalogue import TASKS, find
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.counting import add_boundaries
from corpuscle.errors import SettingError
from corpuscle.lm.base import Events, LanguageModel, documents_of, events_of
from corpuscle.lm.classes import ClassModel
from corpuscle.lm.kernels.scoring import cache_distribution, score_documents
from corpuscle.lm.ngram import NgramModel
from corpuscle.lm.pitman_yor import HpyModel
from corpuscle.lm.plre import PlreModel
from corpuscle.lm.settings import AutoSettings, CacheSettings
from corpuscle.progress import clock
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.settings import ReadingSettings, TextSettings
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab

_MAX_MODELS = 100
_SHARES = container.Array("float64", ("models",), low=0.0, high=1.0 + 1e-9, finite=True, sums="one")


def _components() -> dict[str, Any]:
    """Kind -> class of what a mixture is made of: every language model but itself."""
    return {kind: find(home) for kind, home in TASKS["lm"].kinds.items() if kind != Mixture.KIND.name}


def em_weights(probabilities: np.ndarray, passes: int = 1000, tolerance: float = 1e-8) -> np.ndarray:
    """The weights under which events with these probabilities, float64 (n_models, n_events), are most likely."""
    weights = np.full(len(probabilities), 1.0 / len(probabilities))
    for _ in range(passes):
        joint = weights[:, None] * probabilities
        before, weights = weights, (joint / joint.sum(0)).mean(1)
        if np.abs(weights - before).max() < tolerance:
            break
    return weights


class Mixture(LanguageModel):
    """A mixture of two or more models with the same boundary mode and preprocessing.

    Learned: ``weights_`` float64 (n_models,), ``vocab_``.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "lm.mixture", 1, {"weights": _SHARES, **container.ITEMS}, lambda extra: _kinds(extra), lambda file: _check(file)
    )
    SAVED: ClassVar = {"weights_": container.Arrays("weights", copied=True)}

    def __init__(self, models: Sequence[LanguageModel], *, passes: int = 1000, tolerance: float = 1e-8):
        if not 2 <= len(models) <= _MAX_MODELS:
            raise SettingError(f"a mixture has 2 to {_MAX_MODELS} models, not {len(models)}")
        first = models[0]
        if any(model.boundary != first.boundary for model in models):
            raise SettingError("the models of a mixture must have the same boundary")
        for name, value in first.reading.items():
            if any(model.reading[name] != value for model in models):
                raise SettingError(f"the models of a mixture must have the same {name}")
        super().__init__(workers=first.workers, cluster=first.cluster)
        self.models, self.passes, self.tolerance = list(models), passes, tolerance
        self.order_ = max(model.order_ for model in models)
        self.boundary = first.boundary
        self.by_document = any(model.by_document for model in models)
        self.vocab_ = Vocab.from_words(dict.fromkeys(word for model in models for word in model.vocab_.strings[FIRST:]))
        self.weights_ = np.full(len(models), 1.0 / len(models))
        self.items_ = np.unique(np.concatenate([model.items_ for model in models]))
        self.tuning_items_ = np.unique(np.concatenate([model.tuning_items_ for model in models]))
        # each model with the words of the mixture in it, UNKNOWN for those that share the probability of that
        self._parts = [(model, model.vocab_.mapping_from(self.vocab_)) for model in models]

    @property
    def reading(self) -> dict[str, Any]:
        return self.models[0].reading

    def fit(self, dev: Corpus) -> Mixture:
        """Find the weights under which a development text is most likely."""
        probabilities = np.exp(self.component_logs(dev.filled("development text")))
        probabilities = probabilities[:, probabilities.sum(0) > 0]
        if probabilities.size == 0:
            raise dev.error("no model gives anything in the development text a probability")
        items = [*(model.tuning_items_ for model in self.models), item_hashes(dev)]
        self.tuning_items_ = np.unique(np.concatenate(items))
        self.weights_ = em_weights(probabilities, self.passes, self.tolerance)
        return self

    def component_logs(self, corpus: Corpus) -> np.ndarray:
        """log P of every event of a text under each model, float64 (n_models, n_events)."""
        logs, corpus = [], corpus.recode(self.vocab_)
        for model, ids in self._parts:
            inner = corpus.map_tokens(ids, model.vocab_)
            events, lacking = model.events(inner), inner.tokens == UNKNOWN
            if self.boundary != "none":
                lacking = events_of(corpus, lacking)
            logs.append(events.log_probability + np.where(lacking, np.log(1.0 / np.count_nonzero(ids == UNKNOWN)), 0.0))
        return np.array(logs)

    def _events(self, corpus: Corpus) -> Events:
        logs = self.component_logs(corpus)
        # Summed model by model: the rounding of a matrix product depends on the neighbours of an event.
        shares = (weight * np.exp(of_model) for weight, of_model in zip(self.weights_, logs, strict=True))
        with np.errstate(divide="ignore"):
            return self._scored(corpus, np.log(sum(shares, 0.0)))

    def _distribution(self, context: list[str]) -> np.ndarray:
        total = np.zeros(len(self.vocab_))
        for weight, (model, ids) in zip(self.weights_, self._parts, strict=True):
            here = model.distribution(context)[ids]
            here[ids == UNKNOWN] *= 1.0 / np.count_nonzero(ids == UNKNOWN)
            total += weight * here
        return total

    def _extra(self) -> dict[str, int]:
        return {"models": len(self.models)}

    def _components(self) -> dict[str, container.Part]:
        return {str(i): model.part() for i, model in enumerate(self.models)}

    @classmethod
    def restored_from(cls, loaded: container.Container) -> Mixture:
        """A mixture of the models of a file, without their weights."""
        classes = _components()
        parts = [loaded.component(str(i)) for i in range(loaded.extra["models"])]
        return cls([classes[part.kind].from_container(part) for part in parts])


def _kinds(extra: Any) -> dict[str, tuple[container.Kind, ...]]:
    size = extra["models"]
    if type(size) is not int or not 2 <= size <= _MAX_MODELS:
        raise ValueError(f"a mixture of {size!r} models")
    return dict.fromkeys(map(str, range(size)), tuple(model.KIND for model in _components().values()))


def _check(loaded: container.Container) -> None:
    settings = [header["settings"] for header in loaded.header["components"].values()]
    for name in ("boundary", *ReadingSettings.SETTINGS):
        if any(setting.get(name, [None])[0] != settings[0].get(name, [None])[0] for setting in settings):
            raise ValueError(f"the models of a mixture must have the same {name}")


class CacheModel(CacheSettings, LanguageModel):
    """A cache of the document so far.

    Learned: ``vocab_``, ``base_`` float64 (n_types,): how common every word is, before a document has begun.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "lm.cache", 1, {**container.VOCAB, **container.ITEMS, "base": replace(_SHARES, shape=("types+3",))}
    )
    SAVED: ClassVar = {"vocab_": container.Record(Vocab), "base_": container.Arrays("base")}

    DRAWS = False
    by_document = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order_, self._decay = 1, 0.5 ** (1.0 / self.half_life)

    def fit(self, corpus: Corpus) -> CacheModel:
        """Learn how common words are; what may be predicted has been seen once more than in the text."""
        corpus = self._take(corpus)
        counts = np.bincount(corpus.tokens, minlength=len(self.vocab_)) + 1.0
        counts[END] += len(corpus)
        counts[~self._predictable] = 0.0
        self.base_ = counts / counts.sum()
        return self

    def _events(self, corpus: Corpus) -> Events:
        symbols, starts = corpus.tokens, corpus.sentence_starts
        if self.boundary != "none":
            symbols = add_boundaries(symbols, starts, 0, START, END)
            starts = starts + np.arange(len(corpus) + 1)
        out, documents = np.empty(len(symbols)), frozen(starts[documents_of(corpus)], np.int64)
        symbols, base = frozen(symbols, np.int32), frozen(self.base_, np.float64)
        score_documents(symbols, documents, self._decay, self.strength, base, out)
        return self._scored(corpus, out)

    def _distribution(self, context: list[str]) -> np.ndarray:
        ids = self.vocab_.encode(context[1:] if self._begins(context) else context)
        return cache_distribution(ids, self._decay, self.strength, self.base_)

    def summary(self) -> dict[str, Any]:
        return {"order": self.order_, "half_life": self.half_life, "strength": self.strength}


PAYS = 1e-3
"""A part stays if perplexity would rise by this share without it."""
MOST_SAMPLED, SWEEPS = 5_000_000, 50
"""The most words for which a Pitman-Yor model is tried, which then takes minutes, and its sweeps."""
CLASSES, PASSES = 256, 5
"""Of the class n-gram."""


class AutoModel(AutoSettings, LanguageModel):
    """A mixture of the models that pay, or the one that does.

    Learned: ``best_``, the model, which is what is saved; ``parts_``: what each candidate does for it.
    """

    KIND: ClassVar[container.Kind] = Mixture.KIND
    TUNES = True
    by_document = True  # it may be, until it is known which models pay
    best_: LanguageModel = learned()
    parts_: dict[str, dict[str, float]] = learned()

    @property
    def method_name(self) -> str:
        return "auto"

    def fit(self, corpus: Corpus, dev: Corpus | None = None) -> AutoModel:
        """Learn all candidates from a text, and choose on a development text."""
        if dev is None:
            raise SettingError("method auto needs a development text to choose on")
        if self.boundary == "none":
            raise SettingError("method auto reads sentences: boundary is one of single, pad; not 'none'")
        self._take(corpus)
        self._take_dev(dev)
        models: dict[str, LanguageModel] = {}
        self.parts_ = {}
        for name, learn in self._candidates(corpus, dev).items():
            begin = clock()
            models[name] = learn()
            learned_at = clock()
            events = models[name].events(dev)
            speed = len(events.log_probability) / max(clock() - learned_at, 1e-9)
            self.parts_[name] = {"seconds": learned_at - begin, "words_per_second": speed}
        self._choose(models, dev)
        return self

    def _candidates(self, corpus: Corpus, dev: Corpus) -> dict[str, Callable[[], LanguageModel]]:
        """Name -> what learns it."""
        orders = {name: getattr(self, name) for name in self.SETTINGS}
        words = {name: value for name, value in orders.items() if name != "order"}
        found: dict[str, Callable[[], LanguageModel]] = {
            "mkn": lambda: NgramModel(**orders).fit(corpus, dev),
            "plre": lambda: PlreModel(**orders).fit(corpus, dev),
            "class": lambda: self._class_model(corpus, orders),
            "cache": lambda: CacheModel(**words).fit(corpus),
        }
        if corpus.n_tokens <= MOST_SAMPLED:
            found["hpy"] = lambda: HpyModel(sweeps=SWEEPS, **orders).fit(corpus)
        return found

    def _class_model(self, corpus: Corpus, orders: dict[str, Any]) -> ClassModel:
        from corpuscle.words import ExchangeClasses

        same = {name: getattr(self, name) for name in ("min_count", "workers", *TextSettings.SETTINGS)}
        classes = ExchangeClasses(classes=CLASSES, passes=PASSES, seed=self.seed, **same).fit(corpus)
        return ClassModel(classes.as_dict(), NgramModel(**{**orders, "min_count": 1})).fit(corpus)

    def _choose(self, models: dict[str, LanguageModel], dev: Corpus) -> None:
        """Mix the models, drop those that do not pay, and note what each of them does."""
        logs = Mixture(list(models.values())).component_logs(dev)
        possible = np.isfinite(logs).any(0)
        if not possible.any():
            raise dev.error("no model gives anything in the development text a probability")
        probabilities = np.exp(logs[:, possible])
        live = list(range(len(models)))
        whole = _likelihood(probabilities, live)
        while len(live) > 1:
            without = {i: _likelihood(probabilities, [other for other in live if other != i]) for i in live}
            least = max(without, key=lambda i: without[i])
            if np.expm1(whole - without[least]) >= PAYS:
                break
            live.remove(least)
            whole = without[least]
        weights = dict(zip(live, em_weights(probabilities[live]).tolist(), strict=True))
        for i, (part, model) in enumerate(zip(self.parts_.values(), models.values(), strict=True)):
            rest = [other for other in live if other != i]
            pays = np.expm1(whole - _likelihood(probabilities, rest)) if i in live and rest else 0.0
            part |= {"perplexity": float(np.exp(-np.log(probabilities[i]).mean())), "weight": weights.get(i, 0.0)}
            part |= {"contribution": float(pays), "bytes": _bytes(model.part())}
        chosen = [model for i, model in enumerate(models.values()) if i in live]
        self.best_ = chosen[0] if len(chosen) == 1 else Mixture(chosen).fit(dev)
        self.vocab_, self.by_document = self.best_.vocab_, self.best_.by_document

    def summary(self) -> dict[str, Any]:
        return {"order": self.order_, "parts": self.parts_}

    def as_ngram(self) -> NgramModel:
        """The model as a back-off model, where that is exact."""
        return self.best_.as_ngram()

    def check_arpa(self) -> None:
        # what will be chosen is not known yet, and most of the candidates have no ARPA form
        raise SettingError("a model of method auto has no ARPA form")

    def _events(self, corpus: Corpus) -> Events:
        return self.best_._events(corpus)

    def _distribution(self, context: list[str]) -> np.ndarray:
        return self.best_._distribution(context)

    def part(self) -> container.Part:
        """The model that was chosen, as it goes into a file."""
        return self.best_.part()


def _likelihood(probabilities: np.ndarray, which: list[int]) -> float:
    """The mean log probability of the events under the best mixture of some models."""
    weights = em_weights(probabilities[which], tolerance=1e-5)
    with np.errstate(divide="ignore"):
        return float(np.log(weights @ probabilities[which]).mean())


def _bytes(part: container.Part) -> int:
    own = sum(array.nbytes for array in part.arrays.values())
    return own + sum(map(_bytes, part.components.values()))
