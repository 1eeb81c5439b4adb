"""The stacks of a monotone phrase decoder: the forward pass, from which the best rewritings are read.

A rewriting is scored by its options, by a language model of the target, by a joint model of both sides, whose symbols
are small pieces of source and target together, and by how well those pieces suit their places in the source. A
hypothesis covers the first q source symbols and ends in a state of each model (kept as one number); what can follow
depends on nothing else, so hypotheses with the same q and states are recombined: the best one stands for all, the
others are kept as edges into it. All hypotheses of a stack q cover the same symbols and can be compared as they are, so
the best ``beam`` of them are kept, and those within ``threshold`` of the best. Stacks are filled from those before
them, best hypotheses and options first, so that a look at the sum of both ends the loop early: the models only take
away (as long as their weights are not negative).

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding): stacks, recombination, histogram and threshold
pruning; without reordering.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel_bare, kernel_inline
from corpuscle.engine.containers import heap
from corpuscle.engine.containers.hashtable import enter, home, new_index, probe
from corpuscle.engine.ngrams.trie import Automaton, find, step
from corpuscle.transliterate.kernels import windows

NO_ROOM = -1
"""What ``forward`` returns if there are more edges than room for them."""


class Options(NamedTuple):
    """What may stand for which source phrase, with weighted scores.

    - ``symbols``, ``first_child``, ``roots``: a trie of source phrases, see ``phrases.Trie``;
    - ``first_option``: int64 (nodes + 1,), the options of node n are ``first_option[n]`` to ``first_option[n + 1]``;
    - ``scores``: float64 (options,); ``target_starts``: int64 (options + 1,) into ``targets``, int32;
    - ``piece_starts``: int64 (options + 1,) into ``pieces``, int32: the option as pieces of both sides.
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


class Models(NamedTuple):
    """The language model of the target, the joint model of pieces, and the model of pieces at their places (which has
    nothing to say if it has no pieces)."""

    language: Automaton
    joint: Automaton
    windows: windows.Windows


class Limits(NamedTuple):
    """How the search goes.

    - ``beam``, ``threshold``: how many hypotheses a stack keeps, and how much worse than its best;
    - ``longest``: symbols of the longest source phrase; ``n_best``: how many rewritings;
    - ``distinct``: different outputs only; otherwise also different ways to the same output;
    - ``language``, ``joint``, ``context``: the weights of the three models; ``phrase``: what each phrase adds;
      ``unknown``: the score of copying or dropping a symbol that the table does not cover;
    - ``initial``, ``joint_initial``: the first states of the two models; ``end``: their symbol for the end.
    """

    beam: int
    threshold: float
    longest: int
    n_best: int
    distinct: bool
    language: float
    joint: float
    context: float
    phrase: float
    unknown: float
    initial: int
    joint_initial: int
    end: int


class Work(NamedTuple):
    """Where a sequence of at most N symbols is worked on.

    - ``slots``: int64, by which ``hashtable`` finds candidates by their states; of 2 beam candidates ``keys``: int64,
      their states, ``best``: float64, ``backs``, ``choices``, ``numbers``, ``order``: int64;
    - ``nodes``: int64 (N, longest), the trie node of the k + 1 symbols from p on, or -1; ``ranked``: int64, ``values``:
      float64 (N, longest, most options of a node), its options at this place, best first;
    - ``first``: int64 (N + 2,), where each stack's hypotheses begin; ``states``, ``back``, ``choice``: int64,
      ``scores``: float64 (N beam + 1,), the hypotheses, stack by stack, best first;
    - ``edges``: float64 (4, room): into which hypothesis, from which, option, score through it; ``final_of``: int64
      (room,);
    - ``places``: float64 (N, pieces), what the model of places says; ``room``: where it works.
    """

    slots: np.ndarray
    keys: np.ndarray
    best: np.ndarray
    backs: np.ndarray
    choices: np.ndarray
    numbers: np.ndarray
    order: np.ndarray
    nodes: np.ndarray
    ranked: np.ndarray
    values: np.ndarray
    first: np.ndarray
    states: np.ndarray
    scores: np.ndarray
    back: np.ndarray
    choice: np.ndarray
    edges: np.ndarray
    final_of: np.ndarray
    places: np.ndarray
    room: windows.Room


def buffers(options: Options, models: Models, limits: Limits, longest: int, edges: int) -> Work:
    """Room for sequences of at most ``longest`` symbols, and for ``edges`` (none if one rewriting is wanted)."""
    room, hypotheses = 2 * limits.beam, longest * limits.beam + 1
    most = int(np.diff(options.first_option).max(initial=1))
    pieces = len(models.windows.starts) - 1 if len(models.windows.pieces) else 0
    return Work(
        slots=new_index(room, np.int64),
        keys=np.empty(room, np.int64),
        best=np.empty(room),
        backs=np.empty(room, np.int64),
        choices=np.empty(room, np.int64),
        numbers=np.empty(room, np.int64),
        order=np.empty(room, np.int64),
        nodes=np.empty((longest, limits.longest), np.int64),
        ranked=np.empty((longest, limits.longest, most), np.int64),
        values=np.empty((longest, limits.longest, most)),
        first=np.empty(longest + 2, np.int64),
        states=np.empty(hypotheses, np.int64),
        scores=np.empty(hypotheses),
        back=np.empty(hypotheses, np.int64),
        choice=np.empty(hypotheses, np.int64),
        edges=np.empty((4, edges)),
        final_of=np.empty(edges, np.int64),
        places=np.empty((longest, pieces)),
        room=windows.room(models.windows.radius, longest),
    )


