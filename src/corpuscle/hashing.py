"""Hashes of strings that are stored as bytes and offsets: one compiled pass, no Python objects.

FNV-1a (Fowler, Noll, Vo and Eastlake, "The FNV non-cryptographic hash algorithm", 2012), then the mixer of
``corpuscle.random``.

``hashes_of`` makes hashes that stand in place of the strings: models that look words up by them need no vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.random import mix

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


def hashes_of(strings: Sequence[str]) -> np.ndarray:
    """The hash of each string, 0 for an empty one: uint64 (n,).

    >>> hashes_of(["", "a"])[0], hashes_of(["a", "b", "a"])[0] == hashes_of(["a"])[0]
    (np.uint64(0), np.True_)
    """
    encoded = [string.encode() for string in strings]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    hashes = string_hashes(np.frombuffer(b"".join(encoded), np.uint8), offsets)
    hashes[np.diff(offsets) == 0] = 0
    return hashes


def find(hashes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Where each hash stands in ``among``, uint64 and ascending, or -1: int64 (n,)."""
    if len(among) == 0:
        return np.full(len(hashes), -1, np.int64)
    at = np.minimum(np.searchsorted(among, hashes), len(among) - 1)
    return np.where(among[at] == hashes, at, -1)
