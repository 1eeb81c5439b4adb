"""Baselines: the most frequent analysis of a form, and the first one that its analyser names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.base import ARRAYS, Disambiguator, Learning, added, check_labels
from corpuscle.disambiguate.counts import COUNTS, Counts, columns_for
from corpuscle.disambiguate.lists import Ranking, ranked, text_of
from corpuscle.disambiguate.settings import BaselineSettings
from corpuscle.disambiguate.weight_fitting import shares_of
from corpuscle.settings import learned
from corpuscle.text.treebank import Treebank

_FREQUENCY = columns_for("uni", 0, free=False, shares=False)


class BaselineDisambiguator(BaselineSettings, Disambiguator):
    """The most frequent analysis of a form, or the first one; ``counts_``: of forms with labels."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "disambiguate.baseline", 1, {**ARRAYS, **COUNTS}, check=lambda loaded: _check(loaded)
    )
    SAVED: ClassVar = {**Disambiguator.SAVED, "counts_": container.Record(Counts)}

    counts_: Counts = learned()

    def fit(self, bank: Treebank, table: Sequence[Entry] | None = None) -> BaselineDisambiguator:
        """Learn from the analyses of a treebank, and a table of candidates if the analyser is one."""
        learning = self.prepared(bank, table)
        self.lexicon_, self.guesser_ = self.analysers_of(learning)
        self.counts_ = Counts.of(learning.text.contexts, learning.gold, learning.values, _FREQUENCY)
        self.provenance_ = {
            "sentences": len(bank), "words": len(learning.gold), "labels": len(learning.values),
            "elements": list(self.elements_),
        }  # fmt: skip
        return self

    def _count_more(self, more: Learning) -> None:
        self.counts_ = added(self.counts_, more.text.contexts, more, _FREQUENCY)

    def rank(self, bank: Treebank) -> Ranking:
        """The analyses of every word, the most frequent first (``frequency``), or as they come, all as likely."""
        text = text_of(self.words_of(bank), self.strip_vowels)
        lists = self.lists_of(text)
        counts = self.counts_.look_up(lists.rows, text.contexts, lists.values, _FREQUENCY)[:, 0]
        if self.method == "first":
            counts = np.zeros_like(counts)
        return ranked(lists, counts, counts, shares_of(np.log(counts + 0.5), lists.rows.starts))


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    check_labels(loaded)
    BaselineDisambiguator.restored(loaded.described)
