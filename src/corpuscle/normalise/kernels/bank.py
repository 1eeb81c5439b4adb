"""Look-ups in a dependency bank: which words of a window speak for a word in their midst.

The bank has entries (context c, target w, offset d of the context seen from the target) with a value in (0, 1]. The
window of a place has, at each of ``OFFSETS``, a word of the lexicon or none, and the words that sound like what was
typed there. What speaks for w at a place: at each offset the entry of the word itself with w; where there is none, the
entries of words that sound like it, times ``share``.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

OFFSETS = (-3, -2, -1, 1, 2, 3)
SPAN = 7


class Entries(NamedTuple):
    """The bank: ``keys``, int64, ascending, (context * ``words`` + target) * SPAN + offset + 3, each with a value,
    float32; ``words``: how many there are."""

    keys: np.ndarray
    values: np.ndarray
    words: int


class Windows(NamedTuple):
    """The windows of places: ``own``, int32 (n_places, 6), the word at each offset, -1: none; ``near``, int32, the
    words that sound like it, those of place p and offset o from ``starts[6 p + o]`` on, int64 (6 n_places + 1,)."""

    own: np.ndarray
    near: np.ndarray
    starts: np.ndarray


@part
def _add(bank, context, offset, share, own, found, slots, cursors, rows, values):
    """Go over the entries of a context at one offset whose targets have slots: those that are its ``own``, or that have
    ``found`` no such entry. Writes rows and values, times ``share``, at the cursors of the slots, which move on, where
    there is room for them."""
    at = np.searchsorted(bank.keys, np.int64(context) * bank.words * SPAN)
    end = (np.int64(context) + 1) * bank.words * SPAN
    while at < len(bank.keys) and bank.keys[at] < end:
        key = bank.keys[at]
        slot = slots[key // SPAN % bank.words]
        if slot >= 0 and key % SPAN - 3 == offset and (own or not found[slot]):
            found[slot] = found[slot] or own
            if cursors[slot] < len(rows):
                rows[cursors[slot]], values[cursors[slot]] = at, share * bank.values[at]
            cursors[slot] += 1
        at += 1


@kernel
def matching_entries(bank, windows, places, words, share, starts, rows, values):
    """Find what speaks for each of ``words`` (int32, -1: none) at each of ``places`` (int64), both (n,); words of one
    place follow each other and are distinct.

    Writes where the entries of each begin, int64 (n + 1,), their rows in the bank, int64, and their values, float64;
    returns how many there are, also where there is no room for all of them. The entries of every context are gone over
    once for all words of a place, first to count, then to write.
    """
    slots, size, begin = np.full(bank.words, -1, np.int64), 0, 0
    while begin < len(words):
        place, end = places[begin], begin + 1
        while end < len(words) and places[end] == place:
            end += 1
        for k in range(begin, end):
            if words[k] >= 0:
                slots[words[k]] = k - begin
        cursors = np.full(end - begin, len(rows))  # no room: count
        for turn in range(2):  # first count, then write
            for o in range(len(OFFSETS)):
                found = np.zeros(end - begin, np.bool_)
                if windows.own[place, o] >= 0:
                    own = windows.own[place, o]
                    _add(bank, own, OFFSETS[o], 1.0, True, found, slots, cursors, rows, values)
                if share > 0.0:
                    slot = place * len(OFFSETS) + o
                    for i in range(windows.starts[slot], windows.starts[slot + 1]):
                        near = windows.near[i]
                        _add(bank, near, OFFSETS[o], share, False, found, slots, cursors, rows, values)
            if turn == 0:
                for k in range(end - begin):
                    starts[begin + k] = size
                    size += cursors[k] - len(rows)
                    cursors[k] = starts[begin + k]
        for k in range(begin, end):  # only what was set is reset: the lexicon may be large
            if words[k] >= 0:
                slots[words[k]] = -1
        begin = end
    starts[len(words)] = size
    return size
