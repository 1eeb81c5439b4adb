"""Where the relevant items of a query stand in its ranking, and how precise the ranking is at each level of recall.

The ranking itself is never made: an item counts before the relevant item j if it is nearer, or as near and of a
smaller number. Relevant items are sorted, and every other item falls between two of them.

Manning, Raghavan and Schuetze, "Introduction to information retrieval", 2008, section 8.4 (precision at eleven levels
of recall). Notation: R relevant items; P(r) is the best precision at any rank with recall r or more.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part

__all__ = ["rank_block"]


@part
def _before(distances, a, b):
    """Whether item a stands before item b."""
    return distances[a] < distances[b] or (distances[a] == distances[b] and a < b)


@kernel
def rank_block(distances, labels, first, levels, r_precision, average):
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
                low, high = 0, count
                while low < high:
                    middle = (low + high) // 2
                    if _before(row, relevant[middle], j):
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
