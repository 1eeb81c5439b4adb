"""The upper envelope of straight lines that can only be asked for one by one, and the best point along many of them.

A decoder finds the item whose score, height + slope x, is largest at a given x. Over an interval the largest score is
a convex function made of a few such lines. They are all found by asking at both ends: if the two lines differ, the
decoder is asked where they cross; if nothing is higher there, that is a corner, else both halves are searched. About
two questions a line.

Och, "Minimum error rate training in statistical machine translation", 2003, with exact search in place of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["Line", "best_point", "envelope"]

_SAME = 1e-9


class Line(NamedTuple):
    """A score as a function of x, height + slope x, and what has it."""

    height: float
    slope: float
    item: Any


def envelope(best_at: Callable[[float], Line], low: float, high: float) -> list[tuple[float, Line]]:
    """The lines that are the highest somewhere between ``low`` and ``high``, each with where it begins to be."""
    first, last = best_at(low), best_at(high)
    found, todo = [(low, first)], [(first, last)]
    while todo:
        left, right = todo.pop()
        if right.slope - left.slope <= _SAME * (1.0 + abs(left.slope)):
            continue
        x = min(max((left.height - right.height) / (right.slope - left.slope), low), high)
        middle, value = best_at(x), left.height + left.slope * x
        if middle.height + middle.slope * x <= value + _SAME * (1.0 + abs(value)):
            found.append((x, right))
        else:
            todo += [(middle, right), (left, middle)]
    return found


def best_point(pieces: Sequence[Sequence[tuple[float, float]]], high: float) -> tuple[float, float]:
    """The largest sum of step functions up to ``high``, and the middle of the first interval that has it.

    ``pieces``: of each function where its steps begin and how high they are; all begin at the same point.

    >>> best_point([[(0.0, 1.0), (2.0, 3.0)], [(0.0, 2.0), (3.0, 0.0)]], 5.0)
    (5.0, 2.5)
    """
    total = sum(steps[0][1] for steps in pieces)
    low = pieces[0][0][0] if pieces else 0.0
    changes = sorted((x, after - before) for steps in pieces for (_, before), (x, after) in pairwise(steps))
    best, point = total, (low + (changes[0][0] if changes else high)) / 2.0
    for number, (x, change) in enumerate(changes):
        total += change
        end = changes[number + 1][0] if number + 1 < len(changes) else high
        if total > best and end > x:
            best, point = total, (x + end) / 2.0
    return best, point
