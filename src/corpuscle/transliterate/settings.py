"""The settings of transliterators."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from corpuscle.align.settings import DEFAULT_SYMMETRISATION, WAYS
from corpuscle.neural.settings import NetworkSettings
from corpuscle.settings import Parallel, Seeded, Settings, setting

if TYPE_CHECKING:
    from corpuscle.transliterate.preparation import Spelling

ALIGNERS = ("joint", "hmm", "ibm1", "diagonal")
RULES = ("uncross", "attach")
METRICS = ("likelihood", "bleu", "acc", "fscore")


class SpellingSettings(Settings):
    """How names become letters."""

    units: str = setting("What a letter is.", default="characters", choices=("characters", "graphemes"))
    lowercase: bool = setting("Lower-case both sides.", default=True)

    @cached_property
    def spelling(self) -> Spelling:
        from corpuscle.transliterate.preparation import Spelling

        return Spelling(self.units, self.lowercase)


ALIGNER: Any = setting("Who finds out which letters belong together.", default="joint", choices=ALIGNERS)
_BEAM: Any = setting("Hypotheses kept at each letter.", default=10, low=1, high=10_000)


class PhraseSettings(SpellingSettings, Seeded, Parallel):
    """Transliteration by phrases of letters under tuned weights."""

    aligner: str = ALIGNER
    beam: int = _BEAM
    symmetrise: str = setting(
        "How the aligners hmm, ibm1 and diagonal join their two directions.",
        default=DEFAULT_SYMMETRISATION,
        choices=WAYS,
    )
    heuristics: bool = setting("Links of hmm, ibm1 and diagonal: none cross, no target is left out.", default=True)
    uncross: bool = setting("The first of these heuristics: no links cross.", default=True)
    attach: bool = setting("The second: no target is left out.", default=True)
    passes: int = setting("Passes of the aligner over the names.", default=10, low=1, high=1000)
    max_phrase: int = setting("Letters of the longest phrase.", default=7, low=1, high=8)
    order: int = setting("Order of the letter model of the target.", default=8, low=1, high=20)
    joint_order: int = setting("Order of the joint model of both sides; 0: none.", default=6, low=0, high=20)
    context: int = setting("How many letters to either side the context model sees; 0: none.", default=4, low=0, high=8)
    beam_threshold: float = setting("Hypotheses so much worse than the best are dropped.", default=10.0, above=0.0)
    table_limit: int = setting("Targets considered of each source phrase.", default=20, low=1, high=10_000)
    tune: bool = setting("Tune the weights.", default=True)
    metric: str = setting("What tuning raises.", default="likelihood", choices=METRICS)
    restarts: int = setting("Random starting points of tuning (not for likelihood).", default=20, low=0, high=10_000)
    rounds: int = setting("At most so many rounds of tuning.", default=10, low=1, high=1000)
    tuning_nbest: int = setting("Candidates of each word in a round of tuning.", default=100, low=2, high=10_000)
    phrase_penalty: bool = setting("Weigh the number of phrases too.", default=False)
    references: str = setting(
        "Learn from the first accepted target of a name, or from all.", default="first", choices=("first", "all")
    )
    final_refit: bool = setting("After tuning learn from the held-out tenth too.", default=True)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules by which links are repaired."""
        return tuple(rule for rule in RULES if self.heuristics and getattr(self, rule))


class NeuralSettings(SpellingSettings, NetworkSettings, Seeded, Parallel):
    """Transliteration by networks that write letter by letter."""

    aligner: str = ALIGNER
    beam: int = _BEAM
    guide: float | None = setting(
        "How much the attention is led by the links of the aligner.",
        default=None, low=0, high=100, shown="0.5 below 2,000 pairs, then 0",
    )  # fmt: skip
    oversample: int | None = setting(
        "How often real pairs stand among synthetic ones.",
        default=None, low=1, high=1000, shown="so that they are as many",
    )  # fmt: skip
    whole_names: bool | None = setting(
        "Learn and write names of several words whole, not word by word.",
        default=None, shown="where words of both sides do not match",
    )  # fmt: skip
    hold_out: bool = setting(
        "Hold names out of the pairs to choose weights by; without, learn from all and keep the last weights.",
        default=True,
    )
    remember: bool = setting("Write names and words that were in the pairs as they were there.", default=True)
    copy_unknown: bool = setting("Copy letters that were not in the pairs, instead of guessing.", default=False)


class CombinationSettings(SpellingSettings, Parallel):
    """Settings of two models whose candidates are ranked together."""

    candidates: int = setting("Candidates of each model.", default=20, low=2, high=1000)
