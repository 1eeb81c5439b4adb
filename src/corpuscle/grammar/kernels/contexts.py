"""Hashes of what stands in a span and around it.

Klein and Manning, "A generative constituent-context model for improved grammar induction", 2002: the yield of a span is
its string of tags, its context the two tags around it, or the boundary of the sentence.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.dp.cky import cell_of
from corpuscle.random import mix

__all__ = ["keys_of_spans"]


@kernel
def keys_of_spans(symbols, lengths, boundary, yields, contexts):
    """Fill ``yields`` and ``contexts`` uint64 (n_spans,) for sentences of ``symbols`` int32, spans by width;
    ``boundary`` is the symbol outside of sentences. A context is the left symbol times 2^32 plus the right one."""
    begin, at = 0, 0
    for n in lengths:
        for i in range(n):
            key = np.uint64(1)
            left = symbols[begin + i - 1] if i > 0 else boundary
            for j in range(i + 1, n + 1):
                key = mix(key + np.uint64(symbols[begin + j - 1]) + np.uint64(1))
                right = symbols[begin + j] if j < n else boundary
                cell = at + cell_of(n, i, j)
                yields[cell] = key >> np.uint64(1)
                contexts[cell] = (np.uint64(left) << np.uint64(32)) + np.uint64(right)
        begin += n
        at += n * (n + 1) // 2
