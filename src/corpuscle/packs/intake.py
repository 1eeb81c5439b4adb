"""Intake: what is in the files of a kit, what is wrong with them, and how they become files that steps can read.

Every file is looked at before anything is learned: encoding, script, lines, how long its sentences are, whether its
punctuation is attached to words. A file that is fine is read where it is. Another one is prepared into the folder
``prepared`` of the pack: text in another encoding, running text (by ``text prepare``), word processors' files, texts
with glosses, translations in one file, tables with commas. Lines that cannot be read are left out, counted and listed,
as long as they are few; ``strict`` leaves them in, and the steps that read them fail.

A function for each role says what a file is good for and writes what has to be written.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from corpuscle.errors import InputError
from corpuscle.packs import kit as kits
from corpuscle.packs.kit import Described, FileRow, Kit, Problem
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.formats import Decoded, checked_encoding, format_of, read_any
from corpuscle.text.interlinear import Phrase, gloss_table, is_toolbox, read_interlinear
from corpuscle.text.running import (
    SAMPLE,
    attached_punctuation,
    is_running,
    is_unspaced,
    line_breaks_of,
    prepare,
    several_sentences,
    tokenised_lines,
)
from corpuscle.text.scripts import LANGUAGES, language_name, script_of
from corpuscle.text.wording import counted
from corpuscle.text.xml import read_tmx

PREPARED = "prepared"  # the folder of the pack for files that had to be prepared


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
    described = kits.read_description(root)
    rows = kits.recognise(folder, pack, described)
    work = Preparation(root, into, described, encoding, strict)
    made = [row for row in rows if row.role is None]
    sides: dict[str, list[FileRow]] = {}
    for row in rows:
        if (role := row.role) is None or role == "kit":
            continue
        if row.form == "side":
            sides.setdefault(row.stem, []).append(row)
            continue
        try:
            made += TAKERS.get(role, as_it_is)(work, row)
        except InputError as error:
            row.refuse(error.reason if error.line is None else f"line {error.line}: {error.reason}")
            made.append(replace(row, role=role))
    for group in sides.values():
        made += _take_sides(work, group)
    kit = kits.kit_of(root, made, places=work.places, described=described)
    kit = replace(kit, languages=_languages(kit, work, rows))
    return Intake(kit, tuple(rows), tuple(_glosses(kit, work)))


def _take_sides(work: Preparation, group: list[FileRow]) -> list[FileRow]:
    by_language = {row.language: row for row in group}
    if len(by_language) == 2 and len(group) == 2:
        try:
            return take_pair(work, group)
        except InputError as error:
            next((row for row in group if error.path and error.path.endswith(row.name)), group[0]).refuse(error.reason)
            return group
    for row in group:
        what = "the other language is missing" if len(by_language) == 1 else "there are two of this language"
        row.refuse(what, f"{row.stem}.LANGUAGE beside it")
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


MOST_BAD = 0.1  # a file with more lines that cannot be read than this share is not used at all
_FEW = 5
_MARKUP = ("<s>", "</s>")


def look(row: FileRow, text: str) -> None:
    """Script, lines and punctuation of a text."""
    lines = [line for line in text.split("\n") if line.strip()]
    row.lines, row.words = len(lines), len(text.split()) / max(1, len(lines))
    row.script, row.attached = script_of(text[:SAMPLE]), attached_punctuation(text[:SAMPLE])[0]


class Preparation:
    """Where prepared files go, and how text is prepared."""

    def __init__(self, folder: Path, target: Path, described: Described, encoding: str | None, strict: bool):
        self.folder, self.target, self.described, self.strict = folder, target, described, strict
        self.encoding = encoding or described.encoding
        self.places: dict[str, Path] = {}
        self.phrases: list[Phrase] = []
        self.sides: set[tuple[str, str]] = set()

    def decode(self, row: FileRow) -> Decoded | None:
        """The text of a file; None, with a problem, where too much of it cannot be read."""
        found = read_any(self.folder / row.name, self.encoding)
        row.encoding = found.encoding
        if found.encoding != "utf-8":
            by_mark, as_said = f"{found.encoding}, by its byte-order mark", f"read as {found.encoding}, as you said"
            row.done.append(by_mark if found.marked else as_said)
        bad = [(line, "not UTF-8, or with a NUL") for line in found.bad]
        lines, fix, may = found.text.count("\n") + 1, "save it as UTF-8", ""
        if found.guess:
            fix, may = f"--encoding {found.guess}", f" (perhaps {found.guess})"
        what = f"{counted(len(bad), 'line is', 'lines are')} not UTF-8{may}"
        some_left = len(bad) < lines - found.text.count("\n\n")
        return found if self.leave_out(row, bad, lines, what, fix, some_left) else None

    def leave_out(
        self, row: FileRow, bad: list[tuple[int, str]], lines: int, what: str = "", fix: str = "", possible: bool = True
    ) -> bool:
        """Note lines that cannot be read; whether the rest is used: not if they are many, or it is not ``possible``."""
        used = not bad or (possible and not self.strict and len(bad) <= max(_FEW, MOST_BAD * lines))
        if bad:
            what = what or f"{counted(len(bad), 'bad line')} (line {bad[0][0]}: {bad[0][1]})"
            row.bad += bad
            row.problems.append(Problem(what + ("; left out" if used else ""), fix, used))
        return used

    def write(self, name: str, lines: Iterable[str]) -> None:
        """A prepared file under the name of the kit's file that it stands for."""
        path = self.target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path, "w") as file:
            file.writelines(line + "\n" for line in lines)
        self.places[name] = path

    def sentences(self, row: FileRow, text: str, breaks: str | None = None) -> list[str]:
        """Running text in sentences of tokens, a line each; text without spaces in sentences only."""
        how = breaks or self.described.prepare
        how = line_breaks_of(text) if how == "auto" else how
        prepared = prepare(text, line_breaks=how)
        starts, documents = prepared.sentence_starts.tolist(), set(prepared.document_starts.tolist()[1:-1])
        whole, edges, lines = is_unspaced(text), prepared.offsets, []
        for number, (a, b) in enumerate(pairwise(starts)):
            if number in documents:
                lines.append("")
            if whole:
                lines.append("".join(text[edges[a, 0] : edges[b - 1, 1]].split()))
            else:
                lines.append(" ".join(text[x:y] for x, y in edges[a:b].tolist()))
        ends = "line ends are spaces" if how == "space" else "line ends end sentences"
        row.done.append(f"running text, prepared into {counted(len(lines) - len(documents), 'sentence')} ({ends})")
        return lines


