"""Text as characters: code points, or what readers take for one character (grapheme clusters).

Grapheme clusters follow UAX #29 (extended grapheme clusters) as far as the standard library knows the properties: every
code point becomes one letter for its class, and a regular expression over those letters finds the clusters. Three
properties are not in ``unicodedata`` and are approximated: Extended_Pictographic by the symbols of the emoji blocks,
Indic_Conjunct_Break by the consonants and viramas of the scripts that have it, Prepend by a short list.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.preprocessing import expand_tokens, types_as_lines
from corpuscle.text.sentences import Classes
from corpuscle.text.vocab import FIRST

SPACE = "\u2581"
"""The character that stands for white space between words; a real one in the text is written after a backslash."""

_ESCAPED = "\\" + SPACE

_PREPEND = frozenset([
    *range(0x600, 0x606),
    0x6DD,
    0x70F,
    0x890,
    0x891,
    0x8E2,
    0xD4E,
    0x110BD,
    0x110CD,
    0x111C2,
    0x111C3,
])
_EXTEND = frozenset([
    0x200C,
    0xFF9E,
    0xFF9F,
    *range(0x1F3FB, 0x1F400),
    *range(0xE0020, 0xE0080),
    # spacing marks that Unicode wants to extend: each is the second half of a vowel sign with a decomposition
    0x9BE,
    0x9D7,
    0xB3E,
    0xB57,
    0xBBE,
    0xBD7,
    0xCC2,
    0xCD5,
    0xCD6,
    0xD3E,
    0xD57,
    0xDCF,
    0xDDF,
    0x302E,
    0x302F,
])
_SYMBOLS = frozenset([0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299])
_VIRAMA = frozenset([0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xD4D])
_CONJOINING = (
    "DEVANAGARI LETTER",
    "BENGALI LETTER",
    "GUJARATI LETTER",
    "ORIYA LETTER",
    "TELUGU LETTER",
    "MALAYALAM LETTER",
)


def _class_of(code: int) -> str:
    """The letter for the class of a code point (see ``_CLUSTER``)."""
    char = chr(code)
    category = unicodedata.category(char)
    if char in "\r\n":
        return "Y" if char == "\r" else "J"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "H" if (code - 0xAC00) % 28 == 0 else "I"
    if code == 0x200D:
        return "Z"
    if code in _VIRAMA:
        return "N"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "R"
    if code in _PREPEND:
        return "P"
    if category in ("Mn", "Me") or code in _EXTEND:
        return "E"
    if category == "Mc" or code in (0xE33, 0xEB3):
        return "S"
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return "C"
    emoji = 0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x2BFF
    if code in _SYMBOLS or (emoji and category in ("So", "Sm", "Cn")):
        return "X"
    if category == "Lo" and unicodedata.name(char, "").startswith(_CONJOINING) and not _is_vowel(char):
        return "K"
    return "O"


def _is_vowel(char: str) -> bool:
    """Independent vowels of the Indic scripts do not join; they stand before the consonant KA in each block."""
    code = ord(char)
    return code & 0x7F < 0x15 or code & 0x7F in (0x60, 0x61) or 0x71 <= code & 0x7F <= 0x77


_classes = Classes(_class_of)
_CLUSTER = re.compile(
    r"""YJ | [CYJ]                             # control characters stand alone, but for CR LF
    | P* (?: RR                                # a flag
           | L* (?: HV* | I | V+ ) T* | L+ | T+ # a Hangul syllable
           | X (?: E* Z X )*                   # an emoji sequence
           | K (?: [ENZ]* N [ENZ]* K )*        # an Indic conjunct
           | [^CPYJ]
         ) [ENZS]*
    | P+ [ENZS]*
    """,
    re.VERBOSE,
)


def clusters(text: str) -> list[str]:
    """The extended grapheme clusters of a text.

    >>> len(clusters("e\\u0301a")), len(clusters("\\U0001F468\\u200D\\U0001F469\\u200D\\U0001F467"))
    (2, 1)
    """
    if text.isascii() and "\r" not in text:
        return list(text)
    return [text[m.start() : m.end()] for m in _CLUSTER.finditer(text.translate(_classes))]


def letters_of(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The code points of texts, int32, one after the other, and where each begins."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
    return codes, starts_of(map(len, texts))


def spell_out(corpus: Corpus, units: str) -> Corpus:
    """A corpus of words as a corpus of its characters (``characters`` or ``graphemes``), ``SPACE`` between words.

    ``SPACE`` is always the first ordinary type; white space at the ends of lines is not counted.
    """
    split = clusters if units == "graphemes" else list
    types = types_as_lines(corpus.vocab).decode().split("\n")[:-1]
    # Every word brings the space before it; the one at the start of a sentence is taken away again.
    lines = [" ".join([SPACE, *(_ESCAPED if unit == SPACE else unit for unit in split(word))]) for word in types]

    from corpuscle.text.scan import Scanner

    scanner = Scanner()
    scanner.feed("\n".join([SPACE, *lines]).encode(), None)
    units_of, starts, vocab = scanner.finish()
    # The reserved symbols stay whole; line 0 made sure that SPACE has its number even in an empty text.
    reserved = np.array([FIRST, 0, FIRST, 1, FIRST, 2], np.int32)
    units_of = np.concatenate([reserved, units_of[1:]])
    starts = np.concatenate([[0, 2, 4], starts[1:] - 1 + len(reserved)])
    spelled = expand_tokens(corpus, units_of, starts, vocab)
    keep = np.ones(len(spelled.tokens), bool)
    lengths = spelled.lengths
    keep[spelled.sentence_starts[:-1][lengths > 0]] = False
    tokens = spelled.tokens[keep]
    weights = np.repeat(corpus.vocab.counts, np.diff(starts))
    vocab.counts = np.bincount(units_of, weights, len(vocab)).astype(np.int64)
    vocab.counts[FIRST] -= (lengths > 0).sum()
    starts = starts_of(np.where(lengths > 0, lengths - 1, 0))
    return dataclasses.replace(spelled, tokens=tokens, sentence_starts=starts)
