"""The pieces that reports are made of: plain, and the same on a phone and on a desk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corpuscle.figures import Series, bar_plot, line_plot
from corpuscle.text import html
from corpuscle.text.html import Html, div, element, fragment, h3, p
from corpuscle.text.wording import clip

STYLE = Path(__file__).with_name("report.css")


def document(title: str, *body: Html, script: str = "", data: object = None, refresh: int = 0) -> Html:
    """A whole page in the style of the reports; ``script``, ``data`` and ``refresh`` as in ``text.html``."""
    return html.document(title, STYLE.read_text(encoding="utf-8"), *body, script=script, data=data, refresh=refresh)


def note(*content: object) -> Html:
    """A remark in small print."""
    return p(*content, class_="note")


def sentence(*content: object) -> Html:
    """A sentence of the language, in its own writing direction."""
    return p(*content, class_="sentence", dir="auto", translate="no")


def words(items: Iterable[str], between: str = " ") -> Html:
    """Words of the language, one after the other, in their own writing direction."""
    return fragment(*(html.bdi(clip(item), class_="word") for item in items), between=between)


def card(*content: object, **attributes: object) -> Html:
    """A small box, to stand in a ``grid``."""
    return div(*content, class_="class", **attributes)


def grid(cards: Iterable[Html]) -> Html:
    """Boxes next to each other."""
    return div(*cards, class_="grid")


def links(targets: Iterable[tuple[str, object]], **attributes: object) -> Html:
    """The way to other places of a page: (anchor, text)."""
    places = (element("a", text, href=f"#{anchor}") for anchor, text in targets)
    return element("nav", *places, dir="auto", **attributes)


def figure(svg: str, caption: str = "", natural: bool = False) -> Html:
    """A picture with a caption, as wide as its place, or no wider than it was drawn (``natural``)."""
    width = re.search(r'viewBox="0 0 ([0-9.]+)', svg) if natural else None
    below = [element("figcaption", caption)] if caption else []
    return element("figure", Html(svg), *below, style=f"max-width:{width[1]}px" if width else None)


def curve(name: str, x: Sequence[float], y: Sequence[float], caption: str = "", **settings: Any) -> Html:
    """A line plot of one series with a caption; ``settings`` are those of ``line_plot``."""
    return figure(line_plot([Series(name, x, y)], **settings), caption)


def bars(values: Iterable[tuple[str, float]], caption: str = "", **settings: Any) -> Html:
    """A plot of bars by name with a caption, if there are any; ``settings`` are those of ``bar_plot``."""
    named = list(values)
    return figure(bar_plot(*zip(*named, strict=True), **settings), caption) if named else fragment()


def parses(figures: Iterable[Html]) -> list[Html]:
    """Pictures of two trees for each sentence, under a heading, if there are any."""
    said = "Above the words what the parser found, the fainter the less sure; below them what it should have found."
    shown = list(figures)
    return [h3("Parses of unseen sentences"), p(said), *shown] if shown else []


def plots(figures: Iterable[Html]) -> Html:
    """Figures next to each other where there is room, else one below the other."""
    shown = list(filter(None, figures))
    return div(*shown, class_="plots") if shown else fragment()


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    """A table that scrolls by itself if it is too wide; the columns listed in ``numbers`` are aligned to the right."""
    return div(html.table(head, rows, numbers), class_="wide")


def titled(
    title: str, head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = (), said: str = ""
) -> list[Html]:
    """A table under a heading, with a sentence between them; nothing if it has no rows."""
    rows = list(rows)
    return [h3(title), *([p(said)] if said else []), table(head, rows, numbers)] if rows else []


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of names and values."""
    rows = (div(element("dt", name), element("dd", value, dir="auto")) for name, value in pairs)
    return element("dl", *rows, class_="facts")
