"""Packs as things to ship: is everything as it was written, one file to send, what differs between two of them, and
pages that need no server: the report, the dictionary, and a concordance of the text behind them.

An exported pack is a ``.zip`` with the names in order, one date and one way of packing, so that the same pack gives the
same bytes on any machine and day. Inside is ``SHA256SUMS``, which ``sha256sum -c`` reads, too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from corpuscle.errors import CorpuscleError, InputError
from corpuscle.model import read_header, source_date
from corpuscle.packs import page
from corpuscle.packs.kit import find_kit
from corpuscle.packs.pack import Pack, record_digest
from corpuscle.packs.step import Job
from corpuscle.text import read_text
from corpuscle.text.files import AnyPath, reading, write_atomically
from corpuscle.text.html import Html, div, element, p
from corpuscle.text.scripts import direction
from corpuscle.text.wording import counted

SUMS = "SHA256SUMS"
_REPORTS = ("report.html", "report.json")
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
MOST_MEMBERS = 10_000
_LONGEST_SUMS = 4 << 20
_SMALL, _RATIO = 1 << 30, 50  # an archive may unpack to a gigabyte, or to fifty times its own size if that is more
SCRIPT = Path(__file__).with_name("concordance.js")
_LONGEST = 2000  # characters of a sentence; what is longer is no sentence
Line = tuple[str, str, str]  # a sentence, its translation if there is one, and the way its letters run


def open_pack(folder: AnyPath) -> Pack:
    """A pack that is there and has something in it."""
    pack = Pack(folder)
    if not pack.folder.is_dir():
        raise InputError(folder, None, "no such pack")
    if not pack.state["steps"]:
        raise InputError(folder, None, "nothing was learned in it yet; corpuscle learn makes a pack")
    return pack


def shipped(pack: Pack) -> list[str]:
    """The files that make a pack, by name: state, what its steps wrote, reports; neither kit nor annotations."""
    written = {name for record in pack.state["steps"].values() for name in record["files"]}
    return sorted({"state.json", *written, *(name for name in _REPORTS if (pack.folder / name).is_file())})


# ---- verify


def problems(path: AnyPath) -> list[str]:
    """What is wrong with a pack, a folder or an exported file: ``FILE: reason``, one after the other."""
    return list(_problems_of_archive(path) if Path(path).is_file() else _problems_of_folder(open_pack(path)))


def _problems_of_folder(pack: Pack) -> Iterator[str]:
    for step, record in sorted(pack.state["steps"].items()):
        if record.get("digest") != record_digest(record):
            yield f"state.json: what is written down about the step {step!r} was changed"
        for name, problem in pack.changed(record):
            yield f"{name}: {problem}"
    for name in shipped(pack):
        if name.endswith(".model") and (pack.folder / name).is_file():
            try:
                read_header(pack.folder / name)
            except CorpuscleError as error:
                yield f"{name}: {str(error).removeprefix(f'{pack.folder / name}: ')}"


def _check_size(archive: zipfile.ZipFile, path: AnyPath) -> None:
    """Complain about an archive that would cost far more to look at than it costs to send."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise InputError(path, None, f"{len(members):,} files; a pack has at most {MOST_MEMBERS:,}")
    unpacked, most = sum(member.file_size for member in members), max(_SMALL, _RATIO * Path(path).stat().st_size)
    if unpacked > most:
        raise InputError(path, None, f"would unpack to {unpacked:,} bytes, more than {most:,}: not a pack")
    if any(member.filename == SUMS and member.file_size > _LONGEST_SUMS for member in members):
        raise InputError(path, None, f"{SUMS} has more than {_LONGEST_SUMS:,} bytes")


def _sums(archive: zipfile.ZipFile, path: AnyPath) -> dict[str, str]:
    """Name -> checksum, as the archive itself says."""
    try:
        with archive.open(SUMS) as file:  # at most what the archive says of it, which has been looked at
            lines = file.read(_LONGEST_SUMS + 1).decode("utf-8").splitlines()
    except (KeyError, UnicodeDecodeError):
        raise InputError(path, None, f"not an exported pack: it has no {SUMS}") from None
    sums = {name: digest for digest, between, name in (line.partition("  ") for line in lines) if between}
    if len(sums) != len(lines):
        raise InputError(path, None, f"{SUMS} is damaged")
    return sums


def _problems_of_archive(path: AnyPath) -> Iterator[str]:
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            sums, names = _sums(archive, path), Counter(archive.namelist())
            for name in sorted({*sums, *names} - {SUMS}):
                parts = PurePosixPath(name).parts
                if name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
                    yield f"{name}: a name that leads out of the pack"
                elif names[name] != 1:
                    yield f"{name}: {'missing' if name not in names else 'twice in the archive'}"
                elif name not in sums:
                    yield f"{name}: has no checksum"
                elif _sum(archive, name) != sums[name]:
                    yield f"{name}: is not what it was when the pack was exported"
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(path, None, f"not an archive, or a damaged one: {error}") from None


def _sum(archive: zipfile.ZipFile, name: str) -> str | None:
    try:
        with archive.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except (zipfile.BadZipFile, EOFError, OSError):
        return None


# ---- export


