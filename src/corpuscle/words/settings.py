"""The settings of word classes and word vectors.

What several methods have is declared once, in classes beside one another; the settings of a method are made of them.
"""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting
from corpuscle.text.settings import TextSettings

STARTS = ("best", "frequent", "cyclic", "random")
WAYS = ("count", "emission", "share", "lift")
"""What words of a class are chosen by, see ``HmmClasses.words_of``."""
MEASURES = ("hellinger", "js", "kl", "cosine")


class StructureSettings(Settings):
    """A learner that reads running text, where the parent of a word is its left neighbour, or treebanks."""

    structure: str = setting(
        "The parent of a word: its left neighbour, or its head in a CoNLL-U file.",
        default="chain", choices=("chain", "tree"),
    )  # fmt: skip
    layer: str = setting(
        "What a word of a CoNLL-U file is.", default="form", choices=("form", "lemma", "form/tag", "lemma/tag")
    )

    def read(self, *paths: Any) -> Any:
        """Files as a text of this learner: plain text as a ``Corpus``, treebanks as a ``Forest``."""
        from corpuscle.words.forests import read_forest

        return read_forest(paths, self.structure, self.layer, self.preprocessing)  # type: ignore[attr-defined]


class ClassSettings(Settings):
    """Settings of learners that give every word one class."""

    classes: int = setting("How many classes.", default=100, low=1, high=10_000)
    min_count: int = setting("Rarer words are one type, the unknown word.", default=1, low=1, high=10**9)
    max_types: int | None = setting("Keep only the N most frequent words.", default=None, low=1, high=10**9)


class ExchangeSettings(ClassSettings, StructureSettings, TextSettings, Parallel, Seeded):
    """Settings of the exchange algorithm."""

    passes: int = setting("At most so many passes over the words.", default=15, low=0, high=10**9)
    start: str = setting("Where words are at first; best tries frequent and cyclic.", default="best", choices=STARTS)


class BrownSettings(ClassSettings, StructureSettings, TextSettings, Parallel):
    """Settings of Brown clustering."""

    passes: int = setting("At most N passes that exchange words after the merging.", default=0, low=0, high=10**9)


