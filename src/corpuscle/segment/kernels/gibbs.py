"""Blocked Gibbs sampling of a nested model: a sentence goes, is cut anew with all its words at once, and comes back.

A sentence is drawn as if none of its words changed the probability of another, which is not true where words repeat
within it. ``sweep`` can correct for this by a Metropolis-Hastings step: the drawn words are a proposal. With p the
probability of the words as they come one after the other (or, of the old words, as they went), and q their probability
while the sentence is out, they are accepted with probability min(1, (p_new / q_new) / (p_old / q_old)); else
everything is undone.

For that, notes are made of how the words of a sentence leave the model or join it, unless ``notes`` has no room. They
are a stack of integers, ``notes[0]`` of them used: for every customer how many tables it opened (or closed) on its way
up, and the size of the table that it joined (or left) then, 0 if it got past the root; a letter's depth before these;
and after all notes of a word whether it was spelled.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.1; Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006, for the seating.
Hastings, "Monte Carlo sampling methods using Markov chains and their applications", 1970; Johnson, Griffiths and
Goldwater, "Bayesian inference for PCFGs via Markov chain Monte Carlo", 2007, correct a sampler of whole sentences in
this way."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import SUM
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import (
    fill_parents,
    joined_size,
    left_size,
    probability,
    resize_table,
    seat,
    unseat,
)
from corpuscle.engine.restaurants.pool import drop_entry, entry_of, find_context, find_entry, make_context
from corpuscle.engine.restaurants.variable import choose_node, count_stop
from corpuscle.random import uniform
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.lattice import after, draw, fill, forward

_NEW = np.int64(1)
"""The size of a table at which one customer sits; 0 is that of a table that is not there, any more or yet."""


class Sentences(NamedTuple):
    """The sentences that are sampled.

    - ``starts``: int64 (sentences + 1,); ``gaps``: uint8 (letters,), see ``lattice``;
    - ``fixed``: uint8 (sentences,), whether a sentence keeps its words; ``seated``: uint8 (sentences,), whether its
      words are in the model; ``cuts``: uint8 (letters,), whether a word begins at a letter;
    - ``ends``, ``numbers``: int32, room for the words of one sentence; ``sums``: float64 (1 or more,);
    - ``old_cuts``: uint8, room for a sentence, and ``notes``: int32, see ``new_notes``; without room for any, words
      that are drawn are never refused.
    """

    starts: np.ndarray
    gaps: np.ndarray
    fixed: np.ndarray
    seated: np.ndarray
    cuts: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    sums: np.ndarray
    old_cuts: np.ndarray
    notes: np.ndarray


def new_notes(letters: int) -> np.ndarray:
    """Room for the notes on a sentence of at most N letters."""
    return np.zeros(24 * (letters + 2), np.int32)  # words of one letter that go and come make 18 a letter


@part(bare=True)
def _note(notes, value):
    notes[0] += 1
    notes[notes[0]] = value


@part(bare=True)
def _noted(notes):
    notes[0] -= 1
    return np.int64(notes[notes[0] + 1])


@part(bare=True)
def _come(pool, node, dish, base, stream, notes):
    """A customer with a dish comes to a node: whether the root opened a table."""
    entry = entry_of(pool, node, dish)
    if len(notes) == 0:
        return seat(pool, entry, base, stream)
    fill_parents(pool, entry, base)
    opened = 0
    while entry >= 0:
        customers = pool.entries[entry, col.CUSTOMERS]
        if customers > 0:
            node = pool.entries[entry, col.NODE]
            law = pool.nodes[node, col.LAW]
            joining = customers - pool.discounts[law] * pool.entries[entry, col.TABLES]
            opening = pool.strengths[law] + pool.discounts[law] * pool.nodes[node, col.TABLES]
            # ``work[0, i]``: the probability of the dish in the i-th parent, from ``fill_parents``.
            if uniform(stream) * (joining + opening * pool.work[0, opened]) < joining:
                size = joined_size(pool, entry, stream)
                resize_table(pool, entry, size, size + 1)
                _note(notes, opened)
                _note(notes, size)
                return False
        resize_table(pool, entry, 0, _NEW)
        opened += 1
        entry = np.int64(pool.entries[entry, col.UP])
    _note(notes, opened)
    _note(notes, 0)
    return True


@part(bare=True)
def _go(pool, node, dish, stream, notes):
    """A customer with a dish leaves a node: whether the root closed a table."""
    entry = find_entry(pool, node, dish)
    if len(notes) == 0:
        return unseat(pool, entry, stream)
    closed = 0
    while entry >= 0:
        size = left_size(pool, entry, stream)
        up = np.int64(pool.entries[entry, col.UP])
        resize_table(pool, entry, size, size - 1)
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        if size > 1:
            _note(notes, closed)
            _note(notes, size)
            return False
        closed += 1
        entry = up
    _note(notes, closed)
    _note(notes, 0)
    return True


@part(bare=True)
def _take_back(pool, node, dish, notes):
    """Undo ``_come``."""
    entry, size = find_entry(pool, node, dish), _noted(notes)
    opened = _noted(notes)
    for level in range(opened + (size > 0)):
        up = np.int64(pool.entries[entry, col.UP])
        now = _NEW if level < opened else size + 1
        resize_table(pool, entry, now, now - 1)
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        entry = up


@part(bare=True)
def _put_back(pool, node, dish, notes):
    """Undo ``_go``."""
    entry, size = entry_of(pool, node, dish), _noted(notes)
    closed = _noted(notes)
    for level in range(closed + (size > 0)):
        before = _NEW if level < closed else size
        resize_table(pool, entry, before - 1, before)
        entry = np.int64(pool.entries[entry, col.UP])


@part(bare=True)
def _add_spelling(nested, word, stream, notes, undo):
    """The letters of a word sit down, and a new record keeps where. ``undo``: as before ``_remove_spelling``; the
    record becomes the newest instead of the oldest, which makes no difference."""
    letters, spelling, base = nested.letters, nested.spelling, nested.bases[model.LETTER_BASE]
    length, record, deepest = model.spell_word(nested, word), model.new_record(nested, word), len(letters.path) - 2
    for i in range(1, length + 2):
        dish = np.int64(spelling[i])
        if undo:
            depth = np.int64(notes[notes[0] - 2])  # below the two notes of the seat, which ``_put_back`` takes first
            node = make_context(letters, 0, spelling, i, depth)
            count_stop(letters, node, 1)
            _put_back(letters, node, dish, notes)
            _noted(notes)
        else:
            depth, node = choose_node(letters, 0, spelling, i, min(i, deepest), dish, base, stream)
            if len(notes) > 0:
                _note(notes, depth)
            _come(letters, node, dish, base, stream, notes)
        nested.orders[record, i - 1] = depth


@part(bare=True)
def _remove_spelling(nested, word, stream, notes, undo):
    """The letters of the oldest record of a word go. (All are exchangeable; so each has its turn.) ``undo``: those of
    the newest record, which came by ``_add_spelling``."""
    letters, spelling = nested.letters, nested.spelling
    length, newest = model.spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    record = newest if undo else np.int64(nested.records[newest, model.AFTER])
    for i in range(length + 1, 0, -1):
        depth, dish = np.int64(nested.orders[record, i - 1]), np.int64(spelling[i])
        node = find_context(letters, 0, spelling, i, depth)
        count_stop(letters, node, -1)
        if undo:
            _take_back(letters, node, dish, notes)
            _noted(notes)
        else:
            if len(notes) > 0:
                _note(notes, depth)
            _go(letters, node, dish, stream, notes)
    before = newest  # records form a ring, each knowing the next newer one: go round to find the one before
    while nested.records[before, model.AFTER] != record:
        before = np.int64(nested.records[before, model.AFTER])
    model.drop_record(nested, word, record, before)


@part(bare=True)
def add_sentence(nested, first, n, cuts, ends, stream, notes, undo):
    """The words of a sentence come, one after the other, and at last its end. Where notes are made: returns the log of
    their probability, each when it comes. ``undo``: they come back as before ``remove_sentence``."""
    count = model.word_ends(cuts, first, n, ends)
    before, earlier, begin, total = np.int64(model.BOUNDARY), np.int64(model.BOUNDARY), np.int64(0), 0.0
    for i in range(count + 1):
        word = model.intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(model.BOUNDARY)
        if undo:
            if _noted(notes):
                _add_spelling(nested, word, stream, notes, True)
            _put_back(nested.words, model.context_of(nested, before, earlier, True), word, notes)
        else:
            base, node = model.base_probability(nested, word), model.context_of(nested, before, earlier, True)
            if len(notes) > 0:
                total += math.log(probability(nested.words, node, word, base))
            spelled = _come(nested.words, node, word, base, stream, notes) and word != model.BOUNDARY
            if spelled:
                _add_spelling(nested, word, stream, notes, False)
            if len(notes) > 0:
                _note(notes, spelled)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin
    return total


@part(bare=True)
def remove_sentence(nested, first, n, cuts, ends, numbers, stream, notes, undo):
    """The words of a sentence go, the last one first, and their numbers if they were the last of their kind. Where
    notes are made: returns the log of their probability, each when it has gone. ``undo``: those that came by
    ``add_sentence``, table by table."""
    count = model.word_ends(cuts, first, n, ends)
    model.find_numbers(nested, first, ends, count, numbers)
    total = 0.0
    for i in range(count, -1, -1):
        word, before = model.word_at(numbers, i, count), model.word_at(numbers, i - 1, count)
        earlier = model.word_at(numbers, i - 2, count)
        if undo:
            spelled = _noted(notes) != 0
            if spelled:
                _remove_spelling(nested, word, stream, notes, True)
            _take_back(nested.words, model.context_of(nested, before, earlier, False), word, notes)
        else:
            node = model.context_of(nested, before, earlier, False)
            spelled = _go(nested.words, node, word, stream, notes) and word != model.BOUNDARY
            if spelled:
                _remove_spelling(nested, word, stream, notes, False)
            if len(notes) > 0:
                _note(notes, spelled)
                base, node = model.base_probability(nested, word), model.context_of(nested, before, earlier, False)
                total += math.log(probability(nested.words, node, word, base))
        if spelled:
            model.drop_word(nested, word)
    return total


@part(bare=True)
def _log_proposal(words, lattice, n, cuts, first, ends):
    """The log of the weight with which ``draw`` draws a segmentation."""
    count = model.word_ends(cuts, first, n, ends)
    total = 0.0
    end, before, earlier = np.int64(0), np.int64(0), np.int64(0)  # where the last three words end
    for i in range(count + 1):
        word, unigram, k = np.int64(model.BOUNDARY), lattice.unigram[0, 0], np.int64(0)
        if i < count:
            k = ends[i] - end
            word, unigram = np.int64(lattice.word[end + k, k]), lattice.unigram[end + k, k]
        total += math.log(after(words, lattice, end, end - before, before - earlier, word, unigram))
        end, before, earlier = end + k, end, before
    return total


@part(bare=True)
def _propose(nested, lattice, sentences, first, n, stream):
    """One Metropolis-Hastings step; returns the log of the total of all segmentations."""
    cuts, ends, numbers, notes = sentences.cuts, sentences.ends, sentences.numbers, sentences.notes
    notes[0] = 0
    old = remove_sentence(nested, first, n, cuts, ends, numbers, stream, notes, False)
    fill(nested, lattice, nested.text, first, n, sentences.gaps)
    total = forward(nested.words, lattice, n, np.int64(SUM))
    # Both proposals are weighed while the sentence is out, with one lattice.
    old -= _log_proposal(nested.words, lattice, n, cuts, first, ends)
    for i in range(n):
        sentences.old_cuts[i] = cuts[first + i]
    draw(nested.words, lattice, n, cuts, first, stream)
    proposed = _log_proposal(nested.words, lattice, n, cuts, first, ends)
    new = add_sentence(nested, first, n, cuts, ends, stream, notes, False) - proposed
    if math.log(1.0 - uniform(stream)) >= new - old:
        remove_sentence(nested, first, n, cuts, ends, numbers, stream, notes, True)
        for i in range(n):
            cuts[first + i] = sentences.old_cuts[i]
        add_sentence(nested, first, n, cuts, ends, stream, notes, True)
    return total


@kernel(bare=True)
def sweep(nested, lattice, sentences, order, at, last, stream):
    """Sample the segmentations of the sentences ``order[at:last]``; returns where there was no more room, or ``last``.
    A sentence leaves, if it was there, and comes back with words drawn anew, unless they are fixed; with room for
    notes, by a Metropolis-Hastings step. ``sentences.sums[0]`` += the log probabilities of those that are not fixed."""
    cuts, ends = sentences.cuts, sentences.ends
    exact, nothing = len(sentences.notes) > 0, sentences.notes[:0]
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not model.has_room(nested, 2 * n if exact else n):
            return i
        if exact and sentences.seated[sentence] and not sentences.fixed[sentence]:
            sentences.sums[0] += _propose(nested, lattice, sentences, first, n, stream)
            continue
        if sentences.seated[sentence]:
            remove_sentence(nested, first, n, cuts, ends, sentences.numbers, stream, nothing, False)
        if not sentences.fixed[sentence]:
            fill(nested, lattice, nested.text, first, n, sentences.gaps)
            sentences.sums[0] += forward(nested.words, lattice, n, np.int64(SUM))
            draw(nested.words, lattice, n, cuts, first, stream)
        add_sentence(nested, first, n, cuts, ends, stream, nothing, False)
        sentences.seated[sentence] = 1
    return last
