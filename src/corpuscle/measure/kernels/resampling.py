"""Draws with replacement (the bootstrap) and random swaps (approximate randomisation) of items' statistics.

Efron, "Bootstrap methods: another look at the jackknife", 1979; Noreen, "Computer-intensive methods for
testing hypotheses", 1989. A statistic of n items is a table (n, k) of additive counts; draw number b has the
random stream b, whoever computes it.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.random import below, bits, stream

__all__ = ["draw_items", "resample", "swap"]


@kernel
def resample(statistics, first, seed, purpose, sums):
    """Fill ``sums`` (n_draws, k) with the sums over items drawn with replacement; the draws are numbered from
    ``first``."""
    items, width = statistics.shape
    for draw in range(len(sums)):
        source = stream(seed, purpose, first + draw, 0)
        for column in range(width):
            sums[draw, column] = 0.0
        for _ in range(items):
            item = below(source, items)
            for column in range(width):
                sums[draw, column] += statistics[item, column]


@kernel
def swap(differences, first, seed, purpose, moved):
    """Fill ``moved`` (n_draws, k) with the sums of ``differences`` (n_items, k) over a random half of the items."""
    items, width = differences.shape
    for draw in range(len(moved)):
        source = stream(seed, purpose, first + draw, 0)
        coins = np.uint64(0)
        for column in range(width):
            moved[draw, column] = 0.0
        for item in range(items):
            if item % 64 == 0:
                coins = bits(source)
            if coins & np.uint64(1):
                for column in range(width):
                    moved[draw, column] += differences[item, column]
            coins = coins >> np.uint64(1)


@kernel
def draw_items(draw, seed, purpose, items):
    """Fill ``items`` (n,) with the numbers of the items that are drawn with replacement in draw number ``draw``."""
    source = stream(seed, purpose, draw, 0)
    for i in range(len(items)):
        items[i] = below(source, len(items))
