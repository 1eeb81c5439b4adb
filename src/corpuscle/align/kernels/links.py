"""What is made of links: one alignment from those of the two directions, and hierarchical rules.

``symmetrise`` has the links (source, target) of both directions in CSR form. ``grow`` starts from the links that both
have and adds neighbours of what it has from the links that either has, if their row or their column is still free;
``final`` then adds links of the first, then of the second input whose row or column (``final-and``: row and column) is
free. The order of all this is part of the definition.

Rules are phrase pairs in which smaller phrase pairs have become gaps. A phrase pair is *tight* if its outermost symbols
are linked; a source stretch has at most one tight target stretch. From a tight phrase pair of at most ``longest``
symbols come all rules with zero, one or two gaps, each gap a smaller tight phrase pair, if the source side has at most
``SYMBOLS`` symbols (a gap is one), no two gaps are neighbours there and a link is left between symbols that are not
gaps. A phrase pair counts once, shared out evenly among its rules. A rule is a row of ``SYMBOLS`` source and
``LONGEST`` target symbols: words, ``GAP_1`` and ``GAP_2`` (in the order of the source; on the target side they say
which gap it is), ``PAD`` behind the last one.

Och and Ney, "A systematic comparison of various statistical alignment models", 2003; Koehn, Och and Marcu,
"Statistical phrase-based translation", 2003; Chiang, "Hierarchical phrase-based translation", 2007, section 3.2.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.phrase_extraction import LONGEST, Linked, intern
from corpuscle.scale import chunks_of

SYMBOLS = 5
GAP_1, GAP_2, PAD = -1, -2, -3
_WIDTH = SYMBOLS + LONGEST + 2  # a rule and its links, two numbers of 32 bits
_TOKENS_A_CALL, _ROWS_TO_MERGE = 5_000, 2_000_000


@part
def _tight(linked, pair, longest, tight):
    """Write for every source stretch (its first symbol, its length - 1) the first and last symbol of its tight target
    stretch; -1 if there is none."""
    links, starts, source_starts, target_starts = linked
    begin, end = starts[pair], starts[pair + 1]
    n, m = source_starts[pair + 1] - source_starts[pair], target_starts[pair + 1] - target_starts[pair]
    lowest, highest = np.full(m, n), np.full(m, -1)
    alone = np.ones(n, np.bool_)
    for link in range(begin, end):
        i, j = links[link, 0], links[link, 1]
        lowest[j], highest[j] = min(lowest[j], i), max(highest[j], i)
        alone[i] = False
    for i1 in range(n):
        for k in range(longest):
            i2 = i1 + k
            tight[i1, k, 0], tight[i1, k, 1] = -1, -1
            if i2 >= n or alone[i1] or alone[i2]:
                continue
            j1, j2 = m, -1
            for link in range(begin, end):
                if i1 <= links[link, 0] <= i2:
                    j1, j2 = min(j1, links[link, 1]), max(j2, links[link, 1])
            closed = j2 - j1 < longest
            for j in range(j1, j2 + 1):
                if highest[j] >= 0 and (lowest[j] < i1 or highest[j] > i2):
                    closed = False
            if closed:
                tight[i1, k, 0], tight[i1, k, 1] = j1, j2


@part(bare=True)
def _size(span, gaps):
    """The number of symbols of a source side; a gap is one."""
    return span[1] - span[0] + 1 - (gaps[0, 1] - gaps[0, 0]) - (gaps[1, 1] - gaps[1, 0])


@part(bare=True)
def _outside(i, span, gaps):
    """Whether a source symbol belongs to a phrase pair, and to no gap of it."""
    return span[0] <= i <= span[1] and not gaps[0, 0] <= i <= gaps[0, 1] and not gaps[1, 0] <= i <= gaps[1, 1]


@part(bare=True)
def _side(symbols, span, gaps, row, places):
    """Write one side of a rule: the symbols span[0]..span[1], each gap as one symbol; and where each symbol went."""
    at, x = 0, span[0]
    while x <= span[1]:
        row[at], places[x - span[0]] = symbols[x], at
        for g in range(2):
            if gaps[g, 0] == x:
                row[at], x = GAP_1 - g, gaps[g, 1]
        at += 1
        x += 1
    for rest in range(at, len(row)):
        row[rest] = PAD


@part(bare=True)
def _emit(linked, texts, pair, span, gaps, places, out, at, fill):
    """If the rule of a phrase pair ``span`` (first and last source, first and last target symbol) with ``gaps``, int64
    (2, 4), likewise, or -1, is one, count it and, if ``fill``, write it to row ``at``; returns the next row. ``texts``:
    the symbols of both sides."""
    begin, end, kept = linked.starts[pair], linked.starts[pair + 1], 0
    for link in range(begin, end):
        kept += _outside(linked.links[link, 0], span, gaps)
    if kept == 0 or _size(span, gaps) > SYMBOLS:
        return at
    if not fill:
        return at + 1
    row = out[at]
    s, t = linked.source_starts[pair], linked.target_starts[pair]
    _side(texts[0][s:], span[:2], gaps[:, :2], row[:SYMBOLS], places[0])
    _side(texts[1][t:], span[2:], gaps[:, 2:], row[SYMBOLS : SYMBOLS + LONGEST], places[1])
    row[-2], row[-1] = 0, 0
    for link in range(begin, end):
        i, j = linked.links[link, 0], linked.links[link, 1]
        if _outside(i, span, gaps):
            bit = 8 * places[0, i - span[0]] + places[1, j - span[2]]
            if bit < 32:
                row[-2] |= np.int32(1) << np.int32(bit)
            else:
                row[-1] |= np.int32(1) << np.int32(bit - 32)
    return at + 1


@part(bare=True)
def _phrase(linked, texts, pair, span, tight, gaps, places, out, at, fill):
    """Count the rules of one phrase pair and, if ``fill``, write them from row ``at`` on; returns the next row."""
    i1, i2, longest = span[0], span[1], tight.shape[1]
    gaps[:] = -1
    at = _emit(linked, texts, pair, span, gaps, places, out, at, fill)
    for a in range(i1, i2 + 1):
        for b in range(a, min(i2 + 1, a + longest)):
            if tight[a, b - a, 0] < 0 or (a == i1 and b == i2):
                continue
            gaps[0, 0], gaps[0, 1], gaps[0, 2], gaps[0, 3] = a, b, tight[a, b - a, 0], tight[a, b - a, 1]
            gaps[1, :] = -1
            at = _emit(linked, texts, pair, span, gaps, places, out, at, fill)
            for c in range(b + 2, i2 + 1):
                for d in range(c, i2 + 1):
                    if tight[c, d - c, 0] >= 0:
                        gaps[1, 0], gaps[1, 1], gaps[1, 2], gaps[1, 3] = c, d, tight[c, d - c, 0], tight[c, d - c, 1]
                        at = _emit(linked, texts, pair, span, gaps, places, out, at, fill)
    return at


@kernel
def _extract(linked, texts, weights, longest, first, last, fill, out, shares):
    """Count the rules of the pairs first..last-1 and, if ``fill``, write them to ``out``, int32 (n, _WIDTH), and what
    each counts to ``shares``, float64 (n,)."""
    at, span = 0, np.empty(4, np.int64)
    gaps, places = np.empty((2, 4), np.int64), np.empty((2, LONGEST), np.int64)
    for pair in range(first, last):
        n = linked.source_starts[pair + 1] - linked.source_starts[pair]
        tight = np.empty((n, longest, 2), np.int64)
        _tight(linked, pair, longest, tight)
        for i1 in range(n):
            for k in range(longest):
                if tight[i1, k, 0] < 0:
                    continue
                span[0], span[1], span[2], span[3] = i1, i1 + k, tight[i1, k, 0], tight[i1, k, 1]
                before = at
                at = _phrase(linked, texts, pair, span, tight, gaps, places, out, at, fill)
                if fill:
                    shares[before:at] = weights[pair] / max(1, at - before)
    return at


def number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number rows by their content: the number of each, and the first row that has each number."""
    n, width = rows.shape
    return intern(np.ascontiguousarray(rows).ravel(), np.arange(n) * width, np.full(n, width))


