"""Intake: what is in the files of a kit, what is wrong with them, and how they become files that steps can read.

Every file is looked at before anything is learned: encoding, script, lines, how long its sentences are, whether its
punctuation is attached to words. A file that is fine is read where it is. Another one is prepared into the folder
``prepared`` of the pack: text in another encoding, running text (by ``text prepare``), word processors' files, texts
with glosses, translations in one file, tables with commas. Lines that cannot be read are left out, counted and listed,
as long as they are few; ``strict`` leaves them in, and the steps that read them fail.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from corpuscle.errors import InputError
from corpuscle.packs.kit import Kit, Recognised, kit_of, read_description, recognise
from corpuscle.packs.preparation import TAKERS, FileRow, Preparation, Problem, as_it_is, take_pair
from corpuscle.text.files import AnyPath
from corpuscle.text.formats import checked_encoding, read_any
from corpuscle.text.interlinear import gloss_table
from corpuscle.text.scripts import language_name, script_of
from corpuscle.text.tables import write_table
from corpuscle.text.wording import percent

PREPARED = "prepared"
"""The folder of the pack for files that had to be prepared."""


@dataclass(frozen=True)
class Intake:
    """A kit as it can be learned from, and what was found out about its files."""

    kit: Kit
    rows: tuple[FileRow, ...]
    glosses: tuple[tuple[str, str], ...] = ()

    def moved(self, old: Path, new: Path) -> Intake:
        """With the prepared files, which are in one folder, in another one; what was there before goes."""
        shutil.rmtree(new, ignore_errors=True)
        if old.is_dir():
            shutil.move(old, new)
        places = {name: new / path.relative_to(old) for name, path in self.kit.places.items()}
        return replace(self, kit=replace(self.kit, places=places))


def take_in(folder: AnyPath, pack: AnyPath, into: Path, *, encoding: str | None = None, strict: bool = False) -> Intake:
    """Look at every file of a folder and prepare what needs it, into another folder, which is empty.

    ``encoding``: of files that are neither UTF-8 nor marked; ``strict``: nothing is left out.
    """
    if encoding is not None:
        checked_encoding(encoding)
    root = Path(folder)
    described = read_description(root)
    files = recognise(folder, pack, described)
    work = Preparation(root, into, described, encoding, strict)
    rows = {file.name: FileRow(file.name, file.role, file.form, file.reason) for file in files}
    made: list[Recognised] = [file for file in files if file.role is None]
    sides: dict[str, list[Recognised]] = {}
    for file in files:
        row = rows[file.name]
        if file.role is None or file.role == "kit":
            continue
        if file.form == "side":
            sides.setdefault(file.stem, []).append(file)
            continue
        try:
            made += TAKERS.get(file.role, as_it_is)(work, file, row)
        except InputError as error:
            row.problems.append(
                Problem(error.reason if error.line is None else f"line {error.line}: {error.reason}", used=False)
            )
            made.append(file)
    for group in sides.values():
        made += _take_sides(work, group, rows)
    kit = kit_of(root, made, places=work.places, described=described)
    kit = replace(kit, languages=_languages(kit, work, list(rows.values())))
    return Intake(kit, tuple(rows.values()), tuple(_glosses(kit, work)))


def _take_sides(work: Preparation, group: list[Recognised], rows: dict[str, FileRow]) -> list[Recognised]:
    """Two sides of translations, or what is there of them."""
    by_language = {file.language: file for file in group}
    if len(by_language) == 2 and len(group) == 2:
        try:
            return take_pair(work, group, [rows[file.name] for file in group])
        except InputError as error:
            named = next(
                (row for row in rows.values() if error.path and error.path.endswith(row.name)), rows[group[0].name]
            )
            named.problems.append(Problem(error.reason, used=False))
            return group
    for file in group:
        what = "the other language is missing" if len(by_language) == 1 else "there are two of this language"
        rows[file.name].problems.append(Problem(what, f"{file.stem}.LANGUAGE beside it", used=False))
    return group


def _languages(kit: Kit, work: Preparation, rows: list[FileRow]) -> dict[str, str]:
    """Names of languages: what kit.toml says, then suffixes, then scripts, if those differ."""
    described, names = work.described, dict[str, str]()
    sides = next(iter(sorted(work.sides)), ("", "")) if len(work.sides) == 1 else ("", "")
    scripts = ["", ""]
    for name in kit.files.get("parallel", ()):
        side = 1 if name.lower().endswith(".tgt") else 0
        if not scripts[side]:
            with kit.path(name).open("rb") as file:
                scripts[side] = script_of(file.read(20_000).decode("utf-8", "ignore"))
    differ = scripts[0] != scripts[1]
    for side, key, given in (0, "source", described.source), (1, "target", described.target):
        code = sides[side] if sides[side] not in ("src", "tgt") else ""
        name = language_name(given or code) or (f"the language in {scripts[side]} script" if differ else "")
        if name:
            names[key] = name
    text = described.language or (described.source if not described.target else "")
    script = next((row.script for row in rows if row.role == "text" and row.script), "")
    if text or (script and script != "Latin"):
        names["text"] = language_name(text) if text else script
    return names


def _glosses(kit: Kit, work: Preparation) -> list[tuple[str, str]]:
    """The glosses of the kit: its own table first, then those of glossed texts."""
    table: dict[str, str] = {}
    for path in kit.paths("glosses"):
        for _, line in read_any(path).lines():
            word, _, gloss = line.partition("\t")
            if word.strip() and gloss.strip():
                table.setdefault(word.strip(), gloss.split("\t")[0].strip())
    for form, gloss, _ in gloss_table(work.phrases):
        table.setdefault(form, gloss)
    return list(table.items())


def write_glosses(intake: Intake, pack: Path) -> None:
    """``glosses.tsv`` of the pack: a word and its gloss on each line."""
    path = pack / "glosses.tsv"
    if intake.glosses:
        write_table(path, (), intake.glosses)
    else:
        path.unlink(missing_ok=True)


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
