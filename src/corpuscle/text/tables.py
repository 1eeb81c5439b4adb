"""Tables: one row per line, fields separated by tabs, and where there is one a heading of names as the first line.

No other module writes or reads tab-separated tables; formats of the field that happen to have tabs (CoNLL-U, brat,
PubTator, columns) are not tables. A field cannot hold a tab or a line break, and is refused when it is written, unless
the table is ``escaped``: then ``\\t``, ``\\n``, ``\\r`` and ``\\\\`` stand for those and the backslash, ``\\uXXXX`` for
other control characters and line separators. ``with capturing() as rows`` takes tables that would go to stdout as data.

``plain`` makes values of such as JSON knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

from corpuscle.errors import InputError
from corpuscle.text.files import STDIO, AnyPath, read_lines, write_atomically
from corpuscle.text.wording import enumerated

NUMBER = ".6g"
"""How fractions are written; vectors and what grows with the text have more digits."""

_FORBIDDEN = re.compile(r"[\t\n\r]")
_SPECIAL = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_ESCAPE = re.compile(r"\\(?:([\\tnr])|u([0-9a-f]{4})|)")
_NAMES = {"\\": "\\", "\t": "t", "\n": "n", "\r": "r"}
_CHARACTERS = {name: character for character, name in _NAMES.items()}


def escaped_field(field: str) -> str:
    """A field whose tabs, line breaks, control characters and backslashes are escaped.

    >>> escaped_field("a\\tb")
    'a\\\\tb'
    """
    return _SPECIAL.sub(lambda match: "\\" + (_NAMES.get(match[0]) or f"u{ord(match[0]):04x}"), field)


def unescaped_field(field: str) -> str:
    """What was escaped in a field; ``ValueError`` for a backslash that begins no escape."""

    def character(match: re.Match[str]) -> str:
        if match[0] == "\\":
            raise ValueError(f"unknown escape in {field[:40]!r}")
        return _CHARACTERS[match[1]] if match[1] else chr(int(match[2], 16))

    return _ESCAPE.sub(character, field) if "\\" in field else field


def format_row(row: Iterable[object], number: str = NUMBER, escaped: bool = False, path: AnyPath | None = None) -> str:
    """A row as a line with its line feed; ``number``: the format of fractions; ``path`` is for the error.

    >>> format_row(["word", 3, 0.25])
    'word\\t3\\t0.25\\n'
    """
    fields = [
        f"{field:{number}}" if isinstance(field, Real) and not isinstance(field, Integral) else str(field)
        for field in row
    ]
    if escaped:
        fields = list(map(escaped_field, fields))
    line = "\t".join(fields)
    if line.count("\t") >= len(fields) > 0 or "\n" in line or "\r" in line:
        wrong = next(field for field in fields if _FORBIDDEN.search(field))
        raise InputError(path, None, f"this file cannot hold the field {wrong!r}")
    return line + "\n"


def write_table(
    path: AnyPath,
    heading: Sequence[str],
    rows: Iterable[Iterable[object]],
    number: str = NUMBER,
    *,
    escaped: bool = False,
    names: Sequence[str] = (),
    capture: bool = True,
) -> None:
    """Write a table, all of it or nothing; ``-`` is stdout.

    ``heading``: the names of the columns; without any, the table has no heading, and ``names`` are what its fields are
    called as data. ``number``: the format of fractions; ``capture``: whether ``capturing`` may take it.
    """
    if path == STDIO and _captured is not None and capture:
        columns = heading or names
        _captured.append([dict(zip(columns, row, strict=True)) if columns else list(row) for row in rows])
        return
    with write_atomically(path, "w") as output:
        lines = (format_row(row, number, escaped, path) for row in rows)
        first = next(lines, "")  # before the heading: on stdout, too, a table that cannot begin leaves nothing
        if heading:
            output.write(format_row(heading, path=path))
        output.write(first)
        output.writelines(lines)


_captured: list[list[Any]] | None = None


@contextmanager
def capturing() -> Iterator[list[list[Any]]]:
    """A list that receives the tables that would go to stdout: their rows, by the names of columns if they have any."""
    global _captured
    _captured = []
    try:
        yield _captured
    finally:
        _captured = None


def read_table(
    path: AnyPath,
    columns: Sequence[str] = (),
    *,
    heading: bool = False,
    escaped: bool = False,
    skip_blank: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with their line numbers, from 1; a row with another number of fields than there are
    ``columns`` is an error, unless none are named.

    ``heading``: the first line names the columns, in this order; ``skip_blank``: empty lines are no rows.
    """
    for line, text in read_lines(path):
        if line == 1 and heading:
            first = "\t".join(columns)
            if text != first:
                raise InputError(path, 1, f"this table begins with the line {first!r}")
            continue
        if skip_blank and not text:
            continue
        fields = text.split("\t")
        if columns and len(fields) != len(columns):
            reason = f"{len(fields)} fields, where {enumerated(columns)} are expected, separated by tabs"
            raise InputError(path, line, reason)
        try:
            yield line, list(map(unescaped_field, fields)) if escaped else fields
        except ValueError as error:
            raise InputError(path, line, str(error)) from None


def plain(value: Any) -> Any:
    """A value as JSON knows it: NumPy's numbers and arrays become Python's, not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
