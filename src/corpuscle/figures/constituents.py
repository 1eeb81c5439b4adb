"""Constituent trees above the words; another parse of the same words hangs below them, and what differs stands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corpuscle.figures.svg import Sheet, text_width
from corpuscle.text.scripts import direction

__all__ = ["NodeShown", "draw_constituents"]

_STEP, _GAP, _MARGIN = 34.0, 14.0, 10.0
_FAINTEST = 0.35


class NodeShown(NamedTuple):
    """A node in preorder: its label, the number of its parent (-1 for the root), its span of words, and how sure it is
    (None: not known)."""

    label: str
    parent: int
    first: int
    end: int
    sure: float | None = None


def _heights(nodes: Sequence[NodeShown]) -> list[int]:
    """How many levels of nodes are below each, itself included."""
    heights = [1] * len(nodes)
    for i in range(len(nodes) - 1, 0, -1):
        if nodes[i].parent >= 0:
            heights[nodes[i].parent] = max(heights[nodes[i].parent], heights[i] + 1)
    return heights


def _centres(nodes: Sequence[NodeShown], words: Sequence[float]) -> list[float]:
    """Where each node is across: in the middle of its first and last child."""
    centres = [(words[node.first] + words[node.end - 1]) / 2 for node in nodes]
    edges: list[list[float]] = [[] for _ in nodes]
    for i in range(len(nodes) - 1, -1, -1):
        if edges[i]:
            centres[i] = (min(edges[i]) + max(edges[i])) / 2
        if nodes[i].parent >= 0:
            edges[nodes[i].parent].append(centres[i])
    return centres


def draw_constituents(
    words: Sequence[str],
    nodes: Sequence[NodeShown],
    other: Sequence[NodeShown] | None = None,
    title: str = "Constituent tree",
) -> str:
    """A tree as SVG: unsure nodes are faint. ``other``: another tree over the same words, drawn below them; nodes that
    only one of the two has, by label and span, have a colour of their own."""
    widths = [text_width(word) + _GAP for word in words]
    for node in [*nodes, *(other or [])]:
        if node.end - node.first == 1:
            widths[node.first] = max(widths[node.first], text_width(node.label, 11) + _GAP)
    width, at, places = sum(widths) + 2 * _MARGIN, _MARGIN, []
    for each in widths:
        places.append(at + each / 2)
        at += each
    if direction(" ".join(words)) == "rtl":
        places = [width - place for place in places]
    above, below = max(_heights(nodes), default=0), max(_heights(other or []), default=0)
    base = _MARGIN + 14 + _STEP * above
    sheet = Sheet(max(width, 120.0), base + 20 + _STEP * below)
    both = {(node.label, node.first, node.end) for node in nodes}
    both &= both if other is None else {(node.label, node.first, node.end) for node in other}
    _tree(sheet, nodes, places, base, -1, both, 1)
    if other is not None:
        _tree(sheet, other, places, base, 1, both, 2)
    for word, place in zip(words, places, strict=True):
        sheet.text(place, base + 5, word, None, "middle")
    said = "; ".join(f"{node.label}: {' '.join(words[node.first : node.end])}" for node in nodes)
    return sheet.finish(title, said)


def _tree(
    sheet: Sheet,
    nodes: Sequence[NodeShown],
    places: Sequence[float],
    base: float,
    side: int,
    both: set[tuple[str, int, int]],
    colour: int,
) -> None:
    """One tree, above the words (``side`` -1) or below them (1)."""
    heights, centres = _heights(nodes), _centres(nodes, places)
    has_nodes = {node.parent for node in nodes}
    for i, node in enumerate(nodes):
        y = base + side * _STEP * heights[i]
        sure = 1.0 if node.sure is None else _FAINTEST + (1 - _FAINTEST) * node.sure
        different = (node.label, node.first, node.end) not in both
        said = "" if node.sure is None else f", {100 * node.sure:.0f} % sure"
        if node.parent >= 0:
            up = base + side * _STEP * heights[node.parent]
            _link(sheet, centres[node.parent], up, centres[i], y, side, sure)
        if i not in has_nodes:
            for word in range(node.first, node.end):
                _link(sheet, centres[i], y, places[word], base, side, sure)
        sheet.add(
            "text", node.label, tip=f"{node.label}, words {node.first + 1} to {node.end}{said}", x=centres[i], y=y + 4,
            text_anchor="middle", font_size=11, class_=f"f{colour}" if different else None, opacity=sure,
            font_weight=600 if different else None,
        )  # fmt: skip


def _link(sheet: Sheet, x1: float, y1: float, x2: float, y2: float, side: int, sure: float) -> None:
    """The line from a node to what is below it, with room for the letters at both ends."""
    sheet.add("line", x1=x1, y1=y1 - side * 8, x2=x2, y2=y2 + side * 8, class_="ax", opacity=sure)
