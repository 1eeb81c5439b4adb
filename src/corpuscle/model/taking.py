"""Verbs that take what people have: a path, a list of strings, a list of lists of words, or what a reader made of it.

A method of a model says by its annotation what it works on (``corpus: Corpus``, ``bitext: Bitext``). When it is called
with something else, that is read first, as the model reads its texts, see ``corpuscle.text.inputs``. Nothing is
imported before a verb gets something that is not what it works on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from corpuscle.catalogue import find

_READERS = {
    "Corpus": "corpuscle.text.inputs:corpus",
    "Corpus | Forest": "corpuscle.text.inputs:corpus",
    "Bitext": "corpuscle.text.inputs:bitext",
    "Treebank": "corpuscle.text.inputs:treebank",
    "Trees": "corpuscle.text.inputs:trees",
    "Messages": "corpuscle.text.inputs:messages",
    "Sequence[Pair]": "corpuscle.text.inputs:pairs",
    "Documents": "corpuscle.entities.documents:given",
    "names": "corpuscle.text.inputs:names",
}
"""What a parameter is said to be -> what makes that of anything: called with the value and the model."""
_OURS = frozenset({"Corpus", "Corpus | Forest", "Bitext", "Treebank", "Trees", "Documents"})
"""Classes: what is not of the class is read, or is a mistake."""


def _kind(parameter: inspect.Parameter) -> str:
    """What a parameter is said to be, None aside."""
    kind = str(parameter.annotation).removesuffix(" | None")
    return "names" if (kind, parameter.name) == ("Iterable[str]", "names") else kind


def takes_anything(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a model, such that it takes texts, pairs and trees in any form; itself if it has none of them."""
    places = [
        (position, parameter.name, kind)
        for position, parameter in enumerate(inspect.signature(function).parameters.values())
        if (kind := _kind(parameter)) in _READERS
    ]
    if not places:
        return function

    @wraps(function)
    def taking(self: Any, *given: Any, **named: Any) -> Any:
        values = [self, *given]
        for position, name, kind in places:
            if position < len(values) and _is_raw(values[position], kind):
                values[position] = find(_READERS[kind])(values[position], self)
            elif name in named and _is_raw(named[name], kind):
                named[name] = find(_READERS[kind])(named[name], self)
        return function(*values, **named)

    return taking


def _is_raw(value: Any, kind: str) -> bool:
    """Whether it is yet to be read: a path, a list or a mistake, not data of that kind; nothing stays nothing. Names,
    messages and pairs may be anything that has them."""
    if kind in _OURS:
        return value is not None and kind.split(" | ").count(type(value).__name__) == 0
    if type(value).__name__ == "Corpus":
        return kind == "Messages"
    return isinstance(value, str | list | tuple) or hasattr(value, "__fspath__")
