"""The plots: lines over an axis, bars and boxes with names.

Sheets are narrow (460 units) because most will be looked at on a page or a phone, where a wide sheet would shrink its
own labels away. Series differ in colour, marker and dash, so that no one has to see colours to read them.

Axes: from numbers to places on the sheet, with ticks at round numbers.

Linear ticks stand at multiples of 1, 2 or 5 times a power of ten. A logarithmic axis that spans a decade or more has
ticks at 1, 2, 5 (or only 1) times powers of ten; one that spans less takes linear ticks, at logarithmic places.

Box plots: how numbers are spread, group by group.

A box reaches from the lower to the upper quartile and has a line at the median; whiskers reach to the last number
within one and a half times the length of the box; what lies beyond is a dot. Tukey, "Exploratory data analysis", 1977.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpuscle.figures.svg import COLOURS, Sheet, number, shorten, text_width

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


def heading(sheet: Sheet, title: str) -> float:
    """Write the title, broken into lines at spaces; returns where the rest may begin."""
    width, size = sheet.width - 2 * _MARGIN, 15.5
    lines: list[str] = []
    for word in title.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    for row, line in enumerate(lines, 1):
        sheet.text(_MARGIN, 6.0 + 18 * row, shorten(line, width, size), "ti")
    return 14.0 + 18 * len(lines)


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
    """Grid, ticks and the names of the axes; the name of y stands above the axis, where it can be read upright."""
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

    ``zero`` lets the y axis begin at zero; ``reach``: values that it has in any case, so that plots side by side
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
    left = max(text_width(label(tick)) for tick in y.ticks) + 7 + _MARGIN
    x = axis([v for s in series for v in s.x], left, WIDTH - 2 * _MARGIN, log=log_x, tight=True)
    if x_ticks is not None:
        low, high = min(x.low, *x_ticks), max(x.high, *x_ticks)
        x = Axis(low, high, tuple(x_ticks), log_x, x.begin, x.end)
    _frame(sheet, x, y, x_label, y_label)
    for kind, one in enumerate(series):
        _draw_line(sheet, x, y, one, kind, markers)
        for u, v in zip(one.x, one.y, strict=True) if numbers else ():
            if x.has(u) and y.has(v):
                place = x.place(u)
                anchor = "start" if place < x.begin + 14 else "end" if place > x.end - 14 else "middle"
                sheet.text(place + (9 if anchor == "start" else 0), y.place(v) - 9, label(v), "nu", anchor)
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
    """Horizontal bars from zero, one per line after its name, with the number at its end and an interval if given."""
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


@dataclass(frozen=True)
class Axis:
    """A range of numbers, where its ticks are, and the interval of the sheet it is drawn on."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool
    begin: float
    end: float

    def place(self, value: float) -> float:
        """Where a number lies on the sheet."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def has(self, value: float) -> bool:
        """Whether a number can be drawn at all."""
        return math.isfinite(value) and (value > 0 or not self.log)


def _linear(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Multiples of the smallest of 1, 2, 5 times a power of ten that gives at most ``wanted`` steps."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    decimals = max(0, -math.floor(math.log10(step)))
    return tuple(round(k * step, decimals) for k in range(first, last + 1))


def _logarithmic(low: float, high: float, wanted: int) -> tuple[float, ...]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for multiples in ((1.0, 2.0, 5.0), (1.0,)):
        ticks = tuple(m * 10.0**e for e in range(first, last + 1) for m in multiples)
        inside = tuple(t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9))
        if len(inside) <= wanted + 1:
            return inside
    every = math.ceil(len(inside) / wanted)
    return inside[::every]


def axis(
    values: Sequence[float],
    begin: float,
    end: float,
    *,
    log: bool = False,
    wanted: int = 5,
    zero: bool = False,
    tight: bool = False,
) -> Axis:
    """An axis for these numbers: with about ``wanted`` ticks, from zero if asked, and no wider than the
    numbers if tight.

    Numbers that cannot be drawn are ignored; there must be one that can.
    """
    usable = [float(v) for v in values if math.isfinite(v) and (v > 0 or not log)]
    if not usable:
        raise ValueError("there is no finite number to draw" + (" (a log axis needs positive ones)" if log else ""))
    low, high = min(usable), max(usable)
    if zero and not log:
        low, high = min(low, 0.0), max(high, 0.0)
    if zero and not log and low == high == 0:
        high = 1.0
    elif high - low <= 1e-12 * max(abs(low), abs(high)):
        # One number alone: give it room on both sides.
        low, high = (low / 1.5, high * 1.5) if log else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
    if log and high / low >= 10:
        ticks = _logarithmic(low, high, wanted)
    else:
        ticks = _linear(low, high, wanted)
        if log:
            ticks = tuple(t for t in ticks if t > 0)
    if tight:
        ticks = tuple(t for t in ticks if low <= t <= high) or ticks
    if not tight or not (low <= ticks[0] and ticks[-1] <= high):
        low, high = min(low, ticks[0]), max(high, ticks[-1])
    return Axis(low, high, ticks, log, begin, end)


def label(value: float) -> str:
    """A number as people write it: ``0.25``, ``1,500``, ``20k``, ``3M``.

    >>> [label(x) for x in (0.25, 3.0, 1500, 20000, 3e6)]
    ['0.25', '3', '1,500', '20k', '3M']
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 1e4):
            return f"{value / unit:.4g}{name}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


_BOX = 15.0


def box_plot(
    names: Sequence[str],
    groups: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    description: str = "",
    value_label: str = "",
) -> str:
    """Horizontal boxes after their names; ``groups``: for each of some series, the numbers of each name."""
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
