"""A kit: the folder of files that someone has of a language, and what each of them is good for.

Files are recognised by where they stand and what they are called, never by guessing from their content:

    text/**/*.txt, .docx, .odt    running text (also other ``text.formats``); without a folder text/, in all folders
    *.eaf, *.flextext, *.sfm      texts with annotation from ELAN, FLEx and Toolbox
    parallel/x.hi, x.en           the same sentences in two languages, line by line, by any two suffixes (.src, .tgt)
    parallel/*.tsv, *.tmx         the same, both languages in one file
    links/x.src, .tgt, .links     sentence pairs with links between their words (Pharaoh), drawn by hand
    names.tsv, names.csv          names in two scripts
    glosses.tsv                   words and what they mean
    lexicon.tsv                   words with their analyses
    tagged.conllu                 annotated sentences
    trees.mrg                     bracketed trees
    entities/*                    texts with entities marked
    noisy.txt                     messages as people type them
    noisy.tsv                     such messages, token by token, with what was meant
    slang.tsv                     words and what they stand for
    segmented.txt                 lines of a text without spaces, cut into words
    kit.toml                      names of languages, encoding, tiers

Upper and lower case of names do not matter, text files may be packed (.gz, .xz). What is not in this list is not used,
and is named with the reason.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from corpuscle.atomic import check_inside
from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, decode, open_bytes, reading
from corpuscle.text.formats import checked_encoding, format_of
from corpuscle.text.interlinear import TIER_ROLES, TierFound
from corpuscle.text.scripts import LANGUAGES
from corpuscle.text.tables import read_table
from corpuscle.text.wording import percent

DESCRIPTION = "kit.toml"
_FILES = tomllib.loads(Path(__file__).with_name("files.toml").read_text(encoding="utf-8"))
ROLES: dict[str, str] = _FILES["roles"]
"""What a file of a kit can be, in words."""
# names of columns
HEADINGS = {*_FILES["words"]["headings"].split(), *LANGUAGES, *(name.lower() for name in LANGUAGES.values())}
_PACKED = (".gz", ".xz")
_ASIDE, _NOTES = (tuple(_FILES["words"][name].split()) for name in ("aside", "notes"))
_POINTERS = {suffix: pointer for suffixes, pointer in _FILES["pointers"].items() for suffix in suffixes.split()}


@dataclass(frozen=True)
class Described:
    """What ``kit.toml`` says: languages (of the text, of both sides of the translations), an encoding for files that
    are not UTF-8, which tiers play which role, and whether text is prepared (``auto``, ``no``, ``space``, ``sentence``:
    what a line end is)."""

    title: str = ""
    language: str = ""
    source: str = ""
    target: str = ""
    encoding: str | None = None
    prepare: str = "auto"
    tiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kit:
    """The files of a kit by role (paths relative to ``folder``, sorted), and those without a role with the reason.

    ``places``: where a file is read, if not in the folder: what had to be prepared is in the pack. ``languages``: names
    of the language of the text (``text``) and of the sides of translations (``source``, ``target``).
    """

    folder: Path
    files: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Path] = field(default_factory=dict)
    languages: Mapping[str, str] = field(default_factory=dict)
    described: Described = Described()

    def path(self, name: str) -> Path:
        return self.places.get(name, self.folder / name)

    def paths(self, role: str) -> list[str]:
        return [str(self.path(name)) for name in self.files.get(role, ())]


def content_hash(path: AnyPath) -> str:
    """A hash of the bytes of a file, as they are on the disk."""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def second_columns(path: Path, after: int = 0) -> dict[str, str]:
    """First column -> second column of the lines of a table ``after`` the first ones; nothing without the file."""
    return {row[0]: row[1] for line, row in read_table(path) if line > after} if path.is_file() else {}


def shown_name(path: AnyPath) -> str:
    """The name of a file for tables and people: what is no character, or not visible, is written as Python does it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in Path(path).name)


# ---- kit.toml


def read_description(folder: Path) -> Described:
    """What the ``kit.toml`` of a kit says; nothing if there is none."""
    path = folder / DESCRIPTION
    check_inside(folder, DESCRIPTION)
    if not path.is_file():
        return Described()
    try:
        table = tomllib.loads(decode(open_bytes(path), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, None, f"not TOML: {error}") from None
    known = {"title", "encoding", "prepare", "languages", "tiers"}
    if unknown := sorted(set(table) - known):
        raise InputError(path, None, f"unknown key {unknown[0]!r}; it may have {', '.join(sorted(known))}")
    languages = _strings(path, table.pop("languages", {}), "languages", ("text", "source", "target"))
    tiers = _strings(path, table.pop("tiers", {}), "tiers", TIER_ROLES)
    plain = _strings(path, table, DESCRIPTION, ("title", "encoding", "prepare"))
    if plain.get("prepare", "auto") not in ("auto", "no", "space", "sentence"):
        raise InputError(path, None, "prepare is auto, no, space or sentence")
    if "encoding" in plain:
        checked_encoding(plain["encoding"])
    return Described(**plain, language=languages.pop("text", ""), **languages, tiers=tiers)


def _strings(path: Path, table: Any, name: str, keys: Iterable[str]) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) and value for value in table.values()):
        raise InputError(path, None, f"{name} has strings as values")
    if unknown := sorted(set(table) - set(keys)):
        raise InputError(path, None, f"{name} has no {unknown[0]!r}; it may have {', '.join(keys)}")
    return table


