"""The longest entries of a dictionary in a text of tokens.

An entry is a sequence of words; all its beginnings are in a hash table, by a number that is mixed from the words one by
one. From each token the text is followed as long as it is the beginning of an entry; the longest entry on the way is
taken, and the search goes on behind it.

Aho and Corasick, "Efficient string matching: an aid to bibliographic search", 1975, for the tree of beginnings; longest
entries from left to right as in Cohen and Sarawagi, "Exploiting dictionaries in named entity extraction", 2004.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.hashtable import find
from corpuscle.random import mix

_PRIME = np.uint64(0x9E3779B97F4A7C15)


@part(inline=True)
def longer(key, word):
    """The number of a beginning with one more word; that of no words is 0."""
    return mix((key * _PRIME) ^ word)


@kernel
def entries_of(words, starts, keys):
    """``keys`` uint64 (n_words,) := the number of each beginning of each entry; entry i has the words (their hashes)
    from ``starts[i]`` to ``starts[i + 1]``, and its whole is the last of them."""
    for i in range(len(starts) - 1):
        key = np.uint64(0)
        for j in range(starts[i], starts[i + 1]):
            key = longer(key, words[j])
            keys[j] = key


@kernel
def look_up(words, starts, index, keys, kinds, found, begins):
    """``found`` int32 (n_tokens,) := 1 + the kind of the entry that a token is in, or 0; ``begins`` bool: it is the
    first of one. ``words``: hashes of the tokens; ``starts``: of sentences; ``kinds`` int32: of each beginning, -1 if
    it is no entry."""
    for sentence in range(len(starts) - 1):
        i = starts[sentence]
        while i < starts[sentence + 1]:
            key, end, kind = np.uint64(0), i, 0
            for j in range(i, starts[sentence + 1]):
                key = longer(key, words[j])
                item = find(index, keys, key)
                if item < 0:  # no entry begins like this
                    break
                if kinds[item] >= 0:
                    end, kind = j + 1, kinds[item] + 1
            for j in range(i, end):
                found[j], begins[j] = kind, j == i
            i = max(end, i + 1)  # behind the entry: entries do not overlap
