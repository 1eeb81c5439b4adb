"""Monotone many-to-many alignment: two sequences are cut side by side into pieces, whose probabilities EM learns.

A piece is a few source symbols with a few target symbols, see ``SHAPES`` (Jiampojamarn, Kondrak and Sherif, "Applying
many-to-many alignments and hidden Markov models to letter-to-phoneme conversion", 2007, section 3). The probability of
a pair is the sum over all ways to cut it of the product of its pieces' probabilities: one distribution over all pieces,
so both directions are learned at once and nothing can cross.

The ways to cut sequences of n and m symbols are the paths from (0, 0) to (n, m) in a grid of cells (i, j): i and j
symbols have been read. A piece of shape (a, b) is an edge from (i - a, j - b) to (i, j), so

    table[i, j] = plus over the shapes (a, b) of table[i - a, j - b] weights[piece of this shape that ends in (i, j)].

``expectations`` is the same sweep reversed: what reaches a cell from the end is handed back along its edges, and with
the forward table says how often each piece is expected. ``best_path`` reads the best way to cut from the finished
table: the last edge is one whose score equals that of the cell. Sums are not scaled, since names have a few dozen
symbols; a pair whose sum underflows has no weight. In these kernels

- ``units``: int32 (cells, shapes), the piece of each shape that ends in a cell, -1 where it does not fit; cell (i, j)
  has number ``i width + j``, with a width of m + 1;
- ``shapes``: int64 (shapes, 2), never (0, 0); ``weights``: float64 (n_pieces,), for the best path their logarithms.

Links of other aligners are repaired (``uncross``, ``attach_targets``: no crossing links, no target letter without one),
and names are cut into the smallest pieces that no link leaves (``blocks``). PVS and Parikh, "Phrase-based
transliteration system with simple heuristics", 2010 (rules on links); Bisani and Ney, "Joint-sequence models for
grapheme-to-phoneme conversion", 2008 (pieces).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.phrase_extraction import Linked, Occurrences, intern, sorted_links
from corpuscle.engine.phrase_extraction import linked as as_linked
from corpuscle.scale import chunks_of, starts_of

SHAPES = frozen(np.array([(1, 1), (1, 2), (2, 1), (1, 3), (1, 0), (0, 1)]), np.int64)
"""The shapes of pieces: numbers of source and of target symbols. A target symbol alone is a last resort: afterwards it
is linked to its left neighbour's source."""

_CELLS_A_CALL = 1 << 20


def _sweep(semiring: int) -> Any:

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


sum_grid, best_grid = _sweep(SUM), _sweep(MAX)


@part(bare=True)
def expectations(units, shapes, width, weights, forward, backward, counts):
    """Add the expected number of each piece to ``counts`` (n_pieces,); returns the logarithm of the sum over all paths,
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
    """``path`` int64 (2, at least n + m) := the cells in which the pieces of the best way to cut end, and their shapes,
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


class Grid(NamedTuple):
    """The pieces of all pairs.

    - ``starts``: int64 (n_pairs + 1,), where the cells of a pair begin; cell (i, j) has number i (m + 1) + j;
    - ``pieces``: int32 (n_cells, n_shapes), the piece of each shape that ends in a cell, -1 where it does not fit;
    - ``source_lengths``, ``target_lengths``: int64 (n_pairs,); ``n_pieces``.
    """

    starts: np.ndarray
    pieces: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray
    n_pieces: int


@kernel
def _spell(source, source_starts, target, target_starts, starts, shapes, spelled, fits):
    """Write for each cell and shape the piece's symbols: source in the first two columns, target in the next three."""
    for pair in range(len(source_starts) - 1):
        n = source_starts[pair + 1] - source_starts[pair]
        m = target_starts[pair + 1] - target_starts[pair]
        for i in range(n + 1):
            for j in range(m + 1):
                cell = starts[pair] + i * (m + 1) + j
                for shape in range(len(shapes)):
                    a, b = shapes[shape, 0], shapes[shape, 1]
                    fits[cell, shape] = i >= a and j >= b
                    if i >= a and j >= b:
                        for k in range(a):
                            spelled[cell, shape, k] = source[source_starts[pair] + i - a + k]
                        for k in range(b):
                            spelled[cell, shape, 2 + k] = target[target_starts[pair] + j - b + k]


def grid(source: np.ndarray, source_starts: np.ndarray, target: np.ndarray, target_starts: np.ndarray) -> Grid:
    """The grids of all pairs of sequences; symbols are numbered from 1 on."""
    n, m = np.diff(source_starts), np.diff(target_starts)
    starts = starts_of((n + 1) * (m + 1))
    spelled = np.zeros((starts[-1], len(SHAPES), 5), np.int32)
    fits = np.zeros((starts[-1], len(SHAPES)), bool)
    sides = frozen(source, np.int32), frozen(source_starts, np.int64), frozen(target, np.int32)
    _spell(*sides, frozen(target_starts, np.int64), frozen(starts, np.int64), SHAPES, spelled, fits)
    where = np.flatnonzero(fits)
    ids, firsts = intern(spelled.ravel(), 5 * where, np.full(len(where), 5))
    pieces = np.full(fits.shape, -1, np.int32)
    pieces.ravel()[where] = ids
    lengths = frozen(n, np.int64), frozen(m, np.int64)
    return Grid(frozen(starts, np.int64), frozen(pieces, np.int32), *lengths, len(firsts))


@kernel
def _expectation(grid, shapes, probability, first, last, table, counts):
    """Add the expected number of each piece to ``counts``; returns the log-likelihood of the pairs first..last-1.
    ``table``: float64 (2, cells of the largest grid), room."""
    likelihood = 0.0
    for pair in range(first, last):
        pieces = grid.pieces[grid.starts[pair] : grid.starts[pair + 1]]
        width = grid.target_lengths[pair] + 1
        log_sum = expectations(pieces, shapes, width, probability, table[0], table[1], counts)
        if log_sum > -np.inf:
            likelihood += log_sum
    return likelihood


@kernel
def _best(grid, shapes, log_probability, first, last, table, path, out, out_starts):
    """Write the links of the best way to cut each of the pairs first..last-1, from last to first. ``table``, ``path``:
    float64 (cells of the largest grid,) and int64 (2, cells), room."""
    for pair in range(first, last):
        pieces = grid.pieces[grid.starts[pair] : grid.starts[pair + 1]]
        width, at = grid.target_lengths[pair] + 1, out_starts[pair]
        for step in range(best_path(pieces, shapes, width, log_probability, table, path)):
            i, j = path[0, step] // width, path[0, step] % width
            a, b = shapes[path[1, step], 0], shapes[path[1, step], 1]
            for x in range(a):
                for y in range(b):
                    out[at, 0], out[at, 1] = i - a + x, j - b + y
                    at += 1
        out_starts[pair + 1] = at


def _chunks(grid: Grid) -> Iterator[tuple[int, int]]:
    return pairwise(chunks_of(np.diff(grid.starts), _CELLS_A_CALL).tolist())


def expectation(grid: Grid, probability: np.ndarray) -> tuple[np.ndarray, float]:
    """The expected number of each piece, float64 (n_pieces,), and the log-likelihood of all pairs."""
    counts, likelihood = np.zeros(grid.n_pieces), 0.0
    table = np.empty((2, int(np.diff(grid.starts).max(initial=0))))
    for first, last in _chunks(grid):
        likelihood += _expectation(grid, SHAPES, probability, first, last, table, counts)
    return counts, likelihood


def start(grid: Grid, shape_prior: np.ndarray) -> np.ndarray:
    """What EM starts from, float64 (n_pieces,): every piece of a shape has the same share of ``shape_prior``, float64
    (n_shapes,); nothing else could tell it that symbols seldom vanish."""
    shape = np.zeros(grid.n_pieces, np.int64)
    for number in range(len(SHAPES)):
        column = grid.pieces[:, number]
        shape[column[column >= 0]] = number
    return shape_prior[shape] / np.bincount(shape, minlength=len(SHAPES))[shape]


