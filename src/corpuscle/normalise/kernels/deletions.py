"""All words within a small edit distance, without a look at the others: the symmetric deletion index.

If the edit distance of two strings is at most d, some string is left of both after at most d deletions each. That also
holds of their first ``PREFIX`` letters: an alignment of the strings with e <= d edits aligns the first p letters of
one with the first q <= p of the other (or the other way round), of which at most e are not matched on either side. So
every word is filed under the hashes of all that is left of its beginning after at most d deletions; a query looks up
its own, and what is found is verified. Nothing is lost, and a hash that two strings share does no harm.

Notation: ``letters`` int32, the letters of all words one after the other; ``starts`` int64 (n_words + 1,).

Mor and Fraenkel, "A hash code method for detecting and correcting spelling errors", 1982; Levenshtein, "Binary codes
capable of correcting deletions, insertions, and reversals", 1966; Ukkonen, "Algorithms for approximate string
matching", 1985 (the band).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.measure.overlaps import edit_distance
from corpuscle.random import mix

PREFIX = 7
MOST = 1 + PREFIX + PREFIX * (PREFIX - 1) // 2
"""So many strings at most are left of ``PREFIX`` letters after up to two deletions."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Spelled(NamedTuple):
    """The letters of words, int32, one after the other, and where each word begins, int64 (n_words + 1,)."""

    letters: np.ndarray
    starts: np.ndarray


@part(inline=True)
def _without(word, n, a, b):
    """The hash of the first n letters of a word without those at a and b."""
    key = np.uint64(1)
    for i in range(n):
        if i != a and i != b:  # -1 deletes nothing
            key = mix((key * _PRIME) ^ np.uint64(word[i]))
    return key


@part(inline=True)
def _file(keys, count, key):
    """Write a key behind ``count`` others unless it is one of them; returns how many there are."""
    for k in range(count):
        if keys[k] == key:
            return count
    keys[count] = key
    return count + 1


@part
def _deletions(word, distance, keys):
    """Write the hashes of what is left of the beginning of a word after up to ``distance`` (at most 2) deletions, each
    once; returns how many."""
    n = min(len(word), PREFIX)
    count = _file(keys, 0, _without(word, n, -1, -1))
    if distance > 0:
        for a in range(n):
            count = _file(keys, count, _without(word, n, a, -1))
            if distance > 1:
                for b in range(a + 1, n):
                    count = _file(keys, count, _without(word, n, a, b))
    return count


@kernel
def _postings(spelled, distance, keys, words):
    """File every word under its hashes; returns how many postings there are. ``keys``, ``words``: room for them."""
    own = np.empty(MOST, np.uint64)
    size = 0
    for word in range(len(spelled.starts) - 1):
        count = _deletions(spelled.letters[spelled.starts[word] : spelled.starts[word + 1]], distance, own)
        keys[size : size + count] = own[:count]
        words[size : size + count] = word
        size += count
    return size


class Postings(NamedTuple):
    """The index: hashes, uint64, ascending, each with a word that is filed under it, int32; and ``distance``."""

    keys: np.ndarray
    words: np.ndarray
    distance: int


def build_index(spelled: Spelled, distance: int) -> Postings:
    """The index of words for queries up to this distance, at most 2."""
    room = (len(spelled.starts) - 1) * (MOST if distance > 1 else 1 + PREFIX * distance)
    keys, words = np.empty(room, np.uint64), np.empty(room, np.int32)
    size = _postings(spelled, distance, keys, words)
    order = np.argsort(keys[:size], kind="stable")
    return Postings(frozen(keys[:size][order], np.uint64), frozen(words[:size][order], np.int32), distance)


@kernel
def _near(query, spelled, index, found):
    """Write the words within the distance of the index, as often as they are met; returns how many, or -1 if there is
    no room."""
    own = np.empty(MOST, np.uint64)
    size = 0
    for k in range(_deletions(query, index.distance, own)):
        at = np.searchsorted(index.keys, own[k])
        while at < len(index.keys) and index.keys[at] == own[k]:
            word = index.words[at]
            letters = spelled.letters[spelled.starts[word] : spelled.starts[word + 1]]
            if edit_distance(query, letters, index.distance) <= index.distance:
                if size == len(found):
                    return -1
                found[size] = word
                size += 1
            at += 1
    return size


def near_words(query: np.ndarray, spelled: Spelled, index: Postings) -> np.ndarray:
    """The words whose edit distance to a query (int32 letters) is at most that of the index, ascending: int32."""
    room = 4096
    while True:
        found = np.empty(room, np.int32)
        size = _near(query, spelled, index, found)
        if size >= 0:
            return np.unique(found[:size])
        room *= 4
