"""Candidates: ranked ways to write a name; and the way back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.text.pairs import Pair

__all__ = ["Candidate", "combined", "reversed_pairs"]


class Candidate(NamedTuple):
    """A way to write a name, and its score: a weighted sum of natural logs, comparable within one name only."""

    target: str
    score: float


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
