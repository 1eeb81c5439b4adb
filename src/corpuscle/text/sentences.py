"""Where sentences end: the full stop that closes one, against the full stop of an abbreviation.

Most of what is known about abbreviations is learnt from the text itself, so that it works in languages nobody made a
list for: a short word that hardly ever stands without a full stop, and after whose full stop the text goes on in lower
case, is an abbreviation (compare Kiss and Strunk 2006, Unsupervised Multilingual Sentence Boundary Detection). In the
same way a capitalised word that the text mostly writes in lower case has its capital from the start of a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["COMMON_ABBREVIATIONS", "TITLES", "Stretch", "Usage", "join_abbreviations", "sentence_ends"]

TITLES = frozenset({
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "capt", "lt", "sgt", "gov", "sen", "mt", "ft", "mme", "mlle",
    "sra", "srta",
})
"""Abbreviations before names, so common that even a short text should have them, though it cannot teach them."""

COMMON_ABBREVIATIONS = frozenset({
    "jr", "sr", "vs", "etc", "cf", "approx", "dept", "univ", "inc", "ltd", "corp", "bros", "ph.d", "m.sc",
    "jan", "feb", "aug", "sept", "oct", "nov", "dec", "bzw", "usw", "evtl", "ggf", "vgl",
})
"""The same for abbreviations that may stand at the end of a sentence."""

NUMBERED = frozenset({"no", "nos", "nr", "art", "ch", "fig", "p", "pp", "sec", "vol", "op", "ca"})
"""Abbreviations only before a number: elsewhere they are words."""

_SEVERAL = 1 << 16
"""So many tokens are strings at a time."""
_CLOSING = frozenset(b")q'")
_OPENING = frozenset(b"(q'd-")
_TERMINATORS = np.zeros(128, bool)
_TERMINATORS[list(b".!Te")] = True
_LETTERS = frozenset(b"aAo")
_MAX_LENGTH = 8


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
        """The string of a token."""
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
        usage.cased = upper * 100 >= lower
        usage.abbreviations = dict.fromkeys(TITLES, True) | dict.fromkeys(COMMON_ABBREVIATIONS, False)
        for word in {word.strip().rstrip(".").lower() for word in abbreviations}:
            usage.abbreviations[word] = before_upper[word] >= before_lower[word]
        if usage.cased:
            usage._learn(stops, capitalised, before_lower, before_upper)
        return usage

    def _learn(
        self, stops: Counter[str], capitalised: Counter[str], before_lower: Counter[str], before_upper: Counter[str]
    ) -> None:
        """Add the words that the text shows to be abbreviations."""
        words = Counter[str]()
        for word, count in self.counts.items():
            words[word.lower()] += count
        for word, count in stops.items():
            if len(word) > _MAX_LENGTH or count < 2 or count < 0.9 * words[word]:
                continue
            if word in self.abbreviations or word in NUMBERED:
                continue
            goes_on = before_lower[word] >= 0.1 * count
            like_a_title = count >= 5 and len(word) <= 4 and capitalised[word] >= 0.9 * count
            if goes_on or like_a_title:
                self.abbreviations[word] = before_upper[word] > before_lower[word]

    def is_starter(self, word: str) -> bool:
        """Whether a capitalised word has its capital from its place in the sentence."""
        lower = word.lower()
        return lower != word and 0 < self.counts[lower] >= self.counts[word]


def join_abbreviations(stretch: Stretch, usage: Usage) -> tuple[Stretch, np.ndarray]:
    """Make the full stops of abbreviations, initials and ordinal numbers part of the token before them.

    Returns the new stretch and a mask of its tokens: those whose full stop does not end a sentence by itself.
    """
    drop = np.zeros(len(stretch.begins), bool)
    ends = stretch.ends.copy()
    for i in stretch.full_stops().tolist():
        if _belongs(stretch, usage, i):
            drop[i] = True
            ends[i - 1] = stretch.ends[i]
    joined = ends != stretch.ends
    # Letters with full stops (U.S.) are single tokens already; an address never ends in a full stop.
    last = np.frombuffer(stretch.classes, np.uint8)[np.maximum(ends - 1, 0)]
    joined |= (last == ord(".")) & (stretch.first_classes() != ord("."))
    keep = ~drop
    return Stretch(stretch.text, stretch.classes, stretch.begins[keep], ends[keep]), joined[keep]


def _belongs(stretch: Stretch, usage: Usage, stop: int) -> bool:
    """Whether a full stop is part of the word before it."""
    first = stretch.classes[stretch.begins[stop - 1]]
    length = stretch.ends[stop - 1] - stretch.begins[stop - 1]
    following = stretch.next_class(stop + 1)
    if first == ord("0"):
        if stretch.classes[stretch.begins[stop - 1] : stretch.ends[stop - 1]].strip(b"0") or length > 3:
            return False
        return (_begins_item(stretch, stop - 1) and following != 0) or (following == ord("a") and usage.cased)
    if first not in _LETTERS:
        return False
    if length == 1 and first == ord("A"):
        return following != 0
    word = stretch.token(stop - 1).lower()
    if word in NUMBERED and following == ord("0"):
        return True
    return word in usage.abbreviations


def _begins_item(stretch: Stretch, number: int) -> bool:
    """Whether a number stands where an item of a list begins: first on a line, after a sentence's end or blank line."""
    if number == 0:
        return True
    gap = stretch.classes[stretch.ends[number - 1] : stretch.begins[number]]
    return gap.count(b"N") > 1 or (b"N" in gap and stretch.classes[stretch.ends[number - 1] - 1] in b".!T:")


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
    word = stretch.token(i).rstrip(".").lower()
    if word.isdecimal():
        return False
    if usage.abbreviations.get(word, False):
        return False
    while end < len(stretch.begins) and stretch.classes[stretch.begins[end]] in _OPENING:
        end += 1
    return end < len(stretch.begins) and usage.is_starter(stretch.token(end))
