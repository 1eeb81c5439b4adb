"""A linear mixture of language models, its weights learned by EM on a development text.

    P(w | h) = sum_i weight_i P_i(w | h)

The models may have different vocabularies; the mixture knows the words that any of them knows. A model that lacks some
of them divides the probability of its unknown word evenly between those and the mixture's own unknown word, so that the
mixture, too, sums to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.catalogue import TASKS, find
from corpuscle.errors import SettingError
from corpuscle.lm.base import Events, LanguageModel, events_of
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes
from corpuscle.text.settings import ReadingSettings
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

_MAX_MODELS = 100


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
        "lm.mixture",
        1,
        {"weights": container.Array("float64", ("models",), low=0.0, high=1.0 + 1e-9, finite=True)} | container.ITEMS,
        components=lambda extra: dict.fromkeys(
            map(str, range(_size(extra))), tuple(model.KIND for model in _components().values())
        ),
        check=lambda loaded: _check(loaded),
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
        # The words of the mixture in each model; those that it lacks, and the share of its unknown word that they get.
        self._ids = [model.vocab_.mapping_from(self.vocab_) for model in models]
        self._foreign = [ids == UNKNOWN for ids in self._ids]
        self._share = [1.0 / np.count_nonzero(foreign) for foreign in self._foreign]

    @property
    def reading(self) -> dict[str, Any]:
        return self.models[0].reading

    def fit(self, dev: Corpus) -> Mixture:
        """Find the weights under which a development text is most likely."""
        if dev.n_tokens == 0:
            raise dev.error("the development text is empty")
        probabilities = np.exp(self.component_logs(dev))
        probabilities = probabilities[:, probabilities.sum(0) > 0]
        if probabilities.size == 0:
            raise dev.error("no model gives anything in the development text a probability")
        items = [*(model.tuning_items_ for model in self.models), item_hashes(dev)]
        self.tuning_items_ = np.unique(np.concatenate(items))
        self.weights_ = em_weights(probabilities, self.passes, self.tolerance)
        return self

    def component_logs(self, corpus: Corpus) -> np.ndarray:
        """log P of every event of a text under each model, float64 (n_models, n_events)."""
        return self._component_logs(corpus.recode(self.vocab_))[0]

    def _component_logs(self, corpus: Corpus) -> tuple[np.ndarray, Events]:
        """log P_i of every event, float64 (n_models, n_events); and the events of the mixture without probabilities."""
        logs, events = [], None
        for model, ids, foreign, share in zip(self.models, self._ids, self._foreign, self._share, strict=True):
            events = model.events(corpus.map_tokens(ids, model.vocab_))
            lacking = foreign[corpus.tokens]
            if self.boundary != "none":
                lacking = events_of(corpus, lacking)
            logs.append(events.log_probability + np.where(lacking, np.log(share), 0.0))
        assert events is not None
        unknown = corpus.tokens == UNKNOWN
        if self.boundary != "none":
            unknown = events_of(corpus, unknown)
        return np.array(logs), events._replace(unknown=unknown)

    def _events(self, corpus: Corpus) -> Events:
        logs, events = self._component_logs(corpus)
        # Added up model by model: a product of matrices rounds an event by what stands beside it.
        shares = (weight * np.exp(of_model) for weight, of_model in zip(self.weights_, logs, strict=True))
        probability = sum(shares, 0.0)
        with np.errstate(divide="ignore"):
            return events._replace(log_probability=np.log(probability))

    def _distribution(self, context: list[str]) -> np.ndarray:
        total = np.zeros(len(self.vocab_))
        parts = zip(self.weights_, self.models, self._ids, self._foreign, self._share, strict=True)
        for weight, model, ids, foreign, share in parts:
            inner = model.distribution(context)
            here = inner[ids]
            here[foreign] = inner[UNKNOWN] * share
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


def _size(extra: Any) -> int:
    size = extra["models"]
    if type(size) is not int or not 2 <= size <= _MAX_MODELS:
        raise ValueError(f"a mixture of {size!r} models")
    return size


def _check(loaded: container.Container) -> None:
    if abs(float(loaded.arrays["weights"].sum()) - 1.0) > 1e-6:
        raise ValueError("the weights of a mixture must sum to one")
    settings = [header["settings"] for header in loaded.header["components"].values()]
    for name in ("boundary", *ReadingSettings.SETTINGS):
        if any(setting.get(name, [None])[0] != settings[0].get(name, [None])[0] for setting in settings):
            raise ValueError(f"the models of a mixture must have the same {name}")
