"""A map: named points in a plane, as many names as there is room for.

Names are set one after the other, the most important first, next to their points: right, left, above or below, wherever
they cover no point and no other name; where there is no place the point stands without its name, which a pointer still
finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corpuscle.figures.svg import COLOURS, Sheet, shorten, text_width
from corpuscle.text.scripts import isolated

WIDTH, HEIGHT, _MARGIN, _TOP = 640.0, 480.0, 16.0, 40.0
_SIZE, _LONGEST = 13.0, 150.0


class Place(NamedTuple):
    """A point: its name, where it is, its group (which decides its colour), what a pointer reads, whether it stands
    out."""

    name: str
    x: float
    y: float
    group: int = 0
    tip: str = ""
    strong: bool = False


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _scale(values: Sequence[float], begin: float, end: float) -> list[float]:
    """Values in the room between two coordinates; all in the middle if they are one."""
    low, high = min(values), max(values)
    if high <= low:
        return [(begin + end) / 2] * len(values)
    return [begin + (value - low) / (high - low) * (end - begin) for value in values]


def place_map(places: Sequence[Place], *, title: str, description: str = "") -> str:
    """Draw named points, the most important ones first."""
    if not places:
        raise ValueError("there is nothing to draw")
    sheet = Sheet(WIDTH, HEIGHT)
    sheet.text(_MARGIN, 24, shorten(title, WIDTH - 2 * _MARGIN, 15.5), "ti")
    xs = _scale([place.x for place in places], _MARGIN + 30, WIDTH - _MARGIN - 30)
    ys = _scale([-place.y for place in places], _TOP + 14, HEIGHT - _MARGIN - 8)
    taken = [_Box(x - 3, y - 3, x + 3, y + 3) for x, y in zip(xs, ys, strict=True)]
    names = []
    for i in sorted(range(len(places)), key=lambda i: not places[i].strong):
        name = shorten(places[i].name, _LONGEST, _SIZE)
        others = taken[:i] + taken[i + 1 :]
        x, y, width = xs[i], ys[i], text_width(name, _SIZE)
        candidates = (
            (_Box(x + 5, y - 8, x + 7 + width, y + 7), x + 6, y + 4.5, "start"),
            (_Box(x - 7 - width, y - 8, x - 5, y + 7), x - 6, y + 4.5, "end"),
            (_Box(x - width / 2, y - 21, x + width / 2, y - 6), x, y - 8, "middle"),
            (_Box(x - width / 2, y + 6, x + width / 2, y + 21), x, y + 18, "middle"),
        )
        for box, left, base, anchor in candidates:
            inside = box.left >= 2 and box.right <= WIDTH - 2 and box.top >= _TOP - 8 and box.bottom <= HEIGHT - 2
            if inside and not any(box.meets(other) for other in others):
                taken.append(box)
                names.append((left, base, name, anchor, places[i].strong))
                break
    for place, x, y in zip(places, xs, ys, strict=True):
        colour, tip = f"ma f{place.group % COLOURS}", place.tip or place.name
        sheet.add("circle", cx=x, cy=y, r=4.5 if place.strong else 3, class_=colour, tip=tip)
    for x, y, name, anchor, strong in names:
        sheet.text(x, y, name, "ti" if strong else None, anchor)
    spoken = ", ".join(isolated(place.name) for place in places[:40])
    return sheet.finish(title, description or f"A map of {len(places)} words: {spoken}")
