"""Memory: how the words of the pairs were written there.

A network that has met a word once or twice mostly writes it by its own rules; in names of several words most words have
been met. Here the network is the prior of what a word becomes: with c(w, t) the number of names in which t stood for w,

    P(t | w) = (c(w, t) + a P'(t | w)) / (c(w) + a)

where P' is the network's. A word that was never met has P'. MacKay and Peto, "A hierarchical Dirichlet language model",
1995, eq. 11; a Dirichlet prior of strength a.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from corpuscle.text.vocab import FIRST, Vocab

__all__ = ["Memory"]

STRENGTH = 0.5
"""The prior counts as much as half a name."""


class Memory:
    """Words with what stood for them. ``entries``: a vocabulary of word and target with a tab between them, counted."""

    def __init__(self, entries: Vocab):
        self.entries = entries

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Memory:
        """What some pairs of words leave; every pair is one name's."""
        counts = Counter(map("\t".join, pairs))
        return cls(Vocab.from_words(counts, list(counts.values())))

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """How often each target stood for a word."""
        found: dict[str, dict[str, int]] = {}
        for entry, count in zip(self.entries.strings[FIRST:], self.entries.counts[FIRST:].tolist(), strict=True):
            word, _, target = entry.partition("\t")
            found.setdefault(word, {})[target] = count
        return found

    def log(self, word: str, target: str, prior: float) -> float:
        """The log probability of a target, given the log of what the network says.

        >>> memory = Memory.of([("road", "r"), ("road", "r"), ("road", "ro")])
        >>> [round(math.exp(memory.log("road", target, math.log(0.7))), 3) for target in ("r", "o")]
        [0.671, 0.1]
        >>> round(memory.log("roads", "r", -2.0), 3)
        -2.0
        """
        if word not in self.counts:
            return prior
        seen = self.counts[word]
        count = math.log(seen[target]) if seen.get(target) else -math.inf
        return float(np.logaddexp(count, math.log(STRENGTH) + prior)) - math.log(sum(seen.values()) + STRENGTH)
