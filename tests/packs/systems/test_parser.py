"""Claims about what ``corpuscle learn`` makes of annotated sentences with trees."""

from __future__ import annotations

from pathlib import Path

import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.packs import learn
from corpuscle.packs.systems.parser import PARSER
from corpuscle.parse import MstParser
from corpuscle.samples import generate
from corpuscle.text import read_conllu, write_conllu
from tests.packs.kits import findings
from tests.packs.pages import Page


@pytest.fixture(scope="module")
def parsed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("parsed")
    (folder / "kit").mkdir()
    write_conllu(generate(seed=1, sentences=130).treebank(), folder / "kit" / "tagged.conllu")
    learn(folder / "kit", folder / "pack", steps=[PARSER])
    return folder


def test_trees_give_a_parser_with_its_accuracy_on_unseen_sentences(parsed):
    found, bank = findings(parsed / "pack", "parser"), read_conllu(parsed / "kit" / "tagged.conllu")
    assert found["sentences"] == len(bank) and 0 < found["held_out"] < len(bank) / 4
    figures = found["measures"]
    assert 0.5 < figures["las"] <= figures["uas"] <= 1 and figures["uas_low"] <= figures["uas"] <= figures["uas_high"]
    sizes = [point[0] for point in found["curve"]]
    assert sizes == sorted(sizes) and sizes[-1] == len(bank) - found["held_out"]
    assert found["curve"][-1][1] == figures["uas"]
    model = corpuscle.load(parsed / "pack" / "models" / "parser.model")
    assert isinstance(model, MstParser) and model.provenance_["sentences"] == len(bank)


def test_the_report_shows_the_curve_the_hardest_relations_and_parses(parsed):
    found = findings(parsed / "pack", "parser")
    page = Page((parsed / "pack" / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert "How good with how many trees" in text and page.tags.count("svg") >= 1 + len(found["examples"])
    assert all(row["name"] in text for row in found["worst"]) and found["examples"]
    assert [row["las"] for row in found["worst"]] == sorted(row["las"] for row in found["worst"])


def test_sentences_without_trees_are_left_out(tmp_path, capsys):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "tagged.conllu").write_text("1\ta\t_\tN\t_\t_\t_\t_\t_\t_\n\n" * 60)
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 0  # tags are enough to tag
    assert "the words have no heads" in (tmp_path / "pack" / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "pack" / "models").iterdir()] == ["tagger.model"]
    (tmp_path / "kit" / "tagged.conllu").write_text("1\ta\t_\tN\t_\t_\t1\tx\t_\t_\n\n" * 60)
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "tagged.conllu:1: sentence 1" in capsys.readouterr().err
