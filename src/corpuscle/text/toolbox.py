"""Toolbox and Shoebox: records of fields with standard format markers, a backslash and a name before each.

    \\ref 1
    \\tx kitabları   okudum
    \\mb kitab -lar -ı    oku -du  -m
    \\ge book  -PL  -ACC  read -PST -1SG
    \\ft I read the books.

A record begins with ``\\ref``, ``\\id`` or the marker that its file has most often of these. Interlinear lines may be
wrapped: then a record has several ``\\tx``. A morph belongs to a word by its hyphen, so columns need not be exact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from corpuscle.text.encodings import read_any
from corpuscle.text.files import AnyPath
from corpuscle.text.interlinear import Interlinear, Phrase, TierFound, Word, role_of_tier, words_of

__all__ = ["is_toolbox", "read_toolbox"]

_MARKER = re.compile(r"\\(\S+)[ \t]?(.*)")
_BEGINS = ("ref", "rf", "id")
_HEADER = "\\_sh"


def is_toolbox(beginning: str) -> bool:
    """Whether a text begins with the line by which Toolbox knows its files."""
    return beginning.lstrip("\ufeff \r\n").startswith(_HEADER)


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Markers and what follows them; a line without a marker goes on with the field before it."""
    marker, content = "", ""
    for line in text.split("\n"):
        match = _MARKER.match(line)
        if match:
            if marker:
                yield marker, content
            marker, content = match[1], match[2].rstrip()
        elif marker and line.strip():
            content += " " + line.strip()
    if marker:
        yield marker, content


def read_toolbox(path: AnyPath, tiers: Mapping[str, str] | None = None, encoding: str | None = None) -> Interlinear:
    """The phrases of a file; ``tiers``: role -> marker, without its backslash."""
    fields = list(_fields(read_any(path, encoding).text))
    counts = Counter(marker for marker, _ in fields)
    begins = next((marker for marker in _BEGINS if counts[marker] > 1), None)
    roles = {marker: role_of_tier(marker, "", tiers) for marker in counts}
    found = tuple(TierFound("\\" + marker, roles[marker], n) for marker, n in counts.items())
    records: list[list[tuple[str, str]]] = []
    for marker, content in fields:
        if marker == begins or not records or (begins is None and _is_next(records[-1], roles, marker)):
            records.append([])
        records[-1].append((marker, content))
    phrases = [phrase for record in records if (phrase := _phrase(record, roles, begins)).text]
    return Interlinear(Path(path).stem, tuple(phrases), found)


def _is_next(record: list[tuple[str, str]], roles: Mapping[str, str], marker: str) -> bool:
    """Whether a field begins another record, where no marker does: a transcription after a translation."""
    return roles[marker] == "transcription" and any(roles[other] == "translation" for other, _ in record)


def _phrase(record: list[tuple[str, str]], roles: Mapping[str, str], begins: str | None) -> Phrase:
    rows: dict[str, list[str]] = {}
    for marker, content in record:
        if roles[marker]:
            rows.setdefault(roles[marker], []).append(" ".join(content.split()))
    text = " ".join(rows.get("transcription", rows.get("words", [])))
    words = words_of(*_by_word(text.split(), rows)) if "morphs" in rows else _whole(text.split(), rows)
    reference = next((content for marker, content in record if marker == begins), "")
    return Phrase(text, words, " ".join(rows.get("translation", [])), reference)


def _by_word(forms: list[str], rows: Mapping[str, list[str]]) -> tuple[list[str], list[str], list[str]]:
    """The morphs and glosses of each word, joined by hyphens; a word goes on where a morph begins with a hyphen, or the
    one before ends in one."""
    morphs, glosses = ([part for row in rows.get(role, []) for part in row.split()] for role in ("morphs", "glosses"))
    if len(glosses) != len(morphs):
        glosses = [*glosses, *[""] * len(morphs)][: len(morphs)]
    broken, meant = list[str](), list[str]()
    joins = False
    for morph, gloss in zip(morphs, glosses, strict=True):
        plain, meaning = morph.strip("-=~"), gloss.strip("-=~")
        if broken and (joins or morph[0] in "-=~"):
            broken[-1] += "-" + plain
            meant[-1] += "-" + meaning
        else:
            broken.append(plain)
            meant.append(meaning)
        joins = len(morph) > 1 and morph[-1] in "-=~"
    return (forms if len(forms) == len(broken) else []), broken, meant


def _whole(forms: list[str], rows: Mapping[str, list[str]]) -> tuple[Word, ...]:
    """Words with a gloss each, where there are as many."""
    glosses = [part for row in rows.get("glosses", []) for part in row.split()]
    return tuple(map(Word, forms, [()] * len(forms), glosses)) if len(glosses) == len(forms) else ()
