"""Standoff annotation: a text, and mentions that point into it by character offsets.

The common model of brat, PubTator, pipe and JSON files. Offsets count Unicode characters of the text from 0, ends are
exclusive; a mention may have several spans (a discontinuous mention), and mentions may overlap and nest.

Here: the model, JSON lines (``{"text": ..., "mentions": [{"type": ..., "spans": [[0, 4]]}]}``), and pipe lines
(``file||type||concept||start||end||start||end``), whose texts lie in a folder.

PubTator: title and abstract of an article, then its mentions and relations, a blank line after each article.

::

    101|t|A title
    101|a|And an abstract.
    101<tab>2<tab>7<tab>title<tab>Thing<tab>C1

The text of a document is the title, a line feed, and the abstract, which is how the offsets count. The concept of a
composite mention lists several (``C1|C2``); a further field, which names the parts of such a mention, is its attribute
``parts``. A relation line has a type and concepts: ``101<tab>CID<tab>C1<tab>C2``. What is read is written again as it
was.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, read_blocks, read_lines, read_raw, reading, write_atomically

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


def read_standoff_json(path: AnyPath) -> list[Standoff]:
    """Read one document per line: an object with ``text``, ``mentions``, and perhaps ``name`` and ``relations``."""
    documents = []
    for number, line in read_lines(path):
        try:
            allowed: dict[str, Any] = {"text": None, "mentions": [], "relations": [], "name": ""}
            fields = _fields(json.loads(line), "the document", allowed)
            mentions = tuple(_mention(mention, len(fields["text"])) for mention in fields["mentions"])
            relations = tuple(map(_relation, fields["relations"]))
            documents.append(Standoff(fields["text"], mentions, relations, fields["name"]))
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
    if "attributes" in allowed:
        value["attributes"] = tuple(Attribute(_plain(name), _plain(said)) for name, said in value["attributes"].items())
    return value


def _plain(text: Any) -> str:
    """Text that can be written: JSON may have half a character, or something that is no text."""
    if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
        raise Fault("a string expected, without NUL and lone surrogates")
    return text


def _mention(value: Any, length: int) -> Mention:
    fields = _fields(value, "a mention", {"type": None, "spans": [], "id": "", "concept": "", "attributes": {}})
    for span in fields["spans"]:
        if not isinstance(span, list) or len(span) != 2 or not all(type(offset) is int for offset in span):
            raise Fault("a span must be a pair of integers")
    spans = tuple((begin, end) for begin, end in fields["spans"])
    if fault := span_fault(spans, length):
        raise Fault(fault)
    return Mention(fields["type"], spans, fields["id"], fields["concept"], fields["attributes"])


def _relation(value: Any) -> Relation:
    allowed: dict[str, Any] = {"type": None, "arguments": [], "id": "", "trigger": "", "attributes": {}}
    fields = _fields(value, "a relation", allowed)
    for argument in fields["arguments"]:
        if not isinstance(argument, list) or len(argument) != 2:
            raise Fault("an argument of a relation must be a pair of role and id")
    arguments = tuple((_plain(role), _plain(id)) for role, id in fields["arguments"])
    return Relation(fields["type"], arguments, fields["id"], fields["trigger"], fields["attributes"])


def write_standoff_json(documents: Iterable[Standoff], path: AnyPath) -> None:
    """Write one document per line. Fields that say nothing are left out; ids of attributes and notes are not kept."""
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


_HEAD = re.compile(r"([^|\t]+)\|([ta])\|(.*)")


def read_pubtator(path: AnyPath) -> list[Standoff]:
    """Read all articles of a file; their names are the article numbers."""
    documents = []
    for block in read_blocks(path, blank=" "):
        name, title = _head(block, "t", path)
        other, abstract = _head(block[1:] or block, "a", path)
        if name != other:
            reason = f"the abstract of {other[:40]!r} after the title of {name[:40]!r}"
            raise InputError(path, block[1][0], reason)
        text = f"{title}\n{abstract}"
        records = []
        for number, line in block[2:]:
            try:
                records.append(_parse(line, name, text))
            except Fault as fault:
                raise InputError(path, number, str(fault)) from None
        mentions = tuple(record for record in records if isinstance(record, Mention))
        relations = tuple(record for record in records if isinstance(record, Relation))
        documents.append(Standoff(text, mentions, relations, name, lines=tuple(line for _, line in block[2:])))
    return documents


def _head(block: list[tuple[int, str]], kind: str, path: AnyPath) -> tuple[str, str]:
    """The number and the text of a title (``t``) or abstract (``a``), which the first line of the block must be."""
    number, line = block[0]
    match = _HEAD.fullmatch(line)
    if match is None or match[2] != kind:
        raise InputError(path, number, "an article begins with number|t|title and number|a|abstract")
    return match[1], match[3]


def _parse(line: str, name: str, text: str) -> Mention | Relation:
    article, *fields = line.split("\t")
    if article != name:
        raise Fault(f"a line of article {article[:40]!r} in article {name[:40]!r}")
    if len(fields) >= 2 and _OFFSET.fullmatch(fields[0]) and _OFFSET.fullmatch(fields[1]):
        if not 4 <= len(fields) <= 6 or not fields[3]:
            raise Fault("expected: article, start, end, text, type, and perhaps concept and parts, separated by tabs")
        spans = ((int(fields[0]), int(fields[1])),)
        if fault := span_fault(spans, len(text)):
            raise Fault(fault)
        covered = Standoff(text).covered(Mention("", spans))
        if covered != fields[2]:
            raise Fault(f"the text is {covered[:80]!r}, not {fields[2][:80]!r}")
        attributes = (Attribute("parts", fields[5]),) if len(fields) == 6 else ()
        return Mention(fields[3], spans, concept=fields[4] if len(fields) > 4 else "", attributes=attributes)
    if len(fields) < 3 or not all(fields):
        raise Fault("neither a mention nor a relation: type and two or more concepts, separated by tabs")
    return Relation(fields[0], tuple(("", field) for field in fields[1:]))


def write_pubtator(documents: Iterable[Standoff], path: AnyPath) -> None:
    """Write articles; a text must be a title and an abstract with a line feed between them."""
    with write_atomically(path, "w") as output:
        for document in documents:
            check_spans(document, path)
            name, text = document.name, document.text
            if text.count("\n") != 1 or "\r" in text or not re.fullmatch(r"[^|\t\n\r]*[^|\t\n\r ]", name):
                reason = "an article has a number, and a text of two lines: a title and an abstract"
                raise InputError(path, None, f"{name!r} does not fit: {reason}")
            title, abstract = text.split("\n")
            records: list[Mention | Relation] = [*document.mentions, *document.relations]
            parse, form = partial(_parse, name=name, text=text), partial(_form, name=name, text=text, path=path)
            lines = merge_lines(document.lines, parse, records, form)
            output.write("\n".join([f"{name}|t|{title}", f"{name}|a|{abstract}", *lines, "\n"]))


def _form(record: Mention | Relation, name: str, text: str, path: AnyPath) -> str:
    if isinstance(record, Mention):
        (begin, end), *more = record.spans
        fields = [name, str(begin), str(end), text[begin:end], record.type, record.concept]
        fields += [attribute.value for attribute in record.attributes]
        plain = not more and all(attribute.name == "parts" for attribute in record.attributes)
    else:
        fields = [name, record.type, *(id for _, id in record.arguments)]
        plain = not record.trigger and not record.attributes
    line = "\t".join(fields)
    if not plain or not fits(line, _bare(record), lambda line: _bare(_parse(line, name, text))):
        raise InputError(path, None, f"article {name}: PubTator cannot hold {record}")
    return line


def _bare(record: Mention | Relation) -> Mention | Relation:
    """What PubTator can say of a mention or relation: neither ids nor roles."""
    if isinstance(record, Mention):
        return Mention(record.type, record.spans, concept=record.concept)
    return Relation(record.type, tuple(("", id) for _, id in record.arguments))
