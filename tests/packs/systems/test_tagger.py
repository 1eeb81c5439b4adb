"""Claims about the tagger that ``corpuscle learn`` makes of annotated sentences."""

from __future__ import annotations

import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.packs import learn
from corpuscle.packs.systems.tagger import TAGGER
from corpuscle.samples import generate
from corpuscle.tag import Tagger
from corpuscle.text import read_conllu, write_conllu
from corpuscle.text.heldout import held_sentences
from tests.packs.kits import findings
from tests.packs.pages import Page


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagged")
    (folder / "kit").mkdir()
    write_conllu(generate(seed=1, sentences=100).treebank()[:80], folder / "kit" / "tagged.conllu")
    learn(folder / "kit", folder / "pack", steps=[TAGGER])
    return folder


def test_annotated_sentences_give_a_tagger_with_its_accuracy_on_unseen_ones(tagged):
    found, bank = findings(tagged / "pack", "tagger"), read_conllu(tagged / "kit" / "tagged.conllu")
    held, _ = held_sentences(bank.corpus, 1)
    assert found["held_out"] == held.sum() and found["sentences"] == len(bank)
    figures = found["measures"]
    assert 0.6 < figures["upos"] <= 1 and figures["upos_low"] <= figures["upos"] <= figures["upos_high"]
    assert figures["all"] <= figures["upos"] and sum(row["words"] for row in found["tags"]) == figures["words"]
    model = corpuscle.load(tagged / "pack" / "models" / "tagger.model")
    assert isinstance(model, Tagger) and model.provenance_["sentences"] == len(bank)


def test_the_report_shows_tags_confusions_and_errors(tagged):
    found = findings(tagged / "pack", "tagger")
    page = Page((tagged / "pack" / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert "Tag by tag" in text and "Which tag is found for which" in text
    for _, word, _, given, wanted, _ in found["errors"]:
        assert given != wanted and word in text


def test_too_few_sentences_are_an_error_if_there_is_nothing_else(tmp_path, capsys):
    (tmp_path / "kit").mkdir()
    write_conllu(generate(seed=1, sentences=20).treebank()[:5], tmp_path / "kit" / "tagged.conllu")
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "tagged.conllu: only 5 annotated sentences" in capsys.readouterr().err
