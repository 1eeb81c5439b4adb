"""A lattice of phrases: how a word is rewritten, piece by piece, in several ways at once.

The letters of the source stand on top, a row below them for each way to write it, best first. A phrase is a box under
the letters that it replaces. What a row shares with the best one is paler, so that the eye finds where they part.
"""

from __future__ import annotations

from collections.abc import Sequence

from corpuscle.figures.svg import Sheet, shorten, text_width

__all__ = ["phrase_lattice"]

_LEFT, _ROW, _TOP = 14.0, 34.0, 74.0
_LETTER, _NARROWEST = 15.0, 30.0


def phrase_lattice(rows: Sequence[tuple[str, Sequence[tuple[str, str]]]], title: str) -> str:
    """Draw ways to write one word: each row is the whole target and its phrases (source, target) from left to right.

    The sources of every row spell the same word.
    """
    if not rows:
        raise ValueError("there is nothing to draw")
    words = {"".join(source for source, _ in phrases) for _, phrases in rows}
    if len(words) != 1:
        raise ValueError("the rows rewrite different words")
    word = words.pop()
    widest = [_NARROWEST] * len(word)
    for _, phrases in rows:
        at = 0
        for source, target in phrases:
            needed = (text_width(target, _LETTER) + 14) / max(1, len(source))
            for i in range(at, at + len(source)):
                widest[i] = max(widest[i], needed)
            at += len(source)
    edges = [_LEFT]
    for width in widest:
        edges.append(edges[-1] + width)
    right = max(text_width(target, _LETTER) for target, _ in rows)
    sheet = Sheet(max(240.0, edges[-1] + right + 44), _TOP + _ROW * len(rows) + 12)
    sheet.text(_LEFT, 24, shorten(title, sheet.width - 2 * _LEFT, 15.5), "ti")
    for i, letter in enumerate(word):
        sheet.text((edges[i] + edges[i + 1]) / 2, 54, letter, anchor="middle")
    sheet.line(_LEFT, 62, edges[-1], 62, "ax")
    best = set(_places(rows[0][1]))
    for number, (target, phrases) in enumerate(rows):
        y = _TOP + _ROW * number
        for place in _places(phrases):
            begin, end, text = place
            colour = 1 if number and place not in best else 0
            x, width = edges[begin] + 2, edges[end] - edges[begin] - 4
            tip = f"{word[begin:end]} \u2192 {text or '(nothing)'}"
            sheet.add("rect", x=x, y=y, width=width, height=_ROW - 8, rx=5, class_=f"bd f{colour}", tip=tip)
            sheet.text(x + width / 2, y + 18, text or "\u2205", anchor="middle")
        sheet.text(edges[-1] + 14, y + 18, target)
    described = "; ".join(f"{target}: {' '.join(f'{s}-{t}' for s, t in phrases)}" for target, phrases in rows)
    return sheet.finish(title, described)


def _places(phrases: Sequence[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Begin and end of each phrase in the word, and what it becomes."""
    places, at = [], 0
    for source, target in phrases:
        places.append((at, at + len(source), target))
        at += len(source)
    return places
