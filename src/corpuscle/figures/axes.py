"""Axes: from numbers to places on the sheet, with ticks at round numbers.

Linear ticks stand at multiples of 1, 2 or 5 times a power of ten. A logarithmic axis that spans a decade or more has
ticks at 1, 2, 5 (or only 1) times powers of ten; one that spans less takes linear ticks, at logarithmic places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "axis", "label"]


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


def _step(span: float, wanted: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that gives at most ``wanted`` steps."""
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))


def _linear(low: float, high: float, wanted: int) -> tuple[float, ...]:
    step = _step(high - low, wanted)
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
