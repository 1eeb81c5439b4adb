"""The settings of normalisers."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, setting


class NormaliserSettings(Seeded, Parallel):
    """How candidates are found, what they are ranked by, and what context there is."""

    combine: str = setting(
        "How candidates are ranked: by weighted features, by sums of them, by the noisy channel, or by the dictionary.",
        default="loglinear",
        choices=("loglinear", "sum", "similarity", "context", "channel", "dictionary"),
    )
    edits: int = setting("Candidates differ by at most N letters.", default=2, low=0, high=2)
    sound_edits: int = setting("Or their phonetic codes by at most N letters.", default=1, low=0, high=1)
    code_length: int = setting("Phonetic codes are cut to N letters; 0: they are not.", default=0, low=0, high=40)
    phonetic: bool = setting("Also candidates that sound alike (Latin script).", default=True)
    learn_sounds: bool = setting(
        "Phonetic codes from annotated messages, whatever the script: letters that are typed for each other.",
        default=False,
    )
    fit_channel: bool = setting("Fit the noisy channel to the messages, by expectation maximisation.", default=False)
    repeats: int = setting("Runs of more than N equal letters are cut to N.", default=3, low=1, high=10)
    candidates: int = setting(
        "Combinations loglinear and channel: at most N candidates of a word are compared in context.",
        default=50, low=1, high=1_000_000,
    )  # fmt: skip
    keep: float = setting(
        "Combinations sum, similarity, context: the share of candidates (at least 10) that the language model keeps.",
        default=0.1, above=0.0, high=1.0,
    )  # fmt: skip
    min_confidence: float | None = setting(
        "Less certain words are not changed.", default=None, low=0.0, high=1.0,
        shown="0.9 for combination loglinear where neither annotated messages nor a detector say what is wrong, else 0",
    )  # fmt: skip
    min_count: int = setting(
        "Without a word list, words that the clean text has at least N times are words.", default=5, low=1, high=10**9
    )
    letters: tuple[str, ...] = setting("Which single letters are words.", default=("a", "i"))
    also: tuple[str, ...] = setting("Words in addition to those of the list.", default=("rt",))
    allow_multiword: bool = setting("A word may become several: by the dictionary, or read as two words.", default=True)
    decode: str = setting(
        "Combination loglinear: tokens are decided one by one, or all of a message together.",
        default="joint",
        choices=("joint", "token"),
    )
    beam: int = setting("Joint decoding keeps at most N states of the language model.", default=32, low=1, high=10_000)
    pairs_bank: bool = setting(
        "Without parsed text, a bank of words near each other in the clean text speaks for candidates, too.",
        default=False,
    )
    bank_score: str = setting(
        "The value of an entry of the bank: its count, or pointwise mutual information.", default="count",
        choices=("count", "npmi"),
    )  # fmt: skip
    expand: float = setting(
        "What a neighbour that only sounds like one of the bank counts; 0: nothing.", default=0.5, low=0.0, high=1.0
    )
    detect: bool = setting(
        "Without annotated messages: change only what a detector, learned from the clean text, holds to be ill-formed.",
        default=False,
    )
    positives: int = setting("Detector: words are ill-formed if N candidates fit.", default=1, low=1, high=1000)
    examples: int = setting("Detector: it learns from at most N words.", default=20_000, low=10, high=10_000_000)
    aggregates: bool = setting("Detector: sum, maximum and number of the values of entries take part.", default=True)
    order: int = setting("Order of the language model.", default=3, low=1, high=5)
