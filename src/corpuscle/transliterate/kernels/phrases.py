"""Phrase pairs from links: which stretches of two sequences belong together, how often, and by which inner links.

A pair of stretches is a phrase pair if at least one link lies inside it and no link leaves it. All pairs of a corpus
are found in one pass: every source stretch has one smallest target stretch, which may grow over unlinked symbols.
Phrases are numbered by their content, and the links inside a phrase pair are the bits of one number, so counting is
sorting.

Och and Ney, "The alignment template approach to statistical machine translation", 2004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.containers import hashtable

LONGEST = 8
"""No phrase is longer: the links between two phrases are the bits of one 64-bit number."""


class Linked(NamedTuple):
    """Pairs of sequences and their links.

    - ``links``: int32 (n_links, 2), source and target position within their pair; ``starts``: int64 (n_pairs + 1,);
    - ``source_starts``, ``target_starts``: int64 (n_pairs + 1,), where the sequences begin in the whole text.
    """

    links: np.ndarray
    starts: np.ndarray
    source_starts: np.ndarray
    target_starts: np.ndarray


def linked(links: np.ndarray, starts: np.ndarray, source_starts: np.ndarray, target_starts: np.ndarray) -> Linked:
    """The record, in arrays of the types that kernels are compiled for."""
    bounds = (frozen(each, np.int64) for each in (starts, source_starts, target_starts))
    return Linked(frozen(links, np.int32), *bounds)


class Occurrences(NamedTuple):
    """Every place where a phrase pair occurs, one row a place; positions count from the beginning of the whole text.

    - ``pair``: int32, in which pair; ``source``, ``target``: int64, where the two phrases begin;
    - ``source_length``, ``target_length``: int32;
    - ``links``: uint64, bit ``8 i + j`` is set if symbol i of the source phrase is linked to symbol j of the target's.
    """

    pair: np.ndarray
    source: np.ndarray
    source_length: np.ndarray
    target: np.ndarray
    target_length: np.ndarray
    links: np.ndarray


@kernel
def _extract(linked, longest, fill, out):
    """Count the phrase pairs of all pairs and, if ``fill``, write them to ``out``."""
    links, starts, source_starts, target_starts = linked
    at = 0
    for pair in range(len(starts) - 1):
        begin, end = starts[pair], starts[pair + 1]
        n = source_starts[pair + 1] - source_starts[pair]
        m = target_starts[pair + 1] - target_starts[pair]
        lowest, highest = np.full(m, n), np.full(m, -1)  # of the source positions linked to each target position
        for link in range(begin, end):
            i, j = links[link, 0], links[link, 1]
            lowest[j] = min(lowest[j], i)
            highest[j] = max(highest[j], i)
        for i1 in range(n):
            for i2 in range(i1, min(n, i1 + longest)):
                j1, j2 = m, -1
                for link in range(begin, end):
                    if i1 <= links[link, 0] <= i2:
                        j1 = min(j1, links[link, 1])
                        j2 = max(j2, links[link, 1])
                if j2 < 0 or j2 - j1 >= longest:
                    continue
                closed = True
                for j in range(j1, j2 + 1):
                    if highest[j] >= 0 and (lowest[j] < i1 or highest[j] > i2):
                        closed = False
                if not closed:
                    continue
                left = j1
                while True:
                    right = j2
                    while right - left < longest:
                        if fill:
                            out.pair[at] = pair
                            out.source[at] = source_starts[pair] + i1
                            out.source_length[at] = i2 - i1 + 1
                            out.target[at] = target_starts[pair] + left
                            out.target_length[at] = right - left + 1
                            bits = np.uint64(0)
                            for link in range(begin, end):
                                if i1 <= links[link, 0] <= i2:
                                    bit = (links[link, 0] - i1) * 8 + links[link, 1] - left
                                    bits |= np.uint64(1) << np.uint64(bit)
                            out.links[at] = bits
                        at += 1
                        right += 1
                        if right >= m or highest[right] >= 0:
                            break
                    left -= 1
                    if left < 0 or highest[left] >= 0 or j2 - left >= longest:
                        break
    return at


def extract(linked: Linked, longest: int = 7) -> Occurrences:
    """All phrase pairs of at most ``longest`` symbols on either side, in all their places."""
    if not 1 <= longest <= LONGEST:
        raise ValueError(f"phrases have 1 to {LONGEST} symbols, not {longest}")

    def room(n: int) -> Occurrences:
        types = (np.int32, np.int64, np.int32, np.int64, np.int32, np.uint64)
        return Occurrences(*(np.empty(n, dtype) for dtype in types))

    out = room(_extract(linked, longest, False, room(0)))
    _extract(linked, longest, True, out)
    return out


@kernel
def _intern(symbols, begins, lengths, index, ids, firsts, hashes):
    """Number stretches by content in order of first occurrence; returns how many there are. ``hashes`` uint64 like
    ``firsts``."""
    known = 0
    for row in range(len(begins)):
        begin, length = begins[row], lengths[row]
        key = np.uint64(0xCBF29CE484222325)
        for i in range(begin, begin + length):
            key = (key ^ np.uint64(symbols[i])) * np.uint64(0x100000001B3)
        slot = hashtable.probe(index, hashes, key, hashtable.home(index, key))
        while index[slot] >= 0:
            other = firsts[index[slot]]
            if lengths[other] == length and hashtable.same_stretch(symbols, begins[other], symbols, begin, length):
                break
            slot = hashtable.probe(index, hashes, key, hashtable.next_slot(index, slot))
        if index[slot] < 0:
            index[slot] = known
            firsts[known], hashes[known] = row, key
            known += 1
        ids[row] = index[slot]
    return known


def intern(symbols: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number stretches of a text by their content: the number of each, and the first row that has each number."""
    ids, firsts = np.empty((2, len(begins)), np.int64)
    index, hashes = hashtable.new_index(len(begins), np.int64), np.empty(len(begins), np.uint64)
    begins, lengths = frozen(begins, np.int64), frozen(lengths, np.int64)
    known = _intern(frozen(symbols, np.int32), begins, lengths, index, ids, firsts, hashes)
    return ids, firsts[:known]


