"""Hashes of strings that are stored as bytes and offsets: one compiled pass, no Python objects.

FNV-1a (Fowler, Noll, Vo and Eastlake, "The FNV non-cryptographic hash algorithm", 2012), then the mixer of
``corpuscle.random``.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.random import mix

__all__ = ["string_hashes"]

_PRIME = np.uint64(0x100000001B3)


@kernel
def _hash_strings(text, offsets, hashes):
    for i in range(len(hashes)):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(text[j])) * _PRIME
        hashes[i] = mix(h)


def string_hashes(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each string (FNV-1a, then mixed), uint64 (n,): it depends on the string's bytes only.

    ``text`` is uint8, ``offsets`` int64 (n + 1,): string i is ``text[offsets[i]:offsets[i + 1]]``.
    """
    hashes = np.empty(len(offsets) - 1, np.uint64)
    _hash_strings(frozen(text, np.uint8), frozen(offsets, np.int64), hashes)
    return hashes
