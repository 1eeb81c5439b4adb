"""A typed word and the words of a lexicon: which are near it, how alike they are, and how likely it comes from them.

**The symmetric deletion index** finds all words within a small edit distance. If the edit distance of two strings is at
most d, some string is left of both after at most d deletions each. That also holds of their first ``PREFIX`` letters:
an alignment with e <= d edits aligns the first p letters of one with the first q <= p of the other (or the other way
round), of which at most e are not matched on either side. So every word is filed under the hashes of its beginning
after at most d deletions; a query looks up its own, and what is found is verified.

Notation: ``letters`` int32, the letters of all words one after the other; ``starts`` int64 (n_words + 1,).

Mor and Fraenkel, "A hash code method for detecting and correcting spelling errors", 1982; Levenshtein, "Binary codes
capable of correcting deletions, insertions, and reversals", 1966; Ukkonen, "Algorithms for approximate string
matching", 1985 (the band).

**A noisy channel** of formation types says how a typed word may come from the word that was meant.

P(t | s) = sum over types wf of P(wf) P(t | s, wf), t typed, s meant:

- stylistic: before each letter of s and before the end, with probability ``insert`` one of the ``alphabet`` is
  inserted; else the next letter of s is kept, substituted (by another letter) or deleted. The forward algorithm sums
  over all ways to t: D[i, j], i letters of s are read and j of t are written;
- subsequence: each letter of s is kept, independently, with probability k_i (first letter, consonant, vowel): D_i(j) =
  D_{i-1}(j) (1 - k_i) + D_{i-1}(j-1) k_i [t_j = s_i];
- prefix clipping, suffix clipping: any proper beginning (end) of s, all alike.

Each sums to one over all t (clippings where s has two letters at least).

Cook and Stevenson, "An unsupervised model for text message normalization", 2009 (the types and how often each is met in
their development text); the similarities are those of Han and Baldwin, "Lexical normalisation of short text messages:
makn sens a #twitter", 2011, with L the length of the longer word.

The parameters are estimated by expectation maximisation (``add_counts``). Given t and s, the posterior of the formation
types is proportional to P(wf) P(t | s, wf). Within stylistic changes, with F and B the forward and backward sums over
D[i, j] (i letters of s are read, j of t written), a step from (i, j) to (i', j') of probability p is taken F[i, j] p
B[i', j'] / P(t | s) times. Within subsequences letter i of s is kept F[i-1, j-1] k_i B[i, j] / P(t | s) times, summed
over j with t_j = s_i. A new parameter is the share of its own counts (Dempster, Laird and Rubin, "Maximum likelihood
from incomplete data via the EM algorithm", 1977)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.measure.overlaps import common_subsequence, edit_distance
from corpuscle.random import mix

PREFIX = 7
MOST = 1 + PREFIX + PREFIX * (PREFIX - 1) // 2
"""The largest number of strings that up to two deletions leave of ``PREFIX`` letters."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio, odd: spreads keys that follow each other


class Spelled(NamedTuple):
    """The letters of words, int32, one after the other, and where each word begins, int64 (n_words + 1,)."""

    letters: np.ndarray
    starts: np.ndarray


@part(inline=True)
def _without(word, n, a, b):
    """The hash of the first n letters of a word without those at a and b."""
    key = np.uint64(1)
    for i in range(n):
        if i != a and i != b:
            key = mix((key * _PRIME) ^ np.uint64(word[i]))
    return key


@part
def _deletions(word, distance, keys):
    """Write the hashes of the beginning of a word after up to ``distance`` (at most 2) deletions, each once; how
    many."""
    n = min(len(word), PREFIX)
    count = 0
    for a in range(-1, n if distance > 0 else 0):  # -1 and -1: none is deleted; a and a: one
        for b in range(a, n if distance > 1 and a >= 0 else a + 1):
            key, k = _without(word, n, a, b), 0
            while k < count and keys[k] != key:
                k += 1
            if k == count:
                keys[count] = key
                count += 1
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
    """Write the words within the distance of the index, with repetitions; how many, or -1 if there is no room."""
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


SIMILARITIES = 5
"""Columns of ``compare_words``: log P(t | s), exp(-edit distance), and common prefix, suffix and subsequence by L."""
_LEAST = 1e-300  # instead of 0, whose logarithm would rule a candidate out whatever else speaks for it


