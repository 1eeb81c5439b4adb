"""The alignment grid: source words down, target words across, links as dots on shaded probabilities.

Where the target runs from right to left, so do the columns, and the whole grid is the mirror image.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from corpuscle.figures.svg import Sheet, number, shorten, text_width
from corpuscle.text.scripts import direction, isolated

_CELL = 22.0
_MARGIN = 10.0
_WIDEST = 160.0  # longer words are cut

Link = tuple[int, int]


def alignment_grid(
    source: Sequence[str],
    target: Sequence[str],
    weights: Any = None,
    links: Collection[Link] = (),
    sure: Collection[Link] = (),
    possible: Collection[Link] = (),
    title: str = "Word alignment",
) -> str:
    """A sentence pair as a grid.

    ``weights`` (source length, target length) shades the cells by their probability; ``links`` are dots; gold links are
    frames, heavy for ``sure`` ones and light for merely ``possible`` ones.
    """
    left = _MARGIN + max((min(_WIDEST, text_width(word)) for word in source), default=0.0) + 8
    longest = max((min(_WIDEST, text_width(word)) for word in target), default=0.0)
    top = _MARGIN + 24 + longest * 0.75 + 10
    width = left + _CELL * len(target) + max(_MARGIN, longest * 0.7)
    sheet = Sheet(max(width, text_width(title, 15.5) + 2 * _MARGIN), top + _CELL * len(source) + _MARGIN)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    backwards = direction(" ".join(target)) == "rtl"

    def across(x: float, wide: float = 0.0) -> float:
        """Where something begins that is so wide and would begin at ``x`` if words ran from left to right."""
        return width - x - wide if backwards else x

    for i, word in enumerate(source):
        place = across(left - 6), top + _CELL * i + 15
        sheet.text(*place, shorten(word, _WIDEST), anchor="start" if backwards else "end")
    for j, word in enumerate(target):
        x, y = across(left + _CELL * j + 13), top - 6
        turn = f"rotate({45 if backwards else -45} {number(x)} {number(y)})"
        sheet.text(x, y, shorten(word, _WIDEST), anchor="end" if backwards else "start", transform=turn)

    def tip(i: int, j: int, said: str) -> str:
        return f"{isolated(source[i])} – {isolated(target[j])}: {said}"

    for i in range(len(source)):
        for j in range(len(target)):
            weight = 0.0 if weights is None else float(weights[i, j])
            if weight > 0:
                sheet.add(
                    "rect", x=across(left + _CELL * j, _CELL), y=top + _CELL * i, width=_CELL, height=_CELL,
                    class_="f0", opacity=min(1.0, weight) * 0.75, tip=tip(i, j, f"{weight:.3f}"),
                )  # fmt: skip
    for i in range(len(source) + 1):
        sheet.line(across(left), top + _CELL * i, across(left + _CELL * len(target)), top + _CELL * i, "gr")
    for j in range(len(target) + 1):
        x = across(left + _CELL * j)
        sheet.line(x, top, x, top + _CELL * len(source), "gr")
    for pairs, heavy in ((possible, False), (sure, True)):
        for i, j in sorted(pairs):
            x, y = across(left + _CELL * j + 2.5, _CELL - 5), top + _CELL * i + 2.5
            sheet.add(
                "rect", x=x, y=y, width=_CELL - 5, height=_CELL - 5, rx=3, class_="l1", fill="none",
                stroke_width=2.5 if heavy else 1.2, stroke_dasharray=None if heavy else "3 2",
                tip=tip(i, j, f"{'sure' if heavy else 'possible'} in the gold links"),
            )  # fmt: skip
    for i, j in sorted(links):
        x, y = across(left + _CELL * (j + 0.5)), top + _CELL * (i + 0.5)
        sheet.add("circle", cx=x, cy=y, r=5, class_="wh", tip=tip(i, j, "linked"))
    described = f"{len(source)} source words by {len(target)} target words, {len(links)} links"
    if sure or possible:
        right = len(set(links) & (set(sure) | set(possible)))
        described += f", {right} of them in the gold links"
    return sheet.finish(title, described)
