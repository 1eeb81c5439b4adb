"""Plain text: the scanner against Python's split, documents, characters, preprocessing, and bad input."""

import gzip
import pickle
import sys
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpuscle.errors import InputError, SettingError
from corpuscle.text import (
    FIRST,
    UNKNOWN,
    Corpus,
    Preprocessing,
    Vocab,
    iter_text,
    read_strings,
    read_text,
    text_stats,
    write_text,
)
from corpuscle.text.corpus import SPACE
from corpuscle.text.scan import Scanner
from corpuscle.text.scripts import clusters
from tests.mutation import survives
from tests.text.test_files import Terminal

RAW = Preprocessing(nfc=False)
spaced = st.text(st.one_of(st.sampled_from(" \t\v\f\r\n\nab"), st.characters(exclude_characters="\0", codec="utf-8")))
word = st.text(st.characters(exclude_characters=" \t\n\v\f\r\0", codec="utf-8"), min_size=1)


def lines_of(data: bytes) -> list[list[bytes]]:
    """What the scanner should find, by way of Python."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    return [line.split() for line in (lines if lines[-1] else lines[:-1])]


def scan(data: bytes, chunk: int = 1 << 20) -> list[list[bytes]]:
    scanner = Scanner(chunk)
    scanner.feed(data, "text")
    tokens, starts, vocab = scanner.finish()
    return [[w.encode() for w in words] for words in Corpus(tokens, starts, vocab)]


@given(spaced, st.sampled_from([1, 2, 7, 100]))
@example("", 1)
@example("\ufeff", 1)
@example("\ufeffa\ufeff\n", 1)
@example("a\u00a0b\u3000c\u2028d\x1ce\x85f", 2)
def test_the_scanner_finds_what_splitting_finds(text, chunk):
    assert scan(text.encode(), chunk) == lines_of(text.encode())


@given(st.lists(st.sampled_from(["12345678", "1234567", "123456789", "12345678" * 2, "12345678" * 2 + "x", "1" * 16])))
def test_words_around_the_length_of_a_key_are_kept_apart(words):
    data = " ".join(words).encode()
    assert scan(data) == lines_of(data)


def test_tables_grow_with_the_text():
    dice = np.random.default_rng(1)
    words = [str(n) * (n % 4) + "w" for n in dice.integers(0, 60_000, 60_000)]
    data = "\n".join(words).encode()
    assert scan(data, 10_000) == [[w.encode()] for w in words]


@given(
    st.one_of(
        st.binary(),
        st.lists(
            st.sampled_from([
                b"\n",
                b" ",
                b"a",
                b"\xc3",
                b"\xa9",
                b"\xe0\xa0",
                b"\xe0\x80\x80",
                b"\xed\xa0\x80",
                b"\xef\xbf\xbf",
                b"\xf4\x90\x80\x80",
                b"\xf0\x9f\x98\x80",
                b"\xf0\x8f\xbf\xbf",
                b"\xc0\x80",
                b"\xf5",
                b"\x80",
            ])
        ).map(b"".join),
    )
)
def test_exactly_what_is_not_utf8_is_refused_with_its_line(data):
    try:
        data.decode()
        bad = data.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start if b"\0" not in data[: error.start] else data.find(b"\0")
    if bad < 0:
        assert scan(data, 3) == lines_of(data)
        return
    with pytest.raises(InputError) as caught:
        scan(data, 3)
    assert caught.value.line == data.count(b"\n", 0, bad) + 1


def test_ids_follow_the_order_of_first_sight_and_counts_are_right(tmp_path):
    (tmp_path / "a").write_text("to be or\nnot to be")
    corpus = read_text(tmp_path / "a")
    assert corpus.vocab.strings[FIRST:] == ["to", "be", "or", "not"]
    assert corpus.vocab.counts.tolist() == [0, 0, 0, 2, 2, 1, 1]
    assert corpus.tokens.dtype == np.int32 and corpus.sentence_starts.dtype == np.int64


def test_no_line_is_dropped(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\n\r\n \t\nb")
    assert list(read_text(tmp_path / "a")) == [["a"], [], [], ["b"]]
    (tmp_path / "empty").touch()
    assert len(read_text(tmp_path / "empty")) == 0


def test_a_byte_order_mark_is_dropped_where_a_file_begins_and_nowhere_else(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffA \ufeffB\n\ufeffA\n".encode())
    assert list(read_text(tmp_path / "a")) == [["A", "\ufeffB"], ["\ufeffA"]]
    assert list(read_strings(["\ufeffA", "\ufeffA"])) == [["\ufeffA"], ["\ufeffA"]]
    (tmp_path / "b").write_bytes("\ufeff\ufeffA B\n".encode())
    assert list(read_text(tmp_path / "b", preprocessing=Preprocessing(lowercase=True))) == [["\ufeffa", "b"]]


def test_files_are_read_one_after_the_other_and_errors_name_the_right_one(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo")
    (tmp_path / "b.txt").write_bytes(gzip.compress(b"three\n"))
    assert list(read_text(tmp_path / "a.txt", tmp_path / "b.txt")) == [["one"], ["two"], ["three"]]
    (tmp_path / "c.txt").write_bytes(b"\n\nx \xff")
    with pytest.raises(InputError, match=r"c\.txt:3: invalid UTF-8"):
        read_text(tmp_path)


@pytest.mark.parametrize("line", ["x" * 10_000_000, "ab " * 3_333_333])
def test_a_line_of_ten_million_characters(tmp_path, line):
    (tmp_path / "a").write_text(line)
    corpus = read_text(tmp_path / "a")
    assert corpus.n_tokens == len(line.split()) and len(corpus.vocab.bytes) == len(line.split()[0])


def test_the_unknown_symbol_in_text(tmp_path):
    (tmp_path / "a").write_text("a <unk> b <UNK> <unk>")
    corpus = read_text(tmp_path / "a")
    assert corpus.tokens.tolist() == [3, UNKNOWN, 4, 5, UNKNOWN] and corpus.vocab.counts.tolist() == [2, 0, 0, 1, 1, 1]
    assert read_text(tmp_path / "a", unk_token="literal").tokens.tolist() == [3, 4, 5, 6, 4]
    lower = read_text(tmp_path / "a", preprocessing=Preprocessing(lowercase=True))
    assert lower.tokens.tolist() == [3, UNKNOWN, 4, UNKNOWN, UNKNOWN]


def test_a_given_vocabulary_gives_the_ids(tmp_path):
    (tmp_path / "a").write_text("b c a\nc <unk>")
    vocab = Vocab.from_words(["a", "b"])
    assert read_text(tmp_path / "a", vocab=vocab).tokens.tolist() == [4, 0, 3, 0, 0]
    vocab = Vocab.from_words(["<unk>"])
    assert read_text(tmp_path / "a", vocab=vocab, unk_token="literal").tokens.tolist() == [0, 0, 0, 0, 3]


def test_a_large_vocabulary_makes_no_python_strings(tmp_path):
    (tmp_path / "a").write_text("w7 w99999 nothing")
    words = [f"w{i}" for i in range(100_000)]
    vocab = pickle.loads(pickle.dumps(Vocab.from_words(words)))
    assert read_text(tmp_path / "a", vocab=vocab).tokens.tolist() == [10, 100_002, 0]
    assert vocab.id("w5") == 8 and "w100000" not in vocab and vocab.encode(["w1", "?"]).tolist() == [4, 0]
    assert not {"strings", "ids"} & set(vocab.__dict__)
    small = Vocab.from_words(["w3", "x"])
    assert vocab.mapping_from(small).tolist() == [0, 1, 2, 6, 0]


@given(st.lists(st.lists(word, max_size=4), max_size=5))
def test_text_is_the_same_after_writing_and_reading(tmp_path_factory, sentences):
    path = tmp_path_factory.getbasetemp() / "round"
    if sentences and sentences[0]:
        sentences[0][0] = sentences[0][0].lstrip("\ufeff") or "x"
    corpus = Corpus.from_sentences(sentences)
    write_text(corpus, path)
    again = read_text(path, preprocessing=RAW, unk_token="literal")
    assert list(again) == sentences and again.vocab == corpus.vocab


@given(spaced, st.integers(1, 4))
def test_reading_in_chunks_is_reading(tmp_path_factory, text, lines):
    path = tmp_path_factory.getbasetemp() / "chunks"
    path.write_bytes(text.encode())
    whole = read_text(path)
    chunks = list(iter_text(path, whole.vocab, lines))
    assert all(len(chunk) == lines for chunk in chunks[:-1])
    assert [words for chunk in chunks for words in chunk] == list(whole)


def test_chunks_come_from_stdin_and_errors_have_the_line_of_the_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", Terminal(gzip.compress(b"a b\nc\n\nd")))
    assert [list(chunk) for chunk in iter_text("-", lines_per_chunk=2)] == [[["a", "b"], ["c"]], [[], ["d"]]]
    (tmp_path / "bad").write_bytes(b"a\n" * 10 + b"\xff")
    with pytest.raises(InputError, match="bad:11: invalid UTF-8"):
        list(iter_text(tmp_path / "bad", lines_per_chunk=3))


def test_blank_lines_end_documents(tmp_path):
    (tmp_path / "a").write_text("\na b\nc\n\n \nd\n\n")
    (tmp_path / "b").write_text("e\n")
    corpus = read_text(tmp_path / "a", tmp_path / "b", blank="document")
    assert list(corpus) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert corpus.document_starts.tolist() == [0, 2, 3, 4] and corpus.labels is None
    write_text(corpus, tmp_path / "c")
    assert (tmp_path / "c").read_text() == "a b\nc\n\nd\n\ne\n"
    (tmp_path / "empty").write_text("\n\n")
    assert read_text(tmp_path / "empty", blank="document").document_starts.tolist() == [0]


def test_a_file_of_a_folder_is_one_document(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "x.txt").write_text("a\n\nb\n")
    (folder / "y.txt").write_text("\n")
    (folder / "z.txt").write_text("c")
    (tmp_path / "more").write_text("\nd\n\ne")
    corpus = read_text(folder, tmp_path / "more", blank="document")
    assert corpus.document_starts.tolist() == [0, 2, 3, 4, 5]
    assert corpus.labels == ("x", "z", f"{tmp_path / 'more'}:2", f"{tmp_path / 'more'}:4")


def test_a_document_index_says_what_belongs_together(tmp_path):
    text, index = tmp_path / "t", tmp_path / "docs.tsv"
    text.write_text("a\n\nb\nskipped\nc\n")
    index.write_text("doc\tyear\tlines\tfirst_line\nd1\t1999\t3\t1\nd2\t2000\t1\t5\n")
    corpus = read_text(text, documents=index)
    assert list(corpus) == [["a"], [], ["b"], ["c"]] and corpus.document_starts.tolist() == [0, 3, 4]
    assert corpus.labels == ("d1", "d2")
    without = read_text(text, documents=index, blank="document")
    assert list(without) == [["a"], ["b"], ["c"]] and without.document_starts.tolist() == [0, 2, 3]
    index.write_text("1\t2\n3\t3\n")
    assert read_text(text, documents=index).document_starts.tolist() == [0, 2, 5]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("first_line\tlines\n1\n", "docs.tsv:2: 1 columns instead of 2"),
        ("first_line\tlines\nx\t1\n", "docs.tsv:2: .*whole numbers"),
        ("first_line\tlines\n1\t2\n2\t1\n", "docs.tsv:3: .*overlap"),
        ("first_line\tlines\n0\t1\n", "docs.tsv:2: .*from 1"),
        ("first_line\tlines\n99999999999999999999\t1\n", "docs.tsv:2: no text has so many lines"),
        ("first_line\tlines\n1\t9\n", "docs.tsv: document 1 ends at line 9, but the text has 1 lines"),
        ("a\tb\n", "docs.tsv:1: .*first_line and lines"),
        ("7\n", "docs.tsv:1: .*first_line and lines"),
    ],
)
def test_a_wrong_document_index_is_an_error(tmp_path, index, message):
    (tmp_path / "t").write_text("a\n")
    (tmp_path / "docs.tsv").write_text(index)
    with pytest.raises(InputError, match=message):
        read_text(tmp_path / "t", documents=tmp_path / "docs.tsv")


def test_settings_that_make_no_sense_are_refused(tmp_path):
    for wrong in ({"units": "syllables"}, {"blank": "x"}, {"unk_token": "x"}):
        with pytest.raises(SettingError):
            read_text(tmp_path, **wrong)
    with pytest.raises(SettingError):
        read_text()
    with pytest.raises(SettingError):
        Preprocessing(tokenise="clever")
    with pytest.raises(SettingError, match="stem"):
        Preprocessing(stem=True)


@given(spaced, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["none", "simple"]))
@example("Cafe\u0301 CAFÉ 1,984 x.", True, True, True, "simple")
def test_preprocessing_types_is_preprocessing_lines(tmp_path_factory, text, nfc, lower, digits, tokenise):
    steps = Preprocessing(nfc=nfc, lowercase=lower, digits=digits, tokenise=tokenise)
    assert Preprocessing(**steps.settings) == steps
    path = tmp_path_factory.getbasetemp() / "pre"
    path.write_bytes(text.encode())
    corpus = read_text(path, preprocessing=steps, unk_token="literal")
    words = [[w.decode() for w in line] for line in lines_of(text.encode())]
    assert list(corpus) == [[w for token in line for w in steps.words(token)] for line in words]
    assert np.array_equal(np.bincount(corpus.tokens, minlength=len(corpus.vocab)), corpus.vocab.counts)
    again = read_text(path, preprocessing=steps, unk_token="literal", vocab=corpus.vocab)
    assert np.array_equal(again.tokens, corpus.tokens)


def test_composed_and_decomposed_letters_are_one_by_default(tmp_path):
    (tmp_path / "a").write_bytes("é e\u0301".encode())
    assert read_text(tmp_path / "a").tokens.tolist() == [3, 3]
    assert read_text(tmp_path / "a", preprocessing=RAW).tokens.tolist() == [3, 4]


@given(st.lists(st.lists(word, max_size=3), max_size=4), st.sampled_from(["characters", "graphemes"]))
@example([["a\u2581", "\\\u2581"]], "characters")
def test_characters_join_to_the_same_text(tmp_path_factory, sentences, units):
    path, back = tmp_path_factory.getbasetemp() / "chars", tmp_path_factory.getbasetemp() / "back"
    text = "".join(" ".join(words) + "\n" for words in sentences).lstrip("\ufeff")
    path.write_bytes(text.encode())
    corpus = read_text(path, units=units, preprocessing=RAW, unk_token="literal")
    assert np.array_equal(np.bincount(corpus.tokens, minlength=len(corpus.vocab)), corpus.vocab.counts)
    write_text(corpus, back, units=units)
    words = [[w.decode() for w in line] for line in lines_of(text.encode())]
    assert back.read_bytes().decode() == "".join(" ".join(line) + "\n" for line in words)


def test_characters_have_a_space_between_words(tmp_path):
    (tmp_path / "a").write_text(" ab  c\n\n<unk> d")
    corpus = read_text(tmp_path / "a", units="characters")
    assert list(corpus) == [["a", "b", SPACE, "c"], [], ["<unk>", SPACE, "d"]]
    assert corpus.tokens[4] == UNKNOWN and corpus.vocab.word(FIRST) == SPACE


@pytest.mark.parametrize(
    "text",
    [
        "e\u0301|a", "\U0001f1eb\U0001f1f7|\U0001f1e9\U0001f1ea", "\U0001f468\u200d\U0001f469\u200d\U0001f467|x",
        "\U0001f44d\U0001f3fd", "\u1112\u1161\u11ab|\uae00", "\uac00\u11a8", "\u0915\u094d\u0937\u093f|\u0915",
        "\u0995\u09cd\u09b7", "\u0e01\u0e33|\u0e01", "\u2764\ufe0f|a", "\u0600\u0661", "\r\n|\n|a", "a\u200d|b",
        "\u0301|a",
    ],
)  # fmt: skip
def test_grapheme_clusters(text):
    assert clusters(text.replace("|", "")) == text.split("|")


@given(st.text())
def test_clusters_lose_nothing_and_never_begin_with_a_mark(text):
    found = clusters(text)
    assert "".join(found) == text
    for before, after in pairwise(found):
        if unicodedata.category(before[-1]) not in ("Cc", "Cf", "Zl", "Zp"):
            assert unicodedata.category(after[0]) not in ("Mn", "Me")


def test_figures_of_a_text():
    corpus = Corpus.from_sentences([["ä", "b", "b"], []])
    figures = text_stats(corpus, Corpus.from_sentences([["b"]]))
    assert figures["tokens"] == 5 and figures["words"] == 3 and figures["types"] == 2 and figures["characters"] == 3
    assert figures["oov"] == 1 and figures["oov_types"] == 1 and figures["oov_rate"] == 1 / 3


GOOD = "Ein kleiner Text, größer als nichts .\n\n日本語 <unk> e\u0301 \U0001f44d\nlast line\n".encode()
INDEX = b"first_line\tlines\tid\n1\t2\ta\n3\t2\tb\n"
READERS = {
    "text": (lambda path: read_text(path, blank="document", units="graphemes"), GOOD),
    "text.gz": (read_text, gzip.compress(GOOD, mtime=0)),
    "docs.tsv": (lambda path: read_text("-", documents=path), INDEX),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_input_is_read_or_refused(name, count, monkeypatch):
    reader, good = READERS[name]

    def read(path):
        monkeypatch.setattr(sys, "stdin", Terminal(GOOD))
        reader(path)

    survives(read, good, count, seed=1, name=name)
