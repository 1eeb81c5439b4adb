"""What a metric returns: its figures, how sure they are, and what exactly was computed.

``to_json`` gives plain dictionaries for ``json.dumps``: rates are fractions in 0..1 and a number that is not
finite becomes null, since JSON has no other word for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corpuscle import __version__

__all__ = ["Comparison", "Interval", "Result", "signature"]


def signature(metric: str, **facts: object) -> str:
    """What was counted and how, in one line that can stand under a table.

    >>> signature("accuracy", items="tokens").rsplit("|", 1)[0]
    'accuracy|items:tokens'
    """
    parts = [f"{name.replace('_', ' ')}:{value}" for name, value in facts.items()]
    return "|".join([metric, *parts, f"version:{__version__}"])


def _plain(value: Any) -> Any:
    """A Python number for JSON: NumPy's types unwrapped, not finite -> None."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Interval:
    """Where a figure lies when the items are drawn again: 95 % of the draws lie between ``low`` and ``high``;
    ``mean`` and ``deviation`` (standard deviation) are over all draws."""

    mean: float
    low: float
    high: float
    deviation: float

    def to_json(self) -> dict[str, Any]:
        """The four numbers as a dictionary."""
        return {name: _plain(getattr(self, name)) for name in ("mean", "low", "high", "deviation")}


@dataclass(frozen=True)
class Comparison:
    """The figure of system A minus that of system B on the same items: the difference, its 95 % interval and
    standard deviation over the draws, and how easily chance alone would give such a difference
    (two-sided)."""

    difference: float
    low: float
    high: float
    deviation: float
    p_value: float

    def to_json(self) -> dict[str, Any]:
        """The numbers as a dictionary."""
        names = ("difference", "low", "high", "deviation", "p_value")
        return {name: _plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class Result:
    """Figures by name, the interval of the headline figure (None where no interval makes sense), and a
    signature."""

    figures: Mapping[str, float | int]
    interval: Interval | None
    signature: str

    def __getitem__(self, name: str) -> float | int:
        return self.figures[name]

    def to_json(self) -> dict[str, Any]:
        """The figures, ``low``, ``high`` and ``deviation`` of the headline figure, and the signature."""
        result = {name: _plain(value) for name, value in self.figures.items()}
        if self.interval is not None:
            for name in ("low", "high", "deviation"):
                result[name] = _plain(getattr(self.interval, name))
        return {**result, "signature": self.signature}
