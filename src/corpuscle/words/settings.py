"""The settings of word classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.settings import Parallel, Seeded, setting
from corpuscle.text.settings import TextSettings

if TYPE_CHECKING:
    from corpuscle.text.corpus import Corpus
    from corpuscle.words.forests import Forest

__all__ = [
    "LAYERS", "STARTS", "STRUCTURES", "BrownSettings", "ClassSettings", "ExchangeSettings", "StructureSettings",
]  # fmt: skip

STRUCTURES = ("chain", "tree")
LAYERS = ("form", "lemma", "form/tag", "lemma/tag")

STARTS = ("best", "frequent", "cyclic", "random")


class StructureSettings(TextSettings):
    """A learner that reads running text, where the parent of a word is its left neighbour, or treebanks."""

    structure: str = setting(
        "The parent of a word: its left neighbour, or its head in a CoNLL-U file.", default="chain", choices=STRUCTURES
    )
    layer: str = setting("What a word of a CoNLL-U file is.", default="form", choices=LAYERS)

    def read(self, *paths: Any) -> Corpus | Forest:  # type: ignore[override]
        """Files as a text of this learner: plain text as a Corpus, treebanks as a Forest."""
        from corpuscle.words.forests import read_forest

        return read_forest(paths, self.structure, self.layer, self.preprocessing)


class ClassSettings(StructureSettings, Parallel):
    """Settings of learners that give every word one class."""

    classes: int = setting("How many classes.", default=100, low=1)
    min_count: int = setting("Rarer words are one type, the unknown word.", default=1, low=1)
    max_types: int | None = setting("Keep only so many of the most frequent words.", default=None, low=1)


class ExchangeSettings(ClassSettings, Seeded):
    """Settings of the exchange algorithm."""

    passes: int = setting("At most so many passes over the words.", default=15, low=0)
    start: str = setting("Where words are at first; best tries frequent and cyclic.", default="best", choices=STARTS)


class BrownSettings(ClassSettings):
    """Settings of Brown clustering."""

    passes: int = setting("Then exchange words between the classes, in at most so many passes.", default=0, low=0)
