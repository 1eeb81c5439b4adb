"""What all transliterators have in common."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from corpuscle.model import Model
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes, seen
from corpuscle.text.pairs import Pair
from corpuscle.transliterate.preparation import Spelling

__all__ = ["Candidate", "Transliterator", "combined", "reversed_pairs"]


class Candidate(NamedTuple):
    """A way to write a name, and its score: a weighted sum of natural logs, comparable within one name only."""

    target: str
    score: float


class Transliterator(Model, ABC):
    """Learns to write names in another script from examples."""

    @property
    @abstractmethod
    def spelling(self) -> Spelling:
        """How names become letters."""

    @abstractmethod
    def fit(self, pairs: Sequence[Pair], dev: Sequence[Pair] | None = None) -> Self:
        """Learn from names and their accepted targets; tune on ``dev``, or on a seeded tenth of the pairs."""

    @abstractmethod
    def transliterate(self, names: Iterable[str], n_best: int = 1) -> list[list[Candidate]]:
        """The best ways to write each name, best first."""

    def overlap(self, pairs: Sequence[Pair]) -> tuple[float, float]:
        """The shares of names that were in the training and in the tuning pairs."""
        if not len(pairs):
            return 0.0, 0.0
        names = self._names(pairs)
        return float(seen(self.items_, names).mean()), float(seen(self.tuning_items_, names).mean())

    def _remember(self, pairs: Iterable[Pair], tuning: Iterable[Pair]) -> None:
        """Keep hashes of the source names, to report overlap."""
        self.items_, self.tuning_items_ = item_hashes(self._names(pairs)), item_hashes(self._names(tuning))

    def _names(self, pairs: Iterable[Pair]) -> Corpus:
        return Corpus.from_sentences([list(self.spelling.normal(pair.source)) for pair in pairs])


def combined(words: Sequence[Sequence[Candidate]], n_best: int) -> list[Candidate]:
    """The best ways to write a name of several words from the ranked ways to write each: sums of scores, best first.

    >>> lists = [[Candidate("a", -1.0), Candidate("b", -2.0)], [Candidate("c", 0.0), Candidate("d", -0.5)]]
    >>> [(target, score) for target, score in combined(lists, 3)]
    [('a c', -1.0), ('a d', -1.5), ('b c', -2.0)]
    """
    if not words or not all(words):
        return []

    def entry(ranks: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return -sum(ranked[rank].score for ranked, rank in zip(words, ranks, strict=True)), ranks

    first = (0,) * len(words)
    heap, seen = [entry(first)], {first}
    found: list[Candidate] = []
    while heap and len(found) < n_best:
        cost, ranks = heapq.heappop(heap)
        found.append(Candidate(" ".join(r[rank].target for r, rank in zip(words, ranks, strict=True)), -cost))
        for position, rank in enumerate(ranks):
            longer = (*ranks[:position], rank + 1, *ranks[position + 1 :])
            if rank + 1 < len(words[position]) and longer not in seen:
                seen.add(longer)
                heapq.heappush(heap, entry(longer))
    return found


def reversed_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """The way back: every target with all the sources it was accepted for.

    >>> reversed_pairs([Pair("a", ("x", "y")), Pair("b", ("x",))])
    [Pair(source='x', targets=('a', 'b')), Pair(source='y', targets=('a',))]
    """
    sources: dict[str, dict[str, None]] = {}
    for source, targets in pairs:
        for target in targets:
            sources.setdefault(target, {})[source] = None
    return [Pair(target, tuple(found)) for target, found in sources.items()]
