"""The tokens of messages: which are examined, how they are reduced before they are compared, and their case; and
phonetic codes, which words share if they sound alike.

The codes are those of double metaphone in Latin script (``sounds``), or follow a table of rewrites in any: letters, and
what they become in the code, perhaps nothing. The longest rewrite that fits is made, letters without one stay, and of
equal letters in a row one is left. A table is given, or learned from annotated messages: letters that are typed for
each other at least ``_OFTEN`` times are one sound, those missing in a fifth of the changed words that have them none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import InputError
from corpuscle.text.columns import Normalised
from corpuscle.text.files import AnyPath
from corpuscle.text.scripts import letters_of, type_of
from corpuscle.text.sentences import character_classes
from corpuscle.text.tables import read_table

LONGEST = 40
"""Longer tokens are left alone."""
_WORD = re.compile(r"[aAo0n][aAo0nmz]*(?:['\-][aAo0n][aAo0nmz]*)*")
_DIGITS = {"0": "o", "1": "one", "2": "to", "4": "for", "8": "ate"}


def is_examined(token: str) -> bool:
    """Whether a token may be changed at all: letters and digits, perhaps with hyphens and apostrophes inside; not
    numbers of several digits, mentions, tags, addresses, emoticons, or words of several scripts.

    >>> [is_examined(token) for token in ("b4", "can't", "2", "42", "@me", "#tag", "a.com", ":)", "...")]
    [True, True, True, False, False, False, False, False, False]
    """
    if len(token) > LONGEST or (len(token) > 1 and token.isdigit()):
        return False
    if _WORD.fullmatch(character_classes(token)) is None:
        return False
    return token.isascii() or type_of("".join(char for char in token if char.isalpha())) != "mixed"


def annotated_tokens(gold: Normalised) -> Iterator[tuple[str, str]]:
    """The tokens of annotated messages as typed and as meant."""
    return zip(chain.from_iterable(gold.corpus), gold.meant.strings(), strict=True)


def letters_of_word(word: str) -> np.ndarray:
    """The letters of one word: int32."""
    return frozen(letters_of([word])[0], np.int32)


def reduced(token: str, repeats: int) -> str:
    """A token in lower case whose runs of more than ``repeats`` equal letters are cut to that.

    >>> reduced("Gooooood", 3)
    'goood'
    """
    return re.sub(rf"(.)\1{{{repeats},}}", lambda match: match[1] * repeats, token.lower())


def with_case(form: str, typed: str) -> str:
    """A form in lower case as upper case or capitalised as the typed word is.

    >>> with_case("you", "U"), with_case("before", "B4"), with_case("tomorrow", "Tmrw"), with_case("you", "u")
    ('You', 'BEFORE', 'Tomorrow', 'you')
    """
    if len(typed) > 1 and typed.isupper():
        return form.upper()
    return form[:1].upper() + form[1:] if typed[:1].isupper() else form


def sounds(word: str, length: int) -> tuple[str, ...]:
    """The double metaphone codes of a word, primary and secondary, of at most ``length`` letters (0: all of them);
    none for words of other scripts than Latin. Digits are spelled out first, everything else but letters is left out.

    Philips, "The double metaphone search algorithm", 2000.
    """
    from metaphone import doublemetaphone

    spelled = "".join(_DIGITS.get(char, char) for char in unicodedata.normalize("NFD", word))
    letters = "".join(char for char in spelled if char.isalpha())
    if not letters.isascii():
        return ()
    codes = [code.replace(" ", "")[: length or None] for code in doublemetaphone(letters)]
    return tuple(dict.fromkeys(code for code in codes if code))


def change_of(typed: str, form: str) -> tuple[str, str]:
    """What is left of two words without their common beginning and then their common end.

    >>> change_of("talkin", "talking"), change_of("dese", "these")
    (('', 'g'), ('d', 'th'))
    """
    begin = 0
    while begin < min(len(typed), len(form)) and typed[begin] == form[begin]:
        begin += 1
    typed, form = typed[begin:], form[begin:]
    end = 0
    while end < min(len(typed), len(form)) and typed[-1 - end] == form[-1 - end]:
        end += 1
    return typed[: len(typed) - end], form[: len(form) - end]


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
