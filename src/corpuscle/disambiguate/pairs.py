"""PairRanker: lemmas ranked by one model, all other elements together by another; a pair need not be a candidate.

The probability of a pair is the product of the two, so that the second best pair is the better one of the best lemma
with the second best rest and of the second best lemma with the best rest.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
table 5 (M_ind).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.base import ARRAYS, Disambiguator, Learning, check_labels
from corpuscle.disambiguate.lists import Ranking
from corpuscle.disambiguate.ranker import Ranker
from corpuscle.disambiguate.settings import PairSettings
from corpuscle.errors import SettingError
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank


class PairRanker(PairSettings, Disambiguator):
    """Ranks lemmas and all other elements one by one. Learned: ``lemma_ranker_``, ``rest_ranker_``."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.pairs",
        1,
        ARRAYS,
        components={"lemma_ranker": (Ranker.KIND,), "rest_ranker": (Ranker.KIND,)},
        check=lambda loaded: _check(loaded),
    )
    SAVED: ClassVar = {
        **Disambiguator.SAVED,
        "lemma_ranker_": container.Inner("lemma_ranker", "corpuscle.disambiguate:Ranker"),
        "rest_ranker_": container.Inner("rest_ranker", "corpuscle.disambiguate:Ranker"),
    }

    lemma_ranker_: Ranker = learned()
    rest_ranker_: Ranker = learned()

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> PairRanker:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        learning = self.prepared(bank, table)
        if "lemma" not in self.elements_ or len(self.elements_) == 1:
            raise SettingError("lemmas and all else are ranked one by one: analyses need a lemma and something else")
        self.lexicon_, self.guesser_ = self.analysers_of(learning)
        rest = tuple(name for name in self.elements_ if name != "lemma")
        self.lemma_ranker_, self.rest_ranker_ = (
            Ranker(**(self.settings | {"elements": elements})).fit(bank, table) for elements in (("lemma",), rest)
        )
        self.provenance_ = {
            **self.rest_ranker_.provenance_, "labels": len(self.labels_.strings) - 3, "elements": list(self.elements_),
            "counts": sum(each.provenance_["counts"] for each in (self.lemma_ranker_, self.rest_ranker_)),
            "weights": sum(each.provenance_["weights"] for each in (self.lemma_ranker_, self.rest_ranker_)),
        }  # fmt: skip
        return self

    def _count_more(self, more: Learning) -> None:
        self.lemma_ranker_ = self.lemma_ranker_.updated(more.bank)
        self.rest_ranker_ = self.rest_ranker_.updated(more.bank)

    def rank(self, bank: Treebank) -> Ranking:
        """All pairs of a lemma and a rest of every word, the likeliest first."""
        for each in (self.lemma_ranker_, self.rest_ranker_):
            each.workers, each.cluster = self.workers, self.cluster
        lemmas, rests = self.lemma_ranker_.rank(bank), self.rest_ranker_.rank(bank)
        n_lemmas, n_rests = np.diff(lemmas.starts), np.diff(rests.starts)
        starts = starts_of(n_lemmas * n_rests)
        item = np.repeat(np.arange(len(n_lemmas)), n_lemmas * n_rests)
        inside = np.arange(starts[-1]) - starts[:-1][item]
        one, other = lemmas.starts[item] + inside // n_rests[item], rests.starts[item] + inside % n_rests[item]
        shares = lemmas.probabilities[one] * rests.probabilities[other]
        keys = lemmas.labels[one].astype(np.int64) * len(rests.names) + rests.labels[other]
        kinds, labels = np.unique(keys, return_inverse=True)
        place, names = self.elements_.index("lemma"), []
        for key in kinds.tolist():
            values = rests.names[key % len(rests.names)].split("\t")
            values.insert(place, lemmas.names[key // len(rests.names)])
            names.append("\t".join(values))
        order = np.lexsort((inside, -shares, item))
        return Ranking(starts, labels.ravel()[order].astype(np.int32), shares[order], names)


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    elements = check_labels(loaded)
    PairRanker.restored(loaded.described)
    parts = [loaded.component(name).extra["elements"] for name in ("lemma_ranker", "rest_ranker")]
    if parts != [["lemma"], [name for name in elements if name != "lemma"]] or len(elements) < 2:
        raise ValueError("its parts do not fit its elements")
