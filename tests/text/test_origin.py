"""Data know the files they came from, and the line of every sentence, tree and pair."""

import pickle

import numpy as np
import pytest

from corpuscle.errors import InputError
from corpuscle.text import (
    Bitext,
    Corpus,
    Preprocessing,
    Treebank,
    iter_text,
    parse_brackets,
    read_bitext,
    read_brackets,
    read_columns,
    read_conllu,
    read_normalised,
    read_pairs,
    read_strings,
    read_text,
)
from corpuscle.text.origin import Listed, Origin, error_about


def place(data, item=None):
    error = error_about(data, "why", item)
    return error.path, error.line


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two texts, of three lines and of two."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a b\n\nc\n")
    (tmp_path / "b.txt").write_text("d\ne E")
    return read_text("a.txt", "b.txt")


def test_every_sentence_of_several_files_has_its_line(two):
    assert [place(two, i) for i in range(5)] == [("a.txt", 1), ("a.txt", 2), ("a.txt", 3), ("b.txt", 1), ("b.txt", 2)]
    assert place(two) == ("a.txt", None)


def test_a_part_of_a_text_keeps_the_lines_of_its_sentences(two):
    assert place(two[2:], 2) == place(two[1:][1:], 2) == place(two.select(np.array([4, 0])), 0) == ("b.txt", 2)
    assert place(two[1:].select(np.array([False, False, True, True]))[1:], 0) == ("b.txt", 2)
    assert place(two[3:].select(np.array([1])), 0) == ("b.txt", 2)


def test_what_is_done_to_the_words_leaves_the_lines(two):
    for text in (
        two.recode(read_strings(["c d"]).vocab),
        two[3:].counted(),
        read_text("a.txt", "b.txt", preprocessing=Preprocessing(lowercase=True)),
        read_text("a.txt", "b.txt", units="characters"),
        read_text("a.txt", "b.txt", vocab=two.vocab),
    ):
        assert place(text, len(text) - 1) == ("b.txt", 2)
    assert place(read_text("a.txt", "b.txt", blank="document"), 1) == ("a.txt", 3)


def test_chunks_of_a_text_know_their_lines(two):
    assert [place(chunk, 0) for chunk in iter_text("a.txt", lines_per_chunk=2)] == [("a.txt", 1), ("a.txt", 3)]


def test_data_made_in_python_have_no_origin():
    made = Corpus.from_sentences([["a"]]), read_strings(["a"]), parse_brackets(["(S a)"]), [1, 2], Listed([1])
    assert [place(data) for data in made] == [(None, None)] * 5
    assert place(made[0], 0) == (None, 1)
    assert Treebank.from_sentences([["a"]]).origin is None


def test_trees_know_the_line_on_which_they_begin(tmp_path):
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    (tmp_path / "one").write_text("(S (NP a)\n  (VP b))\n(S c)\n")
    (tmp_path / "other").write_text("\n(S d)")
    trees = read_brackets(one, other)
    assert [place(trees, i) for i in range(3)] == [(one, 1), (one, 3), (other, 2)]
    assert place(trees[1:].without_root(), 1) == (other, 2)


def test_a_sentence_of_a_treebank_begins_with_its_comments(tmp_path):
    path = tmp_path / "a.conllu"
    row = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
    path.write_text(f"{row}\n# sent_id = 2\n{row}\n{row}\n")
    bank = read_conllu(path)
    assert [place(bank, i) for i in range(3)] == [(str(path), 1), (str(path), 3), (str(path), 6)]
    assert place(bank.without("tags")[2:], 0) == place(bank.select(np.array([2])), 0) == (str(path), 6)
    assert place(bank.without_words(np.array([True, False, False])), 1) == (str(path), 6)
    assert place(Treebank.from_sentences(bank.corpus), 1) == (str(path), 3)


def test_pairs_and_columns_know_their_lines(tmp_path):
    pairs, columns, lines = tmp_path / "pairs.tsv", tmp_path / "columns.tsv", tmp_path / "lines.jsonl"
    pairs.write_text("a\tb\nc\td\n")
    assert place(read_pairs(pairs)[1:], 0) == (str(pairs), 2)
    columns.write_text("a\tb\n\n\nc\td\n")
    assert place(read_columns(columns).corpus, 1) == (str(columns), 4)
    lines.write_text('\n{"input": ["a"], "output": ["b"]}\n')
    assert place(read_normalised(lines), 0) == (str(lines), 2)


def test_both_sides_of_a_bitext_know_their_files(two, tmp_path):
    (tmp_path / "both").write_text("a ||| b\nc ||| d\n")
    bitext = read_bitext("both")
    assert place(bitext, 1) == place(bitext.swapped()[1:], 0) == ("both", 2)
    apart = Bitext(read_text("b.txt"), read_text("b.txt")).select(np.array([1]))
    assert place(apart, 0) == place(apart.target, 0) == ("b.txt", 2)


def test_an_empty_text_is_an_error_that_names_its_file(two, tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match=r"^empty.txt: the training text is empty$"):
        read_text("empty.txt").filled("training text")
    with pytest.raises(InputError, match=r"^the treebank is empty$"):
        Treebank.from_sentences([]).filled()
    assert two.filled() is two


def test_a_piece_that_goes_to_another_process_takes_only_the_name_of_a_file_with_it():
    origin = Origin(tuple(map(str, range(1000))), tuple(range(1000)), np.arange(10**6), range(10**6))
    assert len(pickle.dumps(origin[10:])) < 200
    assert pickle.loads(pickle.dumps(origin)).place(3) == ("0", None)