# ---- what is what


def _recognise(name: str, has_text: bool) -> FileRow:
    """A file by its own path; what belongs together is looked at later."""
    plain = name.lower()[: -3 if name.lower().endswith(_PACKED) else None]
    folder, _, base = plain.rpartition("/")
    top, suffix = folder.partition("/")[0], PurePosixPath(base).suffix
    stem, _, language = plain.removesuffix(".txt").rpartition(".")  # of a side of translations: a.hi, a.hi.txt
    if not folder and base in _FILES["names"]:
        return FileRow(name, _FILES["names"][base], "csv" if suffix == ".csv" else "plain")
    if not folder and base == DESCRIPTION:
        return FileRow(name, "kit", "toml")
    if not folder and base.startswith(_NOTES) and suffix in (".txt", ".md", ".docx", ".odt", ""):
        return FileRow(name, None, reason="a note about the kit")
    if top in _ASIDE:
        return FileRow(name, None, reason=f"in {top}/, which is kept aside")
    if folder == "entities":
        return FileRow(name, "entities")
    if folder == "links" and suffix in (".src", ".tgt", ".links"):
        return FileRow(name, "links")
    if suffix in _FILES["interlinear"]:
        return FileRow(name, "interlinear", _FILES["interlinear"][suffix])
    if top == "parallel":
        if suffix in (".tsv", ".tmx"):
            return FileRow(name, "parallel", suffix[1:])
        if suffix in _POINTERS or suffix in (".docx", ".odt") or not language:
            return FileRow(name, None, reason=_reason(name, suffix) or "translations are x.LANGUAGE, .tsv or .tmx")
        return FileRow(name, "parallel", "side", stem=stem, language=language)
    if suffix == ".tmx":
        return FileRow(name, "parallel", "tmx")
    form = "plain" if suffix == ".txt" else other.name if (other := format_of(plain)) is not None else ""
    if form and (top == "text" or not has_text):
        return FileRow(name, "text", form)
    if language in LANGUAGES and (not folder or not has_text):
        return FileRow(name, "parallel", "side", stem=stem, language=language)
    if form:
        return FileRow(name, None, reason="there is a folder text/, so only text in it is read: move it there")
    return FileRow(name, None, reason=_reason(name, suffix))


def _reason(name: str, suffix: str) -> str:
    pointer = _POINTERS.get(suffix, "nothing is learned from files of this name")
    return pointer.replace("{stem}", PurePosixPath(name).stem).replace("{}", name)


def _paired(files: list[FileRow], described: Described) -> list[FileRow]:
    """Sides of translations with the other side: two languages of a text, or a reason why there is none."""
    groups: dict[str, list[FileRow]] = {}
    for file in files:
        if file.form == "side":
            groups.setdefault(file.stem, []).append(file)
    wanted = {described.source.lower(), described.target.lower()} - {""}
    result = [file for file in files if file.form != "side"]
    for group in groups.values():
        languages = {file.language for file in group}
        inside = group[0].name.lower().startswith("parallel/")
        chosen = wanted if len(languages) > 2 and wanted < languages and len(wanted) == 2 else languages
        for file in group:
            reason = ""
            if file.language not in chosen:
                reason = "not one of the two languages that kit.toml names"
            elif len(chosen) > 2:
                both = ", ".join(sorted(languages))
                reason = f'more than two languages ({both}): name two in kit.toml, [languages] source = "..."'
            elif len(chosen) == 1 and not inside:
                reason = f"no other language of {PurePosixPath(file.stem).name!r} beside it"
            if reason:
                file.role, file.reason = None, reason
            result.append(file)
    return sorted(result, key=lambda file: file.name)


def _walk(folder: Path, without: Path) -> Iterator[tuple[str, str]]:
    """All files below a folder, apart from hidden ones and those in ``without``; and why one is not read, if so."""
    for here, folders, files in os.walk(folder):
        inside = Path(here)
        links = [name for name in folders if (inside / name).is_symlink()]  # which are not walked into
        folders[:] = sorted(f for f in folders if not f.startswith(".") and (inside / f).resolve() != without)
        for name in sorted({*files, *links}):
            if not name.startswith(".") and (inside / name).resolve() != without:
                path, why = (inside / name).relative_to(folder).as_posix(), ""
                try:
                    check_inside(folder, path)
                except InputError as error:
                    why = error.reason
                if why or (inside / name).is_file():
                    yield path, why


