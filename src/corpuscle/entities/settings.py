"""The settings of entity taggers."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, Settings, setting


class DocumentSettings(Settings):
    """How documents are read."""

    columns: tuple[str, ...] = setting(
        "What the columns of a file are (word, tag, lemma, chunk, label, section; others are not used).",
        default=(),
        shown="by their number",
    )
    source: str = setting(
        "Where a document comes from, as a feature: its folder, or the beginning of its file's name.",
        default="none",
        choices=("none", "folder", "name"),
    )
    line_breaks: str = setting(
        "A line end also ends a sentence (headings, lists), or is white space.",
        default="sentence",
        choices=("sentence", "space"),
    )
    skip_faulty: bool = setting("Leave out lines of brat annotation that are wrong, and say how many.", default=False)


class CrfSettings(DocumentSettings, Seeded, Parallel):
    """Settings of conditional random fields."""

    encoding: str = setting("With tags for gaps and shared words, or not.", default="biodh", choices=("biodh", "bio"))
    policy: str = setting(
        "How pieces are joined: all into one mention, two by two, by a classifier, or as fits the training text best.",
        default="auto",
        choices=("auto", "merge", "pairs", "learned"),
    )
    gaps: str = setting(
        "Mentions in two pieces that tags miss: found by a classifier of pieces, or not, or where that does better.",
        default="auto",
        choices=("auto", "learned", "none"),
    )
    passes: int = setting(
        "Passes over a text: the second also sees what the first found of the same words elsewhere in it.",
        default=1,
        low=1,
        high=2,
    )
    window: int = setting("How many words to either side are looked at.", default=2, low=0, high=5)
    affixes: int = setting("Beginnings and endings of up to N letters.", default=6, low=0, high=8)
    nc: str = setting(
        "NC-values of words, where there are tags: summed over a word's occurrences, averaged, or of each alone.",
        default="mean",
        choices=("none", "raw", "mean", "token"),
    )
    algorithm: str | None = setting(
        "How weights are learned: sentence by sentence, or from all at once (slower; needed for --c1).",
        default=None,
        choices=("sgd", "lbfgs"),
        shown="lbfgs with fewer than 2,000 sentences, or --c1; else sgd",
    )
    c1: float = setting("Penalty on the size of weights (many become 0).", default=0.0, low=0.0)
    c2: float = setting("Penalty on the squares of weights.", default=0.1, low=0.0)
    iterations: int | None = setting(
        "At most N passes over the training text.", default=None, low=1, high=100_000, shown="80; lbfgs 200"
    )
    min_count: int = setting("Features that are rarer are not used.", default=2, low=1, high=1_000_000)


class DictionarySettings(DocumentSettings, Parallel):
    """Settings of the dictionary of training mentions: it has none of its own."""
