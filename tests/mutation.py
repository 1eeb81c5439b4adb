"""Damage good input at random and see that a reader answers with a clear error, or reads what is left."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpuscle.errors import CorpuscleError

ODD = [b"", b"-1", b"0", b"99999999999999999999", b"nan", b"1e999", b"_", b"(", b")", b"{", b"]", b'"', b";", b"1-1"]
ODD += [b"\t", b" ", b"\n", b"\r\n", b"\xe2\x80\xa8", b"\xc2\xa0", b"|||", b"<!DOCTYPE a>"]
ODD += [b"\xc3\xa9", b"\xd9\xa3", b"\xff", b"\0"]


def mutate(good: bytes, dice: random.Random) -> bytes:
    """Some damage: to bytes, to lines, or to the pieces between separators."""
    data = bytearray(good)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        where = dice.randrange(len(data) + 1)
        kind = dice.randrange(7)
        if kind == 0 and where < len(data):
            data[where] = dice.randrange(256)
        elif kind == 1:
            del data[where : where + dice.choice((1, 1, 2, 10))]
        elif kind == 2:
            data[where:where] = dice.choice(ODD)
        elif kind == 3:
            del data[where:]
        elif kind == 4:
            lines = data.split(b"\n")
            line = lines.pop(dice.randrange(len(lines)))
            for _ in range(dice.randrange(3)):
                lines.insert(dice.randrange(len(lines) + 1), line)
            data = bytearray(b"\n".join(lines))
        elif kind == 5:
            end = where + dice.randrange(30)
            data[where:where] = data[where:end]
        else:
            separator = dice.choice((b"\t", b" ", b"\n", b"|", b",", b"-"))
            pieces = data.split(separator)
            pieces[dice.randrange(len(pieces))] = bytearray(dice.choice(ODD))
            data = bytearray(separator.join(pieces))
    return bytes(data)


def survives(reader: Callable[[Path], Any], good: bytes, count: int, seed: int, name: str = "input") -> None:
    """The reader takes ``good``, and raises nothing but a ``CorpuscleError`` on ``count`` damaged copies of it."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(good)
        reader(path)
        for _ in range(count):
            bad = mutate(good, dice)
            path.write_bytes(bad)
            try:
                reader(path)
            except CorpuscleError as error:
                assert str(error)
            except Exception as error:
                raise AssertionError(f"{type(error).__name__}: {error} on {bad!r}") from error
