"""Claims about the pieces of reports: they run the way their letters do, and no grapheme cluster is parted."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

import pytest

from corpuscle.measure.names import difference
from corpuscle.packs import page
from corpuscle.packs.systems import dictionary, segmenter, topics, word_vectors
from corpuscle.text.html import bdi, fragment, p
from corpuscle.text.scripts import clusters, direction, isolated
from corpuscle.text.wording import clip

SENTENCES = {
    "Arabic": ("rtl", "قرأ الولد الكتاب الجديد مُحَمَّد 12"),
    "Hebrew": ("rtl", "הילד קרא את הספר שָׁלוֹם 12"),
    "Hindi": ("ltr", "लड़के ने बड़े घर में किताब पढ़ी क्योंकि"),
    "Tamil": ("ltr", "சிறுவன் பெரிய வீட்டில் புத்தகத்தைப் கோவிலில்"),
    "Japanese": ("ltr", "少年 は 大きな 家 で 本 を 読ん だ がき\u3099"),
}
languages = pytest.mark.parametrize(("way", "sentence"), SENTENCES.values(), ids=SENTENCES)


def pieces(html: str) -> list[str]:
    """The texts between tags, in the order of the source."""
    return [unescape(text) for text in re.split("<[^>]*>", html) if text]


def begins_with_a_sign(text: str) -> bool:
    return unicodedata.category(text[0])[0] == "M"


def first_tag(html: str) -> str:
    return html[: html.index(">") + 1]


@languages
def test_words_and_sentences_run_the_way_of_their_letters_in_logical_order(way, sentence):
    chips = page.words(sentence.split())
    assert [piece for piece in pieces(chips) if piece != " "] == sentence.split()
    assert chips.count("<bdi") == len(sentence.split())
    for block in (page.sentence(chips), page.sentence(sentence), p(chips, " …", dir="auto")):
        assert f'dir="{way}"' in first_tag(block)
    assert f'<td dir="{way}" ' in page.table(("one",), [(sentence + ".",)])
    assert f'<dd dir="{way}">' in page.facts([("name", sentence)])
    assert f'dir="{way}"' in first_tag(page.links(enumerate(word[0] for word in sentence.split())))


@languages
def test_a_dictionary_runs_the_way_of_its_headwords(way, sentence):
    word = sentence.split()[0]
    card = dictionary.card({"word": word, "translations": [["a boy, the child", 3.0, 0.6], ["son", 1.0, 0.1]]})
    assert f'<p dir="{way}"><bdi class="word head">{word}</bdi>' in card
    turned = dictionary.card({"word": "boy", "translations": [[word, 3.0, 0.6]] * 3})
    assert '<p dir="ltr">' in turned and turned.count(f">{word}</bdi>") == 3
    shown = {"number": 1, "share": 0.5, "words": sentence.split(), "phrases": [sentence], "documents": ["a.txt"]}
    assert topics._topic(shown).count(f'dir="{way}"') == 2


@languages
def test_split_sentences_keep_grapheme_clusters_whole(way, sentence):
    text = sentence.replace(" ", "")
    html = segmenter._split([[letter, i % 3 == 0, 0.5] for i, letter in enumerate(text)])
    letters = [piece for piece in pieces(html) if piece not in "|¦"]
    assert f'dir="{way}"' in first_tag(html)
    assert "".join(letters) == text and letters == clusters(text)
    assert not any(map(begins_with_a_sign, letters))


def test_a_boundary_inside_a_cluster_is_shown_behind_it():
    cuts = [(True, 1.0), (True, 0.9), (False, 0.3), (False, 0.0), (False, 0.0)]
    html = segmenter._split([[letter, *cut] for letter, cut in zip("किताब", cuts, strict=True)])
    assert pieces(html) == ["कि", "|", "ताब"] and 'title="90 %"' in html


@languages
def test_long_words_are_cut_between_clusters(way, sentence):
    word = "".join(sentence.split()[:-1] if way == "rtl" else sentence.split()) * 20
    for length in range(10, 30):
        cut = clip(word, length)
        assert len(cut) <= length and cut[-1] == "…"
        assert clusters(cut[:-1]) == clusters(word)[: len(clusters(cut[:-1]))]


def test_a_word_that_is_only_a_sign_gets_a_base():
    assert bdi("\u093f") == "<bdi>\u00a0\u093f</bdi>" and bdi("कि") == "<bdi>कि</bdi>"
    assert difference("कि", "का") == ("कि", "का")


def test_direction_is_that_of_most_letters_and_markup_has_no_say():
    assert direction("") is None and direction("12 %") is None
    assert direction("אב ab") == "rtl" and direction("ab אב") == "ltr"
    assert direction(f"of {isolated('كتاب طويل')}") == "ltr" and isolated("book") == "book"
    marked = fragment(*(bdi(word, class_="word", title="surprising") for word in ("في", "<&>")))
    assert p(marked, dir="auto").startswith('<p dir="rtl">')
    assert p("12", dir="auto") == "<p>12</p>"


def test_rules_in_words_name_the_bounds_of_the_rules():
    assert f"{topics.MOST}; fewer, down to {topics.FEWEST}," in topics.TOPICS.settings["sweeps"]
    assert f"{segmenter.MOST}; fewer, down to {segmenter.FEWEST}," in segmenter.SEGMENTER.settings["sweeps"]
    vectors = word_vectors.WORD_VECTORS.settings
    assert vectors["dimensions"].endswith(f"at most {word_vectors.MOST_DIMENSIONS}")
    assert vectors["senses"].endswith(f"at most {word_vectors.MOST_CLASSES}")
