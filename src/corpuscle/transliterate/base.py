"""What all transliterators share: candidates, ranked ways to write a name; names they have seen; and the way back."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.model import Model
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus
from corpuscle.text.origin import Listed
from corpuscle.text.overlap import item_hashes, seen
from corpuscle.text.pairs import Pair
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.settings import SpellingSettings

__all__ = ["Candidate", "Transliterator", "combined", "reversed_pairs"]


class Candidate(NamedTuple):
    """A way to write a name, and its score: a weighted sum of natural logs, comparable within one name only."""

    target: str
    score: float


class Transliterator(SpellingSettings, Model):
    """What learns from pairs of names, and which names it has seen."""

    def transliterate(
        self,
        names: Iterable[str],
        n_best: int = 1,
        sum: bool = False,
        beam: int | None = None,
        precision: str | None = None,
    ) -> list[list[Candidate]]:
        """The best ways to write each name, best first; an empty name has none."""
        raise TypeError(f"{type(self).__name__} does not say how it writes names")

    @property
    def known_letters(self) -> Vocab:
        """The letters of sources in the pairs that were learned from."""
        raise TypeError(f"{type(self).__name__} does not say which letters it knows")

    def unknown_letters(self, names: Iterable[str]) -> Counter[str]:
        """The letters of names that were in no pair, and in how many names each is: they are copied or left out.

        Spaces and what is neither a letter nor a mark (hyphens, digits) is copied by right.
        """
        found: Counter[str] = Counter()
        for name in names:
            letters = {letter for word in self.spelling.normal(name).split() for letter in self.spelling.symbols(word)}
            found.update(letter for letter in letters if letter not in self.known_letters and letter[0].isalpha())
        return found

    def overlap(self, pairs: Sequence[Pair]) -> tuple[float, float]:
        """The shares of names that were in the training and in the tuning pairs."""
        if not len(pairs):
            return 0.0, 0.0
        names = self._names(pairs)
        return float(seen(self.items_, names).mean()), float(seen(self.tuning_items_, names).mean())

    def _remember(self, training: Iterable[Pair], tuning: Iterable[Pair]) -> None:
        """Keep hashes of names that were learned from."""
        self.items_, self.tuning_items_ = item_hashes(self._names(training)), item_hashes(self._names(tuning))

    def _names(self, pairs: Iterable[Pair]) -> Corpus:
        return Corpus.from_sentences([list(self.spelling.normal(pair.source)) for pair in pairs])

    @staticmethod
    def signature(*parts: Iterable[Pair] | None) -> str:
        """A hash of lists of pairs."""
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            for source, targets in part or ():
                digest.update("\t".join([source, *targets, "\n"]).encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        return digest.hexdigest()

    def divided(self, pairs: Sequence[Pair], seed: int, most: int | None = None) -> tuple[list[Pair], list[Pair]]:
        """A seeded tenth held out (at most so many sources), so that no source is on both sides; a single source stays
        for training."""
        names = list(dict.fromkeys(self.spelling.normal(pair.source) for pair in pairs))
        count = min(max(1, len(names) // 10), len(names) - 1, len(names) if most is None else most)
        chosen = set(Random(seed, "transliterate/held out").shuffled(names)[:count])
        inside = [self.spelling.normal(pair.source) in chosen for pair in pairs]
        origin = getattr(pairs, "origin", None)
        parts = ([pair for pair, out in zip(pairs, inside, strict=True) if out is held] for held in (False, True))
        training, held_out = (Listed(part, origin and origin.loose()) for part in parts)
        return training, held_out


def combined(words: Sequence[Sequence[Candidate]], n_best: int, between: str = " ") -> list[Candidate]:
    """The best ways to write a name of several words from the ranked ways to write each: sums of scores, best first;
    ``between`` stands between words.

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
        found.append(Candidate(between.join(r[rank].target for r, rank in zip(words, ranks, strict=True)), -cost))
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
    origin = getattr(pairs, "origin", None)
    return Listed((Pair(target, tuple(found)) for target, found in sources.items()), origin and origin.loose())
