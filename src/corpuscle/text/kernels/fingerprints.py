"""Hashes of sentences from the hashes of their words, so that they do not depend on how a vocabulary numbers them.

h is mixed with one word after the other by the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", 2014), see ``corpuscle.random.mix``.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.random import mix

__all__ = ["hash_sentences"]

_STEP = np.uint64(0x9E3779B97F4A7C15)


@kernel
def hash_sentences(tokens, starts, type_hashes, hashes):
    for i in range(len(hashes)):
        h = _STEP
        for j in range(starts[i], starts[i + 1]):
            h = mix(h + type_hashes[tokens[j]]) + _STEP
        hashes[i] = h
