"""Documents from all their sources, and what is refused."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest

from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.text import Preprocessing
from corpuscle.topics import document_bounds, pick_documents, read_documents

DOCUMENTS = [["a b", "c d e"], ["In 1984 B"]]


def shown(corpus):
    """The documents of a corpus as lists of lines."""
    lines = [" ".join(words) for words in corpus]
    starts = corpus.document_starts.tolist()
    return [lines[a:b] for a, b in pairwise(starts)]


def write(folder, kind):
    """The documents in one of the four forms: paths and settings for ``read_documents``."""
    if kind == "folder":
        (folder / "docs").mkdir()
        for name, lines in zip(("one", "two"), DOCUMENTS, strict=True):
            (folder / "docs" / f"{name}.txt").write_text("\n\n".join(lines) + "\n")
        return [folder / "docs"], {}
    path = folder / ("docs.jsonl" if kind.startswith("json") else "docs.txt")
    if kind == "blank":
        path.write_text("\n\n\n".join("\n".join(lines) for lines in DOCUMENTS) + "\n\n")
    elif kind == "index":
        path.write_text("\n".join(["left out", *DOCUMENTS[0], "", *DOCUMENTS[1]]) + "\n")
        (folder / "docs.tsv").write_text("id\tfirst_line\tlines\none\t2\t3\ntwo\t5\t1\n")
        return [path], {"documents": folder / "docs.tsv"}
    elif kind == "json text":
        path.write_text("\n".join(json.dumps({"id": 7, "text": "\n".join(lines)}) for lines in DOCUMENTS))
    else:
        path.write_text("\n".join(json.dumps({"sentences": lines}) for lines in DOCUMENTS))
    return [path], {}


@pytest.mark.parametrize("kind", ["blank", "folder", "index", "json text", "json sentences"])
def test_all_sources_give_the_same_documents(tmp_path, kind):
    paths, settings = write(tmp_path, kind)
    corpus = read_documents(*paths, **settings)
    assert shown(corpus) == DOCUMENTS
    assert document_bounds(corpus).tolist() == [0, 5, 8]
    spelled = read_documents(*paths, **settings, preprocessing=Preprocessing(lowercase=True, digits=True))
    assert shown(spelled)[1] == ["in 0000 b"]
    assert shown(read_documents(*paths, **settings, vocab=spelled.vocab))[1] == ["<unk> <unk> <unk>"]


def test_documents_keep_their_names(tmp_path):
    for kind, labels in (("folder", ("one", "two")), ("json text", ("7", "7"))):
        paths, settings = write(tmp_path, kind)
        assert read_documents(*paths, **settings).labels == labels


def test_documents_without_words_are_left_out_and_reported(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n\n{"text": "a b"}\n{"sentences": [" "]}\n')
    with pytest.warns(CorpuscleWarning, match="2 documents without words"):
        corpus = read_documents(tmp_path / "a.jsonl")
    assert shown(corpus) == [["a b"]] and corpus.labels == (f"{tmp_path / 'a.jsonl'}:3",)
    paths, _ = write(tmp_path, "folder")
    (paths[0] / "three.txt").write_text("\n \n")
    with pytest.warns(CorpuscleWarning, match="1 document without words"):
        assert shown(read_documents(*paths)) == DOCUMENTS
    (tmp_path / "more").mkdir()
    for name, text in (("one", ""), ("three", "a b"), ("four", "c d")):
        (tmp_path / "more" / f"{name}.txt").write_text(text)
    with pytest.warns(CorpuscleWarning, match="2 documents without words"):  # one of each folder, of used names
        assert shown(read_documents(*paths, tmp_path / "more"))[2:] == [["c d"], ["a b"]]
    (tmp_path / "text").write_text("a b\n\n")
    (tmp_path / "index").write_text("first_line\tlines\n1\t1\n2\t1\n")
    with pytest.warns(CorpuscleWarning, match="1 document without words"):
        assert shown(read_documents(tmp_path / "text", documents=tmp_path / "index")) == [["a b"]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", ":1: not JSON"),
        ('{"text": "a b"}\n[1]', ":2: a document is an object"),
        ('{"text": "a b", "sentences": []}', ":1: a document is an object"),
        ('{"text": 3}', ':1: "text" is a string'),
        ('{"sentences": ["a", 1]}', ':1: "text" is a string'),
        ('{"sentences": ["a\\nb"]}', ":1: a line end"),
        ('{"text": "a\\u0000"}', ":1: a line end or a NUL"),
        ('{"text": "a \\ud800"}', ":1: half a surrogate pair"),
        ("[" * 100_000, ":1: not JSON"),
        ('{"text": ""}', "no document has a word"),
        ("", "no document has a word"),
    ],
)
def test_bad_json_lines_are_refused_with_their_place(tmp_path, content, reason):
    (tmp_path / "docs.jsonl").write_text(content)
    with pytest.raises(InputError, match=reason), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_documents(tmp_path / "docs.jsonl")


def test_texts_without_documents_and_mixed_sources_are_refused(tmp_path):
    (tmp_path / "docs.txt").write_text("one\n\ntwo\n")
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "docs.jsonl").write_text('{"text": "a b"}')
    (tmp_path / "docs.tsv").write_text("first_line\tlines\n1\t7\n")
    with pytest.raises(InputError, match="no document has a word"):
        read_documents(tmp_path / "empty.txt")
    with pytest.raises(SettingError, match="JSON lines hold whole documents"):
        read_documents(tmp_path / "docs.txt", tmp_path / "docs.jsonl")
    with pytest.raises(SettingError, match="JSON lines hold whole documents"):
        read_documents(tmp_path / "docs.jsonl", documents=tmp_path / "docs.tsv")
    with pytest.raises(InputError, match="but the text has 3 lines"):
        read_documents(tmp_path / "docs.txt", documents=tmp_path / "docs.tsv")


def test_a_document_of_one_word_can_be_read(tmp_path):
    (tmp_path / "one.txt").write_text("alone\n")
    assert shown(read_documents(tmp_path / "one.txt")) == [["alone"]]


def test_documents_are_picked_in_any_order(tmp_path):
    paths, settings = write(tmp_path, "folder")
    corpus = read_documents(*paths, **settings)
    turned = pick_documents(corpus, np.array([1, 0]))
    assert shown(turned) == DOCUMENTS[::-1] and turned.labels == ("two", "one")
    assert shown(pick_documents(corpus, np.array([False, True]))) == DOCUMENTS[1:]
    with pytest.raises(ValueError, match="no documents"):
        pick_documents(corpus.select(np.arange(2)), np.array([0]))


def test_a_very_long_document_is_accepted_with_advice(tmp_path, monkeypatch):
    monkeypatch.setattr("corpuscle.topics.base.LONG", 4)
    paths, settings = write(tmp_path, "blank")
    with pytest.warns(CorpuscleWarning, match="a document has 5 words"):
        assert shown(read_documents(*paths, **settings)) == DOCUMENTS


def test_documents_are_cut_after_every_so_many_sentences(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "long.txt").write_text("a b\nc\nd e\nf\ng\n")
    (folder / "short.txt").write_text("h\ni\n")
    corpus = read_documents(folder, split=2)
    assert corpus.labels == ("long:1", "long:2", "long:3", "short")
    assert corpus.document_starts.tolist() == [0, 2, 4, 5, 7]
    assert np.array_equal(corpus.tokens, read_documents(folder).tokens)
    whole = read_documents(folder, split=10**6)
    assert whole.labels == ("long", "short") and whole.document_starts.tolist() == [0, 5, 7]
    (tmp_path / "one.txt").write_text("a\nb\nc\n")
    unnamed = read_documents(tmp_path / "one.txt", split=1)
    assert unnamed.document_starts.tolist() == [0, 1, 2, 3]
    with pytest.raises(SettingError, match="at least one sentence, not 0"):
        read_documents(folder, split=0)
