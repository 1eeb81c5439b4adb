"""The settings of topic models."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, learned, setting
from corpuscle.text.settings import TextSettings, TokenSettings

INFINITE = "infinite"
PLAIN = "hpylm"
"""The method without topics."""


class TopicSettings(Settings):
    """Settings of all topic models.

    ``topics_``, ``order_`` and ``sweeps_`` are what the method makes of them: how many topics there are, how many
    words a model looks at (the predicted one included), and how many sweeps it learns.
    """

    min_count: int = setting("Rarer words are unknown.", default=4, low=1, high=10**9)

    topics_: int = learned()
    order_: int = learned()
    sweeps_: int = learned()


class NgramTopicSettings(TopicSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of topic n-gram models."""

    method: str = setting(
        "Where a word comes from.", default="switching", choices=("switching", "hierarchical", "hpytm", PLAIN)
    )
    topics: int | None = setting("How many topics.", default=None, low=1, high=32_000, shown="50; hpylm has none")
    order: int | str = setting(
        "How many words an n-gram has; infinite: every word chooses how much of its context to look at.",
        default=3,
        low=1,
        high=250,
        words=(INFINITE,),
    )
    max_order: int = setting("Of a model of infinite order.", default=8, low=1, high=250)
    sweeps: int | None = setting("Gibbs sweeps.", default=None, low=1, high=10**9, shown="500; hpylm 100")
    sampler: str = setting(
        "Topics change word by word (token), or whole tables at once, too (table).",
        default="table",
        choices=("table", "token"),
    )
    turns: int = setting(
        "Tables move in turns: each in one of so many sweeps, where the text is of some size; 1: all in every sweep.",
        default=4,
        low=1,
        high=1000,
    )
    samples: int = setting(
        "How many states are kept and averaged: the last one and others before it, at most ten sweeps apart.",
        default=1,
        low=1,
        high=1000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = self.method == PLAIN
        self.topics_ = 1 if plain else self.topics or 50
        self.order_ = self.max_order if isinstance(self.order, str) else self.order
        self.sweeps_ = self.sweeps or (100 if plain else 500)
        if self.samples > self.sweeps_:
            raise SettingError(f"{self.sweeps_} sweeps have no {self.samples} samples")
        if self.order != INFINITE and self.origins["max_order"] == "given":
            raise SettingError("max_order means nothing without order infinite")
        for name in ("topics", "sampler", "turns"):
            if plain and self.origins[name] == "given":
                raise SettingError(f"{name} means nothing with the method {PLAIN}, which has no topics")
        if self.sampler == "token" and self.origins["turns"] == "given":
            raise SettingError("turns mean nothing with the sampler token, which moves no tables")


class RescalingSettings(TopicSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of unigram rescaling."""

    topics: int = setting("How many topics.", default=50, low=1, high=32_000)
    order: int = setting("How many words an n-gram has.", default=3, low=1, high=100)
    sweeps: int = setting("Sweeps of the topics.", default=900, low=1, high=10**9)
    word_sweeps: int = setting("Sweeps of the language model.", default=100, low=1, high=10**9)
    samples: int = setting("How many states of the language model are kept and averaged.", default=5, low=1, high=1000)
    exponent: float = setting("How far probabilities are bent.", default=0.7, low=0.0, high=1e9)
    prior: float = setting("Of every word in every topic.", default=0.01, low=1e-9, high=1e9)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.topics_, self.order_, self.sweeps_ = self.topics, self.order, self.sweeps
        if self.samples > self.word_sweeps:
            raise SettingError(f"{self.word_sweeps} sweeps have no {self.samples} samples")
