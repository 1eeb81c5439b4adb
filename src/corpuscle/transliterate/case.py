"""Capitals: models learn from lower-cased names, and what they write gets the capitals of what it was written for."""

from __future__ import annotations

from collections.abc import Sequence

from corpuscle.transliterate.base import Candidate

__all__ = ["capitalised_like", "with_case"]


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
