"""What is in a file of a kit: script, lines, sentences, punctuation; and the table in which people see it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from corpuscle.text.interlinear import TierFound
from corpuscle.text.languages import script_of
from corpuscle.text.wording import percent

__all__ = [
    "SAMPLE", "FileRow", "Problem", "attached_punctuation", "is_running", "is_unspaced", "line_breaks_of", "look",
    "several_sentences", "show_rows",
]  # fmt: skip

ATTACHED = 0.5
"""Text with so much of its punctuation attached to words is running text."""

SAMPLE = 100_000
"""So many characters of a file tell its script and its punctuation."""

_FEWEST_MARKS, _FEWEST_SPACES = 10, 0.02
_WITHIN = "-‐‑'’ʼ·._@/:&"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file, what to do about it (to be copied, where it is a command), and whether the file is
    used in spite of it."""

    what: str
    fix: str = ""
    used: bool = True

    def __str__(self) -> str:
        return self.what + (f"; {self.fix}" if self.fix else "")


@dataclass
class FileRow:
    """A file of the kit as it was found: ``role`` (None: ``reason``), form, encoding, script, lines, words a line, the
    share of punctuation that is attached to words, what was done to it, and what is wrong with it."""

    name: str
    role: str | None
    form: str = "plain"
    reason: str = ""
    encoding: str = ""
    script: str = ""
    lines: int = 0
    words: float = 0.0
    attached: float = 0.0
    done: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    tiers: tuple[TierFound, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "name": self.name, "role": self.role, "form": self.form, "reason": self.reason, "encoding": self.encoding,
            "script": self.script, "lines": self.lines, "words_a_line": round(self.words, 2),
            "attached_punctuation": round(self.attached, 4), "done": self.done,
            "problems": [{"what": p.what, "fix": p.fix, "used": p.used} for p in self.problems],
            "bad_lines": [{"line": line, "why": why} for line, why in self.bad],
            "tiers": [{"name": t.name, "role": t.role, "annotations": t.annotations} for t in self.tiers],
        }  # fmt: skip


def _is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == "P" and c not in _WITHIN


def attached_punctuation(text: str) -> tuple[float, int]:
    """Which share of the punctuation that could stand alone is attached to a word, and how many such marks there
    are."""
    attached = alone = 0
    for token in text.split():
        if all(map(_is_mark, token)):
            alone += 1
        elif _is_mark(token[-1]) or (token[-1] == "." and len(token) > 2) or _is_mark(token[0]):
            attached += 1
        elif token == ".":
            alone += 1
    return attached / max(1, attached + alone), attached + alone


def look(row: FileRow, text: str) -> None:
    """Script, lines and punctuation of a text."""
    lines = [line for line in text.split("\n") if line.strip()]
    row.lines = len(lines)
    row.words = sum(len(line.split()) for line in lines) / max(1, len(lines))
    some = text[:SAMPLE]
    row.script = script_of(some)
    row.attached, _ = attached_punctuation(some)


def is_unspaced(text: str) -> bool:
    some = text[:SAMPLE]
    inner = sum(some.count(space) for space in " \t\u3000")
    return inner < _FEWEST_SPACES * max(1, len(some))


def is_running(text: str) -> bool:
    share, marks = attached_punctuation(text[:SAMPLE])
    return marks >= _FEWEST_MARKS and share >= ATTACHED and not is_unspaced(text)


def _ends_sentence(line: str) -> bool:
    last = line.rstrip().rstrip("\"'”’»)]】」』")[-1:]
    return bool(last) and unicodedata.category(last) == "Po" and last not in ",;:،、"


def line_breaks_of(text: str) -> str:
    """What a line end is in running text: ``sentence`` where lines end as sentences do or are of very different
    lengths, ``space`` where sentences go on in the next line."""
    lines = [line for line in text[:SAMPLE].split("\n") if line.strip()]
    if not lines or sum(map(_ends_sentence, lines)) >= 0.5 * len(lines):
        return "sentence"
    lengths = np.array([len(line) for line in lines])
    wrapped = len(lines) > 3 and np.percentile(lengths, 75) > 40 and lengths.max() < 1.6 * np.percentile(lengths, 75)
    return "space" if wrapped else "sentence"


def several_sentences(text: str) -> bool:
    """Whether lines of text without spaces hold more than one sentence."""
    lines = [line.strip() for line in text[:SAMPLE].split("\n") if line.strip()]
    inner = sum(sum(c in "。！？．" for c in line[:-1]) for line in lines)
    return inner > 0.5 * len(lines)


def show_rows(rows: Iterable[FileRow], many: int = 30) -> list[tuple[str, ...]]:
    """The table of files for people; files of one folder that are alike in everything stand together if there are
    many."""
    rows = list(rows)
    groups: dict[tuple[object, ...], list[FileRow]] = {}
    for row in rows:
        alike = (
            str(PurePosixPath(row.name).parent),
            PurePosixPath(row.name).suffix,
            row.role,
            row.encoding,
            row.script,
        )
        own = (row.name,) if row.problems or row.tiers or len(rows) <= many else ()
        groups.setdefault((*alike, row.reason, bool(row.done), *own), []).append(row)
    shown: list[tuple[str, ...]] = []
    for group in groups.values():
        first = group[0]
        one = len(group) == 1
        folder, suffix = PurePosixPath(first.name).parent, PurePosixPath(first.name).suffix
        name = first.name if one else f"{folder}/*{suffix} ({len(group)} files)".removeprefix("./")
        lines = sum(row.lines for row in group)
        words = sum(row.words * row.lines for row in group) / max(1, lines)
        attached = sum(row.attached * row.lines for row in group) / max(1, lines)
        said = [*map(str, first.problems), *first.done, *([f"not used: {first.reason}"] if first.role is None else [])]
        if first.tiers:
            said.append(
                "tiers " + ", ".join(f"{t.name} = {t.role or 'not used'} ({t.annotations:,})" for t in first.tiers)
            )
        measured = first.role in ("text", "parallel", "interlinear")
        shown.append(
            (
                name, first.role or "-", first.encoding, first.script, f"{lines:,}" if lines else "",
                f"{words:.1f}" if measured else "", percent(attached, 0) if measured else "",
                "; ".join(said) or ("as it is" if one else ""),
            )
        )  # fmt: skip
    return shown