class VectorSettings(Settings):
    """What all methods of word vectors share."""

    dimensions: int = setting("How many numbers a vector has.", default=100, low=1, high=10_000)
    min_count: int = setting("Rarer words have no vectors of their own.", default=5, low=1, high=10**9)
    max_types: int | None = setting("Keep only the N most frequent words.", default=None, low=1, high=10**9)
    rare: str = setting(
        "What rarer words are: one unknown word, or classes of words that look alike.",
        default="unknown",
        choices=("unknown", "signature"),
    )
    exponent: float = setting("Directions count by this power of their singular values.", default=0.5, low=0, high=4)
    common: int | None = setting(
        "Remove the mean of all vectors and their N main directions; 0: neither.",
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


class FactorSettings(Settings):
    """A method that factors one large matrix."""

    drop_first: int = setting("Leave out the first N directions.", default=0, low=0)
    rounds: int = setting("Rounds of the singular value decomposition; more are more exact.", default=16, low=4)


class WindowSettings(Settings):
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


class PpmiSettings(WindowSettings, FactorSettings, VectorSettings, TextSettings, Seeded, Parallel):
    """Settings of positive pointwise mutual information."""

    exponent: float = setting("Directions count by this power of their singular values.", default=0.25, low=0, high=4)
    smoothing: float = setting("Contexts count by this power of their frequency.", default=0.75, above=0, high=1)
    negative: float = setting("Count what is N times more frequent than by chance.", default=2.0, above=0, high=1000)


class SvdSettings(WindowSettings, FactorSettings, VectorSettings, TextSettings, Seeded, Parallel):
    """Settings of the decomposition of plain counts."""

    power: float = setting("Take this power of all counts; 0.5 is their square root.", default=1.0, above=0, high=1)


class CanonicalSettings(Settings):
    """A method that correlates words with the words at fixed places around them."""

    window: int = setting("How many words on either side.", default=2, low=1, high=100)
    power: float = setting("Take this power of all counts; 0.5 is their square root.", default=0.5, above=0, high=1)
    kappa: float = setting("Added to the count of every word, against rare ones.", default=1.0, low=0)


class TsccaSettings(CanonicalSettings, FactorSettings, VectorSettings, TextSettings, Seeded, Parallel):
    """Settings of canonical correlation, left against right contexts first."""


class OsccaSettings(CanonicalSettings, FactorSettings, VectorSettings, TextSettings, Seeded, Parallel):
    """Settings of canonical correlation of words with their contexts."""

    bag: bool = setting("Words on either side count alike wherever they stand.", default=False)


class LrmvlSettings(VectorSettings, TextSettings, Seeded, Parallel):
    """Settings of LR-MVL: left and right contexts of all lengths, smoothed."""

    rates: tuple[float, ...] = setting("Rates at which contexts are forgotten.", default=(0.25, 0.5), above=0, high=1)
    passes: int = setting("At most N passes over the text.", default=10, low=1, high=10**9)
    last: str = setting(
        "Vectors in the end: means over the tokens of a word, or canonical directions.",
        default="mean",
        choices=("mean", "cca"),
    )


class HmmSettings(StructureSettings, TextSettings, Seeded, Parallel):
    """Settings of hidden Markov models."""

    classes: int = setting("How many classes.", default=128, low=1, high=10_000)
    init: str = setting(
        "Where learning begins: classes of another method, or random.",
        default="exchange", choices=("exchange", "brown", "random"),
    )  # fmt: skip
    estimator: str = setting(
        "Learn from all the text at once (batch) or from some of it at a time (online).",
        default="auto", choices=("auto", "batch", "online"), shown="online from 100,000 tokens on",
    )  # fmt: skip
    passes: int | None = setting("At most N passes.", default=None, low=0, high=100_000, shown="50; online 10")
    tolerance: float = setting("Relative gain of log-likelihood at which batch learning ends.", default=1e-5, low=0.0)
    k_best: int | str | None = setting(
        "Keep only the N likeliest classes of a message.",
        default=None, low=1, words=("all",), shown="16 from 64 classes on, else all",
    )  # fmt: skip
    epsilon: float = setting("Greatest share of a message that may be dropped.", default=0.0, low=0.0, below=1.0)
    split: int | None = setting("Begin with N classes; double them.", default=None, low=1, shown="all classes at once")
    noise: float = setting("Relative change of the words of a class that is split.", default=0.05, low=0.0, below=1.0)
    decay: float = setting("Batch t of online learning counts 1 / (delay + t)^decay.", default=0.6, low=0.5, high=1.0)
    delay: float = setting("See --decay.", default=4.0, low=0.0, high=1e6)
    batch_tokens: int = setting("How many tokens a batch of online learning has.", default=10_000, low=1)
    floor: float = setting("Zeros of given classes become this part of the largest.", default=1e-5, low=0.0, below=1.0)
    prior: float = setting("Of every word in every class, as a count.", default=0.01, low=0.0, high=1e3)
    prior_steps: float = setting("Of every class after every class, as a count.", default=0.3, low=0.0, high=1e3)
    labelled: bool = setting("Trees: a table of transitions for every relation that is not rare.", default=False)
    max_length: int | None = setting("Longer sentences are not learned from.", default=None, low=1)
    min_count: int = setting("Rarer words are one type, the unknown word.", default=1, low=1, high=10**9)
    max_types: int | None = setting("Keep only the N most frequent words.", default=25_000, low=1, high=10**9)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labelled and self.structure != "tree":
            raise SettingError("labelled means nothing for chains: relations are those of trees (structure tree)")
        if self.split is not None and self.classes not in {self.split << times for times in range(14)}:
            raise SettingError(f"{self.split} classes, doubled, never are {self.classes}")


class MeaningSettings(Settings):
    """How meanings, which are distributions over the classes of a hidden Markov model, are compared."""

    measure: str = setting(
        "How alike two distributions are: Hellinger distance, Jensen-Shannon or symmetric Kullback-Leibler divergence, "
        "all negative, or cosine.",
        default="hellinger", choices=MEASURES,
    )  # fmt: skip
    least_probability: float = setting(
        "Lower bound on probabilities in logarithms and products.", default=1e-12, above=0, below=0.1
    )
    head_prior: str = setting(
        "What is assumed of the class of a head when a dependent is compared with it.",
        default="uniform", choices=("uniform", "marginal", "jeffrey"),
    )  # fmt: skip
    rare_below: int = setting("Words with fewer tokens are rare, with unsure vectors.", default=10, low=0, high=10**9)
