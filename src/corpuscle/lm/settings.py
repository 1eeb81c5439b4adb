"""The settings of language models."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting, size_of
from corpuscle.text.settings import ReadingSettings

__all__ = ["BOUNDARIES", "IMPORTED", "INFINITE", "METHODS", "HpySettings", "NgramSettings"]

BOUNDARIES = ("single", "pad", "none")
METHODS = ("mkn", "kn", "backoff-mkn", "backoff-kn", "absolute")
IMPORTED = "imported"
"""The method of a model whose probabilities come from elsewhere."""
INFINITE = "infinite"
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
