"""What a metric returns: its figures, how sure they are, what exactly was computed, and how people see it.

A result prints itself: ``str`` is one line that can be cited, ``text()`` what a command shows, and in a notebook it is
a small table. ``to_json`` gives plain dictionaries for ``json.dumps``: rates are fractions in 0..1 and a number that is
not finite becomes null, since JSON has no other word for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from corpuscle import __version__
from corpuscle.text.html import fragment, p, small, table
from corpuscle.text.tables import plain
from corpuscle.text.wording import count, number, percent

_WRITERS: dict[str, Callable[[float], str]] = {"%": percent, ",": count, ".": number}
"""How figures are written, by what they are."""


def signature(metric: str, **facts: object) -> str:
    """What was counted and how, in one line that can stand under a table.

    >>> signature("accuracy", items="tokens").rsplit("|", 1)[0]
    'accuracy|items:tokens'
    """
    parts = [f"{name.replace('_', ' ')}:{value}" for name, value in facts.items()]
    return "|".join([metric, *parts, f"version:{__version__}"])


def resampled(items: str, draws: int, seed: int) -> str:
    """For a signature: how the interval was computed."""
    return f"bootstrap of {items}, {draws} draws, seed {seed}"


class Shown(NamedTuple):
    """How a figure is shown: its name among the figures (``oov/tokens`` is the ratio of two), its label, and what it
    is: a share (``%``), a count (``,``), or another number (``.``)."""

    name: str
    label: str
    sort: str = "%"

    def value(self, figures: Mapping[str, float]) -> float:
        """The number; not a number where it is missing."""
        part, _, whole = self.name.partition("/")
        value = figures.get(part, math.nan)
        return value if not whole else value / figures[whole] if figures.get(whole) else math.nan

    def write(self, value: float) -> str:
        return _WRITERS[self.sort](value)


@dataclass(frozen=True)
class Interval:
    """Where a figure lies when the items are drawn again: 95 % of the draws lie between ``low`` and ``high``;
    ``mean`` and ``deviation`` (standard deviation) are over all draws."""

    mean: float
    low: float
    high: float
    deviation: float


def with_interval(name: str, value: Any, interval: Interval) -> dict[str, float]:
    """A figure and the edges of its interval under the names ``name``, ``name_low``, ``name_high``."""
    return {name: float(value), f"{name}_low": interval.low, f"{name}_high": interval.high}


class Row(NamedTuple):
    """A line of what is shown: a figure and its interval, if it has one, as they are written."""

    label: str
    value: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.label} {self.value}" + (f" (95 % {self.interval})" if self.interval else "")


class Printed(ABC):
    """What prints itself: as one line that can be cited, and as a table in notebooks."""

    signature: str

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """What people see of it, the most important first."""

    def __repr__(self) -> str:
        return " | ".join([*map(str, self.rows()), f"signature {self.signature}"])

    def _repr_html_(self) -> str:
        return fragment(table(("", "value", "95 % interval"), self.rows(), numbers=(1, 2)), p(small(self.signature)))


@dataclass(frozen=True, repr=False)
class Comparison(Printed):
    """The figure of system A minus that of system B on the same items: the difference, its 95 % interval and
    standard deviation over the draws, and how easily chance alone would give such a difference
    (two-sided). ``of`` says what was compared and ``signature`` how."""

    difference: float
    low: float
    high: float
    deviation: float
    p_value: float
    of: Shown
    signature: str

    def to_json(self) -> dict[str, Any]:
        return plain({name: value for name, value in vars(self).items() if name not in ("of", "signature")})

    def rows(self) -> Iterator[Row]:
        difference, low, high = map(self.of.write, (self.difference, self.low, self.high))
        yield Row(f"difference of {self.of.label}", difference, f"{low} to {high}")
        yield Row("p", number(self.p_value))

    def text(self) -> str:
        difference, p_value = self.rows()
        return f"{difference._replace(label='difference')}, p = {p_value.value}"


@dataclass(frozen=True, repr=False)
class Result(Printed):
    """Figures by name, the interval of the headline figure (None where no interval makes sense), and a signature.

    ``shown``: what people see of it, the headline first; ``words``: the same in sentences, for ``text``.
    """

    figures: Mapping[str, float | int]
    interval: Interval | None
    signature: str
    shown: tuple[Shown, ...] = field(default=(), compare=False)
    words: Callable[[Result], str] | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> float | int:
        return self.figures[name]

    def to_json(self) -> dict[str, Any]:
        """The figures, ``low``, ``high`` and ``deviation`` of the headline figure, and the signature."""
        headline = {} if self.interval is None else vars(self.interval)
        edges = {name: value for name, value in headline.items() if name != "mean"}
        return plain({**self.figures, **edges, "signature": self.signature})

    def rows(self) -> Iterator[Row]:
        """What is shown of the figures; one that cannot be computed, 0 of 0, is n/a."""
        for shown in self.shown:
            if not self.figures.keys() >= {*shown.name.split("/")}:
                continue
            value, low = shown.value(self.figures), self.figures.get(f"{shown.name}_low")
            edges = [] if low is None else [low, self.figures[f"{shown.name}_high"]]
            if shown is self.shown[0] and self.interval is not None:
                edges = [self.interval.low, self.interval.high]
            edges = [] if math.isnan(value) else edges
            yield Row(shown.label, shown.write(value), " to ".join(map(shown.write, edges)))

    def text(self) -> str:
        """The result for people: what a command shows."""
        return "\n".join(map(str, self.rows())) if self.words is None else self.words(self)
