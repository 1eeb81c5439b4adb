"""The settings of translators."""

from __future__ import annotations

from typing import Any

from corpuscle.align.settings import DEFAULT_SYMMETRISATION, WAYS
from corpuscle.errors import SettingError
from corpuscle.neural.settings import NetworkSettings
from corpuscle.settings import Parallel, Seeded, setting
from corpuscle.text.settings import TextSettings

ALIGNERS = ("fertility", "hmm", "diagonal", "ibm1", "loglinear")


_ALIGNER: Any = setting("Who finds out which words belong together.", default="fertility", choices=ALIGNERS)
_SYMMETRISE: Any = setting(
    "How the two directions of the aligner are joined.", default=DEFAULT_SYMMETRISATION, choices=WAYS
)


class PhraseSettings(TextSettings, Seeded, Parallel):
    """Settings of translation by phrases."""

    aligner: str = _ALIGNER
    symmetrise: str = _SYMMETRISE
    max_phrase: int = setting("Words of the longest phrase.", default=7, low=1, high=8)
    order: int = setting("Order of the language model of the target.", default=4, low=1, high=20)
    distortion: int = setting("Phrases may jump over so many words; 0: monotone.", default=4, low=0, high=8)
    beam: int = setting("Hypotheses kept for each number of translated words.", default=50, low=1, high=10_000)
    beam_threshold: float = setting("Hypotheses so much worse than the best are dropped.", default=10.0, above=0.0)
    table_limit: int = setting("Targets considered of each source phrase.", default=20, low=1, high=10_000)
    tune: bool = setting("Tune the weights.", default=True)
    tuning_pairs: int = setting("At most so many pairs are held out for tuning.", default=1000, low=1, high=10**6)
    restarts: int = setting("Random starting points of a round of tuning.", default=5, low=0, high=10_000)
    rounds: int = setting("At most so many rounds of tuning.", default=8, low=1, high=1000)
    tuning_nbest: int = setting("Translations of each sentence in a round of tuning.", default=100, low=2, high=10_000)
    final_refit: bool = setting("After tuning learn from the held-out pairs too.", default=True)


class NeuralSettings(TextSettings, NetworkSettings, Seeded, Parallel):
    """Settings of translation by networks."""

    aligner: str = _ALIGNER
    symmetrise: str = _SYMMETRISE
    units: str = setting(
        "What a network writes: pieces of words, the frequent ones whole, or characters.",
        default="bpe", choices=("bpe", "characters"),
    )  # fmt: skip
    merges: int | None = setting(
        "How often two neighbours become one piece.", default=None, low=0, high=1_000_000, shown="5,000, of bpe"
    )
    beam: int = setting("Hypotheses kept of each sentence.", default=5, low=1, high=1000)
    guide: float = setting("How much the attention is led by the links of the aligner.", default=0.5, low=0, high=100)
    shortlist: int = setting(
        "Likely targets kept of each piece, for apply --shortlist; 0: none.", default=50, low=0, high=10_000
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.merges is not None and self.units != "bpe":
            raise SettingError(f"merges are of units bpe, not of {self.units}")