class Channel(NamedTuple):
    """Probabilities of the channel: ``insert``; ``keep``, ``substitute`` and ``delete``, which add up to one;
    ``alphabet``: how many letters there are; ``first``, ``consonant``, ``vowel``: how often each is kept in a
    subsequence; ``types``: float64 (4,), of stylistic changes, subsequences, prefixes and suffixes."""

    insert: float
    keep: float
    substitute: float
    delete: float
    alphabet: float
    first: float
    consonant: float
    vowel: float
    types: np.ndarray


@part
def _stylistic(t, s, channel):
    """P(t | s, stylistic)."""
    row, read = np.zeros(len(t) + 1), 1.0 - channel.insert
    row[0] = 1.0
    for i in range(len(s) + 1):
        for j in range(len(t)):
            row[j + 1] += row[j] * channel.insert / channel.alphabet
        if i < len(s):
            before = row[0]
            row[0] = before * read * channel.delete
            for j in range(len(t)):
                moved = channel.keep if s[i] == t[j] else channel.substitute / (channel.alphabet - 1.0)
                now = row[j + 1]
                row[j + 1] = read * (now * channel.delete + before * moved)
                before = now
    return row[len(t)] * read


@part
def _subsequence(t, s, vowels, channel):
    """P(t | s, subsequence)."""
    if len(t) > len(s):
        return 0.0
    row = np.zeros(len(t) + 1)
    row[0] = 1.0  # row[j]: j letters of t are written; from right to left, so that each letter of s counts once
    for i in range(len(s)):
        kept = channel.first if i == 0 else channel.vowel if vowels[i] else channel.consonant
        for j in range(min(len(t), i + 1), -1, -1):
            row[j] *= 1.0 - kept
            if j > 0 and t[j - 1] == s[i]:
                row[j] += row[j - 1] * kept
    return row[len(t)]


@part
def _common(t, s, from_end):
    """How many letters the beginnings (or ends) of two words have in common."""
    n = 0
    while n < min(len(t), len(s)) and (t[-1 - n] == s[-1 - n] if from_end else t[n] == s[n]):
        n += 1
    return n


@part
def channel_parts(t, s, vowels, channel, parts):
    """Write P(t | s, wf) of the four formation types: ``parts``, float64 (4,)."""
    parts[0] = _stylistic(t, s, channel)
    parts[1] = _subsequence(t, s, vowels, channel)
    parts[2:] = 0.0
    if 0 < len(t) < len(s):
        if _common(t, s, False) == len(t):
            parts[2] = 1.0 / (len(s) - 1)
        if _common(t, s, True) == len(t):
            parts[3] = 1.0 / (len(s) - 1)


@kernel
def compare_words(t, spelled, vowels, words, channel, out):
    """Compare a typed word with some words: float64 (n_words, ``SIMILARITIES``). ``vowels``: bool, of all letters."""
    parts = np.empty(4)
    for k in range(len(words)):
        begin, end = spelled.starts[words[k]], spelled.starts[words[k] + 1]
        s = spelled.letters[begin:end]
        longer = max(1, len(t), len(s))
        channel_parts(t, s, vowels[begin:end], channel, parts)
        out[k, 0] = np.log(max(_LEAST, (parts * channel.types).sum()))
        out[k, 1] = np.exp(-edit_distance(t, s, longer))
        out[k, 2] = _common(t, s, False) / longer
        out[k, 3] = _common(t, s, True) / longer
        out[k, 4] = common_subsequence(t, s) / longer


@kernel
def sound_distances(own, codes, of_words, out):
    """The least edit distance of any of ``own`` codes and those of each word (``codes`` by number), int32 (n_words, 2),
    -1: none; infinite where there are none to compare. ``out``: float64 (n_words,)."""
    for k in range(len(of_words)):
        out[k] = np.inf
        for i in range(len(own.starts) - 1):
            a = own.letters[own.starts[i] : own.starts[i + 1]]
            for other in of_words[k]:
                if other >= 0:
                    b = codes.letters[codes.starts[other] : codes.starts[other + 1]]
                    out[k] = min(out[k], edit_distance(a, b, max(len(a), len(b))))


