"""brat: ``name.txt``, and next to it ``name.ann`` with one annotation per line.

``T1<tab>Disorder 10 14;30 37<tab>text`` is a mention (a fourth field, which some corpora have, is its concept),
``R1<tab>Type Arg1:T1 Arg2:T2`` a relation, ``E1<tab>Type:T1 Role:T2`` an event, ``A1<tab>Name T1 [value]`` (or ``M1``)
an attribute. Normalisations (N), notes (#), equivalences (*) and blank lines are kept as they are. A file that is read
and written again is the same, byte for byte; changed or new annotations are written in their canonical form.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from corpuscle.errors import InputError, warn
from corpuscle.text.files import AnyPath, read_lines, read_raw, write_atomically
from corpuscle.text.standoff import (
    Attribute,
    Fault,
    Mention,
    Relation,
    Standoff,
    check_spans,
    fits,
    merge_lines,
    span_fault,
)

_MENTION = re.compile(r"([^ \t]+) ([0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})*)")
_ID = re.compile(r"[TREAM][^ \t]*[0-9]+[^ \t]*")


class _Text(NamedTuple):
    """A mention without its attributes, and the text that its line gives."""

    mention: Mention
    covered: str


class _Property(NamedTuple):
    """An attribute and the id of what it belongs to."""

    target: str
    attribute: Attribute


_Line = _Text | Relation | _Property | str


def read_brat(path: AnyPath, skip_faulty: bool = False) -> list[Standoff]:
    """Read one document (the path of its ``.ann`` or ``.txt``) or all documents of a folder, sorted by name.

    A mention whose offsets or text do not fit the document is an error; with ``skip_faulty`` it is left out, with a
    warning that names the line.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        files = sorted(entry.path for entry in os.scandir(name) if entry.name.endswith(".ann"))
        if not files:
            raise InputError(path, None, "no .ann files in this folder")
        return [_read(file[:-4], skip_faulty) for file in files]
    stem, suffix = os.path.splitext(name)
    if suffix not in (".ann", ".txt"):
        raise InputError(path, None, "a brat document is a .txt with an .ann beside it")
    return [_read(stem, skip_faulty)]


def _read(stem: str, skip_faulty: bool) -> Standoff:
    path, text = stem + ".ann", read_raw(stem + ".txt")
    lines = dict(read_lines(path))
    found: dict[str, tuple[int, Mention | Relation]] = {}
    properties: dict[str, tuple[int, _Property]] = {}
    notes = []
    for number, line in lines.items():
        try:
            record = _parse(line)
            if isinstance(record, str):
                notes.append(record)
                continue
            id = line.partition("\t")[0]
            if id in found or id in properties:
                raise Fault(f"the id {id[:40]} occurs twice")
            if isinstance(record, _Property):
                properties[id] = (number, record)
            elif isinstance(record, Relation):
                found[id] = (number, record)
            else:
                reason, covered = span_fault(record.mention.spans, len(text)), _covered(text, record.mention)
                if not reason and covered != record.covered:
                    reason = f"the text is {covered[:80]!r}, not {record.covered[:80]!r}"
                if not reason:
                    found[id] = (number, record.mention)
                elif skip_faulty:
                    warn(f"{path}:{number}: mention left out: {reason}")
                else:
                    raise Fault(reason)
        except Fault as fault:
            raise InputError(path, number, str(fault)) from None
    for number, (target, attribute) in properties.values():
        if target not in found:
            raise InputError(path, number, f"{attribute.id[:40]} points to {target[:40]}, which is not there")
        place, holder = found[target]
        found[target] = (place, dataclasses.replace(holder, attributes=(*holder.attributes, attribute)))
    mentions = tuple(item for _, item in found.values() if isinstance(item, Mention))
    relations = tuple(item for _, item in found.values() if isinstance(item, Relation))
    document = Standoff(text, mentions, relations, os.path.basename(stem), tuple(notes), tuple(lines.values()))
    for source, target in _pointers(document):
        if target not in found:
            raise InputError(path, found[source][0], f"{source[:40]} points to {target[:40]}, which is not there")
    return document


def _pointers(document: Standoff) -> list[tuple[str, str]]:
    """The pairs of ids that relations and events connect: from, to."""
    found = []
    for relation in document.relations:
        found += [(relation.id, id) for _, id in relation.arguments]
        if relation.trigger:
            found.append((relation.id, relation.trigger))
    return found


def _covered(text: str, mention: Mention) -> str:
    """The text of a mention as brat writes it: on one line, parts joined by spaces."""
    return re.sub(r"[\t\n\r]", " ", Standoff(text).covered(mention))


