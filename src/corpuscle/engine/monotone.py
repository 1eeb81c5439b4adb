"""Monotone phrase decoding: the best, and the n best, ways to rewrite a sequence phrase by phrase from left to right.

A rewriting is scored by its options, by a language model of the target, and by a joint model of both sides, whose
symbols are small pieces of source and target together. A hypothesis covers the first q source symbols and ends in a
state of each model (kept as one number); what can follow depends on nothing else, so hypotheses with the same q and
states are recombined: the best one stands for all, the others are kept as edges into it. All hypotheses of a stack q
cover the same symbols and can be compared as they are, so the best ``beam`` of them are kept, and those within
``threshold`` of the best. Stacks are filled from those before them, best hypotheses and options first, so that a look
at the sum of both ends the loop early: the models only take away (as long as their weights are not negative).
Hypotheses and edges are a lattice, from which ``corpuscle.engine.nbest`` takes the n best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.nbest import doubled, search
from corpuscle.engine.ngrams import Automaton, find, step

__all__ = ["Derivations", "Limits", "Options", "decode"]


class Options(NamedTuple):
    """What may stand for which source phrase, with weighted scores.

    - ``symbols``, ``first_child``, ``roots``: a trie of source phrases, see ``corpuscle.engine.phrases.Trie``;
    - ``first_option``: int64 (nodes + 1,), the options of node n are ``first_option[n]`` to ``first_option[n + 1]``,
      best first;
    - ``scores``: float64 (options,); ``target_starts``: int64 (options + 1,) into ``targets``, int32;
    - ``unit_starts``: int64 (options + 1,) into ``units``, int32: the option as symbols of a model of both sides.
    """

    symbols: np.ndarray
    first_child: np.ndarray
    roots: int
    first_option: np.ndarray
    scores: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    unit_starts: np.ndarray
    units: np.ndarray


class Limits(NamedTuple):
    """How the search goes.

    - ``beam``, ``threshold``: how many hypotheses a stack keeps, and how much worse than its best;
    - ``longest``: symbols of the longest source phrase; ``n_best``: how many rewritings;
    - ``distinct``: different outputs only; otherwise also different ways to the same output;
    - ``language``, ``joint``: the weights of the two models; ``phrase``: what each phrase adds; ``unknown``: the score
      of copying or dropping a symbol that the table does not cover;
    - ``initial``, ``joint_initial``: the models' first states; ``end``: their symbol for the end.
    """

    beam: int
    threshold: float
    longest: int
    n_best: int
    distinct: bool
    language: float
    joint: float
    phrase: float
    unknown: float
    initial: int
    joint_initial: int
    end: int


class Derivations(NamedTuple):
    """The rewritings of many sequences, best first.

    - ``starts``: int64 (n_sequences + 1,), the rewritings of sequence i are ``starts[i]`` to ``starts[i + 1]``;
    - ``scores``, ``language``, ``joint``: float64, the whole score, and the log probabilities of the two models in it;
    - ``segment_starts``: int64 (n_rewritings + 1,), the phrases of a rewriting in ``segments``;
    - ``segments``: int32 (n_segments, 2), option (or ``-1 - symbol`` for a copied symbol, -1 for a dropped one) and
      number of source symbols.
    """

    starts: np.ndarray
    scores: np.ndarray
    language: np.ndarray
    joint: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray


# ---- the forward pass


@kernel
def _slot(slots, keys, state):
    """Where a state is, or belongs, in a hash table of candidate numbers; ``keys`` has the candidates' states."""
    mask = len(slots) - 1
    slot = np.int64((np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & mask
    while slots[slot] >= 0 and keys[slots[slot]] != state:
        slot = (slot + 1) & mask
    return slot


@kernel
def _nodes_of(options, source, longest, nodes):
    """The trie node of every source stretch: ``nodes[p, k]`` is that of the k + 1 symbols from p on, or -1."""
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


@kernel
def _both(state, joint):
    """Two model states as one number; ``_first`` and ``_second`` take it apart."""
    return ((state + 1) << 32) | (joint + 1)


@kernel
def _first(both):
    return (both >> 32) - 1


@kernel
def _second(both):
    return (both & 4294967295) - 1


@kernel
def _read(models, options, option, both, score, limits, floor):
    """Read an option: the states after it, and its score. Stops when the score has fallen below ``floor``."""
    state, joint = _first(both), _second(both)
    language, pieces = models
    if option < 0:
        if option < -1:
            state, logp = step(language, state, np.int32(-1 - option))
            score += limits.language * logp
        if limits.joint != 0.0:
            joint, logp = step(pieces, joint, np.int32(0))
            score += limits.joint * logp
        return _both(state, joint), score
    if limits.joint != 0.0:
        for i in range(options.unit_starts[option], options.unit_starts[option + 1]):
            joint, logp = step(pieces, joint, options.units[i])
            score += limits.joint * logp
            if score < floor:
                return both, score
    for i in range(options.target_starts[option], options.target_starts[option + 1]):
        state, logp = step(language, state, options.targets[i])
        score += limits.language * logp
        if score < floor:
            break
    return _both(state, joint), score


@kernel
def _end(models, both, limits):
    """What the two models say to the end here, weighted."""
    score = limits.language * step(models[0], _first(both), np.int32(limits.end))[1]
    if limits.joint != 0.0:
        score += limits.joint * step(models[1], _second(both), np.int32(limits.end))[1]
    return score


@kernel
def _forward(options, models, source, copies, limits, work):
    """Fill the stacks; returns the lattice.

    Hypotheses are numbered stack by stack, best first. ``work`` is a tuple of buffers of ``2 * beam`` candidates and a
    hash table for them. Edges are kept only if more than one rewriting is wanted.
    """
    n, beam = len(source), limits.beam
    bounded = limits.language >= 0.0 and limits.joint >= 0.0
    slots, keys, best, backs, choices, numbers = work
    room = len(keys)
    nodes = np.empty((n, limits.longest), np.int64)
    _nodes_of(options, source, limits.longest, nodes)
    first = np.zeros(n + 2, np.int64)  # where each stack's hypotheses begin
    states, scores = np.empty(4 * beam, np.int64), np.empty(4 * beam)
    back, choice = np.empty(4 * beam, np.int64), np.empty(4 * beam, np.int64)
    keep_edges = limits.n_best > 1
    edges = np.empty((4, 64))  # into hypothesis, from hypothesis, option, score through it
    n_edges = 0
    states[0], scores[0], back[0], choice[0] = _both(limits.initial, limits.joint_initial), 0.0, -1, -1
    first[1] = 1
    final_of = np.empty(64, np.int64)
    for q in range(1, n + 1):
        slots[:] = -1
        held, made, floor, top = 0, 0, -np.inf, -np.inf
        edges_before = n_edges
        for p in range(max(0, q - limits.longest), q):
            node = nodes[p, q - p - 1]
            begin, end = np.int64(0), np.int64(0)
            if node >= 0:
                begin, end = options.first_option[node], options.first_option[node + 1]
            unknown = begin == end
            if unknown:
                if q - p > 1:
                    continue
                end = begin + 1
            for h in range(first[p], first[p + 1]):
                for o in range(begin, end):
                    option = np.int64(-1 - copies[p]) if unknown else o
                    score = scores[h] + limits.phrase + (limits.unknown if unknown else options.scores[o])
                    if score < floor and bounded:
                        break
                    reach = floor if bounded else -np.inf
                    state, score = _read(models, options, option, states[h], score, limits, reach)
                    if not score >= floor:
                        continue
                    slot = _slot(slots, keys, state)
                    candidate = slots[slot]
                    if candidate < 0:
                        if held == room:
                            # Keep the better half; from now on a candidate must be at least as good as the last of it.
                            ranking = np.argsort(-best[:held], kind="mergesort")[:beam]
                            ranking.sort()
                            for i in range(beam):
                                keys[i], best[i] = keys[ranking[i]], best[ranking[i]]
                                backs[i], choices[i], numbers[i] = (
                                    backs[ranking[i]],
                                    choices[ranking[i]],
                                    numbers[ranking[i]],
                                )
                            held = beam
                            floor = max(floor, best[:held].min())
                            slots[:] = -1
                            for i in range(held):
                                slots[_slot(slots, keys, keys[i])] = i
                            if score < floor:
                                continue
                            slot = _slot(slots, keys, state)
                        candidate = held
                        slots[slot] = candidate
                        keys[candidate], best[candidate], numbers[candidate] = state, score, made
                        backs[candidate], choices[candidate] = h, option
                        held += 1
                        made += 1
                    elif score > best[candidate]:
                        best[candidate], backs[candidate], choices[candidate] = score, h, option
                    if score > top:
                        top = score
                        floor = max(floor, top - limits.threshold)
                    if keep_edges:
                        if n_edges == edges.shape[1]:
                            bigger = np.empty((4, 2 * n_edges))
                            bigger[:, :n_edges] = edges
                            edges = bigger
                        edges[0, n_edges], edges[1, n_edges] = numbers[candidate], h
                        edges[2, n_edges], edges[3, n_edges] = option, score
                        n_edges += 1
        ranking = np.argsort(-best[:held], kind="mergesort")
        kept = 0
        while kept < held and kept < beam and best[ranking[kept]] >= top - limits.threshold:
            kept += 1
        while first[q] + kept > len(states):
            states, scores, back, choice = doubled(states), doubled(scores), doubled(back), doubled(choice)
        for i in range(kept):
            c, h = ranking[i], first[q] + i
            states[h], scores[h], back[h], choice[h] = keys[c], best[c], backs[c], choices[c]
        first[q + 1] = first[q] + kept
        if keep_edges:
            # Candidates have become hypotheses, or have been dropped with their edges.
            while len(final_of) < made:
                final_of = doubled(final_of)
            final_of[:made] = -1
            for i in range(kept):
                final_of[numbers[ranking[i]]] = first[q] + i
            at = edges_before
            for e in range(edges_before, n_edges):
                into = final_of[np.int64(edges[0, e])]
                if into >= 0:
                    edges[0, at], edges[1, at], edges[2, at], edges[3, at] = into, edges[1, e], edges[2, e], edges[3, e]
                    at += 1
            n_edges = at
    return first, states, scores, back, choice, edges[:, :n_edges]


# ---- the best rewritings


@kernel
def _position(first, hypothesis):
    """Which stack a hypothesis is in."""
    q = 0
    while hypothesis >= first[q + 1]:
        q += 1
    return q


@kernel
def _reread(options, models, limits, segments):
    """The log probabilities of a whole rewriting: language model, joint model."""
    language, pieces = models
    state, total = np.int64(limits.initial), 0.0
    joint, joint_total = np.int64(limits.joint_initial), 0.0
    for s in range(len(segments)):
        option = segments[s, 0]
        if option < -1:
            state, logp = step(language, state, np.int32(-1 - option))
            total += logp
        if option < 0:
            joint, logp = step(pieces, joint, np.int32(0))
            joint_total += logp
        else:
            for i in range(options.target_starts[option], options.target_starts[option + 1]):
                state, logp = step(language, state, options.targets[i])
                total += logp
            for i in range(options.unit_starts[option], options.unit_starts[option + 1]):
                joint, logp = step(pieces, joint, options.units[i])
                joint_total += logp
    total += step(language, state, np.int32(limits.end))[1]
    return total, joint_total + step(pieces, joint, np.int32(limits.end))[1]


@kernel
def _decode(options, models, limits, tokens, starts, copies, first_name, last_name, most_pops, out):
    """Decode the sequences first_name..last_name-1; returns how many rewritings and segments were written."""
    room = 2 * limits.beam
    size = 16
    while size < 4 * limits.beam:
        size *= 2
    work = (np.empty(size, np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64),
            np.empty(room, np.int64), np.empty(room, np.int64))  # fmt: skip
    rows = np.int64(0)
    at = np.int64(0)
    for name in range(first_name, last_name):
        source, own = tokens[starts[name] : starts[name + 1]], copies[starts[name] : starts[name + 1]]
        n = len(source)
        first, states, scores, back, choice, edges = _forward(options, models, source, own, limits, work)
        if first[n] == first[n + 1] or n == 0:
            out.starts[name - first_name + 1] = rows
            continue
        if limits.n_best == 1:
            best, top = -1, -np.inf
            for h in range(first[n], first[n + 1]):
                score = scores[h] + _end(models, states[h], limits)
                if best < 0 or score > top:
                    best, top = h, score
            count, last = 0, best
            while last > 0:
                count += 1
                last = back[last]
            last, q = best, n
            for s in range(at + count - 1, at - 1, -1):
                p = _position(first, back[last])
                out.segments[s, 0], out.segments[s, 1] = choice[last], q - p
                last, q = back[last], p
            out.segment_starts[rows + 1] = at + count
            out.scores[rows] = top
            out.language[rows], out.joint[rows] = _reread(
                options, models, limits, out.segments[at : at + count]
            )
            at += count
            rows += 1
        else:
            endings = np.empty(first[n + 1] - first[n])
            for h in range(first[n], first[n + 1]):
                endings[h - first[n]] = _end(models, states[h], limits)
            ranked, edge_of, next_of, after, done = search(options, limits, first, endings, scores, edges, most_pops)
            for item in done:
                begin, step_item, p = at, item, 0
                while edge_of[step_item] >= 0:
                    edge = edge_of[step_item]
                    q = _position(first, np.int64(ranked[0, edge]))
                    out.segments[at, 0], out.segments[at, 1] = np.int64(ranked[2, edge]), q - p
                    p = q
                    at += 1
                    step_item = next_of[step_item]
                out.segment_starts[rows + 1] = at
                out.scores[rows] = after[item]
                out.language[rows], out.joint[rows] = _reread(options, models, limits, out.segments[begin:at])
                rows += 1
        out.starts[name - first_name + 1] = rows
    return rows, at


def decode(
    options: Options,
    models: tuple[Automaton, Automaton],
    limits: Limits,
    tokens: np.ndarray,
    starts: np.ndarray,
    copies: np.ndarray,
    first: int,
    last: int,
    most_pops: int = 200_000,
) -> Derivations:
    """Rewrite the sequences first..last-1 of ``tokens`` (int32, CSR ``starts``); ``models`` are that of the target and
    that of both sides.

    ``copies``, int32 like ``tokens``, is the target symbol that stands for a source symbol the table does not cover, 0
    to drop it. At most ``most_pops`` partial paths of the lattice are looked at for the n best of one sequence.
    """
    symbols = int(starts[last] - starts[first])
    rows = limits.n_best * (last - first)
    out = Derivations(
        np.zeros(last - first + 1, np.int64),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows),
        np.zeros(rows + 1, np.int64),
        np.empty((limits.n_best * symbols, 2), np.int32),
    )
    n_rows, n_segments = _decode(
        options,
        models,
        limits,
        frozen(tokens, np.int32),
        frozen(starts, np.int64),
        frozen(copies, np.int32),
        first,
        last,
        most_pops,
        out,
    )
    return Derivations(
        out.starts,
        out.scores[:n_rows],
        out.language[:n_rows],
        out.joint[:n_rows],
        out.segment_starts[: n_rows + 1],
        out.segments[:n_segments],
    )
