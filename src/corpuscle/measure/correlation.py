"""How well two rankings agree, and how well people do: Spearman's rank correlation and Krippendorff's alpha, with
their intervals.

Values become ranks, equal values their mean rank, and ranks are correlated as Pearson does it: Spearman, "The proof and
measurement of association between two things", 1904. Items are drawn with replacement for the interval, and ranked anew
in every draw. Where people have judged items several times, a point is one judgement, and all points of an item are
drawn together: they are not independent.

A draw is known by how often it has each item, so the points of all draws are ranked at once: the mean rank of equal
values is the number of points with smaller ones, and half of their own.

The agreement of annotators, how often they say the same beyond chance, is Krippendorff's alpha for nominal data: 1 -
observed / expected disagreement. It takes any number of annotators, and units that not all of them have judged; 1 is
perfect, 0 is chance: Krippendorff, "Reliability in content analysis", 2004; Artstein and Poesio, "Inter-coder agreement
for computational linguistics", 2008, section 2.6. A unit with m judgements adds to the observed disagreement the number
of its ordered pairs that differ, over m - 1, and to n_c the number of its judgements that are c; with n judgements of
units that have at least two,

    alpha = 1 - (n - 1) observed / (n^2 - sum_c n_c^2)

which are sums over items, so that items (sentences) can be resampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import bootstrap, comparison_of, interval_of, item_draws, share
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature

SPEARMAN = (Shown("spearman", "Spearman", "."), Shown("covered/pairs", "covered"), Shown("pairs", "pairs", ","))
AGREEMENT = (Shown("alpha", "Krippendorff's alpha", "."), Shown("agreement", "agreement"), Shown("units", "units", ","))
_CELLS = 2_000_000  # of the table of draws and points that is worked on at a time


def ranks(values: Any) -> np.ndarray:
    """The rank of each value from 1 on, float64 (n,); equal values share the mean of theirs.

    >>> ranks([10, 30, 20, 10]).tolist()
    [1.5, 4.0, 3.0, 1.5]
    """
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def rank_correlation(a: Any, b: Any) -> float:
    """Spearman's correlation of two lists; not a number where one of them has no order."""
    x, y = (each - each.mean() for each in (ranks(a), ranks(b)))
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else float("nan")


