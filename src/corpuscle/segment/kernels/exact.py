"""Gibbs sampling of a nested model made exact by a Metropolis-Hastings step.

A sentence is drawn as if none of its words could change the probability of another; where words repeat within it, that
is not true. So the drawn words are a proposal: with p the probability of the words as they come one after the other
(or, of the old words, as they went), and q their probability while the sentence was out, the new words are accepted
with probability min(1, (p_new / q_new) / (p_old / q_old)). If they are not, everything is undone: what customers did is
noted, from which it can be taken back table by table.

Notes are a stack of integers, ``notes[0]`` of them used: for every customer how many tables it opened (or closed) on
its way up, and the size of the table that it joined (or left) then, 0 if it got past the root; a letter's depth before
these; and after all notes of a word whether it was spelled.

Hastings, "Monte Carlo sampling methods using Markov chains and their applications", 1970; Johnson, Griffiths and
Goldwater, "Bayesian inference for PCFGs via Markov chain Monte Carlo", 2007, correct a sampler of whole sentences in
this way.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel_bare
from corpuscle.engine.dp.semirings import SUM
from corpuscle.engine.restaurants import columns as col
from corpuscle.engine.restaurants.hierarchy import fill_parents, joined_size, left_size, probability, resize_table
from corpuscle.engine.restaurants.pool import drop_entry, entry_of, find_context, find_entry, make_context
from corpuscle.engine.restaurants.variable import choose_node, count_stop
from corpuscle.random import uniform
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.gibbs import find_numbers, resample, word_at, word_ends
from corpuscle.segment.kernels.lattice import after, fill
from corpuscle.segment.kernels.model import (
    BOUNDARY,
    base_probability,
    context_of,
    drop_record,
    drop_word,
    has_room,
    intern,
    new_record,
    spell_word,
)
from corpuscle.segment.kernels.paths import draw, forward


def new_notes(letters: int) -> np.ndarray:
    """Room for the notes on a sentence of at most so many letters."""
    return np.zeros(24 * (letters + 2), np.int32)


@kernel_bare
def _note(notes, value):
    notes[0] += 1
    notes[notes[0]] = value


@kernel_bare
def _noted(notes):
    notes[0] -= 1
    return np.int64(notes[notes[0] + 1])


@kernel_bare
def _seat(pool, entry, base, stream, notes):
    """As ``restaurants.seat``, with notes."""
    fill_parents(pool, entry, base)
    opened = 0
    while entry >= 0:
        customers = pool.entries[entry, col.CUSTOMERS]
        if customers > 0:
            node = pool.entries[entry, col.NODE]
            law = pool.nodes[node, col.LAW]
            joining = customers - pool.discounts[law] * pool.entries[entry, col.TABLES]
            opening = pool.strengths[law] + pool.discounts[law] * pool.nodes[node, col.TABLES]
            if uniform(stream) * (joining + opening * pool.work[0, opened]) < joining:
                size = joined_size(pool, entry, stream)
                resize_table(pool, entry, size, size + 1)
                _note(notes, opened)
                _note(notes, size)
                return False
        resize_table(pool, entry, 0, 1)
        opened += 1
        entry = np.int64(pool.entries[entry, col.UP])
    _note(notes, opened)
    _note(notes, 0)
    return True


@kernel_bare
def _unseat(pool, entry, stream, notes):
    """As ``restaurants.unseat``, with notes."""
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


@kernel_bare
def _take_back(pool, entry, notes):
    """Undo ``_seat``."""
    size = _noted(notes)
    opened = _noted(notes)
    for level in range(opened + (size > 0)):
        up = np.int64(pool.entries[entry, col.UP])
        if level < opened:
            resize_table(pool, entry, 1, 0)
        else:
            resize_table(pool, entry, size + 1, size)
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        entry = up


@kernel_bare
def _put_back(pool, entry, notes):
    """Undo ``_unseat``."""
    size = _noted(notes)
    closed = _noted(notes)
    for level in range(closed + (size > 0)):
        if level < closed:
            resize_table(pool, entry, 0, 1)
        else:
            resize_table(pool, entry, size - 1, size)
        entry = np.int64(pool.entries[entry, col.UP])


@kernel_bare
def _add_spelling(nested, word, stream, notes):
    letters, spelling, base = nested.letters, nested.spelling, nested.bases[model.LETTER_BASE]
    length, record, deepest = spell_word(nested, word), new_record(nested, word), len(letters.path) - 2
    for i in range(1, length + 2):
        dish = np.int64(spelling[i])
        depth, node = choose_node(letters, 0, spelling, i, min(i, deepest), dish, base, stream)
        _note(notes, depth)
        _seat(letters, entry_of(letters, node, dish, True), base, stream, notes)
        nested.orders[record, i - 1] = depth


@kernel_bare
def _remove_spelling(nested, word, stream, notes):
    letters, spelling = nested.letters, nested.spelling
    length, newest = spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    oldest = np.int64(nested.records[newest, model.AFTER])
    for i in range(length + 1, 0, -1):
        depth = np.int64(nested.orders[oldest, i - 1])
        node = find_context(letters, 0, spelling, i, depth)
        count_stop(letters, node, -1)
        _note(notes, depth)
        _unseat(letters, find_entry(letters, node, np.int64(spelling[i])), stream, notes)
    drop_record(nested, word, oldest, newest)


@kernel_bare
def _take_back_spelling(nested, word, notes):
    """Undo ``_add_spelling``."""
    letters, spelling = nested.letters, nested.spelling
    length, newest = spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    for i in range(length + 1, 0, -1):
        node = find_context(letters, 0, spelling, i, np.int64(nested.orders[newest, i - 1]))
        count_stop(letters, node, -1)
        _take_back(letters, find_entry(letters, node, np.int64(spelling[i])), notes)
        _noted(notes)
    before = newest
    while nested.records[before, model.AFTER] != newest:
        before = np.int64(nested.records[before, model.AFTER])
    drop_record(nested, word, newest, before)


@kernel_bare
def _put_back_spelling(nested, word, notes):
    """Undo ``_remove_spelling``; the record becomes the newest instead of the oldest, which makes no difference."""
    letters, spelling = nested.letters, nested.spelling
    length, record = spell_word(nested, word), new_record(nested, word)
    for i in range(1, length + 2):
        depth = np.int64(notes[notes[0] - 2])
        node = make_context(letters, 0, spelling, i, depth)
        count_stop(letters, node, 1)
        _put_back(letters, entry_of(letters, node, np.int64(spelling[i]), True), notes)
        _noted(notes)
        nested.orders[record, i - 1] = depth


@kernel_bare
def _add_noted(nested, first, n, cuts, ends, stream, notes):
    """The words of a sentence come; returns the log of their probability, each when it comes."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin, total = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0), 0.0
    for i in range(count + 1):
        word = intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(BOUNDARY)
        base, node = base_probability(nested, word), context_of(nested, before, earlier, True)
        total += math.log(probability(nested.words, node, word, base))
        opened = _seat(nested.words, entry_of(nested.words, node, word, True), base, stream, notes)
        opened = opened and word != BOUNDARY
        if opened:
            _add_spelling(nested, word, stream, notes)
        _note(notes, opened)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin
    return total


