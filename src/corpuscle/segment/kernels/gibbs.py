"""Blocked Gibbs sampling of a nested model: a sentence goes, is cut anew with all its words at once, and comes back.

A sentence is drawn as if none of its words could change the probability of another; where words repeat within it, that
is not true. ``sweep`` can correct for this by a Metropolis-Hastings step: the drawn words are a proposal. With p
the probability of the words as they come one after the other (or, of the old words, as they went), and q their
probability while the sentence was out, the new words are accepted with probability
min(1, (p_new / q_new) / (p_old / q_old)). If they are not, everything is undone.

So the words of a sentence leave the model, or join it, and notes are made from which everything can be taken back,
table by table; where ``notes`` has no room nothing is noted. Notes are a stack of integers, ``notes[0]`` of them used:
for every customer how many tables it opened (or closed) on its way up, and the size of the table that it joined (or
left) then, 0 if it got past the root; a letter's depth before these; and after all notes of a word whether it was
spelled.

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
from corpuscle.segment.kernels.model import (
    BOUNDARY,
    base_probability,
    context_of,
    drop_record,
    drop_word,
    find_numbers,
    has_room,
    intern,
    new_record,
    spell_word,
    word_at,
    word_ends,
)

_GONE, _NEW = np.int64(0), np.int64(1)
"""Sizes of a table that is no more, and of one that has just been opened."""


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
    """Room for the notes on a sentence of at most so many letters."""
    return np.zeros(24 * (letters + 2), np.int32)


# ---- customers and their notes


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
    entry = entry_of(pool, node, dish, True)
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
        resize_table(pool, entry, _GONE, _NEW)
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
        if level < opened:
            resize_table(pool, entry, _NEW, _GONE)
        else:
            resize_table(pool, entry, size + 1, size)
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        entry = up


@part(bare=True)
def _put_back(pool, node, dish, notes):
    """Undo ``_go``."""
    entry, size = entry_of(pool, node, dish, True), _noted(notes)
    closed = _noted(notes)
    for level in range(closed + (size > 0)):
        if level < closed:
            resize_table(pool, entry, _GONE, _NEW)
        else:
            resize_table(pool, entry, size - 1, size)
        entry = np.int64(pool.entries[entry, col.UP])


# ---- the letters of a word


@part(bare=True)
def _add_spelling(nested, word, stream, notes):
    """The letters of a word sit down, and a new record keeps where."""
    letters, spelling, base = nested.letters, nested.spelling, nested.bases[model.LETTER_BASE]
    length, record, deepest = spell_word(nested, word), new_record(nested, word), len(letters.path) - 2
    for i in range(1, length + 2):
        dish = np.int64(spelling[i])
        depth, node = choose_node(letters, 0, spelling, i, min(i, deepest), dish, base, stream)
        if len(notes) > 0:
            _note(notes, depth)
        _come(letters, node, dish, base, stream, notes)
        nested.orders[record, i - 1] = depth


@part(bare=True)
def _remove_spelling(nested, word, stream, notes):
    """The letters of the oldest record of a word go. (All are exchangeable; so each has its turn.)"""
    letters, spelling = nested.letters, nested.spelling
    length, newest = spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    oldest = np.int64(nested.records[newest, model.AFTER])
    for i in range(length + 1, 0, -1):
        depth = np.int64(nested.orders[oldest, i - 1])
        node = find_context(letters, 0, spelling, i, depth)
        count_stop(letters, node, -1)
        if len(notes) > 0:
            _note(notes, depth)
        _go(letters, node, np.int64(spelling[i]), stream, notes)
    drop_record(nested, word, oldest, newest)


@part(bare=True)
def _take_back_spelling(nested, word, notes):
    """Undo ``_add_spelling``."""
    letters, spelling = nested.letters, nested.spelling
    length, newest = spell_word(nested, word), np.int64(nested.rows[word, model.LAST_RECORD])
    for i in range(length + 1, 0, -1):
        node = find_context(letters, 0, spelling, i, np.int64(nested.orders[newest, i - 1]))
        count_stop(letters, node, -1)
        _take_back(letters, node, np.int64(spelling[i]), notes)
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
        _put_back(letters, node, np.int64(spelling[i]), notes)
        _noted(notes)
        nested.orders[record, i - 1] = depth


# ---- the words of a sentence


@part(bare=True)
def add_sentence(nested, first, n, cuts, ends, stream, notes):
    """The words of a sentence come, one after the other, and at last its end. Where notes are made: returns the log of
    their probability, each when it comes."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin, total = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0), 0.0
    for i in range(count + 1):
        word = intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(BOUNDARY)
        base, node = base_probability(nested, word), context_of(nested, before, earlier, True)
        if len(notes) > 0:
            total += math.log(probability(nested.words, node, word, base))
        spelled = _come(nested.words, node, word, base, stream, notes) and word != BOUNDARY
        if spelled:
            _add_spelling(nested, word, stream, notes)
        if len(notes) > 0:
            _note(notes, spelled)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin
    return total


