"""Readings drawn: columns of words, bars as long as readings are likely, what a screen reader hears."""

import re

from corpuscle.figures import WordShown, draw_readings

WORDS = [WordShown("ktb", [("wrote VERB", 0.75), ("books <NOUN>", 0.25)]), WordShown("x", [("x", 1.0)])]


def test_a_bar_is_as_long_as_its_reading_is_likely():
    svg = draw_readings(WORDS)
    bars = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', svg)]
    assert len(bars) == 3 and abs(bars[0] - 3 * bars[1]) < 0.05
    assert "ktb: wrote VERB 75%, books &lt;NOUN&gt; 25%; x: x 100%" in svg and "<NOUN>" not in svg


def test_many_words_run_over_lines_and_no_words_are_said():
    svg = draw_readings([WordShown("word", [("reading", 0.5)])] * 40)
    assert len(set(re.findall(r'<text x="[\d.]+" y="(\d+)"[^>]*>word', svg))) > 2
    assert "no words" in draw_readings([])


def test_columns_of_right_to_left_words_begin_at_the_right():
    svg = draw_readings([WordShown("كتب", [("a", 1.0)]), WordShown("كتاب", [("b", 1.0)])])
    places = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', svg)]
    assert places[0] > places[1]
