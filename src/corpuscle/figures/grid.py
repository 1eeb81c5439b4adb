"""The alignment grid: source words down, target words across, links as dots on shaded probabilities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from corpuscle.figures.svg import Sheet, number, shorten, text_width

__all__ = ["alignment_grid"]

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
    top = _MARGIN + 24 + max((min(_WIDEST, text_width(word)) for word in target), default=0.0) * 0.75 + 10
    overhang = max((min(_WIDEST, text_width(word)) for word in target), default=0.0) * 0.7
    width = left + _CELL * len(target) + max(_MARGIN, overhang)
    sheet = Sheet(max(width, text_width(title, 15.5) + 2 * _MARGIN), top + _CELL * len(source) + _MARGIN)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    for i, word in enumerate(source):
        sheet.text(left - 6, top + _CELL * i + 15, shorten(word, _WIDEST), anchor="end")
    for j, word in enumerate(target):
        x, y = left + _CELL * j + 13, top - 6
        turn = f"rotate(-45 {number(x)} {number(y)})"
        sheet.add("text", shorten(word, _WIDEST), x=x, y=y, transform=turn)
    for i in range(len(source)):
        for j in range(len(target)):
            _cell(sheet, left + _CELL * j, top + _CELL * i, source[i], target[j], weights, (i, j))
    for i in range(len(source) + 1):
        sheet.line(left, top + _CELL * i, left + _CELL * len(target), top + _CELL * i, "gr")
    for j in range(len(target) + 1):
        sheet.line(left + _CELL * j, top, left + _CELL * j, top + _CELL * len(source), "gr")
    for pairs, heavy in ((possible, False), (sure, True)):
        for i, j in sorted(pairs):
            x, y = left + _CELL * j + 2.5, top + _CELL * i + 2.5
            sheet.add(
                "rect", x=x, y=y, width=_CELL - 5, height=_CELL - 5, rx=3, class_="l1", fill="none",
                stroke_width=2.5 if heavy else 1.2, stroke_dasharray=None if heavy else "3 2",
                tip=f"{source[i]} – {target[j]}: {'sure' if heavy else 'possible'} in the gold links",
            )  # fmt: skip
    for i, j in sorted(links):
        x, y = left + _CELL * (j + 0.5), top + _CELL * (i + 0.5)
        sheet.add("circle", cx=x, cy=y, r=5, class_="wh", tip=f"{source[i]} – {target[j]}: linked")
    described = f"{len(source)} source words by {len(target)} target words, {len(links)} links"
    if sure or possible:
        right = len(set(links) & (set(sure) | set(possible)))
        described += f", {right} of them in the gold links"
    return sheet.finish(title, described)


def _cell(sheet: Sheet, x: float, y: float, source: str, target: str, weights: Any, where: Link) -> None:
    """Shade one cell by its probability."""
    if weights is None or not weights[where] > 0:
        return
    weight = float(weights[where])
    sheet.add(
        "rect", x=x, y=y, width=_CELL, height=_CELL, class_="f0", opacity=min(1.0, weight) * 0.75,
        tip=f"{source} – {target}: {weight:.3f}",
    )  # fmt: skip
