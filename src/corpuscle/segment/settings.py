"""The settings of word segmentation."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting
from corpuscle.text.settings import TextSettings


class SegmentSettings(Settings):
    """Settings of all segmenters that learn."""

    max_word: int | None = setting(
        "Letters of the longest word.", default=None, low=1, high=100, shown="4 for Chinese, 8 for Japanese, else 10"
    )
    sweeps: int = setting("Sweeps over the text.", default=200, low=1, high=10**6)
    spaces: str = setting(
        "White space in the text: forced boundaries, remove it, or gold (these are all boundaries).",
        default="forced",
        choices=("forced", "remove", "gold"),
    )
    joiner: str | None = setting("It says: no boundary here.", default=None, metavar="CHARACTER")
    units: str = setting(
        "What is never cut; where words are not, phrases are found.",
        default="characters",
        choices=("characters", "graphemes", "words"),
    )
    chains: int = setting("Independent runs; the most probable one segments.", default=1, low=1, high=100)
    samples: int = setting("Kept of each run, for boundary probabilities.", default=1, low=1, high=1000)
    end_probability: float = setting("Base probability of a sentence end.", default=0.05, above=0.0, below=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples > self.sweeps:
            raise SettingError(f"{self.sweeps} sweeps have no {self.samples} samples")
        if self.joiner is not None and (len(self.joiner) != 1 or self.joiner.isspace()):
            raise SettingError(f"joiner is one character, not {self.joiner!r}")
        if self.joiner is not None and self.units == "words":
            raise SettingError("joiner means nothing where words are units")


class NestedSettings(SegmentSettings, TextSettings, Seeded, Parallel):
    """Settings of nested Pitman-Yor models."""

    order: int = setting("2: a bigram model of words; 3: a trigram model.", default=2, choices=(2, 3))
    mh: bool = setting("Correct for words that repeat within a sentence (Metropolis-Hastings).", default=False)
    types: bool | None = setting(
        "A law of lengths for each type of word by script, and punctuation apart.",
        default=None,
        shown="on where most letters are Han, kana, Hangul or Thai",
    )
    length_norm: str = setting(
        "How the lengths of words that letters imply are corrected.", default="type", choices=("type", "paper", "none")
    )
    max_context: int = setting("Letters that a letter looks back at most.", default=10, low=0, high=50)
    paths: int = setting("Random spellings that estimate lengths in a sweep.", default=200, low=1, high=10**6)
    start: str = setting(
        "First words where none are given: by branching entropy, or growing (each sentence by those before it).",
        default="branching",
        choices=("branching", "growing"),
    )


class DirichletSettings(SegmentSettings, TextSettings, Seeded, Parallel):
    """Settings of Dirichlet processes over words."""

    method: str = setting(
        "Words are drawn by themselves, or given the word before.", default="bigram", choices=("unigram", "bigram")
    )
    strengths: tuple[float, ...] | None = setting(
        "Of the root and, for bigrams, of the contexts.", default=None, above=0.0, shown="20, or 3000,100 for bigrams"
    )
    word_end: float | None = setting(
        "The probability that a new word ends after a letter.",
        default=None,
        above=0.0,
        below=1.0,
        shown="0.5, or 0.2 for bigrams",
    )
    anneal: bool = setting("Begin with flattened choices, which become sharper sweep by sweep.", default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = 1 if self.method == "unigram" else 2
        if self.strengths is not None and len(self.strengths) != needed:
            raise SettingError(f"strengths of the method {self.method} are {needed}; not {self.strengths!r}")


class TrivialSettings(Parallel):
    """Settings of rules that learn nothing."""

    method: str = setting("Every letter is a word, or every line.", default="letters", choices=("letters", "lines"))
    units: str = setting("What is never cut.", default="characters", choices=("characters", "graphemes"))
