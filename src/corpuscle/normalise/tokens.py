"""The tokens of messages: which are looked at, how they are reduced before they are compared, and their case."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.text.characters import letters_of
from corpuscle.text.scripts import type_of
from corpuscle.text.tokens import character_classes

__all__ = ["LONGEST", "is_examined", "letters_of_word", "reduced", "sounds", "with_case"]

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
    return _WORD.fullmatch(character_classes(token)) is not None and not _is_mixed(token)


def _is_mixed(token: str) -> bool:
    """Whether the letters of a word are of several scripts."""
    return not token.isascii() and type_of("".join(char for char in token if char.isalpha())) == "mixed"


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
