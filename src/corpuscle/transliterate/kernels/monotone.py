"""Monotone phrase decoding: the best, and the n best, ways to rewrite a sequence phrase by phrase from left to right.

``_forward`` fills the stacks of hypotheses. A rewriting is scored by its options, by a language model of the target, by
a joint model whose symbols are small pieces of source and target together, and by how well those pieces suit their
places in the source. A hypothesis covers the first q source symbols and ends in a state of each model, kept as one
number; nothing else matters for what follows, so hypotheses with the same q and states are recombined. All hypotheses
of a stack q cover the same symbols and can be compared as they are: the best ``beam`` of them are kept, and those
within ``threshold`` of the best. Stacks are filled from those before them, best hypotheses and options first; as the
models only take away (as long as their weights are not negative), a look at the sum of both ends the loop early.

The best rewriting is read by following back pointers; hypotheses and the edges between them are a lattice, which
``engine.phrase_decoding`` searches for the n best.

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding): stacks, recombination, histogram and threshold
pruning; without reordering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import Automaton, step
from corpuscle.engine.phrase_decoding import (
    NO_ROOM,
    Options,
    Stacks,
    begin,
    best_end,
    find_nodes,
    floor,
    new_stacks,
    offer,
    open_stack,
    search,
    settle,
    stack_of,
)
from corpuscle.transliterate.kernels import windows


class Models(NamedTuple):
    """The language model of the target, the joint model of pieces, and that of pieces at places, if any."""

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
    """Buffers for a sequence of at most N symbols.

    - ``stacks``: candidates, hypotheses and edges;
    - ``nodes``: int64 (N, longest), the trie node of the k + 1 symbols from p on, or -1; ``ranked``: int64, ``values``:
      float64 (N, longest, most options of a node), its options at this place, best first;
    - ``places``: float64 (N, pieces), the log probabilities of pieces at places; ``room``: buffers of their model;
    - ``endings``: float64 (beam,), what the end adds to each hypothesis of the last stack.
    """

    stacks: Stacks
    nodes: np.ndarray
    ranked: np.ndarray
    values: np.ndarray
    places: np.ndarray
    room: windows.Room
    endings: np.ndarray


class Problem(NamedTuple):
    """What is the same for all sequences."""

    options: Options
    models: Models
    limits: Limits


def _buffers(problem: Problem, longest: int, edges: int) -> Work:
    """Room for sequences of at most ``longest`` symbols, and for ``edges`` (none if one rewriting is wanted)."""
    options, models, limits = problem
    most = int(np.diff(options.first_option).max(initial=1))
    pieces = len(models.windows.starts) - 1 if len(models.windows.pieces) else 0
    return Work(
        stacks=new_stacks(limits.beam, longest, edges),
        nodes=np.empty((longest, limits.longest), np.int64),
        ranked=np.empty((longest, limits.longest, most), np.int64),
        values=np.empty((longest, limits.longest, most)),
        places=np.empty((longest, pieces)),
        room=windows.room(models.windows.radius, longest),
        endings=np.empty(limits.beam),
    )


@part(bare=True)
def _suits(options, models, option, p, n, places):
    """The log probability of the pieces of an option at the places from p on."""
    total = 0.0
    starts = models.windows.starts
    for i in range(options.piece_starts[option], options.piece_starts[option + 1]):
        piece = options.pieces[i]
        length = starts[piece + 1] - starts[piece]
        if length > 0 and p < n:
            total += places[p, piece]
            p += length
    return total


@part(bare=True)
def _rank(problem, source, work):
    """Fill ``ranked`` and ``values``: the options of every stretch, with scores that do not depend on the search."""
    options, models, limits = problem
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
                at = option - begin  # insertion: a node has a few dozen options at most
                while at > 0 and work.values[p, k, at - 1] < score:
                    work.values[p, k, at], work.ranked[p, k, at] = work.values[p, k, at - 1], work.ranked[p, k, at - 1]
                    at -= 1
                work.values[p, k, at], work.ranked[p, k, at] = score, option


@part(bare=True)
def _both(state, joint):
    """Two model states, each from -1 on, as one number; ``_first`` and ``_second`` take it apart."""
    return ((state + 1) << 32) | (joint + 1)


@part(bare=True)
def _first(both):
    return (both >> 32) - 1


@part(bare=True)
def _second(both):
    return (both & 4294967295) - 1


@part(bare=True)
def _read(models, options, option, both, score, limits, reach):
    """Read an option: the states after it, and its score. Stops when the score has fallen below ``reach``."""
    state, joint = _first(both), _second(both)
    if option < 0:  # no option of the table: -1 drops a symbol, below -1 it is copied as symbol -1 - option
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
            if score < reach:
                return both, score
    for i in range(options.target_starts[option], options.target_starts[option + 1]):
        state, logp = step(models.language, state, options.targets[i])
        score += limits.language * logp
        if score < reach:
            break
    return _both(state, joint), score


@part(bare=True)
def _forward(problem, source, copies, work):
    """Fill the stacks and ``endings``; returns the number of edges, kept if ``n_best`` > 1, or ``NO_ROOM``."""
    n, stacks = len(source), work.stacks
    options, models, limits = problem
    bounded = limits.language >= 0.0 and limits.joint >= 0.0
    find_nodes(options, source, limits.longest, work.nodes)
    _rank(problem, source, work)
    begin(stacks, _both(np.int64(limits.initial), np.int64(limits.joint_initial)), 0.0)
    n_edges = np.int64(0)
    for q in range(1, n + 1):
        open_stack(stacks)
        for p in range(max(0, q - limits.longest), q):
            k = q - p - 1
            node, count = work.nodes[p, k], np.int64(0)
            if node >= 0:
                count = options.first_option[node + 1] - options.first_option[node]
            unknown = count == 0
            if unknown:
                if k > 0:  # what the table does not cover is copied or dropped symbol by symbol
                    continue
                count = np.int64(1)
            for h in range(stacks.first[p], stacks.first[p + 1]):
                for o in range(count):
                    option = np.int64(-1 - copies[p]) if unknown else work.ranked[p, k, o]
                    score = stacks.scores[h] + (limits.unknown + limits.phrase if unknown else work.values[p, k, o])
                    if score < floor(stacks) and bounded:
                        break  # options are ranked: none of the others can do better
                    reach = floor(stacks) if bounded else -np.inf
                    state, score = _read(models, options, option, stacks.states[h], score, limits, reach)
                    if not score >= floor(stacks):
                        continue
                    if not offer(stacks, limits, state, score, h, option):
                        return NO_ROOM
        n_edges = settle(stacks, limits, q)
    for h in range(stacks.first[n], stacks.first[n + 1]):  # what the two n-gram models say to the end here
        score = limits.language * step(models.language, _first(stacks.states[h]), np.int32(limits.end))[1]
        if limits.joint != 0.0:
            score += limits.joint * step(models.joint, _second(stacks.states[h]), np.int32(limits.end))[1]
        work.endings[h - stacks.first[n]] = score
    return n_edges


_EDGES = 20_000  # the room at first
_MOST_POPS = 200_000  # limit of the partial paths that the search for the n best of one sequence looks at


class Derivations(NamedTuple):
    """The rewritings of many sequences, best first.

    - ``starts``: int64 (n_sequences + 1,), the rewritings of sequence i are ``starts[i]`` to ``starts[i + 1]``;
    - ``scores``: float64, the whole score; ``logs``: float64 (n_rewritings, k), its parts, here the log probabilities
      of the language model, of the joint model and of pieces at their places in it;
    - ``segment_starts``: int64 (n_rewritings + 1,), the phrases of a rewriting in ``segments``;
    - ``segments``: int32 (n_segments, k), option (or ``-1 - symbol`` for a copied symbol, -1 for a dropped one), then
      which source symbols, here their number.
    """

    starts: np.ndarray
    scores: np.ndarray
    logs: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray


class Sequences(NamedTuple):
    """What to rewrite: ``tokens`` int32, ``starts`` int64 (n_sequences + 1,); ``copies`` int32, like ``tokens``: the
    target symbol that stands for a source symbol the table does not cover, 0 to drop it."""

    tokens: np.ndarray
    starts: np.ndarray
    copies: np.ndarray


@part
def best_derivations(problem, work, n, n_edges):
    """The best derivations of a sequence of n symbols, best first: their steps, int64 (n_steps, 3), from which
    hypothesis to which by which option; where the steps of each begin; and their scores."""
    stacks, first, n_best = work.stacks, work.stacks.first, problem.limits.n_best
    steps, starts, scores = np.empty((n_best * n, 3), np.int64), np.zeros(n_best + 1, np.int64), np.empty(n_best)
    found, at = 0, 0
    if n > 0 and first[n] < first[n + 1] and n_best == 1:
        last, scores[0] = best_end(stacks, work.endings, n)
        while last > 0:  # along the back pointers, from the end
            steps[at, 0], steps[at, 1], steps[at, 2] = stacks.back[last], last, stacks.choice[last]
            at, last = at + 1, stacks.back[last]
        steps[:at] = steps[:at][::-1].copy()
        found, starts[1] = 1, at
    elif n > 0 and first[n] < first[n + 1]:
        ranked, items, done = search(
            problem.options, problem.limits, first[: n + 2], work.endings, stacks.scores, stacks.edges[:, :n_edges],
            _MOST_POPS,
        )  # fmt: skip
        for item in done:
            scores[found] = items.after[item] + stacks.scores[0]
            follower = item
            while items.edges[follower] >= 0:
                edge = items.edges[follower]
                steps[at, 0], steps[at, 1], steps[at, 2] = ranked[1, edge], ranked[0, edge], ranked[2, edge]
                at, follower = at + 1, items.following[follower]
            found += 1
            starts[found] = at
    return steps, starts, scores[:found]


@part(bare=True)
def _write(problem, work, n, score, steps, row, out):
    """Write a rewriting of n symbols: its score, its log probabilities and its segments."""
    options, models, limits = problem
    first, begin = work.stacks.first, out.segment_starts[row]
    out.segment_starts[row + 1], out.scores[row] = begin + len(steps), score
    state, total = np.int64(limits.initial), 0.0
    joint, joint_total = np.int64(limits.joint_initial), 0.0
    p, suits = np.int64(0), 0.0
    for s in range(len(steps)):
        option, length = steps[s, 2], stack_of(first, steps[s, 1]) - stack_of(first, steps[s, 0])
        out.segments[begin + s, 0], out.segments[begin + s, 1] = option, length
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
            if work.places.shape[1] > 0:
                suits += _suits(options, models, option, p, n, work.places)
        p += length
    out.logs[row, 0] = total + step(models.language, state, np.int32(limits.end))[1]
    out.logs[row, 1] = joint_total + step(models.joint, joint, np.int32(limits.end))[1]
    out.logs[row, 2] = suits


@kernel
def _decode(problem, names, name, work, out):
    """Write the best rewritings of the sequences from ``name`` on after those before it, which are there; returns the
    sequence before which there was no room for edges, or how many there are."""
    row = out.starts[name]
    while name < len(names.starts) - 1:
        a, b = names.starts[name], names.starts[name + 1]
        n_edges = _forward(problem, names.tokens[a:b], names.copies[a:b], work)
        if n_edges == NO_ROOM:
            break
        steps, starts, scores = best_derivations(problem, work, b - a, n_edges)
        for k in range(len(scores)):
            _write(problem, work, b - a, scores[k], steps[starts[k] : starts[k + 1]], row, out)
            row += 1
        name += 1
        out.starts[name] = row
    return name


def decoded(
    sequences: Sequences, problem: Any, logs: int, columns: int, run: Callable[..., int], buffers: Callable[..., Any],
    edges: int,
) -> Derivations:  # fmt: skip
    """The best derivations of some sequences; ``logs``, ``columns``: the numbers of logs and of columns of segments.

    ``run``: a kernel that stops before the first sequence whose lattice has no room; it goes on there with four times
    as much, at first with room for ``edges`` edges.
    """
    types = np.int32, np.int64, np.int32
    sequences = Sequences(*(frozen(each, dtype) for each, dtype in zip(sequences, types, strict=True)))
    n_best, count = problem.limits.n_best, len(sequences.starts) - 1
    rows, segments = n_best * count, n_best * len(sequences.tokens)
    longest = int(np.diff(sequences.starts).max(initial=0))
    starts, segment_starts = np.zeros(count + 1, np.int64), np.zeros(rows + 1, np.int64)
    room = np.empty((rows, logs)), segment_starts, np.empty((segments, columns), np.int32)
    out, at, edges = Derivations(starts, np.empty(rows), *room), 0, edges if n_best > 1 else 0
    while at < count:
        at = run(problem, sequences, at, buffers(problem, longest, edges), out)
        edges *= 4
    rows = int(starts[-1])
    parts = out.logs[:rows], segment_starts[: rows + 1], out.segments[: int(segment_starts[rows])]
    return Derivations(starts, out.scores[:rows], *parts)


def decode(names: Sequences, problem: Problem) -> Derivations:
    """The best rewritings of some sequences."""
    return decoded(names, problem, 3, 2, _decode, _buffers, _EDGES)
