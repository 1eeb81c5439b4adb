"""The K best projective trees by joining neighbouring segments, as in a chart of constituents.

A segment is a tree over a span of words; two neighbours make one segment in two ways: the root of either becomes the
head of the other's. ``V[i, j]`` has the K best segments of the span from i to j, sorted, with distinct sets of arcs:
the same tree comes from several orders of joining, and duplicates would fill the list. A set of arcs is known by the
sum of the hashes of its arcs.

With K for a whole span the result is approximate, since a segment that is needed above may have been dropped; with K
for every root of a span (``per_root``) the best tree is exact even for K = 1, in O(n^5).

Cube pruning: each split k and direction is a grid, the segments of [i, k] by those of [k + 1, j], whose sums fall along
both axes but for the score of the joining arc. A heap begins with all corners; the best cell is taken, and its two
neighbours come in. It stops when K distinct segments and ``margin`` more have been seen.

Jiang and Liu, "Dependency parsing and projection based on word-pair classification", 2010, algorithm 1 (V, K); Huang
and Chiang, "Better k-best parsing", 2005, section 4.2 (cube pruning).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.heap import pop, push
from corpuscle.random import mix


class _Segments(NamedTuple):
    """All segments of a sentence; those of the span from i to j stand from ``first[i, j]`` on, ``sizes[i, j]`` of them.

    ``scores`` float64, ``roots`` int32, ``marks`` uint64 (hashes of sets of arcs), ``lefts`` and ``rights`` int32: what
    it was joined from, -1 for a word; ``leftward`` bool: whether the right one has the head.
    """

    first: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray
    roots: np.ndarray
    marks: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    leftward: np.ndarray


@part
def _room(n, k, per_root):
    first, total = np.zeros((n, n), np.int64), 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            first[i, i + width - 1] = total
            total += k * width if per_root else k
    return _Segments(
        first, np.zeros((n, n), np.int64), np.empty(total), np.empty(total, np.int32), np.empty(total, np.uint64),
        np.full(total, -1, np.int32), np.full(total, -1, np.int32), np.zeros(total, np.bool_),
    )  # fmt: skip


@part
def _joined(v, left, right, leftward, arcs):
    """The score, the root and the mark of two segments that are joined."""
    # a sum of hashes is the same whatever the order of joining
    head, modifier = (v.roots[right], v.roots[left]) if leftward else (v.roots[left], v.roots[right])
    score = v.scores[left] + v.scores[right] + arcs[head + 1, modifier + 1]
    arc = mix(np.uint64(head) * np.uint64(1 << 32) + np.uint64(modifier) + np.uint64(1))
    return score, head, v.marks[left] + v.marks[right] + arc


@part
def _insert(v, begin, size, k, score, root, mark, left, right, leftward):
    """Put a segment into the sorted list of up to k from ``begin`` on, unless it is there; returns its new size."""
    if size == k and score <= v.scores[begin + size - 1]:
        return size
    for slot in range(begin, begin + size):
        if v.marks[slot] == mark:
            return size
    slot = begin + min(size, k - 1)  # from a full list the last one falls out
    while slot > begin and v.scores[slot - 1] < score:
        for field in (v.lefts, v.rights, v.roots):
            field[slot] = field[slot - 1]
        v.scores[slot], v.marks[slot], v.leftward[slot] = v.scores[slot - 1], v.marks[slot - 1], v.leftward[slot - 1]
        slot -= 1
    v.scores[slot], v.marks[slot], v.leftward[slot] = score, mark, leftward
    v.lefts[slot], v.rights[slot], v.roots[slot] = left, right, root
    return min(size + 1, k)


@part
def _fill_by_root(i, j, k, arcs, v):
    """All ways to join, K kept for every root."""
    kept, begin = np.zeros(j - i + 1, np.int64), v.first[i, j]
    for split in range(i, j):
        for left in range(v.first[i, split], v.first[i, split] + v.sizes[i, split]):
            for right in range(v.first[split + 1, j], v.first[split + 1, j] + v.sizes[split + 1, j]):
                for leftward in (False, True):
                    score, root, mark = _joined(v, left, right, leftward, arcs)
                    kept[root - i] = _insert(
                        v, begin + k * (root - i), kept[root - i], k, score, root, mark, left, right, leftward
                    )
    total = 0
    for root in range(j - i + 1):  # close the gaps
        for slot in range(begin + k * root, begin + k * root + kept[root]):
            for field in (v.lefts, v.rights, v.roots):
                field[begin + total] = field[slot]
            v.scores[begin + total], v.marks[begin + total] = v.scores[slot], v.marks[slot]
            v.leftward[begin + total] = v.leftward[slot]
            total += 1
    v.sizes[i, j] = total


@part
def _fill_by_cubes(i, j, k, margin, arcs, v, heap):
    """The best cells of all grids until K distinct segments and some more have been seen."""
    priorities, names, cells, seen = heap
    size, made, begin, kept, distinct = 0, 0, v.first[i, j], 0, 0
    seen[: 2 * (j - i)] = False
    found = np.empty(k + margin, np.uint64)
    # each grid begins with its corner: the best segments of both sides
    for grid in range(2 * (j - i)):
        split, leftward = i + grid // 2, grid % 2 == 1
        score, _, _ = _joined(v, v.first[i, split], v.first[split + 1, j], leftward, arcs)
        cells[made, 0], cells[made, 1], cells[made, 2] = grid, 0, 0
        push(priorities, names, size, score, made)
        size, made = size + 1, made + 1
    while size > 0 and distinct < k + margin:
        grid, a, b = cells[names[0]]
        pop(priorities, names, size)
        size -= 1
        split, leftward = i + grid // 2, grid % 2 == 1
        left, right = v.first[i, split] + a, v.first[split + 1, j] + b
        score, root, mark = _joined(v, left, right, leftward, arcs)
        new = True
        for number in range(distinct):
            new = new and found[number] != mark
        if new:
            found[distinct] = mark
            distinct += 1
            kept = _insert(v, begin, kept, k, score, root, mark, left, right, leftward)
        # its neighbours along both axes, each once: they can be reached from two cells
        for step in range(2):
            next_a, next_b = a + 1 - step, b + step
            if next_a < v.sizes[i, split] and next_b < v.sizes[split + 1, j] and not seen[grid, next_a, next_b]:
                seen[grid, next_a, next_b] = True
                score, _, _ = _joined(v, v.first[i, split] + next_a, v.first[split + 1, j] + next_b, leftward, arcs)
                cells[made, 0], cells[made, 1], cells[made, 2] = grid, next_a, next_b
                push(priorities, names, size, score, made)
                size, made = size + 1, made + 1
    v.sizes[i, j] = kept


@kernel
def best_segments(n, arcs, k, margin, per_root, heads, scores):
    """``heads`` int32 (k, n), ``scores`` (k,) := the best trees of n words, the best one first; returns how many.

    ``arcs``: (n + 1, n + 1), as in ``charts``; those of the root do not count.
    """
    v = _room(n, k, per_root)
    grids = 2 * max(1, n - 1)
    room = 1 if per_root else grids * k * k
    heap = (
        np.empty(room), np.empty(room, np.int64), np.empty((room, 3), np.int64),
        np.zeros((1, 1, 1) if per_root else (grids, k, k), np.bool_),
    )  # fmt: skip
    for i in range(n):
        slot = v.first[i, i]
        v.sizes[i, i], v.scores[slot], v.roots[slot], v.marks[slot] = 1, 0.0, i, np.uint64(0)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            if per_root:
                _fill_by_root(i, i + width - 1, k, arcs, v)
            else:
                _fill_by_cubes(i, i + width - 1, k, min(margin, room), arcs, v, heap)
    begin, total = v.first[0, n - 1], v.sizes[0, n - 1]
    order = np.argsort(-v.scores[begin : begin + total], kind="mergesort")[:k]
    stack = np.empty(2 * n, np.int64)
    for rank in range(len(order)):
        slot = begin + order[rank]
        scores[rank] = v.scores[slot]
        heads[rank, v.roots[slot]] = 0
        stack[0], top = slot, 1
        while top > 0:
            top -= 1
            slot = stack[top]
            if v.lefts[slot] >= 0:
                left, right = v.lefts[slot], v.rights[slot]
                if v.leftward[slot]:
                    heads[rank, v.roots[left]] = v.roots[right] + 1
                else:
                    heads[rank, v.roots[right]] = v.roots[left] + 1
                stack[top], stack[top + 1] = left, right
                top += 2
    return len(order)