def _text(work: Preparation, row: FileRow) -> list[FileRow]:
    if (form := format_of(row.name)) is not None:
        paragraphs = form.lines(work.folder / row.name)
        text = "\n".join(paragraphs)
        look(row, text)
        row.encoding = "utf-8"
        row.done.append(f"text of a {PurePosixPath(row.name).suffix} file")
        running = is_running(text) or is_unspaced(text)
        work.write(row.name, work.sentences(row, text, "sentence") if running else paragraphs)
        return [row]
    found = work.decode(row)
    if found is None:
        return [row]
    if is_toolbox(found.text[:1000]):
        row.role, row.form = "interlinear", "toolbox"
        return _interlinear(work, row)
    look(row, found.text)
    kept = [line for _, line in found.lines()]
    marked = [n for n, line in found.lines() if any(mark in line.split() for mark in _MARKUP)]
    if marked and not work.strict and len(marked) <= max(_FEW, MOST_BAD * len(kept)):
        row.bad += [(n, "a literal <s> or </s>, which stands for the edge of a sentence") for n in marked]
        row.problems.append(Problem(f"{counted(len(marked), 'line')} with a literal <s> or </s>; left out"))
        bad = set(marked)
        kept = [line for n, line in found.lines() if n not in bad]
    text = "\n".join(kept)
    if work.described.prepare in ("space", "sentence") or (work.described.prepare == "auto" and is_running(text)):
        work.write(row.name, work.sentences(row, text))
    elif is_unspaced(text) and several_sentences(text):
        work.write(row.name, work.sentences(row, text, "sentence"))
    elif row.bad or found.encoding != "utf-8":
        work.write(row.name, kept)
    return [row]


