"""The plots: lines over an axis, bars beside words.

Sheets are narrow (460 units) because most will be looked at on a page or a phone, where a wide sheet would shrink its
own labels away. Series differ in colour, marker and dash, so that no one has to see colours to read them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corpuscle.figures.axes import Axis, axis, label
from corpuscle.figures.svg import COLOURS, Sheet, number, shorten, text_width

__all__ = ["Series", "bar_plot", "heading", "legend", "line_plot"]

WIDTH = 460.0
_MARGIN = 10.0
_DASHES = (None, "7 4", "2 3", "9 3 2 3")
_MOST_MARKERS = 12  # with more points, markers hide the line


@dataclass(frozen=True)
class Series:
    """A named line: points, and an interval around each if there is one (``low``, ``high``), drawn as a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        n = len(self.x)
        if any(part is not None and len(part) != n for part in (self.y, self.low, self.high)):
            raise ValueError(f"the parts of series {self.name!r} differ in length")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"series {self.name!r} has only one side of an interval")


def _wrapped(text: str, width: float, size: float) -> list[str]:
    """A text broken into lines at spaces."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return [shorten(line, width, size) for line in lines]


def heading(sheet: Sheet, title: str) -> float:
    """Write the title; returns where the rest may begin."""
    y = 6.0
    for line in _wrapped(title, sheet.width - 2 * _MARGIN, 15.5):
        y += 18
        sheet.text(_MARGIN, y, line, "ti")
    return y + 8


def _marker(sheet: Sheet, kind: int, x: float, y: float, tip: str = "") -> None:
    """One of four shapes around a point."""
    class_, r = f"ma f{kind % COLOURS}", 4.2
    if kind % 4 == 0:
        sheet.add("circle", cx=x, cy=y, r=r, class_=class_, tip=tip)
    elif kind % 4 == 1:
        side = 2 * r - 0.8
        sheet.add("rect", x=x - r + 0.4, y=y - r + 0.4, width=side, height=side, class_=class_, tip=tip)
    else:
        r += 0.8
        corners = [(0, -r), (r, r * 0.8), (-r, r * 0.8)] if kind % 4 == 2 else [(0, -r), (r, 0), (0, r), (-r, 0)]
        points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in corners)
        sheet.add("polygon", points=points, class_=class_, tip=tip)


def legend(sheet: Sheet, names: Sequence[str], y: float, markers: bool) -> float:
    """A row (or rows) of line samples with names; returns where the rest may begin."""
    x, y = _MARGIN, y + 12
    for kind, name in enumerate(names):
        name = shorten(name, sheet.width - 2 * _MARGIN - 32)
        width = 32 + text_width(name) + 14
        if x > _MARGIN and x + width > sheet.width - _MARGIN:
            x, y = _MARGIN, y + 19
        sheet.add(
            "line",
            x1=x, y1=y - 4, x2=x + 24, y2=y - 4,
            class_=f"ln l{kind % COLOURS}", stroke_dasharray=_DASHES[kind % 4] if not markers else None,
        )  # fmt: skip
        if markers:
            _marker(sheet, kind, x + 12, y - 4)
        sheet.text(x + 30, y, name)
        x += width
    return y + 8


def _frame(sheet: Sheet, x: Axis, y: Axis, x_label: str, y_label: str) -> None:
    """Grid, ticks and the names of the axes; the name of y stands above the axis, where nobody must tilt the head."""
    for tick in y.ticks:
        place = y.place(tick)
        sheet.line(x.begin, place, x.end, place, "gr")
        sheet.text(x.begin - 7, place + 4.5, label(tick), "mu", "end")
    for tick in x.ticks:
        place = x.place(tick)
        sheet.line(place, y.begin, place, y.begin + 4, "ax")
        sheet.text(place, y.begin + 18, label(tick), "mu", "middle")
    sheet.line(x.begin, y.begin, x.end, y.begin, "ax")
    if y_label:
        sheet.text(_MARGIN, y.end - 12, shorten(y_label, sheet.width - 2 * _MARGIN), "mu")
    if x_label:
        name = shorten(x_label, sheet.width - 2 * _MARGIN)
        sheet.text((x.begin + x.end) / 2, y.begin + 37, name, "mu", "middle")


def _left(y: Axis) -> float:
    """How much room the labels of the y axis need."""
    return max(text_width(label(tick)) for tick in y.ticks) + 7 + _MARGIN


def line_plot(
    series: Sequence[Series],
    *,
    title: str,
    description: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = False,
    reach: Sequence[float] = (),
    x_ticks: Sequence[float] | None = None,
    numbers: bool = False,
) -> str:
    """Lines of several series over one pair of axes, with markers where the points are few, and a legend.

    ``zero`` lets the y axis begin at zero; ``reach``: values that it has in any case, so that plots beside each other
    have the same scale; ``x_ticks`` puts ticks exactly there (orders 1, 2, 3); ``numbers`` writes
    the height of each point above it. Points that cannot be drawn (not finite; not positive on a log axis) leave a gap.
    """
    sheet = Sheet(WIDTH, 0)
    markers = all(len(s.x) <= _MOST_MARKERS for s in series)
    top = heading(sheet, title)
    if len(series) > 1:
        top = legend(sheet, [s.name for s in series], top, markers)
    top += 26 if y_label else 10
    bottom = top + 210
    sheet.height = bottom + (46 if x_label else 26)

    heights = [*reach, *(v for s in series for part in (s.y, s.low or (), s.high or ()) for v in part)]
    y = axis(heights, bottom, top, log=log_y, zero=zero)
    x = axis([v for s in series for v in s.x], _left(y), WIDTH - 2 * _MARGIN, log=log_x, tight=True)
    if x_ticks is not None:
        low, high = min(x.low, *x_ticks), max(x.high, *x_ticks)
        x = Axis(low, high, tuple(x_ticks), log_x, x.begin, x.end)
    _frame(sheet, x, y, x_label, y_label)
    for kind, one in enumerate(series):
        _draw_line(sheet, x, y, one, kind, markers)
        if numbers:
            _write_numbers(sheet, x, y, one)
    return sheet.finish(title, description or _described(series, x_label, y_label))


def _draw_line(sheet: Sheet, x: Axis, y: Axis, series: Series, kind: int, markers: bool) -> None:
    colour = kind % COLOURS
    if series.low is not None and series.high is not None:
        band = [
            (x.place(u), y.place(a), y.place(b))
            for u, a, b in zip(series.x, series.low, series.high, strict=True)
            if x.has(u) and y.has(a) and y.has(b)
        ]
        outline = [(u, a) for u, a, _ in band] + [(u, b) for u, _, b in reversed(band)]
        points = " ".join(f"{number(u)},{number(v)}" for u, v in outline)
        if len(band) > 1:
            sheet.add("polygon", points=points, class_=f"bd f{colour}")
    path, pen_down = [], False
    for u, v in zip(series.x, series.y, strict=True):
        if drawable := x.has(u) and y.has(v):
            path.append(f"{'L' if pen_down else 'M'}{number(x.place(u))} {number(y.place(v))}")
        pen_down = drawable
    if path:
        dash = None if markers else _DASHES[kind % 4]
        sheet.add("path", d="".join(path), class_=f"ln l{colour}", stroke_dasharray=dash)
    for i, (u, v) in enumerate(zip(series.x, series.y, strict=True)):
        if markers and x.has(u) and y.has(v):
            tip = f"{series.name}: {label(u)}, {label(v)}"
            if series.low is not None and series.high is not None:
                tip += f" ({label(series.low[i])} to {label(series.high[i])})"
            _marker(sheet, kind, x.place(u), y.place(v), tip)


def _write_numbers(sheet: Sheet, x: Axis, y: Axis, series: Series) -> None:
    for u, v in zip(series.x, series.y, strict=True):
        if x.has(u) and y.has(v):
            place = x.place(u)
            anchor = "start" if place < x.begin + 14 else "end" if place > x.end - 14 else "middle"
            sheet.text(place + (9 if anchor == "start" else 0), y.place(v) - 9, label(v), "nu", anchor)


def _described(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """The numbers in words, for readers who cannot see the plot."""
    parts = []
    for one in series:
        every = max(1, math.ceil(len(one.x) / 12))
        points = ", ".join(f"{label(u)}: {label(v)}" for u, v in list(zip(one.x, one.y, strict=True))[::every])
        parts.append(f"{one.name}: {points}.")
    axes = f"{y_label or 'y'} by {x_label or 'x'}. "
    return axes + " ".join(parts)


def bar_plot(
    names: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    description: str = "",
    value_label: str = "",
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> str:
    """Horizontal bars from zero, one a line beside its name, with the number at its end and an interval if given."""
    if not len(names) == len(values) or not len(values):
        raise ValueError(f"{len(names)} names for {len(values)} bars; there must be as many, and at least one")
    if (low is None) != (high is None):
        raise ValueError("an interval has two sides: give both low and high, or neither")
    sheet = Sheet(WIDTH, 0)
    top = heading(sheet, title) + 4
    left = _MARGIN + min(150.0, max(text_width(name) for name in names)) + 8
    numbers = [label(v) if math.isfinite(v) else "–" for v in values]
    right = WIDTH - _MARGIN - max(text_width(n) for n in numbers) - 6
    x = axis([*values, *(low or ()), *(high or ())], left, right, zero=True, tight=True)
    row = 24.0
    bottom = top + row * len(values)
    sheet.height = bottom + (30 if value_label else 8)
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        middle = top + row * (i + 0.5)
        sheet.text(left - 8, middle + 4.5, shorten(name, 150), anchor="end")
        end = x.place(0.0)
        if x.has(value):
            a, b = sorted((x.place(0.0), x.place(value)))
            end = b
            sheet.add(
                "rect", x=a, y=middle - 8, width=max(b - a, 0.5), height=16, rx=2, class_="f0",
                tip=f"{name}: {numbers[i]}",
            )  # fmt: skip
        if low is not None and high is not None and x.has(low[i]) and x.has(high[i]):
            a, b = x.place(low[i]), x.place(high[i])
            end = max(end, b)
            sheet.line(a, middle, b, middle, "wh")
            for edge in (a, b):
                sheet.line(edge, middle - 4, edge, middle + 4, "wh")
        sheet.text(end + 6, middle + 4.5, numbers[i], "mu")
    sheet.line(x.place(0.0), top, x.place(0.0), bottom, "ax")
    if value_label:
        sheet.text((left + right) / 2, bottom + 20, shorten(value_label, WIDTH - 2 * _MARGIN), "mu", "middle")
    spoken = ", ".join(f"{name} {n}" for name, n in zip(names, numbers, strict=True))
    return sheet.finish(title, description or f"{value_label or 'Bars'}: {spoken}")
