"""The pen: SVG elements, text made safe, and the sheet that a plot is drawn on.

Colours are set by classes in a style element with a ``prefers-color-scheme`` rule, not by CSS variables, so
that viewers which know little CSS still show the light version.

A picture as a file: SVG as it was drawn, or PNG, by the suffix of the name.
"""

from __future__ import annotations

import colorsys
import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Any

from corpuscle.errors import require
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.html import escape
from corpuscle.text.scripts import based, clusters, direction

_LIGHT = ("#2563c9", "#c2500a", "#0f7a66", "#9a3391", "#856404", "#56606b")
_DARK = ("#74aeff", "#ff9f60", "#4fcfb0", "#e391dc", "#dfc05a", "#adb6c0")
COLOURS = len(_LIGHT)
"""The number of colours of series; further series begin again."""


def colour_of(number: int) -> str:
    """A colour for each number: those of the series first, then ever new hues, each far from the ones before it."""
    if number < COLOURS:
        return _LIGHT[number]
    red, green, blue = colorsys.hls_to_rgb((number * 0.381966 + 0.05) % 1.0, 0.42, 0.6)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def coloured(number: int) -> dict[str, str]:
    """Attributes of a mark in that colour, which follows the reader's screen as far as series have colours."""
    return {"class_": f"f{number}"} if number < COLOURS else {"fill": colour_of(number)}


def certainty(sure: float | None) -> tuple[float, str]:
    """The opacity of a mark, fainter where the model is less sure, and what its tip says; None: that is not known."""
    return (1.0, "") if sure is None else (0.35 + 0.65 * sure, f", {100 * sure:.0f} % sure")


def _rules(ink: str, muted: str, grid: str, paper: str, colours: tuple[str, ...]) -> str:
    rules = [
        f".cpl text{{fill:{ink}}}.cpl .mu{{fill:{muted}}}.cpl .gr{{stroke:{grid}}}.cpl .ax{{stroke:{muted}}}",
        f".cpl .ma,.cpl .nu{{stroke:{paper}}}.cpl .wh{{stroke:{ink}}}",
    ]
    rules += [f".cpl .l{i}{{stroke:{c}}}.cpl .f{i}{{fill:{c}}}" for i, c in enumerate(colours)]
    return "".join(rules)


STYLE = (
    ".cpl{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
    "max-width:100%;height:auto;display:block}"
    ".cpl .ti{font-size:14px;font-weight:600}.cpl .ln{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".cpl .nu{paint-order:stroke;stroke-width:4px}.cpl .bd{opacity:.16}.cpl .gr{stroke-width:1}"
    ".cpl .wh{stroke-width:1.5}.cpl .ma{stroke-width:1}"
    + _rules("#1f2328", "#5d6670", "#e1e5ea", "#ffffff", _LIGHT)
    + "@media(prefers-color-scheme:dark){"
    + _rules("#e6e8eb", "#a3acb7", "#343b44", "#14171b", _DARK)
    + "}"
)


def number(x: float) -> str:
    """A coordinate with at most two decimals."""
    result = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if result == "-0" else result


def text_width(text: str, size: float = 13.0) -> float:
    """About how wide a text is: enough to lay out labels without measuring fonts."""
    ems = 0.0
    for c in text:
        if unicodedata.category(c) in ("Mn", "Me", "Cf"):
            continue
        if "\u0b80" <= c <= "\u0dff":  # Tamil, Telugu, Kannada, Malayalam, Sinhala
            ems += 0.85
        else:
            ems += 1.05 if unicodedata.east_asian_width(c) in "WF" else 0.36 if c in " .,:;'|ijl()-" else 0.62
    return ems * size


def shorten(text: str, width: float, size: float = 13.0) -> str:
    """The text, or as many of its grapheme clusters as fit with an ellipsis."""
    if text_width(text, size) <= width:
        return text
    letters = [*clusters(text), "…"]
    while len(letters) > 1 and text_width("".join(letters), size) > width:
        del letters[-2]
    return "".join(letters)


def fitting(items: Sequence[str], width: float, between: str) -> str:
    """As many of the items as fit, at least one of them, shortened if need be."""
    shown = shorten(items[0], width) if items else ""
    for item in items[1:]:
        longer = shown + between + item
        if text_width(longer) > width:
            break
        shown = longer
    return shown


class Sheet:
    """One SVG in the making: elements are appended, ``finish`` wraps them with style, title and description."""

    def __init__(self, width: float, height: float):
        self.width, self.height = width, height
        self.parts: list[str] = []

    def add(self, element: str, content: str | None = None, tip: str = "", **attributes: Any) -> None:
        """Append an element. ``class_`` gives its class, ``tip`` what a pointer reads on it; numbers are rounded."""
        written = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{number(v) if isinstance(v, int | float) else escape(v)}"'
            for name, v in attributes.items()
            if v is not None
        )
        inside = ("" if content is None else escape(content)) + (f"<title>{escape(tip)}</title>" if tip else "")
        self.parts.append(f"<{element}{written}>{inside}</{element}>" if inside else f"<{element}{written}/>")

    def text(
        self, x: float, y: float, content: str, class_: str | None = None, anchor: str = "start", **attributes: Any
    ) -> None:
        """A line of text that runs its own way and lies right of a point (anchor ``start``), left of it or around it.

        Where a line runs from right to left, SVG calls its right end the start.
        """
        if direction(content) == "rtl":
            anchor = {"start": "end", "end": "start"}.get(anchor, anchor)
            attributes = {"direction": "rtl", **attributes}
        anchored = None if anchor == "start" else anchor
        self.add("text", based(content), x=x, y=y, class_=class_, text_anchor=anchored, **attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def finish(self, title: str, description: str) -> str:
        """The whole SVG element. Its ids come from its content, so that several can stand in one page."""
        body = "".join(self.parts)
        key = hashlib.blake2b((title + description + body).encode("utf-8", "replace"), digest_size=5).hexdigest()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="cpl" viewBox="0 0 {number(self.width)} '
            f'{number(self.height)}" role="img" aria-labelledby="t{key} d{key}">'
            f'<title id="t{key}">{escape(title)}</title><desc id="d{key}">{escape(description)}</desc>'
            f"<style>{STYLE}</style>{body}</svg>"
        )


ZOOM = 2
"""Pixels of a PNG for each unit of the drawing, so that it is sharp on good screens and in print."""


def save_figure(svg: str, path: AnyPath) -> None:
    """Write a picture; a name in ``.png`` needs the extra ``png``, ``-`` is stdout (as SVG)."""
    if not str(path).lower().endswith(".png"):
        with write_atomically(path, "w") as file:
            file.write(svg + "\n")
        return
    draw = require("resvg_py", "png")
    with write_atomically(path) as image:
        image.write(bytes(draw.svg_to_bytes(svg_string=svg, background="white", zoom=ZOOM)))
