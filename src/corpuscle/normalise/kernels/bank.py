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

from corpuscle.compiled import kernel

__all__ = ["OFFSETS", "SPAN", "Entries", "Windows", "matching_entries"]

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


@kernel
def _find(bank, context, target, offset):
    """The row of an entry, or -1."""
    key = (np.int64(context) * bank.words + target) * SPAN + offset + 3
    at = np.searchsorted(bank.keys, key)
    return at if at < len(bank.keys) and bank.keys[at] == key else -1


@kernel
def matching_entries(bank, windows, places, words, share, starts, rows, values):
    """Find what speaks for each of ``words`` (int32, -1: none) at each of ``places`` (int64), both (n,).

    Writes where the entries of each begin, int64 (n + 1,), their rows in the bank, int64, and their values, float64;
    returns how many there are, also where there is no room for all of them.
    """
    size = 0
    for k in range(len(words)):
        starts[k] = size
        for o in range(len(OFFSETS)):
            if words[k] < 0:
                continue
            slot = places[k] * len(OFFSETS) + o
            own, found = windows.own[places[k], o], -1
            if own >= 0:
                found = _find(bank, own, words[k], OFFSETS[o])
            if found >= 0:
                if size < len(rows):
                    rows[size], values[size] = found, bank.values[found]
                size += 1
            elif share > 0.0:
                for i in range(windows.starts[slot], windows.starts[slot + 1]):
                    found = _find(bank, windows.near[i], words[k], OFFSETS[o])
                    if found >= 0:
                        if size < len(rows):
                            rows[size], values[size] = found, share * bank.values[found]
                        size += 1
    starts[len(words)] = size
    return size