@part(bare=True)
def remove_sentence(nested, first, n, cuts, ends, numbers, stream, notes):
    """The words of a sentence go, the last one first, and their numbers if they were the last of their kind. Where
    notes are made: returns the log of their probability, each when it has gone."""
    count = word_ends(cuts, first, n, ends)
    find_numbers(nested, first, ends, count, numbers)
    total = 0.0
    for i in range(count, -1, -1):
        word, before = word_at(numbers, i, count), word_at(numbers, i - 1, count)
        earlier = word_at(numbers, i - 2, count)
        node = context_of(nested, before, earlier, False)
        spelled = _go(nested.words, node, word, stream, notes) and word != BOUNDARY
        if spelled:
            _remove_spelling(nested, word, stream, notes)
        if len(notes) > 0:
            _note(notes, spelled)
            base = base_probability(nested, word)
            total += math.log(probability(nested.words, context_of(nested, before, earlier, False), word, base))
        if spelled:
            drop_word(nested, word)
    return total


@part(bare=True)
def _take_back_words(nested, first, n, cuts, ends, numbers, notes):
    """Undo ``add_sentence``."""
    count = word_ends(cuts, first, n, ends)
    find_numbers(nested, first, ends, count, numbers)
    for i in range(count, -1, -1):
        word, before = word_at(numbers, i, count), word_at(numbers, i - 1, count)
        earlier = word_at(numbers, i - 2, count)
        opened = _noted(notes)
        if opened:
            _take_back_spelling(nested, word, notes)
        node = context_of(nested, before, earlier, False)
        _take_back(nested.words, node, word, notes)
        if opened:
            drop_word(nested, word)


@part(bare=True)
def _put_back_words(nested, first, n, cuts, ends, notes):
    """Undo ``remove_sentence``."""
    count = word_ends(cuts, first, n, ends)
    before, earlier, begin = np.int64(BOUNDARY), np.int64(BOUNDARY), np.int64(0)
    for i in range(count + 1):
        word = intern(nested, first + begin, ends[i] - begin) if i < count else np.int64(BOUNDARY)
        if _noted(notes):
            _put_back_spelling(nested, word, notes)
        _put_back(nested.words, context_of(nested, before, earlier, True), word, notes)
        before, earlier, begin = word, before, np.int64(ends[i]) if i < count else begin


# ---- sampling


@part(bare=True)
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


@part(bare=True)
def _propose(nested, lattice, sentences, first, n, stream):
    """One Metropolis-Hastings step; returns the log of the total of all segmentations."""
    cuts, ends, numbers, notes = sentences.cuts, sentences.ends, sentences.numbers, sentences.notes
    notes[0] = 0
    old = remove_sentence(nested, first, n, cuts, ends, numbers, stream, notes)
    fill(nested, lattice, nested.text, first, n, sentences.gaps)
    total = forward(nested.words, lattice, n, np.int64(SUM))
    # Both proposals are weighed while the sentence is out, with one lattice.
    old -= _log_proposal(nested.words, lattice, n, cuts, first, ends)
    for i in range(n):
        sentences.old_cuts[i] = cuts[first + i]
    draw(nested.words, lattice, n, cuts, first, stream)
    proposed = _log_proposal(nested.words, lattice, n, cuts, first, ends)
    new = add_sentence(nested, first, n, cuts, ends, stream, notes) - proposed
    if math.log(1.0 - uniform(stream)) >= new - old:
        _take_back_words(nested, first, n, cuts, ends, numbers, notes)
        for i in range(n):
            cuts[first + i] = sentences.old_cuts[i]
        _put_back_words(nested, first, n, cuts, ends, notes)
    return total


@kernel(bare=True)
def sweep(nested, lattice, sentences, order, at, last, stream):
    """Sample the segmentations of the sentences ``order[at:last]``; returns where there was no more room, or ``last``.

    A sentence leaves, if it was there, and comes back with words drawn anew, unless they are fixed; with room for
    notes, by a Metropolis-Hastings step. ``sentences.sums[0]`` += the log probabilities of those that are not fixed.
    """
    cuts, ends = sentences.cuts, sentences.ends
    exact, nothing = len(sentences.notes) > 0, sentences.notes[:0]
    for i in range(at, last):
        sentence = order[i]
        first, n = sentences.starts[sentence], sentences.starts[sentence + 1] - sentences.starts[sentence]
        if n == 0:
            continue
        if not has_room(nested, 2 * n if exact else n):
            return i
        if exact and sentences.seated[sentence] and not sentences.fixed[sentence]:
            sentences.sums[0] += _propose(nested, lattice, sentences, first, n, stream)
            continue
        if sentences.seated[sentence]:
            remove_sentence(nested, first, n, cuts, ends, sentences.numbers, stream, nothing)
        if not sentences.fixed[sentence]:
            fill(nested, lattice, nested.text, first, n, sentences.gaps)
            sentences.sums[0] += forward(nested.words, lattice, n, np.int64(SUM))
            draw(nested.words, lattice, n, cuts, first, stream)
        add_sentence(nested, first, n, cuts, ends, stream, nothing)
        sentences.seated[sentence] = 1
    return last
