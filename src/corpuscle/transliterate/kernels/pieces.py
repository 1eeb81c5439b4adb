"""Links between letters repaired, and names cut into the smallest pieces that no link leaves.

The two rules of repair, no crossing links and no target letter without one, and the cutting go from left to right over
the links of each pair.

PVS and Parikh, "Phrase-based transliteration system with simple heuristics", 2010 (rules on
links); Bisani and Ney, "Joint-sequence models for grapheme-to-phoneme conversion", 2008 (pieces).
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.phrase_extraction import Linked, Occurrences, sorted_links


@kernel
def _uncross(linked, weights, keep):
    """The chain of links that rise on both sides, by a program over pairs of links: best[b] is that of the best chain
    that ends in link b. Links are sorted by source, so only targets are compared."""
    links, starts = linked.links, linked.starts
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


def uncross(linked: Linked, weights: np.ndarray) -> np.ndarray:
    """Which links to keep so that none cross, bool (n_links,): as many as possible, then those of largest weight.

    The links of a pair are sorted by source, then target position. Links (i, j) and (i', j') cross if
    (i - i')(j - j') < 0.
    """
    keep = np.zeros(len(linked.links), bool)
    _uncross(linked, frozen(weights, np.float64), keep)
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


@part
def _cut(to_target, to_source, source, target, out, at):
    """Cut a pair into its smallest closed pieces, from left to right; returns where the next piece is written.

    ``to_target[i]`` is the last target position linked to source i, -1 without links; ``to_source[j]`` likewise. Pieces
    are rows of ``out``: begin and length of the source, begin and length of the target, counted from ``source`` and
    ``target``. Symbols without links are pieces of their own.
    """
    n, m = len(to_target), len(to_source)
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
    return at


@kernel
def _blocks(linked, out, out_starts):
    links, starts, source_starts, target_starts = linked
    at = 0
    for pair in range(len(starts) - 1):
        to_target = np.full(source_starts[pair + 1] - source_starts[pair], -1)
        to_source = np.full(target_starts[pair + 1] - target_starts[pair], -1)
        for link in range(starts[pair], starts[pair + 1]):
            i, j = links[link, 0], links[link, 1]
            to_target[i], to_source[j] = max(to_target[i], j), max(to_source[j], i)
        at = _cut(to_target, to_source, source_starts[pair], target_starts[pair], out, at)
        out_starts[pair + 1] = at


@kernel
def _phrase_blocks(rows, out, out_starts):
    at = 0
    for row in range(len(rows.links)):
        to_target, to_source = np.full(rows.source_length[row], -1), np.full(rows.target_length[row], -1)
        for i in range(len(to_target)):
            for j in range(len(to_source)):
                if rows.links[row] >> np.uint64(8 * i + j) & np.uint64(1):  # 8 rows of 8 bits
                    to_target[i], to_source[j] = max(to_target[i], j), max(to_source[j], i)
        at = _cut(to_target, to_source, rows.source[row], rows.target[row], out, at)
        out_starts[row + 1] = at


def blocks(linked: Linked) -> tuple[np.ndarray, np.ndarray]:
    """The smallest pieces of every pair that no link leaves, from left to right: int64 (n_pieces, 4) with begin and
    length of source and target in the whole text; and where each pair's pieces begin."""
    out = np.empty((int(linked.source_starts[-1] + linked.target_starts[-1]), 4), np.int64)
    out_starts = np.zeros(len(linked.starts), np.int64)
    _blocks(linked, out, out_starts)
    return out[: out_starts[-1]], out_starts


def phrase_blocks(rows: Occurrences) -> tuple[np.ndarray, np.ndarray]:
    """The smallest pieces of phrase pairs, as ``blocks`` gives them, and where each phrase pair's pieces begin."""
    out = np.empty((int(rows.source_length.sum() + rows.target_length.sum()), 4), np.int64)
    out_starts = np.zeros(len(rows.links) + 1, np.int64)
    _phrase_blocks(rows, out, out_starts)
    return out[: out_starts[-1]], out_starts
