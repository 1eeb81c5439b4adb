"""XML from strangers: a small reader that refuses what has no place in a data file; word processors and TMX.

A document type declaration can define entities that grow without end or fetch other files, so a file with one is
refused before anything in it is used; so is a file that is too large or nested too deeply.

Word processors: the paragraphs of ``.docx`` and ``.odt`` files, one string each. Both are zip archives with the text in
one XML file. Only that file is unpacked, up to a limit. Text in tables comes row by row; deleted text, comments and
footnotes are left out.

TMX (Translation Memory eXchange): the file format in which translators keep sentences and their translations. A
translation unit (``tu``) has a variant (``tuv``) with one segment (``seg``) for each of its languages. Codes inside a
segment (``bpt``, ``ept``, ``it``, ``ph``, ``ut``: what another program uses for bold type and the like) are not text
and are left out; what is highlighted (``hi``) is. White space in a segment is one space.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import AnyPath, decode, open_bytes, reading
from corpuscle.text.vocab import SPACES

DEEPEST = 100
"""How deeply elements may be nested."""

LARGEST = 512 * 1024 * 1024
"""How many bytes a file may have, unpacked, unless the caller says otherwise."""


def read_xml(path: AnyPath, largest: int = LARGEST) -> Element:
    """The root element of a UTF-8 XML file without a document type declaration."""
    return parse_xml(open_bytes(path, lines=False), path, largest)


def parse_xml(data: bytes, path: AnyPath, largest: int = LARGEST) -> Element:
    """The root element of such a file that is in memory already; ``path`` is for errors."""
    if len(data) > largest:
        raise InputError(path, None, f"{len(data):,} bytes of XML; at most {largest:,} are read")
    text = decode(data, path)
    parser = expat.ParserCreate("utf-8")
    builder = TreeBuilder()
    depth = 0

    def error(reason: str) -> InputError:
        return InputError(path, parser.CurrentLineNumber, reason)

    def declare(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii"):
            raise error(f"the encoding is {encoding[:40]!r}; convert the file to UTF-8")

    def refuse(*_: Any) -> None:
        raise error("a document type declaration (DTD); remove it")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise error(f"elements nested more than {DEEPEST} deep")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    parser.XmlDeclHandler = declare
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.buffer_text = True
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as fault:
        raise InputError(path, fault.lineno, f"not well-formed XML: {expat.ErrorString(fault.code)}") from fault
    return builder.close()


MOST_TEXT = 256 * 1024 * 1024
"""How many bytes of XML are read of a document."""

_UNREAD = {
    "text:tracked-changes", "office:annotation", "text:note", "w:del", "w:footnote", "w:comment",
    "bpt", "ept", "it", "ph", "ut",
}  # fmt: skip
"""Elements whose text is no part of a document or segment."""


def _part(path: AnyPath, name: str) -> Element:
    """An XML file of a zip archive."""
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive, archive.open(name) as file:
                data = file.read(MOST_TEXT + 1)
        except KeyError:
            raise InputError(path, None, f"there is no {name} in it: not a document, in spite of its name") from None
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:  # damaged, strange or encrypted
            raise InputError(path, None, f"cannot be unpacked: {error}") from None
    if len(data) > MOST_TEXT:
        raise InputError(path, None, f"more than {MOST_TEXT:,} bytes of text; is it what it seems to be?")
    return parse_xml(data, path)


def _text(element: Element, spaces: dict[str, str], wanted: set[str] | None) -> str:
    """The text inside an element; ``spaces``: what some elements stand for; ``wanted``: only text of these."""
    if element.tag in _UNREAD:
        return ""
    own = (element.text or "") if wanted is None or element.tag in wanted else ""
    parts = [spaces.get(element.tag, ""), own]
    for child in element:
        parts.append(_text(child, spaces, wanted))
        if wanted is None:
            parts.append(child.tail or "")
    return "".join(parts)


def _paragraphs(root: Element, tags: set[str], spaces: dict[str, str], wanted: set[str] | None) -> list[str]:
    if root.tag in _UNREAD:
        return []
    if root.tag in tags:
        return [_text(root, spaces, wanted).strip()]
    return [paragraph for child in root for paragraph in _paragraphs(child, tags, spaces, wanted)]


def read_docx(path: AnyPath) -> list[str]:
    spaces = {"w:tab": " ", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
    return _paragraphs(_part(path, "word/document.xml"), {"w:p"}, spaces, {"w:t"})


def read_odt(path: AnyPath) -> list[str]:
    """The paragraphs and headings of an ``.odt`` file."""
    spaces = {"text:s": " ", "text:tab": " ", "text:line-break": "\n"}
    return _paragraphs(_part(path, "content.xml"), {"text:p", "text:h"}, spaces, None)


def read_tmx(path: AnyPath, source: str | None = None, target: str | None = None) -> tuple[list[str], list[str]]:
    """The segments of two languages, those of all units that have both.

    ``source`` and ``target`` are languages as the file names them, or only their beginning: ``en`` for ``en-GB``.
    Without them the source is the language that the header names, and the target the only other one.
    """
    if (source is None) != (target is None):
        raise SettingError("name both languages of a TMX file, or none")
    root = read_xml(path)
    if root.tag != "tmx":
        raise InputError(path, None, f"not a TMX file: its root element is {root.tag!r}")
    units: list[dict[str, str]] = []
    for unit in root.iter("tu"):
        units.append({})
        for variant in unit.findall("tuv"):
            language = (variant.get("xml:lang") or variant.get("lang") or "").lower()
            segments = variant.findall("seg")
            if not language or len(segments) != 1:
                raise InputError(path, None, f"unit {len(units)}: every tuv needs a language (xml:lang) and one seg")
            units[-1].setdefault(language, SPACES.sub(" ", _text(segments[0], {}, None)).strip(" "))
    languages = Counter(language for unit in units for language in unit)
    if source is None or target is None:
        header = root.find("header")
        named = "" if header is None else header.get("srclang", "").lower()
        chosen = [language for language in languages if language == named]
        others = [language for language in languages if language != named]
        if len(chosen) != 1 or len(others) != 1:
            found = ", ".join(sorted(languages)) or "no language"
            raise InputError(path, None, f"which is the source, which the target? It has {found}")
        source, target = chosen[0], others[0]
    left, right = _names(languages, source), _names(languages, target)
    if not left or not right:
        missing = target if left else source
        raise InputError(path, None, f"no segment in {missing!r}; it has {', '.join(sorted(languages))}")
    if left & right:
        raise SettingError(f"{source!r} and {target!r} are the same language in {path}")
    sides = [[[unit[name] for name in unit if name in names] for names in (left, right)] for unit in units]
    both = [(ours[0], theirs[0]) for ours, theirs in sides if ours and theirs]
    return [a for a, _ in both], [b for _, b in both]


def _names(languages: Counter[str], wanted: str) -> set[str]:
    """The languages of a file that are meant by a name."""
    name = wanted.lower().replace("_", "-")
    same = {language for language in languages if language.replace("_", "-") == name}
    return same or {language for language in languages if language.replace("_", "-").startswith(name + "-")}
