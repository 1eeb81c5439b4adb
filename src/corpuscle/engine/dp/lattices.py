"""Lattices: the best way to cut a sequence into stretches, each with a score of its own.

A sequence of n symbols has the places 0..n; a stretch of k symbols is an edge from place t to place t + k. A path from
0 to n is a way to cut the sequence, its score the sum of the scores of its stretches. From left to right,

    table[t] = the largest table[t - k] + scores[t - k, k] over all k,

and ``back[t]`` is that k; the path is read from the end. This is the MAX of ``semirings``, a semi-Markov model without
labels; nobody needs the SUM yet.

Where the score of a stretch depends on the stretch before it, as in a language model of words, most edges have the same
weight, and ``segment.kernels.paths`` takes these together. The lattice of a decoder is that of its stacks: ``nbest``.

Sarawagi and Cohen, "Semi-Markov conditional random fields for information extraction", 2004.
"""

from __future__ import annotations

import math

from corpuscle.compiled import part

__all__ = ["best_cuts"]


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
