"""Expected counts of the noisy channel, for its estimation by expectation maximisation.

The parameters are those of ``kernels.channel``. Given t and s, the posterior of the formation types is proportional to
P(wf) P(t | s, wf). Within stylistic changes, with F and B the forward and backward sums over D[i, j] (i letters of s
are read, j of t written), a step from (i, j) to (i', j') of probability p is taken F[i, j] p B[i', j'] / P(t | s)
times. Within subsequences letter i of s is kept F[i-1, j-1] k_i B[i, j] / P(t | s) times, summed over j with t_j = s_i.
A new parameter is the share of its own counts.

Cook and Stevenson, "An unsupervised model for text message normalization", 2009; Dempster, Laird and Rubin, "Maximum
likelihood from incomplete data via the EM algorithm", 1977.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.normalise.kernels.channel import channel_parts

__all__ = ["COUNTS", "add_counts"]

COUNTS = 15
"""Types (4); insert, keep, substitute, delete, end (5); kept and dropped of first letters, consonants, vowels (6)."""


@part
def _add_stylistic(t, s, channel, weight, counts):
    """Add the expected counts of stylistic changes, times ``weight``."""
    n, m = len(s), len(t)
    insert, read = channel.insert / channel.alphabet, 1.0 - channel.insert
    forward, backward = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    forward[0, 0], backward[n, m] = 1.0, read
    for i in range(n + 1):
        for j in range(m + 1):
            if j < m:
                forward[i, j + 1] += forward[i, j] * insert
            if i < n:
                forward[i + 1, j] += forward[i, j] * read * channel.delete
                if j < m:
                    moved = channel.keep if s[i] == t[j] else channel.substitute / (channel.alphabet - 1.0)
                    forward[i + 1, j + 1] += forward[i, j] * read * moved
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if j < m:
                backward[i, j] += insert * backward[i, j + 1]
            if i < n:
                backward[i, j] += read * channel.delete * backward[i + 1, j]
                if j < m:
                    moved = channel.keep if s[i] == t[j] else channel.substitute / (channel.alphabet - 1.0)
                    backward[i, j] += read * moved * backward[i + 1, j + 1]
    scale = weight / backward[0, 0]
    for i in range(n + 1):
        for j in range(m + 1):
            here = forward[i, j] * scale
            if j < m:
                counts[4] += here * insert * backward[i, j + 1]
            if i < n:
                counts[7] += here * read * channel.delete * backward[i + 1, j]
                if j < m and s[i] == t[j]:
                    counts[5] += here * read * channel.keep * backward[i + 1, j + 1]
                elif j < m:
                    moved = channel.substitute / (channel.alphabet - 1.0)
                    counts[6] += here * read * moved * backward[i + 1, j + 1]
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
