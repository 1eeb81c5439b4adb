"""The settings of word classes and word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting
from corpuscle.text.settings import TextSettings

if TYPE_CHECKING:
    from corpuscle.text.corpus import Corpus
    from corpuscle.words.forests import Forest

__all__ = [
    "LAYERS", "STARTS", "STRUCTURES", "BrownSettings", "ClassSettings", "ExchangeSettings", "LrmvlSettings",
    "OsccaSettings", "PpmiSettings", "StructureSettings", "SvdSettings", "TsccaSettings", "VectorSettings",
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


class VectorSettings(TextSettings, Seeded, Parallel):
    """What all methods of word vectors share."""

    dimensions: int = setting("How many numbers a vector has.", default=100, low=1, high=10_000)
    min_count: int = setting("Rarer words have no vectors of their own.", default=5, low=1)
    max_types: int | None = setting("Keep only so many of the most frequent words.", default=None, low=1)
    rare: str = setting(
        "What rarer words are: one unknown word, or classes of words that look alike.",
        default="unknown",
        choices=("unknown", "signature"),
    )
    exponent: float = setting("Directions count by this power of their singular values.", default=0.5, low=0, high=4)
    common: int | None = setting(
        "Remove the mean of all vectors and so many of their main directions; 0: neither.",
        default=None,
        low=0,
        shown="a fiftieth of the dimensions",
    )
    spelling: float = setting("How much the spelling of a word says about its vector.", default=1.0, low=0)

    @property
    def directions(self) -> int:
        """How many common directions are removed."""
        return self.dimensions // 50 if self.common is None else self.common

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directions >= self.dimensions:
            raise SettingError(f"removing {self.directions} common directions of {self.dimensions} leaves nothing")


class RoundsSettings(VectorSettings):
    """A method that factors one large matrix."""

    drop_first: int = setting("Leave out so many of the first directions.", default=0, low=0)
    rounds: int = setting("Rounds of the singular value decomposition; more are more exact.", default=16, low=4)


class NearSettings(RoundsSettings):
    """A method that counts what stands near a word, whatever its exact place."""

    window: int = setting("How far the window reaches on either side.", default=5, low=1, high=1000)
    weighting: str = setting(
        "How much a word counts by its distance d: 1, falling to 0 in a line, or 1/d.",
        default="linear",
        choices=("flat", "linear", "harmonic"),
    )
    subsample: float = setting(
        "Words that are a larger share of the text count only in part, and stand in no one's way; 0: no such share.",
        default=1e-4,
        low=0,
        high=1,
    )


class PpmiSettings(NearSettings):
    """Settings of positive pointwise mutual information."""

    exponent: float = setting("Directions count by this power of their singular values.", default=0.25, low=0, high=4)
    smoothing: float = setting("Contexts count by this power of their frequency.", default=0.75, above=0, high=1)
    negative: float = setting(
        "Only what occurs this many times more often than by chance counts.", default=2.0, above=0, high=1000
    )


class SvdSettings(NearSettings):
    """Settings of the decomposition of plain counts."""

    power: float = setting("Take this power of all counts; 0.5 is their square root.", default=1.0, above=0, high=1)


class TsccaSettings(RoundsSettings):
    """Settings of canonical correlation, left against right contexts first."""

    window: int = setting("How many words on either side.", default=2, low=1, high=100)
    power: float = setting("Take this power of all counts; 0.5 is their square root.", default=0.5, above=0, high=1)
    kappa: float = setting("Add so much to the count of every word, against rare ones.", default=1.0, low=0)


class OsccaSettings(TsccaSettings):
    """Settings of canonical correlation of words with their contexts."""

    bag: bool = setting("Words on either side count alike wherever they stand.", default=False)


class LrmvlSettings(VectorSettings):
    """Settings of LR-MVL: left and right contexts of all lengths, smoothed."""

    rates: tuple[float, ...] = setting(
        "How fast contexts are forgotten, one or more.", default=(0.25, 0.5), above=0, high=1
    )
    passes: int = setting("At most so many passes over the text.", default=10, low=1)
    last: str = setting(
        "Vectors in the end: means over the tokens of a word, or canonical directions.",
        default="mean",
        choices=("mean", "cca"),
    )