COUNTS = 15
"""Types (4); insert, keep, substitute, delete, end (5); kept and dropped of first letters, consonants, vowels (6)."""


@part
def _add_stylistic(t, s, channel, weight, counts):
    """Add the expected counts of stylistic changes, times ``weight``."""
    n, m = len(s), len(t)
    insert, read = channel.insert / channel.alphabet, 1.0 - channel.insert
    same = s.reshape(-1, 1) == t
    moves = np.where(same, channel.keep, channel.substitute / (channel.alphabet - 1.0))
    forward, backward = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    forward[0, 0], backward[n, m] = 1.0, read
    for i in range(n + 1):
        for j in range(m + 1):
            if j < m:
                forward[i, j + 1] += forward[i, j] * insert
            if i < n:
                forward[i + 1, j] += forward[i, j] * read * channel.delete
                if j < m:
                    forward[i + 1, j + 1] += forward[i, j] * read * moves[i, j]
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if j < m:
                backward[i, j] += insert * backward[i, j + 1]
            if i < n:
                backward[i, j] += read * channel.delete * backward[i + 1, j]
                if j < m:
                    backward[i, j] += read * moves[i, j] * backward[i + 1, j + 1]
    scale = weight / backward[0, 0]  # backward[0, 0] is P(t | s)
    for i in range(n + 1):
        for j in range(m + 1):
            here = forward[i, j] * scale
            if j < m:
                counts[4] += here * insert * backward[i, j + 1]
            if i < n:
                counts[7] += here * read * channel.delete * backward[i + 1, j]
                if j < m:
                    counts[5 if same[i, j] else 6] += here * read * moves[i, j] * backward[i + 1, j + 1]
    counts[8] += weight


@part
def _add_subsequence(t, s, vowels, channel, weight, counts):
    """Add how often letters of each class are kept and dropped, times ``weight``."""
    n, m = len(s), len(t)
    forward, backward = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    forward[0, 0], backward[n, m] = 1.0, 1.0
    kept = np.empty(n)
    for i in range(n):
        kept[i] = channel.first if i == 0 else channel.vowel if vowels[i] else channel.consonant
        for j in range(m + 1):
            forward[i + 1, j] += forward[i, j] * (1.0 - kept[i])
            if j < m and t[j] == s[i]:
                forward[i + 1, j + 1] += forward[i, j] * kept[i]
    for i in range(n - 1, -1, -1):
        for j in range(m + 1):
            backward[i, j] = backward[i + 1, j] * (1.0 - kept[i])
            if j < m and t[j] == s[i]:
                backward[i, j] += backward[i + 1, j + 1] * kept[i]
    scale = weight / backward[0, 0]
    for i in range(n):
        at = 9 + 2 * (0 if i == 0 else 2 if vowels[i] else 1)
        share = 0.0
        for j in range(m):
            if t[j] == s[i]:
                share += forward[i, j] * kept[i] * backward[i + 1, j + 1]
        counts[at] += share * scale
        counts[at + 1] += weight - share * scale


@kernel
def add_counts(t, spelled, vowels, words, shares, channel, counts):
    """Add the expected counts of a typed word that was meant as each of some words with these prior probabilities:
    ``counts``, float64 (COUNTS,). Returns log P(t), the sum over the words; -inf if no word explains it."""
    parts = np.empty((len(words), 4))
    total = 0.0
    for k in range(len(words)):
        begin, end = spelled.starts[words[k]], spelled.starts[words[k] + 1]
        channel_parts(t, spelled.letters[begin:end], vowels[begin:end], channel, parts[k])
        parts[k] *= channel.types * shares[k]
        total += parts[k].sum()
    if total <= 0.0:
        return -np.inf
    for k in range(len(words)):
        begin, end = spelled.starts[words[k]], spelled.starts[words[k] + 1]
        s, own = spelled.letters[begin:end], vowels[begin:end]
        counts[:4] += parts[k] / total
        if parts[k, 0] > 0.0:
            _add_stylistic(t, s, channel, parts[k, 0] / total, counts)
        if parts[k, 1] > 0.0:
            _add_subsequence(t, s, own, channel, parts[k, 1] / total, counts)
    return np.log(total)
