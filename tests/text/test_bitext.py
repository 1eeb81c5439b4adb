"""Bitexts: one file or two, unequal lengths, round trips."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError, SettingError
from corpuscle.text.bitext import Bitext, read_bitext, write_bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import Vocab

SAMPLE = "melu sadi ||| the dog slept\n ||| nothing\nvo vo |||\na|||b ||| c\n"


def bitext(pairs):
    return Bitext(Corpus.from_sentences([s for s, _ in pairs]), Corpus.from_sentences([t for _, t in pairs]))


def test_one_file_with_bars(tmp_path):
    (tmp_path / "a").write_text(SAMPLE)
    pairs = list(read_bitext(tmp_path / "a"))
    assert pairs == [
        (["melu", "sadi"], ["the", "dog", "slept"]),
        ([], ["nothing"]),
        (["vo", "vo"], []),
        (["a|||b"], ["c"]),
    ]


def test_one_file_with_tabs(tmp_path):
    (tmp_path / "a").write_text("a b\tc\r\n\td ||| e\n")
    assert list(read_bitext(tmp_path / "a", separator="\t")) == [(["a", "b"], ["c"]), ([], ["d", "|||", "e"])]


def test_two_files_and_slices(tmp_path):
    (tmp_path / "s").write_text("a b\n\nc\n")
    (tmp_path / "t").write_text("x\ny\nz z\n")
    both = read_bitext(tmp_path / "s", tmp_path / "t")
    assert list(both[1:]) == [([], ["y"]), (["c"], ["z", "z"])]
    assert list(both.select(np.array([2, 0])).swapped()) == [(["z", "z"], ["c"]), (["x"], ["a", "b"])]
    known = read_bitext(tmp_path / "s", tmp_path / "t", source_vocab=Vocab.from_words(["c"]))
    assert known.source.tokens.tolist() == [0, 0, 3]


def test_unequal_files_say_both_counts(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("x\n")
    with pytest.raises(InputError, match=r"t: 1 lines, but .*s has 2"):
        read_bitext(tmp_path / "s", tmp_path / "t")
    with pytest.raises(ValueError, match="2 source sentences, but 1"):
        Bitext(Corpus.from_sentences([[], []]), Corpus.from_sentences([[]]))


@pytest.mark.parametrize(
    ("text", "separator", "line", "found"),
    [
        ("a ||| b\na b\n", "|||", 2, 0),
        ("a ||| b ||| c", "|||", 1, 2),
        ("a|||b", "|||", 1, 0),
        ("a\tb\tc", "\t", 1, 2),
        ("a\tb\n\nc\td", "\t", 2, 0),
    ],
)
def test_a_line_has_one_separator(tmp_path, text, separator, line, found):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError) as caught:
        read_bitext(tmp_path / "a", separator=separator)
    assert caught.value.line == line
    assert f"found {found}" in caught.value.reason
    with pytest.raises(SettingError):
        read_bitext(tmp_path / "a", separator=";")


word = st.text(st.characters(categories=["Ll", "Lo", "Nd", "Po"]), min_size=1, max_size=4).filter(
    lambda word: word not in ("|||", "<unk>")
)
sentence = st.lists(word, max_size=4)


@given(st.lists(st.tuples(sentence, sentence), max_size=5), st.sampled_from(["|||", "\t"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_bitexts_round_trip(tmp_path_factory, pairs, separator, two_files):
    pairs = [tuple([unicodedata.normalize("NFC", word) for word in side] for side in pair) for pair in pairs]
    folder = tmp_path_factory.mktemp("bitext")
    target = folder / "t" if two_files and pairs else None
    write_bitext(bitext(pairs), folder / "s", target, separator=separator)
    assert list(read_bitext(folder / "s", target, separator=separator)) == pairs


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    for bad in ["|||", "a b", ""]:
        with pytest.raises(InputError, match="cannot hold"):
            write_bitext(bitext([([bad], ["x"])]), tmp_path / "out")
    write_bitext(bitext([(["|||"], ["x"])]), tmp_path / "out", separator="\t")
