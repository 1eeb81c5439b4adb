"""CombinedTransliterator: the candidates of a phrase model and of a neural one in one list, ranked by weighing both.

Every candidate has the score of the phrase model (where that did not find it, the worst score that it gave, and a
mark), the log probabilities of the neural models of either direction, which score whatever is proposed, and its number
of letters. The weights make right candidates likely on names that neither model has learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.engine import likelihood, mert
from corpuscle.errors import SettingError, warn
from corpuscle.model import ITEMS, Array, Arrays, Container, Inner, Kind
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.origin import error_about
from corpuscle.text.pairs import Pair
from corpuscle.text.vocab import Vocab
from corpuscle.text.wording import percent
from corpuscle.transliterate.base import Candidate, Transliterator
from corpuscle.transliterate.decoding import Weighted
from corpuscle.transliterate.neural import NeuralTransliterator
from corpuscle.transliterate.phrase import PhraseTransliterator
from corpuscle.transliterate.settings import CombinationSettings

COMBINED_FEATURES = ("phrase", "not by phrases", "left to right", "right to left", "letters")
"""What the weights belong to."""

_LOGS = np.array([True, False, True, True, False])
_START = np.array([0.5, 0.0, 0.5, 0.5, 0.0])


def _check(loaded: Container) -> None:
    settings = CombinedTransliterator.restored(loaded.described)
    for name in ("phrase", "neural"):
        part = loaded.component(name).settings
        if (part["units"], part["lowercase"]) != (settings.units, settings.lowercase):
            raise ValueError(f"its component {name!r} spells names in another way")


class CombinedTransliterator(CombinationSettings, Weighted, Transliterator):
    """Ranks the candidates of two models. Learned: ``phrase_``, ``neural_``, ``weights_`` float64 (5,)."""

    KIND: ClassVar[Kind] = Kind(
        "transliterate.combined",
        1,
        {"weights": Array("float64", (len(COMBINED_FEATURES),), finite=True), **ITEMS},
        {"phrase": (PhraseTransliterator.KIND,), "neural": (NeuralTransliterator.KIND,)},
        _check,
    )

    NEURAL = True
    FEATURES: ClassVar[tuple[str, ...]] = COMBINED_FEATURES
    MEANINGLESS: ClassVar = dict.fromkeys(
        ("sum", "beam", "precision"), "a combined model ranks finished lists: sum, beam and precision are not for it"
    )
    SAVED: ClassVar = {
        "phrase_": Inner("phrase", "corpuscle.transliterate:PhraseTransliterator"),
        "neural_": Inner("neural", "corpuscle.transliterate:NeuralTransliterator"),
        "weights_": Arrays("weights", copied=True),
    }

    phrase_: PhraseTransliterator = learned()
    neural_: NeuralTransliterator = learned()
    weights_: np.ndarray = learned()

    def fit(self, phrase: PhraseTransliterator, neural: NeuralTransliterator, dev: Sequence[Pair]) -> Self:
        """Find weights on names that neither model has learned from."""
        if not len(dev):
            raise error_about(dev, "the development pairs are empty, and there is nothing to tune on")
        for model in (phrase, neural):
            if (model.units, model.lowercase) != (self.units, self.lowercase):
                raise SettingError("both models must spell names alike: the same units, and lower case or not")
            if (share := model.overlap(dev)[0]) > 0.05:
                warn(f"{percent(share, 0)} of these names were in training pairs of a model: the weights will trust it")
        self.phrase_, self.neural_ = phrase, neural
        names = [pair.source for pair in dev]
        lists, features = self._pooled(names)
        right = [
            [target in {self.spelling.normal(each) for each in pair.targets} for target in targets]
            for pair, targets in zip(dev, lists, strict=True)
        ]
        filled = [i for i, targets in enumerate(lists) if targets]
        self.weights_ = _START.copy()
        pools = mert.Pools(
            starts_of([len(lists[i]) for i in filled]),
            np.concatenate([features[i] for i in filled] or [np.zeros((0, len(_START)))]),
            np.array([[float(good), 1.0] for i in filled for good in right[i]]).reshape(-1, 2),
        )
        if filled and likelihood.separates(pools):
            _, self.weights_ = likelihood.maximise(pools, _START, _LOGS)
        else:
            warn("the weights stay as they were before tuning: no name has right and wrong candidates")
        self._remember((), dev)
        self.items_ = np.unique(np.concatenate([phrase.items_, neural.items_]))
        self.provenance_ = {
            "pairs": phrase.provenance_["pairs"],
            "tuning_pairs": len(dev),
            "signature": self.signature(dev) + phrase.provenance_["signature"] + neural.provenance_["signature"],
        }
        return self

    def member(self, method: str) -> Any:
        return self.phrase_ if method == "phrase" else self.neural_

    def with_models(self, phrase: PhraseTransliterator, neural: NeuralTransliterator) -> Self:
        """These weights for other models of the same kinds, such as those learned from more names."""
        other = self.replace()
        other.phrase_, other.neural_, other.weights_ = phrase, neural, self.weights_
        other.items_ = np.unique(np.concatenate([phrase.items_, neural.items_]))
        other.tuning_items_ = self.tuning_items_
        other.provenance_ = self.provenance_ | {"pairs": phrase.provenance_["pairs"]}
        return other

    def _pooled(self, names: Sequence[str]) -> tuple[list[list[str]], list[np.ndarray]]:
        """The candidates of every name, and their features, float64 (n, 5)."""
        ours, theirs = (model.transliterate(names, self.candidates) for model in (self.phrase_, self.neural_))
        lists = [
            list(dict.fromkeys(found.target for found in (*one, *other)))
            for one, other in zip(ours, theirs, strict=True)
        ]
        logs = self.neural_.scores(names, lists)
        features = []
        for targets, found, neural in zip(lists, ours, logs, strict=True):
            scores = {candidate.target: candidate.score for candidate in found}
            worst = min(scores.values(), default=0.0)
            rows = [(scores.get(target, worst), target not in scores, 0.0, 0.0, len(target)) for target in targets]
            block = np.array(rows, np.float64).reshape(len(rows), len(COMBINED_FEATURES))
            block[:, 2:4] = neural
            features.append(block)
        return lists, features

    @property
    def known_letters(self) -> Vocab:
        return self.phrase_.known_letters

    def _written(self, names: list[str], n_best: int) -> list[list[Candidate]]:
        lists, features = self._pooled(names)
        result = []
        for targets, block in zip(lists, features, strict=True):
            ranked = sorted(zip(targets, (block @ self.weights_).tolist(), strict=True), key=lambda pair: -pair[1])
            result.append([Candidate(*each) for each in ranked[:n_best]])
        return result