def _interlinear(work: Preparation, row: FileRow) -> list[FileRow]:
    """A text with glosses: its transcription is text, its translation pairs, and its glosses a table."""
    text = read_interlinear(work.folder / row.name, row.form, dict(work.described.tiers), work.encoding)
    row.tiers, row.encoding = text.tiers, "utf-8"
    lines = [" ".join(word.form for word in phrase.words) or phrase.text for phrase in text.phrases]
    look(row, "\n".join(lines))
    if not lines:
        known = ", ".join(tier.name for tier in text.tiers) or "none"
        fix = 'name it in kit.toml: [tiers] transcription = "..."'
        row.refuse(f"no transcription among its tiers ({known})", fix)
        row.role, row.reason = None, "no tier with a transcription"
        return []
    work.phrases += text.phrases
    plain = tokenised_lines(lines)
    own = PurePosixPath(row.name).with_suffix("").as_posix().replace("/", "-")
    work.write(f"text/{own}.txt", plain)
    made = [row, FileRow(f"text/{own}.txt", "text")]
    pairs = [(line, p.translation) for line, p in zip(plain, text.phrases, strict=True) if p.translation]
    if pairs:
        source, target = f"parallel/{own}.src", f"parallel/{own}.tgt"
        work.write(source, [line for line, _ in pairs])
        work.write(target, tokenised_lines([free for _, free in pairs]))
        made += [FileRow(name, "parallel", stem=f"parallel/{own}") for name in (source, target)]
        work.sides.add((text.languages.get("text", ""), text.languages.get("translation", "")))
    glossed = sum(bool(word.glossed) for phrase in text.phrases for word in phrase.words)
    row.done.append(
        f"{counted(len(lines), 'phrase')}, {len(pairs):,} with a translation, {counted(glossed, 'word')} with a gloss"
    )
    return made


def _write_pair(work: Preparation, stem: str, rows: Sequence[FileRow], sides: Sequence[list[str]]) -> list[FileRow]:
    """Both sides of translations as ``parallel/STEM.src`` and ``.tgt``, punctuation split off where it is attached."""
    names = [f"parallel/{stem}.{suffix}" for suffix in ("src", "tgt")]
    for side, row, name in zip(sides, rows, names, strict=True):
        running = work.described.prepare != "no" and is_running("\n".join(side))
        if running:
            row.done.append("punctuation split off the words, line by line")
        work.write(name, tokenised_lines(side) if running else side)
    return [FileRow(name, "parallel", stem=stem) for name in names]


def _flat(stem: str) -> str:
    return stem.removeprefix("parallel/").replace("/", "-")


def take_pair(work: Preparation, rows: Sequence[FileRow]) -> list[FileRow]:
    """Two files that translate each other, line by line: as they are, or prepared."""
    described = work.described
    first, last = ("src", "source", described.source.lower()), ("tgt", "target", "trg", described.target.lower())
    # source before target: as the suffixes, or kit.toml, say; else by name
    rows = sorted(rows, key=lambda r: (0 if r.language in first else 2 if r.language in last else 1, r.language))
    canonical = [row.language for row in rows] == ["src", "tgt"] and rows[0].name.count("/") == 1
    if not canonical:
        work.sides.add((rows[0].language, rows[1].language))
    found = [each for each in map(work.decode, rows) if each is not None]
    if len(found) < 2:
        return rows if canonical else []
    counts = []
    for each, row in zip(found, rows, strict=True):
        look(row, each.text)
        counts.append(each.text.count("\n") + (not each.text.endswith("\n") and bool(each.text)))
    if counts[0] != counts[1]:
        what = f"{counts[0]:,} lines, but {rows[1].name} has {counts[1]:,}"
        rows[0].refuse(what, "translations are line by line: look where they part")
        return rows if canonical else []
    dirty = any(row.bad or each.encoding != "utf-8" for each, row in zip(found, rows, strict=True))
    running = described.prepare != "no" and any(is_running(each.text) for each in found)
    if canonical and not dirty and not running:
        return rows
    bad = {line for row in rows for line, _ in row.bad}
    sides = [[line for n, line in each.lines() if n not in bad] for each in found]
    return _write_pair(work, _flat(rows[0].stem), rows, sides)


