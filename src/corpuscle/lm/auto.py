"""The best model for a text: several are learned, mixed by their weights on a development text, and kept if they pay.

The candidates differ in what they know: modified Kneser-Ney and a power low rank ensemble of words, a Pitman-Yor model
where the text is small enough, an n-gram model of word classes, and a cache of the document so far. From the mixture of
all of them that one is dropped without which the development text loses least, again and again, as long as it
loses less than a thousandth of its perplexity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.cache import CacheModel
from corpuscle.lm.classes import ClassModel
from corpuscle.lm.mixture import Mixture, em_weights
from corpuscle.lm.ngram import NgramModel
from corpuscle.lm.pitman_yor import HpyModel
from corpuscle.lm.plre import PlreModel
from corpuscle.lm.settings import AutoSettings
from corpuscle.progress import clock
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.settings import TextSettings
from corpuscle.words import ExchangeClasses

PAYS = 1e-3
"""A part stays if perplexity would rise by this share without it."""
MOST_SAMPLED, SWEEPS = 5_000_000, 50
"""A Pitman-Yor model takes minutes for so many words."""
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order_ = self.order

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
        """Nobody knows yet what will be chosen, and hardly anything of it has an ARPA form."""
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
    """The size of a model."""
    own = sum(array.nbytes for array in part.arrays.values())
    return own + sum(map(_bytes, part.components.values()))
