"""First words for text without spaces, from how freely it goes on: branching entropy.

Inside a word the next letter is easy to guess, and the more so the more of the word has been read; at its end anything
may follow. So for each string of the text we take the entropy of the letter after it, less the entropy of the letter
after the string without its last letter; the same to the left; and compare both with what is usual for strings of that
length. The sum is the *autonomy* of the string. The first words are those with the greatest sum of autonomies, each
counted once a letter: a path through the lattice of all strings, from left to right (``best_cuts``),

    table[t] = the largest table[t - k] + scores[t - k, k] over all k,

where ``back[t]`` is that k, and the path is read from the end. That is the MAX of ``engine.dp.semirings``, a
semi-Markov model without labels. Sarawagi and Cohen, "Semi-Markov conditional random fields for information
extraction", 2004.

Magistry and Sagot, "Unsupervized word segmentation: the case for Mandarin Chinese", 2012.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part


class _Strings(NamedTuple):
    """The strings of one length: at each letter the number of the one that begins there (-1: a stretch ends before it
    does); how often each occurs; the numbers of its parts without the last and without the first letter."""

    at: np.ndarray
    counts: np.ndarray
    heads: np.ndarray
    tails: np.ndarray


def _longer(strings: _Strings, text: np.ndarray, left: np.ndarray, length: int) -> _Strings:
    """The strings of ``length`` letters, one more than those given; ``left``: letters to the end of the stretch."""
    places = np.flatnonzero(left >= length)
    heads, last = strings.at[places], text[places + length - 1]
    _, first, numbers, counts = np.unique(
        heads * (int(text.max(initial=0)) + 1) + last, return_index=True, return_inverse=True, return_counts=True
    )
    at = np.full(len(text), -1, np.int64)
    at[places] = numbers
    tails = strings.at[places[first] + 1] if length > 1 else np.zeros(len(first), np.int64)
    return _Strings(at, counts, heads[first], tails)


def autonomies(text: np.ndarray, stretches: np.ndarray, longest: int) -> np.ndarray:
    """float32 (letters, longest + 1): the autonomy of the string of each length at each letter; -inf where there is
    none.

    ``text``: int (letters,); ``stretches``: int64 (stretches + 1,), where stretches without a known boundary begin.
    Each end of a stretch is a letter that differs from all others.
    """
    left = np.repeat(stretches[1:], np.diff(stretches)) - np.arange(len(text))
    shorter = _Strings(np.zeros(len(text), np.int64), np.array([len(text)]), np.zeros(1, int), np.zeros(1, int))
    strings = _longer(shorter, text, left, 1)
    found = np.full((len(text), longest + 1), -np.inf, np.float32)
    after = before = np.zeros(1)  # the entropies of shorter strings; of the empty one, which all have, any number does
    for length in range(1, min(longest, int(left.max(initial=0))) + 1):
        longer = _longer(strings, text, left, length + 1)
        logs, total = longer.counts * np.log(longer.counts), len(strings.counts)
        entropies = [
            np.log(strings.counts) - np.bincount(part, logs, minlength=total) / strings.counts
            for part in (longer.heads, longer.tails)
        ]
        rises = entropies[0] - after[strings.heads], entropies[1] - before[strings.tails]
        autonomy = sum(rise - rise.mean() for rise in rises)
        places = strings.at >= 0
        found[places, length] = autonomy[strings.at[places]]
        (after, before), strings = entropies, longer
    return found


@part(bare=True)
def best_cuts(scores, allowed, table, back, cuts):
    """``cuts[t]`` := 1 where a stretch of the best way to cut a sequence of n symbols begins, for t = 0..n-1.

    ``scores``: (n, longest + 1), of the stretch of each length that begins at each symbol, -inf where there is none;
    ``allowed``: bool (n,), whether a stretch may begin inside the sequence. There must be a way. ``table`` float64 and
    ``back`` int32 (at least n + 1,) are room. Among equals, the one whose last stretch is the longest.
    """
    n, longest = len(scores), scores.shape[1] - 1
    table[0] = 0.0
    for t in range(1, n + 1):
        table[t] = -math.inf
    for begin in range(n):
        if table[begin] == -math.inf or (begin > 0 and not allowed[begin]):
            continue
        for k in range(1, min(longest, n - begin) + 1):
            score = table[begin] + scores[begin, k]
            if score > table[begin + k]:
                table[begin + k], back[begin + k] = score, k
    t = n
    while t > 0:
        t -= back[t]
        cuts[t] = 1


@kernel
def _best(scores, stretches, allowed, cuts):
    """``cuts`` := 1 where the words with the greatest sum of scores, each times its length, begin."""
    room = 1
    for i in range(len(stretches) - 1):
        room = max(room, stretches[i + 1] - stretches[i] + 1)
    table, back, weighted = np.empty(room), np.empty(room, np.int32), np.empty((room, scores.shape[1]))
    for i in range(len(stretches) - 1):
        first, last = stretches[i], stretches[i + 1]
        for at in range(first, last):
            for length in range(1, scores.shape[1]):
                weighted[at - first, length] = length * scores[at, length]
        best_cuts(weighted[: last - first], allowed[first:last], table, back, cuts[first:last])


def autonomous_words(text: np.ndarray, stretches: np.ndarray, allowed: np.ndarray, longest: int) -> np.ndarray:
    """Where words of at most so many letters begin: uint8 (letters,).

    ``allowed``: bool (letters,), whether a word may begin at a letter inside a stretch; no stretch of letters where
    none may is longer than ``longest``.
    """
    cuts = np.zeros(len(text), np.uint8)
    _best(autonomies(text, stretches, longest), stretches, allowed, cuts)
    return cuts