@kernel_bare
def _find_nodes(options, source, longest, nodes):
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


@kernel_bare
def _suits(options, models, option, p, n, places):
    """How well the pieces of an option suit the places from p on: a sum of log probabilities."""
    total = 0.0
    starts = models.windows.starts
    for i in range(options.piece_starts[option], options.piece_starts[option + 1]):
        piece = options.pieces[i]
        length = starts[piece + 1] - starts[piece]
        if length > 0 and p < n:
            total += places[p, piece]
            p += length
    return total


@kernel_bare
def _rank(options, models, source, limits, work):
    """Fill ``ranked`` and ``values``: the options of every stretch with all that can be said before searching."""
    judged = len(models.windows.pieces) > 0
    if judged:
        windows.judge(models.windows, source, work.room, work.places)
    for p in range(len(source)):
        for k in range(limits.longest):
            node = work.nodes[p, k]
            if node < 0:
                continue
            begin = options.first_option[node]
            for option in range(begin, options.first_option[node + 1]):
                score = options.scores[option] + limits.phrase
                if judged:
                    score += limits.context * _suits(options, models, option, p, len(source), work.places)
                at = option - begin
                while at > 0 and work.values[p, k, at - 1] < score:
                    work.values[p, k, at], work.ranked[p, k, at] = work.values[p, k, at - 1], work.ranked[p, k, at - 1]
                    at -= 1
                work.values[p, k, at], work.ranked[p, k, at] = score, option


@kernel_inline
def _slot(work, state):
    """Where the candidate with a state is, or belongs, in the hash table of candidates."""
    key = np.uint64(state)
    return probe(work.slots, work.keys, key, home(work.slots, key))


@kernel_bare
def _both(state, joint):
    """Two model states as one number; ``_first`` and ``_second`` take it apart."""
    return ((state + 1) << 32) | (joint + 1)


@kernel_bare
def _first(both):
    return (both >> 32) - 1


@kernel_bare
def _second(both):
    return (both & 4294967295) - 1


@kernel_bare
def _read(models, options, option, both, score, limits, floor):
    """Read an option: the states after it, and its score. Stops when the score has fallen below ``floor``."""
    state, joint = _first(both), _second(both)
    if option < 0:
        if option < -1:
            state, logp = step(models.language, state, np.int32(-1 - option))
            score += limits.language * logp
        if limits.joint != 0.0:
            joint, logp = step(models.joint, joint, np.int32(0))
            score += limits.joint * logp
        return _both(state, joint), score
    if limits.joint != 0.0:
        for i in range(options.piece_starts[option], options.piece_starts[option + 1]):
            joint, logp = step(models.joint, joint, options.pieces[i])
            score += limits.joint * logp
            if score < floor:
                return both, score
    for i in range(options.target_starts[option], options.target_starts[option + 1]):
        state, logp = step(models.language, state, options.targets[i])
        score += limits.language * logp
        if score < floor:
            break
    return _both(state, joint), score


@kernel_bare
def ending(models, both, limits):
    """What the two n-gram models say to the end here, weighted."""
    score = limits.language * step(models.language, _first(both), np.int32(limits.end))[1]
    if limits.joint != 0.0:
        score += limits.joint * step(models.joint, _second(both), np.int32(limits.end))[1]
    return score


@kernel_bare
def _halve(work, beam, held):
    """Keep the ``beam`` best candidates, in their order, and find them again in the hash table; returns their number
    and the score of the last."""
    heap.sort(work.best, work.order, held)
    last, kept = work.order[beam - 1], 0
    floor = work.best[last]
    for i in range(held):
        if work.best[i] > floor or (work.best[i] == floor and i <= last):
            work.keys[kept], work.best[kept], work.backs[kept] = work.keys[i], work.best[i], work.backs[i]
            work.choices[kept], work.numbers[kept] = work.choices[i], work.numbers[i]
            kept += 1
    for i in range(len(work.slots)):
        work.slots[i] = -1
    for i in range(kept):
        enter(work.slots, work.keys, i)
    return kept, floor


@kernel_bare
def _settle(work, limits, q, held, top):
    """The best candidates become the hypotheses of stack q; returns how many."""
    heap.sort(work.best, work.order, held)
    kept, first = 0, work.first[q]
    while kept < held and kept < limits.beam and work.best[work.order[kept]] >= top - limits.threshold:
        c, h = work.order[kept], first + kept
        work.states[h], work.scores[h] = work.keys[c], work.best[c]
        work.back[h], work.choice[h] = work.backs[c], work.choices[c]
        kept += 1
    work.first[q + 1] = first + kept
    return kept


