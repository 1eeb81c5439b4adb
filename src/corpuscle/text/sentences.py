"""Where sentences end: the full stop that closes one, against the full stop of an abbreviation.

Most of what is known about abbreviations is learnt from the text itself, so that it works in languages without a list
of them: a short word that hardly ever stands without a full stop, and after whose full stop the text goes on in lower
case, is an abbreviation (compare Kiss and Strunk 2006, Unsupervised Multilingual Sentence Boundary Detection). In the
same way a capitalised word that the text mostly writes in lower case has its capital from the start of a sentence.

Tokens of running text in any script are found by Unicode properties. One idea: every character is replaced by one ASCII
letter for its class, which gives a string of the same length, and a regular expression over that string finds the
tokens. So a rule such as "letters, with marks on them, joined by hyphens" is written once and holds for Latin,
Devanagari and Hebrew. Scripts without spaces (Thai, Chinese) are split at punctuation only; finding words in them is
the business of a segmenter.

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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from corpuscle.text.scripts import Classes

TITLES = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "capt", "lt", "sgt", "gov", "sen", "mt", "ft", "mme", "mlle", "sra",
    "srta",
))  # fmt: skip
"""Abbreviations before names, so common that even a short text should have them, though it cannot teach them."""

COMMON_ABBREVIATIONS = frozenset((
    "jr", "sr", "vs", "etc", "cf", "approx", "dept", "univ", "inc", "ltd", "corp", "bros", "ph.d", "m.sc",
    "jan", "feb", "aug", "sept", "oct", "nov", "dec", "bzw", "usw", "evtl", "ggf", "vgl",
))  # fmt: skip
"""The same for abbreviations that may stand at the end of a sentence."""

NUMBERED = frozenset({"no", "nos", "nr", "art", "ch", "fig", "p", "pp", "sec", "vol", "op", "ca"})
"""Abbreviations only before a number: elsewhere they are words."""

_SEVERAL = 1 << 16
"""How many tokens are strings at a time."""
_CLOSING = frozenset(b")q'")
_OPENING = frozenset(b"(q'd-")
_TERMINATORS = np.zeros(128, bool)
_TERMINATORS[list(b".!Te")] = True
_LETTERS = frozenset(b"aAo")
_MAX_LENGTH = 8
"""How many characters an abbreviation has at most, if it is learnt from the text."""


@dataclass
class Stretch:
    """A stretch of text between two blank lines (or more of them), and its tokens.

    - ``text``, ``classes``: the characters, and their classes as ASCII bytes;
    - ``begins``, ``ends``: int64 (n_tokens,), where each token begins and ends in ``text``.
    """

    text: str
    classes: bytes
    begins: np.ndarray
    ends: np.ndarray

    def token(self, index: int) -> str:
        return self.text[self.begins[index] : self.ends[index]]

    def first_classes(self) -> np.ndarray:
        """The class of the first character of every token, uint8 (n_tokens,)."""
        return np.frombuffer(self.classes, np.uint8)[self.begins]

    def full_stops(self) -> np.ndarray:
        """The tokens that are a single full stop right after another token."""
        single = (self.first_classes() == ord(".")) & (self.ends - self.begins == 1)
        single[:1] = False
        single[1:] &= self.begins[1:] == self.ends[:-1]
        return np.flatnonzero(single)

    def next_class(self, index: int) -> int:
        """How the text goes on: the class of the next token that is no opening quote or bracket; 0 at the end."""
        for i in range(index, min(index + 3, len(self.begins))):
            found = self.classes[self.begins[i]]
            if found not in _OPENING:
                return found
        return 0


@dataclass
class Usage:
    """What the text says about its words.

    - ``counts``: how often each token occurs, in its spelling;
    - ``abbreviations``: lower-cased words without their full stop; the value is whether a name usually follows, as
      after a title, so that a capital says nothing;
    - ``cased``: whether the text uses capitals at all.
    """

    counts: Counter[str] = field(default_factory=Counter)
    abbreviations: dict[str, bool] = field(default_factory=dict)
    cased: bool = True

    @classmethod
    def of(cls, stretches: Sequence[Stretch], abbreviations: Iterable[str] = ()) -> Usage:
        """Learn from all stretches of a text; ``abbreviations`` are known beforehand."""
        usage = cls()
        stops, capitalised = Counter[str](), Counter[str]()
        before_lower, before_upper = Counter[str](), Counter[str]()
        upper = lower = 0
        for stretch in stretches:
            for first in range(0, len(stretch.begins), _SEVERAL):
                here = slice(first, first + _SEVERAL)
                edges = zip(stretch.begins[here].tolist(), stretch.ends[here].tolist(), strict=True)
                usage.counts.update([stretch.text[begin:end] for begin, end in edges])
            upper += stretch.classes.count(b"A")
            lower += stretch.classes.count(b"a")
            for i in stretch.full_stops().tolist():
                first = stretch.classes[stretch.begins[i - 1]]
                if first not in _LETTERS:
                    continue
                word = stretch.token(i - 1).lower()
                stops[word] += 1
                capitalised[word] += first == ord("A")
                if i + 1 < len(stretch.begins):
                    following = stretch.classes[stretch.begins[i + 1]]
                    before_lower[word] += following in b"a0,:"
                    before_upper[word] += following == ord("A")
        usage.cased = upper * 100 >= lower  # one capital in a hundred letters
        usage.abbreviations = dict.fromkeys(TITLES, True) | dict.fromkeys(COMMON_ABBREVIATIONS, False)
        for word in {word.strip().rstrip(".").lower() for word in abbreviations}:
            usage.abbreviations[word] = before_upper[word] >= before_lower[word]
        words = Counter[str]()
        for word, count in usage.counts.items():
            words[word.lower()] += count
        # The text shows its own abbreviations by what follows them, which needs capitals.
        # Nine of ten times an abbreviation stands with its full stop.
        for word, count in stops.items() if usage.cased else ():
            if len(word) > _MAX_LENGTH or count < 2 or count < 0.9 * words[word]:
                continue
            if word in usage.abbreviations or word in NUMBERED:
                continue
            goes_on = before_lower[word] >= 0.1 * count
            like_a_title = count >= 5 and len(word) <= 4 and capitalised[word] >= 0.9 * count
            if goes_on or like_a_title:
                usage.abbreviations[word] = before_upper[word] > before_lower[word]
        return usage


def join_abbreviations(stretch: Stretch, usage: Usage) -> tuple[Stretch, np.ndarray]:
    """Make the full stops of abbreviations, initials and ordinal numbers part of the token before them.

    Returns the new stretch and a mask of its tokens: those whose full stop does not end a sentence by itself.
    """
    inside = np.array([i for i in stretch.full_stops().tolist() if _belongs(stretch, usage, i)], np.int64)
    ends, keep = stretch.ends.copy(), np.ones(len(stretch.ends), bool)
    ends[inside - 1] = stretch.ends[inside]
    keep[inside] = False
    joined = ends != stretch.ends
    # Letters with full stops (U.S.) are single tokens already; an address never ends in a full stop.
    last = np.frombuffer(stretch.classes, np.uint8)[np.maximum(ends - 1, 0)]
    joined |= (last == ord(".")) & (stretch.first_classes() != ord("."))
    return Stretch(stretch.text, stretch.classes, stretch.begins[keep], ends[keep]), joined[keep]


def _belongs(stretch: Stretch, usage: Usage, stop: int) -> bool:
    """Whether a full stop is part of the word before it."""
    first = stretch.classes[stretch.begins[stop - 1]]
    length = stretch.ends[stop - 1] - stretch.begins[stop - 1]
    following = stretch.next_class(stop + 1)
    if first == ord("0"):
        if stretch.classes[stretch.begins[stop - 1] : stretch.ends[stop - 1]].strip(b"0") or length > 3:
            return False
        if following == ord("a") and usage.cased:
            return True
        # It may number an item of a list: first on a line, after the end of a sentence or a blank line.
        gap = stretch.classes[stretch.ends[stop - 2] : stretch.begins[stop - 1]] if stop > 1 else b"NN"
        ended = b"N" in gap and stretch.classes[stretch.ends[stop - 2] - 1] in b".!T:"
        return (ended or gap.count(b"N") > 1) and following != 0
    if first not in _LETTERS:
        return False
    if length == 1 and first == ord("A"):
        return following != 0
    word = stretch.token(stop - 1).lower()
    if word in NUMBERED and following == ord("0"):
        return True
    return word in usage.abbreviations


def sentence_ends(stretch: Stretch, joined: np.ndarray, usage: Usage) -> np.ndarray:
    """The numbers of tokens, int64, after which a sentence ends; always the last token."""
    first = stretch.first_classes()
    candidates = np.flatnonzero(_TERMINATORS[first] | joined).tolist()
    found = [last for i in candidates if (last := _end_at(stretch, usage, i, bool(joined[i]), first))]
    return np.unique(np.array([*found, len(stretch.begins)], np.int64))


def _end_at(stretch: Stretch, usage: Usage, i: int, is_joined: bool, first: np.ndarray) -> int:
    """The end of the sentence that token ``i`` closes, closing quotes and brackets included; 0 if it closes none."""
    n, kind = len(stretch.begins), first[i]
    end = i + 1
    while end < n and first[end] in _CLOSING:
        gap = stretch.classes[stretch.ends[end - 1] : stretch.begins[end]]
        if gap.strip(b"S"):
            break
        end += 1
    if end == n:
        return n
    gap = stretch.begins[end] - stretch.ends[end - 1]
    following = stretch.next_class(end)
    goes_on = usage.cased and following == ord("a")
    if is_joined:
        if gap == 0 or following != ord("A"):
            return 0
        return end if _may_close(stretch, usage, i, end) else 0
    if goes_on or following in b",:":
        return 0
    if kind == ord("T"):
        return end
    if gap == 0 and not (kind == ord("!") and following == ord("o")):
        return 0
    if kind == ord("e") or (kind == ord(".") and stretch.ends[i] - stretch.begins[i] > 1):
        return end if following in b"Ao" or not usage.cased else 0
    return end


def _may_close(stretch: Stretch, usage: Usage, i: int, end: int) -> bool:
    """Whether an abbreviation also ends its sentence: the next word has a capital that it does not have elsewhere."""
    abbreviation = stretch.token(i).rstrip(".").lower()
    if abbreviation.isdecimal() or usage.abbreviations.get(abbreviation, False):
        return False
    while end < len(stretch.begins) and stretch.classes[stretch.begins[end]] in _OPENING:
        end += 1
    if end == len(stretch.begins):
        return False
    word = stretch.token(end)
    lower = word.lower()
    return lower != word and 0 < usage.counts[lower] >= usage.counts[word]


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
