"""Every reader of a format meets damaged files, and answers with a clear error or reads what is left."""

import pytest

from corpuscle.errors import CorpuscleError
from corpuscle.text.alignments import read_naacl, read_pharaoh
from corpuscle.text.bitext import read_bitext
from corpuscle.text.brackets import format_brackets, read_brackets
from corpuscle.text.brat import read_brat
from corpuscle.text.columns import read_columns, read_normalised
from corpuscle.text.conllu import read_conllu
from corpuscle.text.pairs import read_news, read_pairs
from corpuscle.text.standoff import read_pipe, read_pubtator, read_standoff_json
from corpuscle.text.trees import binarise, collapse_unaries, expand_unaries, unbinarise
from corpuscle.text.vocab import read_vectors
from tests.mutation import survives
from tests.text import (
    test_alignments,
    test_bitext,
    test_columns,
    test_conllu,
    test_normalised,
    test_pairs,
    test_standoff,
    test_trees,
    test_vectors,
)


def trees(path):
    found = read_brackets(path, keep_traces=False, keep_functions=False, keep_root=False)
    there_and_back = expand_unaries(unbinarise(binarise(collapse_unaries(found), horizontal=1, vertical=2)))
    assert list(format_brackets(there_and_back)) == list(format_brackets(found))


def brat_annotation(path):
    path.with_suffix(".txt").write_text(test_standoff.TEXT, encoding="utf-8")
    read_brat(path)


def brat_text(path):
    path.with_suffix(".ann").write_text(test_standoff.ANN, encoding="utf-8")
    read_brat(path)


def pipe(path):
    for name in "ab":
        (path.parent / f"{name}.txt").write_text(test_standoff.TEXT, encoding="utf-8")
    read_pipe(path, path.parent)


READERS = {
    "conllu": (read_conllu, test_conllu.SAMPLE),
    "columns": (read_columns, test_columns.SAMPLE),
    "columns with comments": (
        lambda path: read_columns(path, comments=True),
        test_columns.SAMPLE.replace("Melu", "# one\nMelu"),
    ),
    "tags": (lambda path: read_columns(path, ["word", "pos", "name"]).spans("name"), test_columns.SAMPLE),
    "trees": (trees, test_trees.SAMPLE),
    "trees, one a line": (lambda path: read_brackets(path, lines=True), test_trees.SAMPLE),
    "trees without labels": (lambda path: read_brackets(path, labelled=False), test_trees.SAMPLE),
    "bitext": (read_bitext, test_bitext.SAMPLE),
    "bitext with tabs": (lambda path: read_bitext(path, separator="\t"), "a\tb\nc d\te\n\tf\n"),
    "pharaoh": (read_pharaoh, test_alignments.PHARAOH),
    "pharaoh with weights": (read_pharaoh, test_alignments.WEIGHTED),
    "naacl": (read_naacl, test_alignments.NAACL),
    "vectors": (read_vectors, test_vectors.SAMPLE),
    "pairs": (read_pairs, test_pairs.SAMPLE),
    "normalised": (read_normalised, test_normalised.COLUMNS),
    "normalised with flags": (read_normalised, test_normalised.LEXNORM),
    "news": (read_news, test_pairs.NEWS),
    "brat annotation": (brat_annotation, test_standoff.ANN),
    "brat text": (brat_text, test_standoff.TEXT),
    "pubtator": (read_pubtator, test_standoff.PUBTATOR),
    "pipe": (pipe, test_standoff.PIPE),
    "json": (read_standoff_json, test_standoff.JSON),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_give_clear_errors(name):
    reader, good = READERS[name]
    survives(reader, good.encode(), 200, seed=1, name="x.txt" if name == "brat text" else "x.ann")


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_ten_thousand_damaged_files_give_clear_errors(name):
    reader, good = READERS[name]
    survives(reader, good.encode(), 10_000, seed=2, name="x.txt" if name == "brat text" else "x.ann")


@pytest.mark.parametrize("name", READERS)
def test_a_line_of_ten_million_characters_is_read_or_refused_in_few_words(name, tmp_path):
    reader, _ = READERS[name]
    path = tmp_path / ("x.txt" if name == "brat text" else "x.ann")
    path.write_bytes(b"a" * 10_000_000 + b"\n")
    try:
        reader(path)
    except CorpuscleError as error:
        assert len(error.reason) < 300
