"""Tokens of running text in any script, by Unicode properties.

One idea: every character is replaced by one ASCII letter for its class, which gives a string of the same length, and a
regular expression over that string finds the tokens. So a rule such as "letters, with marks on them, joined by hyphens"
is written once and holds for Latin, Devanagari and Hebrew. Scripts without spaces (Thai, Chinese) are split at
punctuation only; finding words in them is the business of a segmenter.

The classes: ``A`` upper case, ``a`` lower case, ``o`` letters without case, ``0`` digits, ``n`` other numbers,
``m`` marks and what else clings to a letter, ``z`` the zero-width joiner, ``s`` white space, ``S`` non-breaking
spaces (which join groups of digits), ``N`` line ends, ``T`` sentence ends of many scripts, ``!`` exclamation
and question marks, ``e`` ellipsis, ``j`` dots that join letters, ``q`` quotation marks, ``(`` and ``)``
brackets, ``d`` dashes, ``X`` pictures, ``R`` flags, ``p`` the rest; full stop, comma, colon, slash, apostrophe,
hyphen, underscore, ``@ # & +`` stand for themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

__all__ = ["Classes", "character_classes", "split_words", "token_spans"]

_ITSELF = ".,:/_@#&+"
_APOSTROPHES = "'\u2019\uff07\u05f3\u05f4"
_HYPHENS = "-\u2010\u2011\u05be"
_CLINGING = frozenset([0xAD, 0x200C, 0x2060, 0x55B, 0x55C, 0x55E, *range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)])
"""Soft hyphen, joiners, the Armenian marks that stand inside a word, skin tones and flag tags."""
_NON_BREAKING = "\u00a0\u202f\u2007\u2009"
_SENTENCE_ENDS = frozenset(
    "\u0589\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u0f0d\u0f0e\u104b\u1362\u1367"
    "\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8\u1aa9\u1aaa\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b"
    "\u1c3c\u1c7e\u1c7f\u203c\u2047\u2048\u2049\u037e\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\uaa5d"
    "\uaa5e\uaa5f\uabeb\ufe52\ufe56\ufe57\uff01\uff0e\uff1f\uff61\U00011047\U00011048\U000110be\U000110bf\U000110c0"
    "\U000110c1\U00011141\U00011142\U00011143\U000111c5\U000111c6"
)
_SINGLE = {
    "\n": "N", "\u200d": "z", "\u2026": "e", "!": "!", "?": "!", "\u203d": "!", "\u00b7": "j", "\u0f0b": "j",
    "\u066b": ",", "\u066c": ",", '"': "q", "\u201a": "q", "\u201e": "q", "\u200b": "s", "\ufeff": "s",
}  # fmt: skip
_BY_CATEGORY = {
    "Lu": "A", "Lt": "A", "Ll": "a", "Lo": "o", "Lm": "o", "Co": "o", "Cn": "o",  # Cn: letters newer than this Python
    "Nd": "0", "Nl": "n", "No": "n", "Mn": "m", "Mc": "m", "Me": "m",
    "Zs": "s", "Zl": "s", "Zp": "s", "Cc": "s", "Cf": "s",
    "Ps": "(", "Pe": ")", "Pi": "q", "Pf": "q", "Pd": "d", "Pc": "_",
}  # fmt: skip


_KNOWN = {
    **dict.fromkeys(map(chr, _CLINGING), "m"),
    **dict.fromkeys(_SENTENCE_ENDS, "T"),
    **dict.fromkeys(_NON_BREAKING, "S"),
    **dict.fromkeys(_HYPHENS, "-"),
    **dict.fromkeys(_APOSTROPHES, "'"),
    **_SINGLE,
    **dict(zip(_ITSELF, _ITSELF, strict=True)),
}


def _class_of(code: int) -> str:
    char = chr(code)
    if char in _KNOWN:
        return _KNOWN[char]
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "R"
    category = unicodedata.category(char)
    if category == "So" and (code >= 0x1F000 or 0x2190 <= code <= 0x2BFF):
        return "X"
    return _BY_CATEGORY.get(category, "p")


class Classes(dict[int, str]):
    """A translation table from code points to the letters of their classes that fills itself."""

    def __init__(self, class_of: Callable[[int], str]):
        self.class_of = class_of

    def __missing__(self, code: int) -> str:
        self[code] = self.class_of(code)
        return self[code]


_classes = Classes(_class_of)


def character_classes(text: str) -> str:
    """The class of every character, as a string of the same length.

    >>> character_classes("Été 12!")
    'Aaas00!'
    """
    return text.translate(_classes)


_WORD = "(?:[aAo0n][mz]*+)++"
_TOKEN = re.compile(
    rf"""[aA][aA0+.\-]{{0,20}}+://[^sSN]*[^sSN.,:!T'q()ep]           # an address with a scheme
    | 0{{1,3}}(?:S000)++(?![0S])                               # groups of three digits
    | (?:[aAo][mz]*+\.){{2,}}+(?![aAo0n])                      # letters with full stops: U.S., т.е.
    | {_WORD}
      (?: (?: (?<=[aAomz0])'(?=[aAo0])                         # don't, 1'000
            | [\-j](?=[aAo0n]) | _+(?=[aAo0n])                 # well-known, col·lecció, snake_case
            | \.(?=[ao0n]|A(?![mz]*+a)) | (?<![am])\.(?=A)      # 3.14, example.com, but not end.Next
            | (?<=0)[,:/](?=0)                                 # 1,000 10:30 3/4
            | (?<=A)&(?=A) )                                   # R&D
          {_WORD} )*+
      (?: \+? (?:{_WORD})? @ {_WORD} (?: [.\-] {_WORD} )++ )?  # e-mail
    | [@\#]{_WORD}(?:_++{_WORD})*+                             # @name, #tag
    | X m*+ (?: z X m*+ )*+ | RR
    | \.\.++ | !++ | T++ | e++ | d++ | --++
    | [^sSN][mz]*+
    """,
    re.VERBOSE,
)


def token_spans(classes: str) -> Iterator[tuple[int, int]]:
    """Begin and end of every token of a text, given its classes; what lies between tokens is white space."""
    return (match.span() for match in _TOKEN.finditer(classes))


def split_words(text: str) -> str:
    """Text with a space between any two tokens of a line.

    >>> split_words("(Don't stop, e.g. at 3.14!)")
    "( Don't stop , e.g. at 3.14 ! )"
    """
    lines = text.split("\n")
    return "\n".join(
        " ".join([line[begin:end] for begin, end in token_spans(character_classes(line))]) for line in lines
    )
