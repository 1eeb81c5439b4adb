"""Topics for the eye: a list of topics with their words and phrases, and a text whose topical words are shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from corpuscle.figures.svg import Sheet, coloured, fitting, shorten, text_width
from corpuscle.text.scripts import direction, isolated

__all__ = ["TopicShown", "shaded_text", "topic_list"]

_MARGIN, _LINE, _BAR = 10.0, 20.0, 90.0
_GAP = 4.5  # between two words


class TopicShown(NamedTuple):
    """A topic as it is shown: its number, its share of the text (0..1), its words and its phrases, best first."""

    number: int
    share: float
    words: Sequence[str]
    phrases: Sequence[str] = ()


def topic_list(topics: Sequence[TopicShown], title: str = "Topics", width: float = 760.0) -> str:
    """One block a topic: a bar for its share, a line of its words, a line of its phrases."""
    left = _MARGIN + _BAR + 60
    room = width - left - _MARGIN
    rows = [1 + bool(topic.phrases) for topic in topics]
    sheet = Sheet(width, 2 * _MARGIN + 24 + sum(rows) * _LINE + 10 * len(topics))
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    largest = max((topic.share for topic in topics), default=0.0)
    y = _MARGIN + 24.0
    for topic, lines in zip(topics, rows, strict=True):
        sheet.text(_MARGIN + 24, y + 14, str(topic.number), "mu", anchor="end")
        length = _BAR * topic.share / largest if largest > 0 else 0.0
        tip = f"topic {topic.number}: {100 * topic.share:.1f} % of the topical words"
        bar: dict[str, Any] = {"x": _MARGIN + 32, "y": y + 4, "width": max(1.0, length), "height": 12, "rx": 2}
        sheet.add("rect", tip=tip, **bar, **coloured(topic.number))
        sheet.text(left, y + 14, fitting(topic.words, room, " "))
        if topic.phrases:
            sheet.text(left, y + _LINE + 14, fitting(topic.phrases, room, " · "), "mu")
        y += lines * _LINE + 10
    return sheet.finish(title, "; ".join(f"topic {t.number}: {' '.join(t.words[:5])}" for t in topics))


def shaded_text(
    sentences: Sequence[Sequence[str]],
    shares: Sequence[float],
    topics: Sequence[int] | None = None,
    title: str = "Topical words",
    width: float = 760.0,
) -> str:
    """A text, each word on ground that is the stronger the likelier it came from a topic.

    ``shares``: 0..1 for all words, one after the other; ``topics``: the topic of each, which gives the ground its
    colour (without: one colour). Every sentence begins a line, on the side where its letters begin.
    """
    total = sum(len(words) for words in sentences)
    if len(shares) != total or (topics is not None and len(topics) != total):
        raise ValueError(f"{len(shares)} shares for {total} words")
    places: list[tuple[float, float, float, str]] = []
    y = _MARGIN + 24.0
    for words in sentences:
        x, backwards = _MARGIN, direction(" ".join(words)) == "rtl"
        for word in words:
            shown = shorten(word, width - 2 * _MARGIN - 4)
            wide = text_width(shown) + 4
            if x > _MARGIN and x + wide > width - _MARGIN:
                x, y = _MARGIN, y + _LINE + 2
            places.append((width - x - wide if backwards else x, y, wide, shown))
            x += wide + _GAP
        y += _LINE + 8
    sheet = Sheet(width, y + _MARGIN)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    for i, (x, top, wide, shown) in enumerate(places):
        share = min(1.0, max(0.0, float(shares[i])))
        of = "" if topics is None else f", topic {topics[i]}"
        colour = coloured(0 if topics is None else topics[i])
        if share >= 0.005:
            tip = f"{isolated(shown)}: {100 * share:.0f} % topical{of}"
            ground: dict[str, Any] = {"x": x, "y": top, "width": wide, "height": _LINE, "rx": 3, **colour}
            sheet.add("rect", tip=tip, **ground, opacity=0.6 * share)
        sheet.text(x + wide / 2, top + 14, shown, anchor="middle")
    topical = sum(shares) / total if total else 0.0
    return sheet.finish(title, f"{total} words, {100 * topical:.0f} % of them topical")
