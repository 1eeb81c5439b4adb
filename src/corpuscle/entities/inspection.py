"""What people look at: the heaviest features of a tagger, its mistakes, and texts with their mentions underlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.entities.features import Sheet
from corpuscle.entities.kernels.fields import Field
from corpuscle.entities.learning import all_features
from corpuscle.figures import draw_mentions
from corpuscle.text.files import AnyPath
from corpuscle.text.html import Html, div, document, h3, p, section
from corpuscle.text.mention_tags import TokenMention
from corpuscle.text.standoff import Mention, Standoff
from corpuscle.text.tables import write_table
from corpuscle.text.wording import counted

_HEAVIEST = 20
_CONTEXT = 40
_STYLE = "body{font:16px/1.4 sans-serif;margin:2em auto;max-width:46em;padding:0 1em}h3{margin:1.6em 0 .4em}"


class Feature(NamedTuple):
    """A weight and what it is of: the label, the template and an example of its words."""

    label: str
    feature: str
    weight: float


def heaviest_features(sheet: Sheet, documents: Documents, field: Field, labels: Sequence[str]) -> list[Feature]:
    """The heaviest features of each label, spelled by the first place where they occur in the training text."""
    keys = np.repeat(field.keys, np.diff(field.starts))
    chosen: list[int] = []
    for label in range(len(labels)):
        mine = np.flatnonzero(field.labels == label)
        chosen += mine[np.argsort(-field.weights[mine], kind="stable")[:_HEAVIEST]].tolist()
    wanted = np.unique(keys[chosen])
    found = all_features(sheet)
    at = np.flatnonzero(np.isin(found, wanted).ravel())
    _, first = np.unique(found.ravel()[at], return_index=True)
    where = dict(zip(wanted.tolist(), at[first].tolist(), strict=True))
    forms = documents.corpus.vocab.decode(documents.corpus.tokens)
    names, seen, results = sheet.names_of_templates, set(), []
    for k in chosen:
        token, template = divmod(where[int(keys[k])], len(sheet.templates))
        places = [token + d for d in dict.fromkeys(d for d, _ in sheet.templates[template])]
        words = [forms[place] if 0 <= place < len(forms) else "" for place in places]
        name = labels[int(field.labels[k])]
        spelled = f"{names[template]} as at {' '.join(words)}"
        if (name, spelled) not in seen:
            seen.add((name, spelled))
            results.append(Feature(name, spelled, float(field.weights[k])))
    return results


def faults(gold: Standoff, found: Standoff) -> Iterator[tuple[str, Mention, Mention | None]]:
    """Every wrong mention of a document and what is wrong with it: ``missed`` (a gold one that nothing touches),
    ``false`` (a found one that touches nothing), ``boundaries`` or ``type``, with the found one beside the gold one."""
    right = {(mention.type, mention.spans) for mention in gold.mentions}
    got = {(mention.type, mention.spans) for mention in found.mentions}
    left = [mention for mention in found.mentions if (mention.type, mention.spans) not in right]

    def touches(one: Mention, other: Mention) -> bool:
        return any(a < d and c < b for a, b in one.spans for c, d in other.spans)

    for mention in gold.mentions:
        if (mention.type, mention.spans) in got:
            continue
        near = next((other for other in left if other.spans == mention.spans), None)
        near = near or next((other for other in left if touches(mention, other)), None)
        if near is None:
            yield "missed", mention, None
            continue
        left.remove(near)
        yield "type" if near.type != mention.type else "boundaries", mention, near
    for mention in left:
        yield "false", mention, None


def write_errors(gold: Sequence[Standoff], found: Sequence[Standoff], path: AnyPath) -> None:
    """Write all wrong mentions as a table."""

    def rows() -> Iterator[list[str]]:
        for right, guess in zip(gold, found, strict=True):
            for kind, mention, near in faults(right, guess):
                begin, end = mention.spans[0][0], mention.spans[-1][1]
                around = right.text[max(0, begin - _CONTEXT) : end + _CONTEXT]
                beside = "" if near is None else f"{near.type}: {right.covered(near, ' ... ')}"
                cells = (right.name, kind, f"{mention.type}: {right.covered(mention, ' ... ')}", beside, around)
                yield [" ".join(cell.split()) for cell in cells]

    write_table(path, ("document", "error", "mention", "found", "text"), rows())


def draw_documents(
    documents: Documents,
    mentions: Sequence[Sequence[TokenMention]],
    confidence: Sequence[Sequence[float]] | None = None,
) -> Html:
    """A page (one file) with every sentence of some documents and its ``mentions``; the less sure, the fainter."""
    parts = []
    for number, group in groupby(enumerate(documents.document_of.tolist()), key=lambda item: item[1]):
        name, drawn = documents.texts[number].name or f"document {number + 1}", []
        for i, _ in group:
            words = documents.corpus.words(i)
            if words:
                sure = None if confidence is None else confidence[i]
                drawn.append(div(Html(draw_mentions(words, mentions[i], confidence=sure, title=f"Sentence {i + 1}"))))
        parts.append(section(h3(name, dir="auto"), *drawn))
    said = f"{counted(sum(map(len, mentions)), 'mention')} in {counted(len(documents), 'document')}."
    return document("Mentions", _STYLE, p(said), *parts)
