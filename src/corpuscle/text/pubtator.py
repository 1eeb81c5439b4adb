"""PubTator: title and abstract of an article, then its mentions and relations, a blank line after each article.

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

import re
from collections.abc import Iterable
from functools import partial

from corpuscle.errors import InputError
from corpuscle.text import standoff
from corpuscle.text.files import AnyPath, read_blocks, write_atomically
from corpuscle.text.standoff import Attribute, Fault, Mention, Relation, Standoff, check_spans, fits

__all__ = ["read_pubtator", "write_pubtator"]

_HEAD = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_OFFSET = re.compile(r"[0-9]{1,12}")


def read_pubtator(path: AnyPath) -> list[Standoff]:
    """Read all articles of a file; their names are the article numbers."""
    return [_document(block, path) for block in read_blocks(path, blank=" ")]


def _document(block: list[tuple[int, str]], path: AnyPath) -> Standoff:
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
    return Standoff(text, mentions, relations, name, lines=tuple(line for _, line in block[2:]))


def _head(block: list[tuple[int, str]], kind: str, path: AnyPath) -> tuple[str, str]:
    """The number and the text of a title (``t``) or abstract (``a``), which the first line of the block must be."""
    number, line = block[0]
    match = _HEAD.fullmatch(line)
    if match is None or match[2] != kind:
        raise InputError(path, number, "an article begins with number|t|title and number|a|abstract")
    return match[1], match[3]


def _parse(line: str, name: str, text: str) -> Mention | Relation:
    """The mention or relation of a line."""
    article, *fields = line.split("\t")
    if article != name:
        raise Fault(f"a line of article {article[:40]!r} in article {name[:40]!r}")
    if len(fields) >= 2 and _OFFSET.fullmatch(fields[0]) and _OFFSET.fullmatch(fields[1]):
        if not 4 <= len(fields) <= 6 or not fields[3]:
            raise Fault("expected: article, start, end, text, type, and perhaps concept and parts, separated by tabs")
        spans = ((int(fields[0]), int(fields[1])),)
        if fault := standoff.span_fault(spans, len(text)):
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
            lines = standoff.merge_lines(document.lines, parse, records, form)
            output.write("\n".join([f"{name}|t|{title}", f"{name}|a|{abstract}", *lines, "\n"]))


def _form(record: Mention | Relation, name: str, text: str, path: AnyPath) -> str:
    """The canonical line of a mention or relation."""
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
