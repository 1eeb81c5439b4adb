"""What a kind of model consists of, and the check that an array is what it claims to be.

A kernel indexes without asking, so every index, offset and size must be right before it runs. A kind declares its
arrays; ``validate`` checks them with a few vectorised passes and raises ``InputError``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpuscle.memory import pieces
from corpuscle.model.container import CODES

if TYPE_CHECKING:
    from corpuscle.model.store import Container

_SIZE = re.compile(r"([A-Za-z_][A-Za-z_0-9/]*)([+-][0-9]+)?")


class Invalid(ValueError):
    """Why a set of arrays is not what its kind declares."""


_LARGEST = {"float64": 1e100, "float32": 1e15}
"""What a finite value is at most, far from the end of its type, so that squares and their sums stay finite."""
_ROUNDING = {"float64": 1e-6, "float32": 1e-3}
"""How far from one the sum of a distribution may be."""
MOST_COUNTED = 1 << 40
"""Counts of words are below this, more than any text has, so that sums of them fit into an int64."""


@dataclass(frozen=True)
class Array:
    """The declaration of one array.

    - ``shape``: for each axis a number, a size name, or a name with an offset, such as ``"types+1"``. The first array
      that uses a name binds it; all others must agree. A whole number in the header's ``extra`` binds its name too;
    - ``low`` and ``high``: every value is in [low, high); either may be a number or a size name;
    - ``rising``: no value is smaller than the one before it;
    - ``offsets_into``: rising, begins with 0, ends with that size;
    - ``finite``: no NaN, no infinity, and nothing so large that a square of it, or a sum of squares, could become one;
    - ``sums``: ``positive`` if every sum along an axis is above zero, so that it can be divided by; ``one`` for
      distributions. ``along``: which axis; ``parts``: size names that cut it into parts, each with a sum of its own;
    - ``strings``: this is the UTF-8 of distinct, non-empty strings without NUL and line feed, which begin at the
      offsets in the named array;
    - ``optional``: may be missing.
    """

    dtype: str
    shape: tuple[int | str, ...]
    low: int | float | str | None = None
    high: int | float | str | None = None
    rising: bool = False
    offsets_into: str | None = None
    finite: bool = False
    sums: Literal["positive", "one"] | None = None
    along: int = -1
    parts: tuple[str, ...] = ()
    strings: str | None = None
    optional: bool = False

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in CODES:
            raise ValueError(f"a model file has no arrays of type {self.dtype}")


Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Kind:
    """A kind of model: a stable name, a version, and its parts.

    ``arrays`` and ``components`` may be functions of the header's ``extra`` where their number depends on it (an n-gram
    model has arrays for each order). A component is another model whose arrays have its name as a prefix; the tuple
    lists the kinds that it may have. ``check`` raises ``ValueError`` for what the declarations cannot express.
    ``migrations[v]`` takes header and arrays of version v and returns those of version v + 1.
    """

    name: str
    version: int
    arrays: Arrays | Callable[[Mapping[str, Any]], Arrays]
    components: Mapping[str, tuple[Kind, ...]] | Callable[[Mapping[str, Any]], Mapping[str, tuple[Kind, ...]]] = field(
        default_factory=dict
    )
    check: Callable[[Container], None] | None = None
    migrations: Mapping[int, Callable[[dict[str, Any], dict[str, np.ndarray]], tuple[dict, dict]]] = field(
        default_factory=dict
    )

    def arrays_for(self, extra: Mapping[str, Any]) -> Arrays:
        return self.arrays(extra) if callable(self.arrays) else self.arrays

    def components_for(self, extra: Mapping[str, Any]) -> Mapping[str, tuple[Kind, ...]]:
        return self.components(extra) if callable(self.components) else self.components


def vocab_arrays(prefix: str = "vocab/", types: str = "types") -> dict[str, Array]:
    """The arrays of a vocabulary; ``types`` names its number of types, so an id is in [0, types+3)."""
    return {
        prefix + "bytes": Array("uint8", (prefix + "bytes",), strings=prefix + "offsets"),
        prefix + "offsets": Array("int64", (f"{types}+1",), offsets_into=prefix + "bytes"),
        prefix + "counts": Array("int64", (f"{types}+3",), low=0, high=MOST_COUNTED),
    }


VOCAB = vocab_arrays()

TRAINING_ITEMS = {"items/training": Array("uint64", ("training_items",), optional=True)}
"""Hashes of the items that a model was trained on, see ``corpuscle.text.heldout``."""

ITEMS = {**TRAINING_ITEMS, "items/tuning": Array("uint64", ("tuning_items",), optional=True)}
"""Those, and hashes of the items that it was tuned on."""


def _split(size: str) -> tuple[str, int]:
    match = _SIZE.fullmatch(size)
    if match is None:
        raise TypeError(f"{size!r} is not a size such as 'rows' or 'types+1'")
    return match[1], int(match[2] or 0)


def _value(size: int | float | str, sizes: Mapping[str, int]) -> int | float:
    """A number, or what a size name stands for."""
    if not isinstance(size, str):
        return size
    name, more = _split(size)
    if name not in sizes:
        raise Invalid(f"the size {name!r} is not known")
    return sizes[name] + more


def _bind(name: str, declared: Array, array: np.ndarray, sizes: dict[str, int]) -> None:
    """Check dtype and shape; learn the sizes that are named for the first time."""
    if array.dtype != np.dtype(declared.dtype):
        raise Invalid(f"array {name!r} is {array.dtype}, not {declared.dtype}")
    if array.ndim != len(declared.shape):
        raise Invalid(f"array {name!r} has {array.ndim} axes, not {len(declared.shape)}")
    for length, size in zip(array.shape, declared.shape, strict=True):
        if isinstance(size, str):
            size_name, more = _split(size)
            wanted = sizes.setdefault(size_name, length - more) + more
            if sizes[size_name] < 0:
                raise Invalid(f"array {name!r} is too short")
        else:
            wanted = size
        if length != wanted:
            raise Invalid(f"array {name!r} has shape {array.shape}, which does not fit the others")


def _check_strings(name: str, text: np.ndarray, offsets: np.ndarray) -> None:
    """UTF-8 that is cut only between characters, and no string twice."""
    from corpuscle.hashing import string_hashes

    blob = text.tobytes()
    try:
        blob.decode()
    except UnicodeDecodeError:
        raise Invalid(f"array {name!r} is not UTF-8") from None
    if b"\0" in blob or b"\n" in blob:
        raise Invalid(f"array {name!r} has a NUL or a line feed in a string")
    starts = offsets[:-1]
    if (offsets[1:] == starts).any():
        raise Invalid(f"array {name!r} has an empty string")
    if ((text[starts] & 0xC0) == 0x80).any():
        raise Invalid(f"array {name!r} is cut inside a character")
    hashes = string_hashes(text, offsets)
    if (np.diff(np.sort(hashes)) == 0).any():  # twins, or different strings chosen to have the same hash
        strings = {blob[a:b] for a, b in zip(starts.tolist(), offsets[1:].tolist(), strict=True)}
        if len(strings) < len(hashes):
            raise Invalid(f"array {name!r} has a string twice")


def _rises(array: np.ndarray) -> bool:
    return all(bool((piece[1:] >= piece[:-1]).all()) for piece in pieces(array, overlap=1))


def _check_values(name: str, declared: Array, array: np.ndarray, sizes: Mapping[str, int]) -> None:
    if declared.offsets_into is not None:
        end = _value(declared.offsets_into, sizes)
        if array.size == 0 or array[0] != 0 or array[-1] != end or not _rises(array):
            raise Invalid(f"array {name!r} is not a list of offsets up to {end}")
    if declared.rising and not _rises(array):
        raise Invalid(f"array {name!r} falls somewhere, where it should rise")
    if array.size == 0:
        return
    if array.dtype == np.bool_ and array.view(np.uint8).max() > 1:
        raise Invalid(f"array {name!r} has values that are neither true nor false")
    if declared.low is None and declared.high is None and not declared.finite:
        return
    extremes = np.array([(piece.min(), piece.max()) for piece in pieces(array)], array.dtype)
    smallest, largest = extremes.min().item(), extremes.max().item()  # both are NaN if there is one anywhere
    if declared.finite and not (math.isfinite(smallest) and math.isfinite(largest)):
        raise Invalid(f"array {name!r} has values that are not finite")
    if declared.finite and max(-smallest, largest) > _LARGEST.get(array.dtype.name, math.inf):
        raise Invalid(f"array {name!r} has values that no learner arrives at, such as {max(-smallest, largest)}")
    if declared.low is not None and not smallest >= _value(declared.low, sizes):
        raise Invalid(f"array {name!r} has the value {smallest}, below {_value(declared.low, sizes)}")
    if declared.high is not None and not largest < _value(declared.high, sizes):
        raise Invalid(f"array {name!r} has the value {largest}, not below {_value(declared.high, sizes)}")


def _check_sums(name: str, declared: Array, array: np.ndarray, sizes: Mapping[str, int]) -> None:
    """Of values that have been checked: whether they can be, or are, distributions."""
    rows = np.moveaxis(array, declared.along, -1)
    lengths = [int(_value(part, sizes)) for part in declared.parts] or [rows.shape[-1]]
    if sum(lengths) != rows.shape[-1]:
        raise Invalid(f"array {name!r} has shape {array.shape}, which does not fit the others")
    for begin, end in pairwise(accumulate(lengths, initial=0)):
        sums = rows[..., begin:end].sum(axis=-1, dtype=np.float64)
        if not (sums > 0.0).all():
            raise Invalid(f"array {name!r} has a row without anything above zero")
        if declared.sums == "one" and not (np.abs(sums - 1.0) <= _ROUNDING[array.dtype.name]).all():
            raise Invalid(f"array {name!r} has a row that does not sum to one")


def validate(declared: Arrays, arrays: Mapping[str, np.ndarray], extra: Mapping[str, Any]) -> None:
    """Check all arrays of one model (without its components) against their declarations; raise ``Invalid``."""
    for name in arrays:
        if name not in declared:
            raise Invalid(f"array {name!r} does not belong here")
    sizes = {name: value for name, value in extra.items() if type(value) is int and 0 <= value < 1 << 60}
    present = {name: array for name, array in declared.items() if name in arrays}
    for name, array in declared.items():
        if name in present:
            _bind(name, array, arrays[name], sizes)
        elif not array.optional:
            raise Invalid(f"array {name!r} is missing")
    for name, array in present.items():
        _check_values(name, array, arrays[name], sizes)
        if array.sums is not None:
            _check_sums(name, array, arrays[name], sizes)
    for name, array in present.items():  # when the offsets are known to be good
        if array.strings is not None:
            _check_strings(name, arrays[name], arrays[array.strings])
