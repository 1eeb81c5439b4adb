"""A pack as pages that need no server: the report, the dictionary, and a concordance of the text behind them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from corpuscle.errors import InputError
from corpuscle.packs import page
from corpuscle.packs.job import Job
from corpuscle.packs.kit import Kit, find_kit
from corpuscle.packs.pack import Pack
from corpuscle.packs.ship import open_pack
from corpuscle.packs.steps.alignments import read_parallel
from corpuscle.text import read_text
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.html import Html, element, p
from corpuscle.text.scripts import direction
from corpuscle.text.wording import counted

__all__ = ["write_site"]

SCRIPT = Path(__file__).with_name("concordance.js")
_LONGEST = 2000
"""Characters of a sentence; what is longer is no sentence."""

Line = tuple[str, str, str]
"""A sentence, its translation if there is one, and the way its letters run."""


def write_site(folder: AnyPath, output: AnyPath, sentences: int = 5000) -> dict[str, list[str]]:
    """Write the pages of a pack into a folder that is new or empty; returns those written (``pages``) and why others
    are missing (``missing``). ``sentences``: so many at most are in the concordance."""
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
    try:
        lines = list(islice(_lines(pack), sentences))
        _write(target / "concordance.html", _concordance(lines))
        pages.append(("concordance.html", "Concordance: every word in its sentences"))
    except InputError as error:
        missing.append(f"concordance: {error}")
    links = element("ul", *(element("li", element("a", title, href=name)) for name, title in pages))
    _write(target / "index.html", page.document("A language pack", element("h1", "A language pack"), links))
    return {"pages": ["index.html", *(name for name, _ in pages)], "missing": missing}


def _write(path: Path, content: Html) -> None:
    with write_atomically(path, "w") as file:
        file.write(content)


def _lines(pack: Pack) -> Iterator[Line]:
    """The sentences of the kit that a pack was learned from: translations first, which say more, then the text."""
    kit = find_kit(pack.state.get("kit", ""), pack.folder)
    if not kit.files.get("text") and not kit.files.get("parallel"):
        raise InputError(kit.folder, None, "there is no text in the kit")
    if kit.files.get("parallel"):
        bitext = read_parallel(Job(kit, pack.folder, 1, None)).bitext
        for source, translation in bitext:
            yield from _line(source, translation)
    yield from _running(kit)


def _running(kit: Kit) -> Iterator[Line]:
    for path in kit.paths("text"):
        for words in read_text(path, blank="document"):
            yield from _line(words, ())


def _line(words: list[str], translation: list[str] | tuple[()]) -> Iterator[Line]:
    sentence = " ".join(words)
    if 0 < len(sentence) <= _LONGEST:
        yield sentence, " ".join(translation)[:_LONGEST], direction(sentence) or "ltr"


def _concordance(lines: list[Line]) -> Html:
    search = element("label", "Word ", element("input", id="find", type="search", autocomplete="off", dir="auto"))
    return page.document(
        "Concordance",
        element("h1", "Concordance"),
        p(f"{counted(len(lines), 'sentence')}. A translation, where there is one, appears under the pointer."),
        p(search),
        p(id="said", class_="note", role="status"),
        element("div", element("table", element("tbody", id="found"), class_="concordance"), class_="wide"),
        script=SCRIPT.read_text(encoding="utf-8"),
        data=lines,
    )