def _weighted_ranks(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The rank of each value (n,) that stands for several points: ``weights`` (draws, n), their number in each draw."""
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    begins = np.flatnonzero(np.diff(place[order], prepend=-1))
    sizes = np.add.reduceat(weights[:, order], begins, axis=1)
    return (np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, place]


def _correlations(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``rank_correlation`` in each draw, float64 (draws,)."""
    total = weights.sum(axis=1, keepdims=True)
    x, y = (
        each - (weights * each).sum(axis=1, keepdims=True) / total
        for each in (_weighted_ranks(values, weights) for values in (a, b))
    )
    size = np.sqrt((weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 0, (weights * x * y).sum(axis=1) / size, np.nan)


def _drawn(predictions: list[np.ndarray], gold: np.ndarray, items: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The correlation of each of some predictions (n,) with gold in each draw of items, float64 (predictions, draws);
    ``items`` int (n,): to which item each point belongs."""
    n_items, result = int(items.max()) + 1, np.empty((len(predictions), draws))
    step, first = max(1, _CELLS // len(gold)), 0
    counts: list[np.ndarray] = []
    for number, drawn in enumerate(item_draws(n_items, draws, seed), 1):
        counts.append(np.bincount(drawn, minlength=n_items))
        if len(counts) == step or number == draws:
            weights = np.array(counts, np.float64)[:, items]
            for row, predicted in zip(result, predictions, strict=True):
                row[first:number] = _correlations(predicted, gold, weights)
            first, counts = number, []
    return result


def _points(values: list[Any], items: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Lists of equal length as arrays, and the items of their points, numbered from 0 on."""
    arrays = [np.asarray(each, np.float64) for each in values]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1 or len(arrays[0]) == 0:
        raise ValueError(f"lists of the shapes {', '.join(map(str, sorted(shapes)))} cannot be correlated")
    if any(np.isnan(array).any() for array in arrays):
        raise ValueError("a value is not a number")
    if items is None:
        return arrays, np.arange(len(arrays[0]))
    return arrays, np.unique(np.asarray(items), return_inverse=True)[1]


def spearman(
    predicted: Any,
    gold: Any,
    *,
    pairs: int | None = None,
    of: str = "pairs",
    items: Any = None,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Spearman's correlation of predicted with gold values, point by point, with its interval.

    ``pairs``: of how many points these are the ones that could be judged (default: all of them); ``of``: what the items
    are; ``items``: the item that each point belongs to (default: every point is one). Figures: ``spearman``, ``pairs``,
    ``covered``.
    """
    (predicted, gold), items = _points([predicted, gold], items)
    figures = {
        "spearman": rank_correlation(predicted, gold),
        "pairs": len(gold) if pairs is None else int(pairs),
        "covered": len(gold),
    }
    how = signature("spearman", of=of, ties="mean rank", missing="left out", interval=resampled(of, draws, seed))
    return Result(figures, interval_of(_drawn([predicted], gold, items, draws, seed)[0]), how, SPEARMAN)


def compare_spearman(
    a: Any, b: Any, gold: Any, *, of: str = "pairs", items: Any = None, draws: int = 1000, seed: int = 1
) -> Comparison:
    """Paired bootstrap of two predictions of the same gold values: the correlation of ``a`` minus that of ``b``."""
    (a, b, gold), items = _points([a, b, gold], items)
    first, second = _drawn([a, b], gold, items, draws, seed)
    difference = rank_correlation(a, gold) - rank_correlation(b, gold)
    return comparison_of(difference, first - second, SPEARMAN[0], resampled(of, draws, seed))


def human_ceiling(ratings: Any, items: Any, subjects: Any) -> float:
    """How well people agree: the correlation of each subject's ratings with the mean of what all others have given the
    same items, averaged over the subjects; not a number where no two subjects have rated three items."""
    ratings, found = np.asarray(ratings, np.float64), []
    places, who = (np.unique(np.asarray(each), return_inverse=True)[1] for each in (items, subjects))
    sums, counts = np.bincount(places, ratings), np.bincount(places)
    for subject in range(int(who.max(initial=-1)) + 1):
        own = who == subject
        others = counts - np.bincount(places[own], minlength=len(counts))
        rest = sums - np.bincount(places[own], ratings[own], len(counts))
        usable = np.flatnonzero(own & (others[places] > 0))
        if len(usable) >= 3:
            at = places[usable]
            found.append(rank_correlation(ratings[usable], rest[at] / others[at]))
    kept = [each for each in found if not np.isnan(each)]
    return float(np.mean(kept)) if kept else float("nan")


def _alpha(sums: np.ndarray) -> np.ndarray:
    """Alpha of sums (..., 2 + labels): observed disagreement, pairs that agree, and how often each label was given."""
    observed, counts = sums[..., 0], sums[..., 2:]
    n = counts.sum(axis=-1)
    expected = n**2 - (counts**2).sum(axis=-1)
    return 1.0 - share((n - 1) * observed, expected)


def agreement(items: Sequence[Sequence[Sequence[Hashable]]], *, draws: int = 1000, seed: int = 1) -> Result:
    """Agreement on items (sentences) of units (words), each with the labels that its annotators gave it.

    >>> result = agreement([[["a", "a"], ["b", "b"]], [["a", "b"], ["b", "b", "b"]]])
    >>> f"{result['alpha']:.3f} {result['agreement']:.3f}"
    '0.556 0.833'
    """
    labels = sorted({repr(label) for item in items for unit in item for label in unit})
    columns = {label: number for number, label in enumerate(labels, 2)}
    statistics = np.zeros((len(items), 2 + len(labels)))
    units, pairs = 0, 0
    for row, item in zip(statistics, items, strict=True):
        for unit in item:
            m = len(unit)
            if m < 2:
                continue
            counts = Counter(map(repr, unit))
            same = sum(count * (count - 1) for count in counts.values())
            units, pairs = units + 1, pairs + m * (m - 1)
            row[0] += (m * (m - 1) - same) / (m - 1)
            row[1] += same
            for label, count in counts.items():
                row[columns[label]] += count
    if not units:
        raise ValueError("no unit was judged by two annotators")
    sums = statistics.sum(axis=0)
    figures = {"alpha": float(_alpha(sums)), "agreement": float(sums[1] / pairs), "units": units, "items": len(items)}
    how = signature("agreement", labels="nominal", interval=resampled("items", draws, seed))
    return Result(figures, bootstrap(statistics, _alpha, draws=draws, seed=seed), how, AGREEMENT)