def export(folder: AnyPath, output: AnyPath) -> dict[str, int]:
    """Write a pack as one ``.zip``; the same pack gives the same bytes. Returns how many files, and their bytes.

    A pack with something wrong in it is not shipped. The path of the kit becomes its last name: where it lay on this
    machine is nobody's business.
    """
    pack = open_pack(folder)
    if wrong := problems(folder):
        raise InputError(folder, None, f"not exported: {wrong[0]}; corpuscle pack verify lists all")
    sums, total, date = {}, 0, source_date()
    kit = {"kit": Path(pack.state["kit"]).name} if "kit" in pack.state else {}
    state = (json.dumps(pack.state | kit, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")
    stamp = _FIRST_DATE if date is None else max(_FIRST_DATE, date.timetuple()[:6])
    with write_atomically(output) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:

        def add(name: str, content: bytes) -> None:
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, content)

        for name in shipped(pack):
            content = state if name == "state.json" else (pack.folder / name).read_bytes()
            sums[name] = hashlib.sha256(content).hexdigest()
            total += len(content)
            add(name, content)
        listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
        add(SUMS, listed.encode())
    return {"files": len(sums), "bytes": total}


# ---- diff


class Difference(NamedTuple):
    """What differs: ``what`` (step, setting, figure or file), its name, and its values in the first and second pack."""

    what: str
    name: str
    first: Any
    second: Any


def differences(first: AnyPath, second: AnyPath) -> list[Difference]:
    """What changed from one pack to another: steps, their settings and versions, figures of the report, files."""
    packs = open_pack(first), open_pack(second)
    steps = [pack.state["steps"] for pack in packs]
    seeds = [pack.state.get("seed") for pack in packs]
    found = [Difference("seed", "", *seeds)] if seeds[0] != seeds[1] else []
    for name in sorted({*steps[0], *steps[1]}):
        records = [each.get(name) for each in steps]
        if records[0] is None or records[1] is None:
            found.append(Difference("step", name, *("learned" if record else None for record in records)))
            continue
        for part, what in (("settings", "setting"), ("findings", "figure"), ("files", "file")):
            sides = [dict(_flat(record.get(part) or {}, name if part != "files" else "")) for record in records]
            keys = sorted({*sides[0], *sides[1]})
            pairs = ((key, [side.get(key) for side in sides]) for key in keys)
            found += [Difference(what, key, *values) for key, values in pairs if values[0] != values[1]]
    return found


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Single values with the names that lead to them; a list is one value."""
    for name, value in values.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, value


# ---- pages


def write_site(folder: AnyPath, output: AnyPath, sentences: int = 5000) -> dict[str, list[str]]:
    """Write the pages of a pack into a folder that is new or empty; returns those written (``pages``) and why others
    are missing (``missing``). ``sentences``: the concordance has at most this number of them."""
    pack, target = open_pack(folder), Path(output)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(output, None, "is there already, and not an empty folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(output, None, f"cannot make this folder: {(error.strerror or '').lower()}") from error
    pages, missing = [("report.html", "Report: what was learned, and how good it is")], []
    if (pack.folder / "dictionary.html").is_file():
        pages.append(("dictionary.html", "Dictionary"))
    for name, _ in pages:
        shutil.copyfile(pack.folder / name, target / name)
    written: dict[str, Html] = {}
    try:
        written["concordance.html"] = _concordance(list(islice(_lines(pack), sentences)))
        pages.append(("concordance.html", "Concordance: every word in its sentences"))
    except InputError as error:
        missing.append(f"concordance: {error}")
    links = element("ul", *(element("li", element("a", title, href=name)) for name, title in pages))
    written["index.html"] = page.document("A language pack", element("h1", "A language pack"), links)
    for name, content in written.items():
        with write_atomically(target / name, "w") as file:
            file.write(content)
    return {"pages": ["index.html", *(name for name, _ in pages)], "missing": missing}


def _lines(pack: Pack) -> Iterator[Line]:
    """The sentences of the kit that a pack was learned from: translations first, which say more, then the text."""
    kit = find_kit(pack.state.get("kit", ""), pack.folder)
    if not kit.files.get("text") and not kit.files.get("parallel"):
        raise InputError(kit.folder, None, "there is no text in the kit")
    bitext = Job(kit, pack.folder, 1, None).parallel if kit.files.get("parallel") else ()
    text = ((words, list[str]()) for path in kit.paths("text") for words in read_text(path, blank="document"))
    for words, translation in chain(bitext, text):
        sentence = " ".join(words)
        if 0 < len(sentence) <= _LONGEST:
            yield sentence, " ".join(translation)[:_LONGEST], direction(sentence) or "ltr"


def _concordance(lines: list[Line]) -> Html:
    search = element("label", "Word ", element("input", id="find", type="search", autocomplete="off", dir="auto"))
    said = p(f"{counted(len(lines), 'sentence')}. A translation, where there is one, appears under the pointer.")
    found = div(element("table", element("tbody", id="found"), class_="concordance"), class_="wide")
    parts = [element("h1", "Concordance"), said, p(search), p(id="said", class_="note", role="status"), found]
    return page.document("Concordance", *parts, script=SCRIPT.read_text(encoding="utf-8"), data=lines)
