"""A survey of texts: how many of their words a lexicon does not have, and what kinds of errors annotated ones have.

The categories of errors: ``letter``, the typed and the meant word differ in letters only, by at most half of the longer
one; ``letter and number``, digits stand within what was typed; ``number``, a digit stands for a whole word; ``slang``,
the word is in a dictionary of slang, or means several words; ``other``.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.measure.kernels.overlaps import edit_distance
from corpuscle.normalise.tokens import is_examined
from corpuscle.text.normalised import Normalised

__all__ = ["CATEGORIES", "Survey", "category_of", "error_categories", "survey_of"]

CATEGORIES = ("letter", "number", "letter and number", "slang", "other")
_BINS = 10


class Survey(NamedTuple):
    """What a text has: ``messages``; ``tokens`` that may be words, those that are ``unknown`` to the lexicon, by
    ``types`` too; ``histogram``: messages by the share of their unknown tokens, in tenths; ``frequent``: the most
    frequent unknown words with their counts."""

    messages: int
    tokens: int
    unknown: int
    types: int
    unknown_types: int
    histogram: list[int]
    frequent: list[tuple[str, int]]


def survey_of(messages: Iterable[Sequence[str]], known: Collection[str], most: int = 20) -> Survey:
    """Count the words of messages that are not ``known`` (in lower case). Messages without words are not counted in the
    histogram, whose last bin has the share 1, too."""
    types: Counter[str] = Counter()
    histogram = np.zeros(_BINS, np.int64)
    n = 0
    for message in messages:
        n += 1
        words = [token.lower() for token in message if is_examined(token)]
        types.update(words)
        if words:
            share = sum(word not in known for word in words) / len(words)
            histogram[min(_BINS - 1, int(share * _BINS))] += 1
    strange = Counter({word: count for word, count in types.items() if word not in known})
    return Survey(
        n, types.total(), strange.total(), len(types), len(strange), histogram.tolist(),
        sorted(strange.items(), key=lambda item: (-item[1], item[0]))[:most],
    )  # fmt: skip


def category_of(typed: str, meant: str, slang: Collection[str] = ()) -> str:
    """The category of one error.

    >>> [category_of(*pair) for pair in (("talkin", "talking"), ("4", "for"), ("b4", "before"), ("lol", "laugh aloud"))]
    ['letter', 'number', 'letter and number', 'slang']
    """
    typed, meant = typed.lower(), meant.lower()
    if typed in slang or " " in meant:
        return "slang"
    if typed.isdigit():
        return "number"
    if any(char.isdigit() for char in typed):
        return "letter and number"
    a, b = (frozen(np.array([*map(ord, word)], np.int32), np.int32) for word in (typed, meant))
    longer = max(len(a), len(b))
    return "letter" if edit_distance(a, b, longer) <= longer / 2 else "other"


def error_categories(gold: Normalised, slang: Collection[str] = ()) -> dict[str, int]:
    """How many errors of annotated messages each category has."""
    found = Counter(
        category_of(one, right, slang)
        for i, message in enumerate(gold.corpus)
        for one, right in zip(message, gold.standard(i), strict=True)
        if one.lower() != right.lower()
    )
    return {name: found[name] for name in CATEGORIES}
