"""Standoff annotation: a text, and mentions that point into it by character offsets.

The common model of brat, PubTator, pipe and JSON files. Offsets count Unicode characters of the text from 0, ends are
exclusive; a mention may have several spans (a discontinuous mention), and mentions may overlap and nest.

Here: the model, JSON lines (``{"text": ..., "mentions": [{"type": ..., "spans": [[0, 4]]}]}``), and pipe lines
(``file||type||concept||start||end||start||end``), whose texts lie in a folder.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, read_lines, read_raw, reading, write_atomically

__all__ = [
    "Attribute", "Mention", "Relation", "Standoff", "read_pipe", "read_standoff_json", "write_pipe",
    "write_standoff_json",
]  # fmt: skip

Spans = tuple[tuple[int, int], ...]
Record = TypeVar("Record", bound=Hashable)

_OFFSET = re.compile(r"[0-9]{1,12}")
_TEXTS = (".txt", ".text")
_UNFIT = re.compile(r"^\||\|\||\|\Z|[\n\r]")
"""What a field of a pipe line may not have: it would be read as the end of the field or of the line."""


class Fault(Exception):
    """What is wrong with a line or a value; readers make an ``InputError`` of it."""


class Attribute(NamedTuple):
    """A property of a mention or relation; the value is empty where being there says it all."""

    name: str
    value: str = ""
    id: str = ""


@dataclass(frozen=True)
class Mention:
    """A stretch of text, or several, with a type; ``concept`` is an entry of a catalogue that it refers to."""

    type: str
    spans: Spans
    id: str = ""
    concept: str = ""
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Relation:
    """Something said of mentions (or, in PubTator, of concepts): ``arguments`` are pairs of role and id.

    An event has a ``trigger``, the mention that expresses it.
    """

    type: str
    arguments: tuple[tuple[str, str], ...]
    id: str = ""
    trigger: str = ""
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Standoff:
    """A document with its annotation.

    ``notes`` are lines of an annotation file that are kept but not understood; ``lines`` are all its lines as they were
    read, so that what has not changed is written as it was.
    """

    text: str
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def covered(self, mention: Mention, joint: str = " ") -> str:
        """The text of a mention, with ``joint`` between its spans."""
        return joint.join(self.text[begin:end] for begin, end in mention.spans)


def span_fault(spans: Spans, length: int) -> str | None:
    """What is wrong with the spans of a mention in a text of that length, if anything."""
    if not spans:
        return "a mention without spans"
    last = 0
    for begin, end in spans:
        if not 0 <= begin < end:
            return f"the span {begin}..{end} is empty or runs backwards"
        if end > length:
            return f"the span {begin}..{end} ends after the text, which has {length} characters"
        if begin < last:
            return f"the span {begin}..{end} overlaps the one before it or stands before it"
        last = end
    return None


def check_spans(document: Standoff, path: AnyPath | None) -> None:
    """Raise an ``InputError`` unless all mentions lie within the text."""
    for mention in document.mentions:
        if fault := span_fault(mention.spans, len(document.text)):
            raise InputError(path, None, f"{document.name}: {fault}")


def merge_lines(
    lines: Iterable[str], parse: Callable[[str], Record], records: Iterable[Record], form: Callable[[Record], str]
) -> list[str]:
    """The lines to write: those that were read and still say something true, verbatim, and the new ones after them."""
    records = list(records)
    left = Counter(records)
    kept = []
    for line in lines:
        with suppress(Fault):  # the text has changed, and the line no longer fits
            if left[record := parse(line)]:
                left[record] -= 1
                kept.append(line)
    for record in records:
        if left[record]:
            left[record] -= 1
            kept.append(form(record))
    return kept


def fits(line: str, record: Record, parse: Callable[[str], Record]) -> bool:
    """Whether a line would be read as the record that it was made of."""
    try:
        return "\n" not in line and "\r" not in line and parse(line) == record
    except Fault:
        return False


# JSON lines


def read_standoff_json(path: AnyPath) -> list[Standoff]:
    """Read a document a line: an object with ``text`` and ``mentions``, and optionally ``name`` and ``relations``."""
    documents = []
    for number, line in read_lines(path):
        try:
            documents.append(_document(json.loads(line)))
        except Fault as error:
            raise InputError(path, number, str(error)) from None
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InputError(path, number, f"not JSON that can be used: {reason}") from None
    return documents


def _fields(value: Any, what: str, allowed: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object, with defaults (None: required) and of the types of the defaults."""
    if not isinstance(value, dict):
        raise Fault(f"{what} must be an object")
    if unknown := set(value) - set(allowed):
        raise Fault(f"{what} has an unknown field {min(unknown)[:40]!r}")
    for name, default in allowed.items():
        if name not in value:
            if default is None:
                raise Fault(f"{what} needs the field {name!r}")
            value[name] = default
        wanted = str if default is None else type(default)
        if not isinstance(value[name], wanted):
            raise Fault(f"the field {name!r} of {what} is no {wanted.__name__}")
        if isinstance(value[name], str):
            _plain(value[name])
    return value


def _plain(text: Any) -> str:
    """Text that can be written: JSON may have half a character, or something that is no text."""
    if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
        raise Fault("a string expected, without NUL and lone surrogates")
    return text


