"""Words in Latin letters by a rule of thumb: what the name of each character in Unicode begins with.

    ж  CYRILLIC SMALL LETTER ZHE -> zh      ب  ARABIC LETTER BEH -> b      한  HANGUL SYLLABLE HAN -> han
    м  CYRILLIC SMALL LETTER EM -> m        क  DEVANAGARI LETTER KA -> k   ね  HIRAGANA LETTER NE -> ne

Consonants are what stands before the first vowel of the name; vowels are one letter. It is no transcription: short
vowels that a script does not write are missing, and so are tones. It brings names and loan words of two scripts close
enough for an edit distance. Ideographs have no letters in their names and stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["plain", "romanise"]

_NAMED = re.compile(r"(?:LETTER|VOWEL SIGN|SYLLABLE|CHARACTER) (?:(?:SMALL|SHORT|LONG|FINAL|ARCHAIC|SARA) )*([A-Z]+)")
_AFTER_E = re.compile(r"E([FLMNRS])$")
_SILENT = re.compile(r"SOFT SIGN|HARD SIGN|VIRAMA|NUKTA|TATWEEL|SUKUN|SHADDA")
_VOWELS = "AEIOU"
_OTHER = {"YERU": "y", "YU": "yu", "YA": "ya", "IO": "yo", "IE": "e", "HAMZA": "", "AIN": "", "QOF": "k", "QAF": "k"}


def plain(word: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


@cache
def _letter(character: str) -> str:
    """A character in Latin letters, or as it is."""
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    if _SILENT.search(name):
        return ""
    found = _NAMED.search(name)
    if name.startswith("LATIN") or found is None:
        return plain(character)
    sound = found[1]
    if sound in _OTHER:
        return _OTHER[sound]
    if name.startswith(("HANGUL SYLLABLE", "HIRAGANA", "KATAKANA")):
        return sound.lower()
    if name.startswith("CYRILLIC") and (single := _AFTER_E.match(sound)):
        return single[1].lower()
    if sound[0] in _VOWELS:
        return sound[0].lower()
    return re.split(f"[{_VOWELS}]", sound)[0].lower()


def romanise(word: str) -> str:
    """A word in Latin letters, lower case, without accents.

    >>> romanise("Москва"), romanise("Αθήνα"), romanise("서울")
    ('moskva', 'athena', 'seoul')
    """
    composed = unicodedata.normalize("NFC", word.casefold())
    return plain("".join(map(_letter, composed)))