def extract_rules(
    linked: Linked, source: np.ndarray, target: np.ndarray, weights: np.ndarray, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All different rules of a text (the symbols of both sides) with their links; ``weights``: float64 (n_pairs,).

    Returns rows int32 (n, SYMBOLS + LONGEST), source and target symbols; links uint64 (n,), where bit ``8 i + j`` is
    set if source symbol i of the rule is linked to target symbol j; and counts float64 (n,).
    """
    if not 1 <= longest <= LONGEST:
        raise ValueError(f"phrases have 1 to {LONGEST} symbols, not {longest}")
    texts, weights = (frozen(source, np.int32), frozen(target, np.int32)), frozen(weights, np.float64)
    rows, counts = np.empty((0, _WIDTH), np.int32), np.empty(0)
    waiting: list[tuple[np.ndarray, np.ndarray]] = []
    for first, last in pairwise(chunks_of(np.diff(linked.source_starts), _TOKENS_A_CALL).tolist()):
        n = _extract(linked, texts, weights, longest, first, last, False, np.empty((0, _WIDTH), np.int32), np.empty(0))
        new, shares = np.empty((n, _WIDTH), np.int32), np.empty(n)
        _extract(linked, texts, weights, longest, first, last, True, new, shares)
        waiting.append((new, shares))
        if sum(len(part) for part, _ in waiting) > max(_ROWS_TO_MERGE, len(rows)):
            rows, counts = _merged(rows, counts, waiting)
    rows, counts = _merged(rows, counts, waiting)
    low, high = (rows[:, column].astype(np.uint32).astype(np.uint64) for column in (-2, -1))
    return rows[:, :-2], low | high << np.uint64(32), counts


def _merged(
    rows: np.ndarray, counts: np.ndarray, waiting: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Every row once, with the sum of its counts; empties ``waiting``."""
    rows, counts = (np.concatenate(column) for column in zip((rows, counts), *waiting, strict=True))
    waiting.clear()
    ids, firsts = number_rows(rows)
    return rows[firsts], np.bincount(ids, counts, len(firsts))


@part(bare=True)
def _pattern(tokens, span, gaps, places, out, at, fill):
    """A stretch with gaps as a source side, if it is short enough; returns the next row."""
    if _size(span, gaps) > SYMBOLS:
        return at
    if fill:
        _side(tokens, span, gaps, out[at], places)
    return at + 1


@kernel
def _patterns(tokens, begin, end, longest, fill, out):
    """Count the source sides that the sentence begin..end-1 has and, if ``fill``, write them to ``out``."""
    at, span, gaps, places = 0, np.empty(2, np.int64), np.empty((2, 2), np.int64), np.empty(LONGEST, np.int64)
    for i1 in range(begin, end):
        for i2 in range(i1, min(end, i1 + longest)):
            span[0], span[1] = i1, i2
            gaps[:] = -1
            at = _pattern(tokens, span, gaps, places, out, at, fill)
            for a in range(i1, i2 + 1):
                for b in range(a, i2 + 1):
                    if b - a == i2 - i1:
                        continue
                    gaps[0, 0], gaps[0, 1] = a, b
                    gaps[1, :] = -1
                    at = _pattern(tokens, span, gaps, places, out, at, fill)
                    for c in range(b + 2, i2 + 1):
                        for d in range(c, i2 + 1):
                            gaps[1, 0], gaps[1, 1] = c, d
                            at = _pattern(tokens, span, gaps, places, out, at, fill)
    return at


def patterns(tokens: np.ndarray, starts: np.ndarray, longest: int) -> np.ndarray:
    """All different source sides that match stretches of at most ``longest`` symbols of a text (``starts``: where its
    sentences begin), int32 (n, SYMBOLS)."""
    tokens, parts = frozen(tokens, np.int32), [np.empty((0, SYMBOLS), np.int32)]
    nothing = np.empty((0, SYMBOLS), np.int32)
    for begin, end in pairwise(np.asarray(starts).tolist()):
        own = np.empty((_patterns(tokens, begin, end, longest, False, nothing), SYMBOLS), np.int32)
        _patterns(tokens, begin, end, longest, True, own)
        parts.append(own)
        if sum(map(len, parts[1:])) > _ROWS_TO_MERGE:
            rows = np.concatenate(parts)
            parts = [rows[number_rows(rows)[1]]]
    rows = np.concatenate(parts)
    return rows[number_rows(rows)[1]]


OR, AND, ALL = 1, 2, 3
"""The last step: add links whose row or column is free, or only those where both are, or all of them."""


class Links(NamedTuple):
    """Links of sentence pairs: ``links`` int32 (n_links, 2), source and target, ``starts`` int64 (n_pairs + 1,)."""

    links: np.ndarray
    starts: np.ndarray


@part
def _grow(given, current, rows, columns, m, n, steps):
    """Add neighbours until nothing changes; ``given`` has 1 for links of the first input, 2 for the second, 3 both."""
    changed = True
    while changed:
        changed = False
        for i in range(m):
            for j in range(n):
                if not current[i, j]:
                    continue
                for k in range(len(steps)):
                    a, b = i + steps[k, 0], j + steps[k, 1]
                    inside = 0 <= a < m and 0 <= b < n
                    if inside and given[a, b] and not current[a, b] and (rows[a] == 0 or columns[b] == 0):
                        current[a, b] = True
                        rows[a] += 1
                        columns[b] += 1
                        changed = True


@kernel
def symmetrise(one, other, lengths, first, last, steps, final, result, result_starts):
    """Join the ``Links`` of sentence pairs first..last-1 of both directions; returns how many there are.

    ``lengths`` int64 (n_pairs, 2): source and target length. ``steps`` int64 (k, 2): the neighbours of ``grow``, none
    for no growing; ``final``: 0, ``OR``, ``AND`` or ``ALL``. ``result`` int32 (at least as many as both inputs have, 2)
    gets the links row by row, ``result_starts[p + 1 - first]`` how many there are up to pair p.
    """
    count = 0
    for pair in range(first, last):
        m, n = lengths[pair, 0], lengths[pair, 1]
        given = np.zeros((m, n), np.uint8)
        current = np.zeros((m, n), np.bool_)
        rows, columns = np.zeros(m, np.int64), np.zeros(n, np.int64)
        for k in range(one.starts[pair], one.starts[pair + 1]):
            given[one.links[k, 0], one.links[k, 1]] |= 1
        for k in range(other.starts[pair], other.starts[pair + 1]):
            given[other.links[k, 0], other.links[k, 1]] |= 2
        for i in range(m):
            for j in range(n):
                if given[i, j] == 3:
                    current[i, j] = True
                    rows[i] += 1
                    columns[j] += 1
        _grow(given, current, rows, columns, m, n, steps)
        if final:
            for side in range(1, 3):
                for i in range(m):
                    for j in range(n):
                        free = rows[i] == 0 and columns[j] == 0 if final == AND else rows[i] == 0 or columns[j] == 0
                        if given[i, j] & side and not current[i, j] and (final == ALL or free):
                            current[i, j] = True
                            rows[i] += 1
                            columns[j] += 1
        for i in range(m):
            for j in range(n):
                if current[i, j]:
                    result[count, 0] = i
                    result[count, 1] = j
                    count += 1
        result_starts[pair + 1 - first] = count
    return count
