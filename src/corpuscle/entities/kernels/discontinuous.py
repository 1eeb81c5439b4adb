"""Candidates for mentions in two pieces, and their features: what a chain of tags rarely says, found by looking.

A candidate of a type is a left piece a..b and a right piece c..d of one sentence, each of at most ``LONGEST`` words,
with a gap of 1 to ``FARTHEST`` words between them. A left piece is one for a reason, and so is a right piece:

    left    KNOWN   it began a mention of the type in the training text, alone or followed by more words
            FOUND   it begins a mention that the chain found
            OPENED  the word behind it is one that opens gaps ("and", ",", "/")
            LINKED  its last word is one that ends left pieces ("of"), and its first word began mentions
            BESIDE  it stands before a mention that the chain found
    right   KNOWN   it ended a mention of the type
            FOUND   it ends a mention that the chain found
            HEAD    its last word often ends mentions of the type
            CLOSED  the word before it is one that closes gaps
            OTHER   it ends a mention of any type, found or known, or its last word often does

A left piece goes with a right piece that is KNOWN, FOUND or HEAD; one that is LINKED also with OTHER, one that is
KNOWN or FOUND also with CLOSED. All that is known of words is a ``Lexicon``: counts by numbers that are mixed from the
role of some words, a type, and the words; roles are the constants below. Features are numbers of buckets.

Dai, Karimi, Hachey and Paris, "An effective transition-based model for discontinuous NER", 2020, for the kinds of such
mentions; Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale multitask learning",
2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.hashtable import find
from corpuscle.entities.kernels.features import longer, longest_of
from corpuscle.random import mix

LONGEST, FARTHEST = 3, 10
BUCKETS = 1 << 17
N_FEATURES = 76
_GAP, _CHANCE = 30, 51  # the first slots of features of gaps and of what the chain says
WHOLE, LEFT, RIGHT, LEFT_PIECE, RIGHT_PIECE, FIRST, LAST, WORD, OPENER, CLOSER, LINKER, HERE, TAGGED = range(13)
"""The roles of words: a mention; its beginning or its end; a piece before or behind a gap; its first or last word; any
word; words that open or close gaps or end left pieces; a stretch of a document; a mention found in a document."""
_KNOWN, _FOUND, _OPENED, _LINKED, _BESIDE = 1, 2, 4, 8, 16
_HEAD, _CLOSED, _OTHER = 4, 8, 16
_OFTEN = 20  # a word often ends mentions if at least one in this number of its occurrences does, and two do
_PRIME, _SLOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


class Lexicon(NamedTuple):
    """Counts of words by their roles: ``table``, a hash table over ``keys`` uint64 (n,); ``counts`` int32 (n,)."""

    table: np.ndarray
    keys: np.ndarray
    counts: np.ndarray


class Text(NamedTuple):
    """The tokens of some sentences and what a chain says of them; there are T types.

    - ``starts``: int64 (n_sentences + 1,); ``documents``: int64 (n_sentences,), the document of each;
    - ``words``, ``endings``, ``outlines``: uint64 (n_tokens,), hashes of the words in lower case, of their last
      letters, and of what kinds of letters they have;
    - ``begins``, ``ends``: int32 (n_tokens, T), the last and first token of the mention found of each type that the
      token begins or ends, or -1; ``covers`` int32 (n_tokens, T): the first token of the one that it is in, or -1;
    - ``chances``: float64 (n_tokens, T + 1), how likely the token is in a mention of each type, and in one that has a
      gap or shares words.
    """

    starts: np.ndarray
    documents: np.ndarray
    words: np.ndarray
    endings: np.ndarray
    outlines: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    covers: np.ndarray
    chances: np.ndarray


@part(inline=True)
def key_of(role, type, string):
    """The number under which the count of some words stands; ``type`` 0 where it does not matter."""
    return mix((string ^ np.uint64(role + 1) * _SLOT) + np.uint64(type) * _PRIME)


@part(inline=True)
def _count(lexicon, role, type, string):
    item = find(lexicon.table, lexicon.keys, key_of(role, type, string))
    return 0 if item < 0 else np.int64(lexicon.counts[item])


@part(inline=True)
def _both(first, second):
    return mix(np.uint64(first) * _PRIME ^ np.uint64(second))


@part(inline=True)
def _stretch(words, first, last, key):
    """The number of the words from ``first`` to ``last``, behind those that have the number ``key``."""
    for i in range(first, last + 1):
        key = longer(key, words[i])
    return key


@part(inline=True)
def _often_ends(lexicon, type, word):
    word = longer(np.uint64(0), word)
    count = _count(lexicon, LAST, type, word)
    return count >= 2 and count * _OFTEN >= _count(lexicon, WORD, 0, word)


@kernel
def keys_of_roles(roles, words, starts):
    """The numbers, uint64 (n,), of stretches of ``words`` from ``starts[i]`` to ``starts[i + 1]`` in ``roles``, int64
    (n, 2), each a role and a type."""
    keys = np.zeros(len(roles), np.uint64)
    for i in range(len(roles)):
        keys[i] = key_of(roles[i, 0], roles[i, 1], _stretch(words, starts[i], starts[i + 1] - 1, np.uint64(0)))
    return keys


@kernel
def keys_of_spans(text, spans):
    """The numbers of mentions found in documents; ``spans`` int64 (n, 4): sentence, type, first and last token."""
    keys = np.zeros(len(spans), np.uint64)
    for i in range(len(spans)):
        document = np.uint64(text.documents[spans[i, 0]]) + np.uint64(1)
        string = _stretch(text.words, spans[i, 2], spans[i, 3], np.uint64(0))
        keys[i] = key_of(TAGGED, spans[i, 1] + 1, _both(document, string))
    return keys


@kernel
def sums(features, weights):
    """The sum of the weights of the features of each candidate, float64 (n,)."""
    found = np.zeros(len(features))
    for i in range(len(features)):
        for bucket in features[i]:
            if bucket >= 0:
                found[i] += weights[bucket]
    return found


@part(bare=True)
def _left_pieces(text, lexicon, first, last, t, kinds):
    """``kinds`` uint8 (n, LONGEST) := why the words from each token of a sentence, by length - 1, are a left piece."""
    words = text.words
    for a in range(first, last):
        key, start = np.uint64(0), 0
        for k in range(min(LONGEST, last - 1 - a)):
            b, kind = a + k, 0
            key = longer(key, words[b])
            kind |= _KNOWN * (_count(lexicon, LEFT, t + 1, key) + _count(lexicon, LEFT_PIECE, t + 1, key) > 0)
            kind |= _FOUND * (text.begins[a, t] >= b)
            kind |= _OPENED * (_count(lexicon, OPENER, 0, longer(np.uint64(0), words[b + 1])) > 0)
            if k == 0:
                start = _count(lexicon, FIRST, t + 1, key)
            elif start > 0:
                kind |= _LINKED * (_count(lexicon, LINKER, 0, longer(np.uint64(0), words[b])) > 0)
            kind |= _BESIDE * (text.begins[b + 1, t] > b + 1)
            kinds[a - first, k] = kind


@part(bare=True)
def _right_pieces(text, lexicon, first, last, t, kinds):
    """``kinds`` uint8 (n, LONGEST) := why the words from each token of a sentence, by length - 1, are a right piece."""
    words = text.words
    for c in range(first + 1, last):
        key, kind = np.uint64(0), 0
        closed = _count(lexicon, CLOSER, 0, longer(np.uint64(0), words[c - 1])) > 0
        for k in range(min(LONGEST, last - c)):
            d, kind = c + k, _CLOSED if closed else 0
            key = longer(key, words[d])
            for u in range(text.ends.shape[1]):
                mine = _KNOWN * (_count(lexicon, RIGHT, u + 1, key) + _count(lexicon, RIGHT_PIECE, u + 1, key) > 0)
                mine |= _FOUND * (0 <= text.ends[d, u] <= c)
                mine |= _HEAD * _often_ends(lexicon, u + 1, words[d])
                kind |= mine if u == t else 0
                kind |= _OTHER if mine & (_FOUND | _HEAD) else 0
            kinds[c - first, k] = kind


@part(inline=True)
def _fit_together(left, right):
    if right & (_KNOWN | _FOUND | _HEAD):
        return True
    return (left & _LINKED and right & _OTHER) or (left & (_KNOWN | _FOUND) and right & _CLOSED)


@kernel
def candidates(text, lexicon, begin, end, out):
    """``out`` int32 (n, 8) := sentence, type, a, b, c, d and the kinds of both pieces of all candidates in the
    sentences from ``begin`` to ``end``; returns how many there are, also where ``out`` has no room for them."""
    longest = longest_of(text.starts, begin, end)
    lefts, rights = np.zeros((longest, LONGEST), np.uint8), np.zeros((longest, LONGEST), np.uint8)
    found = 0
    for sentence in range(begin, end):
        first, last = text.starts[sentence], text.starts[sentence + 1]
        n = last - first
        for t in range(text.begins.shape[1]):
            lefts[:n], rights[:n] = 0, 0
            _left_pieces(text, lexicon, first, last, t, lefts)
            _right_pieces(text, lexicon, first, last, t, rights)
            for a in range(n):
                for k in range(LONGEST):
                    left, b = lefts[a, k], a + k
                    if left == 0:
                        continue
                    for c in range(b + 2, min(n, b + FARTHEST + 2)):
                        for j in range(LONGEST):
                            if rights[c, j] != 0 and _fit_together(left, rights[c, j]):
                                if found < len(out):
                                    row = out[found]
                                    row[0], row[1], row[2], row[3] = sentence, t, first + a, first + b
                                    row[4], row[5], row[6], row[7] = first + c, first + c + j, left, rights[c, j]
                                found += 1
    return found


@part(inline=True)
def _share_level(part, whole):
    """How many of some are of a kind, as one of eight levels."""
    return 0 if whole == 0 else 1 if part == 0 else min(7, 2 + int(5.0 * part / (whole + 0.5)))


@part(inline=True)
def _probability_level(chance):
    """A probability as one of eight levels."""
    level = 0
    for bound in (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9):
        level += chance >= bound
    return level


@part(inline=True)
def _put(row, slot, value):
    row[slot] = np.int32(mix(np.uint64(slot + 1) * _SLOT ^ np.uint64(value)) & np.uint64(BUCKETS - 1))
    return slot + 1


@part(inline=True)
def _with_type(row, slot, value, t):
    """Enter a feature alone, and once more together with the type."""
    slot = _put(row, slot, value)
    return _put(row, slot, _both(t + 1, value))


@part(inline=True)
def _level(lexicon, role, type, string):
    """A count as one of five levels."""
    count = _count(lexicon, role, type, string)
    return 0 if count == 0 else 1 if count == 1 else 2 if count < 4 else 3 if count < 10 else 4


@part(inline=True)
def _level_found(here, candidate, text, string):
    """How often a stretch was found as a mention in the document."""
    document = np.uint64(text.documents[candidate[0]]) + np.uint64(1)
    return _level(here, TAGGED, candidate[1] + 1, _both(document, string))


@part(bare=True)
def _word_features(text, lexicon, here, candidate, row):
    """Features of what the words are and were."""
    words, t = text.words, candidate[1]
    a, b, c, d = candidate[2], candidate[3], candidate[4], candidate[5]
    nothing, type = np.uint64(0), t + 1
    left, right = _stretch(words, a, b, nothing), _stretch(words, c, d, nothing)
    joined = _stretch(words, c, d, left)
    whole, other = _level(lexicon, WHOLE, type, joined), 0
    slot = _with_type(row, 0, whole, t)
    for u in range(text.begins.shape[1]):
        other = max(other, 0 if u == t else _level(lexicon, WHOLE, u + 1, joined))
    slot = _put(row, slot, other)
    begun, piece = _level(lexicon, LEFT, type, left), _level(lexicon, LEFT_PIECE, type, left)
    ended, tail = _level(lexicon, RIGHT, type, right), _level(lexicon, RIGHT_PIECE, type, right)
    alone = _level(lexicon, WHOLE, type, left), _level(lexicon, WHOLE, type, right)
    for level in (begun, piece, ended, tail, alone[0], alone[1]):
        slot = _with_type(row, slot, level, t)
    one, end = longer(nothing, words[a]), longer(nothing, words[d])
    starts = _share_level(_count(lexicon, FIRST, type, one), _count(lexicon, WORD, 0, one))
    ends = _share_level(_count(lexicon, LAST, type, end), _count(lexicon, WORD, 0, end))
    stretches = _level(here, HERE, np.uint64(text.documents[candidate[0]]), joined)
    found = _level_found(here, candidate, text, joined)
    for level in (8 * min(begun, 2) + min(ended, 2), 8 * min(piece, 2) + min(tail, 2), starts, ends, 8 * starts + ends,
                  stretches, found, (8 * stretches + found) * 8 + min(whole, 2)):  # fmt: skip
        slot = _put(row, slot, level)
    slot = _with_type(row, slot, left, t)
    slot = _with_type(row, slot, right, t)
    outer = _stretch(words, a, d, nothing)
    slot = _put(row, slot, _level(lexicon, WHOLE, type, outer))
    slot = _put(row, slot, _level_found(here, candidate, text, outer))
    if a > text.starts[candidate[0]]:
        before = _stretch(words, a, b, longer(nothing, words[a - 1]))
        both = _stretch(words, c, d, before)
        _put(row, slot, 8 * _level(lexicon, LEFT, type, before) + _level(lexicon, WHOLE, type, both))


@part(bare=True)
def _gap_features(text, lexicon, here, candidate, row):
    """Features of the gap, of what stands around, and of the two parts of a coordination."""
    words, t = text.words, candidate[1]
    a, b, c, d = candidate[2], candidate[3], candidate[4], candidate[5]
    nothing, type, n, slot = np.uint64(0), t + 1, c - b - 1, _GAP
    if n <= 3:
        _with_type(row, slot, _stretch(words, b + 1, c - 1, nothing), t)
    slot = _put(row, slot + 2, words[b + 1])
    slot = _put(row, slot, words[c - 1])
    slot = _with_type(row, slot, min(n, 8), t)
    opened, joints, at = _count(lexicon, OPENER, 0, longer(nothing, words[b + 1])) > 0, 0, -1
    for i in range(b + 1, c):
        if _count(lexicon, CLOSER, 0, longer(nothing, words[i])) > 0:
            joints, at = joints + 1, i
    slot = _put(row, slot, 4 * opened + 2 * (at == c - 1) + (joints > 0))
    slot = _put(row, slot, 16 * min(joints, 3) + min(n, 8))
    slot = _put(row, slot, words[a - 1] if a > text.starts[candidate[0]] else nothing)
    slot = _put(row, slot, words[d + 1] if d + 1 < text.starts[candidate[0] + 1] else nothing)
    for length in (b - a, d - c, (8 * (b - a) + d - c) * 8 + min(n, 4)):
        slot = _put(row, slot, length)
    for i in (a, b, d):
        slot = _put(row, slot, text.endings[i])
    if 0 <= at < c - 1:
        other = _stretch(words, at + 1, d, nothing)
        slot = _put(row, slot, 8 * _level(lexicon, WHOLE, type, other) + _level_found(here, candidate, text, other))
        alike = 2 * (text.outlines[b] == text.outlines[c - 1]) + (text.endings[b] == text.endings[c - 1])
        slot = _put(row, slot, alike)
        slot = _put(row, slot, _both(words[b], words[c - 1]))
        _put(row, slot, 8 * min(c - 1 - at, 7) + b - a)
    elif at >= 0:
        other = _stretch(words, a, b + 1, nothing)
        _put(row, slot + 4, 8 * _level(lexicon, WHOLE, type, other) + _level_found(here, candidate, text, other))


@part(bare=True)
def _chance_features(text, candidate, row):
    """Features of what the chain says."""
    t, chances, slot = candidate[1], text.chances, _CHANCE
    a, b, c, d = candidate[2], candidate[3], candidate[4], candidate[5]
    apart = types = chances.shape[1] - 1
    most_left, least_left, most_right, least_right, most_gap = 0.0, 1.0, 0.0, 1.0, 0.0
    apart_left, apart_right, other_left, other_right = 0.0, 0.0, 0.0, 0.0
    for i in range(a, d + 1):
        other = 0.0
        for u in range(types):
            other = max(other, chances[i, u] if u != t else 0.0)
        if i <= b:
            most_left, least_left = max(most_left, chances[i, t]), min(least_left, chances[i, t])
            apart_left, other_left = max(apart_left, chances[i, apart]), max(other_left, other)
        else:
            other_right = max(other_right, other)
            if i < c:
                most_gap = max(most_gap, chances[i, t])
            else:
                most_right, least_right = max(most_right, chances[i, t]), min(least_right, chances[i, t])
                apart_right = max(apart_right, chances[i, apart])
    for chance in (most_left, least_left, most_right, least_right, most_gap):
        slot = _put(row, slot, _probability_level(chance))
    slot = _put(row, slot, 8 * _probability_level(most_left) + _probability_level(most_right))
    slot = _put(row, slot, _probability_level(chances[b + 1, t]))
    slot = _put(row, slot, _probability_level(chances[c - 1, t]))
    slot = _put(row, slot, _probability_level(chances[a - 1, t]) if a > text.starts[candidate[0]] else 8)
    slot = _put(row, slot, _probability_level(chances[d + 1, t]) if d + 1 < text.starts[candidate[0] + 1] else 8)
    for chance in (apart_left, apart_right, min(apart_left, apart_right), other_left, other_right):
        slot = _put(row, slot, _probability_level(chance))
    slot = _put(row, slot, 2 * (text.ends[d, t] >= 0) + (text.begins[c, t] >= 0))
    slot = _put(row, slot, 2 * (text.begins[a, t] >= 0) + (text.ends[b, t] >= 0))
    inside = 2 * (text.covers[a, t] >= 0) + (text.covers[d, t] >= 0)
    slot = _put(row, slot, 2 * inside + (text.covers[a, t] == text.covers[d, t]))
    around = 0
    for u in range(types):
        between = 8 * (text.ends[d, u] >= 0) + 4 * (text.begins[c, u] >= 0)
        around |= between + 2 * (text.begins[a, u] >= 0) + (text.ends[b, u] >= 0)
    slot = _put(row, slot, around)
    for kind in (candidate[6], candidate[7]):
        slot = _with_type(row, slot, kind, t)
    slot = _put(row, slot, 32 * candidate[6] + candidate[7])
    _put(row, slot, t)


@kernel
def features(text, lexicon, here, found, out):
    """``out`` int32 (n, N_FEATURES) := the buckets of the features of candidates, -1 for none; ``here``: counts of the
    stretches of each document (``HERE``, the document as type) and of the mentions found in it (``TAGGED``)."""
    for k in range(len(found)):
        out[k] = -1
        _word_features(text, lexicon, here, found[k], out[k])
        _gap_features(text, lexicon, here, found[k], out[k])
        _chance_features(text, found[k], out[k])
