"""Dependency trees as arcs above the words; where two parses differ, what only one of them has stands out."""

from __future__ import annotations

from collections.abc import Sequence

from corpuscle.figures.svg import Sheet, text_width
from corpuscle.text.scripts import direction

__all__ = ["draw_arcs"]

_STEP, _GAP = 28, 18
_PEAK = 0.75
"""A curve reaches this part of the height of its control points."""
_FAINTEST = 0.35


def _levels(heads: Sequence[int]) -> list[int]:
    """How high the arc into each word is drawn: above all arcs that lie under it."""
    spans = sorted((abs(head - word), min(head, word), max(head, word), word) for word, head in enumerate(heads, 1))
    levels = [0] * len(heads)
    done: list[tuple[int, int, int]] = []
    for _, low, high, word in spans:
        if heads[word - 1] == 0:
            continue
        inside = [level for a, b, level in done if low <= a and b <= high]
        levels[word - 1] = 1 + max(inside, default=0)
        done.append((low, high, levels[word - 1]))
    return levels


def draw_arcs(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    confidence: Sequence[float] | None = None,
    other: Sequence[int] | None = None,
    title: str = "Dependency tree",
) -> str:
    """A tree as SVG: ``heads`` count from 1, 0 is the root. ``confidence``: unsure arcs are faint; ``other``: the heads
    of another parse, whose differing arcs hang below the words."""
    names = list(relations or [""] * len(words))
    below = [head if other is not None and head != heads[i] else 0 for i, head in enumerate(other or heads)]
    widths = [
        max(text_width(word), text_width(tag, 10), text_width(name, 10)) + _GAP
        for word, tag, name in zip(words, tags or words, names, strict=True)
    ]
    levels, under = _levels(heads), _levels(below) if other is not None else [0] * len(words)
    top = 36 + _STEP * max(1.0, _PEAK * max(levels, default=0))
    width, x, centres = sum(widths) + 20, 10.0, []
    for each in widths:
        centres.append(x + each / 2)
        x += each
    backwards = direction(" ".join(words)) == "rtl"
    if backwards:
        centres = [width - centre for centre in centres]
    depth = _STEP * (max(under, default=0) + 1) if any(below) else 0
    sheet = Sheet(max(width, 120), top + 44 + depth)
    for word, (head, name) in enumerate(zip(heads, names, strict=True), 1):
        sure = 1.0 if confidence is None else _FAINTEST + (1 - _FAINTEST) * float(confidence[word - 1])
        said = "" if confidence is None else f", {100 * confidence[word - 1]:.0f} % sure"
        tip = f"{words[word - 1]}: {name}{said}"
        different = other is not None and other[word - 1] != head
        _arc(sheet, centres, word, head, top - 16, -_STEP * (levels[word - 1] or 1), int(different), sure, tip)
        middle = centres[word - 1] if head == 0 else (centres[word - 1] + centres[head - 1]) / 2
        peak = _STEP * (levels[word - 1] * _PEAK if head else 1.0)
        sheet.text(middle, top - 20 - peak, name, "mu", "middle", font_size=10)
    for word, head in enumerate(below, 1):
        if other is not None and other[word - 1] != heads[word - 1]:
            _arc(sheet, centres, word, head, top + 34, _STEP * (under[word - 1] or 1), 2, 1.0, words[word - 1])
    for i, form in enumerate(words):
        sheet.text(centres[i], top, form, None, "middle")
        if tags is not None:
            sheet.text(centres[i], top + 16, tags[i], "mu", "middle", font_size=10)
    links = ", ".join(f"{form} from {words[h - 1] if h else 'the root'}" for form, h in zip(words, heads, strict=True))
    return sheet.finish(title, links)


def _arc(
    sheet: Sheet, centres: Sequence[float], word: int, head: int, base: float, rise: float, colour: int, sure: float,
    tip: str,
) -> None:  # fmt: skip
    """One arc with its arrow at the word; the root's comes from straight above."""
    end = centres[word - 1]
    if head == 0:
        path = f"M{end:.1f} {base + rise:.1f}L{end:.1f} {base:.1f}"
    else:
        begin = centres[head - 1] + (5 if centres[word - 1] > centres[head - 1] else -5)
        path = f"M{begin:.1f} {base:.1f}C{begin:.1f} {base + rise:.1f} {end:.1f} {base + rise:.1f} {end:.1f} {base:.1f}"
    sheet.add("path", tip=tip, d=path, class_=f"ln l{colour}", opacity=sure, fill="none")
    tail = -4 if rise < 0 else 4
    arrow = f"M{end:.1f} {base:.1f}l-3 {tail}h6z"
    sheet.add("path", d=arrow, class_=f"f{colour}", opacity=sure)
