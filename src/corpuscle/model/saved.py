"""How what a model has learned stands in its file: declared once, for both ways.

    SAVED = {
        "labels_": Record(Vocab),
        "weights_": Arrays("weights"),
        "layers_": Fact("layers", tuple),
        "lm_": Inner("lm", "corpuscle.lm:NgramModel"),
    }

From attribute -> declaration follow the arrays, the facts of the header and the inner models of ``save``, and what
``load`` sets. What is None is not written, and None again when it is not there, so the arrays of what a model need not
have are declared ``optional`` by its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from corpuscle.catalogue import find
from corpuscle.model.store import Part, numbered, separated

if TYPE_CHECKING:
    from corpuscle.model.store import Container


class Saved(Protocol):
    """The declaration of an attribute."""

    def arrays(self, value: Any) -> Mapping[str, np.ndarray]:
        """What stands in the file as arrays."""
        return {}

    def facts(self, value: Any) -> Mapping[str, Any]:
        """What stands in the header."""
        return {}

    def parts(self, value: Any) -> Mapping[str, Part]:
        """Models inside of the model."""
        return {}

    def restored(self, loaded: Container) -> Any:
        """The value, from a file that was validated."""
        ...


def _taken(arrays: Mapping[str, np.ndarray], name: str, copied: bool) -> np.ndarray:
    return np.array(arrays[name]) if copied else arrays[name]


class Arrays(Saved):
    """An array, or a tuple of several; ``copied``: they may be written to (those of a file are mapped read-only)."""

    def __init__(self, *names: str, copied: bool = False):
        self.names, self.copied = names, copied

    def arrays(self, value: Any) -> Mapping[str, np.ndarray]:
        return dict(zip(self.names, value if len(self.names) > 1 else (value,), strict=True))

    def restored(self, loaded: Container) -> Any:
        if self.names[0] not in loaded.arrays:
            return None
        found = tuple(_taken(loaded.arrays, name, self.copied) for name in self.names)
        return found if len(found) > 1 else found[0]


@dataclass(frozen=True)
class Record(Saved):
    """Arrays with a ``prefix``: fields of a NamedTuple, or what ``arrays`` and ``from_arrays`` of a class handle."""

    of: Any
    prefix: str | None = None
    copied: bool = False

    def arrays(self, value: Any) -> Mapping[str, np.ndarray]:
        if hasattr(self.of, "from_arrays"):
            return value.arrays(*self._where)
        return {(self.prefix or "") + name: array for name, array in value._asdict().items()}

    def restored(self, loaded: Container) -> Any:
        if hasattr(self.of, "from_arrays"):
            return self.of.from_arrays(loaded.arrays, *self._where)
        names = [(self.prefix or "") + name for name in self.of._fields]
        if names[0] not in loaded.arrays:
            return None
        return self.of(*(_taken(loaded.arrays, name, self.copied) for name in names))

    @property
    def _where(self) -> tuple[str, ...]:
        return () if self.prefix is None else (self.prefix,)


@dataclass(frozen=True)
class Samples(Saved):
    """Samples, each a dictionary of arrays, under ``NAME/0/``, ``NAME/1/``, ...; the fact ``fact`` is their number."""

    name: str = "sample"
    fact: str = "samples"

    def arrays(self, value: Any) -> Mapping[str, np.ndarray]:
        return numbered(self.name, value)

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.fact: len(value)}

    def restored(self, loaded: Container) -> Any:
        return separated(self.name, loaded.arrays, loaded.extra[self.fact])


@dataclass(frozen=True)
class Fact(Saved):
    """A small fact of the header; ``made``: what makes the attribute of it again, such as ``tuple``."""

    name: str
    made: Callable[[Any], Any] = lambda value: value

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.name: list(value) if isinstance(value, tuple) else value}

    def restored(self, loaded: Container) -> Any:
        return self.made(loaded.extra[self.name]) if self.name in loaded.extra else None


@dataclass(frozen=True)
class Inner(Saved):
    """A model inside of the model: its prefix, and its class as ``"module:Class"``."""

    name: str
    of: str

    def parts(self, value: Any) -> Mapping[str, Part]:
        return {self.name: value.part()}

    def restored(self, loaded: Container) -> Any:
        inside = self.name in loaded.header["components"]
        return find(self.of).from_container(loaded.component(self.name)) if inside else None
