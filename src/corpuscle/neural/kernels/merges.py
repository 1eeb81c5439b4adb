"""Byte pair encoding: which neighbours to join next, and the pieces of a word.

Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", 2016, section 3.2. All words
are spelled out; the pair of neighbours that is most frequent, each word counted as often as the text has it, is
written as one new symbol wherever it stands, and so on. Of pairs that are equally frequent the one with the smaller
left symbol is first, then the one with the smaller right symbol. A word is cut by the same merges in the same order.

Counts are kept up to date instead of counted anew: a merge takes away the pairs to its left and right and adds two with
the new symbol. Pairs stand in a heap by their counts; when a count has grown, the pair is put in once more, and an
entry whose count has fallen since is put back when it comes to the top.

Notation: n places, one for each letter of each word; a place that was joined to the one before it has the symbol
GONE; pairs are numbered items of a hash table, and know the places where they (may) stand by linked lists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.hashtable import EMPTY, enter, find, new_index, pair

GONE = -1


class Places(NamedTuple):
    """The letters of all words: ``symbols`` int32 (n,); ``before`` and ``after`` int32 (n,), the places of the
    neighbours in the same word, -1 at its ends; ``weights`` int64 (n,), how often the word was seen."""

    symbols: np.ndarray
    before: np.ndarray
    after: np.ndarray
    weights: np.ndarray


class Pairs(NamedTuple):
    """Pairs of neighbours: ``keys`` int32 (room, 2), left and right symbol; ``counts`` int64 (room,); ``lists`` int32
    (room,), the first entry of each pair's list in ``entries`` int32 (room, 2), a place and the next entry; ``table``,
    see ``hashtable``; ``heap`` int64 (room, 2): counts when they were put in, and pairs; ``queued`` int64 (room,): with
    which count each was put in last; ``used`` int64 (3,): how many pairs, entries and items of the heap there are."""

    keys: np.ndarray
    counts: np.ndarray
    lists: np.ndarray
    entries: np.ndarray
    table: np.ndarray
    heap: np.ndarray
    queued: np.ndarray
    used: np.ndarray


def room_for(places: int) -> Pairs:
    """No pairs yet: joining two places removes one and adds at most two pairs, so three times as many is enough."""
    room = 3 * places + 1
    return Pairs(
        np.empty((room, 2), np.int32), np.zeros(room, np.int64), np.full(room, -1, np.int32),
        np.empty((room, 2), np.int32), new_index(room), np.empty((room, 2), np.int64), np.zeros(room, np.int64),
        np.zeros(3, np.int64),
    )  # fmt: skip


@part(bare=True)
def _first(pairs, a, b):
    """Whether entry a of the heap comes before entry b."""
    heap, keys = pairs.heap, pairs.keys
    if heap[a, 0] != heap[b, 0]:
        return heap[a, 0] > heap[b, 0]
    one, other = keys[heap[a, 1]], keys[heap[b, 1]]
    return one[0] < other[0] or (one[0] == other[0] and one[1] < other[1])


@part(bare=True)
def _swap(heap, a, b):
    for i in range(2):
        heap[a, i], heap[b, i] = heap[b, i], heap[a, i]


@part(bare=True)
def _push(pairs, item):
    """Put a pair into the heap with its present count."""
    at = pairs.used[2]
    pairs.used[2] += 1
    pairs.queued[item] = pairs.counts[item]
    pairs.heap[at, 0], pairs.heap[at, 1] = pairs.counts[item], item
    while at > 0 and _first(pairs, at, (at - 1) >> 1):
        _swap(pairs.heap, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@part(bare=True)
def _pop(pairs):
    """Take the top off the heap: the last entry goes to its place and sinks."""
    pairs.used[2] -= 1
    size, at = pairs.used[2], 0
    _swap(pairs.heap, 0, size)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _first(pairs, child + 1, child):
            child += 1
        if not _first(pairs, child, at):
            break
        _swap(pairs.heap, at, child)
        at = child


@part(bare=True)
def _add(pairs, places, place, sign):
    """Count the pair that begins at a place once more (sign 1), or no longer (-1)."""
    left, right = places.symbols[place], places.symbols[places.after[place]]
    item = find(pairs.table, pairs.keys, pair(left, right))
    if item == EMPTY:
        item = pairs.used[0]
        pairs.used[0] += 1
        pairs.keys[item, 0], pairs.keys[item, 1] = left, right
        enter(pairs.table, pairs.keys, item)
    pairs.counts[item] += sign * places.weights[place]
    if sign > 0:
        entry = pairs.used[1]
        pairs.used[1] += 1
        pairs.entries[entry, 0], pairs.entries[entry, 1] = place, pairs.lists[item]
        pairs.lists[item] = entry


@kernel
def count_pairs(places, pairs):
    for place in range(places.symbols.size):
        if places.after[place] >= 0:
            _add(pairs, places, place, 1)
    for item in range(pairs.used[0]):
        _push(pairs, item)


@kernel
def most_frequent(pairs):
    """The most frequent pair, taken off the heap; EMPTY where none occurs twice."""
    while pairs.used[2] > 0:
        count, item = pairs.heap[0]
        _pop(pairs)
        if count == pairs.counts[item]:  # counts only fall behind the heap's back, so this is the highest
            return item if count > 1 else np.int64(EMPTY)
        if count == pairs.queued[item]:
            _push(pairs, item)
    return np.int64(EMPTY)


@part
def _places_of(pairs, item):
    """The places where a pair stands, rising."""
    size, entry = 0, pairs.lists[item]
    while entry >= 0:
        size, entry = size + 1, pairs.entries[entry, 1]
    found, entry = np.empty(size, np.int32), pairs.lists[item]
    for i in range(size):
        found[i], entry = pairs.entries[entry, 0], pairs.entries[entry, 1]
    found.sort()
    return found


@kernel
def join(places, pairs, item, symbol):
    """Write a pair as one symbol wherever it stands, from left to right."""
    symbols, before, after = places.symbols, places.before, places.after
    left, right = pairs.keys[item]
    known = pairs.used[1]
    for place in _places_of(pairs, item):
        second = after[place]
        if symbols[place] != left or second < 0 or symbols[second] != right:
            continue  # what stood here was joined to something else
        third = after[second]
        if before[place] >= 0:
            _add(pairs, places, before[place], -1)
        if third >= 0:
            _add(pairs, places, second, -1)
            before[third] = place
        _add(pairs, places, place, -1)
        symbols[place], symbols[second], after[place] = symbol, GONE, third
        if before[place] >= 0:
            _add(pairs, places, before[place], 1)
        if third >= 0:
            _add(pairs, places, place, 1)
    for entry in range(known, pairs.used[1]):  # the pairs that have new places
        place = pairs.entries[entry, 0]
        if symbols[place] != GONE and after[place] >= 0:
            grown = find(pairs.table, pairs.keys, pair(symbols[place], symbols[after[place]]))
            if pairs.queued[grown] != pairs.counts[grown]:
                _push(pairs, grown)


@kernel
def cut(symbols, starts, index, merges):
    """Join the letters of words in place: ``symbols`` int32, word after word from ``starts`` (words + 1,) on; what is
    joined stands at the beginning of its word, GONE behind it. ``merges`` int32 (m, 3): left and right symbol, and what
    they become; ``index`` finds them by their pair."""
    for word in range(len(starts) - 1):
        begin, end = starts[word], starts[word + 1]
        while end - begin > 1:
            best = len(merges)
            for i in range(begin, end - 1):
                rank = find(index, merges, pair(symbols[i], symbols[i + 1]))
                if rank != EMPTY and rank < best:
                    best = rank
            if best == len(merges):
                break
            left, right, to, i = merges[best, 0], merges[best, 1], begin, begin
            while i < end:
                if i + 1 < end and symbols[i] == left and symbols[i + 1] == right:
                    symbols[to] = merges[best, 2]
                    i += 2
                else:
                    symbols[to] = symbols[i]
                    i += 1
                to += 1
            symbols[to:end] = GONE
            end = to
