"""TMX (Translation Memory eXchange): the file format in which translators keep sentences and their translations.

A translation unit (``tu``) has a variant (``tuv``) with one segment (``seg``) for each of its languages. Codes inside a
segment (``bpt``, ``ept``, ``it``, ``ph``, ``ut``: what another program uses for bold type and the like) are not text
and are left out; what is highlighted (``hi``) is. White space in a segment is one space.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree.ElementTree import Element

from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import AnyPath
from corpuscle.text.xml import read_xml

_SPACE = re.compile(r"[ \t\n\r\v\f]+")
_CODES = {"bpt", "ept", "it", "ph", "ut"}


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
    units = [_variants(unit, path, number) for number, unit in enumerate(root.iter("tu"), 1)]
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
    pairs = [(_first(unit, left), _first(unit, right)) for unit in units]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [a for a, _ in both], [b for _, b in both]


def _variants(unit: Element, path: AnyPath, number: int) -> dict[str, str]:
    """The segment of each language of a unit."""
    found: dict[str, str] = {}
    for variant in unit.findall("tuv"):
        language = (variant.get("xml:lang") or variant.get("lang") or "").lower()
        segments = variant.findall("seg")
        if not language or len(segments) != 1:
            raise InputError(path, None, f"unit {number}: every tuv needs a language (xml:lang) and one seg")
        found.setdefault(language, _SPACE.sub(" ", _text(segments[0])).strip(" "))
    return found


def _text(element: Element) -> str:
    """The text of a segment without its codes."""
    parts = [element.text or ""]
    for child in element:
        if child.tag not in _CODES:
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _names(languages: Counter[str], wanted: str) -> set[str]:
    """The languages of a file that are meant by a name."""
    name = wanted.lower().replace("_", "-")
    same = {language for language in languages if language.replace("_", "-") == name}
    return same or {language for language in languages if language.replace("_", "-").startswith(name + "-")}


def _first(unit: dict[str, str], languages: set[str]) -> str | None:
    return next((text for language, text in unit.items() if language in languages), None)