def _one_file_pairs(work: Preparation, row: FileRow) -> list[FileRow]:
    stem = _flat(PurePosixPath(row.name).with_suffix("").as_posix().lower())
    if row.form == "tmx":
        named = (work.described.source, work.described.target)
        codes = named if all(named) and all(name.lower() in LANGUAGES for name in named) else (None, None)
        left, right = read_tmx(work.folder / row.name, *codes)
        row.encoding = "utf-8"
        look(row, "\n".join(left))
        return _write_pair(work, stem, (row, row), (left, right))
    found = work.decode(row)
    if found is None:
        return []
    fields = [(n, line.split("\t")) for n, line in found.lines() if line.strip()]
    fields = _without_heading(row, fields)
    bad = [(n, f"{len(parts) - 1} tabs, where one is expected") for n, parts in fields if len(parts) != 2]
    if not work.leave_out(row, bad, len(fields)):
        return []
    left, right = ([parts[side] for _, parts in fields if len(parts) == 2] for side in (0, 1))
    look(row, "\n".join(left))
    return _write_pair(work, stem, (row, row), (left, right))


def _without_heading(row: FileRow, fields: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Rows of a table without a first one that names its columns."""
    if fields and len(fields[0][1]) > 1 and all(field.strip().lower() in kits.HEADINGS for field in fields[0][1]):
        row.done.append("the first line names the columns")
        return fields[1:]
    return fields


def _table(work: Preparation, row: FileRow) -> list[FileRow]:
    found = work.decode(row)
    if found is None:
        return [row]
    lines = list(found.lines())
    fields: list[tuple[int, list[str]]]
    if row.form == "csv":
        mark = max(",;\t", key="\n".join(line for _, line in lines[:50]).count)
        reader = csv.reader([line for _, line in lines], delimiter=mark)
        fields = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
        row.done.append(f"a table with {'tabs' if mark == chr(9) else repr(mark)} between its columns")
    else:
        fields = [(n, line.split("\t")) for n, line in lines]
    fields = _without_heading(row, fields)
    row.lines, row.script = len(fields), script_of("\n".join(parts[0] for _, parts in fields)[:SAMPLE])
    other = script_of("\n".join(parts[1] for _, parts in fields if len(parts) > 1)[:SAMPLE])
    if other and other != row.script and row.role == "names":
        row.script += f" and {other}"
    bad = [
        (n, "a field is empty" if len(parts) > 1 else "no second column")
        for n, parts in fields
        if len(parts) < 2 or not all(part.strip() for part in parts)
    ]
    if row.form == "csv":
        fields = [(n, [part for part in parts if part]) for n, parts in fields]
        bad = [(n, "no second column") for n, parts in fields if len(parts) < 2]
    if not work.leave_out(row, bad, len(fields)) or not (row.bad or row.done):
        return [row]
    wrong = {n for n, _ in bad}
    work.write(row.name, ["\t".join(parts) for n, parts in fields if n not in wrong])
    return [row]


def as_it_is(work: Preparation, row: FileRow) -> list[FileRow]:
    """A file whose format its step reads; only its encoding is seen to."""
    found = work.decode(row)
    if found is not None:
        row.lines = found.text.count("\n")
        if found.encoding != "utf-8":
            work.write(row.name, [line for _, line in found.lines()])
    return [row]


TAKERS: dict[str, Callable[[Preparation, FileRow], list[FileRow]]] = {
    "text": _text, "interlinear": _interlinear, "parallel": _one_file_pairs, "names": _table, "glosses": _table,
}  # fmt: skip
