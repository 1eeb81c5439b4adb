"""Projections: a row of weights is cut to its largest entries, so that what follows has less to do.

Of a row that says how likely each class is, the ``k`` largest entries are kept, or the fewest of the largest that have
all but ``epsilon`` of its total; what is kept is not changed. The first bounds the work, the second what is lost. Among
equals, smaller classes are kept first. With k = C and epsilon = 0 everything is kept.

Pal, Sutton and McCallum, "Sparse forward-backward using minimum divergence beams for fast training of conditional
random fields", 2006; Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class induction", 2013, for
both rules.
"""

from __future__ import annotations

from corpuscle.compiled import part


@part(bare=True)
def _keep_best(row, k, kept, values):
    """The k largest positive entries of a row, largest first, among equals the smaller class; returns how many."""
    size = 0
    least = 0.0
    for c in range(len(row)):
        value = row[c]
        if value > least:
            at = size if size < k else k - 1
            while at > 0 and values[at - 1] < value:
                values[at], kept[at] = values[at - 1], kept[at - 1]
                at -= 1
            values[at], kept[at] = value, c
            if size < k:
                size += 1
            if size == k:
                least = values[k - 1]
    return size


@part(bare=True)
def _sink(row, heap, n, at):
    """Put the entry of a heap in its place: larger entries, or among equals smaller classes, are above."""
    c = heap[at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        other = below + 1
        if other < n:
            x, y = row[heap[below]], row[heap[other]]
            if y > x or (y == x and heap[other] < heap[below]):
                below = other
        x, y = row[heap[below]], row[c]
        if not (x > y or (x == y and heap[below] < c)):
            break
        heap[at], at = heap[below], below
    heap[at] = c


@part(bare=True)
def _keep_mass(row, total, k, epsilon, kept, heap):
    """The fewest of the largest entries that have all but ``epsilon`` of a row's total, at most k; returns how many."""
    n = 0
    for c in range(len(row)):
        if row[c] > 0.0:
            heap[n] = c
            n += 1
    for at in range(n // 2 - 1, -1, -1):
        _sink(row, heap, n, at)
    size, mass, wanted = 0, 0.0, (1.0 - epsilon) * total
    while n > 0 and size < k:
        kept[size] = heap[0]
        mass += row[heap[0]]
        size, n = size + 1, n - 1
        if mass >= wanted:
            break
        heap[0] = heap[n]
        _sink(row, heap, n, 0)
    return size


@part(bare=True)
def project(row, total, k, epsilon, kept, values, heap):
    """Fill ``kept``, int32 (C,), with the classes that are kept of a row (C,) of the given total; returns how many.
    They are in order if all are kept. ``values``: float64 (C,), ``heap``: int32 (C,), room."""
    s = len(row)
    size = s
    if epsilon > 0.0:
        size = _keep_mass(row, total, k, epsilon, kept, heap)
    elif k < s:
        size = _keep_best(row, k, kept, values)
    if size == s:
        for c in range(s):
            kept[c] = c
    return size
