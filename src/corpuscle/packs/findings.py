"""What a system has found out: records whose fields are figures, results and tables, kept as JSON by their fields.

A record (a frozen dataclass) becomes an object of JSON, a named tuple a list, a ``Result`` of a measure its figures
with the edges of its interval; numbers that are not finite become null. ``from_json`` makes the same record of it
again, by the types of the fields, so that a chapter can be written without the work being done again.

>>> @dataclass(frozen=True)
... class Counted(Findings):
...     words: int
...     shares: tuple[float, ...]
>>> Counted(2, (0.5, 0.25)).to_json()
{'bytes': 0, 'also_from': [], 'words': 2, 'shares': [0.5, 0.25]}
>>> Counted.from_json({"words": 2, "shares": [0.5, 0.25]})
Counted(bytes=0, also_from=(), words=2, shares=(0.5, 0.25))
>>> Counted.from_json({"words": "two", "shares": []})
Traceback (most recent call last):
ValueError: words: 'two' is no int
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, Union, get_args, get_origin, get_type_hints

from corpuscle.measure import Interval, Result
from corpuscle.text.tables import plain

if TYPE_CHECKING:
    from corpuscle.packs.chapter import Chapter
    from corpuscle.packs.step import Step

Table = tuple[Mapping[str, Any], ...]
"""Rows with the same columns: strings and numbers by name."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a step keeps of its work, and the chapter that it makes of it.

    ``bytes``: the size of the model; ``also_from``: roles of files that were used, besides those that are needed.
    """

    bytes: int = 0
    also_from: tuple[str, ...] = ()

    def chapter(self, step: Step) -> Chapter:
        """What there is to tell the reader; each class of findings says it."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Plain data, by field."""
        return _written(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The same findings; ``ValueError`` where the data are those of another class, or of another version."""
        return _record(cls, data)


def pick(source: Result | Findings, *names: str) -> dict[str, Any]:
    """Some figures by name; ``low`` and ``high`` of a result are the edges of its interval."""
    values = source.to_json() if isinstance(source, Result) else vars(source)
    return {name: values[name] for name in names}


def with_counts(result: Result, **counts: int | float) -> Result:
    """A result with further figures: of how much it is."""
    return replace(result, figures={**counts, **result.figures})


def _written(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_json()
    if is_dataclass(value):
        return {each.name: _written(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _written(each) for name, each in value.items()}
    return [_written(each) for each in value] if isinstance(value, list | tuple) else plain(value)


def _record(cls: Any, data: Any) -> Any:
    """A dataclass from an object of JSON; what it does not know is left alone."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{data!r} is no {cls.__name__}")
    hints, values = get_type_hints(cls), {}
    for each in fields(cls):
        if each.name in data:
            try:
                values[each.name] = _read(hints[each.name], data[each.name])
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise ValueError(f"{each.name}: {error}") from None
        elif each.default is MISSING:
            raise ValueError(f"{each.name} is missing")
    return cls(**values)


def _result(data: Mapping[str, Any]) -> Result:
    """A result from its figures; the mean of the draws, which no report shows, is not kept."""
    figures = {name: math.nan if value is None else value for name, value in data.items() if name != "signature"}
    edges = [figures.pop(name, None) for name in ("low", "high", "deviation")]
    interval = None if edges[0] is None else Interval(math.nan, *edges)
    return Result(figures, interval, data["signature"])


def _read(hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        return None if value is None else _read(inner[0], value)
    if hint is Result:
        return _result(value)
    if is_dataclass(hint):
        return _record(hint, value)
    if hasattr(hint, "_fields"):
        types = get_type_hints(hint).values()
        return hint(*(_read(each, item) for each, item in zip(types, value, strict=True)))
    if origin is tuple and inner[1:] == (...,):
        return tuple(_read(inner[0], item) for item in value)
    if origin is tuple:
        return tuple(_read(each, item) for each, item in zip(inner, value, strict=True))
    if origin is not None and not issubclass(origin, Mapping):
        return tuple(_read(inner[0], item) for item in value)
    if origin is not None:
        return {name: _read(inner[1], item) for name, item in value.items()}
    if not isinstance(value, (int, float) if hint is float else hint):
        raise ValueError(f"{value!r} is no {hint.__name__}")
    return value