def recognise(folder: AnyPath, pack: AnyPath, described: Described | None = None) -> list[FileRow]:
    """What every file of a folder is, apart from those of the pack that may lie within it."""
    root = Path(folder)
    if not root.exists():
        raise InputError(folder, None, "no such folder")
    if not root.is_dir():
        raise InputError(folder, None, "a kit is a folder; put this file into KIT/text/ and give KIT")
    found = dict(_walk(root, Path(pack).resolve()))
    names = [name for name, why in found.items() if not why]
    has_text = any(name.lower().startswith("text/") for name in names)
    unread = [FileRow(name, None, reason=why) for name, why in found.items() if why]
    return _paired([*(_recognise(name, has_text) for name in names), *unread], described or Described())


def kit_of(folder: Path, files: Iterable[FileRow], **more: Any) -> Kit:
    by_role: dict[str, list[str]] = {}
    reasons = {}
    for file in files:
        if file.role is None:
            reasons[file.name] = file.reason
        elif file.role in ROLES:
            by_role.setdefault(file.role, []).append(file.name)
    roles = {role: tuple(sorted(names)) for role, names in by_role.items()}
    return Kit(folder, roles, reasons, **more)


def find_kit(folder: AnyPath, pack: AnyPath) -> Kit:
    """What each file of a folder is, apart from those of the pack within it, as they are (``intake`` prepares them)."""
    return kit_of(Path(folder), recognise(folder, pack))


# ---- files as they were found


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file, how to mend it (perhaps a command), and whether it is used in spite of that."""

    what: str
    fix: str = ""
    used: bool = True

    def __str__(self) -> str:
        return self.what + (f"; {self.fix}" if self.fix else "")


@dataclass
class FileRow:
    """A file of a kit as it was found.

    - ``name``: its path in the kit; ``role`` (None: it has none, for this ``reason``); ``form``: of the file;
    - ``stem``, ``language``: of a side of translations, the text that it belongs to and the suffix of its language;
    - ``words``: per line; ``attached``: the share of punctuation that is attached to words; ``done``: what was done to
      it; ``problems``: what is wrong with it; ``bad``: lines that cannot be read, and why.
    """

    name: str
    role: str | None
    form: str = "plain"
    reason: str = ""
    stem: str = ""
    language: str = ""
    encoding: str = ""
    script: str = ""
    lines: int = 0
    words: float = 0.0
    attached: float = 0.0
    done: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    tiers: tuple[TierFound, ...] = ()

    def refuse(self, what: str, fix: str = "") -> None:
        self.problems.append(Problem(what, fix, used=False))

    @property
    def refused(self) -> bool:
        return any(not problem.used for problem in self.problems)

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name, "role": self.role, "form": self.form, "reason": self.reason, "encoding": self.encoding,
            "script": self.script, "lines": self.lines, "words_a_line": round(self.words, 2),
            "attached_punctuation": round(self.attached, 4), "done": self.done,
            "problems": [{"what": p.what, "fix": p.fix, "used": p.used} for p in self.problems],
            "bad_lines": [{"line": line, "why": why} for line, why in self.bad],
            "tiers": [{"name": t.name, "role": t.role, "annotations": t.annotations} for t in self.tiers],
        }  # fmt: skip


def show_rows(rows: Iterable[FileRow], many: int = 30) -> list[tuple[str, ...]]:
    """The table of files for people; if there are many, those that differ only in their names are one row."""
    rows = list(rows)
    groups: dict[tuple[object, ...], list[FileRow]] = {}
    for row in rows:
        path, own = PurePosixPath(row.name), (row.name,) if row.problems or row.tiers or len(rows) <= many else ()
        alike = path.parent, path.suffix, row.role, row.encoding, row.script, row.reason, bool(row.done), *own
        groups.setdefault(alike, []).append(row)
    shown: list[tuple[str, ...]] = []
    for group in groups.values():
        first, one, path = group[0], len(group) == 1, PurePosixPath(group[0].name)
        name = first.name if one else f"{path.parent}/*{path.suffix} ({len(group)} files)".removeprefix("./")
        lines = sum(row.lines for row in group)
        words = sum(row.words * row.lines for row in group) / max(1, lines)
        attached = sum(row.attached * row.lines for row in group) / max(1, lines)
        said = [*map(str, first.problems), *first.done, *([f"not used: {first.reason}"] if first.role is None else [])]
        tiers = ", ".join(f"{t.name} = {t.role or 'not used'} ({t.annotations:,})" for t in first.tiers)
        said += [f"tiers {tiers}"] * bool(tiers)
        measured = first.role in ("text", "parallel", "interlinear")
        shown.append((
            name, first.role or "-", first.encoding, first.script, f"{lines:,}" if lines else "",
            f"{words:.1f}" if measured else "", percent(attached, 0) if measured else "",
            "; ".join(said) or ("as it is" if one else ""),
        ))  # fmt: skip
    return shown
