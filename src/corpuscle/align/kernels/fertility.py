"""Fertility: drawing the links of a text with jumps and with how many outputs a word has.

One direction: every output is linked to a state or to nothing. A chain of draws goes through the outputs and links each
of them anew, given all other links:

    weight(i)    = (1 - p0) lexical(i) c(i - before) c(after - i) phi(f_i + 1) / phi(f_i)
    weight(null) = p0 null(output) c(after - before)

*before* and *after* are the states of the nearest linked outputs (-1 before the first, m behind the last), c is the law
of jumps, f_i how many other outputs state i has, phi the law of fertilities of its type. Fertilities from ``MOST`` on
fall like a geometric series, so their odds stay the same. Lexical probabilities are collapsed: what all other outputs
are linked to, plus a Dirichlet prior of ``alpha`` for each couple:

    lexical(i) = (count(state, output) + alpha) / (count(state) + alpha support)

The laws of jumps and fertilities stand still during a sweep. A couple with one cell only (a *single*) is never linked
elsewhere: what is counted for it does not matter, and is not counted.

Östling and Tiedemann, "Efficient word alignment with Markov chain Monte Carlo", 2016; fertilities are those of Brown,
Della Pietra, Della Pietra and Mercer, "The mathematics of statistical machine translation: parameter estimation",
1993, section 4.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.align.kernels.cooccurrence import couple_of, shape_of
from corpuscle.compiled import kernel, part
from corpuscle.random import mix, uniform

MOST = 7
"""Fertilities from this on share their odds."""


class Laws(NamedTuple):
    """What stands still while links are drawn, in one direction.

    - ``jumps`` float64 (2 width + 1,): the probability of each jump, width above the longest sentence;
    - ``odds`` float32 (state types, MOST): phi(f + 1) / phi(f);
    - ``support``: how many types a type could be linked with; ``alpha``, ``p0``: numbers.
    """

    jumps: np.ndarray
    odds: np.ndarray
    support: float
    alpha: float
    p0: float


class Tally(NamedTuple):
    """The links of one direction, counted.

    - ``couples`` int32 (n_couples + 1,); the last one is for couples that are not in the table, and 0;
    - ``states`` int32 (state types,): links of each type; ``nulls`` int32 (output types,): its unlinked tokens;
    - ``unlinked`` int64 (1,): all unlinked tokens.
    """

    couples: np.ndarray
    states: np.ndarray
    nulls: np.ndarray
    unlinked: np.ndarray


class Scratch(NamedTuple):
    """Room for one sentence pair.

    - ``weights``, ``scales`` float64, ``after``, ``taken``, ``twins`` int64: one entry a word; the twin of a state is
      the next state of the same type, around to the first;
    - ``latest`` int64 (state types,): -1 for all types between sentences.
    """

    weights: np.ndarray
    scales: np.ndarray
    after: np.ndarray
    taken: np.ndarray
    twins: np.ndarray
    latest: np.ndarray


def scratch_for(longest: int, types: int) -> Scratch:
    """Room for sentences of at most ``longest`` words, and states of ``types`` types."""
    size = max(1, longest)
    after, taken, twins = (np.empty(size, np.int64) for _ in range(3))
    return Scratch(np.empty(size), np.empty(size), after, taken, twins, np.full(types, -1))


@part(bare=True)
def _prepare(linked, m, scratch):
    """The state of the nearest linked output behind each output, and how many outputs each of m states has."""
    for i in range(m):
        scratch.taken[i] = 0
    nearest = m
    for j in range(len(linked) - 1, -1, -1):
        scratch.after[j] = nearest
        if linked[j] >= 0:
            nearest = np.int64(linked[j])
            scratch.taken[nearest] += 1


@part(bare=True)
def _pair_twins(kinds, scratch):
    """Link the states of each type to a ring; ``kinds``: their types."""
    for i in range(len(kinds)):
        kind = kinds[i]
        before = scratch.latest[kind]
        scratch.twins[i] = i if before < 0 else scratch.twins[before]
        if before >= 0:
            scratch.twins[before] = i
        scratch.latest[kind] = i
    for kind in kinds:  # the next sentence finds it as this one did
        scratch.latest[kind] = -1


@part(bare=True)
def _scale(tally, laws, kind, taken):
    """The factors of a state's weight that depend neither on the output nor on the place of the state."""
    odds = laws.odds[kind, min(taken, MOST - 1)]
    return (1.0 - laws.p0) * odds / (tally.states[kind] + laws.alpha * laws.support)


