"""A binary heap: items with priorities, of which the largest can be had at once.

A heap is two arrays, ``priorities`` float64 (room,) and ``items`` int64 (room,), and the number of items in it: the
children of place i are at 2 i + 1 and 2 i + 2, and none is larger than its parent. The top is place 0. The caller
counts the items and sees to the room.

Williams, "Algorithm 232: heapsort", 1964.
"""

from __future__ import annotations

from corpuscle.compiled import part


@part(inline=True)
def push(priorities, items, size, priority, item):
    """Add an item to a heap that has ``size`` of them, and room for one more."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if priorities[parent] >= priority:
            break
        priorities[at], items[at] = priorities[parent], items[parent]
        at = parent
    priorities[at], items[at] = priority, item


@part(inline=True)
def pop(priorities, items, size):
    """Remove the top of a heap that has ``size`` items."""
    priority, item = priorities[size - 1], items[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and priorities[child + 1] > priorities[child]:
            child += 1
        if priorities[child] <= priority:
            break
        priorities[at], items[at] = priorities[child], items[child]
        at = child
    priorities[at], items[at] = priority, item


@part(inline=True)
def _comes_before(values, a, b):
    return values[a] > values[b] or (values[a] == values[b] and a < b)


@part(bare=True)
def sink(values, order, size, at):
    """Put the entry at a place of a heap of indices where it belongs: larger values, among equal ones smaller indices,
    are above."""
    item = order[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_before(values, order[child + 1], order[child]):
            child += 1
        if not _comes_before(values, order[child], item):
            break
        order[at] = order[child]
        at = child
    order[at] = item


@part(bare=True)
def sort(values, order, count):
    """``order`` int64 := the indices 0..count-1, largest value first, of equal ones the smaller index; no room is
    needed."""
    for i in range(count):
        order[i] = i
    for at in range(count // 2 - 1, -1, -1):
        sink(values, order, count, at)
    for end in range(count - 1, 0, -1):  # the first in order is on top, and goes to the end
        order[0], order[end] = order[end], order[0]
        sink(values, order, end, 0)
    for i in range(count // 2):
        order[i], order[count - 1 - i] = order[count - 1 - i], order[i]
