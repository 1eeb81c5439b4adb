"""The alignment grid: source words down, target words across, links as dots on shaded probabilities.

Where the target runs from right to left, so do the columns, and the whole grid is the mirror image.

And a lattice of phrases: how a word is rewritten, piece by piece, in several ways at once. The letters of the source
stand on top, a row below them for each way to write it, best first. A phrase is a box under the letters that it
replaces. What a row shares with the best one is paler, so that the eye finds where they part. Letters are grapheme
clusters, and run from right to left where the source does; phrases that part a cluster share a box.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

from corpuscle.figures.svg import Sheet, number, shorten, text_width
from corpuscle.text.scripts import clusters, direction, isolated

_CELL = 22.0
_MARGIN = 10.0
_WIDEST = 160.0  # longer words are cut

Link = tuple[int, int]


def alignment_grid(
    source: Sequence[str],
    target: Sequence[str],
    weights: Any = None,
    links: Collection[Link] = (),
    sure: Collection[Link] = (),
    possible: Collection[Link] = (),
    title: str = "Word alignment",
) -> str:
    """A sentence pair as a grid.

    ``weights`` (source length, target length) shades the cells by their probability; ``links`` are dots; gold links are
    frames, heavy for ``sure`` ones and light for merely ``possible`` ones.
    """
    left = _MARGIN + max((min(_WIDEST, text_width(word)) for word in source), default=0.0) + 8
    longest = max((min(_WIDEST, text_width(word)) for word in target), default=0.0)
    top = _MARGIN + 24 + longest * 0.75 + 10
    width = left + _CELL * len(target) + max(_MARGIN, longest * 0.7)
    sheet = Sheet(max(width, text_width(title, 15.5) + 2 * _MARGIN), top + _CELL * len(source) + _MARGIN)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    backwards = direction(" ".join(target)) == "rtl"

    def across(x: float, wide: float = 0.0) -> float:
        """Where something begins that is so wide and would begin at ``x`` if words ran from left to right."""
        return width - x - wide if backwards else x

    for i, word in enumerate(source):
        place = across(left - 6), top + _CELL * i + 15
        sheet.text(*place, shorten(word, _WIDEST), anchor="start" if backwards else "end")
    for j, word in enumerate(target):
        x, y = across(left + _CELL * j + 13), top - 6
        turn = f"rotate({45 if backwards else -45} {number(x)} {number(y)})"
        sheet.text(x, y, shorten(word, _WIDEST), anchor="end" if backwards else "start", transform=turn)

    def tip(i: int, j: int, said: str) -> str:
        return f"{isolated(source[i])} – {isolated(target[j])}: {said}"

    for i in range(len(source)):
        for j in range(len(target)):
            weight = 0.0 if weights is None else float(weights[i, j])
            if weight > 0:
                sheet.add(
                    "rect", x=across(left + _CELL * j, _CELL), y=top + _CELL * i, width=_CELL, height=_CELL,
                    class_="f0", opacity=min(1.0, weight) * 0.75, tip=tip(i, j, f"{weight:.3f}"),
                )  # fmt: skip
    for i in range(len(source) + 1):
        sheet.line(across(left), top + _CELL * i, across(left + _CELL * len(target)), top + _CELL * i, "gr")
    for j in range(len(target) + 1):
        x = across(left + _CELL * j)
        sheet.line(x, top, x, top + _CELL * len(source), "gr")
    for pairs, heavy in ((possible, False), (sure, True)):
        for i, j in sorted(pairs):
            x, y = across(left + _CELL * j + 2.5, _CELL - 5), top + _CELL * i + 2.5
            sheet.add(
                "rect", x=x, y=y, width=_CELL - 5, height=_CELL - 5, rx=3, class_="l1", fill="none",
                stroke_width=2.5 if heavy else 1.2, stroke_dasharray=None if heavy else "3 2",
                tip=tip(i, j, f"{'sure' if heavy else 'possible'} in the gold links"),
            )  # fmt: skip
    for i, j in sorted(links):
        x, y = across(left + _CELL * (j + 0.5)), top + _CELL * (i + 0.5)
        sheet.add("circle", cx=x, cy=y, r=5, class_="wh", tip=tip(i, j, "linked"))
    described = f"{len(source)} source words by {len(target)} target words, {len(links)} links"
    if sure or possible:
        right = len(set(links) & (set(sure) | set(possible)))
        described += f", {right} of them in the gold links"
    return sheet.finish(title, described)


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
    for i, (target, _) in enumerate(rows):
        y = _TOP + _ROW * i
        for place in places[i]:
            begin, end, text = place
            colour = 1 if i and place not in best else 0
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