@kernel_bare
def _remove_noted(nested, first, n, cuts, ends, numbers, stream, notes):
    """The words of a sentence go, the last one first; returns the log of their probability, each when it has gone."""
    count = word_ends(cuts, first, n, ends)
    find_numbers(nested, first, ends, count, numbers)
    total = 0.0
    for i in range(count, -1, -1):
        word, before = word_at(numbers, i, count), word_at(numbers, i - 1, count)
        earlier = word_at(numbers, i - 2, count)
        node = context_of(nested, before, earlier, False)
        closed = _unseat(nested.words, find_entry(nested.words, node, word), stream, notes)
        closed = closed and word != BOUNDARY
        if closed:
            _remove_spelling(nested, word, stream, notes)
        _note(notes, closed)
        base = base_probability(nested, word)
        total += math.log(probability(nested.words, context_of(nested, before, earlier, False), word, base))
        if closed:
            drop_word(nested, word)
    return total


@kernel_bare
def _take_back_words(nested, first, n, cuts, ends, numbers, notes):
    """Undo ``_add_noted``."""
    count = word_ends(cuts, first, n, ends)
    find_numbers(nested, first, ends, count, numbers)
    for i in range(count, -1, -1):
        word, before = word_at(numbers, i, count), word_at(numbers, i - 1, count)
        earlier = word_at(numbers, i - 2, count)
        opened = _noted(notes)
        if opened:
            _take_back_spelling(nested, word, notes)
        node = context_of(nested, before, earlier, False)
        _take_back(nested.words, find_entry(nested.words, node, word), notes)
        if opened:
            drop_word(nested, word)


