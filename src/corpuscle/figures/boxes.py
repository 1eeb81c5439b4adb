"""Box plots: how numbers are spread, group by group.

A box reaches from the lower to the upper quartile and has a line at the median; whiskers reach to the last number
within one and a half times the length of the box; what lies beyond is a dot. Tukey, "Exploratory data analysis", 1977.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corpuscle.figures.axes import Axis, axis, label
from corpuscle.figures.plots import WIDTH, heading, legend
from corpuscle.figures.svg import COLOURS, Sheet, shorten, text_width

__all__ = ["box_plot"]

_MARGIN, _BOX = 10.0, 15.0


def box_plot(
    names: Sequence[str],
    groups: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    description: str = "",
    value_label: str = "",
) -> str:
    """Horizontal boxes beside names; ``groups``: for each of some series, the numbers of each name."""
    if not names or not groups or any(len(each) != len(names) for each in groups.values()):
        raise ValueError("there must be numbers for each name, and at least one name")
    values = [value for each in groups.values() for numbers in each for value in numbers]
    sheet = Sheet(WIDTH, 0)
    top = heading(sheet, title)
    if len(groups) > 1:
        top = legend(sheet, list(groups), top, markers=True)
    left = _MARGIN + min(150.0, max(map(text_width, names))) + 8
    x = axis(values, left, WIDTH - 2 * _MARGIN)
    row = (_BOX + 3) * len(groups) + 8
    bottom = top + 6 + row * len(names)
    sheet.height = bottom + (42 if value_label else 24)
    for tick in x.ticks:
        sheet.line(x.place(tick), top, x.place(tick), bottom, "gr")
        sheet.text(x.place(tick), bottom + 16, label(tick), "mu", "middle")
    spoken = []
    for i, name in enumerate(names):
        begin = top + 6 + row * i
        sheet.text(left - 8, begin + row / 2, shorten(name, 150), anchor="end")
        for kind, (series, numbers) in enumerate(groups.items()):
            if len(numbers[i]):
                said = _box(sheet, x, numbers[i], begin + (_BOX + 3) * kind, kind)
                spoken.append(f"{name}{f', {series}' if len(groups) > 1 else ''}: {said}")
    if value_label:
        sheet.text((left + WIDTH) / 2, bottom + 35, shorten(value_label, WIDTH - left), "mu", "middle")
    return sheet.finish(title, description or f"{value_label or 'Boxes'}: {'; '.join(spoken)}")


def _box(sheet: Sheet, x: Axis, numbers: Sequence[float], y: float, kind: int) -> str:
    """Draw one box at a height; returns what it says."""
    array, place = np.sort(np.asarray(numbers, np.float64)), x.place
    lower, median, upper = np.quantile(array, [0.25, 0.5, 0.75]).tolist()
    reach = 1.5 * (upper - lower)
    inside = array[(array >= lower - reach) & (array <= upper + reach)]
    middle, colour = y + _BOX / 2, kind % COLOURS
    said = f"median {label(median)}, half of them from {label(lower)} to {label(upper)}"
    for begin, end in ((inside[0], lower), (upper, inside[-1])):
        sheet.line(place(begin), middle, place(end), middle, "wh")
    for edge in (inside[0], inside[-1]):
        sheet.line(place(edge), middle - 4, place(edge), middle + 4, "wh")
    wide = max(place(upper) - place(lower), 1.0)
    sheet.add("rect", x=place(lower), y=y, width=wide, height=_BOX, class_=f"f{colour}", opacity=0.75, tip=said)
    sheet.line(place(median), y, place(median), y + _BOX, "wh")
    for value in array[(array < inside[0]) | (array > inside[-1])].tolist():
        sheet.add("circle", cx=place(value), cy=middle, r=2, class_=f"f{colour}", tip=label(value))
    return said
