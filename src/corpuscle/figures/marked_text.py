"""Text with marks.

Mentions in a sentence as lines under its words: one colour a type, broken where the mention has a gap.

A sentence with the likeliest readings of each word below it, a bar for how likely each is.

Topics for the eye: a list of topics with their words and phrases, and a text whose topical words are shaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from corpuscle.figures.svg import COLOURS, Sheet, certainty, coloured, fitting, shorten, text_width
from corpuscle.text.mention_tags import TokenMention
from corpuscle.text.scripts import direction, isolated

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


def _wrapped(
    words: Sequence[str], widths: Sequence[float], most: float, gap: float
) -> tuple[list[tuple[float, float, int]], float, int]:
    """Words of some widths in lines of at most ``most``: begin, end and line of each, from the right where they run so;
    the width of the picture, and how many lines it has."""
    places: list[tuple[float, float, int]] = []
    x, line = 10.0, 0
    for width in widths:
        if x + width > most - 10 and x > 10:
            x, line = 10.0, line + 1
        places.append((x, x + width, line))
        x += width + gap
    full = max((end for _, end, _ in places), default=100.0) + 10
    if direction(" ".join(words)) == "rtl":
        places = [(full - end, full - begin, line) for begin, end, line in places]
    return places, full, line + 1


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
    places, full, lines = _wrapped(words, list(map(text_width, words)), _WIDEST, _GAP)
    legend = 24 if types else 0
    sheet = Sheet(max(full, 20 + sum(text_width(type) + 34 for type in types)), lines * depth + legend + 6)
    for word, (begin, _, line) in zip(words, places, strict=True):
        sheet.text(begin, line * depth + 18, word)
    for k, (mention, level) in enumerate(zip(mentions, levels, strict=True)):
        colour = types.index(mention.type) % COLOURS
        sure, said = certainty(None if confidence is None else float(confidence[k]))
        tip = f"{mention.type}: {' '.join(words[token] for token in mention.tokens)}{said}"
        for first, last in mention.runs:
            for line in sorted({places[token][2] for token in range(first, last + 1)}):
                here = [places[token] for token in range(first, last + 1) if places[token][2] == line]
                left, right = min(place[0] for place in here), max(place[1] for place in here)
                y = line * depth + 24 + _STEP * level
                sheet.add("rect", tip=tip, x=left, y=y, width=right - left, height=4, class_=f"f{colour}", opacity=sure)
        for (_, last), (first, _) in pairwise(mention.runs):
            if places[last][2] == places[first][2]:
                y = places[last][2] * depth + 26 + _STEP * level
                ends = sorted((places[last], places[first]))
                sheet.add("path", d=f"M{ends[0][1]:.1f} {y}H{ends[1][0]:.1f}", class_=f"ln l{colour}", opacity=sure,
                          stroke_dasharray="1 5", stroke_width=1)  # fmt: skip
    x = 10.0
    for k, type in enumerate(types):
        y = lines * depth + 12
        sheet.add("rect", x=x, y=y - 8, width=14, height=8, class_=f"f{k % COLOURS}")
        sheet.text(x + 20, y, type, "mu")
        x += text_width(type) + 34
    said = "; ".join(f"{mention.type}: {' '.join(words[t] for t in mention.tokens)}" for mention in mentions)
    return sheet.finish(title, said or "no mentions")


_READING_WIDEST, _COLUMN, _READING_GAP, _ROW, _TOP, _SIZE = 760, 150, 14, 32, 30, 12
"""Of the picture, of a column of readings, between columns, and of one reading; smaller letters of readings."""


class WordShown(NamedTuple):
    """A word and its ``readings``, each with its probability, the likeliest first."""

    form: str
    readings: Sequence[tuple[str, float]]


def draw_readings(words: Sequence[WordShown], *, title: str = "Readings") -> str:
    """Words in columns as SVG, lines of columns where there are many."""
    widths = [
        min(_COLUMN, max([text_width(word.form), *(text_width(text, _SIZE) for text, _ in word.readings), 40]))
        for word in words
    ]
    places, full, lines = _wrapped([word.form for word in words], widths, _READING_WIDEST, _READING_GAP)
    depth = _TOP + _ROW * max((len(word.readings) for word in words), default=0) + 8
    sheet = Sheet(full, lines * depth + 6)
    said = []
    for word, width, (x, _, line) in zip(words, widths, places, strict=True):
        y = line * depth + 18
        sheet.text(x, y, shorten(word.form, width))
        for rank, (text, share) in enumerate(word.readings):
            tip, below = f"{text}: {share:.0%}", y + 8 + _ROW * rank
            sheet.text(x, below + 11, shorten(text, width, _SIZE), "mu", font_size=_SIZE)
            sheet.add("rect", tip=tip, x=x, y=below + 16, width=max(1.0, width * share), height=4,
                      class_=f"f{min(rank, COLOURS - 1)}")  # fmt: skip
        said.append(f"{word.form}: {', '.join(f'{text} {share:.0%}' for text, share in word.readings)}")
    return sheet.finish(title, "; ".join(said) or "no words")


_MARGIN, _TOPIC_LINE, _BAR = 10.0, 20.0, 90.0
_TOPIC_GAP = 4.5  # between two words


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
    sheet = Sheet(width, 2 * _MARGIN + 24 + sum(rows) * _TOPIC_LINE + 10 * len(topics))
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
            sheet.text(left, y + _TOPIC_LINE + 14, fitting(topic.phrases, room, " · "), "mu")
        y += lines * _TOPIC_LINE + 10
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
                x, y = _MARGIN, y + _TOPIC_LINE + 2
            places.append((width - x - wide if backwards else x, y, wide, shown))
            x += wide + _TOPIC_GAP
        y += _TOPIC_LINE + 8
    sheet = Sheet(width, y + _MARGIN)
    sheet.text(_MARGIN, _MARGIN + 12, title, "ti")
    for i, (x, top, wide, shown) in enumerate(places):
        share = min(1.0, max(0.0, float(shares[i])))
        of = "" if topics is None else f", topic {topics[i]}"
        colour = coloured(0 if topics is None else topics[i])
        if share >= 0.005:
            tip = f"{isolated(shown)}: {100 * share:.0f} % topical{of}"
            ground: dict[str, Any] = {"x": x, "y": top, "width": wide, "height": _TOPIC_LINE, "rx": 3, **colour}
            sheet.add("rect", tip=tip, **ground, opacity=0.6 * share)
        sheet.text(x + wide / 2, top + 14, shown, anchor="middle")
    topical = sum(shares) / total if total else 0.0
    return sheet.finish(title, f"{total} words, {100 * topical:.0f} % of them topical")
