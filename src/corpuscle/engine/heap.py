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
def _comes_after(values, a, b):
    return values[a] < values[b] or (values[a] == values[b] and a > b)


@part(bare=True)
def sort(values, order, count):
    """``order`` int64 := the indices 0..count-1, largest value first, of equal ones the smaller index; no room is
    needed."""
    for i in range(count):
        order[i] = i
    for size in range(count + count // 2, 0, -1):
        if size > count:  # make a heap whose top comes last in order
            at, end = size - count - 1, count
        else:
            at, end = 0, size - 1
            order[0], order[end] = order[end], order[0]
        item = order[at]
        while 2 * at + 1 < end:
            child = 2 * at + 1
            if child + 1 < end and _comes_after(values, order[child + 1], order[child]):
                child += 1
            if not _comes_after(values, order[child], item):
                break
            order[at] = order[child]
            at = child
        order[at] = item
