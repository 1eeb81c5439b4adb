"""A chapter of the report: what a step tells the reader, and the sentences that many chapters have in common.

What a system has found out are records whose fields are figures, results and tables, kept as JSON by their fields. A
record (a frozen dataclass) becomes an object of JSON, a named tuple a list, a ``Result`` of a measure its figures
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
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

from corpuscle.measure import Interval, Result
from corpuscle.text.html import Html, p
from corpuscle.text.tables import plain
from corpuscle.text.wording import percent

if TYPE_CHECKING:
    from corpuscle.packs.step import Step


class Card(NamedTuple):
    """A number for the top of the report: what it is, and what a simple way or chance would give."""

    number: str
    what: str
    baseline: str = ""


@dataclass(frozen=True)
class Chapter:
    """What a step tells the reader.

    - ``headline``: one sentence of plain text;
    - ``figures``: its main numbers by name, for ``--json``;
    - ``cards``: its numbers for the top of the report;
    - ``body``: the pieces of its text, one after the other;
    - ``verdict``: what the figures mean, in one sentence: better than what, and is that good for this much text? It
      stands in the summary of the report, for people who read only that.
    """

    headline: str
    figures: Mapping[str, Any]
    cards: list[Card]
    body: list[Html]
    verdict: str = ""


def between(low: float, high: float, write: Callable[[float], str] = percent) -> str:
    """The interval of a figure in a sentence.

    >>> between(0.5, 0.625)
    '(95 % interval: 50.0 % to 62.5 %)'
    """
    return f"(95 % interval: {write(low)} to {write(high)})"


def learned_from(
    much: str, model: str, finds: str, everything: str, them: str = "them", same: str = "settings"
) -> Html:
    """How most chapters begin: from how much was learned, what a ``model`` that has not seen a tenth of ``them``
    ``finds`` there, and what is in the pack: one that has the ``same``, from ``everything``."""
    return p(
        f"Learned from {much}. A {model} trained without a tenth of {them} {finds} The {model} in the pack has the "
        f"same {same}, and learned from all {everything}."
    )


def grade(value: float, *bounds: tuple[float, str]) -> str:
    """The word of the first bound that a value reaches.

    >>> grade(0.7, (0.95, "Good"), (0.5, "Usable"), (0, "Weak"))
    'Usable'
    """
    return next(word for bound, word in bounds if value >= bound)


def amount(n: float, little: float, fair: float, thing: str, sizes: tuple[str, str] = ("little", "much")) -> str:
    """How much material that is.

    >>> amount(300, 500, 5000, "translations", ("few", "many"))
    'from very few translations'
    """
    small, large = sizes
    size = f"very {small}" if n < little else small if n < fair else "a fair amount of" if n < 10 * fair else large
    return f"from {size} {thing}"


def compared(what: str, ours: float, simple: float, name: str) -> str:
    """A verdict: a figure, and that of a simple way.

    >>> compared("F1", 0.75, 0.5, "a plain PCFG")
    'Much better than a plain PCFG: F1 75 %, compared with 50 %.'
    """
    how = grade(ours - simple, (0.1, "Much better"), (0.02, "Better"), (-0.02, "As good"), (-9, "Worse"))
    link = "as" if how == "As good" else "than"
    return f"{how} {link} {name}: {what} {percent(ours, 0)}, compared with {percent(simple, 0)}."


Table = tuple[Mapping[str, Any], ...]  # rows with the same columns: strings and numbers by name


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
            except (LookupError, TypeError, ValueError) as error:
                raise ValueError(f"{each.name}: {error}") from None
        elif each.default is MISSING:
            raise ValueError(f"{each.name} is missing")
    return cls(**values)


def _read(hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if hint is float and value is None:  # a figure that cannot be computed
        return math.nan
    if origin in (Union, UnionType):
        return None if value is None else _read(inner[0], value)
    of_names = hint is Result or (origin is not None and issubclass(origin, Mapping))
    if of_names and not isinstance(value, Mapping):
        raise ValueError(f"{value!r} has no names")
    if hint is Result:
        figures = {name: math.nan if each is None else each for name, each in value.items() if name != "signature"}
        edges = [figures.pop(name, None) for name in ("low", "high", "deviation")]
        # the mean of the draws is not kept: no report shows it
        return Result(figures, None if edges[0] is None else Interval(math.nan, *edges), value["signature"])
    if is_dataclass(hint):
        return _record(hint, value)
    if of_names:
        return {name: _read(inner[1], item) for name, item in value.items()}
    if hasattr(hint, "_fields") or (origin is tuple and inner[1:] != (...,)):
        types = inner or get_type_hints(hint).values()
        items = (_read(each, item) for each, item in zip(types, value, strict=True))
        return tuple(items) if inner else hint(*items)
    if origin is not None:
        return tuple(_read(inner[0], item) for item in value)
    if not isinstance(value, (int, float) if hint is float else hint):
        raise ValueError(f"{value!r} is no {hint.__name__}")
    return value
