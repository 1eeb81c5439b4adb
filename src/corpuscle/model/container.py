"""The bytes of a model file: a safetensors file, written and read by our own careful code.

Layout: eight bytes with the length of the header, the header (JSON: for each array its dtype, shape and place; and
string metadata), then the arrays, gapless. Larger items come first, so every array is aligned. The metadata has a
SHA-256 of the whole file, computed with the digits of the checksum itself set to zero.

The reader trusts nothing: lengths, names, types, shapes and places are checked in exact integers before anything is
mapped, and the checksum before anything is returned.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from corpuscle.atomic import note, replacing
from corpuscle.errors import InputError
from corpuscle.memory import pieces
from corpuscle.scale import beside

_KINDS = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4",
    "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
DTYPES: dict[str, np.dtype[Any]] = {code: np.dtype(kind) for code, kind in _KINDS.items()}
CODES = {dtype: code for code, dtype in DTYPES.items()}

MAX_HEADER = 1 << 23
MAX_DIMENSIONS = 8
MAX_DEPTH = 32
ALIGNMENT = 64
UNSEALED = "0" * 64


class Place(NamedTuple):
    """Where an array lies: its dtype, shape, and first and last-plus-one byte after the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


class Layout(NamedTuple):
    """A file before its arrays are touched: metadata, places, where data begins, and all bytes."""

    metadata: dict[str, str]
    places: dict[str, Place]
    data_start: int
    data: np.ndarray


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _members(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_json(text: str | bytes) -> Any:
    """Strict JSON: no repeated names, no infinities, no half characters, bounded nesting; else a ``ValueError``."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level, depth = [value], 0
    while level := [inner for outer in level if isinstance(outer, dict | list) for inner in _members(outer)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
    return value


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 60


def _place(name: str, fields: Any) -> Place:
    """One array's place from the JSON header, or ``ValueError``."""
    if type(fields) is not dict or fields.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"array {name!r} is described wrongly")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if type(code) is not str or code not in DTYPES:
        raise ValueError(f"array {name!r} has an unknown type")
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS or not all(map(_is_size, shape)):
        raise ValueError(f"array {name!r} has an impossible shape")
    if type(offsets) is not list or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise ValueError(f"array {name!r} lies nowhere")
    begin, end = offsets
    if end - begin != math.prod(shape) * DTYPES[code].itemsize:
        raise ValueError(f"array {name!r} has another size than its shape says")
    return Place(DTYPES[code], tuple(shape), begin, end)


def _parse(raw: bytes, data_size: int, data_start: int) -> tuple[dict[str, str], dict[str, Place]]:
    """Metadata and places, every claim checked against the size of the file; or ``ValueError``."""
    header = parse_json(raw)
    if type(header) is not dict:
        raise ValueError("the header is not an object")
    metadata = header.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        raise ValueError("the metadata are not strings")
    places = {name: _place(name, fields) for name, fields in header.items()}
    position = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].begin, item[1].end)):
        if place.begin != position:
            raise ValueError(f"array {name!r} does not begin where the one before it ends")
        if (data_start + place.begin) % place.dtype.itemsize:
            raise ValueError(f"array {name!r} is not aligned")
        position = place.end
    if position > data_size:
        raise ValueError(f"truncated: {position - data_size} bytes are missing")
    if position < data_size:
        raise ValueError(f"{data_size - position} bytes too many")
    return metadata, places


def read_layout(path: str | PathLike[str]) -> Layout:
    """Read and check the header of a file and map the file read-only; the data are not looked at."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            prefix = file.read(8)
            if size == 0:
                raise InputError(path, None, "an empty file, not a model")
            length = int.from_bytes(prefix, "little")
            if size < 10 or length > 1 << 60:
                raise InputError(path, None, "not a model file")
            if length > MAX_HEADER:
                raise InputError(path, None, "not a model file, or its header is too large")
            if length > size - 8:
                raise InputError(path, None, "a truncated model, or not a model file")
            raw = file.read(length)
            if raw[:1] != b"{":
                raise InputError(path, None, "not a model file")
            try:
                metadata, places = _parse(raw, size - 8 - length, 8 + length)
            except ValueError as error:
                raise InputError(path, None, f"a damaged model, or not a model file: {error}") from None
            data = np.asarray(np.memmap(file, np.uint8, "r"))
    except OSError as error:
        raise InputError(path, None, (error.strerror or str(error)).lower()) from error
    return Layout(metadata, places, 8 + length, data)


def checksum_of(layout: Layout, written: str) -> str:
    """The checksum that the file should have, given the one that is written in it."""
    head = layout.data[: layout.data_start].tobytes()
    digest = hashlib.sha256(head.replace(written.encode(), UNSEALED.encode(), 1))
    digest.update(layout.data[layout.data_start :].data)
    return digest.hexdigest()


def read_arrays(layout: Layout) -> dict[str, np.ndarray]:
    """The arrays of a file, as views of the mapping."""
    arrays = {}
    for name, place in layout.places.items():
        part = layout.data[layout.data_start + place.begin : layout.data_start + place.end]
        arrays[name] = part.view(place.dtype).reshape(place.shape)
    return arrays


def write(path: str | PathLike[str], metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file at once or not at all; ``UNSEALED`` in the metadata becomes its checksum.

    The arrays are hashed in a second thread while they are written, and never copied.
    """
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    ordered = dict(sorted(ordered.items(), key=lambda item: -item[1].itemsize))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    position = 0
    for name, array in ordered.items():
        place = [position, position + array.nbytes]
        header[name] = {"dtype": CODES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        position += array.nbytes
    raw = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    raw += b" " * (-(8 + len(raw)) % ALIGNMENT)
    if len(raw) > MAX_HEADER:
        raise ValueError(f"the header of {os.fspath(path)} would be too large; large values belong in arrays")
    head = len(raw).to_bytes(8, "little") + raw
    flat = [array.reshape(-1).view(np.uint8) for array in ordered.values()]
    digest = hashlib.sha256(head)

    def sealed() -> bytes:
        for array in flat:
            for piece in pieces(array):
                digest.update(piece.data)
        return head.replace(UNSEALED.encode(), digest.hexdigest().encode(), 1)

    with replacing(path) as file, beside() as other:
        hashing = other.submit(sealed)
        file.write(head if file.seekable() else hashing.result())
        for array in flat:
            for piece in pieces(array):
                file.write(piece.data)
        if file.seekable():
            file.seek(0)
            file.write(hashing.result())
    note(path, len(head) + position)
