"""Texts of equal length: long ones are sampled without replacement, short ones are filled up with replacement.

Mochihashi, Kikui and Kita, "Learning nonstructural distance metric by minimum cluster distortions", 2004, section 4.2.
Notation: the features of text t are found[starts[t]..starts[t + 1]].
"""

from __future__ import annotations

from corpuscle.compiled import kernel
from corpuscle.random import below, shuffle, stream


@kernel
def resample(found, starts, length, seed, purpose, drawn):
    """Fill ``drawn`` with ``length`` features of each text that has any: some of a long one, all of a short one and
    more of them at random."""
    at = 0
    for text in range(len(starts) - 1):
        here = found[starts[text] : starts[text + 1]].copy()
        if len(here) == 0:
            continue
        source = stream(seed, purpose, 0, text)
        if len(here) > length:
            shuffle(source, here)
        for i in range(length):
            drawn[at] = here[i] if i < len(here) else here[below(source, len(here))]
            at += 1
