"""Pictures of topics: complete, valid, and safe whatever the words are."""

import pytest

from corpuscle.figures import TopicShown, shaded_text, topic_list
from corpuscle.figures.svg import colour_of
from tests.figures.test_figures import SVG, parsed, texts, tips

TEXT = [["the", "<b>nurse</b>", "sang"], [], ["a", "w" * 200]]


def test_every_word_is_shown_and_topical_ones_are_shaded():
    root = parsed(shaded_text(TEXT, [0.0, 0.9, 0.5, 0.001, 1.0], [0, 3, 8, 1, 2], title="Words"))
    assert texts(root)[:5] == ["Words", "the", "<b>nurse</b>", "sang", "a"] and len(texts(root)) == 6
    rectangles = root.findall(SVG + "rect")
    assert [float(rectangle.get("opacity")) for rectangle in rectangles] == [0.54, 0.3, 0.6]
    assert [rectangle.get("class") for rectangle in rectangles] == ["f3", None, "f2"]
    assert rectangles[1].get("fill") == colour_of(8) and len({colour_of(topic) for topic in range(50)}) == 50
    assert tips(root)[0] == "<b>nurse</b>: 90 % topical, topic 3"


def test_lines_end_before_the_margin_and_sentences_begin_new_ones():
    root = parsed(shaded_text([["word"] * 60, ["next"]], [1.0] * 61, width=400))
    places = [(float(r.get("x")), float(r.get("y")), float(r.get("width"))) for r in root.findall(SVG + "rect")]
    assert all(x + wide <= 390 for x, _, wide in places)
    assert places[-1][0] == places[0][0] and places[-1][1] > places[-2][1]


def test_shares_and_words_must_be_as_many():
    with pytest.raises(ValueError, match="2 shares for 5 words"):
        shaded_text(TEXT, [0.1, 0.2])
    parsed(shaded_text([], []))


def test_topics_are_listed_with_bars_words_and_phrases():
    shown = [
        TopicShown(0, 0.5, ["bank", "money"], ["interest rate", "central bank"]),
        TopicShown(1, 0.25, [f"word{i}" for i in range(100)]),
        TopicShown(2, 0.0, []),
    ]
    root = parsed(topic_list(shown))
    widths = [float(rectangle.get("width")) for rectangle in root.findall(SVG + "rect")]
    assert widths == [90, 45, 1]
    assert "bank money" in texts(root) and "interest rate · central bank" in texts(root)
    assert any(text.startswith("word0 word1") and "word99" not in text for text in texts(root))
    heights = [float(rectangle.get("y")) for rectangle in root.findall(SVG + "rect")]
    assert heights == sorted(heights) and len(set(heights)) == 3
    parsed(topic_list([]))
