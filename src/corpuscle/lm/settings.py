"""The settings of language models."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting, size_of
from corpuscle.text.settings import ReadingSettings

__all__ = [
    "BOUNDARIES", "IMPORTED", "INFINITE", "MAX_RANK", "METHODS", "AutoSettings", "CacheSettings", "HpySettings",
    "NgramSettings", "PlreSettings",
]  # fmt: skip

BOUNDARIES = ("single", "pad", "none")
METHODS = ("mkn", "kn", "backoff-mkn", "backoff-kn", "absolute")
IMPORTED = "imported"
"""The method of a model whose probabilities come from elsewhere."""
INFINITE = "infinite"
MAX_ORDER, MAX_RANK = 100, 100_000


def _discounts(text: str) -> tuple[Any, ...]:
    """``0.7`` or ``0.5,1,1.4``, or several of them with ``;`` between, one an order."""
    orders = [tuple(float(number) for number in order.split(",")) for order in text.split(";")]
    return orders[0] if len(orders) == 1 else tuple(orders)


def _ranks(text: str) -> tuple[tuple[int, ...], ...]:
    """``64,2``, an entry an order, or several of them with ``;`` between, one a power."""
    return tuple(tuple(int(number) for number in layer.split(",")) for layer in text.split(";"))


class WordSettings(ReadingSettings, Seeded, Parallel):
    """Settings of every language model that is learned from text."""

    min_count: int = setting("Rarer words become the unknown word.", default=2, low=1, high=10**9)
    boundary: str = setting(
        "How sentences begin: one <s>, order - 1 of them, or not at all.", default="single", choices=BOUNDARIES
    )
    allow_markup: bool = setting("Accept <s> and </s> as words.", default=False)


class AutoSettings(WordSettings):
    """Settings of the best model for a text."""

    order: int = setting("How many words.", default=3, low=1, high=MAX_ORDER)


class CacheSettings(WordSettings):
    """Settings of caches."""

    half_life: int = setting("After so many words a word has half its weight.", default=500, low=1, high=10**9)
    strength: float = setting(
        "So many words weigh as much as what was known before the document.", default=3.0, above=0.0
    )


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


class PlreSettings(WordSettings):
    """Settings of power low rank ensembles."""

    order: int = setting("How many words.", default=3, low=1, high=MAX_ORDER)
    powers: tuple[float, ...] = setting(
        "Powers of the counts in the orders in between, falling: one order in between for each.",
        default=(0.67, 0.33), low=0.0, high=1.0,
    )  # fmt: skip
    ranks: Any = setting(
        "Ranks of order 2, 3 and so on, 0 for none; a list a power, or one: a quarter of it from power to power.",
        default=None, metavar="N,N[;...]", parse=_ranks, shown="64,2,1; less for small texts",
    )  # fmt: skip
    discounting: str = setting(
        "One discount an order, or others for counts of 1, 2, and more.", default="plain", choices=("plain", "modified")
    )
    discounts: Any = setting(
        "Instead of estimated ones: one number (plain) or three (modified), for all orders or one entry an order.",
        default=None, metavar="D|D1,D2,D3[;...]", parse=_discounts,
    )  # fmt: skip
    lower: str = setting(
        "Counts of lower orders: numbers of types before an n-gram, or the mass that is taken from longer ones.",
        default="types", choices=("types", "mass"),
    )  # fmt: skip
    unigram: str = setting(
        "Who gets the mass that discounting frees: all words alike, or nobody.",
        default="uniform", choices=("uniform", "types"),
    )  # fmt: skip
    passes: int = setting("Updates of each matrix.", default=15, low=0, high=10**6)
    strict: bool = setting("Fail where discounts cannot be estimated.", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.powers or list(self.powers) != sorted(self.powers, reverse=True):
            raise SettingError(f"powers are a list that does not rise, such as 0.67,0.33; not {self.powers!r}")
        if self.ranks is not None:
            self._check_ranks()

    @property
    def rank_lists(self) -> list[list[int]]:
        """The ranks that were given, a list for each power or one for all of them; none if none were given."""
        several = list(self.ranks) if isinstance(self.ranks, tuple | list) else [self.ranks]
        if all(type(rank) is int for rank in several):
            several = [several]
        return [list(ranks) if isinstance(ranks, tuple | list) else [ranks] for ranks in several if ranks is not None]

    def _check_ranks(self) -> None:
        layers = self.rank_lists
        right = layers and all(layers)
        if not right or not all(type(rank) is int and 0 <= rank <= MAX_RANK for layer in layers for rank in layer):
            raise SettingError(f"ranks are whole numbers from 0 to {MAX_RANK:,}, one an order; not {self.ranks!r}")
        if len(layers) not in (1, len(self.powers)):
            raise SettingError(f"ranks have one list, or one for each of {len(self.powers)} powers; not {len(layers)}")
        longest = max(map(len, layers))
        if longest > self.order - 1:
            fitting = f"at most {self.order - 1} of them, for order 2 and so on" if self.order > 1 else "none at all"
            raise SettingError(f"a model of order {self.order} has {fitting}; not {longest} ranks")
