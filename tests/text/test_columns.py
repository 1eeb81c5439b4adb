"""Column files and tag schemes: round trips, document breaks, tags that do and do not fit together."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError, SettingError
from corpuscle.text.columns import Columns, read_columns, write_columns
from corpuscle.text.mention_tags import SCHEMES, convert_tags, spans_of_tags, tags_of_spans

SAMPLE = """\
-DOCSTART- -X- O

Melu N B-PER
sadi V O

-DOCSTART- -X- O

vo N B-LOC
"""


def put(tmp_path, text):
    (tmp_path / "a").write_text(text, encoding="utf-8")
    return tmp_path / "a"


def test_columns_documents_and_spans(tmp_path):
    table = read_columns(put(tmp_path, SAMPLE), ["word", "pos", "name"])
    assert list(table.corpus) == [["Melu", "sadi"], ["vo"]]
    assert list(table.layers) == ["pos", "name"]
    assert table["pos"].strings() == ["N", "V", "N"]
    assert table.values("name", 1) == ["B-LOC"]
    assert table.corpus.document_starts.tolist() == [0, 1, 2]
    assert table.spans("name") == [[(0, 1, "PER")], [(0, 1, "LOC")]]
    with pytest.raises(InputError, match="a: sentence 1, token 1: 'N' is not a tag"):
        table.spans("pos", path="a")
    write_columns(table, tmp_path / "b")
    assert (tmp_path / "b").read_text() == SAMPLE + "\n"
    write_columns(table.select(np.array([1, 0])), tmp_path / "b")
    assert (tmp_path / "b").read_text() == "vo N B-LOC\n\nMelu N B-PER\nsadi V O\n\n"


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_a_file_of_many_batches_is_read_like_one_of_one(tmp_path, monkeypatch, batch):
    monkeypatch.setattr("corpuscle.text.columns._BATCH", batch)
    write_columns(read_columns(put(tmp_path, SAMPLE)), tmp_path / "b")
    assert (tmp_path / "b").read_text() == SAMPLE + "\n"


def test_columns_without_names_end_with_the_label(tmp_path):
    assert list(read_columns(put(tmp_path, SAMPLE)).layers) == ["column2", "label"]
    assert list(read_columns(put(tmp_path, "a\n")).layers) == []
    assert len(read_columns(put(tmp_path, ""))) == 0


def test_the_separator_is_seen_or_given(tmp_path):
    assert list(read_columns(put(tmp_path, "a  b   c\n")).corpus) == [["a"]]
    assert read_columns(put(tmp_path, "a b\tc\n")).corpus.words(0) == ["a b"]
    assert read_columns(put(tmp_path, "a,b\n"), separator=",")["label"].strings() == ["b"]
    with pytest.raises(SettingError):
        read_columns(put(tmp_path, "a"), separator="")


@pytest.mark.parametrize("separator", ["\t", " "])
def test_twice_as_many_columns_are_twice_the_work(tmp_path, separator):
    calls = []
    for columns in (5_000, 10_000):
        path, found = put(tmp_path, separator.join(f"w{i}" for i in range(columns)) + "\n"), 0

        def count(*_):
            nonlocal found
            found += 1

        sys.setprofile(count)
        try:
            table = read_columns(path)
        finally:
            sys.setprofile(None)
        assert len(table.layers) == columns - 1 and table["label"].strings() == [f"w{columns - 1}"]
        calls.append(found)
    assert calls[1] < 2.01 * calls[0]


def test_comments_and_empty_cells_are_kept_when_asked_for(tmp_path):
    text = "# one\na\tx\nb\t\n\nc\ty\n\n"
    table = read_columns(put(tmp_path, text), comments=True, allow_empty=True)
    assert table.comments == (("# one",), ())
    assert table["label"].strings() == ["x", "", "y"]
    assert table["label"].ids[1] == 0
    with pytest.raises(InputError, match=":2: 2 columns instead of 1"):
        read_columns(tmp_path / "a", allow_empty=True, separator="\t")
    write_columns(table, tmp_path / "b")
    assert (tmp_path / "b").read_text() == text


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\tb\nc\n", 2, "1 columns instead of 2"),
        ("a\tb\nc\td\te\n", 2, "3 columns instead of 2"),
        ("a\tb\n\n\tb\n", 3, "column 1 is empty"),
        ("a\tb\nc\t\n", 2, "column 2 is empty"),
        ("a\tb\n-DOCSTART-\tO\n", 2, "stands alone"),
        ("-DOCSTART-\tO\na\tb\n", 1, "stands alone"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, reason):
    with pytest.raises(InputError) as caught:
        read_columns(put(tmp_path, text))
    assert caught.value.line == line
    assert reason in caught.value.reason


def test_a_comment_needs_a_sentence(tmp_path):
    with pytest.raises(InputError, match="a:3: a comment without"):
        read_columns(put(tmp_path, "a\n\n# b\n\n"), comments=True)


@pytest.mark.parametrize("words", [[["a\tb"]], [[""]], [["-DOCSTART-"]], [["a"], []], [["x\ny"]]])
def test_what_a_file_cannot_hold_is_not_written(tmp_path, words):
    with pytest.raises(InputError):
        write_columns(Columns.from_sentences(words), tmp_path / "out")
    assert not list(tmp_path.iterdir())


cell = st.text(st.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=5)
word = cell.filter(lambda text: text.strip(" ") and text != "-DOCSTART-")


@given(st.lists(st.lists(st.tuples(word, cell, cell), min_size=1, max_size=4), max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_every_table_round_trips(tmp_path_factory, sentences, data):
    folder = tmp_path_factory.mktemp("round")
    text = ""
    for rows in sentences:
        if data.draw(st.booleans()):
            text += "-DOCSTART-\t-X-\tO\n\n"
        text += "".join("\t".join(row) + "\n" for row in rows) + "\n"
    (folder / "a").write_bytes(text.encode())
    table = read_columns(folder / "a", ["word", "x", "y"], "\t")
    assert list(table.corpus) == [[row[0] for row in rows] for rows in sentences]
    assert table["y"].strings() == [row[2] for rows in sentences for row in rows]
    write_columns(table, folder / "b")
    assert (folder / "b").read_bytes().decode() == text


@st.composite
def spans(draw):
    length = draw(st.integers(0, 9))
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
    chosen = [(a, b, draw(st.sampled_from(["PER", "a-b", ""]))) for a, b in itertools.pairwise(cuts)]
    return length, [span for span in chosen if draw(st.booleans())]


@given(spans())
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_come_back_from_their_tags(scheme, case):
    length, wanted = case
    tags = tags_of_spans(wanted, length, scheme)
    assert spans_of_tags(tags, scheme) == wanted
    assert spans_of_tags(tags, scheme, repair=True) == wanted
    for other in SCHEMES:
        assert spans_of_tags(convert_tags(tags, scheme, other), other) == wanted


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_are_accepted_exactly_when_some_spans_have_them(scheme):
    letters = {"bio": "BIO", "iob1": "BIO", "bioes": "BIOES", "bilou": "BILOU"}[scheme]
    alphabet = [f"{letter}-{type}" for letter in letters if letter != "O" for type in "XY"] + ["O"]
    pieces = [(a, b, type) for a, b in itertools.combinations(range(4), 2) for type in "XY"]
    possible = set()
    for size in range(4):
        for chosen in itertools.combinations(pieces, size):
            if all(left[1] <= right[0] for left, right in itertools.pairwise(sorted(chosen))):
                possible.add(tuple(tags_of_spans(chosen, 3, scheme)))
    for tags in itertools.product(alphabet, repeat=3):
        repaired = spans_of_tags(tags, scheme, repair=True)
        if tags in possible:
            assert tuple(tags_of_spans(spans_of_tags(tags, scheme), 3, scheme)) == tags
        elif scheme == "iob1":  # B where I would do says the same
            assert spans_of_tags(tags, scheme) == repaired
        else:
            with pytest.raises(InputError):
                spans_of_tags(tags, scheme)


def test_tags_of_no_scheme_are_errors():
    for tag in ["", "-", "X", "B_PER", "BI-PER", "O-PER", "E-PER", "b-PER", "-DOCSTART-"]:
        with pytest.raises(InputError, match="token 1"):
            spans_of_tags([tag])
    with pytest.raises(InputError, match="token 1"):
        spans_of_tags(["E-X"], "bilou")
    with pytest.raises(SettingError, match="bio, iob1, bioes, bilou"):
        spans_of_tags(["O"], "iob3")
    for wrong in [[(0, 4, "X")], [(1, 1, "X")], [(0, 2, "X"), (1, 3, "Y")]]:
        with pytest.raises(ValueError, match="span"):
            tags_of_spans(wrong, 3)
