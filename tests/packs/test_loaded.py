"""Claims about a pack as one object: its models, and what they say about a text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import corpuscle
from corpuscle.errors import InputError
from corpuscle.lm import LanguageModel
from corpuscle.packs import LoadedPack
from corpuscle.text import read_strings
from tests.tiny_models import FOLDER

TEXT = "The cat sees the dog. A bird sings!"
WORDS = [["the", "cat", "sees", "the", "dog"], ["a", "zebra", "sings"]]
MODELS = {
    "lm": "lm.ngram",
    "classes": "words.exchange",
    "senses": "words.hmm",
    "topics": "topics.ngram",
    "tagger": "tag.crf",
    "parser": "parse.mst",
    "entities": "entities.crf",
    "translate": "translate.phrase",
}


def make_pack(folder: Path, **models: str) -> Path:
    """A pack of tiny committed models."""
    (folder / "models").mkdir(parents=True)
    for name, kind in models.items():
        shutil.copy(FOLDER / f"{kind}.model", folder / "models" / f"{name}.model")
    steps = {name: {"files": {f"models/{name}.model": ""}, "findings": {"from": kind}} for name, kind in models.items()}
    state = {"corpuscle_pack": 1, "steps": steps, "kit": "kit", "seed": 1}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def pack(tmp_path_factory) -> LoadedPack:
    folder = make_pack(tmp_path_factory.mktemp("loaded") / "pack", **MODELS)
    columns = "source\ttarget\tconfidence\tsure\n"
    rows = "cat\tkatze\t0.9\tsure\ncat\tkater\t0.6\tsure\ndog\thund\t0.1\tunsure\n"
    (folder / "dictionary.tsv").write_text(columns + rows, encoding="utf-8")
    (folder / "glosses.tsv").write_text("cat\tsmall beast\n", encoding="utf-8")
    return corpuscle.load(folder)


def test_a_pack_has_its_models_by_name(pack):
    assert list(pack) == list(MODELS) and len(pack) == len(MODELS) and "lm" in pack and "align" not in pack
    assert isinstance(pack.lm, LanguageModel) and pack.lm is pack.model("lm")
    assert pack.report == pack.folder / "report.html" and pack.findings["lm"] == {"from": "lm.ngram"}
    assert {"lm", "topics", "report"} <= set(dir(pack))
    with pytest.raises(AttributeError, match="its models are lm, classes"):
        pack.align  # noqa: B018
    with pytest.raises(InputError, match="no model 'align'"):
        pack(TEXT, layers=["align"])


def test_a_text_gets_every_layer_that_the_models_can_give(pack):
    found = pack(WORDS)
    assert found.words == WORDS and found.offsets is None and found.text is None
    by_word = "known classes senses tags heads relations dictionary glosses"
    for name in by_word.split():
        assert [len(row) for row in getattr(found, name)] == [5, 3], name
    assert [len(row) for row in found.surprisal] == [6, 4]  # with the end of the sentence
    assert found.known[1] == [True, False, True]
    assert found.dictionary[0] == [None, "katze", None, None, None] and found.glosses[0][1] == "small beast"
    assert len(found.translation) == 2 and sum(topic["share"] for topic in found.topics) == pytest.approx(1)
    assert all(0 <= head <= 5 for head in found.heads[0]) and 0 in found.heads[0]
    json.dumps(found.to_json())
    with pytest.raises(AttributeError, match="no layer 'colours'"):
        found.colours  # noqa: B018


def test_layers_are_what_the_models_say(pack):
    found, corpus = pack(WORDS), read_strings([" ".join(words) for words in WORDS])
    bits, _ = pack.lm.surprisals(corpus)
    assert [bit for row in found.surprisal for bit in row] == pytest.approx(bits.tolist())
    assert found.classes[0][:2] == [pack.classes.class_of("the"), pack.classes.class_of("cat")]


def test_running_text_keeps_the_place_of_every_word(pack):
    found = pack(TEXT, layers=["lm"])
    assert found.words == [["The", "cat", "sees", "the", "dog", "."], ["A", "bird", "sings", "!"]]
    for words, places in zip(found.words, found.offsets, strict=True):
        assert [TEXT[begin:end] for begin, end in places] == words
    assert set(found.layers) == {"surprisal", "known"}
    assert pack(["The cat.", "A dog."], layers=[]).words == [["The", "cat", "."], ["A", "dog", "."]]
    assert pack("", layers=["lm"]).words == [] and pack([["a"], []], layers=["lm"]).words == [["a"]]


def test_text_without_spaces_is_cut_by_the_segmenter_of_the_pack(tmp_path):
    pack = corpuscle.load(make_pack(tmp_path / "pack", segment="segment.npylm"))
    text = "thecatsees thedog.\n\nabirdsings"
    found = pack(text)
    assert ["".join(words) for words in found.words] == ["thecatseesthedog.", "abirdsings"]
    for words, places in zip(found.words, found.offsets, strict=True):
        assert ["".join(text[begin:end].split()) for begin, end in places] == words


def test_notebooks_show_layers_as_tables(pack):
    page = pack([["<b>", "cat"]])._repr_html_()
    assert "&lt;b&gt;" in page and "<b>cat" not in page and "katze" in page and "surprisal" in page


def test_what_is_not_a_pack_is_an_error(tmp_path):
    with pytest.raises(InputError, match="not a pack"):
        corpuscle.load(tmp_path)
    (tmp_path / "x").write_text("x")
    with pytest.raises(InputError, match="neither empty nor a pack"):
        corpuscle.load(tmp_path)


def test_a_file_of_another_class_than_expected_is_an_error(pack):
    assert corpuscle.load(pack.path("lm"), LanguageModel).order == 2
    with pytest.raises(InputError, match="holds a NgramModel, where a LoadedPack is expected"):
        corpuscle.load(pack.path("lm"), LoadedPack)
