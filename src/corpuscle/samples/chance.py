"""Weighted choice, the way the sample needs it: many draws from the same weights.

Weights are sums and quotients of small numbers, never powers or logarithms: those differ in the last digit between
mathematical libraries, and a seed must give the same bytes on every machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from corpuscle.random import Random

__all__ = ["Table", "mandelbrot"]

T = TypeVar("T")


class Table(Generic[T]):
    """Items with weights, drawn by bisection.

    >>> Table(["a", "b"], [1.0, 0.0]).draw(Random(1, "example"))
    'a'
    """

    __slots__ = ("items", "last", "sums")

    def __init__(self, items: Sequence[T], weights: Sequence[float] | None = None):
        if not items:
            raise ValueError("a table needs at least one item")
        self.items = list(items)
        self.sums = list(accumulate([1.0] * len(items) if weights is None else weights))
        self.last = len(self.items) - 1

    def draw(self, random: Random) -> T:
        """One item, in proportion to its weight."""
        return self.items[bisect_right(self.sums, random.uniform() * self.sums[-1], 0, self.last)]


def mandelbrot(n: int, shift: float = 2.7) -> list[float]:
    """Weights of ranks 1..n by the law of Zipf and Mandelbrot with exponent one: 1 / (rank + shift)."""
    return [1.0 / (rank + shift) for rank in range(1, n + 1)]
