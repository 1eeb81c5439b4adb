"""Mergeable heaps: any number of heaps over the same numbered items, of which two become one in a moment.

A pairing heap is a tree whose parents are not smaller than their children; merging hangs the smaller root below the
larger one. Taking the largest item away leaves its children, which are merged in pairs, and the pairs from the last to
the first. All heaps live in two arrays, ``child`` and ``sibling`` int32 (items,): the first child of an item and the
next child of its parent, or -1. A heap is the number of its largest item, or ``EMPTY``.

Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap: a new form of self-adjusting heap", 1986.
"""

from __future__ import annotations

from corpuscle.compiled import part

EMPTY = -1


@part(inline=True)
def merge(values, child, sibling, a, b):
    """The heap of all items of two heaps; of equal values that of ``a`` stays on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if values[b] > values[a]:
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@part(bare=True)
def without_top(values, child, sibling, heap):
    """What is left of a heap without its largest item."""
    at = child[heap]
    child[heap] = EMPTY
    if at < 0 or sibling[at] < 0:
        return at
    pairs = EMPTY  # merged pairs, the last one first
    while at >= 0:
        mate = sibling[at]
        following = sibling[mate] if mate >= 0 else EMPTY
        sibling[at] = EMPTY
        if mate >= 0:
            sibling[mate] = EMPTY
            at = merge(values, child, sibling, at, mate)
        sibling[at] = pairs
        pairs, at = at, following
    heap = EMPTY
    while pairs >= 0:
        following = sibling[pairs]
        sibling[pairs] = EMPTY
        heap = merge(values, child, sibling, heap, pairs)
        pairs = following
    return heap