@kernel
def _uncross(linked, weights, keep):
    links, starts = linked.links, linked.starts
    for pair in range(len(starts) - 1):
        begin, n = starts[pair], starts[pair + 1] - starts[pair]
        total = 0.0
        for b in range(n):
            total += weights[begin + b]
        scale = 0.5 / total if total > 0.0 else 0.0
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
                high[j] = i
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


def sorted_links(links: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The links of each pair by source, then target position."""
    pairs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return links[np.lexsort((links[:, 1], links[:, 0], pairs))]


@kernel
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
                if rows.links[row] >> np.uint64(8 * i + j) & np.uint64(1):
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


class LetterWeights(NamedTuple):
    """How often linked symbols belong together: sorted ``keys`` int64, f * n_targets + e, where symbol 0 is nothing
    (NULL); ``forward`` has w(e|f) and ``backward`` w(f|e) of each, float64."""

    keys: np.ndarray
    forward: np.ndarray
    backward: np.ndarray
    n_targets: int


@kernel
def _weight(keys, values, key):
    """The value of a key among sorted keys, 0 if it is not there."""
    place = np.searchsorted(keys, key)
    return values[place] if place < len(keys) and keys[place] == key else 0.0


@kernel
def _lexical(source, target, rows, letters, out):
    n_targets = letters.n_targets
    for row in range(len(rows.links)):
        n, m, bits = rows.source_length[row], rows.target_length[row], rows.links[row]
        s, t = rows.source[row], rows.target[row]
        product = 1.0
        for j in range(m):
            total, linked = 0.0, 0
            for i in range(n):
                if bits >> np.uint64(8 * i + j) & np.uint64(1):
                    total += _weight(letters.keys, letters.forward, source[s + i] * n_targets + target[t + j])
                    linked += 1
            product *= total / linked if linked else _weight(letters.keys, letters.forward, np.int64(target[t + j]))
        out[row, 1] = product
        product = 1.0
        for i in range(n):
            total, linked = 0.0, 0
            for j in range(m):
                if bits >> np.uint64(8 * i + j) & np.uint64(1):
                    total += _weight(letters.keys, letters.backward, source[s + i] * n_targets + target[t + j])
                    linked += 1
            product *= total / linked if linked else _weight(letters.keys, letters.backward, source[s + i] * n_targets)
        out[row, 0] = product


def lexical(source: np.ndarray, target: np.ndarray, rows: Occurrences, letters: LetterWeights) -> np.ndarray:
    """How well the symbols of two phrases explain each other, float64 (rows, 2): lex(f|e), lex(e|f), f the source."""
    out = np.empty((len(rows.links), 2))
    _lexical(frozen(source, np.int64), frozen(target, np.int64), rows, letters, out)
    return out


class Trie(NamedTuple):
    """Phrases by their symbols, level by level: the nodes below a node are a range with rising symbols.

    - ``symbols``: int32 (nodes,), the last symbol; nodes 0 to ``roots`` are the first symbols;
    - ``first_child``: int32 (nodes + 1,), the nodes below node n are ``first_child[n]`` to ``first_child[n + 1]``.
    """

    symbols: np.ndarray
    first_child: np.ndarray
    roots: int

    @property
    def depth(self) -> int:
        """How many symbols the longest phrase has."""
        depth, low, high = 0, 0, self.roots
        while low < high:
            depth, low, high = depth + 1, high, int(self.first_child[high])
        return depth


def trie(phrases: np.ndarray, lengths: np.ndarray) -> tuple[Trie, np.ndarray]:
    """A trie of different phrases, int32 (n, longest) with -1 after their ends; and the node of each phrase."""
    order = np.lexsort(phrases.T[::-1])
    rows, sizes = phrases[order], lengths[order]
    node_of_row = np.full(len(rows), -1, np.int64)
    parent = node_of_row
    symbols, parents, node_of = [], [], np.empty(len(rows), np.int64)
    known = roots = 0
    changed = np.ones(len(rows), bool)
    for depth in range(phrases.shape[1]):
        there = sizes > depth
        step = np.ones(len(rows), bool)
        step[1:] = rows[1:, depth] != rows[:-1, depth]
        changed = changed | step if depth else step
        new = changed & there
        node_of_row = np.where(there, known + np.cumsum(new) - 1, -1)
        symbols.append(rows[new, depth])
        parents.append(parent[new])
        node_of[order[sizes == depth + 1]] = node_of_row[sizes == depth + 1]
        known += int(new.sum())
        if depth == 0:
            roots = known
        parent = node_of_row
    children = np.bincount(np.concatenate(parents)[roots:], minlength=known)
    first_child = np.full(known + 1, roots)
    first_child[1:] += np.cumsum(children)
    return Trie(frozen(np.concatenate(symbols), np.int32), frozen(first_child, np.int32), roots), node_of
