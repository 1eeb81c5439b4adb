"""Short forms and what they are short for, as columns for features: "Huntington disease ( HD )", and HD ever after.

A word of two to ten letters in brackets, one of them a capital, is short for the words before it if its letters occur
in them in order, the first at the beginning of a word; the search goes from the right, and the shortest such stretch is
the long form. Columns: ``long``, the first or a later word of a long form; ``short``, a short form where it is
explained, or elsewhere in the sentences nearby; ``bracket``, any word in brackets.

Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical text", 2003.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.entities.second_pass import regions_of
from corpuscle.hashing import hashes_of

SHORT_FORMS = ("long", "short", "bracket")
_OPEN, _CLOSE = ("(", "["), (")", "]")
_FEWEST, _MOST = 2, 10


def long_form(words: Sequence[str], at: int) -> int:
    """Where the long form of the short form ``words[at]`` begins among the words before the bracket, or -1.

    >>> long_form(["with", "Huntington", "disease", "(", "HD", ")"], 4)
    1
    """
    short = words[at].lower()
    most = min(len(short) + 5, 2 * len(short))
    before = list(words[max(0, at - 1 - most) : at - 1])
    text = " ".join(before).lower()
    place = len(text)
    for number in range(len(short) - 1, -1, -1):
        letter = short[number]
        if not letter.isalnum():
            continue
        place -= 1
        while place >= 0 and (text[place] != letter or (number == 0 and place > 0 and text[place - 1].isalnum())):
            place -= 1
        if place < 0:
            return -1
    return at - 1 - len(text[place:].split())


def _is_short(word: str) -> bool:
    return _FEWEST <= len(word) <= _MOST and word[0].isalnum() and any(letter.isupper() for letter in word)


def short_forms(documents: Documents) -> dict[str, np.ndarray]:
    """The columns, hashes of what a token is, 0 for nothing, uint64 (n_tokens,); none where nothing is in brackets."""
    corpus = documents.corpus
    opens = np.array([form in _OPEN for form in corpus.vocab.strings], bool)[corpus.tokens]
    sentence_of = np.repeat(np.arange(len(corpus)), corpus.lengths)
    if not opens.any():
        return {}
    long, short, bracket = (np.zeros(corpus.n_tokens, np.int8) for _ in SHORT_FORMS)
    explained: dict[str, list[int]] = defaultdict(list)
    for i in np.unique(sentence_of[opens]).tolist():
        words, first, inside = corpus.words(i), int(corpus.sentence_starts[i]), False
        for k, word in enumerate(words):
            inside = word not in _CLOSE and (inside or word in _OPEN)
            if not inside or word in _OPEN:
                continue
            bracket[first + k] = 1
            if words[k - 1] in _OPEN and k + 1 < len(words) and words[k + 1] in _CLOSE and _is_short(word):
                begin = long_form(words, k)
                if begin >= 0:
                    explained[word].append(i)
                    short[first + k] = 1
                    long[first + begin : first + k - 1] = 2
                    long[first + begin] = 1
    regions = regions_of(documents)
    for word, places in explained.items():
        at = np.flatnonzero((corpus.tokens == corpus.vocab.id(word)) & (short == 0))
        short[at[_any_between(regions[sentence_of[at]], places)]] = 2
    marks = hashes_of(["", "1", "2"])
    return {name: marks[values] for name, values in zip(SHORT_FORMS, (long, short, bracket), strict=True)}


def _any_between(bounds: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Whether any place lies between each two bounds, from and to: bool (n,)."""
    rising = np.sort(places)
    return np.searchsorted(rising, bounds[:, 0]) < np.searchsorted(rising, bounds[:, 1])
