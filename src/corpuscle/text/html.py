"""HTML, put together in one place: elements whose content is text unless it is HTML already.

A string is text, and is escaped when it becomes part of an element; an ``Html`` is what the functions of this module
have made, and stays as it is. So nothing that comes from a user's files becomes markup, and no other module has a tag
in a string.

>>> element("p", "a < b, ", element("b", "surely"), class_="note")
'<p class="note">a &lt; b, <b>surely</b></p>'

At the end: how texts and values of their words look in a notebook, one line per sentence, words apart or shaded.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

from corpuscle.text.scripts import based, direction

_TAG = re.compile("<[^>]*>")
_UNFIT = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What XML 1.0 cannot hold, and what readers take for a control code."""
_VOID = {"br", "hr", "input"}
"""Elements that have no content and no end."""


class Html(str):
    """A piece of HTML. To be made of a string only where that is known to be safe, as a picture of ``figures`` is."""

    __slots__ = ()


def escape(text: object) -> str:
    """Text that is safe in XML and HTML, in elements and attributes; what XML cannot hold becomes U+FFFD.

    >>> escape("<b> & \\x00")
    '&lt;b&gt; &amp; \\ufffd'
    """
    return html.escape(_UNFIT.sub("\ufffd", str(text))).replace("&#x27;", "&#39;")


def fragment(*parts: object, between: str = "") -> Html:
    """Parts one after the other: HTML as it is, anything else as text."""
    return Html(escape(between).join(part if isinstance(part, Html) else escape(part) for part in parts))


def element(name: str, *content: object, **attributes: object) -> Html:
    """An element with its content; ``class_`` is the attribute ``class``, and an attribute that is None is left out.

    ``dir="auto"`` becomes the way most letters of the content run (browsers would pass over words in ``bdi``).
    """
    inside = fragment(*content)
    if attributes.get("dir") == "auto":
        attributes["dir"] = direction(html.unescape(_TAG.sub("", inside)))
    written = "".join(f' {key.rstrip("_")}="{escape(v)}"' for key, v in attributes.items() if v is not None)
    return Html(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{inside}</{name}>")


div, p, h3, section, span, small, code = (
    partial(element, name) for name in ("div", "p", "h3", "section", "span", "small", "code")
)


def bdi(word: str, **attributes: object) -> Html:
    """A word that runs its own way, whatever stands around it; a combining sign at its beginning has a base."""
    return element("bdi", based(word), **attributes)


def table(head: Sequence[object], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    """A table whose cells run as their text does; the columns listed in ``numbers`` are aligned to the right.

    A cell knows the heading of its column (``data-label``), so that a narrow page can show rows as cards.
    """
    labels = [None if isinstance(name, Html) else str(name) or None for name in head]

    def line(row: Sequence[object], tag: str) -> Html:
        cells = (
            element(
                tag, cell, class_="n" if i in numbers else None, dir="auto",
                **({"data-label": labels[i]} if tag == "td" and i < len(labels) else {}),
            )
            for i, cell in enumerate(row)
        )  # fmt: skip
        return element("tr", *cells)

    body = (line(row, "td") for row in rows)
    return element("table", element("thead", line(head, "th")), element("tbody", *body))


def document(title: str, style: str, *body: object, script: str = "", data: object = None, refresh: int = 0) -> Html:
    """A whole page: one file that needs nothing else.

    No font, no picture, no further script is fetched: a content security policy in the page forbids it, which also
    keeps hostile text from becoming anything but text. ``script``: the one script of the page, known to the policy by
    its hash; ``data``: plain data that it finds in the element ``data``; ``refresh``: it loads itself anew after as
    many seconds.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'" + (f"; script-src 'sha256-{digest}'" if script else "")
    held = json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c") if script else ""
    scripts = f'<script type="application/json" id="data">{held}</script><script>{script}</script>' if script else ""
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    return Html(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"{again}<title>{escape(title)}</title><style>{style}</style></head><body>{fragment(*body)}{scripts}</body></html>\n"
    )


MOST_SHOWN = 10
"""Sentences of a text that a notebook shows."""

_WORD = "display:inline-block;margin:0 .15em .25em 0;padding:0 .3em;border:1px solid #8885;border-radius:.3em"


def _ended(shown: list[Html], n: int) -> Html:
    return div(*shown, *([p(small(f"{n - len(shown):,} more"))] if n > len(shown) else []))


def show_sentences(sentences: Iterable[Sequence[str]], n: int) -> Html:
    """The first of ``n`` sentences, so that it can be seen where each word begins and ends."""
    lines = [p(*(span(word, style=_WORD) for word in words), dir="auto") for words in islice(sentences, MOST_SHOWN)]
    return _ended(lines, n)


def show_shaded(sentences: Iterable[tuple[Sequence[str], Sequence[float]]], n: int, most: float, unit: str) -> Html:
    """The first of ``n`` sentences, each word the darker the greater its value, ``most`` and above the darkest."""
    lines = []
    for words, values in islice(sentences, MOST_SHOWN):
        shares = [min(max(value / most, 0.0), 1.0) for value in values]
        cells = (
            span(word, style=f"{_WORD};background:rgba(194,80,10,{0.6 * share:.2f})", title=f"{value:.1f} {unit}")
            for word, value, share in zip(words, values, shares, strict=False)
        )
        lines.append(p(*cells, dir="auto"))
    return _ended(lines, n)


def show_links(pairs: Iterable[tuple[Sequence[str], Sequence[str], Sequence[tuple[int, int]]]], n: int) -> Html:
    """The first of ``n`` sentence pairs: each word of the source above what it is linked with."""
    tables = []
    for source, target, links in islice(pairs, MOST_SHOWN):
        linked = [" ".join(target[j] for i, j in sorted(links) if i == place) for place in range(len(source))]
        lonely = [word for j, word in enumerate(target) if j not in {j for _, j in links}]
        rest = [element("p", small("not linked: "), " ".join(lonely), dir="auto")] if lonely else []
        tables.append(div(table(source, [linked]), *rest))
    return _ended(tables, n)