def links(grid: Grid, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The links of the best way to cut every pair: int32 (n_links, 2), sorted by source and target; int64 starts."""
    with np.errstate(divide="ignore"):
        scores = np.log(probability)
    out = np.empty((2 * int((grid.source_lengths + grid.target_lengths).sum()), 2), np.int32)
    starts = np.zeros(len(grid.source_lengths) + 1, np.int64)
    largest = int(np.diff(grid.starts).max(initial=0))
    table, path = np.empty(largest), np.empty((2, largest), np.int64)
    for first, last in _chunks(grid):
        _best(grid, SHAPES, scores, first, last, table, path, out, starts)
    return sorted_links(out[: starts[-1]], starts), starts


@kernel
def uncross(linked, weights):
    """Which links to keep so that none cross, bool (n_links,): as many as possible, then those of largest weight.

    The links of a pair are sorted by source, then target position. Links (i, j) and (i', j') cross if
    (i - i')(j - j') < 0. What stays is a chain of links that rise on both sides: best[b] is that of the best chain that
    ends in link b; only targets need comparing.
    """
    links, starts = linked.links, linked.starts
    keep = np.zeros(len(links), np.bool_)
    for pair in range(len(starts) - 1):
        begin, n = starts[pair], starts[pair + 1] - starts[pair]
        total = 0.0
        for b in range(n):
            total += weights[begin + b]
        scale = 0.5 / total if total > 0.0 else 0.0  # all weights together count less than one more link
        best, back = np.empty(n), np.empty(n, np.int64)
        top = -1
        for b in range(n):
            best[b], back[b] = 0.0, -1
            for a in range(b):
                if links[begin + a, 1] <= links[begin + b, 1] and best[a] > best[b]:
                    best[b], back[b] = best[a], a
            best[b] += 1.0 + scale * weights[begin + b]
            if top < 0 or best[b] > best[top]:
                top = b
        while top >= 0:
            keep[begin + top] = True
            top = back[top]
    return keep


@kernel
def _attach_targets(linked, out, out_starts):
    links, starts, source_starts, target_starts = linked
    at = 0
    for pair in range(len(starts) - 1):
        begin, end = starts[pair], starts[pair + 1]
        n = source_starts[pair + 1] - source_starts[pair]
        m = target_starts[pair + 1] - target_starts[pair]
        low, high = np.full(m, n), np.full(m, -1)
        for link in range(begin, end):
            i, j = links[link, 0], links[link, 1]
            low[j], high[j] = min(low[j], i), max(high[j], i)
            out[at, 0], out[at, 1] = i, j
            at += 1
        first = 0
        while first < m and high[first] < 0:
            first += 1
        for j in range(m):
            if high[j] >= 0:
                continue
            if first == m:  # nothing is linked at all
                i = ((j + 1) * n + m - 1) // m - 1
            elif j < first:
                i = low[first]
            else:
                i = high[j - 1]
                high[j] = i  # so that a run of unlinked symbols goes to the same source
            out[at, 0], out[at, 1] = i, j
            at += 1
        out_starts[pair + 1] = at


def attach_targets(linked: Linked) -> tuple[np.ndarray, np.ndarray]:
    """Link every unlinked target symbol to the last source symbol of the target symbol before it.

    Unlinked symbols at the beginning go to the first source symbol of the first linked one; if a pair has no links,
    target j goes to the source position in the same proportion. Returns links, sorted by source and target, and starts.
    """
    out = np.empty((len(linked.links) + int(linked.target_starts[-1]), 2), np.int32)
    out_starts = np.zeros(len(linked.starts), np.int64)
    _attach_targets(linked, out, out_starts)
    return sorted_links(out[: out_starts[-1]], out_starts), out_starts


@kernel
def blocks(linked):
    """The smallest pieces of every pair that no link leaves, from left to right: int64 (n_pieces, 4) with begin and
    length of source and target in the whole text; and where those of each pair begin. Unlinked symbols stand alone."""
    links, starts, source_starts, target_starts = linked
    out, out_starts = np.empty((source_starts[-1] + target_starts[-1], 4), np.int64), np.zeros_like(starts)
    at = 0
    for pair in range(len(starts) - 1):
        source, target = source_starts[pair], target_starts[pair]
        n, m = source_starts[pair + 1] - source, target_starts[pair + 1] - target
        to_target, to_source = np.full(n, -1), np.full(m, -1)  # the last position linked to each, -1 without links
        for link in range(starts[pair], starts[pair + 1]):
            i, j = links[link, 0], links[link, 1]
            to_target[i], to_source[j] = max(to_target[i], j), max(to_source[j], i)
        i = j = 0
        while i < n or j < m:
            if i < n and to_target[i] < 0:
                i2, j2 = i + 1, j
            elif j < m and to_source[j] < 0:
                i2, j2 = i, j + 1
            else:
                i2, j2 = i + 1, j + 1
                # A piece is closed when no symbol inside is linked to one outside: each end pushes the other on.
                k, other = i, j
                while k < i2 or other < j2:
                    if k < i2:
                        j2 = max(j2, to_target[k] + 1)
                        k += 1
                    else:
                        i2 = max(i2, to_source[other] + 1)
                        other += 1
            out[at, 0], out[at, 1], out[at, 2], out[at, 3] = source + i, i2 - i, target + j, j2 - j
            at += 1
            i, j = i2, j2
        out_starts[pair + 1] = at
    return out[:at], out_starts


def phrase_blocks(rows: Occurrences) -> tuple[np.ndarray, np.ndarray]:
    """The smallest pieces of phrase pairs, as ``blocks`` gives them, and where each phrase pair's pieces begin."""
    bits = np.unpackbits(rows.links.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, bit = np.nonzero(bits)  # eight rows of eight bits
    lengths = np.bincount(row, minlength=len(rows.links)), rows.source_length, rows.target_length
    starts, source_starts, target_starts = map(starts_of, lengths)
    pieces, piece_starts = blocks(as_linked(np.column_stack([bit // 8, bit % 8]), starts, source_starts, target_starts))
    begins = np.column_stack([rows.source - source_starts[:-1], rows.target - target_starts[:-1]])
    pieces[:, ::2] += np.repeat(begins, np.diff(piece_starts), axis=0)
    return pieces, piece_starts
