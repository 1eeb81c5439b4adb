"""The settings of language models."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting, size_of
from corpuscle.text.settings import ReadingSettings

__all__ = [
    "AUTO", "BOUNDARIES", "IMPORTED", "INFINITE", "METHODS", "PENALTIES", "HpySettings", "LogLinearSettings",
    "NgramSettings",
]  # fmt: skip

BOUNDARIES = ("single", "pad", "none")
METHODS = ("mkn", "kn", "backoff-mkn", "backoff-kn", "absolute")
IMPORTED = "imported"
"""The method of a model whose probabilities come from elsewhere."""
INFINITE = "infinite"
AUTO = "auto"
PENALTIES = ("l1", "l2", "tree-l2", "tree-linf")
"""Of log-linear models; l2 is squared."""
MAX_ORDER = 100


def _discounts(text: str) -> tuple[Any, ...]:
    """``0.7`` or ``0.5,1,1.4``, or several of them with ``;`` between, one an order."""
    orders = [tuple(float(number) for number in order.split(",")) for order in text.split(";")]
    return orders[0] if len(orders) == 1 else tuple(orders)


class WordSettings(ReadingSettings, Seeded, Parallel):
    """Settings of every language model that is learned from text."""

    min_count: int = setting("Rarer words become the unknown word.", default=2, low=1, high=10**9)
    boundary: str = setting(
        "How sentences begin: one <s>, order - 1 of them, or not at all.", default="single", choices=BOUNDARIES
    )
    allow_markup: bool = setting("Accept <s> and </s> as words.", default=False)


class NgramSettings(WordSettings):
    """Settings of the Kneser-Ney family."""

    method: str = setting("How counts become probabilities.", default="mkn", choices=(*METHODS, IMPORTED))
    order: int | str = setting(
        "How many words; auto tries 1 to 6 on --dev.", default=3, low=1, high=MAX_ORDER, words=("auto",)
    )
    unigram: str = setting(
        "Who gets the mass that discounting frees: all words alike, or nobody.",
        default="uniform",
        choices=("uniform", "types"),
    )
    discounts: Any = setting(
        "Instead of estimated ones: one number (plain) or three (modified), for all orders or one entry an order.",
        default=None,
        metavar="D|D1,D2,D3[;...]",
        parse=_discounts,
    )
    strict: bool = setting("Fail where discounts cannot be estimated.", default=False)
    prune: tuple[int, ...] = setting(
        "Leave out n-grams of order m that occur at most so often; the last number serves all higher orders.",
        default=(),
        low=0,
        high=2**31 - 1,
    )
    entropy: float = setting("Leave out n-grams that change perplexity by less than this share.", default=0.0, low=0.0)
    memory: int | None = setting(
        "Count within this much memory (such as 512M or 2G), beside it on disk.",
        default=None, low=1, high=2**60, metavar="SIZE", parse=size_of, runtime=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.prune) != sorted(self.prune) or any(self.prune[:1]):
            raise SettingError(f"prune is a rising list that begins with 0, such as 0,0,1; not {self.prune!r}")


class HpySettings(WordSettings):
    """Settings of hierarchical Pitman-Yor models."""

    order: int | str = setting("How many words.", default=3, low=1, high=MAX_ORDER, words=(INFINITE,))
    max_order: int = setting("Order infinite: at most so many words.", default=8, low=1, high=250)
    sweeps: int = setting("Gibbs sweeps over the text.", default=100, low=1, high=10**9)
    samples: int = setting(
        "How many states of the sampler to average, spread over the second half of the run.",
        default=5,
        low=1,
        high=1000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples > self.sweeps:
            raise SettingError(f"{self.sweeps} sweeps have no {self.samples} samples")
        if self.order == INFINITE and self.boundary == "pad":
            raise SettingError("boundary is one of single, none where the order is infinite; not 'pad'")
        if self.order != INFINITE and self.origins["max_order"] == "given":
            raise SettingError("max_order means nothing without order infinite")


class LogLinearSettings(WordSettings):
    """Settings of log-linear models on suffix trees."""

    order: int = setting("How many words.", default=5, low=1, high=MAX_ORDER)
    penalty: str = setting(
        "What keeps weights small: single ones, or whole subtrees of longer contexts.",
        default="tree-l2",
        choices=PENALTIES,
    )
    strength: float | str | None = setting(
        "How strong the penalty is, in units of the summed loss; auto: chosen on --dev, as without it.",
        default=None, low=0.0, high=1e12, words=(AUTO,), shown="by penalty",
    )  # fmt: skip
    weighted: float | str | None = setting(
        "Weights of contexts of d words count this number to the power of d; auto: chosen on --dev, as without it.",
        default=None, above=0.0, below=10.0, words=(AUTO,), shown="by penalty",
    )  # fmt: skip
    weighting: str = setting(
        "What depth decides: how much weights count, the same by nodes of the collapsed tree, or penalties.",
        default="feature",
        choices=("feature", "node", "penalty"),
    )
    collapse: str = setting(
        "Learn one weight for contexts that always occur together: where that is exact, or not.",
        default=AUTO,
        choices=(AUTO, "yes", "no"),
    )
    signed: int = setting(
        "Weights of contexts with fewer words may be negative; above 1, words that never followed them have some, too.",
        default=0, low=0, high=MAX_ORDER,
    )  # fmt: skip
    estimator: str = setting(
        "Exact gradients with momentum, or gradients of a few positions at a time.",
        default="fista",
        choices=("fista", "stochastic"),
    )
    passes: int = setting("At most so many passes over the text.", default=1000, low=1, high=10**9)
    tolerance: float = setting("Stop when 50 passes gain less than this share of the objective.", default=1e-4, low=0.0)
    early: bool = setting("With --dev, stop where the development text gains nothing.", default=True)
    batch_tokens: int = setting("Stochastic: positions of a step.", default=400, low=1, high=10**9)
    steepness: float = setting("Stochastic: a bound of the curvature of the loss.", default=0.05, above=0.0, high=1e12)
    noise: float = setting("Stochastic: how fast steps become shorter.", default=1e-4, low=0.0, high=1e12)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundary == "pad":
            raise SettingError("boundary is one of single, none in a log-linear model; not 'pad'")
        if self.signed > self.order:
            raise SettingError(f"a model of order {self.order} has no contexts of {self.signed - 1} words to be signed")
        if self.estimator == "fista":
            given = [name for name in ("batch_tokens", "steepness", "noise") if self.origins[name] == "given"]
            if given:
                raise SettingError(f"{given[0]} means nothing without estimator stochastic")
