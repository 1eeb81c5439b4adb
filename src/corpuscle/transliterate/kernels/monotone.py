"""Monotone phrase decoding: the best, and the n best, ways to rewrite a sequence phrase by phrase from left to right.

``forward`` fills stacks of hypotheses. The best rewriting is read from them by following back pointers;
hypotheses and the edges between them are a lattice, from which ``engine.dp.nbest`` takes the n best.

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding), without reordering.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.phrase_decoding import NO_ROOM, Options, best_end, search, stack_of
from corpuscle.transliterate.kernels.forward import Limits, Models, buffers, forward, reread

_EDGES = 20_000  # room in the beginning
_MOST_POPS = 200_000  # so many partial paths of the lattice are looked at for the n best of one sequence


class Derivations(NamedTuple):
    """The rewritings of many sequences, best first.

    - ``starts``: int64 (n_sequences + 1,), the rewritings of sequence i are ``starts[i]`` to ``starts[i + 1]``;
    - ``scores``: float64, the whole score; ``logs``: float64 (n_rewritings, 3), the log probabilities of the language
      model, of the joint model and of pieces at their places in it;
    - ``segment_starts``: int64 (n_rewritings + 1,), the phrases of a rewriting in ``segments``;
    - ``segments``: int32 (n_segments, 2), option (or ``-1 - symbol`` for a copied symbol, -1 for a dropped one) and
      number of source symbols.
    """

    starts: np.ndarray
    scores: np.ndarray
    logs: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray


class Names(NamedTuple):
    """Sequences to rewrite: ``tokens`` int32, ``starts`` int64 (n_sequences + 1,); ``copies`` int32, like ``tokens``:
    the target symbol that stands for a source symbol the table does not cover, 0 to drop it."""

    tokens: np.ndarray
    starts: np.ndarray
    copies: np.ndarray


class Problem(NamedTuple):
    """What is the same for all sequences."""

    options: Options
    models: Models
    limits: Limits


@part(bare=True)
def _write(options, models, limits, n, score, row, begin, end, work, out):
    """Write what is said about a rewriting whose segments have been written."""
    out.segment_starts[row + 1] = end
    out.scores[row] = score
    language, joint, places = reread(options, models, limits, n, out.segments, begin, end, work.places)
    out.logs[row, 0], out.logs[row, 1], out.logs[row, 2] = language, joint, places


@kernel(bare=True)
def _best(options, models, limits, names, work, out):
    """Write the best rewriting of every sequence."""
    rows, at = np.int64(0), np.int64(0)
    for name in range(len(names.starts) - 1):
        begin, end = names.starts[name], names.starts[name + 1]
        n = end - begin
        forward(options, models, names.tokens[begin:end], names.copies[begin:end], limits, work)
        best, top = best_end(work.stacks, work.endings, n)
        if n > 0 and best >= 0:
            begin, last = at, best
            while last > 0:  # once along the back pointers to count the phrases, once to write them from the end
                at += 1
                last = work.stacks.back[last]
            last, q = best, n
            for s in range(at - 1, begin - 1, -1):
                p = stack_of(work.stacks.first, work.stacks.back[last])
                out.segments[s, 0], out.segments[s, 1] = work.stacks.choice[last], q - p
                last, q = work.stacks.back[last], p
            _write(options, models, limits, n, top, rows, begin, at, work, out)
            rows += 1
        out.starts[name + 1] = rows


@kernel
def _several(options, models, limits, names, name, work, out):
    """Write the n best rewritings of the sequences from ``name`` on after those before it, which are there; returns the
    sequence before which there was no room for edges, or how many there are."""
    rows = out.starts[name]
    at = out.segment_starts[rows]
    while name < len(names.starts) - 1:
        begin, end = names.starts[name], names.starts[name + 1]
        n = end - begin
        n_edges = forward(options, models, names.tokens[begin:end], names.copies[begin:end], limits, work)
        if n_edges == NO_ROOM:
            break
        first, stacks = work.stacks.first, work.stacks
        if n > 0 and first[n] < first[n + 1]:
            ranked, items, done = search(
                options, limits, first[: n + 2], work.endings, stacks.scores, stacks.edges[:, :n_edges], _MOST_POPS
            )
            for item in done:
                begin, step_item, p = at, item, 0
                while items.edges[step_item] >= 0:
                    edge = items.edges[step_item]
                    q = stack_of(first, np.int64(ranked[0, edge]))
                    out.segments[at, 0], out.segments[at, 1] = np.int64(ranked[2, edge]), q - p
                    p = q
                    at += 1
                    step_item = items.following[step_item]
                _write(options, models, limits, n, items.after[item], rows, begin, at, work, out)
                rows += 1
        name += 1
        out.starts[name] = rows
    return name


def decode(names: Names, problem: Problem) -> Derivations:
    """The best rewritings of some sequences."""
    options, models, limits = problem
    count, longest = len(names.starts) - 1, int(np.diff(names.starts).max(initial=0))
    rows = limits.n_best * count
    out = Derivations(
        np.zeros(count + 1, np.int64),
        np.empty(rows),
        np.empty((rows, 3)),
        np.zeros(rows + 1, np.int64),
        np.empty((limits.n_best * len(names.tokens), 2), np.int32),
    )
    tokens, copies = frozen(names.tokens, np.int32), frozen(names.copies, np.int32)
    names = Names(tokens, frozen(names.starts, np.int64), copies)
    if limits.n_best == 1:
        _best(options, models, limits, names, buffers(options, models, limits, longest, 0), out)
    else:
        room, name = _EDGES, 0
        while name < count:
            # The kernel stops where a lattice has no room, and goes on there with four times as much.
            work = buffers(options, models, limits, longest, room)
            name = _several(options, models, limits, names, name, work, out)
            room *= 4
    n_rows = int(out.starts[-1])
    n_segments = int(out.segment_starts[n_rows])
    return Derivations(
        out.starts, out.scores[:n_rows], out.logs[:n_rows], out.segment_starts[: n_rows + 1], out.segments[:n_segments]
    )
