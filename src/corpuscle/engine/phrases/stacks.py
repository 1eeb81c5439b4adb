"""The stacks of a phrase decoder: candidates are offered, recombined, cut to a beam, and become hypotheses.

Hypotheses that cover equally many source symbols share a stack. What can follow a hypothesis depends on its *state*
alone (one number, whatever the decoder packs into it), so of candidates with the same state the best one stands for
all; the others are kept as edges into it where more than one rewriting is wanted. A stack keeps the ``beam`` best of
its candidates, and those within ``threshold`` of the best.

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding): stacks, recombination, histogram and threshold
pruning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.containers import heap
from corpuscle.engine.containers.hashtable import enter, home, new_index, probe
from corpuscle.engine.ngrams.trie import find

NO_ROOM = -1
"""What a forward pass returns if there are more edges than room for them."""

_HELD, _MADE, _EDGES, _EDGES_BEFORE = range(4)
_FLOOR, _TOP = range(2)


class Options(NamedTuple):
    """What may stand for which source phrase, with weighted scores.

    - ``symbols``, ``first_child``, ``roots``: a trie of source phrases, see ``extraction.Trie``;
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
        slots=new_index(room, np.int64),
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
    """Fill ``nodes``."""
    for p in range(len(source)):
        low, high = np.int64(0), np.int64(options.roots)
        for k in range(longest):
            nodes[p, k] = -1
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
    for i in range(len(stacks.slots)):
        stacks.slots[i] = -1
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
    return probe(stacks.slots, stacks.keys, key, home(stacks.slots, key))


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
    for i in range(len(stacks.slots)):
        stacks.slots[i] = -1
    for i in range(kept):
        enter(stacks.slots, stacks.keys, i)
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
    held, first, kept = stacks.counts[_HELD], stacks.first[q], np.int64(0)
    heap.sort(stacks.best, stacks.order, held)
    least = stacks.bounds[_TOP] - limits.threshold
    while kept < held and kept < limits.beam and stacks.best[stacks.order[kept]] >= least:
        c, h = stacks.order[kept], first + kept
        stacks.states[h], stacks.scores[h] = stacks.keys[c], stacks.best[c]
        stacks.back[h], stacks.choice[h] = stacks.backs[c], stacks.choices[c]
        kept += 1
    stacks.first[q + 1] = first + kept
    if limits.n_best > 1:
        _settle_edges(stacks, first, kept)
    return stacks.counts[_EDGES]


@part(bare=True)
def _settle_edges(stacks, first, kept):
    """Candidates have become the hypotheses from ``first`` on, or have been dropped; so do their edges."""
    for number in range(stacks.counts[_MADE]):
        stacks.final_of[number] = -1
    for i in range(kept):
        stacks.final_of[stacks.numbers[stacks.order[i]]] = first + i
    at = stacks.counts[_EDGES_BEFORE]
    for e in range(at, stacks.counts[_EDGES]):
        into = stacks.final_of[np.int64(stacks.edges[0, e])]
        if into >= 0:
            stacks.edges[0, at], stacks.edges[1, at] = into, stacks.edges[1, e]
            stacks.edges[2, at], stacks.edges[3, at] = stacks.edges[2, e], stacks.edges[3, e]
            at += 1
    stacks.counts[_EDGES] = at


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
    """Which stack a hypothesis is in."""
    q = 0
    while hypothesis >= first[q + 1]:
        q += 1
    return q