@kernel_bare
def _put_back_words(nested, first, n, cuts, ends, notes):
    """Undo ``_remove_noted``."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0)
    for i in range(count + 1):
        word = intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(BOUNDARY)
        if _noted(notes):
            _put_back_spelling(nested, word, notes)
        node = context_of(nested, before, earlier, True)
        _put_back(nested.words, entry_of(nested.words, node, word, True), notes)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin


@kernel_bare
def _log_proposal(words, lattice, n, cuts, first, ends):
    """The log of the weight with which ``draw`` draws a segmentation."""
    count = word_ends(cuts, first, n, ends)
    total = 0.0
    for i in range(count + 1):
        t = np.int64(ends[i - 1]) if i > 0 else np.int64(0)
        k = t - (np.int64(ends[i - 2]) if i > 1 else np.int64(0))
        j = np.int64(0)
        if i > 1:
            j = np.int64(ends[i - 2]) - (np.int64(ends[i - 3]) if i > 2 else np.int64(0))
        if i < count:
            end = np.int64(ends[i])
            word, unigram = np.int64(lattice.word[end, end - t]), lattice.unigram[end, end - t]
        else:
            word, unigram = np.int64(BOUNDARY), lattice.unigram[0, 0]
        total += math.log(after(words, lattice, t, k, j, word, unigram))
    return total


@kernel_bare
def _resample(nested, lattice, sentences, first, n, old_cuts, notes, stream):
    """One Metropolis-Hastings step; returns the log of the total of all segmentations."""
    cuts, ends, numbers = sentences.cuts, sentences.ends, sentences.numbers
    notes[0] = 0
    old = _remove_noted(nested, first, n, cuts, ends, numbers, stream, notes)
    fill(nested, lattice, nested.text, first, n, sentences.gaps)
    total = forward(nested.words, lattice, n, SUM)
    old -= _log_proposal(nested.words, lattice, n, cuts, first, ends)
    for i in range(n):
        old_cuts[i] = cuts[first + i]
    draw(nested.words, lattice, n, cuts, first, stream)
    proposed = _log_proposal(nested.words, lattice, n, cuts, first, ends)
    new = _add_noted(nested, first, n, cuts, ends, stream, notes) - proposed
    if math.log(1.0 - uniform(stream)) >= new - old:
        _take_back_words(nested, first, n, cuts, ends, numbers, notes)
        for i in range(n):
            cuts[first + i] = old_cuts[i]
        _put_back_words(nested, first, n, cuts, ends, notes)
    return total


@kernel_bare
def sweep_exactly(nested, lattice, sentences, order, at, last, old_cuts, notes, stream):
    """Sample the segmentations of the sentences ``order[at:last]``, each by a Metropolis-Hastings step if it is in the
    model; returns where there was no more room, or ``last``.

    ``sentences.sums[0]`` += the log probabilities of the sentences that are not fixed; ``old_cuts``: uint8, room for a
    sentence; ``notes``: see ``new_notes``.
    """
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not has_room(nested, 2 * n):
            return i
        if sentences.seated[sentence] and not sentences.fixed[sentence]:
            sentences.sums[0] += _resample(nested, lattice, sentences, first, n, old_cuts, notes, stream)
            continue
        resample(nested, lattice, sentences, sentence, first, n, stream)
    return last
