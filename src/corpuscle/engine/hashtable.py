"""A hash table of numbered items: open addressing with linear probing, removal without tombstones.

Items are rows of the caller's own arrays; the table is an ``index`` from keys of 64 bits to the numbers of items:

- ``index``: int32 or int64 (2^k,), the number of an item, or ``EMPTY``; at most half of it is used;
- ``keys``: the keys of all items by number: (items,) of 64-bit integers, or int32 (items, 2 or more), whose first two
  columns are the key (so that an item and its key share a cache line).

The home of a key is its mixed bits, cut to the size of the index. An item stands at its home or behind it, and there is
no free slot between the two: a search goes on from the home until it meets the key or a free slot. When an item goes,
others that stand behind the gap and may stand in it move up, so that this remains true.

Where different items may have the same key (a key is a hash of a stretch of symbols), the caller compares what
``probe`` finds (``same_stretch``), and goes on with ``probe`` from the ``next_slot``. Where an item stands depends on
the order in which items came, its number does not: results that follow the numbers do not depend on the layout.

Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, for both algorithms.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

EMPTY = -1
"""What stands in a free slot."""


def new_index(room: int, dtype: type = np.int32) -> np.ndarray:
    """An empty index with room for N items: (2^k,), at least twice as many slots."""
    return np.full(1 << max(3, (2 * room - 1).bit_length()), EMPTY, dtype)


@part(inline=True)
def pair(first, second):
    """Two integers of 32 bits as one key: on most machines what 64 bits read that are stored as the two."""
    return (np.uint64(np.uint32(second)) << np.uint64(32)) | np.uint64(np.uint32(first))


@part(inline=True)
def _key_of(keys, item):
    if keys.ndim == 1:  # known when compiled
        return np.uint64(keys[item])
    return pair(keys[item, 0], keys[item, 1])


@part(inline=True)
def home(index, key):
    """The slot where the search for a key begins."""
    return np.int64(mix(key) & np.uint64(len(index) - 1))


@part(inline=True)
def next_slot(index, slot):
    """The slot behind a slot, the first one behind the last."""
    return (slot + 1) & (len(index) - 1)


@part(inline=True)
def probe(index, keys, key, slot):
    """The first slot from ``slot`` on that has an item with this key or is free."""
    while True:
        item = np.int64(index[slot])
        if item < 0 or _key_of(keys, item) == key:
            return slot
        slot = next_slot(index, slot)


@part(inline=True)
def find(index, keys, key):
    """The number of the first item with this key, or EMPTY."""
    slot = home(index, key)
    while True:  # as in ``probe``, which does not say what it has read: to read it again costs a segmenter 5 %
        item = np.int64(index[slot])
        if item < 0 or _key_of(keys, item) == key:
            return item
        slot = next_slot(index, slot)


@part(inline=True)
def same_stretch(one, begin, other, start, length):
    """Whether the ``length`` symbols from ``one[begin]`` and from ``other[start]`` on are the same."""
    i = 0
    while i < length and one[begin + i] == other[start + i]:
        i += 1
    return i == length


@part(inline=True)
def enter(index, keys, item):
    """Put an item into the index, behind all others with the same key."""
    slot = home(index, _key_of(keys, item))
    while index[slot] >= 0:
        slot = next_slot(index, slot)
    index[slot] = item


@part(inline=True)
def erase(index, keys, item):
    """Take an item out of the index; those behind it move up, so that no gap hides them."""
    last = len(index) - 1
    gap = home(index, _key_of(keys, item))
    while index[gap] != item:
        gap = next_slot(index, gap)
    at = gap
    while True:
        at = next_slot(index, at)
        other = np.int64(index[at])
        if other < 0:
            break
        if ((at - home(index, _key_of(keys, other))) & last) >= ((at - gap) & last):
            index[gap] = other
            gap = at
    index[gap] = EMPTY


@kernel
def grown(index, keys, first, last):
    """An index of four times the size, with the items first..last-1."""
    larger = np.full(4 * len(index), EMPTY, index.dtype)
    for item in range(first, last):
        enter(larger, keys, item)
    return larger
