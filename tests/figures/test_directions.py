"""Claims about figures of text in any script: words run the way of their letters, and clusters stay whole."""

from __future__ import annotations

import pytest

from corpuscle.figures import TopicShown, alignment_grid, bar_plot, phrase_lattice, shaded_text, topic_list
from corpuscle.figures.svg import shorten, text_width
from corpuscle.text.scripts import clusters
from tests.figures.test_figures import SVG, parsed, texts, tips
from tests.packs.test_page import SENTENCES, begins_with_a_sign, languages

ENGLISH = ["a", "boy", "reads"]


def found(root, word):
    return next(element for element in root.iter(SVG + "text") if element.text == word)


def rising(values):
    return values == sorted(values) and len(set(values)) == len(values)


@languages
def test_the_columns_of_a_grid_run_the_way_of_the_target(way, sentence):
    words = sentence.split()
    links = [(i % 3, i) for i in range(len(words))]
    root = parsed(alignment_grid(ENGLISH, words, links=links, sure=links))
    assert texts(root)[1:] == ENGLISH + words
    by_column = {j: float(dot.get("cx")) for (_, j), dot in zip(sorted(links), root.iter(SVG + "circle"), strict=True)}
    dots = [by_column[j] for j in range(len(words))]
    frames = sorted(float(frame.get("x")) + 8.5 for frame in root.iter(SVG + "rect"))
    assert rising(dots[::-1] if way == "rtl" else dots) and frames == pytest.approx(sorted(dots))
    rows = [float(found(root, word).get("x")) for word in ENGLISH]
    assert all(x > max(dots) if way == "rtl" else x < min(dots) for x in rows)
    assert [found(root, word).get("direction") for word in words[:2]] == (["rtl"] * 2 if way == "rtl" else [None] * 2)


@languages
def test_shaded_words_run_the_way_of_their_sentence(way, sentence):
    words = sentence.split()[:4]
    root = parsed(shaded_text([words, ENGLISH], [1.0] * 7, width=700))
    assert texts(root)[1:] == words + ENGLISH
    places = [float(rectangle.get("x")) for rectangle in root.iter(SVG + "rect")]
    assert rising(places[3::-1] if way == "rtl" else places[:4]) and rising(places[4:])
    isolates = ("\u2068", "\u2069") if way == "rtl" else ("", "")
    assert tips(root)[0] == f"{isolates[0]}{words[0]}{isolates[1]}: 100 % topical"


@languages
def test_lines_of_text_lie_on_the_same_side_whichever_way_they_run(way, sentence):
    name = " ".join(sentence.split()[:2])
    bars = found(parsed(bar_plot([name, "x"], [1, 2], title="t")), name)
    topic = found(parsed(topic_list([TopicShown(0, 0.5, name.split())])), name)
    backwards = way == "rtl"
    assert (bars.get("direction"), bars.get("text-anchor")) == (("rtl", None) if backwards else (None, "end"))
    assert (topic.get("direction"), topic.get("text-anchor")) == (("rtl", "end") if backwards else (None, None))


@languages
def test_a_lattice_has_grapheme_clusters_for_letters(way, sentence):
    word = sentence.split()[4]
    spelled = [(letter, "x") for letter in word]
    for phrases in (spelled, [(b, a) for a, b in spelled]):
        root = parsed(phrase_lattice([("".join(b for _, b in phrases), phrases)], "t"))
        assert not any(map(begins_with_a_sign, texts(root)))
    root = parsed(phrase_lattice([("x" * len(word), spelled)], "t"))
    letters = list(root.iter(SVG + "text"))[1 : 1 + len(clusters(word))]
    assert [letter.text for letter in letters] == clusters(word)
    places = [float(letter.get("x")) for letter in letters]
    assert rising(places[::-1] if way == "rtl" else places)
    boxes = [float(box.get("x")) for box in root.iter(SVG + "rect")]
    assert len(boxes) == len(letters) and rising(boxes[::-1] if way == "rtl" else boxes)


def test_phrases_that_part_a_cluster_share_a_box():
    root = parsed(phrase_lattice([("kitab", [("क", "k"), ("ि", "i"), ("ता", "ta"), ("ब", "b")])], "t"))
    assert texts(root)[1:] == ["कि", "ता", "ब", "ki", "ta", "b", "kitab"]


@pytest.mark.parametrize("sentence", [sentence for _, sentence in SENTENCES.values()], ids=SENTENCES)
def test_texts_are_shortened_between_clusters(sentence):
    for width in range(20, 200, 3):
        cut = shorten(sentence, width)
        kept = clusters(cut.removesuffix("…"))
        assert text_width(cut) <= width and clusters(sentence)[: len(kept)] == kept