@part(bare=True)
def _weigh(pairs, cell, step, m, tally, laws, before, after, scratch):
    """The weights of all states for an output whose own link is not counted; returns their sum. ``cell`` is the one of
    the output with the first state, ``step`` leads to that with the next."""
    width = len(laws.jumps) // 2
    total = 0.0
    for i in range(m):
        weight = (tally.couples[pairs.cells[cell + i * step]] + laws.alpha) * scratch.scales[i]
        weight *= laws.jumps[width + i - before] * laws.jumps[width + after - i]
        scratch.weights[i] = weight
        total += weight
    return total


@part(bare=True)
def _weight_of_none(tally, laws, output, before, after):
    share = (tally.nulls[output] + laws.alpha) / (tally.unlinked[0] + laws.alpha * laws.support)
    return laws.p0 * share * laws.jumps[len(laws.jumps) // 2 + after - before]


@part(bare=True)
def _drawn(weights, m, none, total, stream):
    """A state in proportion to its weight, or -1."""
    left = uniform(stream) * total - none
    if left < 0.0:
        return -1
    for i in range(m):
        left -= weights[i]
        if left < 0.0:
            return i
    return m - 1  # rounding has left something over


@part(bare=True)
def _count_unlinked(tally, output, change):
    """Count an output without a link once more, or once less."""
    tally.nulls[output] += change
    tally.unlinked[0] += change


@kernel(bare=True)
def place(pairs, linked, tally, singles):
    """Add the links of all sentence pairs (``cooccurrence.Directed``) to the tally; ``linked`` int16 (n_outputs,): the
    state of each, -1 for none. ``singles`` uint8: 1 for the singles that are linked."""
    n_shared = len(tally.couples) - 1
    for sentence in range(len(pairs.cell_starts) - 1):
        s, o = pairs.state_starts[sentence], pairs.output_starts[sentence]
        _, n, state_step, output_step = shape_of(pairs, sentence)
        for j in range(n):
            i = linked[o + j]
            if i < 0:
                _count_unlinked(tally, pairs.outputs[o + j], 1)
                continue
            couple = pairs.cells[pairs.cell_starts[sentence] + i * state_step + j * output_step]
            if couple < n_shared:
                tally.couples[couple] += 1
            else:
                singles[couple - n_shared] = 1
            tally.states[pairs.states[s + i]] += 1


@kernel(bare=True)
def recount(pairs, sharing, linked, tally):
    """Add the links to the tally, as ``place`` does, of sentence pairs whose cells have not been found."""
    for sentence in range(len(pairs.cell_starts) - 1):
        for j in range(pairs.output_starts[sentence], pairs.output_starts[sentence + 1]):
            output, i = pairs.outputs[j], linked[j]
            if i < 0:
                _count_unlinked(tally, output, 1)
                continue
            kind = pairs.states[pairs.state_starts[sentence] + i]
            tally.states[kind] += 1
            couple = couple_of(sharing, output, kind) if pairs.swap else couple_of(sharing, kind, output)
            if couple >= 0:
                tally.couples[couple] += 1


@part(bare=True)
def _change(tally, laws, kind, couple, i, change, scratch):
    """Count a link of state i, of this kind, once more, or once less."""
    if couple < len(tally.couples) - 1:
        tally.couples[couple] += change
    tally.states[kind] += change
    scratch.taken[i] += change
    twin = i
    while True:  # the count of a type is in the scale of all its states
        scratch.scales[twin] = _scale(tally, laws, kind, scratch.taken[twin])
        twin = scratch.twins[twin]
        if twin == i:
            return


@kernel(bare=True)
def sweep(pairs, linked, tally, laws, fertilities, jump_counts, scratch, stream):
    """Draw the links of some sentence pairs once; ``tally`` counts the links of the whole text, always.

    Cells of singles are those of no couple in the table (``tally.couples`` ends with a 0 for them). Adds to
    ``fertilities`` float64 (state types, MOST + 1) how often a type has each fertility (the last: MOST or more) and to
    ``jump_counts`` (like ``laws.jumps``) the jumps.
    """
    for sentence in range(len(pairs.cell_starts) - 1):
        s, o = pairs.state_starts[sentence], pairs.output_starts[sentence]
        m, n, state_step, output_step = shape_of(pairs, sentence)
        kinds, own = pairs.states[s : s + m], linked[o : o + n]
        _prepare(own, m, scratch)
        _pair_twins(kinds, scratch)
        for i in range(m):
            scratch.scales[i] = _scale(tally, laws, kinds[i], scratch.taken[i])
        before = -1
        for j in range(n):
            output, old, after = pairs.outputs[o + j], np.int64(own[j]), scratch.after[j]
            cell = pairs.cell_starts[sentence] + j * output_step
            if old >= 0:  # the links of all other outputs are what this one is drawn by
                _change(tally, laws, kinds[old], pairs.cells[cell + old * state_step], old, -1, scratch)
            else:
                _count_unlinked(tally, output, -1)
            none = _weight_of_none(tally, laws, output, before, after)
            total = none + _weigh(pairs, cell, state_step, m, tally, laws, before, after, scratch)
            new = _drawn(scratch.weights, m, none, total, stream)
            own[j] = new
            if new >= 0:
                _change(tally, laws, kinds[new], pairs.cells[cell + new * state_step], new, 1, scratch)
                before = new
            else:
                _count_unlinked(tally, output, 1)
        _observe(own, kinds, fertilities, jump_counts, scratch)


@part(bare=True)
def _observe(linked, kinds, fertilities, jump_counts, scratch):
    """Add the jumps of the links of one sentence pair, and its fertilities, which the scratch has."""
    width, before = len(jump_counts) // 2, -1
    for i in linked:
        if i >= 0:
            jump_counts[width + i - before] += 1.0
            before = i
    jump_counts[width + len(kinds) - before] += 1.0
    for i in range(len(kinds)):
        fertilities[kinds[i], min(scratch.taken[i], MOST)] += 1.0


@kernel(bare=True)
def observe(pairs, linked, fertilities, jump_counts, scratch):
    """Add the fertilities and jumps of given links, as ``sweep`` does for those that it draws; no cells are needed."""
    for sentence in range(len(pairs.cell_starts) - 1):
        kinds = pairs.states[pairs.state_starts[sentence] : pairs.state_starts[sentence + 1]]
        own = linked[pairs.output_starts[sentence] : pairs.output_starts[sentence + 1]]
        _prepare(own, len(kinds), scratch)
        _observe(own, kinds, fertilities, jump_counts, scratch)


@kernel(bare=True)
def add_votes(linked, sizes, states, votes, new_states, new_votes):
    """Count the links of some draws, ``linked`` int16 (draws, outputs): each is a vote for a state, or for -1.

    ``sizes`` uint8 (outputs,): how many different states have votes, changed in place; ``states`` int16 and ``votes``
    uint8: these states and their votes, output by output, which go to ``new_states`` and ``new_votes`` with those that
    are added. Returns how many there are.
    """
    at, end = 0, 0
    for j in range(len(sizes)):
        begin = end
        for _ in range(sizes[j]):
            new_states[end], new_votes[end] = states[at], votes[at]
            at += 1
            end += 1
        for draw in range(len(linked)):
            k = begin
            while k < end and new_states[k] != linked[draw, j]:
                k += 1
            if k == end:
                new_states[k], new_votes[k] = linked[draw, j], 0
                end += 1
            new_votes[k] += 1
        sizes[j] = end - begin
    return end


@kernel(bare=True)
def elect(sizes, states, votes, best):
    """The state with the most votes for every output, ``best`` int16; ties go to none, then to the smaller state."""
    at = 0
    for j in range(len(sizes)):
        top = 0
        best[j] = -1
        for k in range(at, at + sizes[j]):
            if votes[k] > top or (votes[k] == top and states[k] < best[j]):
                top, best[j] = votes[k], states[k]
        at += sizes[j]


class _Still(NamedTuple):
    """A sentence pair of m states and n outputs while all that is counted elsewhere stands still.

    - ``kinds`` int32 (m,): the types of states; ``linked`` int32 (n,): the present links;
    - ``lexical`` float64 (at least n m,): what does not change, output by output; ``sums``: those of the probabilities;
    - ``nulls`` float64 (2, at least n): both for no link.
    """

    kinds: np.ndarray
    linked: np.ndarray
    lexical: np.ndarray
    sums: np.ndarray
    nulls: np.ndarray


@part(bare=True)
def _draw_pair(pair, laws, mirrored, sweeps, skip, scratch, stream):
    """Draw the links of one sentence pair ``sweeps`` times, adding up the probabilities of those that count."""
    width, m, odds, weights = len(laws.jumps) // 2, len(pair.kinds), scratch.scales, scratch.weights
    for turn in range(sweeps):
        _prepare(pair.linked, m, scratch)
        for i in range(m):
            odds[i] = laws.odds[pair.kinds[i], min(scratch.taken[i], MOST - 1)]
        before = -1
        for j in range(len(pair.linked)):
            old, after = pair.linked[j], scratch.after[j]
            if old >= 0:
                scratch.taken[old] -= 1
                odds[old] = laws.odds[pair.kinds[old], min(scratch.taken[old], MOST - 1)]
            # Jumps to and from the first state stand here in both arrays, so that all are read forwards.
            into, out_of = width - before, width - after
            for i in range(m):
                weights[i] = pair.lexical[j * m + i] * odds[i] * laws.jumps[into + i] * mirrored[out_of + i]
            linked = 0.0
            for i in range(m):
                linked += weights[i]
            none = pair.nulls[0, j] * laws.jumps[width + after - before]
            total = none + linked
            if turn >= skip:
                share = 1.0 / total
                for i in range(m):
                    pair.sums[j * m + i] += weights[i] * share
                pair.nulls[1, j] += none * share
            new = _drawn(weights, m, none, total, stream)
            pair.linked[j] = new
            if new >= 0:
                scratch.taken[new] += 1
                odds[new] = laws.odds[pair.kinds[new], min(scratch.taken[new], MOST - 1)]
                before = new


@kernel
def draw_links(pairs, tally, laws, key, sweeps, skip, linked, links, nulls):
    """Link probabilities under a fixed tally: means over ``sweeps`` draws, the first ``skip`` of which do not count.

    ``linked`` int32 (n_outputs,) are the links to start from; ``links`` and ``nulls`` as in ``em.posteriors``.
    The draws of a pair depend on ``key`` and on its words, not on where it stands.
    """
    longest, largest = 1, 1
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, _, _ = shape_of(pairs, sentence)
        longest, largest = max(longest, m, n), max(largest, m * n)
    after, taken, nobody = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(0, np.int64)
    scratch = Scratch(np.empty(longest), np.empty(longest), after, taken, nobody, nobody)
    lexical, sums, none = np.empty(largest), np.empty(largest), np.empty((2, longest))
    mirrored = laws.jumps[::-1].copy()
    share = 1.0 / (sweeps - skip)
    stream = np.zeros(2, np.uint64)
    for sentence in range(len(pairs.cell_starts) - 1):
        s, o, start = pairs.state_starts[sentence], pairs.output_starts[sentence], pairs.cell_starts[sentence]
        m, n, state_step, output_step = shape_of(pairs, sentence)
        words = np.uint64(key)
        for i in range(m):
            kind = pairs.states[s + i]
            words = mix(words + np.uint64(kind + 1))
            scale = (1.0 - laws.p0) / (tally.states[kind] + laws.alpha * laws.support)
            for j in range(n):
                count = tally.couples[pairs.cells[start + i * state_step + j * output_step]]
                lexical[j * m + i] = (count + laws.alpha) * scale
        for j in range(n):
            output = pairs.outputs[o + j]
            words = mix(words + np.uint64(output + 1))
            rest = tally.unlinked[0] + laws.alpha * laws.support
            none[0, j], none[1, j] = laws.p0 * (tally.nulls[output] + laws.alpha) / rest, 0.0
        sums[: m * n] = 0.0
        stream[0], stream[1] = words, 0
        pair = _Still(pairs.states[s : s + m], linked[o : o + n], lexical, sums, none)
        _draw_pair(pair, laws, mirrored, sweeps, skip, scratch, stream)
        for j in range(n):
            nulls[o + j] = none[1, j] * share
            for i in range(m):
                links[start + i * state_step + j * output_step] = sums[j * m + i] * share
