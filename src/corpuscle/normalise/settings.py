"""The settings of normalisers."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, setting

__all__ = ["COMBINATIONS", "NormaliserSettings"]

COMBINATIONS = ("loglinear", "sum", "similarity", "context", "channel", "dictionary")


class NormaliserSettings(Seeded, Parallel):
    """Settings of normalisers."""

    combine: str = setting(
        "How candidates are ranked: by weighted features, by sums of them, by the noisy channel, or by the dictionary.",
        default="loglinear",
        choices=COMBINATIONS,
    )
    edits: int = setting("Candidates differ by so many letters at most.", default=2, low=0, high=2)
    sound_edits: int = setting("Or their phonetic codes by so many.", default=1, low=0, high=1)
    code_length: int = setting("Phonetic codes are cut to so many letters; 0: they are not.", default=0, low=0, high=40)
    phonetic: bool = setting("Also candidates that sound alike (Latin script).", default=True)
    repeats: int = setting("Longer runs of one letter are cut to so many.", default=3, low=1, high=10)
    candidates: int = setting(
        "Combinations loglinear and channel: so many candidates of a word are compared in context.",
        default=50, low=1, high=1_000_000,
    )  # fmt: skip
    keep: float = setting(
        "Combinations sum, similarity, context: the share of candidates (at least 10) that the language model keeps.",
        default=0.1, above=0.0, high=1.0,
    )  # fmt: skip
    min_confidence: float = setting("Less certain words are not changed.", default=0.0, low=0.0, high=1.0)
    min_count: int = setting(
        "Without a word list, words of the clean text that occur so often are words.", default=5, low=1, high=10**9
    )
    letters: tuple[str, ...] = setting("Which single letters are words.", default=("a", "i"))
    also: tuple[str, ...] = setting("Words beside those of the list.", default=("rt",))
    order: int = setting("Order of the language model.", default=3, low=1, high=5)
