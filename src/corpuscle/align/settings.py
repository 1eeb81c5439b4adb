"""The settings of word alignment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting
from corpuscle.text.settings import TextSettings

SYMMETRISATIONS = (
    "forward", "backward", "intersection", "union", "grow", "grow-diag", "grow-diag-final", "grow-diag-final-and",
)  # fmt: skip
"""Ways to join the alignments of two directions; the first two take one of them as it is."""
WAYS = (*SYMMETRISATIONS, "posterior")
"""Ways to the links of a model; the last one takes those that are probable in both directions."""
DEFAULT_SYMMETRISATION = "grow-diag-final-and"
DECODINGS = ("viterbi", "posterior")
MATRICES = ("geo", "mean", "forward", "backward", "nbest")
NEIGHBOURHOODS = ("eb-model1", "model1", "cooc", "full")
FAMILIES = (
    "pair", "identity", "prefix", "ortho", "dice", "m1", "m1log", "classpair", "diag", "source", "jump", "bigram",
    "nulljump", "cycle",
)  # fmt: skip
"""Features of the log-linear model, see ``corpuscle.align.features``."""
_MOST_VOTES = 255


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """An error if a value is none of the choices."""
    if value not in choices:
        raise SettingError(f"{what} is one of {', '.join(choices)}, not {value!r}")


class _Counting(Settings):
    passes: int = setting("How often to go through the text.", default=5, low=1, high=10_000)
    max_length: int = setting(
        "Pairs with a longer side are aligned, not learned from.", default=100, low=1, high=10_000
    )
    alpha: float = setting("Concentration of the Dirichlet prior of each row.", default=0.01, low=1e-6, high=1e6)
    bayes: bool = setting("Learn the table by variational Bayes, or by maximum likelihood.", default=False)
    agreement: bool = setting("Each direction learns from links that both believe in.", default=True)


class _Jumping(Settings):
    p0: float = setting("How often a word comes from nothing.", default=0.1, low=1e-6, high=0.999)
    rho: float = setting("The share of jumps that go anywhere.", default=0.05, low=1e-6, high=1.0)
    warm_up: int = setting("Passes of Model 1 before.", default=5, low=0, high=10_000)


def _usual(name: str, default: Any) -> Any:
    """One of these settings with a default of its own."""
    return replace({**_Counting.SETTINGS, **_Jumping.SETTINGS}[name], default=default)


class Ibm1Settings(_Counting, TextSettings, Parallel):
    """Settings of IBM Model 1."""

    bayes: bool = _usual("bayes", True)
    agreement: bool = _usual("agreement", False)


class DiagonalSettings(_Counting, TextSettings, Parallel):
    """Settings of Model 2 with a diagonal."""

    p0: float = _usual("p0", 0.08)
    strength: float = setting(
        "How strongly links are drawn to the diagonal at the start.", default=4.0, low=0.1, high=14.0
    )


class HmmSettings(_Jumping, _Counting, TextSettings, Parallel):
    """Settings of the hidden Markov model."""


class FertilitySettings(_Jumping, _Counting, TextSettings, Parallel, Seeded):
    """Settings of the model with fertilities: those of the hidden Markov model that it starts from, and its own."""

    alpha: float = _usual("alpha", 0.001)
    chains: int = setting("Independent draws of all links, in each direction.", default=4, low=1, high=255)
    sweeps: int = setting("How often each chain draws all links; the later half votes.", default=10, low=2, high=500)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chains * (self.sweeps - self.sweeps // 2) > _MOST_VOTES:
            raise SettingError(f"chains times half the sweeps are at most {_MOST_VOTES}")


class LogLinearSettings(TextSettings, Parallel, Seeded):
    """Settings of the log-linear model."""

    passes: int = _usual("passes", 5)
    max_length: int = _usual("max_length", 100)
    batch: int = setting("Sentence pairs to a step.", default=8, low=1, high=100_000)
    rate: float = setting("Learning rate of the first step.", default=0.3, low=1e-9, high=1e3)
    decay: float = setting("What is left of the rate after each pass.", default=0.85, low=1e-3, high=1.0)
    beta: float = setting("Weight of the L1 penalty; more is sparser.", default=0.4, low=0.0, high=1e9)
    adaptive: bool = setting("Every feature has a rate of its own.", default=True)
    agreement: bool = _usual("agreement", True)
    neighbourhood: str = setting(
        "Which words a word may stand for while learning.", default="eb-model1", choices=NEIGHBOURHOODS
    )
    families: tuple[str, ...] = setting(
        "Which features.", default=FAMILIES, choices=FAMILIES, shown="all", metavar="NAME,..."
    )
    classes: int = setting("How many word classes of each side features use.", default=50, low=1, high=500)
    null_jump: str = setting(
        "After a null word jumps are not seen, or start where they would without it.",
        default="skip",
        choices=("skip", "remember"),
    )
    romanise: str = setting(
        "How words are written before spellings are compared: plain: no case, no accents; latin: in Latin letters.",
        default="none",
        choices=("none", "plain", "latin"),
    )
    features: Any = setting(
        "Features of your own: source, target, name, value a line. What it says, not its name, is saved and compared.",
        default=None,
        metavar="FILE",
        parse=str,
        runtime=True,
    )
