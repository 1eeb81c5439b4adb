"""Grids: all ways to cut two sequences side by side into units.

A grid of two sequences of n and m symbols has the cells (i, j), i = 0..n, j = 0..m: so much of both has been read. A
unit of shape (a, b) takes a symbols of the first and b of the second sequence, and is an edge from (i - a, j - b) to
(i, j). A path from (0, 0) to (n, m) is a way to cut both; its weight is the product of the weights of its units,

    table[i, j] = plus over the shapes (a, b) of table[i - a, j - b] weights[unit of this shape that ends in (i, j)].

Row by row, every cell comes after those that it needs. ``expectations`` is the same sweep reversed: what reaches a cell
from the end is handed back along its edges, and with the forward table says how often each unit is expected.
``best_path`` reads the best way to cut from the finished table of the best: the last edge is one whose score equals
that of the cell.

Sums are not scaled: names and words have a few dozen symbols. A pair whose sum underflows has no weight.

- ``units``: int32 (cells, shapes), the unit of each shape that ends in a cell, -1 where it does not fit; cell (i, j)
  has number ``i width + j``, with a width of m + 1;
- ``shapes``: int64 (shapes, 2), never (0, 0); ``weights``: float64 (n_units,), for the best path their logarithms.

Jiampojamarn, Kondrak and Sherif, "Applying many-to-many alignments and hidden Markov models to letter-to-phoneme
conversion", 2007.
"""

from __future__ import annotations

import math
from typing import Any

from corpuscle.compiled import part
from corpuscle.engine.dp.semirings import MAX, SUM

__all__ = ["best_grid", "best_path", "expectations", "sum_grid"]


def grid(semiring: int) -> Any:
    """The kernel that fills the table of a grid."""

    @part(bare=True)
    def sweep(units, shapes, width, weights, table):
        """Fill ``table`` (cells,); returns that of the last cell: the sum over all paths, or the score of the best."""
        table[0] = 1.0 if semiring == SUM else 0.0
        for cell in range(1, len(units)):
            value = 0.0 if semiring == SUM else -math.inf
            for shape in range(len(shapes)):
                unit = units[cell, shape]
                if unit >= 0:
                    before = table[cell - shapes[shape, 0] * width - shapes[shape, 1]]
                    if semiring == SUM:
                        value += before * weights[unit]
                    elif before + weights[unit] > value:
                        value = before + weights[unit]
            table[cell] = value
        return table[len(units) - 1]

    return sweep


sum_grid, best_grid = grid(SUM), grid(MAX)


@part(bare=True)
def expectations(units, shapes, width, weights, forward, backward, counts):
    """Add how often each unit is expected to ``counts`` (n_units,); returns the logarithm of the sum over all paths,
    -inf if none has any weight. ``forward``, ``backward``: (cells,), room."""
    cells = len(units)
    total = sum_grid(units, shapes, width, weights, forward)
    if not total > 0.0:
        return -math.inf
    for cell in range(cells):
        backward[cell] = 0.0
    backward[cells - 1] = 1.0 / total
    for cell in range(cells - 1, 0, -1):
        if backward[cell] == 0.0:
            continue
        for shape in range(len(shapes)):
            unit = units[cell, shape]
            if unit >= 0:
                before = cell - shapes[shape, 0] * width - shapes[shape, 1]
                flow = weights[unit] * backward[cell]
                backward[before] += flow
                counts[unit] += forward[before] * flow
    return math.log(total)


@part(bare=True)
def best_path(units, shapes, width, weights, table, path):
    """``path`` int64 (2, at least n + m) := the cells in which the units of the best way to cut end, and their shapes,
    the last one first; returns how many, 0 if there is no way.

    ``weights`` are logarithms; ``table``: (cells,), room. Among equals, the shape that comes first.
    """
    if best_grid(units, shapes, width, weights, table) == -math.inf:
        return 0
    length, cell = 0, len(units) - 1
    while cell > 0:
        for shape in range(len(shapes)):
            unit = units[cell, shape]
            before = cell - shapes[shape, 0] * width - shapes[shape, 1]
            if unit >= 0 and table[before] + weights[unit] == table[cell]:
                path[0, length], path[1, length] = cell, shape
                length += 1
                cell = before
                break
        else:
            return 0  # a weight is not a number
    return length
