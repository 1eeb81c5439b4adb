"""Pairs of strings: names and their transliterations, forms and their normalisations, words and how alike they are.

Files: a source and one or more accepted targets on a line, separated by tabs, the preferred target first; the XML of
the NEWS shared tasks on transliteration; and two words with a score on a line, as sets of word similarities have them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.origin import Listed, Origin
from corpuscle.text.tables import read_table, write_table
from corpuscle.text.xml import read_xml


class Pair(NamedTuple):
    """A source and what may stand for it, the preferred target first."""

    source: str
    targets: tuple[str, ...]


class ScoredPair(NamedTuple):
    """Two words and how alike people find them; the scale is that of the set."""

    first: str
    second: str
    score: float


def checked_pairs(pairs: Iterable[Any]) -> list[Pair]:
    """The pairs, if that is what they are, or an error that says how to make one."""
    pairs = pairs if isinstance(pairs, Listed) else list(pairs)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or isinstance(pair[1], str):
            raise SettingError(f"pair {number} is {repr(pair)[:60]}, where Pair(source, (target, ...)) is needed")
    return pairs


def read_pairs(path: AnyPath, wrong: list[InputError] | None = None) -> list[Pair]:
    """Read tab-separated pairs; every line has a source and at least one target, and no field is blank.

    The first line that is otherwise is an error; or, where ``wrong`` is given, all of them are added to it.
    """
    pairs, lines = [], []
    for number, fields in read_table(path):
        empty = next((column for column, field in enumerate(fields, 1) if not field.strip()), None)
        if len(fields) >= 2 and empty is None:
            pairs.append(Pair(fields[0], tuple(fields[1:])))
            lines.append(number)
            continue
        missing = "expected a source and at least one target, separated by tabs"
        error = InputError(path, number, missing if len(fields) < 2 else f"field {empty} is empty")
        if wrong is None:
            raise error
        wrong.append(error)
    return Listed(pairs, Origin.of(path, lines))


def write_pairs(pairs: Iterable[tuple[str, Iterable[str]]], path: AnyPath) -> None:
    """Write tab-separated pairs."""

    def row(source: str, targets: Iterable[str]) -> list[str]:
        fields = [source, *targets]
        if len(fields) < 2:
            raise InputError(path, None, f"the source {source!r} has no target")
        if not all(map(str.strip, fields)):
            raise InputError(path, None, f"the source {source!r} has an empty field")
        return fields

    write_table(path, (), (row(*pair) for pair in pairs))


def read_news(path: AnyPath, results: bool = False) -> list[Pair]:
    """Read the XML of the NEWS shared tasks: ``Name`` elements with a ``SourceName`` and ``TargetName`` elements.

    In ``results`` a name may have no target: nothing was found for it.
    """
    pairs = []
    for number, name in enumerate(read_xml(path).iter("Name"), 1):
        sources = [(element.text or "").strip() for element in name.findall("SourceName")]
        targets = [(element.text or "").strip() for element in name.findall("TargetName")]
        if len(sources) != 1 or not (results or all(sources)):
            raise InputError(path, None, f"name {number} (ID {name.get('ID')}) needs one SourceName with text")
        if not results and not (targets and all(targets)):
            raise InputError(path, None, f"name {number} (ID {name.get('ID')}) needs a TargetName with text")
        pairs.append(Pair(sources[0], tuple(targets)))
    return Listed(pairs, Origin.of(path))


_SCORE = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


def is_score(text: str) -> bool:
    """Whether a field is a finite number."""
    return bool(_SCORE.fullmatch(text)) and math.isfinite(float(text))


def read_scored_pairs(path: AnyPath) -> list[ScoredPair]:
    """Read pairs of words with a score: three fields on every line, separated by tabs, or by commas, semicolons or
    spaces where the first line has no tab. A first line whose last field is no number is a heading."""
    pairs: list[ScoredPair] = []
    separator = ""
    for number, line in read_lines(path):
        if number == 1:
            separator = next((mark for mark in "\t,; " if mark in line), "\t")
        fields = [field.strip() for field in line.split(separator)] if separator != " " else line.split()
        if len(fields) != 3:
            raise InputError(path, number, f"{len(fields)} fields, where two words and a score are expected")
        if not all(fields):
            raise InputError(path, number, f"field {fields.index('') + 1} is empty")
        if is_score(fields[2]):
            pairs.append(ScoredPair(fields[0], fields[1], float(fields[2])))
        elif number > 1:
            raise InputError(path, number, f"{fields[2][:40]!r} is not a score")
    if not pairs:
        raise InputError(path, None, "there are no pairs in it")
    return pairs
