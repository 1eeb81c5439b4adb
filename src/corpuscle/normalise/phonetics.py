"""Phonetic keys: codes that words share if they sound alike.

In Latin script double metaphone (``tokens.sounds``). For any script a table of rewrites: letters, or several of them,
and what they become in the code, perhaps nothing; of rewrites that fit at one place the longest is made, letters
without one stay, and of equal letters in a row one is left. A table comes from the user, or is learned from annotated
messages: letters that are typed for each other at least ``_OFTEN`` times are one sound, letters that go missing in a
fifth of the words that were changed are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from corpuscle.errors import InputError
from corpuscle.normalise.candidates import change_of
from corpuscle.normalise.tokens import sounds
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import read_table

__all__ = ["Phonetics", "learned_table", "read_sounds"]

_OFTEN = 3
_MISSING = 0.2


class Phonetics(NamedTuple):
    """How codes are made: cut to ``length`` letters (0: not at all); by a ``table``, or by double metaphone."""

    length: int = 0
    table: Mapping[str, str] | None = None

    def codes(self, word: str) -> tuple[str, ...]:
        """The codes of a word, at most two; none if nothing is left of it."""
        if self.table is None:
            return sounds(word, self.length)
        longest, parts, k = max(map(len, self.table), default=1), [], 0
        while k < len(word):
            size = next((n for n in range(min(longest, len(word) - k), 0, -1) if word[k : k + n] in self.table), 0)
            parts.append(self.table[word[k : k + size]] if size else word[k] if word[k].isalnum() else "")
            k += max(1, size)
        code = "".join(letter for letter, _ in groupby("".join(parts)))[: self.length or None]
        return (code,) if code else ()


def learned_table(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A table of letters from pairs of what was typed and what was meant, in lower case."""
    swapped: Counter[tuple[str, str]] = Counter()
    missing: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    for typed, meant in pairs:
        if typed != meant:
            one, other = change_of(typed, meant)
            letters.update(set(meant))
            if len(one) == len(other) == 1:
                swapped[min(one, other), max(one, other)] += 1
            elif not one:
                missing.update(set(other))
    table = {letter: letter for letter in sorted(letters)}
    for (one, other), count in sorted(swapped.items()):
        if count >= _OFTEN:
            first, second = sorted((table.setdefault(one, one), table.setdefault(other, other)))
            table = {letter: first if sound == second else sound for letter, sound in table.items()}
    for letter, count in missing.items():
        if count >= _OFTEN and count >= _MISSING * letters[letter]:
            table[letter] = ""
    return {letter: sound for letter, sound in table.items() if letter != sound}


def read_sounds(path: AnyPath) -> dict[str, str]:
    """A table: letters and what they become in the code (perhaps nothing), with a tab between, on each line."""
    table: dict[str, str] = {}
    for number, (letters, sound) in read_table(path, ("letters", "sound")):
        if not letters.strip() or any(char.isspace() for char in letters.strip() + sound.strip()):
            raise InputError(path, number, "needs letters, a tab and their sound, without spaces")
        table[letters.strip().lower()] = sound.strip()
    if not table:
        raise InputError(path, None, "the table of sounds is empty")
    return table
