"""Trees.

A tree of mergers: leaves below each other with their words, and how they come together.

Dependency trees as arcs above the words; where two parses differ, what only one of them has stands out.

Constituent trees above the words; another parse of the same words hangs below them, and what differs stands out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from corpuscle.figures.plots import axis, label
from corpuscle.figures.svg import Sheet, certainty, fitting, number, text_width
from corpuscle.text.scripts import direction

_MARGIN, _LINE, _TREE = 10.0, 18.0, 260.0


class LeafShown(NamedTuple):
    """A leaf as it is shown: its name (a bit string), its words, best first, and what a pointer reads on it."""

    name: str
    words: Sequence[str]
    tip: str = ""


def merge_tree(
    leaves: Sequence[LeafShown],
    merges: Sequence[Sequence[int]],
    values: Sequence[float],
    title: str = "How the classes come together",
    value_label: str = "bits of mutual information",
    width: float = 760.0,
) -> str:
    """A dendrogram: the leaves on the right, the whole on the left.

    ``merges``: the two nodes of each merger, in order; leaves are numbered from 0, and merger m makes node
    len(leaves) + m, so there is one less than leaves. ``values``: what is left before the first merger and after each,
    falling, which says where a node is drawn.
    """
    if len(merges) != len(leaves) - 1 or len(values) != len(leaves):
        raise ValueError(f"{len(leaves)} leaves with {len(merges)} mergers and {len(values)} values")
    order, waiting = list[int](), [len(leaves) + len(merges) - 1]
    while waiting:  # from top to bottom, the leaves of the first node of a merger come first
        node = waiting.pop()
        if node < len(leaves):
            order.append(node)
        else:
            waiting += reversed(merges[node - len(leaves)])
    if sorted(order) != list(range(len(leaves))):
        raise ValueError("not every leaf is merged once")
    top, bottom = _MARGIN + 34.0, _MARGIN + 34.0 + len(leaves) * _LINE
    sheet = Sheet(width, bottom + 44)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    across = axis(values, _MARGIN + 6, _MARGIN + _TREE, zero=True, tight=True, wanted=4)
    for tick in across.ticks:
        x = across.place(tick)
        sheet.line(x, top, x, bottom, "gr")
        sheet.text(x, bottom + 15, label(tick), "mu", anchor="middle")
    sheet.text(_MARGIN, bottom + 32, value_label, "mu")
    places: dict[int, tuple[float, float]] = {
        leaf: (across.place(values[0]), top + (row + 0.5) * _LINE) for row, leaf in enumerate(order)
    }
    for m, (first, second) in enumerate(merges):
        (x1, y1), (x2, y2) = places[first], places[second]
        x = across.place(values[m + 1])
        corners = f"M{number(x1)} {number(y1)}H{number(x)}V{number(y2)}H{number(x2)}"
        tip = f"this merger loses {values[m] - values[m + 1]:.3g}; {values[m + 1]:.3g} {value_label} are left"
        sheet.add("path", d=corners, class_="ln ax", tip=tip)
        places[len(leaves) + m] = (x, (y1 + y2) / 2)
    names = _MARGIN + _TREE + 8
    words = names + max(text_width(leaf.name, 11) for leaf in leaves) + 10
    for which, leaf in enumerate(leaves):
        y = places[which][1] + 4.5
        sheet.text(names, y, leaf.name, "mu", font_size=11)
        sheet.text(words, y, fitting(leaf.words, width - words - _MARGIN, " "), tip=leaf.tip)
    shown = "; ".join(f"{leaves[i].name}: {' '.join(leaves[i].words[:3])}" for i in order)
    return sheet.finish(title, shown)


_STEP, _GAP = 28, 18
_PEAK = 0.75
"""A curve reaches this part of the height of its control points."""


def _levels(heads: Sequence[int]) -> list[int]:
    """How high the arc into each word is drawn: above all arcs that lie under it."""
    spans = sorted((abs(head - word), min(head, word), max(head, word), word) for word, head in enumerate(heads, 1))
    levels = [0] * len(heads)
    done: list[tuple[int, int, int]] = []
    for _, low, high, word in spans:
        if heads[word - 1] == 0:
            continue
        inside = [level for a, b, level in done if low <= a and b <= high]
        levels[word - 1] = 1 + max(inside, default=0)
        done.append((low, high, levels[word - 1]))
    return levels


def _across(words: Sequence[str], widths: Sequence[float]) -> tuple[float, list[float]]:
    """The width of a picture of words of these widths, and the middle of each, from the right where they run so."""
    width, ends = sum(widths) + 2 * _MARGIN, accumulate(widths, initial=_MARGIN)
    centres = [end + each / 2 for end, each in zip(ends, widths, strict=False)]
    return width, [width - centre for centre in centres] if direction(" ".join(words)) == "rtl" else centres


def draw_arcs(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    confidence: Sequence[float] | None = None,
    other: Sequence[int] | None = None,
    title: str = "Dependency tree",
) -> str:
    """A tree as SVG: ``heads`` count from 1, 0 is the root. ``confidence``: unsure arcs are faint; ``other``: the heads
    of another parse, whose differing arcs hang below the words."""
    names = list(relations or [""] * len(words))
    below = [head if other is not None and head != heads[i] else 0 for i, head in enumerate(other or heads)]
    widths = [
        max(text_width(word), text_width(tag, 10), text_width(name, 10)) + _GAP
        for word, tag, name in zip(words, tags or words, names, strict=True)
    ]
    levels, under = _levels(heads), _levels(below) if other is not None else [0] * len(words)
    top = 36 + _STEP * max(1.0, _PEAK * max(levels, default=0))
    width, centres = _across(words, widths)
    depth = _STEP * (max(under, default=0) + 1) if any(below) else 0
    sheet = Sheet(max(width, 120), top + 44 + depth)
    for word, (head, name) in enumerate(zip(heads, names, strict=True), 1):
        sure, said = certainty(None if confidence is None else float(confidence[word - 1]))
        tip = f"{words[word - 1]}: {name}{said}"
        different = other is not None and other[word - 1] != head
        _arc(sheet, centres, word, head, top - 16, -_STEP * (levels[word - 1] or 1), int(different), sure, tip)
        middle = centres[word - 1] if head == 0 else (centres[word - 1] + centres[head - 1]) / 2
        peak = _STEP * (levels[word - 1] * _PEAK if head else 1.0)
        sheet.text(middle, top - 20 - peak, name, "mu", "middle", font_size=10)
    for word, head in enumerate(below, 1):
        if other is not None and other[word - 1] != heads[word - 1]:
            _arc(sheet, centres, word, head, top + 34, _STEP * (under[word - 1] or 1), 2, 1.0, words[word - 1])
    for i, form in enumerate(words):
        sheet.text(centres[i], top, form, None, "middle")
        if tags is not None:
            sheet.text(centres[i], top + 16, tags[i], "mu", "middle", font_size=10)
    links = ", ".join(f"{form} from {words[h - 1] if h else 'the root'}" for form, h in zip(words, heads, strict=True))
    return sheet.finish(title, links)


def _arc(
    sheet: Sheet, centres: Sequence[float], word: int, head: int, base: float, rise: float, colour: int, sure: float,
    tip: str,
) -> None:  # fmt: skip
    """One arc with its arrow at the word; the root's comes from straight above."""
    end = centres[word - 1]
    if head == 0:
        path = f"M{end:.1f} {base + rise:.1f}L{end:.1f} {base:.1f}"
    else:
        begin = centres[head - 1] + (5 if centres[word - 1] > centres[head - 1] else -5)
        path = f"M{begin:.1f} {base:.1f}C{begin:.1f} {base + rise:.1f} {end:.1f} {base + rise:.1f} {end:.1f} {base:.1f}"
    sheet.add("path", tip=tip, d=path, class_=f"ln l{colour}", opacity=sure, fill="none")
    tail = -4 if rise < 0 else 4
    arrow = f"M{end:.1f} {base:.1f}l-3 {tail}h6z"
    sheet.add("path", d=arrow, class_=f"f{colour}", opacity=sure)


