"""From name pairs to pairs of symbol sequences: normalisation, words, accepted answers.

A name of several words is learned word by word if both sides have equally many. If only one side has several, they stay
together with the visible boundary ``SPACE`` between them. Anything else teaches nothing about single words, and is
dropped and counted.

Capitals: models learn from lower-cased names, and what they write gets the capitals of what it was written for.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpuscle.text.corpus import SPACE
from corpuscle.text.pairs import Pair
from corpuscle.text.scripts import clusters
from corpuscle.transliterate.base import Candidate

RATIO = 9
"""A pair one side of which is longer than this many times the other is a mistake."""

MATCHING = 0.9
"""Words match if at least this share of the names of several words has as many on both sides."""


@dataclass(frozen=True)
class Spelling:
    """How names become symbols: NFC, single spaces, lower-case unless told otherwise; code points or clusters."""

    units: str = "characters"
    lowercase: bool = True

    def normal(self, name: str) -> str:
        """A name as it is compared: words with single spaces between them.

        >>> Spelling().normal("  Ko\u0308ln  Deutz ")
        'k\u00f6ln deutz'
        """
        text = unicodedata.normalize("NFC", name)
        if self.lowercase:
            text = unicodedata.normalize("NFC", text.lower())
        return " ".join(text.split())

    def symbols(self, word: str) -> list[str]:
        """The symbols of a word (or of words joined by ``SPACE``)."""
        return clusters(word) if self.units == "graphemes" else list(word)


class WordPair(NamedTuple):
    """A word, its accepted targets, and their weights, which share one count of the name."""

    source: str
    targets: tuple[str, ...]
    weights: tuple[float, ...]


class Prepared(NamedTuple):
    """Word pairs, and how many names were dropped: for their words, and for their lengths."""

    words: list[WordPair]
    mismatched: int
    lopsided: int


def word_pairs(source: str, target: str) -> list[tuple[str, str]]:
    """The word pairs of a name pair, none if the words cannot be matched."""
    left, right = source.split(" "), target.split(" ")
    if len(left) == len(right):
        return list(zip(left, right, strict=True))
    if len(left) == 1 or len(right) == 1:
        return [(SPACE.join(left), SPACE.join(right))]
    return []


def words_match(pairs: Iterable[Pair]) -> bool:
    """Whether names of several words mostly have as many on both sides, or none has several.

    >>> words_match([Pair("deep river", ("river deep",)), Pair("hill", ("hill",))]), words_match([Pair("a b", ("ab",))])
    (True, False)
    """
    counts = [(len(source.split()), len(target.split())) for source, targets in pairs for target in targets]
    several = [one == other for one, other in counts if max(one, other) > 1]
    return sum(several) >= MATCHING * len(several)


def prepare(pairs: Iterable[Pair], spelling: Spelling, references: str = "first") -> Prepared:
    """Word pairs of name pairs. Of several accepted targets the ``first`` counts, or ``all`` count alike."""
    words: list[WordPair] = []
    mismatched = lopsided = 0
    for source, targets in pairs:
        source = spelling.normal(source)
        chosen = dict.fromkeys(map(spelling.normal, targets if references == "all" else targets[:1]))
        found = [split for split in (word_pairs(source, target) for target in chosen) if split]
        if not found:
            mismatched += 1
            continue
        by_word: defaultdict[tuple[int, str], defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for split in found:
            for position, (left, right) in enumerate(split):
                by_word[position, left][right] += 1.0 / len(found)
        before = len(words)
        for (_, left), rights in by_word.items():
            n = len(spelling.symbols(left))
            good = {
                right: weight
                for right, weight in rights.items()
                if max(n, (m := len(spelling.symbols(right)))) <= RATIO * min(n, m)
            }
            if good:
                words.append(WordPair(left, tuple(good), tuple(good.values())))
        lopsided += len(words) == before
    return Prepared(words, mismatched, lopsided)


def merged(words: Sequence[WordPair]) -> list[tuple[str, tuple[str, ...]]]:
    """The different sources, each with all its targets."""
    result: dict[str, dict[str, None]] = {}
    for source, targets, _ in words:
        result.setdefault(source, {}).update(dict.fromkeys(targets))
    return [(source, tuple(targets)) for source, targets in result.items()]


def capitalised_like(source: str, target: str) -> str:
    """A target with the capitals of its source, word by word where both have equally many words, otherwise those of
    the first word; unchanged where a script has no capitals.

    >>> capitalised_like("Anna KERN", "анна керн"), capitalised_like("Иван-Сергей", "ivan-sergei")
    ('Анна КЕРН', 'Ivan-Sergei')
    """
    for between in (" ", "-"):
        sources, targets = source.split(between), target.split(between)
        if len(sources) == len(targets) > 1:
            return between.join(map(capitalised_like, sources, targets))
    cased = [letter for letter in source if letter.lower() != letter.upper()]
    if len(cased) > 1 and all(letter.isupper() for letter in cased):
        return target.upper()
    if not cased or not cased[0].isupper():
        return target
    first = next((i for i, letter in enumerate(target) if letter.lower() != letter.upper()), len(target))
    return target[:first] + target[first : first + 1].title() + target[first + 1 :]


def with_case(names: Sequence[str], found: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
    """Ranked ways to write names, with the capitals of the names."""
    return [
        [Candidate(capitalised_like(name, target), score) for target, score in ranked]
        for name, ranked in zip(names, found, strict=True)
    ]
