"""What other installed packages add: methods of tasks, formats of text, metrics, each by an entry point.

    [project.entry-points."corpuscle.methods"]
    "lm.uniform" = "uniform.record:METHOD"        # a ``catalogue.Method``: train --method uniform, load
    [project.entry-points."corpuscle.formats"]
    subtitles = "subtitles:FORMAT"                # a ``text.formats.Format``: wherever a text is read
    [project.entry-points."corpuscle.metrics"]
    "tag.nouns" = "nouns:accuracy"                # a function of gold and found: a line more of ``tag evaluate``

An entry point is loaded when something asks for what none of ours is, or for all there are; so a record imports nothing
heavy. One that cannot be loaded is said once, and is not there. Our names come first: nobody takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def extensions(group: str) -> Mapping[str, Any]:
    """What other packages add to a group, such as ``methods``, by name."""
    from importlib.metadata import entry_points

    from corpuscle.errors import warn

    found = {}
    for point in sorted(entry_points(group=f"corpuscle.{group}"), key=lambda point: (point.name, point.value)):
        try:
            found[point.name] = point.load()
        except Exception as error:
            warn(f"{point.value} of an installed package cannot be used: {error}")
    return found


class Extended(Mapping[str, T]):
    """What there is of ours, then what other packages add; these are asked only where none of ours will do."""

    def __init__(self, own: Mapping[str, T], more: Callable[[], Mapping[str, T]]):
        self.own, self._more = own, more

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self._more()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self._more() if name not in self.own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self.own) or bool(self._more())
