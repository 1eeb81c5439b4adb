"""Claims about corpuscle.text.tables: what is written is read back, and what cannot be is refused."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpuscle
from corpuscle.errors import InputError
from corpuscle.text.tables import escaped_field, read_table, unescaped_field, write_table

any_text = st.text(st.characters(exclude_categories=["Cs"]))
plain_text = st.text(st.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"]))


def rows(cell):
    return st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), max_size=5))


@settings(deadline=None)
@given(rows(plain_text))
def test_a_table_round_trips(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("table") / "a.tsv"
    write_table(path, (), table)
    assert list(read_table(path)) == list(enumerate(table, 1))


@settings(deadline=None)
@given(rows(any_text))
def test_an_escaped_table_holds_any_text(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("table") / "a.tsv"
    columns = [f"column {i}" for i in range(len(table[0]) if table else 1)]
    write_table(path, columns, table, escaped=True)
    assert list(read_table(path, columns, heading=True, escaped=True)) == list(enumerate(table, 2))
    assert path.read_bytes().count(b"\n") == len(table) + 1


@given(any_text)
def test_an_escaped_field_stays_on_its_line(text):
    assert not set(escaped_field(text)) & set("\t\n\r\0") and unescaped_field(escaped_field(text)) == text


def test_fractions_have_one_format_and_whole_numbers_none(tmp_path, capfd):
    write_table("-", ("word", "n", "share"), [("a", 3, 0.25), ("b", np.int64(4), np.float32(0.5))], ".2f")
    assert capfd.readouterr().out == "word\tn\tshare\na\t3\t0.25\nb\t4\t0.50\n"


@pytest.mark.parametrize("cell", ["a\tb", "a\nb", "a\r"])
def test_a_cell_that_would_break_the_table_is_refused_and_nothing_is_written(tmp_path, cell):
    (tmp_path / "a.tsv").write_text("old")
    with pytest.raises(InputError, match=r"a\.tsv: this file cannot hold the field 'a\\"):
        write_table(tmp_path / "a.tsv", ("one", "two"), [("x", "y"), ("x", cell)])
    assert (tmp_path / "a.tsv").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\tb\n1\t2\n3\n", 3, "1 fields, where a and b are expected, separated by tabs"),
        ("a\tb\n1\t2\t3\n", 2, "3 fields"),
        ("a\tb\n\n", 2, "1 fields"),
        ("a\tc\n1\t2\n", 1, r"begins with the line 'a\\tb'"),
        ("a\tb\n1\t2\n1\t\\x\n", 3, r"unknown escape in '\\\\x'"),
        ("a\tb\n1\t\\\n", 2, "unknown escape"),
        ("a\tb\n1\t\\u12\n", 2, "unknown escape"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, line, reason):
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(InputError, match=rf"a\.tsv:{line}: .*{reason}"):
        list(read_table(tmp_path / "a.tsv", ("a", "b"), heading=True, escaped=True))


def test_blank_lines_are_rows_unless_they_are_skipped(tmp_path):
    (tmp_path / "a.tsv").write_text("a\r\n\nb\n")
    assert [line for line, _ in read_table(tmp_path / "a.tsv")] == [1, 2, 3]
    assert list(read_table(tmp_path / "a.tsv", ("word",), skip_blank=True)) == [(1, ["a"]), (3, ["b"])]


def test_no_other_module_joins_or_splits_cells_at_tabs():
    formats = {f"text/{name}.py" for name in ["bitext", "brat", "columns", "conllu", "standoff", "tables", "treebank"]}
    hashed = {f"tag/{name}.py" for name in ["base", "lemmas", "lexicon", "tagger", "verbs"]}
    hashed |= {"transliterate/phrase.py"}
    hashed |= {"disambiguate/analysers.py", "disambiguate/base.py", "disambiguate/analyses.py"}
    hashed |= {"disambiguate/twopass.py"}
    hashed |= {"packs/systems/disambiguator.py"}
    hashed |= {"transliterate/base.py", "transliterate/neural.py"}
    formats |= {"disambiguate/buckwalter.py"}  # tables between lines of lemmas
    kits = {"packs/intake.py"}  # tables as people have them, read line by line
    streams = {f"{name}/verbs.py" for name in ["align", "lm", "topics", "transliterate"]}
    source = Path(corpuscle.__file__).parent
    for path in source.rglob("*.py"):
        if path.relative_to(source).as_posix() in formats | hashed | streams | kits:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Attribute(ast.Constant("\t"), "join")):
                    used = True
                case ast.Call(ast.Attribute(_, "split" | "rsplit" | "partition"), [ast.Constant("\t"), *_]):
                    used = True
                case ast.JoinedStr(values):
                    used = any(isinstance(part, ast.Constant) and "\t" in part.value for part in values)
                case _:
                    used = False
            assert not used, f"{path}:{node.lineno}: use corpuscle.text.tables"
