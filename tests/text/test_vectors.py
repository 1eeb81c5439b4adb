"""Word vectors as text: headers, exact numbers, strict lines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.vocab import Vocab, read_vectors, write_vectors

SAMPLE = "3 2\n<unk> 0.5 0.25\nmelu 1.0 -2.5\nv\u00a0o 1e-05 0.1\n"


def test_row_i_is_the_vector_of_id_i(tmp_path):
    (tmp_path / "a").write_text(SAMPLE, encoding="utf-8")
    vocab, matrix = read_vectors(tmp_path / "a")
    assert vocab.strings[3:] == ["melu", "v\u00a0o"]
    assert matrix.dtype == np.float32
    assert matrix[:3].tolist() == [[0.5, 0.25], [0, 0], [0, 0]]
    assert matrix[vocab.id("melu")].tolist() == [1, -2.5]
    write_vectors(vocab, matrix, tmp_path / "b")
    assert (tmp_path / "b").read_text(encoding="utf-8") == SAMPLE


def test_the_header_may_be_missing(tmp_path):
    (tmp_path / "a").write_text(SAMPLE.split("\n", 1)[1], encoding="utf-8")
    assert read_vectors(tmp_path / "a")[1].shape == (5, 2)
    (tmp_path / "a").write_text("7 3\n8 4\n")
    vocab, matrix = read_vectors(tmp_path / "a")
    assert vocab.strings[3:] == ["7", "8"]
    assert matrix[3:].tolist() == [[3], [4]]
    (tmp_path / "a").write_text("")
    assert len(read_vectors(tmp_path / "a")[0]) == 3


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"], exclude_characters="\ufeff"), min_size=1),
        unique=True,
        max_size=5,
    ),
    st.integers(1, 3),
    st.data(),
)
@settings(deadline=None)
def test_vectors_round_trip(tmp_path_factory, words, width, data):
    path = tmp_path_factory.mktemp("vectors") / "a"
    numbers = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=width, max_size=width)
    matrix = np.array([[0.0] * width] * 3 + [data.draw(numbers) for _ in words], np.float32)
    vocab = Vocab.from_words(words)
    write_vectors(vocab, matrix, path)
    again, read = read_vectors(path)
    assert again == vocab
    assert np.array_equal(read, matrix)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a 1 2\nb 1\n", 2, "1 numbers instead of 2"),
        ("2 2\na 1 2\nb c 1 2\n", 3, "must not contain spaces"),
        ("a 1 x\n", 1, "'x' is not a number"),
        ("a 1 nan\n", 1, "'nan' is not a number"),
        ("a 1 1_0\n", 1, "'1_0' is not a number"),
        ("a 1 1e99\n", 1, "'1e99' is not a number"),
        ("a 1 2\n\nb 1 2\n", 2, "without a word"),
        ("a 1\na 2\n", 2, "twice"),
        ("3 1\na 2\n", None, "1 words, but the first line announces 3"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, reason):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError) as caught:
        read_vectors(tmp_path / "a")
    assert caught.value.line == line
    assert reason in caught.value.reason


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    for word in ["a b", "", "<unk>", "a\n"]:
        with pytest.raises(InputError, match="cannot hold"):
            write_vectors(Vocab.from_words([word]), np.zeros((4, 1)), tmp_path / "out")
    with pytest.raises(InputError, match="not finite"):
        write_vectors(Vocab.from_words(["a"]), np.full((4, 1), np.inf), tmp_path / "out")
    with pytest.raises(ValueError, match="4 ids"):
        write_vectors(Vocab.from_words(["a"]), np.zeros((1, 1)), tmp_path / "out")
    assert not list(tmp_path.iterdir())