@kernel_bare
def _settle_edges(work, q, kept, made, begin, end):
    """Candidates have become hypotheses, or have been dropped with their edges; returns where edges end now."""
    for number in range(made):
        work.final_of[number] = -1
    for i in range(kept):
        work.final_of[work.numbers[work.order[i]]] = work.first[q] + i
    at = begin
    for e in range(begin, end):
        into = work.final_of[np.int64(work.edges[0, e])]
        if into >= 0:
            work.edges[0, at], work.edges[1, at] = into, work.edges[1, e]
            work.edges[2, at], work.edges[3, at] = work.edges[2, e], work.edges[3, e]
            at += 1
    return at


@kernel_bare
def forward(options, models, source, copies, limits, work):
    """Fill the stacks. Edges are kept only if more than one rewriting is wanted; returns how many, or ``NO_ROOM``."""
    n, beam = len(source), limits.beam
    bounded = limits.language >= 0.0 and limits.joint >= 0.0
    keep_edges = limits.n_best > 1
    _find_nodes(options, source, limits.longest, work.nodes)
    _rank(options, models, source, limits, work)
    work.states[0], work.scores[0] = _both(np.int64(limits.initial), np.int64(limits.joint_initial)), 0.0
    work.back[0], work.choice[0] = -1, -1
    work.first[0], work.first[1] = 0, 1
    n_edges = np.int64(0)
    for q in range(1, n + 1):
        for i in range(len(work.slots)):
            work.slots[i] = -1
        held, made, floor, top = np.int64(0), np.int64(0), -np.inf, -np.inf
        edges_before = n_edges
        for p in range(max(0, q - limits.longest), q):
            k = q - p - 1
            node, count = work.nodes[p, k], np.int64(0)
            if node >= 0:
                count = options.first_option[node + 1] - options.first_option[node]
            unknown = count == 0
            if unknown:
                if k > 0:
                    continue
                count = np.int64(1)
            for h in range(work.first[p], work.first[p + 1]):
                for o in range(count):
                    option = np.int64(-1 - copies[p]) if unknown else work.ranked[p, k, o]
                    score = work.scores[h] + (limits.unknown + limits.phrase if unknown else work.values[p, k, o])
                    if score < floor and bounded:
                        break
                    reach = floor if bounded else -np.inf
                    state, score = _read(models, options, option, work.states[h], score, limits, reach)
                    if not score >= floor:
                        continue
                    slot = _slot(work, state)
                    candidate = work.slots[slot]
                    if candidate < 0:
                        if held == len(work.keys):
                            # From now on a candidate must be at least as good as the last of the better half.
                            held, least = _halve(work, beam, held)
                            floor = max(floor, least)
                            if score < floor:
                                continue
                            slot = _slot(work, state)
                        candidate = held
                        work.slots[slot] = candidate
                        work.keys[candidate], work.best[candidate], work.numbers[candidate] = state, score, made
                        work.backs[candidate], work.choices[candidate] = h, option
                        held += 1
                        made += 1
                    elif score > work.best[candidate]:
                        work.best[candidate], work.backs[candidate], work.choices[candidate] = score, h, option
                    if score > top:
                        top = score
                        floor = max(floor, top - limits.threshold)
                    if keep_edges:
                        if n_edges == work.edges.shape[1]:
                            return NO_ROOM
                        work.edges[0, n_edges], work.edges[1, n_edges] = work.numbers[candidate], h
                        work.edges[2, n_edges], work.edges[3, n_edges] = option, score
                        n_edges += 1
        kept = _settle(work, limits, q, held, top)
        if keep_edges:
            n_edges = _settle_edges(work, q, kept, made, edges_before, n_edges)
    return n_edges


@kernel_bare
def reread(options, models, limits, n, segments, first, last, places):
    """The log probabilities of a whole rewriting of n symbols, ``segments[first..last-1]``: language, joint, places."""
    state, total = np.int64(limits.initial), 0.0
    joint, joint_total = np.int64(limits.joint_initial), 0.0
    p, suits = np.int64(0), 0.0
    for s in range(first, last):
        option = segments[s, 0]
        if option < -1:
            state, logp = step(models.language, state, np.int32(-1 - option))
            total += logp
        if option < 0:
            joint, logp = step(models.joint, joint, np.int32(0))
            joint_total += logp
        else:
            for i in range(options.target_starts[option], options.target_starts[option + 1]):
                state, logp = step(models.language, state, options.targets[i])
                total += logp
            for i in range(options.piece_starts[option], options.piece_starts[option + 1]):
                joint, logp = step(models.joint, joint, options.pieces[i])
                joint_total += logp
            if places.shape[1] > 0:
                suits += _suits(options, models, np.int64(option), p, n, places)
        p += segments[s, 1]
    total += step(models.language, state, np.int32(limits.end))[1]
    return total, joint_total + step(models.joint, joint, np.int32(limits.end))[1], suits
