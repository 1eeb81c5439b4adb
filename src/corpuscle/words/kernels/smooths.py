"""Exponential smooths of a text: what stood before each token, and what stands after it, the nearer the heavier.

With a vector A[w] for each word w, the left smooth of token t by the rate alpha is

    s_t = (1 - alpha) s_(t-1) + alpha A[x_(t-1)],

zero at the start of a sentence; the right smooth is the same read backwards. A small rate remembers far, a large one
the next word alone; the smooths by several rates stand side by side.

Dhillon, Foster and Ungar, "Multi-view learning of word embeddings via CCA", 2011, algorithm 1.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part


@part
def _forget(row, before, word, rates):
    """Fill a row of smooths (rates * k,) from the row before it and the vector (k,) of the word that comes in."""
    k = len(word)
    for i in range(len(rates)):
        for c in range(k):
            row[i * k + c] = (1.0 - rates[i]) * before[i * k + c] + rates[i] * word[c]


@kernel
def smooth(tokens, starts, vectors, rates, left, right):
    """Fill ``left`` and ``right`` (n, rates * k) with the smooths of sentences; ``vectors`` (types, k) are A."""
    for sentence in range(len(starts) - 1):
        begin, end = starts[sentence], starts[sentence + 1]
        if begin == end:
            continue
        left[begin] = 0.0  # nothing stood before the first token, and nothing after the last
        right[end - 1] = 0.0
        for t in range(begin + 1, end):
            _forget(left[t], left[t - 1], vectors[tokens[t - 1]], rates)
        for back in range(1, end - begin):
            t = end - 1 - back
            _forget(right[t], right[t + 1], vectors[tokens[t + 1]], rates)


@kernel
def add_by_word(tokens, rows, sums):
    """Add the row (width,) of each token to that of its word in ``sums`` (types, width)."""
    for t in range(len(tokens)):
        total = sums[tokens[t]]
        for c in range(rows.shape[1]):
            total[c] += rows[t, c]


def smooths_of(
    tokens: np.ndarray, starts: np.ndarray, vectors: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The left and the right smooths of sentences, both float64 (n, rates * k)."""
    left, right = (np.empty((len(tokens), len(rates) * vectors.shape[1])) for _ in range(2))
    smooth(tokens, starts, vectors, rates, left, right)
    return left, right
