"""The settings of language models."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting, size_of
from corpuscle.text.settings import ReadingSettings

__all__ = ["BOUNDARIES", "ESTIMATORS", "IMPORTED", "INFINITE", "METHODS", "HmmSettings", "HpySettings", "NgramSettings"]

BOUNDARIES = ("single", "pad", "none")
METHODS = ("mkn", "kn", "backoff-mkn", "backoff-kn", "absolute")
IMPORTED = "imported"
"""The method of a model whose probabilities come from elsewhere."""
INFINITE = "infinite"
ESTIMATORS = ("hkz", "reduced", "em", "spectral-em")
"""How hidden Markov models are learned, see ``HmmSettings.estimator``."""
MOST_RESTARTS = 10
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


class HmmSettings(WordSettings):
    """Settings of hidden Markov models."""

    states: int = setting("How many hidden states, beside that of the end.", default=20, low=1, high=1000)
    estimator: str = setting(
        "Operators of words (hkz) or of dimensions (reduced) by linear algebra; EM from a random or a spectral start.",
        default="hkz",
        choices=ESTIMATORS,
    )
    projection: str = setting(
        "Where the space of states comes from: singular vectors of pairs of neighbours, or canonical directions.",
        default="cca",
        choices=("cca", "svd"),
    )
    kappa: float = setting("Add so much to the count of every word, against rare ones (cca).", default=50.0, low=0)
    rank_tolerance: float | str = setting(
        "Singular values below this part of the first are no rank; noise: below what chance makes of so many words.",
        default=1e-3, low=0.0, words=("noise",),
    )  # fmt: skip
    pool: int = setting("Rarer words share the operators of words that look alike.", default=10, low=1, high=10**9)
    least: float = setting("No prediction is below this, before the unigram share.", default=1e-6, above=0.0, high=1e-3)
    unigram_share: float = setting(
        "How much of every prediction is the unigram distribution.", default=0.05, above=0.0, below=1.0,
        shown="0.05, or what --dev says",
    )  # fmt: skip
    passes: int = setting("EM: at most so many passes over the text.", default=100, low=0, high=100_000)
    tolerance: float = setting(
        "EM ends when a pass raises the log-likelihood by less than this part.", default=1e-5, low=0.0
    )
    restarts: int = setting(
        "EM: so many random starts, of which the likeliest end is kept.", default=1, low=1, high=MOST_RESTARTS
    )

    @property
    def learns(self) -> bool:
        """Whether there is anything iterative."""
        return self.estimator in ("em", "spectral-em")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundary != "single":
            raise SettingError(f"boundary is single for hidden Markov models; not {self.boundary!r}")
        if self.restarts > 1 and self.estimator != "em":
            raise SettingError("restarts means nothing without estimator em")
        for name in () if self.learns else ("passes", "tolerance"):
            if self.origins[name] == "given":
                raise SettingError(f"{name} means nothing without expectation and maximisation")
        for name in () if self.estimator != "em" else ("projection", "kappa", "rank_tolerance"):
            if self.origins[name] == "given":
                raise SettingError(f"{name} means nothing with estimator em")
        if self.projection == "svd" and self.origins["kappa"] == "given":
            raise SettingError("kappa means nothing with projection svd")
