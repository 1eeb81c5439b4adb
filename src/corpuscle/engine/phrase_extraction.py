"""Phrase pairs from links: which stretches of two sequences belong together, how often, and by which inner links.

A pair of stretches is a phrase pair if at least one link lies inside it and no link leaves it. All pairs of a corpus
are found in one pass: every source stretch has one smallest target stretch, which may grow over unlinked symbols.
Phrases are numbered by their content, and the links inside a phrase pair are the bits of one number, so counting is
sorting. Source phrases are found again in a trie.

Och and Ney, "The alignment template approach to statistical machine translation", 2004; lexical weights: Koehn, Och and
Marcu, "Statistical phrase-based translation", 2003, section 4.4.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine import hashtable
from corpuscle.scale import chunks_of

LONGEST = 8
"""No phrase is longer: the links between two phrases are the bits of one 64-bit number."""


_STEPS_A_CALL = 1 << 27


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
def _extract(linked, longest, first, last, at, fill, out):
    """Count the phrase pairs of the pairs first..last-1 and, if ``fill``, write them to ``out`` from row ``at`` on;
    returns where the next one belongs."""
    links, starts, source_starts, target_starts = linked
    for pair in range(first, last):
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

    work = np.diff(linked.source_starts) * np.diff(linked.starts) * longest
    chunks = list(pairwise(chunks_of(work, _STEPS_A_CALL).tolist()))
    out = room(0)
    for fill in False, True:
        at = np.int64(0)
        for first, last in chunks:
            at = _extract(linked, longest, first, last, at, fill, out)
        if not fill:
            out = room(int(at))
    return out


@kernel
def _intern(symbols, begins, lengths, index, ids, firsts, hashes):
    """Number stretches by content in order of first occurrence; returns how many there are. ``hashes`` uint64 like
    ``firsts``."""
    known = 0
    for row in range(len(begins)):
        begin, length = begins[row], lengths[row]
        key = np.uint64(0xCBF29CE484222325)  # FNV-1a
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


def sorted_links(links: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The links of each pair by source, then target position."""
    pairs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return links[np.lexsort((links[:, 1], links[:, 0], pairs))]


class LexicalWeights(NamedTuple):
    """How often linked symbols belong together: sorted ``keys`` int64, f * n_targets + e, where symbol 0 is nothing
    (NULL); ``forward`` has w(e|f) and ``backward`` w(f|e) of each, float64."""

    keys: np.ndarray
    forward: np.ndarray
    backward: np.ndarray
    n_targets: int


@part
def _weight(keys, values, key):
    """The value of a key among sorted keys, 0 if it is not there."""
    place = np.searchsorted(keys, key)
    return values[place] if place < len(keys) and keys[place] == key else 0.0


@part
def _explained(symbols, step, others, other_step, bits, keys, values):
    """The product over the symbols of a phrase of their mean weight with those of the other phrase that they are linked
    to, or with nothing. Symbols are what they add to a key; bit ``step a + other_step b`` links symbols a and b."""
    product = 1.0
    for a in range(len(symbols)):
        if symbols[a] < 0:
            continue
        total, linked = 0.0, 0
        for b in range(len(others)):
            if bits >> np.uint64(step * a + other_step * b) & np.uint64(1):
                total += _weight(keys, values, symbols[a] + others[b])
                linked += 1
        product *= total / linked if linked else _weight(keys, values, symbols[a])
    return product


@kernel
def _lexical(source, target, rows, lexicon, out):
    keys, forward, backward, _ = lexicon
    for row in range(len(rows.links)):
        e = target[rows.target[row] : rows.target[row] + rows.target_length[row]]
        f = source[rows.source[row] : rows.source[row] + rows.source_length[row]]
        out[row, 0] = _explained(f, 8, e, 1, rows.links[row], keys, backward)
        out[row, 1] = _explained(e, 1, f, 8, rows.links[row], keys, forward)


def lexical(source: np.ndarray, target: np.ndarray, rows: Occurrences, lexicon: LexicalWeights) -> np.ndarray:
    """How well the symbols of two phrases explain each other, float64 (rows, 2): lex(f|e), lex(e|f), f the source.
    Negative symbols are gaps, of which nothing is said."""
    out = np.empty((len(rows.links), 2))
    source = np.asarray(source, np.int64) * lexicon.n_targets
    _lexical(frozen(source, np.int64), frozen(target, np.int64), rows, lexicon, out)
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
    symbols, parents, node_of, known = [], [], np.empty(len(rows), np.int64), 0
    changed = np.arange(len(rows)) == 0
    for depth in range(phrases.shape[1]):
        there = sizes > depth
        changed[1:] |= rows[1:, depth] != rows[:-1, depth]
        new = changed & there
        symbols.append(rows[new, depth])
        parents.append(node_of_row[new])
        node_of_row = np.where(there, known + np.cumsum(new) - 1, -1)
        node_of[order[sizes == depth + 1]] = node_of_row[sizes == depth + 1]
        known += int(new.sum())
    roots = len(symbols[0])
    children = np.bincount(np.concatenate(parents)[roots:], minlength=known)
    first_child = np.full(known + 1, roots)
    first_child[1:] += np.cumsum(children)
    return Trie(frozen(np.concatenate(symbols), np.int32), frozen(first_child, np.int32), roots), node_of
