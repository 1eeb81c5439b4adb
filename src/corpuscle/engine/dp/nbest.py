"""The n best paths of a decoder's lattice: best-first search from its end, guided by exact forward scores.

A lattice has hypotheses in stacks, and edges between them that carry an option each; the score through an edge is that
of the best path from the beginning that ends with it. So the priority of a partial path, from some edge to the end, is
exact, and complete paths come out in order. The edges into a hypothesis are ranked: only the best of them waits in the
heap, and the next best takes its place when it leaves. Two partial paths that begin in the same hypothesis and spell
the same output differ in nothing that matters, and the second one is dropped: there are exponentially many ways to cut
a word, but few outputs.

A partial path is an *item*: its first edge, the item that goes on from there, the score from its edge on. What waits in
the heap is an edge that leads into the beginning of an item, two numbers of 32 bits in one.

Soong and Huang, "A tree-trellis based fast search for finding the N best sentence hypotheses in continuous speech
recognition", 1991; Huang and Chiang, "Better k-best parsing", 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.containers import hashtable, heap

_STEP, _ADD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x632BE59BD9B4E019)


class Items(NamedTuple):
    """Partial paths from some edge to the end of the lattice.

    - ``edges``: int64 (room,), the first edge of each; negative at the end of the lattice, ``-1 - hypothesis``;
    - ``following``: int64 (room,), the item that goes on behind that edge;
    - ``after``: float64 (room,), the score from its edge on;
    - ``texts``: uint64 (room,), a hash of what it spells; ``keys``: uint64 (room,), one of that and of the hypothesis
      in which it begins.
    """

    edges: np.ndarray
    following: np.ndarray
    after: np.ndarray
    texts: np.ndarray
    keys: np.ndarray


@part
def _longer(array, room):
    """A copy with room for so many."""
    result = np.empty(room, array.dtype)
    result[: len(array)] = array
    return result


@part
def _with_room(items, made):
    """The items, or a copy with twice the room if none is left."""
    if made < len(items.edges):
        return items
    room = 2 * made
    return Items(
        _longer(items.edges, room),
        _longer(items.following, room),
        _longer(items.after, room),
        _longer(items.texts, room),
        _longer(items.keys, room),
    )


@part(inline=True)
def _symbol_before(symbol, text):
    text = (text ^ np.uint64(symbol)) * _STEP + _ADD
    return text ^ (text >> np.uint64(29))


@part(inline=True)
def _before(options, option, text):
    """The hash of an option's target followed by an output with the hash ``text``."""
    if option < -1:
        return _symbol_before(np.int64(-1 - option), text)
    if option >= 0:
        for i in range(options.target_starts[option + 1] - 1, options.target_starts[option] - 1, -1):
            text = _symbol_before(np.int64(options.targets[i]), text)
    return text


@part
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


@part
def search(options, limits, first, endings, scores, edges, most_pops):
    """Best-first search from the end of the lattice.

    ``first``: where each stack's hypotheses begin; ``scores``: of the hypotheses; ``endings``: what ending adds to
    those of the last stack; ``edges``, float64 (4, n): into which hypothesis, from which, option, score through it.
    Returns the edges in another order, the items, and which of them are at the beginning of the lattice, best first.
    """
    n = len(first) - 2
    first_edge = np.zeros(first[n + 1] + 1, np.int64)
    ranked = _rank_edges(edges, first_edge)
    links, hashes = np.empty((2, 256), np.int64), np.empty((2, 256), np.uint64)
    items = Items(links[0], links[1], np.empty(256), hashes[0], hashes[1])
    priorities, waiting, size = np.empty(256), np.empty(256, np.int64), 0
    index = np.full(1024, hashtable.EMPTY, np.int64)
    done, n_done = np.empty(limits.n_best, np.int64), 0
    made, pops = 0, 0
    # The items of the last stack: they have no edge, and stand for reading the end symbol.
    for h in range(first[n], first[n + 1]):
        items = _with_room(items, made)
        items.edges[made], items.following[made], items.texts[made] = -1 - h, -1, np.uint64(0)
        items.after[made] = endings[h - first[n]]
        made += 1
    finals = made
    for item in range(finals):
        h = -1 - items.edges[item]
        edge = first_edge[h]
        if edge < first_edge[h + 1]:
            if size == len(waiting):
                priorities, waiting = _longer(priorities, 2 * size), _longer(waiting, 2 * size)
            heap.push(priorities, waiting, size, ranked[3, edge] + items.after[item], item << 32 | edge)
            size += 1
    while size > 0 and n_done < limits.n_best and pops < most_pops:
        pops += 1
        follower, edge = waiting[0] >> 32, waiting[0] & 4294967295
        heap.pop(priorities, waiting, size)
        size -= 1
        if size + 2 > len(waiting):
            priorities, waiting = _longer(priorities, 2 * len(waiting)), _longer(waiting, 2 * len(waiting))
        into, source = np.int64(ranked[0, edge]), np.int64(ranked[1, edge])
        if edge + 1 < first_edge[into + 1]:
            heap.push(priorities, waiting, size, ranked[3, edge + 1] + items.after[follower], follower << 32 | edge + 1)
            size += 1
        text = _before(options, np.int64(ranked[2, edge]), items.texts[follower])
        items = _with_room(items, made)
        if limits.distinct:
            if 2 * (made - finals) > len(index):
                index = hashtable.grown(index, items.keys, finals, made)
            key = (np.uint64(source) + np.uint64(1)) * _STEP ^ text
            slot = hashtable.probe(index, items.keys, key, hashtable.home(index, key))
            if index[slot] >= 0:
                continue
            index[slot], items.keys[made] = made, key
        items.edges[made], items.following[made], items.texts[made] = edge, follower, text
        items.after[made] = items.after[follower] + ranked[3, edge] - scores[source]
        if source == 0:
            done[n_done] = made
            n_done += 1
        elif first_edge[source] < first_edge[source + 1]:
            edge = first_edge[source]
            heap.push(priorities, waiting, size, ranked[3, edge] + items.after[made], made << 32 | edge)
            size += 1
        made += 1
    return ranked, items, done[:n_done]
