"""The settings of language models."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting, size_of
from corpuscle.text.settings import TextSettings, TokenSettings, UnitSettings

BOUNDARIES = ("single", "pad", "none")
METHODS = ("mkn", "kn", "backoff-mkn", "backoff-kn", "absolute")
IMPORTED = "imported"
"""The method of a model whose probabilities come from elsewhere."""
INFINITE = "infinite"
ESTIMATORS = ("hkz", "reduced", "em", "spectral-em")
"""How hidden Markov models are learned, see ``HmmSettings.estimator``."""
MOST_RESTARTS = 10
AUTO = "auto"
PENALTIES = ("l1", "l2", "tree-l2", "tree-linf")
"""Of log-linear models; l2 is squared."""
MAX_ORDER, MAX_RANK = 100, 100_000


def _discounts(text: str) -> tuple[Any, ...]:
    """``0.7`` or ``0.5,1,1.4``, or several of them with ``;`` between, one an order."""
    orders = [tuple(float(number) for number in order.split(",")) for order in text.split(";")]
    return orders[0] if len(orders) == 1 else tuple(orders)


def _ranks(text: str) -> tuple[tuple[int, ...], ...]:
    """``64,2``, an entry an order, or several of them with ``;`` between, one a power."""
    return tuple(tuple(int(number) for number in layer.split(",")) for layer in text.split(";"))


DISCOUNTS: Any = setting(
    "Instead of estimated ones: one number (plain) or three (modified), for all orders or one entry an order.",
    default=None, metavar="D|D1,D2,D3[;...]", parse=_discounts,
)  # fmt: skip
UNIGRAM: Any = setting(
    "How to distribute the discounted unigram mass: uniformly over all words, or not at all.",
    default="uniform", choices=("uniform", "types"),
)  # fmt: skip
STRICT: Any = setting("Fail where discounts cannot be estimated.", default=False)


class WordSettings(Settings):
    """Which words a language model learns, and how sentences begin."""

    min_count: int = setting("Rarer words become the unknown word.", default=2, low=1, high=10**9)
    boundary: str = setting(
        "How sentences begin: one <s>, order - 1 of them, or not at all.", default="single", choices=BOUNDARIES
    )
    allow_markup: bool = setting("Accept <s> and </s> as words.", default=False)


class AutoSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of the best model for a text."""

    order: int = setting("How many words.", default=3, low=1, high=MAX_ORDER)


class CacheSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of caches."""

    half_life: int = setting("Number of words after which a word has half its weight.", default=500, low=1, high=10**9)
    strength: float = setting(
        "Weight of what was known before the document, as a number of words.", default=3.0, above=0.0
    )


class NgramSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of the Kneser-Ney family."""

    method: str = setting("How counts become probabilities.", default="mkn", choices=(*METHODS, IMPORTED))
    order: int | str = setting(
        "How many words; auto tries 1 to 6 on --dev.", default=3, low=1, high=MAX_ORDER, words=("auto",)
    )
    unigram: str = UNIGRAM
    discounts: Any = DISCOUNTS
    strict: bool = STRICT
    prune: tuple[int, ...] = setting(
        "Leave out n-grams of order m that occur at most N times; the last number serves all higher orders.",
        default=(), low=0, high=2**31 - 1,
    )  # fmt: skip
    entropy: float = setting("Leave out n-grams that change perplexity by less than this share.", default=0.0, low=0.0)
    memory: int | None = setting(
        "Count within this much memory (such as 512M or 2G), beside it on disk.",
        default=None, low=1, high=2**60, metavar="SIZE", parse=size_of, runtime=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.prune) != sorted(self.prune) or any(self.prune[:1]):
            raise SettingError(f"prune is a rising list that begins with 0, such as 0,0,1; not {self.prune!r}")


class HpySettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of hierarchical Pitman-Yor models."""

    order: int | str = setting("How many words.", default=3, low=1, high=MAX_ORDER, words=(INFINITE,))
    max_order: int = setting("Order infinite: maximal number of words.", default=8, low=1, high=250)
    sweeps: int = setting("Gibbs sweeps over the text.", default=100, low=1, high=10**9)
    samples: int = setting(
        "How many states of the sampler to average, spread over the second half of the run.",
        default=5, low=1, high=1000,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples > self.sweeps:
            raise SettingError(f"{self.sweeps} sweeps have no {self.samples} samples")
        if self.order == INFINITE and self.boundary == "pad":
            raise SettingError("boundary is one of single, none where the order is infinite; not 'pad'")
        if self.order != INFINITE:
            self._refuse(("max_order",), "without order infinite")


class HmmSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
    """Settings of hidden Markov models."""

    states: int = setting("Number of hidden states, besides that of the end.", default=20, low=1, high=1000)
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
    kappa: float = setting("Added to the count of every word, so that rare ones weigh less (cca).", default=50.0, low=0)
    rank_tolerance: float | str = setting(
        "Singular values below this part of the first are no rank; noise: below what chance makes of such a text.",
        default=1e-3, low=0.0, words=("noise",),
    )  # fmt: skip
    pool: int = setting("Rarer words share the operators of words that look alike.", default=10, low=1, high=10**9)
    least: float = setting(
        "Lower bound on predicted probabilities, before interpolation.", default=1e-6, above=0.0, high=1e-3
    )
    unigram_share: float = setting(
        "How much of every prediction is the unigram distribution.", default=0.05, above=0.0, below=1.0,
        shown="0.05, or what --dev says",
    )  # fmt: skip
    passes: int = setting("EM: maximal number of passes over the text.", default=100, low=0, high=100_000)
    tolerance: float = setting(
        "EM ends when a pass raises the log-likelihood by less than this part.", default=1e-5, low=0.0
    )
    restarts: int = setting(
        "EM: number of random starts, of which the likeliest result is kept.", default=1, low=1, high=MOST_RESTARTS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundary != "single":
            raise SettingError(f"boundary is single for hidden Markov models; not {self.boundary!r}")
        if self.restarts > 1 and self.estimator != "em":
            raise SettingError("restarts means nothing without estimator em")
        if self.estimator not in ("em", "spectral-em"):
            self._refuse(("passes", "tolerance"), "without expectation and maximisation")
        if self.estimator == "em":
            self._refuse(("projection", "kappa", "rank_tolerance"), "with estimator em")
        if self.projection == "svd":
            self._refuse(("kappa",), "with projection svd")


class PlreSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
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
    discounts: Any = DISCOUNTS
    lower: str = setting(
        "Counts of lower orders: numbers of types before an n-gram, or the mass that is taken from longer ones.",
        default="types", choices=("types", "mass"),
    )  # fmt: skip
    unigram: str = UNIGRAM
    passes: int = setting("Updates of each matrix.", default=15, low=0, high=10**6)
    strict: bool = STRICT

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.powers or list(self.powers) != sorted(self.powers, reverse=True):
            raise SettingError(f"powers are a list that does not rise, such as 0.67,0.33; not {self.powers!r}")
        if self.ranks is None:
            return
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

    @property
    def rank_lists(self) -> list[list[int]]:
        """The ranks that were given, a list for each power or one for all of them; none if none were given."""
        several = list(self.ranks) if isinstance(self.ranks, tuple | list) else [self.ranks]
        if all(type(rank) is int for rank in several):
            several = [several]
        return [list(ranks) if isinstance(ranks, tuple | list) else [ranks] for ranks in several if ranks is not None]


class LogLinearSettings(WordSettings, UnitSettings, TokenSettings, TextSettings, Seeded, Parallel):
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
    passes: int = setting("Maximal number of passes over the text.", default=1000, low=1, high=10**9)
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
            self._refuse(("batch_tokens", "steepness", "noise"), "without estimator stochastic")
