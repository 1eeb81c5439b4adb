"""Claims about glossed texts: what ELAN, FLEx and Toolbox hold is read, and goes out again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.interlinear import (
    Interlinear,
    Morph,
    Phrase,
    Word,
    completed,
    gloss_table,
    morph_table,
    read_eaf,
    read_flextext,
    read_toolbox,
    role_of_tier,
    write_interlinear,
)
from tests.packs.messy import EAF, FLEXTEXT, TOOLBOX, utterance

CAME = (
    Word("kitablar", (Morph("kitab", "book"), Morph("lar", "PL"))),
    Word("geldi", (Morph("gel", "come"), Morph("di", "PST"))),
)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_text(content, encoding="utf-8")
        return tmp_path / name

    return write


def test_elan_is_read_in_the_order_of_time_with_what_hangs_on_each_phrase(write):
    text = read_eaf(write("a.eaf", EAF))
    assert [phrase.text for phrase in text.phrases] == ["kitablar geldi", "Oku-du."]
    assert text.phrases[0].words == CAME and text.phrases[0].translation == "The books came."
    assert text.phrases[1].words == () and text.phrases[1].translation == ""
    assert {tier.name: tier.role for tier in text.tiers}["notes"] == ""


def test_elan_tiers_of_one_speaker_belong_together_by_time(write):
    tier = '<TIER TIER_ID="ft@A">' + utterance("f1", 1, "The books came.") + "</TIER>"
    begin, end = EAF.index('<TIER TIER_ID="ft@A"'), EAF.index('<TIER TIER_ID="notes"')
    text = read_eaf(write("a.eaf", EAF[:begin] + tier + EAF[end:]))
    assert [phrase.translation for phrase in text.phrases] == ["The books came.", ""]


def test_flex_is_read_with_punctuation_at_its_words(write):
    [phrase] = read_flextext(write("a.flextext", FLEXTEXT)).phrases
    assert phrase.text == "kitablar geldi." and phrase.reference == "1" and phrase.translation == "The books came."
    assert phrase.words == (Word("kitablar", (Morph("kitab", "book"), Morph("-lar", "-PL"))), Word("geldi", (), "came"))


def test_toolbox_joins_morphs_by_their_hyphens(write):
    first, second = read_toolbox(write("a.sfm", TOOLBOX)).phrases
    assert first.words == CAME and first.reference == "story.1"
    assert second.words[0].segmented == "oku-du-m" and second.words[0].glossed == "read-PST-1SG"


def test_toolbox_lines_may_be_wrapped(write):
    again = "\\tx uzun\n\\mb uzun\n\\ge long\n\\ft The books came."
    wrapped = TOOLBOX.replace("\\ft The books came.", again)
    [first, _] = read_toolbox(write("a.sfm", wrapped)).phrases
    assert first.text == "kitablar geldi uzun" and [word.glossed for word in first.words][-1] == "long"


def test_tiers_can_be_named():
    assert role_of_tier("Foo", "", {"glosses": "Foo"}) == "glosses"
    assert role_of_tier("tx", "", {"transcription": "Foo"}) == ""
    assert role_of_tier("Foo", "tx") == "transcription"


def test_tables_have_what_is_most_frequent():
    phrases = [Phrase("", CAME), Phrase("", CAME), Phrase("", (Word("geldi", (), "arrived"),))]
    assert gloss_table(phrases)[:2] == [("di", "PST", 2), ("gel", "come", 2)]
    assert dict(row[:2] for row in gloss_table(phrases))["geldi"] == "come-PST"
    assert morph_table(phrases) == [("geldi", "gel di", 2), ("kitablar", "kitab lar", 2)]


def test_missing_glosses_are_proposed_and_marked():
    glosses, morphs = {"gel": "come", "di": "PST", "ev": "house"}, {"geldi": "gel di"}
    found = completed(Phrase("geldi ev x"), glosses, morphs)
    assert [word.glossed for word in found.words] == ["come?-PST?", "house?", ""]
    assert completed(Phrase("", CAME), {"kitablar": "wrong"}).words == CAME


def test_three_lines_stand_in_columns(tmp_path):
    write_interlinear([Interlinear("a", (Phrase("", CAME, "They came."),))], tmp_path / "a.txt")
    lines = (tmp_path / "a.txt").read_text(encoding="utf-8").splitlines()
    assert lines == ["kitab-lar  gel-di", "book-PL    come-PST", "‘They came.’"]


def test_a_page_has_text_and_no_markup_of_others(tmp_path):
    write_interlinear([Interlinear("<b>", (Phrase("<i>", (Word("<s>", (), "&"),), "<u>"),))], tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "&lt;s&gt;" in page and "<u>" not in page and "<i>" not in page.replace("<i><bdi", "")


FORM = st.text("abcé<&ka", min_size=1, max_size=5)
MORPH = st.builds(Morph, FORM, FORM)
WORD = st.one_of(
    st.builds(Word, FORM, st.lists(MORPH, min_size=1, max_size=3).map(tuple)),
    st.builds(lambda form, gloss: Word(form, (), gloss), FORM, FORM),
)
PHRASE = st.builds(Phrase, FORM, st.lists(WORD, min_size=1, max_size=4).map(tuple), FORM, FORM)


@settings(max_examples=60, deadline=None)
@given(st.lists(PHRASE, min_size=1, max_size=3))
def test_flextext_comes_back_as_it_was(tmp_path_factory, phrases):
    path = tmp_path_factory.mktemp("flex") / "a.flextext"
    write_interlinear([Interlinear("a", tuple(phrases))], path)
    assert read_flextext(path).phrases == tuple(phrases)


@pytest.mark.parametrize("read, name, content", [(read_eaf, "a.eaf", EAF), (read_flextext, "a.flextext", FLEXTEXT)])
def test_damaged_files_are_errors_or_texts(write, read, name, content):
    for step in range(0, len(content), 97):
        for damaged in (content[:step], content[:step] + "<" + content[step:], content.replace("TIME", "", step % 5)):
            try:
                read(write(name, damaged))
            except InputError as error:
                assert error.reason


@settings(max_examples=100, deadline=None)
@given(st.text("\\tx mbgef-=\n abc\t", max_size=80))
def test_any_text_can_be_read_as_toolbox(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("toolbox") / "a.sfm"
    path.write_text(content, encoding="utf-8")
    for phrase in read_toolbox(path).phrases:
        assert phrase.text
