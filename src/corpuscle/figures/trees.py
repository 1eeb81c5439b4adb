"""A tree of mergers: leaves below each other with their words, and how they come together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corpuscle.figures.axes import axis, label
from corpuscle.figures.svg import Sheet, fitting, number, text_width

__all__ = ["LeafShown", "merge_tree"]

_MARGIN, _LINE, _TREE = 10.0, 18.0, 260.0


class LeafShown(NamedTuple):
    """A leaf as it is shown: its name (a bit string), its words, best first, and what a pointer reads on it."""

    name: str
    words: Sequence[str]
    tip: str = ""


def _order(merges: Sequence[Sequence[int]], leaves: int) -> list[int]:
    """The leaves from top to bottom: those of the first node of a merger come first."""
    order, waiting = [], [leaves + len(merges) - 1]
    while waiting:
        node = waiting.pop()
        if node < leaves:
            order.append(node)
        else:
            waiting += reversed(merges[node - leaves])
    return order


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
    order = _order(merges, len(leaves))
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
