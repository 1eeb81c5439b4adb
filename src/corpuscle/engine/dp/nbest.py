"""The n best paths of a decoder's lattice: best-first search from its end, guided by exact forward scores.

A lattice has hypotheses in stacks, and edges between them that carry an option each; the score through an edge is that
of the best path from the beginning that ends with it. So the priority of a partial path, from some edge to the end, is
exact, and complete paths come out in order. Two partial paths that begin in the same hypothesis and spell the same
output differ in nothing that matters, and the second one is dropped: there are exponentially many ways to cut a word,
but few outputs.

Soong and Huang, "A tree-trellis based fast search for finding the N best sentence hypotheses in continuous speech
recognition", 1991.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel

__all__ = ["doubled", "search"]


@kernel
def doubled(array):
    """A copy with twice the room."""
    bigger = np.empty(2 * len(array), array.dtype)
    bigger[: len(array)] = array
    return bigger


@kernel
def _push(heap, priority, item, size):
    """Add to a heap of (priority, item), largest first; returns the heap, which may have moved, and its size."""
    if size == heap.shape[1]:
        bigger = np.empty((2, 2 * size))
        bigger[:, :size] = heap
        heap = bigger
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[0, parent] >= priority:
            break
        heap[0, at], heap[1, at] = heap[0, parent], heap[1, parent]
        at = parent
    heap[0, at], heap[1, at] = priority, item
    return heap, size + 1


@kernel
def _pop(heap, size):
    """Remove the top of a heap; returns the new size."""
    size -= 1
    priority, item = heap[0, size], heap[1, size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[0, child + 1] > heap[0, child]:
            child += 1
        if heap[0, child] <= priority:
            break
        heap[0, at], heap[1, at] = heap[0, child], heap[1, child]
        at = child
    heap[0, at], heap[1, at] = priority, item
    return size


@kernel
def _first_time(seen, hypothesis, text):
    """Note that a hypothesis was reached with an output (by its hash) behind it; False if it had been noted before."""
    mask = len(seen) - 1
    key = (np.uint64(hypothesis) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ text
    key = (key ^ (key >> np.uint64(31))) | np.uint64(1)
    slot = np.int64(key >> np.uint64(20)) & mask
    while seen[slot] != 0:
        if seen[slot] == key:
            return False
        slot = (slot + 1) & mask
    seen[slot] = key
    return True


@kernel
def _symbol_before(symbol, text):
    text = (text ^ np.uint64(symbol)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    return text ^ (text >> np.uint64(29))


@kernel
def _before(options, option, text):
    """The hash of an option's target followed by an output with the hash ``text``."""
    if option < -1:
        return _symbol_before(np.int64(-1 - option), text)
    if option >= 0:
        for i in range(options.target_starts[option + 1] - 1, options.target_starts[option] - 1, -1):
            text = _symbol_before(np.int64(options.targets[i]), text)
    return text


@kernel
def _rank_edges(edges, first_edge):
    """Edges sorted by the hypothesis that they lead into, best first."""
    order = np.argsort(-edges[3], kind="mergesort")
    counts = np.zeros(len(first_edge), np.int64)
    for e in range(edges.shape[1]):
        counts[np.int64(edges[0, e]) + 1] += 1
    first_edge[0] = 0
    for h in range(1, len(first_edge)):
        first_edge[h] = first_edge[h - 1] + counts[h]
    cursor = first_edge.copy()
    ranked = np.empty_like(edges)
    for e in order:
        at = cursor[np.int64(edges[0, e])]
        cursor[np.int64(edges[0, e])] += 1
        ranked[:, at] = edges[:, e]
    return ranked


@kernel
def search(options, limits, first, endings, scores, edges, most_pops):
    """Best-first search from the end of the lattice.

    ``first``: where each stack's hypotheses begin; ``scores``: of the hypotheses; ``endings``: what ending adds to
    those of the last stack; ``edges``, float64 (4, n): into which hypothesis, from which, option, score through it.
    Returns the edges in another order, and items: the edge of each (negative at the end of the lattice), the item that
    follows it, the score from its edge on; and the items at the beginning of the lattice, best first.
    """
    n = len(first) - 2
    first_edge = np.zeros(first[n + 1] + 1, np.int64)
    ranked = _rank_edges(edges, first_edge)
    edge_of, next_of = np.empty(256, np.int64), np.empty(256, np.int64)
    after, text = np.empty(256), np.empty(256, np.uint64)
    heap, size = np.empty((2, 256)), np.int64(0)
    seen, n_seen = np.zeros(1024, np.uint64), 0
    done, n_done = np.empty(limits.n_best, np.int64), 0
    made = 0
    # The items of the last stack: they have no edge, and stand for reading the end symbol.
    for h in range(first[n], first[n + 1]):
        while made >= len(edge_of):
            edge_of, next_of, after, text = doubled(edge_of), doubled(next_of), doubled(after), doubled(text)
        edge_of[made], next_of[made], text[made] = -1 - h, -1, np.uint64(0)
        after[made] = endings[h - first[n]]
        made += 1
    finals = made
    for item in range(finals):
        h = -1 - edge_of[item]
        # An entry of the heap is an edge into a hypothesis, and the item that follows: packed into one number.
        if first_edge[h] < first_edge[h + 1]:
            heap, size = _push(heap, ranked[3, first_edge[h]] + after[item], item * 4294967296.0 + first_edge[h], size)
    pops = 0
    while size > 0 and n_done < limits.n_best and pops < most_pops:
        pops += 1
        packed = np.int64(heap[1, 0])
        size = _pop(heap, size)
        follower, edge = packed >> 32, packed & 4294967295
        into, source = np.int64(ranked[0, edge]), np.int64(ranked[1, edge])
        if edge + 1 < first_edge[into + 1]:
            heap, size = _push(heap, ranked[3, edge + 1] + after[follower], follower * 4294967296.0 + (edge + 1), size)
        option = np.int64(ranked[2, edge])
        behind = _before(options, option, text[follower])
        if limits.distinct:
            if 2 * n_seen > len(seen):
                old, seen = seen, np.zeros(4 * len(seen), np.uint64)
                for key in old:
                    if key != 0:
                        slot = np.int64(key >> np.uint64(20)) & (len(seen) - 1)
                        while seen[slot] != 0:
                            slot = (slot + 1) & (len(seen) - 1)
                        seen[slot] = key
            if not _first_time(seen, source, behind):
                continue
            n_seen += 1
        if made >= len(edge_of):
            edge_of, next_of, after, text = doubled(edge_of), doubled(next_of), doubled(after), doubled(text)
        edge_of[made], next_of[made], text[made] = edge, follower, behind
        after[made] = after[follower] + ranked[3, edge] - scores[source]
        if source == 0:
            done[n_done] = made
            n_done += 1
        elif first_edge[source] < first_edge[source + 1]:
            best = first_edge[source]
            heap, size = _push(heap, ranked[3, best] + after[made], made * 4294967296.0 + best, size)
        made += 1
    return ranked, edge_of, next_of, after, done[:n_done]
