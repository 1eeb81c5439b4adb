"""Resampling: how much would a figure change if the items had been drawn again?

A corpus-level figure is a function of sums over items (sentences, documents): perplexity of (log probability, tokens),
F1 of (correct, predicted, gold). The bootstrap draws as many items as there are, with replacement, and
computes the figure anew, a thousand times. Two systems are compared on the same draws, or by swapping
their outputs at random (approximate randomisation), which tests the hypothesis that they do not differ.

Each draw has its own random stream, so results depend on the seed and the data alone. Above ``MAX_ITEMS`` items,
neighbours are first added up into ``MAX_ITEMS`` blocks of nearly equal length, and blocks are drawn instead. For
independent items the variance stays the same; for neighbours that resemble each other (sentences of a document) it
comes out more honest. A thousand draws then take a fraction of a second for any size of corpus.

Efron, "Bootstrap methods: another look at the jackknife", 1979; Noreen, "Computer-intensive methods for testing
hypotheses", 1989; Koehn, "Statistical significance tests for machine translation evaluation", 2004.

Figures that are made of counts of right and wrong (accuracy, precision, recall, F1) are at the end, with those that
compare two systems by them. Counts are given by item (sentence, document); a ratio without cases (0/0) is not a
number: the figure is missing, neither 0 nor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.measure.result import Comparison, Interval, Result, Shown, resampled, signature, with_interval
from corpuscle.random import below, bits, purpose_id, stream

MAX_ITEMS = 20_000
"""More items than this are added up into this many blocks."""

FIGURE = Shown("figure", "figure", ".")
"""A figure of which nothing is known but that it is a number."""

Figure = Callable[[np.ndarray], np.ndarray]
"""Sums (..., k) to figures (...): written with NumPy, so that it works on one vector of sums and on a table
of draws."""

_BOOTSTRAP = purpose_id("measure.bootstrap")
_RANDOMISATION = purpose_id("measure.randomisation")
_CELLS_A_CALL = 20_000_000  # a kernel call stays well below half a second, so that Ctrl-C works


@kernel
def _resample(statistics, first, seed, purpose, sums):
    """Fill ``sums`` (n_draws, k) with the sums over items drawn with replacement; the draws are numbered from
    ``first``."""
    items, width = statistics.shape
    sums[:] = 0.0
    for draw in range(len(sums)):
        source = stream(seed, purpose, first + draw, 0)
        for _ in range(items):
            item = below(source, items)
            for column in range(width):
                sums[draw, column] += statistics[item, column]


@kernel
def _swap(differences, first, seed, purpose, moved):
    """Fill ``moved`` (n_draws, k) with the sums of ``differences`` (n_items, k) over a random half of the items."""
    items, width = differences.shape
    moved[:] = 0.0
    for draw in range(len(moved)):
        source = stream(seed, purpose, first + draw, 0)
        coins = np.uint64(0)
        for item in range(items):
            if item % 64 == 0:  # a draw of 64 bits is 64 coins
                coins = bits(source)
            if coins & np.uint64(1):
                for column in range(width):
                    moved[draw, column] += differences[item, column]
            coins = coins >> np.uint64(1)


@kernel
def _draw_items(draw, seed, purpose, items):
    """Fill ``items`` (n,) with the numbers of the items that are drawn with replacement in draw number ``draw``."""
    source = stream(seed, purpose, draw, 0)
    for i in range(len(items)):
        items[i] = below(source, len(items))


def _draw(function: Any, statistics: np.ndarray, draws: int, seed: int, purpose: int) -> np.ndarray:
    """All draws of a kernel, some at a time: float64 (draws, k)."""
    if draws < 1:
        raise ValueError(f"draws is {draws}; at least one is needed")
    result = np.empty((draws, statistics.shape[1]))
    step = max(1, _CELLS_A_CALL // max(1, statistics.size))
    for first in range(0, draws, step):
        function(statistics, first, seed, purpose, result[first : first + step])
    return result


def _rows(statistics: Any) -> np.ndarray:
    """Statistics by item as float64 (n_items, k), C order; too many items are added up into blocks of neighbours."""
    table = np.asarray(statistics, np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"statistics must have the shape (n_items, k) with at least one item, not {table.shape}")
    if np.isnan(table).any():
        raise ValueError("a statistic is not a number")
    if len(table) > MAX_ITEMS:
        table = np.add.reduceat(table, np.arange(MAX_ITEMS) * len(table) // MAX_ITEMS, axis=0)
    return np.ascontiguousarray(table)


def _paired(statistics_a: Any, statistics_b: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = _rows(statistics_a), _rows(statistics_b)
    if a.shape != b.shape:
        raise ValueError(f"paired statistics differ in shape: {a.shape} and {b.shape}")
    return a, b


def interval_of(values: np.ndarray) -> Interval:
    """The interval of the drawn figures; draws for which there is no figure (0/0) are left out."""
    values = np.sort(values[~np.isnan(values)])
    if len(values) == 0:
        return Interval(np.nan, np.nan, np.nan, np.nan)
    with np.errstate(invalid="ignore"):
        deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    # By rank, not interpolated: between a finite and an infinite value there is nothing to interpolate.
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return Interval(float(values.mean()), float(low), float(high), deviation)


def item_draws(items: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """For figures that are not functions of sums: the numbers of the items of each draw, int64 (items,), the very items
    that ``bootstrap`` would draw."""
    for draw in range(draws):
        drawn = np.empty(items, np.int64)
        _draw_items(draw, seed, _BOOTSTRAP, drawn)
        yield drawn


def bootstrap(statistics: Any, figure: Figure, *, draws: int = 1000, seed: int = 1) -> Interval:
    """The interval of any figure of sums: ``statistics`` is (n_items, k), ``figure`` maps sums (..., k) to (...)."""
    sums = _draw(_resample, _rows(statistics), draws, seed, _BOOTSTRAP)
    with np.errstate(all="ignore"):
        return interval_of(figure(sums))


def bootstrap_all(
    statistics: np.ndarray, figures: Mapping[str, Figure], *, draws: int = 1000, seed: int = 1
) -> tuple[dict[str, float | int], Interval]:
    """Several figures of the same sums by name, each with ``_low`` and ``_high``; and the interval of the last one."""
    sums, values = _draw(_resample, _rows(statistics), draws, seed, _BOOTSTRAP), dict[str, float | int]()
    for name, figure in figures.items():
        with np.errstate(all="ignore"):
            interval = interval_of(figure(sums))
        values |= with_interval(name, figure(statistics.sum(axis=0)), interval)
    return values, interval


def _ratio(transform: Callable[[Any], Any] | None) -> Figure:
    def figure(sums: np.ndarray) -> np.ndarray:
        ratio: np.ndarray = sums[..., 0] / sums[..., 1]
        # One by one, so that functions of the math module serve as well as NumPy's.
        return ratio if transform is None else np.vectorize(transform, otypes=[np.float64])(ratio)

    return figure


def bootstrap_ratio(
    numerators: Any,
    denominators: Any,
    *,
    draws: int = 1000,
    seed: int = 1,
    transform: Callable[[Any], Any] | None = None,
) -> Interval:
    """The interval of ``transform(sum of numerators / sum of denominators)``, both given by item.

    >>> bootstrap_ratio([1, 1, 1], [2, 2, 2]).high
    0.5
    """
    return bootstrap(np.column_stack([numerators, denominators]), _ratio(transform), draws=draws, seed=seed)


def comparison_of(difference: float, drawn: np.ndarray, of: Shown, how: str) -> Comparison:
    """A difference with what the draws of a paired bootstrap, ``how``, say about it; see ``compare``."""
    interval = interval_of(drawn)
    drawn = drawn[~np.isnan(drawn)]
    rarer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    p_value = min(1.0, 2.0 * (rarer + 1) / (len(drawn) + 1)) if len(drawn) else np.nan
    line = signature(f"difference of {of.label}", test=f"paired {how}")
    return Comparison(difference, interval.low, interval.high, interval.deviation, p_value, of, line)


def compare(
    statistics_a: Any,
    statistics_b: Any,
    figure: Figure,
    *,
    draws: int = 1000,
    seed: int = 1,
    of: Shown = FIGURE,
    items: str = "items",
) -> Comparison:
    """Paired bootstrap of any figure of sums: both systems see the same draws of items, (n_items, k) each.

    The p-value belongs to the interval: twice the share of draws in which the difference has the rarer sign
    (ties count for both), each count raised by one, so that it is never zero. Draws without a difference (one
    figure is 0/0, or both are infinite) are left out; if there is no other draw, there is no p-value (NaN). ``of`` says
    how the figure is shown, ``items`` what the items are.
    """
    a, b = _paired(statistics_a, statistics_b)
    width = a.shape[1]
    sums = _draw(_resample, np.hstack([a, b]), draws, seed, _BOOTSTRAP)
    with np.errstate(all="ignore"):
        difference = float(figure(a.sum(axis=0)) - figure(b.sum(axis=0)))
        drawn = figure(sums[:, :width]) - figure(sums[:, width:])
        return comparison_of(difference, drawn, of, resampled(items, draws, seed))


def paired_bootstrap(
    numerators_a: Any,
    numerators_b: Any,
    denominators: Any,
    *,
    draws: int = 1000,
    seed: int = 1,
    transform: Callable[[Any], Any] | None = None,
    of: Shown = FIGURE,
    items: str = "items",
) -> Comparison:
    """Compare two systems whose figure is ``transform(sum of numerators / sum of denominators)``; difference
    is A - B."""
    a, b = (np.column_stack([numerators, denominators]) for numerators in (numerators_a, numerators_b))
    return compare(a, b, _ratio(transform), draws=draws, seed=seed, of=of, items=items)


def approximate_randomisation(
    statistics_a: Any, statistics_b: Any, figure: Figure, *, draws: int = 1000, seed: int = 1
) -> float:
    """The p-value (two-sided) of the difference between two systems if their outputs were interchangeable.

    In each draw a fair coin decides item by item whether the two outputs change places; the p-value is the
    share of draws whose difference is at least as large as the real one. Draws without a difference (0/0) are
    left out; it is NaN if the outputs themselves have none.
    """
    a, b = _paired(statistics_a, statistics_b)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("approximate randomisation needs finite statistics")
    moved = _draw(_swap, b - a, draws, seed, _RANDOMISATION)
    total_a, total_b = a.sum(axis=0), b.sum(axis=0)
    with np.errstate(all="ignore"):
        observed = abs(float(figure(total_a) - figure(total_b)))
        drawn = np.abs(figure(total_a + moved) - figure(total_b - moved))
    drawn = drawn[~np.isnan(drawn)]
    if np.isnan(observed) or len(drawn) == 0:
        return np.nan
    # Draws that differ from the observed difference by rounding alone are as large as it.
    as_large = int((drawn >= observed * (1 - 1e-12)).sum())
    return (as_large + 1) / (len(drawn) + 1)


F1 = (Shown("f1", "F1"), Shown("precision", "precision"), Shown("recall", "recall"), Shown("gold", "gold", ","))
ACCURACY = (Shown("accuracy", "accuracy"), Shown("total", "decisions", ","))


def share(part: Any, whole: Any) -> Any:
    """A part of a whole, element by element; not a number where there is no whole (0/0).

    >>> float(share(1, 4)), float(share(0, 0))
    (0.25, nan)
    """
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) != 0)


def harmonic(precision: Any, recall: Any) -> Any:
    """F1 of precision and recall where these are not of the same counts: 0 if nothing is right, also where one of the
    two is missing; missing if both are."""
    low, high = np.nan_to_num(precision), np.nan_to_num(recall)
    return np.where(np.isnan(precision) & np.isnan(recall), np.nan, 2 * low * high / np.maximum(low + high, 1e-300))


def rate(part: int, whole: int) -> Figure:
    """The share that one column of sums is of another."""
    return lambda sums: share(sums[..., part], sums[..., whole])


def f1_rates(first: int = 0, name: str = "{}") -> dict[str, Figure]:
    """Precision, recall and F1 of three columns of sums, right, found and gold, from the column ``first`` on; ``name``:
    what the figures are called, such as ``lexicon_{}``."""
    return {
        name.format("precision"): rate(first, first + 1),
        name.format("recall"): rate(first, first + 2),
        name.format("f1"): lambda sums: share(2 * sums[..., first], sums[..., first + 1] + sums[..., first + 2]),
    }


def sums_by_sentence(starts: np.ndarray, columns: Iterable[Any]) -> np.ndarray:
    """Values of words, added up over each sentence that has words: float64 (n_sentences, n_columns)."""
    filled = starts[:-1][np.diff(starts) > 0]
    return np.column_stack([np.add.reduceat(np.asarray(values, np.float64), filled) for values in columns])


def precision_recall(
    correct: Any, predicted: Any, gold: Any, *, of: str = "spans", draws: int = 1000, seed: int = 1
) -> Result:
    """Precision, recall and F1 (micro-averaged) from counts by item; the headline interval is that of F1.

    Figures: ``precision``, ``recall``, ``f1``, each also with ``_low`` and ``_high``, and the counts
    ``correct``, ``predicted``, ``gold``. ``of`` says in the signature what was counted.
    """
    statistics = np.column_stack([correct, predicted, gold]).astype(np.float64)
    if (statistics < 0).any() or (statistics[:, 0] > statistics[:, 1:].min(axis=1)).any():
        raise ValueError("in every item, correct must lie between 0 and both predicted and gold")
    figures, interval = bootstrap_all(statistics, f1_rates(), draws=draws, seed=seed)
    sums = statistics.sum(axis=0)
    figures |= {name: int(n) for name, n in zip(("correct", "predicted", "gold"), sums, strict=True)}
    how = signature("f1", of=of, average="micro", interval=resampled("items", draws, seed))
    return Result(figures, interval, how, F1)


def compare_f1(a: Any, b: Any, *, draws: int = 1000, seed: int = 1, items: str = "items") -> Comparison:
    """F1 of system A minus that of system B against the same gold, by paired bootstrap over items.

    ``a``, ``b``: (n_items, 3), how many are correct, predicted and gold.
    """
    return compare(a, b, f1_rates()["f1"], draws=draws, seed=seed, of=F1[0], items=items)


def accuracy(correct: Any, total: Any, *, of: str = "tokens", draws: int = 1000, seed: int = 1) -> Result:
    """The share of right decisions, from counts by item. Figures: ``accuracy``, ``correct``, ``total``."""
    statistics = np.column_stack([correct, total]).astype(np.float64)
    if (statistics[:, 0] < 0).any() or (statistics[:, 0] > statistics[:, 1]).any():
        raise ValueError("in every item, correct must lie between 0 and total")
    interval = bootstrap(statistics, rate(0, 1), draws=draws, seed=seed)
    right, whole = statistics.sum(axis=0)
    figures = {"accuracy": float(share(right, whole)), "correct": int(right), "total": int(whole)}
    how = signature("accuracy", of=of, interval=resampled("items", draws, seed))
    return Result(figures, interval, how, ACCURACY)


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error: decisions in bins by their confidence, in 0..1, and by how much the mean confidence
    of a bin differs from its share of right ones, weighted by its size (Guo, Pleiss, Sun and Weinberger, "On
    calibration of modern neural networks", 2017, eq. 3).

    >>> calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([True, True, True, False]))
    0.0
    """
    bin_of = np.minimum((np.asarray(confidence) * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(bin_of, confidence, bins) - np.bincount(bin_of, right, bins)
    return float(share(np.abs(gaps).sum(), len(bin_of)))
