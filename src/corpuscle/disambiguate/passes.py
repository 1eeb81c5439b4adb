"""What disambiguators share that rank a second time: a full ranker inside, whose words and labels are theirs."""

from __future__ import annotations

from collections.abc import Sequence

from corpuscle import model as container
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.base import Disambiguator, Learning
from corpuscle.disambiguate.ranker import Ranker
from corpuscle.settings import learned
from corpuscle.text.treebank import Treebank

__all__ = ["SecondPass"]

_SHARED = ("elements_", "labels_", "lexicon_", "guesser_", "spelled_", "spelled_keys_", "spelled_ids_")


class SecondPass(Disambiguator):
    """Ranks what a ranker has ranked. Learned: ``first_ranker_``."""

    first_ranker_: Ranker = learned()

    def first_pass(self, bank: Treebank, table: Sequence[Entry] | None) -> tuple[Ranker, Learning]:
        """A full ranker with the same settings, which has yet to learn, and what it learns from."""
        known = Ranker().settings
        first = Ranker(**{name: value for name, value in self.settings.items() if name in known})
        return first, first.prepared(bank, table)

    def contain(self, first: Ranker) -> None:
        """Make what a ranker has learned about words that of this model."""
        self.first_ranker_ = first
        for name in _SHARED:
            setattr(self, name, getattr(first, name))
        self.items_, self.chosen_ = first.items_, {}

    def first(self) -> Ranker:
        """The ranker inside, with the same workers."""
        self.first_ranker_.workers, self.first_ranker_.cluster = self.workers, self.cluster
        return self.first_ranker_

    def _count_more(self, more: Learning) -> None:
        self.first_ranker_ = self.first_ranker_.updated(more.bank)

    def _extra(self) -> dict[str, object]:
        return {}

    def _components(self) -> dict[str, container.Part]:
        return {"first_ranker": self.first_ranker_.part()}

    def _restore(self, loaded: container.Container) -> None:
        self.contain(Ranker.from_container(loaded.component("first_ranker")))