_CONSTITUENT_STEP, _CONSTITUENT_GAP = 34.0, 14.0


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


def draw_constituents(
    words: Sequence[str],
    nodes: Sequence[NodeShown],
    other: Sequence[NodeShown] | None = None,
    title: str = "Constituent tree",
) -> str:
    """A tree as SVG: unsure nodes are faint. ``other``: another tree over the same words, drawn below them; nodes that
    only one of the two has, by label and span, have a colour of their own."""
    widths = [text_width(word) + _CONSTITUENT_GAP for word in words]
    for node in [*nodes, *(other or [])]:
        if node.end - node.first == 1:
            widths[node.first] = max(widths[node.first], text_width(node.label, 11) + _CONSTITUENT_GAP)
    width, places = _across(words, widths)
    above, below = max(_heights(nodes), default=0), max(_heights(other or []), default=0)
    base = _MARGIN + 14 + _CONSTITUENT_STEP * above
    sheet = Sheet(max(width, 120.0), base + 20 + _CONSTITUENT_STEP * below)
    both = {(node.label, node.first, node.end) for node in nodes}
    both &= {(node.label, node.first, node.end) for node in (nodes if other is None else other)}
    _tree(sheet, nodes, places, base, -1, both, 1)
    _tree(sheet, other or (), places, base, 1, both, 2)
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
    heights = _heights(nodes)
    # A node stands in the middle of its first and last child.
    centres = [(places[node.first] + places[node.end - 1]) / 2 for node in nodes]
    below: list[list[float]] = [[] for _ in nodes]
    for i in range(len(nodes) - 1, -1, -1):
        if below[i]:
            centres[i] = (min(below[i]) + max(below[i])) / 2
        if nodes[i].parent >= 0:
            below[nodes[i].parent].append(centres[i])
    for i, node in enumerate(nodes):
        y = base + side * _CONSTITUENT_STEP * heights[i]
        sure, said = certainty(node.sure)
        different = (node.label, node.first, node.end) not in both
        if node.parent >= 0:
            up = base + side * _CONSTITUENT_STEP * heights[node.parent]
            _link(sheet, centres[node.parent], up, centres[i], y, side, sure)
        if not below[i]:
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
