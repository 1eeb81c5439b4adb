"""Verbs that take what people have: a path, a list of strings, a list of lists of words, or what a reader made of it.

A method of a model says by its annotation what it works on (``corpus: Corpus``, ``bitext: Bitext``). When it is called
with something else, that is read first, as the model reads its texts, see ``corpuscle.text.given``. Nothing is imported
before a verb gets something that is not what it works on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from corpuscle.catalogue import find

__all__ = ["takes_anything"]

_READERS = {
    "Corpus": "corpuscle.text.given:corpus",
    "Corpus | Forest": "corpuscle.text.given:corpus",
    "Bitext": "corpuscle.text.given:bitext",
    "Treebank": "corpuscle.text.given:treebank",
    "Trees": "corpuscle.text.given:trees",
    "Messages": "corpuscle.text.given:messages",
    "Sequence[Pair]": "corpuscle.text.given:pairs",
    "Documents": "corpuscle.entities.documents:given",
}
"""What a parameter is said to be -> what makes that of anything: called with the value and the model."""
_NAMES = "corpuscle.text.given:names"


def _reader(parameter: inspect.Parameter) -> str | None:
    kind = str(parameter.annotation).removesuffix(" | None")
    return _NAMES if (kind, parameter.name) == ("Iterable[str]", "names") else _READERS.get(kind)


def takes_anything(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a model, such that it takes texts, pairs and trees in any form; itself if it has none of them."""
    places = [
        (position, parameter.name, place)
        for position, parameter in enumerate(inspect.signature(function).parameters.values())
        if (place := _reader(parameter)) is not None
    ]
    if not places:
        return function

    @wraps(function)
    def taking(self: Any, *given: Any, **named: Any) -> Any:
        values = [self, *given]
        for position, name, place in places:
            if position < len(values) and _is_raw(values[position], place):
                values[position] = find(place)(values[position], self)
            elif name in named and _is_raw(named[name], place):
                named[name] = find(place)(named[name], self)
        return function(*values, **named)

    return taking


def _is_raw(value: Any, place: str) -> bool:
    """Whether it is a path or a list, not yet a text of ours; or a corpus where more than that is wanted."""
    if type(value).__name__ == "Corpus":
        return place in (_READERS["Treebank"], _READERS["Documents"], _READERS["Messages"])
    return isinstance(value, str | list | tuple) or hasattr(value, "__fspath__")
