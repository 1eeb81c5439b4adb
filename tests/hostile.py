"""Damage model files as chance or an enemy would, and see that nothing worse than a ``CorpuscleError`` comes of it.

Every edit is tried twice: as it is, and with the checksum made right again, so that what lies behind the checksum must
defend itself. An enemy knows the format, so some edits change one value of the header or of an array.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpuscle.errors import CorpuscleError

ODD: list[Any] = [None, True, -1, 0, 1, 2, 7, 2**31, 2**32 - 1, 2**62, 2**63, 10**30, 0.5, -1e308, "", "x", "0"]
ODD += [[], [[]], {}, {"a": {}}, "\ud800", "a\nb", "\x1b[2J", "../../etc", "lm.ngram"]
DTYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1"}
DTYPES |= {"U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "u1"}


def reseal(data: bytes) -> bytes:
    """The same file with a right checksum, if it still has a place for one."""
    head_end = min(len(data), 8 + int.from_bytes(data[:8], "little"))
    place = re.search(rb"sha256:([0-9a-f]{64})", data[:head_end])
    if place is None:
        return data
    begin, end = place.span(1)
    blank = data[:begin] + b"0" * 64 + data[end:]
    return blank[:begin] + hashlib.sha256(blank).hexdigest().encode() + blank[end:]


def _flip(data: bytes, dice: random.Random) -> bytes:
    where = dice.randrange(len(data))
    return data[:where] + bytes([data[where] ^ (1 << dice.randrange(8))]) + data[where + 1 :]


def _cut(data: bytes, dice: random.Random) -> bytes:
    where = dice.randrange(len(data))
    return data[:where] + data[where + dice.choice((1, 8, len(data))) :]


def _grow(data: bytes, dice: random.Random) -> bytes:
    where = dice.randrange(len(data) + 1)
    return data[:where] + bytes(dice.choice((1, 8))) + data[where:]


def _parse(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _build(header: dict[str, Any], body: bytes) -> bytes:
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-(8 + len(raw)) % 64)
    return len(raw).to_bytes(8, "little") + raw + body


def _change_one(value: Any, dice: random.Random) -> Any:
    """Replace, remove or repeat one thing somewhere inside a JSON value."""
    if isinstance(value, dict | list) and value and dice.random() < 0.85:
        result = value.copy()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = dice.choice(keys)
        action = dice.random()
        if action < 0.1:
            del result[key]
        elif action < 0.15 and isinstance(result, list):
            result.insert(key, value[key])
        else:
            result[key] = _change_one(value[key], dice)
        return result
    if type(value) is int and dice.random() < 0.5:
        return value + dice.choice((-8, -1, 1, 8))
    return dice.choice(ODD)


def arrays_in(data: bytes) -> Iterator[tuple[str, np.ndarray, Callable[[np.ndarray], bytes]]]:
    """The arrays of a model file that have values: name, values in a row, and what gives the same file with others in
    their place, as an enemy would write it."""
    header, body = _parse(data)
    for name, fields in header.items():
        if name != "__metadata__" and fields["data_offsets"][0] < fields["data_offsets"][1]:
            begin, end = fields["data_offsets"]
            values = np.frombuffer(body[begin:end], "<" + DTYPES[fields["dtype"]])

            def put(new: np.ndarray, begin: int = begin, end: int = end, values: np.ndarray = values) -> bytes:
                return reseal(_build(header, body[:begin] + new.astype(values.dtype).tobytes() + body[end:]))

            yield name, values, put


def _change_layout(data: bytes, dice: random.Random) -> bytes:
    header, body = _parse(data)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return _change_header(data, dice)
    name = dice.choice(names)
    action = dice.random()
    if action < 0.2:  # the same bytes as another type
        header[name]["dtype"] = dice.choice(list(DTYPES))
    elif action < 0.4:  # two arrays change places
        other = dice.choice(names)
        header[name], header[other] = header[other], header[name]
    else:
        header[name] = _change_one(header[name], dice)
    return _build(header, body)


def _change_header(data: bytes, dice: random.Random) -> bytes:
    header, body = _parse(data)
    ours = json.loads(header["__metadata__"]["corpuscle"])
    for _ in range(dice.choice((1, 1, 2))):
        part = dice.choice(("extra", "extra", "settings", "components", "preprocessing", None))
        if part is None:
            checksum = ours.get("checksum")
            ours = _change_one(ours, dice)
            if isinstance(ours, dict):
                ours["checksum"] = checksum
            else:
                break
        elif part in ours:
            ours[part] = _change_one(ours[part], dice)
    header["__metadata__"]["corpuscle"] = json.dumps(ours, separators=(",", ":"))
    return _build(header, body)


def _change_value(data: bytes, dice: random.Random) -> bytes:
    header, body = _parse(data)
    entries = [fields for name, fields in header.items() if name != "__metadata__"]
    filled = [fields for fields in entries if fields["data_offsets"][0] < fields["data_offsets"][1]]
    if not filled:
        return _change_header(data, dice)
    entry = dice.choice(filled)
    begin, end = entry["data_offsets"]
    values = np.frombuffer(body[begin:end], "<" + DTYPES[entry["dtype"]]).copy()
    where = dice.randrange(len(values))
    if values.dtype.kind == "f":
        new: Any = dice.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1.0))
        with np.errstate(over="ignore"):
            values[where] = new
    else:
        info = np.iinfo(values.dtype)
        values[where] = dice.choice((info.min, info.max, 0, int(values[dice.randrange(len(values))]), info.max // 2))
        if dice.random() < 0.3:
            values[where] = np.clip(int(values.max()) + 1, info.min, info.max)
    return _build(header, body[:begin] + values.tobytes() + body[end:])


EDITS = (_flip, _cut, _grow, _change_layout, _change_header, _change_value, _change_value)


def survives_hostile_edits(path: str | Path, use: Callable[[Path], Any], edits: int = 300, seed: int = 1) -> int:
    """``use(path)`` loads a model and works with it. It must succeed on the file as it is and raise nothing but
    ``CorpuscleError`` on damaged ones. Returns how many of the resealed ones were refused."""
    good = Path(path).read_bytes()
    use(Path(path))
    bad_path = Path(path).with_name("hostile.model")
    dice, refused = random.Random(seed), 0
    for number in range(edits):
        edit = dice.choice(EDITS)
        bad = edit(good, dice)
        for sealed in False, True:
            attempt = reseal(bad) if sealed else bad
            bad_path.write_bytes(attempt)
            try:
                use(bad_path)
            except CorpuscleError:
                refused += sealed
            except BaseException as error:
                raise AssertionError(f"edit {number} ({edit.__name__}, resealed: {sealed}) gives {error!r}") from error
            else:
                assert sealed or attempt == good, f"edit {number} ({edit.__name__}) was not noticed"
    bad_path.unlink()
    return refused
