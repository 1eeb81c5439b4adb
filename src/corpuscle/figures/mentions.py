"""Mentions in a sentence as lines under its words: one colour a type, broken where the mention has a gap."""

from __future__ import annotations

from collections.abc import Sequence

from corpuscle.figures.svg import COLOURS, Sheet, text_width
from corpuscle.text.gapped import TokenMention
from corpuscle.text.scripts import direction

__all__ = ["draw_mentions"]

_GAP, _STEP, _WIDEST, _LINE = 8, 9, 720, 30


def _levels(mentions: Sequence[TokenMention]) -> list[int]:
    """The line under the words on which each mention is drawn: no two on one line reach over each other."""
    levels: list[int] = []
    for i, mention in enumerate(mentions):
        taken = {
            levels[j]
            for j, other in enumerate(mentions[:i])
            if other.tokens[0] <= mention.tokens[-1] and mention.tokens[0] <= other.tokens[-1]
        }
        levels.append(next(level for level in range(len(mentions)) if level not in taken))
    return levels


def draw_mentions(
    words: Sequence[str],
    mentions: Sequence[TokenMention],
    *,
    confidence: Sequence[float] | None = None,
    title: str = "Mentions",
) -> str:
    """A sentence as SVG with its mentions underlined; thin dots lead over a gap. ``confidence``: unsure ones are
    faint."""
    types = sorted({mention.type for mention in mentions})
    levels = _levels(mentions)
    depth = _LINE + _STEP * (max(levels, default=0) + 1)
    places: list[tuple[float, float, int]] = []
    x, row = 10.0, 0
    for word in words:
        width = text_width(word)
        if x + width > _WIDEST - 10 and x > 10:
            x, row = 10.0, row + 1
        places.append((x, x + width, row))
        x += width + _GAP
    full = max((end for _, end, _ in places), default=100.0) + 10
    if direction(" ".join(words)) == "rtl":
        places = [(full - end, full - begin, row) for begin, end, row in places]
    legend = 24 if types else 0
    sheet = Sheet(max(full, 20 + sum(text_width(type) + 34 for type in types)), (row + 1) * depth + legend + 6)
    for word, (begin, _, line) in zip(words, places, strict=True):
        sheet.text(begin, line * depth + 18, word)
    for k, (mention, level) in enumerate(zip(mentions, levels, strict=True)):
        colour = types.index(mention.type) % COLOURS
        sure = 1.0 if confidence is None else 0.35 + 0.65 * float(confidence[k])
        covered = " ".join(words[token] for token in mention.tokens)
        tip = f"{mention.type}: {covered}" + ("" if confidence is None else f", {100 * confidence[k]:.0f} % sure")
        for first, last in mention.runs:
            for line in sorted({places[token][2] for token in range(first, last + 1)}):
                here = [places[token] for token in range(first, last + 1) if places[token][2] == line]
                left, right = min(place[0] for place in here), max(place[1] for place in here)
                y = line * depth + 24 + _STEP * level
                sheet.add("rect", tip=tip, x=left, y=y, width=right - left, height=4, class_=f"f{colour}", opacity=sure)
        for (_, last), (first, _) in zip(mention.runs, mention.runs[1:], strict=False):
            if places[last][2] == places[first][2]:
                y = places[last][2] * depth + 26 + _STEP * level
                ends = sorted((places[last], places[first]))
                sheet.add("path", d=f"M{ends[0][1]:.1f} {y}H{ends[1][0]:.1f}", class_=f"ln l{colour}", opacity=sure,
                          stroke_dasharray="1 5", stroke_width=1)  # fmt: skip
    x = 10.0
    for k, type in enumerate(types):
        y = (row + 1) * depth + 12
        sheet.add("rect", x=x, y=y - 8, width=14, height=8, class_=f"f{k % COLOURS}")
        sheet.text(x + 20, y, type, "mu")
        x += text_width(type) + 34
    said = "; ".join(f"{mention.type}: {' '.join(words[t] for t in mention.tokens)}" for mention in mentions)
    return sheet.finish(title, said or "no mentions")
