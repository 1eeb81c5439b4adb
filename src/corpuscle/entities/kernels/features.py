"""Features of tokens as hashes, the longest entries of a dictionary, and the labels of words in other sentences.

**Features.** A template names up to three places beside a token, each by a distance and a column of values; a feature
is the template with the values at these places, mixed into one number of 64 bits. A template of which a value is
missing (0) gives no feature. Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for
segmenting and labeling sequence data", 2001, section 3; Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature
hashing for large scale multitask learning", 2009.

**Entries.** All beginnings of an entry, a sequence of words, are in a hash table, by a number that is mixed from the
words one by one. From each token the text is followed as long as it is the beginning of an entry; the longest entry on
the way is taken, and the search goes on behind it. Aho and Corasick, "Efficient string matching: an aid to
bibliographic search", 1975, for the tree of beginnings; longest entries from left to right as in Cohen and Sarawagi,
"Exploiting dictionaries in named entity extraction", 2004.

**Other sentences.** What a first pass says of a word nearby, and in the whole text. The occurrences of a word are
visited in order by a window that holds those of the sentences nearby, and the counts of its labels follow it, so that
all words together take one step for each token and end of a window. Krishnan and Manning, "An effective two-stage model
for exploiting non-local dependencies in named entity recognition", 2006, section 4: the label that most of the other
occurrences of a token have, in the document and in the corpus.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.hashtable import find
from corpuscle.random import mix

_FIRST, _SECOND, _THIRD = map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))


class Tokens(NamedTuple):
    """The tokens of some sentences.

    - ``starts``: int64 (n_sentences + 1,), where sentences begin;
    - ``values``: uint64 (n_tokens + 2, columns), what is known of each token, 0 for nothing; the last two rows stand
      before and behind every sentence;
    - ``templates``: int32 (templates, 3, 2), up to three pairs of a distance and a column, -1 for no column;
    - ``numbers``: uint64 (templates,), the number of each, which does not depend on what columns a text has.
    """

    starts: np.ndarray
    values: np.ndarray
    templates: np.ndarray
    numbers: np.ndarray


@part(bare=True)
def longest_of(starts, begin, end):
    """How many tokens the longest of the sentences from ``begin`` to ``end`` has, at least 1."""
    longest = 1
    for sentence in range(begin, end):
        longest = max(longest, starts[sentence + 1] - starts[sentence])
    return longest


@part(inline=True)
def feature(tokens, first, last, i, t):
    """The feature of template t at token i of a sentence from ``first`` to ``last``; 0 if a value is missing."""
    key = tokens.numbers[t] * _THIRD
    for k in range(3):
        column = tokens.templates[t, k, 1]
        if column >= 0:
            at = i + tokens.templates[t, k, 0]
            # A place outside of the sentence has the values of the last two rows.
            row = len(tokens.values) - 2 if at < first else len(tokens.values) - 1 if at >= last else at
            value = tokens.values[row, column]
            if value == 0:
                return np.uint64(0)
            key = mix((key ^ value) * (_FIRST if k == 0 else _SECOND))
    return key


@kernel
def features(tokens, begin, end, found):
    """``found`` uint64 (tokens, templates) := the features of all tokens of the sentences from ``begin`` to ``end``."""
    base = tokens.starts[begin]
    for sentence in range(begin, end):
        first, last = tokens.starts[sentence], tokens.starts[sentence + 1]
        for i in range(first, last):
            for t in range(len(tokens.templates)):
                found[i - base, t] = feature(tokens, first, last, i, t)


@part(inline=True)
def longer(key, word):
    """The number of a beginning with one more word; that of no words is 0."""
    return mix((key * _FIRST) ^ word)


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


SHARES = 5  # how many occurrences are in a mention: none, below a quarter, below three, below all, all


@part(inline=True)
def _majority(counts, without, n_labels):
    """1 + the most frequent label (the first of equal ones) and how many are not label 0; 0 if there is nothing."""
    total, best, most = 0, 0, 0
    for label in range(n_labels):
        count = counts[label] - without[label]
        total += count
        if count > most:
            best, most = label, count
    if total == 0:
        return 0
    inside = total - (counts[0] - without[0])
    share = (inside > 0) + (4 * inside >= total) + (4 * inside >= 3 * total) + (inside == total)
    return 1 + best * SHARES + share


@kernel
def elsewhere(groups, order, labels, sentences, regions, n_labels, out):
    """``out`` int32 (n_tokens, 2) := what most say nearby and in the whole text, see ``_majority``.

    - ``order`` int64: the tokens word by word, in the order of the text; those of word k are from ``groups[k]`` to
      ``groups[k + 1]``;
    - ``labels`` int32, ``sentences`` int64: of each token; label 0 is outside of mentions;
    - ``regions`` int64 (n_sentences, 2): the sentences near each, from and to; both only grow.
    """
    near, whole, own = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    for group in range(len(groups) - 1):
        begin, end = groups[group], groups[group + 1]
        near[:], whole[:] = 0, 0
        for k in range(begin, end):
            whole[labels[order[k]]] += 1
        first = last = k = begin
        while k < end:
            sentence = sentences[order[k]]
            # What the sentence itself says is no news: its own occurrences are left out of both counts.
            own[:] = 0
            same = k
            while same < end and sentences[order[same]] == sentence:
                own[labels[order[same]]] += 1
                same += 1
            # Sentences and regions only grow, so that both ends of the window only move on.
            while last < end and sentences[order[last]] < regions[sentence, 1]:
                near[labels[order[last]]] += 1
                last += 1
            while first < end and sentences[order[first]] < regions[sentence, 0]:
                near[labels[order[first]]] -= 1
                first += 1
            close, far = _majority(near, own, n_labels), _majority(whole, own, n_labels)
            for at in range(k, same):
                out[order[at], 0], out[order[at], 1] = close, far
            k = same
