"""How well do neighbours belong together? Every item is a query; the others are ranked by distance.

Relevant are the other items of its group; a query without any is left out and counted. The headline is the precision at
eleven levels of recall, 0, 0.1, ..., 1, each the best at any rank with that recall or more, averaged over levels and
queries; then R-precision (the share of relevant items among the first R, where R is how many there are) and mean
average precision. Of equally distant items that with the smaller number comes first.

The ranking itself is never made: an item counts before the relevant item j if it is nearer, or as near and of a smaller
number. Relevant items are sorted, and every other item falls between two of them.

Manning, Raghavan and Schuetze, "Introduction to information retrieval", 2008, section 8.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from corpuscle.compiled import frozen, kernel
from corpuscle.measure.bootstrap import bootstrap_ratio
from corpuscle.measure.result import Result, Shown, resampled, signature

_BLOCK = 1 << 23
ELEVEN_POINT = Shown("eleven_point", "11-point average precision", ".")
RETRIEVAL = (
    ELEVEN_POINT, Shown("r_precision", "R-precision", "."), Shown("map", "mean average precision", "."),
    Shown("queries", "queries", ","),
)  # fmt: skip


class Ranked(NamedTuple):
    """What came of each query that has relevant items.

    - ``levels`` float64 (queries, 11): precision at each level of recall; ``r_precision``, ``average`` (queries,);
    - ``skipped``: queries without relevant items.
    """

    levels: np.ndarray
    r_precision: np.ndarray
    average: np.ndarray
    skipped: int


@kernel
def _rank_block(distances, labels, first, levels, r_precision, average):
    """Fill the rows of ``levels`` (queries, 11), P(0), P(0.1), ..., P(1), ``r_precision`` and ``average`` (queries,),
    the mean precision at the ranks of relevant items.

    ``distances`` float64 (queries, items); query q is item ``first + q``, which is not among its own results, and an
    item is relevant if it has its label. Without relevant items a query gets NaN.
    """
    items = len(labels)
    relevant, ahead = np.empty(items, np.int64), np.empty(items, np.int64)
    for q in range(len(distances)):
        query, row = first + q, distances[q]
        count = 0
        for j in range(items):
            if j != query and labels[j] == labels[query]:
                relevant[count] = j
                count += 1
        if count == 0:
            levels[q] = np.nan
            r_precision[q] = average[q] = np.nan
            continue
        relevant[:count] = relevant[:count][np.argsort(row[relevant[:count]], kind="mergesort")]
        ahead[: count + 1] = 0
        for j in range(items):
            if j != query and labels[j] != labels[query]:
                low, high = 0, count  # the place of item j among the relevant ones
                while low < high:
                    middle = (low + high) // 2
                    i = relevant[middle]
                    if row[i] < row[j] or (row[i] == row[j] and i < j):
                        low = middle + 1
                    else:
                        high = middle
                ahead[low] += 1
        hits, total, others = 0, 0.0, 0
        best = np.zeros(count)
        for i in range(count):
            others += ahead[i]
            rank = i + 1 + others
            best[i] = (i + 1) / rank
            total += best[i]
            hits += rank <= count
        for i in range(count - 2, -1, -1):
            best[i] = max(best[i], best[i + 1])
        for level in range(11):
            # The first relevant item at which recall reaches the level, in whole numbers: no rounding.
            needed = max(1, (level * count + 9) // 10)
            levels[q, level] = best[needed - 1]
        r_precision[q], average[q] = hits / count, total / count


def rank_items(items: Any, labels: Any) -> Ranked:
    """Rank all items, a matrix (m, n), dense or sparse, by Euclidean distance to each of them; items of one label
    belong together."""
    sparse = issparse(items)
    items = items.tocsr().astype(np.float64) if sparse else np.asarray(items, np.float64)
    _, number = np.unique(np.asarray(labels), return_inverse=True)
    m = items.shape[0]
    if items.ndim != 2 or m != len(number) or m < 2:
        raise ValueError(f"at least two items with a label each are needed: {items.shape}, {len(number)} labels")
    number = frozen(number.ravel(), np.int64)
    squares = np.asarray(items.power(2).sum(axis=1)) if sparse else np.einsum("ij,ij->i", items, items)
    levels, r_precision, average = np.empty((m, 11)), np.empty(m), np.empty(m)
    step = max(1, _BLOCK // m)
    for first in range(0, m, step):
        here = slice(first, first + step)
        products = items[here] @ items.T
        away = squares[here, None] + squares - 2 * (products.toarray() if sparse else products)
        _rank_block(away, number, first, levels[here], r_precision[here], average[here])
    kept = ~np.isnan(average)
    return Ranked(levels[kept], r_precision[kept], average[kept], int((~kept).sum()))


def retrieval(ranked: Ranked, *, draws: int = 1000, seed: int = 1) -> Result:
    """The figures of a ranking: ``eleven_point`` with its interval, ``r_precision``, ``map``, ``queries``, ``skipped``,
    and ``precision_at_0`` to ``precision_at_100``, the precision at each per cent of recall."""
    if len(ranked.average) == 0:
        raise ValueError("no query has a relevant item: every group has one member")
    by_query = ranked.levels.mean(axis=1)
    figures: dict[str, float | int] = {
        "eleven_point": float(by_query.mean()),
        "r_precision": float(ranked.r_precision.mean()),
        "map": float(ranked.average.mean()),
        "queries": len(by_query),
        "skipped": ranked.skipped,
    }
    figures |= {f"precision_at_{10 * i}": float(value) for i, value in enumerate(ranked.levels.mean(axis=0))}
    interval = bootstrap_ratio(by_query, np.ones(len(by_query)), draws=draws, seed=seed)
    how = signature("retrieval", queries="all items", interval=resampled("queries", draws, seed))
    return Result(figures, interval, how, RETRIEVAL)
