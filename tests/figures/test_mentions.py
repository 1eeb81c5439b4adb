"""Mentions drawn: lines that do not cross on one level, gaps, types, what a screen reader hears."""

import re

from corpuscle.figures import draw_mentions
from corpuscle.text.mention_tags import TokenMention

WORDS = ["the", "left", "and", "right", "eye", "is", "red"]
MENTIONS = [TokenMention("X", (1, 4, 6)), TokenMention("X", (3, 4, 6)), TokenMention("Y", (0,))]


def test_overlapping_mentions_are_on_different_lines_and_gaps_are_dotted():
    svg = draw_mentions(WORDS, MENTIONS, confidence=[0.9, 0.5, 1.0])
    bars = re.findall(r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="4"', svg)
    assert len({y for _, y, _ in bars}) == 2 and len(bars) == 3 + 2 + 1
    assert svg.count("stroke-dasharray") == 3
    assert "X: left eye red, 90 % sure" in svg and "Y: the" in svg


def test_long_sentences_run_over_lines_and_none_has_no_legend():
    svg = draw_mentions(["word"] * 60, [TokenMention("X", (20, 21))])
    assert len(set(re.findall(r'<text x="[\d.]+" y="(\d+)"', svg))) > 2
    assert "no mentions" in draw_mentions(["a"], [])


def test_right_to_left_sentences_begin_at_the_right():
    svg = draw_mentions(["שלום", "עולם"], [TokenMention("X", (0,))])
    places = [float(x) for x in re.findall(r'<text [^>]*?x="([\d.]+)"', svg)]
    assert places[0] > places[1]
