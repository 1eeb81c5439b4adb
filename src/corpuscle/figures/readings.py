"""A sentence with the likeliest readings of each word below it, a bar for how likely each is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corpuscle.figures.svg import COLOURS, Sheet, shorten, text_width
from corpuscle.text.scripts import direction

__all__ = ["WordShown", "draw_readings"]

_WIDEST, _COLUMN, _GAP, _ROW, _TOP, _SIZE = 760, 150, 14, 32, 30, 12
"""Of the picture, of a column of readings, between columns, and of one reading; smaller letters of readings."""


class WordShown(NamedTuple):
    """A word and its ``readings``, each with its probability, the likeliest first."""

    form: str
    readings: Sequence[tuple[str, float]]


def draw_readings(words: Sequence[WordShown], *, title: str = "Readings") -> str:
    """Words in columns as SVG, lines of columns where there are many."""
    widths = [
        min(_COLUMN, max([text_width(word.form), *(text_width(text, _SIZE) for text, _ in word.readings), 40]))
        for word in words
    ]
    places: list[tuple[float, int]] = []
    x, line = 10.0, 0
    for width in widths:
        if x + width > _WIDEST - 10 and x > 10:
            x, line = 10.0, line + 1
        places.append((x, line))
        x += width + _GAP
    depth = _TOP + _ROW * max((len(word.readings) for word in words), default=0) + 8
    full = max((x + width for (x, _), width in zip(places, widths, strict=True)), default=100.0) + 10
    if direction(" ".join(word.form for word in words)) == "rtl":
        places = [(full - x - width, line) for (x, line), width in zip(places, widths, strict=True)]
    sheet = Sheet(full, (line + 1) * depth + 6)
    said = []
    for word, width, (x, line) in zip(words, widths, places, strict=True):
        y = line * depth + 18
        sheet.text(x, y, shorten(word.form, width))
        for rank, (text, share) in enumerate(word.readings):
            tip, below = f"{text}: {share:.0%}", y + 8 + _ROW * rank
            sheet.text(x, below + 11, shorten(text, width, _SIZE), "mu", font_size=_SIZE)
            sheet.add("rect", tip=tip, x=x, y=below + 16, width=max(1.0, width * share), height=4,
                      class_=f"f{min(rank, COLOURS - 1)}")  # fmt: skip
        said.append(f"{word.form}: {', '.join(f'{text} {share:.0%}' for text, share in word.readings)}")
    return sheet.finish(title, "; ".join(said) or "no words")
