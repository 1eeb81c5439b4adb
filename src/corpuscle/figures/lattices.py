"""A lattice of phrases: how a word is rewritten, piece by piece, in several ways at once.

The letters of the source stand on top, a row below them for each way to write it, best first. A phrase is a box under
the letters that it replaces. What a row shares with the best one is paler, so that the eye finds where they part.
Letters are grapheme clusters, and run from right to left where the source does; phrases that part a cluster share a
box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise

from corpuscle.figures.svg import Sheet, shorten, text_width
from corpuscle.text.scripts import clusters, direction, isolated

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
    letters, places = clusters(word), [_places(phrases) for _, phrases in rows]
    widest = [_NARROWEST] * len(letters)
    for begin, end, text in chain.from_iterable(places):
        needed = (text_width(text, _LETTER) + 14) / max(1, end - begin)
        widest[begin:end] = [max(width, needed) for width in widest[begin:end]]
    edges = list(accumulate(widest, initial=_LEFT))
    right = max(text_width(target, _LETTER) for target, _ in rows)
    sheet = Sheet(max(240.0, edges[-1] + right + 44), _TOP + _ROW * len(rows) + 12)
    sheet.text(_LEFT, 24, shorten(title, sheet.width - 2 * _LEFT, 15.5), "ti")
    backwards = direction(word) == "rtl"
    if backwards:
        edges = [sheet.width - edge for edge in edges]
    for letter, (a, b) in zip(letters, pairwise(edges), strict=True):
        sheet.text((a + b) / 2, 54, letter, anchor="middle")
    sheet.line(edges[0], 62, edges[-1], 62, "ax")
    best = set(places[0])
    for number, (target, _) in enumerate(rows):
        y = _TOP + _ROW * number
        for place in places[number]:
            begin, end, text = place
            colour = 1 if number and place not in best else 0
            x, width = min(edges[begin], edges[end]) + 2, abs(edges[end] - edges[begin]) - 4
            tip = f"{isolated(''.join(letters[begin:end]))} \u2192 {isolated(text) or '(nothing)'}"
            sheet.add("rect", x=x, y=y, width=width, height=_ROW - 8, rx=5, class_=f"bd f{colour}", tip=tip)
            sheet.text(x + width / 2, y + 18, text or "\u2205", anchor="middle")
        beside = edges[-1] + (-14 if backwards else 14)
        sheet.text(beside, y + 18, target, anchor="end" if backwards else "start")
    described = "; ".join(f"{target}: {' '.join(f'{s}-{t}' for s, t in phrases)}" for target, phrases in rows)
    return sheet.finish(title, described)


def _places(phrases: Sequence[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Begin and end of each phrase among the clusters of the word, and what it becomes."""
    ends = [list(accumulate(map(len, clusters("".join(side))), initial=0)) for side in zip(*phrases, strict=True)]
    places, begin, read, text, written = [], 0, 0, "", 0
    for source, target in phrases:
        read, written, text = read + len(source), written + len(target), text + target
        if read in ends[0] and written in ends[1]:
            end = ends[0].index(read)
            places.append((begin, end, text))
            begin, text = end, ""
    return places
