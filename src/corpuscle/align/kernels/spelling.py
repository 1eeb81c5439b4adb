"""Spelling: how alike many pairs of strings are.

Edit distance by the dynamic program of Wagner and Fischer, "The string-to-string correction problem", 1974, in one
row; the similarity made of it is an orthographic feature of Dyer, Clark, Lavie and Smith, "Unsupervised word alignment
with arbitrary features", 2011, section 4.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel


@kernel
def similarities(left, left_starts, right, right_starts, pairs, first, last, similar):
    """(L - edit distance) / sqrt(L) of some pairs of strings, L being the length of the longer one.

    ``left`` and ``right`` are the characters of all strings (int32), ``..._starts`` where each begins (int64);
    ``pairs`` int32 (2, n) has the strings of each pair. Fills ``similar`` float64 (n,) from ``first`` to ``last``; 0
    where a string is empty.
    """
    longest = 1
    for k in range(first, last):
        longest = max(longest, right_starts[pairs[1, k] + 1] - right_starts[pairs[1, k]])
    row = np.empty(longest + 1, np.int32)
    for k in range(first, last):
        a, b = left_starts[pairs[0, k]], right_starts[pairs[1, k]]
        m, n = left_starts[pairs[0, k] + 1] - a, right_starts[pairs[1, k] + 1] - b
        if m == 0 or n == 0:
            similar[k] = 0.0
            continue
        for j in range(n + 1):
            row[j] = j
        for i in range(m):
            corner = row[0]
            row[0] = i + 1
            for j in range(n):
                above = row[j + 1]
                cost = corner if left[a + i] == right[b + j] else corner + 1
                row[j + 1] = min(cost, above + 1, row[j] + 1)
                corner = above
        similar[k] = (max(m, n) - row[n]) / math.sqrt(max(m, n))
