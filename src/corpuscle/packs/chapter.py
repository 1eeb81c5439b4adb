"""A chapter of the report: what a step tells the reader, and the sentences that many chapters have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from corpuscle.text.html import Html, p
from corpuscle.text.wording import percent


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
    - ``commands``: (command line, what it does); ``{model}`` stands for the first file that the step writes;
    - ``verdict``: what the figures mean, in one sentence: better than what, and is that good for this much text? It
      stands in the summary of the report, for people who read only that.
    """

    headline: str
    figures: Mapping[str, Any]
    cards: list[Card]
    body: list[Html]
    commands: list[tuple[str, str]]
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
