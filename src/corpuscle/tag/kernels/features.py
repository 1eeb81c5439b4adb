"""What a word and its neighbours say about its tag: features as places in a table of weights; and hashes of the
beginnings and endings of words, which are among them.

A feature is a template with values: (the ending of three letters, the form of the next word), say. It is never stored:
its hash is where its weights begin in a table of 2^bits. A label (a combination of UPOS, XPOS and FEATS) has parts: its
UPOS, each feature of its FEATS, and itself. The weight of a feature with part k stands k places behind the beginning
of the feature, so that the weights of all parts lie together in memory, while only those that were ever moved take
part in collisions. The score of a label is the sum over features and parts: rare labels learn from the parts that they
share with others.

The beginning of k letters has the FNV-1a hash of its bytes in their order, the ending that of its bytes in the opposite
order, so one pass from each side gives those of all lengths. Letters are told apart by UTF-8: a byte of the form
10xxxxxx goes on with a letter.

Ratnaparkhi, "A maximum entropy model for part-of-speech tagging", 1996, table 1 (templates); Mueller, Schmid and
Schuetze, "Efficient higher-order CRFs for morphological tagging", 2013, section 3.3 (parts of labels); Weinberger,
Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale multitask learning", 2009; Fowler, Noll, Vo
and Eastlake, "The FNV non-cryptographic hash algorithm", 2012; Brants, "TnT: a statistical part-of-speech tagger",
2000, section 2.3 (endings of unknown words).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

_FIRST, _SECOND, _THIRD, _TEMPLATE, _SPREAD = (np.uint64(odd) for odd in (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x8EBC6AF09C88C6E3, 0xBF58476D1CE4E5B9
))  # fmt: skip
_STEPS = 1000
"""Where the templates of steps from label to label begin."""


class Words(NamedTuple):
    """The words of a text.

    - ``starts``: int64 (n_sentences + 1,), where sentences begin; ``tokens``: int32 (n_words,), rows of ``values``;
    - ``values``: uint64 (types + 2, columns), what is known of each type, 0 for nothing; the last two rows stand before
      and behind a sentence;
    - ``entries``: int32 (types,), its row of the lexicon, -1 for none; ``open``: bool (types,), it may have others;
    - ``templates``: int32 (templates, 3, 2), up to three pairs of a distance and a column, -1 for no column.
    """

    starts: np.ndarray
    tokens: np.ndarray
    values: np.ndarray
    entries: np.ndarray
    open: np.ndarray
    templates: np.ndarray


class Labels(NamedTuple):
    """The labels and their parts.

    - ``starts`` int64 (labels + 1,), ``parts`` int32: the parts of each label, the coarsest one first;
    - ``n_parts``: how many there are, the labels themselves not counted;
    - ``lexicon_starts`` int64 (entries + 1,), ``lexicon`` int32: the labels of each entry; ``open`` int32: those that
      unknown words may have, the most frequent one first.
    """

    starts: np.ndarray
    parts: np.ndarray
    n_parts: int
    lexicon_starts: np.ndarray
    lexicon: np.ndarray
    open: np.ndarray


@part(inline=True)
def _place(value, shift):
    key = (value ^ (value >> np.uint64(32))) * _SPREAD
    return np.int64((key ^ (key >> np.uint64(29))) * _SPREAD >> shift)


@part(inline=True)
def _row(words, first, last, i):
    """The row of values at word i of a sentence from ``first`` to ``last``."""
    if i < first:
        return len(words.values) - 2
    return len(words.values) - 1 if i >= last else words.tokens[i]


@part
def local_features(words, first, last, i, shift, places):
    """``places`` int64 := where the features of word i of a sentence begin; returns how many."""
    count = 0
    for t in range(len(words.templates)):
        value, given = np.uint64(t) * _TEMPLATE, True
        for k in range(3):
            column = words.templates[t, k, 1]
            if column >= 0:
                part = words.values[_row(words, first, last, i + words.templates[t, k, 0]), column]
                given = given and part != 0
                value += part * (_FIRST if k == 0 else _SECOND if k == 1 else _THIRD)
        if given:
            places[count] = _place(value, shift)
            count += 1
    return count


@part(inline=True)
def score_of(weights, place, label, labels):
    """The weight of a label at the place of a feature: its own and those of its parts."""
    total = weights[place + labels.n_parts + label]
    for k in range(labels.starts[label], labels.starts[label + 1]):
        total += weights[place + labels.parts[k]]
    return total


@part
def step_places(words, i, before, previous, labels, shift, places):
    """``places[:5]`` := where the features of a step begin, from the labels ``before`` and ``previous`` (-1: none) to
    that of word i."""
    coarse_b = labels.parts[labels.starts[before]] + 1 if before >= 0 else 0
    coarse_p = labels.parts[labels.starts[previous]] + 1 if previous >= 0 else 0
    b, p = np.uint64(coarse_b + 1) * _FIRST, np.uint64(coarse_p + 1) * _SECOND
    whole = np.uint64(previous + 2) * _THIRD
    word, first = words.values[words.tokens[i], 1], np.uint64(_STEPS) * _TEMPLATE
    places[0] = _place(p + first, shift)
    places[1] = _place(whole + first + _TEMPLATE, shift)
    places[2] = _place(whole + word * _FIRST + first + np.uint64(2) * _TEMPLATE, shift)
    places[3] = _place(b + p + first + np.uint64(3) * _TEMPLATE, shift)
    places[4] = _place(b + whole + first + np.uint64(4) * _TEMPLATE, shift)


# ---- beginnings and endings


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