def _parse(line: str) -> _Line:
    """What a line says; a line that is kept but not understood is given back as it is."""
    if not line or line[0] in "N#*":
        return line
    id, *fields = line.split("\t")
    if not _ID.fullmatch(id):
        raise Fault(f"{id[:40]!r} is not the id of an annotation")
    if id[0] == "T":
        match = _MENTION.fullmatch(fields[0]) if len(fields) in (2, 3) else None
        if match is None:
            raise Fault("expected: id, type and offsets, text, separated by tabs")
        spans = tuple((int(span.split()[0]), int(span.split()[1])) for span in match[2].split(";"))
        return _Text(Mention(match[1], spans, id, fields[2] if len(fields) == 3 else ""), fields[1])
    words = fields[0].split() if fields and not any(fields[1:]) else []
    if id[0] in "AM":
        if len(words) not in (2, 3):
            raise Fault("expected: id, a tab, name, target and perhaps a value")
        return _Property(words[1], Attribute(words[0], words[2] if len(words) == 3 else "", id))
    pairs = [word.partition(":") for word in words]
    head = pairs[0] if pairs else ("", "", "")
    is_event = id[0] == "E"
    if not head[0] or bool(head[2]) != is_event or not all(role and target for role, _, target in pairs[1:]):
        raise Fault("expected: id, a tab, type, and arguments such as Arg1:T1")
    return Relation(head[0], tuple((role, target) for role, _, target in pairs[1:]), id, head[2])


def write_brat(documents: Iterable[Standoff], folder: AnyPath) -> None:
    """Write ``name.txt`` and ``name.ann`` for each document; the folder is made if it is not there."""
    documents = list(documents)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(folder, None, f"cannot write: {(error.strerror or str(error)).lower()}") from error
    names = [document.name for document in documents]
    for name in names:
        if not name or name != os.path.basename(name) or name in (".", "..") or names.count(name) > 1:
            raise InputError(folder, None, f"{name!r} cannot be the name of a document")
    for document in documents:
        stem = os.path.join(folder, document.name)
        lines = _lines(document, stem + ".ann")
        with write_atomically(stem + ".txt", "w") as output:
            output.write(document.text)
        with write_atomically(stem + ".ann", "w") as output:
            output.write("".join(line + "\n" for line in lines))


def _lines(document: Standoff, path: str) -> list[str]:
    check_spans(document, path)
    document = _with_ids(document)
    mentions = [dataclasses.replace(mention, attributes=()) for mention in document.mentions]
    records: list[_Line] = [_Text(mention, _covered(document.text, mention)) for mention in mentions]
    records += [dataclasses.replace(relation, attributes=()) for relation in document.relations]
    holders: list[Mention | Relation] = [*document.mentions, *document.relations]
    records += [_Property(holder.id, attribute) for holder in holders for attribute in holder.attributes]
    known = {holder.id for holder in holders}
    for source, target in _pointers(document):
        if target not in known:
            raise InputError(path, None, f"{source} points to {target!r}, which is not there")
    return merge_lines(document.lines, _parse, [*records, *document.notes], lambda record: _form(record, path))


def _form(record: _Line, path: str) -> str:
    if isinstance(record, str):
        line = record
    elif isinstance(record, _Text):
        mention = record.mention
        spans = ";".join(f"{begin} {end}" for begin, end in mention.spans)
        line = f"{mention.id}\t{mention.type} {spans}\t{record.covered}"
        if mention.concept:
            line += f"\t{mention.concept}"
    elif isinstance(record, _Property):
        target, attribute = record
        line = f"{attribute.id}\t{attribute.name} {target}" + (f" {attribute.value}" if attribute.value else "")
    else:
        head = f"{record.type}:{record.trigger}" if record.trigger else record.type
        line = f"{record.id}\t{' '.join([head, *(f'{role}:{id}' for role, id in record.arguments)])}"
    if not fits(line, record, _parse):
        raise InputError(path, None, f"an annotation file cannot hold {line!r}")
    return line


def _with_ids(document: Standoff) -> Standoff:
    """The same document with ids for everything that has none that brat would take."""
    holders: list[Mention | Relation] = [*document.mentions, *document.relations]
    used = {id for holder in holders for id in (holder.id, *(attribute.id for attribute in holder.attributes))}
    counters: dict[str, int] = defaultdict(int)

    def name(id: str, letters: str) -> str:
        if id[:1] in tuple(letters) and _ID.fullmatch(id):
            return id
        while True:
            counters[letters] += 1
            id = f"{letters[0]}{counters[letters]}"
            if id not in used:
                used.add(id)
                return id

    def named(each: Any, letter: str) -> Any:
        attributes = tuple(attribute._replace(id=name(attribute.id, "AM")) for attribute in each.attributes)
        return dataclasses.replace(each, id=name(each.id, letter), attributes=attributes)

    mentions = tuple(named(each, "T") for each in document.mentions)
    relations = tuple(named(each, "E" if each.trigger else "R") for each in document.relations)
    return dataclasses.replace(document, mentions=mentions, relations=relations)
