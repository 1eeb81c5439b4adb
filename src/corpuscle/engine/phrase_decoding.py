"""Decoding by phrases: stacks of hypotheses on the way forward, and the n best paths of the lattice that they leave.

**Forward.** Candidates are offered, recombined, cut to a beam, and become hypotheses. Hypotheses that cover equally
many source symbols share a stack. What can follow a hypothesis depends on its *state* alone (one number, whatever the
decoder packs into it), so of candidates with the same state the best one stands for all; the others are kept as edges
into it where more than one rewriting is wanted. A stack keeps the ``beam`` best of its candidates, and those within
``threshold`` of the best.

**Backward.** The n best paths are found best first from the end of the lattice, guided by exact forward scores. An edge
between hypotheses carries an option; the score through an edge is that of the best path from the beginning that ends
with it. So the priority of a partial path, from some edge to the end, is exact, and complete paths come out in order.
The edges into a hypothesis are ranked: only the best of them waits in the heap, and the next best takes its place when
it leaves. Two partial paths that begin in the same hypothesis and spell the same output differ in nothing that matters,
and the second one is dropped: there are exponentially many ways to cut a word, but few outputs.

A partial path is an *item*: its first edge, the item that goes on from there, the score from its edge on. What waits in
the heap is an edge that leads into the beginning of an item, two numbers of 32 bits in one.

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding): stacks, recombination, histogram and threshold
pruning; Soong and Huang, "A tree-trellis based fast search for finding the N best sentence hypotheses in continuous
speech recognition", 1991; Huang and Chiang, "Better k-best parsing", 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine import hashtable, heap
from corpuscle.engine.ngrams.trie import find

NO_ROOM = -1
"""What a forward pass returns if there are more edges than room for them."""

_HELD, _MADE, _EDGES, _EDGES_BEFORE = range(4)
_FLOOR, _TOP = range(2)
_STEP, _ADD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x632BE59BD9B4E019)  # odd, with bits in no order: for hashes


class Options(NamedTuple):
    """What may stand for which source phrase, with weighted scores.

    - ``symbols``, ``first_child``, ``roots``: a trie of source phrases, see ``phrase_extraction.Trie``;
    - ``first_option``: int64 (nodes + 1,), the options of node n are ``first_option[n]`` to ``first_option[n + 1]``;
    - ``scores``: float64 (options,); ``target_starts``: int64 (options + 1,) into ``targets``, int32;
    - ``piece_starts``: int64 (options + 1,) into ``pieces``, int32: the option as pieces of both sides, where a model
      needs them.
    """

    symbols: np.ndarray
    first_child: np.ndarray
    roots: int
    first_option: np.ndarray
    scores: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    piece_starts: np.ndarray
    pieces: np.ndarray


class Stacks(NamedTuple):
    """The candidates of the stack that is being filled, and the hypotheses of those before it.

    - ``slots``: int64, by which ``hashtable`` finds candidates by their states; of 2 beam candidates ``keys``: int64,
      their states, ``best``: float64, ``backs``, ``choices``, ``numbers``, ``order``: int64;
    - ``counts``: int64 (4,), candidates held, candidates made, edges, edges before this stack; ``bounds``: float64
      (2,), what a candidate must reach (``floor``), and the best one;
    - ``first``: int64 (N + 2,), where each stack's hypotheses begin; ``states``, ``back``, ``choice``: int64,
      ``scores``: float64 (N beam + 1,), the hypotheses, stack by stack, best first;
    - ``edges``: float64 (4, room): into which hypothesis, from which, option, score through it; ``final_of``: int64
      (room,).
    """

    slots: np.ndarray
    keys: np.ndarray
    best: np.ndarray
    backs: np.ndarray
    choices: np.ndarray
    numbers: np.ndarray
    order: np.ndarray
    counts: np.ndarray
    bounds: np.ndarray
    first: np.ndarray
    states: np.ndarray
    scores: np.ndarray
    back: np.ndarray
    choice: np.ndarray
    edges: np.ndarray
    final_of: np.ndarray


def new_stacks(beam: int, longest: int, edges: int) -> Stacks:
    """Room for sequences of at most ``longest`` symbols, and for ``edges`` (none if one rewriting is wanted)."""
    room, hypotheses = 2 * beam, longest * beam + 1
    return Stacks(
        slots=hashtable.new_index(room, np.int64),
        keys=np.empty(room, np.int64),
        best=np.empty(room),
        backs=np.empty(room, np.int64),
        choices=np.empty(room, np.int64),
        numbers=np.empty(room, np.int64),
        order=np.empty(room, np.int64),
        counts=np.zeros(4, np.int64),
        bounds=np.empty(2),
        first=np.empty(longest + 2, np.int64),
        states=np.empty(hypotheses, np.int64),
        scores=np.empty(hypotheses),
        back=np.empty(hypotheses, np.int64),
        choice=np.empty(hypotheses, np.int64),
        edges=np.empty((4, edges)),
        final_of=np.empty(edges, np.int64),
    )


@kernel(bare=True)
def find_nodes(options, source, longest, nodes):
    """``nodes`` int64 (n, longest) := the node of the k + 1 symbols from position p on, or -1, at row p, column k."""
    for p in range(len(source)):
        low, high = np.int64(0), np.int64(options.roots)
        nodes[p, :longest] = -1
        for k in range(min(longest, len(source) - p)):
            node = find(options.symbols, low, high, source[p + k])
            if node < 0:
                break
            nodes[p, k] = node
            low, high = np.int64(options.first_child[node]), np.int64(options.first_child[node + 1])


@part(bare=True)
def begin(stacks, state, score):
    """Stack 0: one hypothesis that covers nothing."""
    stacks.states[0], stacks.scores[0], stacks.back[0], stacks.choice[0] = state, score, -1, -1
    stacks.first[0], stacks.first[1] = 0, 1
    stacks.counts[_EDGES] = 0


@part(bare=True)
def open_stack(stacks):
    """Get ready for the candidates of the next stack."""
    stacks.slots[:] = hashtable.EMPTY
    stacks.counts[_HELD], stacks.counts[_MADE] = 0, 0
    stacks.counts[_EDGES_BEFORE] = stacks.counts[_EDGES]
    stacks.bounds[_FLOOR], stacks.bounds[_TOP] = -np.inf, -np.inf


@part(inline=True)
def floor(stacks):
    """Candidates below this need not be offered."""
    return stacks.bounds[_FLOOR]


@part(inline=True)
def _slot(stacks, state):
    """Where the candidate with a state is, or belongs, in the hash table of candidates."""
    key = np.uint64(state)
    return hashtable.probe(stacks.slots, stacks.keys, key, hashtable.home(stacks.slots, key))


@part(bare=True)
def _halve(stacks, beam, held):
    """Keep the ``beam`` best candidates, in their order, and find them again in the hash table; returns their number
    and the score of the last."""
    heap.sort(stacks.best, stacks.order, held)
    last, kept = stacks.order[beam - 1], 0
    floor = stacks.best[last]
    for i in range(held):
        if stacks.best[i] > floor or (stacks.best[i] == floor and i <= last):
            stacks.keys[kept], stacks.best[kept], stacks.backs[kept] = stacks.keys[i], stacks.best[i], stacks.backs[i]
            stacks.choices[kept], stacks.numbers[kept] = stacks.choices[i], stacks.numbers[i]
            kept += 1
    stacks.slots[:] = hashtable.EMPTY
    for i in range(kept):
        hashtable.enter(stacks.slots, stacks.keys, i)
    return kept, floor


@part(bare=True)
def offer(stacks, limits, state, score, back, option):
    """A candidate for the open stack, not below its floor: hypothesis ``back`` extended by ``option``. Returns whether
    there was room for its edge."""
    counts, bounds = stacks.counts, stacks.bounds
    slot = _slot(stacks, state)
    candidate = stacks.slots[slot]
    if candidate < 0:
        if counts[_HELD] == len(stacks.keys):
            # From now on a candidate must be at least as good as the last of the better half.
            counts[_HELD], least = _halve(stacks, limits.beam, counts[_HELD])
            bounds[_FLOOR] = max(bounds[_FLOOR], least)
            if score < bounds[_FLOOR]:
                return True
            slot = _slot(stacks, state)
        candidate = counts[_HELD]
        stacks.slots[slot] = candidate
        stacks.keys[candidate], stacks.best[candidate], stacks.numbers[candidate] = state, score, counts[_MADE]
        stacks.backs[candidate], stacks.choices[candidate] = back, option
        counts[_HELD] += 1
        counts[_MADE] += 1
    elif score > stacks.best[candidate]:
        stacks.best[candidate], stacks.backs[candidate], stacks.choices[candidate] = score, back, option
    if score > bounds[_TOP]:
        bounds[_TOP] = score
        bounds[_FLOOR] = max(bounds[_FLOOR], score - limits.threshold)
    if limits.n_best > 1:
        e = counts[_EDGES]
        if e == stacks.edges.shape[1]:
            return False
        stacks.edges[0, e], stacks.edges[1, e] = stacks.numbers[candidate], back
        stacks.edges[2, e], stacks.edges[3, e] = option, score
        counts[_EDGES] += 1
    return True


@part(bare=True)
def settle(stacks, limits, q):
    """The best candidates become the hypotheses of stack q; the others are dropped with their edges. Returns how many
    edges there are."""
    counts, edges = stacks.counts, stacks.edges
    held, first, kept = counts[_HELD], stacks.first[q], np.int64(0)
    heap.sort(stacks.best, stacks.order, held)
    least = stacks.bounds[_TOP] - limits.threshold
    while kept < held and kept < limits.beam and stacks.best[stacks.order[kept]] >= least:
        c, h = stacks.order[kept], first + kept
        stacks.states[h], stacks.scores[h] = stacks.keys[c], stacks.best[c]
        stacks.back[h], stacks.choice[h] = stacks.backs[c], stacks.choices[c]
        kept += 1
    stacks.first[q + 1] = first + kept
    if limits.n_best > 1:  # edges lead into hypotheses now, or are dropped
        stacks.final_of[: counts[_MADE]] = -1
        for i in range(kept):
            stacks.final_of[stacks.numbers[stacks.order[i]]] = first + i
        at = counts[_EDGES_BEFORE]
        for e in range(at, counts[_EDGES]):
            into = stacks.final_of[np.int64(edges[0, e])]
            if into >= 0:
                edges[0, at], edges[1, at], edges[2, at], edges[3, at] = into, edges[1, e], edges[2, e], edges[3, e]
                at += 1
        counts[_EDGES] = at
    return counts[_EDGES]


@part(bare=True)
def best_end(stacks, endings, q):
    """The hypothesis of stack q that is best when ``endings``, float64 by its rank in the stack, are added, or -1; and
    its score with them."""
    best, top = -1, -np.inf
    for h in range(stacks.first[q], stacks.first[q + 1]):
        score = stacks.scores[h] + endings[h - stacks.first[q]]
        if best < 0 or score > top:
            best, top = h, score
    return best, top


@part(bare=True)
def stack_of(first, hypothesis):
    q = 0
    while hypothesis >= first[q + 1]:
        q += 1
    return q


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
def search(options, limits, first, endings, scores, edges, most_pops):
    """Best-first search from the end of the lattice.

    ``first``: where each stack's hypotheses begin; ``scores``: of the hypotheses; ``endings``: what ending adds to
    those of the last stack; ``edges``, float64 (4, n): into which hypothesis, from which, option, score through it.
    Returns the edges in another order, the items, and which of them are at the beginning of the lattice, best first.
    """
    n = len(first) - 2
    # Edges sorted by the hypothesis that they lead into, best first.
    order = np.argsort(-edges[3], kind="mergesort")
    ranked = edges[:, order[np.argsort(edges[0][order], kind="mergesort")]]
    first_edge = np.searchsorted(ranked[0], np.arange(first[n + 1] + 1))
    # Room for all that could be: memory that is never written costs nothing.
    finals = first[n + 1] - first[n]
    made, pops, room = finals, 0, finals + most_pops
    links, hashes = np.empty((2, room), np.int64), np.empty((2, room), np.uint64)
    items = Items(links[0], links[1], np.empty(room), hashes[0], hashes[1])
    priorities, waiting, size = np.empty(room), np.empty(room, np.int64), 0
    index = np.full(1024, hashtable.EMPTY, np.int64)
    done, n_done = np.empty(limits.n_best, np.int64), 0
    # The items of the last stack: they have no edge, and stand for reading the end symbol.
    for item in range(finals):
        h = first[n] + item
        items.edges[item], items.following[item], items.texts[item] = -1 - h, -1, np.uint64(0)
        items.after[item] = endings[item]
        edge = first_edge[h]
        if edge < first_edge[h + 1]:
            heap.push(priorities, waiting, size, ranked[3, edge] + items.after[item], item << 32 | edge)
            size += 1
    while size > 0 and n_done < limits.n_best and pops < most_pops:
        pops += 1
        follower, edge = waiting[0] >> 32, waiting[0] & 4294967295
        heap.pop(priorities, waiting, size)
        size -= 1
        into, source = np.int64(ranked[0, edge]), np.int64(ranked[1, edge])
        if edge + 1 < first_edge[into + 1]:
            heap.push(priorities, waiting, size, ranked[3, edge + 1] + items.after[follower], follower << 32 | edge + 1)
            size += 1
        text = _before(options, np.int64(ranked[2, edge]), items.texts[follower])
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
