"""Hashes of the beginnings and endings of words.

The beginning of k letters has the FNV-1a hash of its bytes in their order, the ending that of its bytes in the opposite
order, so one pass from each side gives those of all lengths. Letters are told apart by UTF-8: a byte of the form
10xxxxxx goes on with a letter.

Fowler, Noll, Vo and Eastlake, "The FNV non-cryptographic hash algorithm", 2012; endings tell the tags of unknown words
as in Brants, "TnT: a statistical part-of-speech tagger", 2000, section 2.3.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.random import mix

__all__ = ["hash_affixes"]

_PRIME, _BASIS = np.uint64(0x100000001B3), np.uint64(0xCBF29CE484222325)


@kernel
def hash_affixes(text, offsets, endings, beginnings):
    """``endings`` uint64 (n, k) and ``beginnings`` uint64 (n, m) := hashes of the affixes of 1, 2, ... letters, 0 where
    a word has no more letters than that; ``text`` uint8, ``offsets`` int64 (n + 1,)."""
    endings[:], beginnings[:] = 0, 0
    for i in range(len(endings)):
        h, letters = _BASIS, 0
        for j in range(offsets[i + 1] - 1, offsets[i], -1):
            h = (h ^ np.uint64(text[j])) * _PRIME
            if (text[j] & 0xC0) != 0x80:
                endings[i, letters] = mix(h)
                letters += 1
                if letters == endings.shape[1]:
                    break
        h, letters = _BASIS, 0
        for j in range(offsets[i], offsets[i + 1] - 1):
            h = (h ^ np.uint64(text[j])) * _PRIME
            if (text[j + 1] & 0xC0) != 0x80:
                beginnings[i, letters] = mix(h + _PRIME)
                letters += 1
                if letters == beginnings.shape[1]:
                    break
