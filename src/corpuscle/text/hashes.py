"""Hashes of strings in place of the strings: models that look words up by them need no vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.hashing import string_hashes

__all__ = ["find", "hashes_of"]


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
