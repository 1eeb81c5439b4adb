"""Texts with their mentions underlined, as a page for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from corpuscle.entities.documents import Documents
from corpuscle.figures import draw_mentions
from corpuscle.text.gapped import TokenMention
from corpuscle.text.html import Html, div, document, h3, p, section
from corpuscle.text.wording import counted

__all__ = ["draw_documents"]

_STYLE = "body{font:16px/1.4 sans-serif;margin:2em auto;max-width:46em;padding:0 1em}h3{margin:1.6em 0 .4em}"


def draw_documents(
    documents: Documents,
    mentions: Sequence[Sequence[TokenMention]],
    confidence: Sequence[Sequence[float]] | None = None,
    title: str = "Mentions",
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
    return document(title, _STYLE, p(said), *parts)
