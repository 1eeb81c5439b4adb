"""Numbers and words as people see them, and what words look like."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

LONGEST_WORD = 60


def count(n: float) -> str:
    """A whole number with separators."""
    return f"{n:,.0f}"


def counted(n: int, thing: str, things: str | None = None) -> str:
    """A number of things: ``1 word``, ``2,000 words``, ``3 classes``."""
    return f"{count(n)} {thing if n == 1 else things or thing + 's'}"


def size(n_bytes: int) -> str:
    """The size of a file as people say it.

    >>> size(1234567)
    '1.2 MB'
    """
    if n_bytes < 10_000:
        return counted(n_bytes, "byte")
    return f"{n_bytes / 1e3:,.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


def number(value: float) -> str:
    """A number that is neither a count nor a share: three decimals, or three digits where these would be noughts; n/a
    if it is none.

    >>> number(1234.5678), number(0.00012345), number(0)
    ('1,234.568', '0.000123', '0.000')
    """
    return "n/a" if isnan(value) else f"{value:.3g}" if 0 < abs(value) < 0.01 else f"{value:,.3f}"


def seconds(value: float) -> str:
    """How long something took.

    >>> seconds(12.345)
    '12.3 s'
    """
    return f"{value:,.1f} s"


def percent(share: float | None, digits: int = 1, sign: str = "-") -> str:
    """A fraction as people write it, n/a if there is none; ``sign``: ``+`` shows that of positive ones, too.

    >>> percent(0.1234), percent(0.1234, sign="+"), percent(float("nan"))
    ('12.3 %', '+12.3 %', 'n/a')
    """
    return "n/a" if share is None or isnan(share) else f"{100 * share:{sign}.{digits}f} %"


def enumerated(things: Sequence[str]) -> str:
    """Things in a sentence.

    >>> enumerated(["words", "links", "names"])
    'words, links and names'
    """
    return " and ".join([", ".join(things[:-1]), things[-1]] if len(things) > 1 else things)


def clip(word: str, length: int = LONGEST_WORD) -> str:
    """A word, cut with an ellipsis between two grapheme clusters where it is absurdly long."""
    if len(word) <= length:
        return word
    from corpuscle.text.scripts import clusters  # not above: every command shows numbers, few cut words

    return "".join(clusters(word[:length])[:-1]) + "…"


def beginning(words: Sequence[str], most: int) -> str:
    """A sentence, or its first words and an ellipsis."""
    return " ".join([clip(word) for word in words[:most]] + (["…"] if len(words) > most else []))


def shape_of(word: str, run: int = 4, mark: str = "") -> str:
    """Capitals, small letters, digits and marks of a word; runs are cut to ``run``, marks stand for themselves unless
    all are to be ``mark``.

    >>> shape_of("Apo-E4"), shape_of("1987", 1), shape_of("A/7", 1, ".")
    ('Xxx-Xd', 'd', 'X.d')
    """
    kinds: list[str] = []
    for letter in word[:40]:
        other = "x" if letter.isalpha() else mark or letter
        kind = "X" if letter.isupper() else "d" if letter.isdigit() else other
        if kinds[-run:] != [kind] * run:
            kinds.append(kind)
    return "".join(kinds)
