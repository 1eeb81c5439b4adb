"""XML from strangers: a small reader that refuses what has no place in a data file.

A document type declaration can define entities that grow without end or fetch other files, so a file with one is
refused before anything in it is used; so is a file that is too large or nested too deeply.
"""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, decode, open_bytes

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

    def line() -> int:
        return parser.CurrentLineNumber

    def declare(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii"):
            raise InputError(path, line(), f"the encoding is {encoding[:40]!r}; convert the file to UTF-8")

    def refuse(*_: Any) -> None:
        raise InputError(path, line(), "a document type declaration (DTD); remove it")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(path, line(), f"elements nested more than {DEEPEST} deep")
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
    except expat.ExpatError as error:
        raise InputError(path, error.lineno, f"not well-formed XML: {expat.ErrorString(error.code)}") from error
    return builder.close()