def _document(value: Any) -> Standoff:
    fields = _fields(value, "the document", {"text": None, "mentions": [], "relations": [], "name": ""})
    mentions = tuple(_mention(mention, len(fields["text"])) for mention in fields["mentions"])
    return Standoff(fields["text"], mentions, tuple(map(_relation, fields["relations"])), fields["name"])


def _mention(value: Any, length: int) -> Mention:
    fields = _fields(value, "a mention", {"type": None, "spans": [], "id": "", "concept": "", "attributes": {}})
    for span in fields["spans"]:
        if not isinstance(span, list) or len(span) != 2 or not all(type(offset) is int for offset in span):
            raise Fault("a span must be a pair of integers")
    spans = tuple((begin, end) for begin, end in fields["spans"])
    if fault := span_fault(spans, length):
        raise Fault(fault)
    return Mention(fields["type"], spans, fields["id"], fields["concept"], _attributes(fields))


def _relation(value: Any) -> Relation:
    allowed: dict[str, Any] = {"type": None, "arguments": [], "id": "", "trigger": "", "attributes": {}}
    fields = _fields(value, "a relation", allowed)
    for argument in fields["arguments"]:
        if not isinstance(argument, list) or len(argument) != 2:
            raise Fault("an argument of a relation must be a pair of role and id")
    arguments = tuple((_plain(role), _plain(id)) for role, id in fields["arguments"])
    return Relation(fields["type"], arguments, fields["id"], fields["trigger"], _attributes(fields))


def _attributes(fields: dict[str, Any]) -> tuple[Attribute, ...]:
    return tuple(Attribute(_plain(name), _plain(value)) for name, value in fields["attributes"].items())


def write_standoff_json(documents: Iterable[Standoff], path: AnyPath) -> None:
    """Write a document a line. Fields that say nothing are left out; ids of attributes and notes are not kept."""
    with write_atomically(path, "w") as output:
        for document in documents:
            check_spans(document, path)
            record: dict[str, Any] = {"name": document.name} if document.name else {}
            record["text"] = document.text
            record["mentions"] = [_sparse(each, path, spans=each.spans) for each in document.mentions]
            if several := document.relations:
                record["relations"] = [_sparse(r, path, arguments=r.arguments, trigger=r.trigger) for r in several]
            output.write(json.dumps(record, ensure_ascii=False) + "\n")


def _sparse(item: Mention | Relation, path: AnyPath, **more: Any) -> dict[str, Any]:
    """The fields of a mention or relation that are not empty."""
    attributes = {attribute.name: attribute.value for attribute in item.attributes}
    if len(attributes) < len(item.attributes):
        raise InputError(path, None, f"{item.id or item.type} has two attributes of the same name")
    fields = {"id": item.id, "type": item.type, **more, "attributes": attributes}
    if isinstance(item, Mention):
        fields["concept"] = item.concept
    return {name: value for name, value in fields.items() if value or name == "type"}


# Pipe lines


def read_pipe(path: AnyPath, folder: AnyPath) -> list[Standoff]:
    """Read pipe lines: the annotation of all texts (``.txt``, ``.text``) of a folder, sorted by name.

    The first field of a line is the name of a text, with or without its suffix. Texts without lines have no mentions.
    """
    with reading(folder):
        files = sorted(name for name in os.listdir(folder) if name.endswith(_TEXTS))
    texts = {os.path.splitext(file)[0]: read_raw(os.path.join(folder, file)) for file in files}
    if len(texts) < len(files):
        raise InputError(folder, None, "two texts have the same name but for the suffix")
    mentions: dict[str, list[Mention]] = {name: [] for name in texts}
    for number, line in read_lines(path):
        fields = line.split("||")
        if len(fields) < 5 or len(fields) % 2 == 0:
            raise InputError(path, number, "expected: file||type||concept||start||end, and more starts and ends")
        name = fields[0] if fields[0] in texts else os.path.splitext(fields[0])[0]
        if name not in texts:
            raise InputError(path, number, f"there is no text {fields[0][:80]!r} in the folder")
        if not all(map(_OFFSET.fullmatch, fields[3:])):
            raise InputError(path, number, "starts and ends are numbers")
        offsets = [int(field) for field in fields[3:]]
        spans = tuple(zip(offsets[::2], offsets[1::2], strict=True))
        if fault := span_fault(spans, len(texts[name])):
            raise InputError(path, number, fault)
        mentions[name].append(Mention(fields[1], spans, concept=fields[2]))
    return [Standoff(text, tuple(mentions[name]), name=name) for name, text in texts.items()]


def write_pipe(documents: Iterable[Standoff], path: AnyPath, suffix: str = ".txt") -> None:
    """Write the mentions of all documents as pipe lines; ``suffix`` completes the names of the texts."""
    with write_atomically(path, "w") as output:
        for document in documents:
            check_spans(document, path)
            for mention in document.mentions:
                fields = [document.name + suffix, mention.type, mention.concept]
                for field in fields:
                    if _UNFIT.search(field):
                        raise InputError(path, None, f"a pipe line cannot hold {field!r}")
                output.write("||".join([*fields, *(str(offset) for span in mention.spans for offset in span)]) + "\n")
