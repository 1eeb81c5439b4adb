"""The pieces that reports are made of: HTML that is safe, plain, and the same on a phone and on a desk.

Everything that comes from a user's files goes through ``escape`` here, and nowhere else is HTML put together from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corpuscle.figures import Series, escape, line_plot

__all__ = [
    "beginning",
    "clip",
    "count",
    "counted",
    "curve",
    "document",
    "escape",
    "facts",
    "figure",
    "long_list",
    "note",
    "paragraph",
    "percent",
    "plots",
    "shaded",
    "shades",
    "table",
    "words",
]

STYLE = Path(__file__).with_name("report.css")
LONGEST_WORD = 60
SHADES = 7
_BITS_A_SHADE = 2.5


def document(title: str, body: str) -> str:
    """A whole page: one file that needs nothing else.

    No script, no font, no picture is fetched: a content security policy in the page forbids it, which also keeps
    hostile text from becoming anything but text.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def clip(word: str, length: int = LONGEST_WORD) -> str:
    """A word, cut with an ellipsis where it is absurdly long."""
    return word if len(word) <= length else word[: length - 1] + "…"


def beginning(words: Sequence[str], most: int) -> str:
    """A sentence, or its first words and an ellipsis."""
    return " ".join([clip(word) for word in words[:most]] + (["…"] if len(words) > most else []))


def count(n: float) -> str:
    """A whole number with separators."""
    return f"{n:,.0f}"


def counted(n: int, thing: str, things: str | None = None) -> str:
    """A number of things: ``1 word``, ``2,000 words``, ``3 classes``."""
    return f"{count(n)} {thing if n == 1 else things or thing + 's'}"


def percent(share: float, digits: int = 1) -> str:
    """A fraction as people write it."""
    return f"{100 * share:.{digits}f} %"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """A remark in small print."""
    return f'<p class="note">{escape(text)}</p>'


def figure(svg: str, caption: str = "", natural: bool = False) -> str:
    """A picture with a caption, as wide as its place, or no wider than it was drawn (``natural``)."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    width = re.search(r'viewBox="0 0 ([0-9.]+)', svg) if natural else None
    style = f' style="max-width:{width[1]}px"' if width else ""
    return f"<figure{style}>{svg}{below}</figure>"


def curve(name: str, x: Sequence[float], y: Sequence[float], caption: str = "", **settings: Any) -> str:
    """A line plot of one series with a caption; ``settings`` are those of ``line_plot``."""
    return figure(line_plot([Series(name, x, y)], **settings), caption)


def plots(figures: Iterable[str]) -> str:
    """Figures beside each other where there is room, else below."""
    inside = "".join(figures)
    return f'<div class="plots">{inside}</div>' if inside else ""


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """A table; the columns listed in ``numbers`` are aligned to the right. It scrolls by itself if it is too wide."""

    def cells(row: Sequence[object], tag: str) -> str:
        return "".join(
            f'<{tag} class="n">{escape(cell)}</{tag}>' if i in numbers else f"<{tag}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """A list of names and values."""
    inside = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{inside}</dl>'


def words(items: Iterable[str]) -> str:
    """Words of the language, one after the other, in their own writing direction."""
    return " ".join(f'<bdi class="word">{escape(clip(item))}</bdi>' for item in items)


def long_list(items: Sequence[str], shown: int, more: str) -> str:
    """Pieces of HTML, the first ones in sight and the others folded away."""
    if len(items) <= shown:
        return "".join(items)
    return (
        "".join(items[:shown])
        + f'<details><summary>{escape(more)}</summary><div class="grid">{"".join(items[shown:])}</div></details>'
    )


def _shade(bits: float) -> int:
    return min(SHADES - 1, max(0, int(bits / _BITS_A_SHADE)))


def shaded(tokens: Iterable[tuple[str, float | None, bool]]) -> str:
    """A sentence as (word, surprisal in bits, unknown?), the darker the more surprising; unknown words are
    underlined."""
    parts = []
    for word, bits, unknown in tokens:
        # A surprisal without bound is stored as None.
        shade, tip = (SHADES - 1, "impossible") if bits is None else (_shade(bits), f"{bits:.1f} bits")
        parts.append(
            f'<bdi class="s{shade}{" unknown" if unknown else ""}" title="{tip}{", unknown" if unknown else ""}">'
            f"{escape(clip(word))}</bdi>"
        )
    return f'<p class="sentence" dir="auto" translate="no">{" ".join(parts)}</p>'


def shades() -> str:
    """The key to the shading."""
    steps = "".join(
        f'<span class="s{i}">{i * _BITS_A_SHADE:g}{"+" if i == SHADES - 1 else ""}</span>' for i in range(SHADES)
    )
    return f'<p class="key">surprisal in bits: {steps} <span class="unknown">never seen before</span></p>'
