"""Customers whose coming and going can be taken back: the words of a sentence leave a nested model, or join it, and
notes are made from which everything can be undone, table by table.

Notes are a stack of integers, ``notes[0]`` of them used: for every customer how many tables it opened (or closed) on
its way up, and the size of the table that it joined (or left) then, 0 if it got past the root; a letter's depth before
these; and after all notes of a word whether it was spelled.

The seating is that of Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006, and of
Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import fill_parents, joined_size, left_size, probability, resize_table
from corpuscle.engine.restaurants.pool import drop_entry, entry_of, find_context, find_entry, make_context
from corpuscle.engine.restaurants.variable import choose_node, count_stop
from corpuscle.random import uniform
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.model import (
    BOUNDARY,
    base_probability,
    context_of,
    drop_record,
    drop_word,
    find_numbers,
    intern,
    new_record,
    spell_word,
    word_at,
    word_ends,
)

_GONE, _NEW = np.int64(0), np.int64(1)
"""Sizes of a table that is no more, and of one that has just been opened."""


def new_notes(letters: int) -> np.ndarray:
    """Room for the notes on a sentence of at most so many letters."""
    return np.zeros(24 * (letters + 2), np.int32)


@part(bare=True)
def _note(notes, value):
    notes[0] += 1
    notes[notes[0]] = value


@part(bare=True)
def _noted(notes):
    notes[0] -= 1
    return np.int64(notes[notes[0] + 1])


@part(bare=True)
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
            # ``work[0, i]``: the probability of the dish in the i-th parent, from ``fill_parents``.
            if uniform(stream) * (joining + opening * pool.work[0, opened]) < joining:
                size = joined_size(pool, entry, stream)
                resize_table(pool, entry, size, size + 1)
                _note(notes, opened)
                _note(notes, size)
                return False
        resize_table(pool, entry, _GONE, _NEW)
        opened += 1
        entry = np.int64(pool.entries[entry, col.UP])
    _note(notes, opened)
    _note(notes, 0)
    return True


@part(bare=True)
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


@part(bare=True)
def _take_back(pool, entry, notes):
    """Undo ``_seat``."""
    size = _noted(notes)
    opened = _noted(notes)
    for level in range(opened + (size > 0)):
        up = np.int64(pool.entries[entry, col.UP])
        if level < opened:
            resize_table(pool, entry, _NEW, _GONE)
        else:
            resize_table(pool, entry, size + 1, size)
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        entry = up


@part(bare=True)
def _put_back(pool, entry, notes):
    """Undo ``_unseat``."""
    size = _noted(notes)
    closed = _noted(notes)
    for level in range(closed + (size > 0)):
        if level < closed:
            resize_table(pool, entry, _GONE, _NEW)
        else:
            resize_table(pool, entry, size - 1, size)
        entry = np.int64(pool.entries[entry, col.UP])


@part(bare=True)
def _add_spelling(nested, word, stream, notes):
    letters, spelling, base = nested.letters, nested.spelling, nested.bases[model.LETTER_BASE]
    length, record, deepest = spell_word(nested, word), new_record(nested, word), len(letters.path) - 2
    for i in range(1, length + 2):
        dish = np.int64(spelling[i])
        depth, node = choose_node(letters, 0, spelling, i, min(i, deepest), dish, base, stream)
        _note(notes, depth)
        _seat(letters, entry_of(letters, node, dish, True), base, stream, notes)
        nested.orders[record, i - 1] = depth


@part(bare=True)
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


@part(bare=True)
def _take_back_spelling(nested, word, notes):
    """Undo ``_add_spelling``."""
    letters, spelling = nested.letters, nested.spelling
    length, newest = spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    for i in range(length + 1, 0, -1):
        node = find_context(letters, 0, spelling, i, np.int64(nested.orders[newest, i - 1]))
        count_stop(letters, node, -1)
        _take_back(letters, find_entry(letters, node, np.int64(spelling[i])), notes)
        _noted(notes)
    before = newest  # records form a ring, each knowing the next newer one: go round to find the one before
    while nested.records[before, model.AFTER] != newest:
        before = np.int64(nested.records[before, model.AFTER])
    drop_record(nested, word, newest, before)


@part(bare=True)
def _put_back_spelling(nested, word, notes):
    """Undo ``_remove_spelling``; the record becomes the newest instead of the oldest, which makes no difference."""
    letters, spelling = nested.letters, nested.spelling
    length, record = spell_word(nested, word), new_record(nested, word)
    for i in range(1, length + 2):
        depth = np.int64(notes[notes[0] - 2])  # below the two notes of the seat, which ``_put_back`` takes first
        node = make_context(letters, 0, spelling, i, depth)
        count_stop(letters, node, 1)
        _put_back(letters, entry_of(letters, node, np.int64(spelling[i]), True), notes)
        _noted(notes)
        nested.orders[record, i - 1] = depth


@part(bare=True)
def add_noted(nested, first, n, cuts, ends, stream, notes):
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


@part(bare=True)
def remove_noted(nested, first, n, cuts, ends, numbers, stream, notes):
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


@part(bare=True)
def take_back_words(nested, first, n, cuts, ends, numbers, notes):
    """Undo ``add_noted``."""
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


@part(bare=True)
def put_back_words(nested, first, n, cuts, ends, notes):
    """Undo ``remove_noted``."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0)
    for i in range(count + 1):
        word = intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(BOUNDARY)
        if _noted(notes):
            _put_back_spelling(nested, word, notes)
        node = context_of(nested, before, earlier, True)
        _put_back(nested.words, entry_of(nested.words, node, word, True), notes)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin
