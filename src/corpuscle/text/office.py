"""Text of word processors: paragraphs of ``.docx`` and ``.odt`` files, one string each.

Both are zip archives with the text in one XML file. Only that file is unpacked, up to a limit, and it is read by the
reader that refuses document type declarations; so neither an archive that unpacks to gigabytes nor entities that grow
without end do any harm. Text in tables comes row by row; deleted text, comments and footnotes are left out.
"""

from __future__ import annotations

import zipfile
from xml.etree.ElementTree import Element

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, reading
from corpuscle.text.xml import parse_xml

LARGEST = 256 * 1024 * 1024
"""How many bytes of XML are read."""

_BLOCK = 1 << 20
_UNREAD = {"text:tracked-changes", "office:annotation", "text:note", "w:del", "w:footnote", "w:comment"}


def _part(path: AnyPath, name: str) -> Element:
    """An XML file of a zip archive."""
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive, archive.open(name) as file:
                parts, size = [], 0
                while block := file.read(_BLOCK):
                    size += len(block)
                    if size > LARGEST:
                        raise InputError(path, None, f"more than {LARGEST:,} bytes of text; is it what it seems to be?")
                    parts.append(block)
        except KeyError:
            raise InputError(path, None, f"there is no {name} in it: not a document, in spite of its name") from None
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:  # damaged, strange or encrypted
            raise InputError(path, None, f"cannot be unpacked: {error}") from None
    return parse_xml(b"".join(parts), path)


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
    found: list[str] = []

    def visit(element: Element) -> None:
        if element.tag in _UNREAD:
            return
        if element.tag in tags:
            found.append(" ".join(_text(element, spaces, wanted).split(" ")).strip())
            return
        for child in element:
            visit(child)

    visit(root)
    return found


def read_docx(path: AnyPath) -> list[str]:
    """The paragraphs of a ``.docx`` file."""
    spaces = {"w:tab": " ", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
    return _paragraphs(_part(path, "word/document.xml"), {"w:p"}, spaces, {"w:t"})


def read_odt(path: AnyPath) -> list[str]:
    """The paragraphs and headings of an ``.odt`` file."""
    spaces = {"text:s": " ", "text:tab": " ", "text:line-break": "\n"}
    return _paragraphs(_part(path, "content.xml"), {"text:p", "text:h"}, spaces, None)
