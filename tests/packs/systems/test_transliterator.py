"""Claims about what ``corpuscle learn`` makes of names in two scripts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.packs import learn
from corpuscle.packs.systems.transliterator import TRANSLITERATOR
from corpuscle.transliterate import PhraseTransliterator
from tests.packs.kits import findings, kit_of
from tests.packs.pages import Page


@pytest.fixture(scope="module")
def named(tmp_path_factory, sample) -> Path:
    folder = tmp_path_factory.mktemp("named")
    learn(kit_of(folder / "kit", sample, "names.tsv"), folder / "pack", steps=[TRANSLITERATOR])
    return folder


def test_names_give_a_transliterator_with_its_accuracy_on_unseen_names(named):
    found = findings(named / "pack", "names")
    assert found["pairs"] == 300 and found["held_out"] == 30
    figures = found["measures"]
    assert (
        0.5 < figures["acc"] <= figures["f_score"] <= 1 and figures["acc_low"] <= figures["acc"] <= figures["acc_high"]
    )
    model = corpuscle.load(named / "pack" / "models" / "names.model")
    assert isinstance(model, PhraseTransliterator) and model.provenance_["pairs"] == 300
    assert len(model.transliterate(["Apel"])[0]) == 1


def test_with_many_names_the_best_of_three_systems_is_in_the_pack(tmp_path, sample):
    pytest.importorskip("torch", reason="training needs the extra neural")
    network = {"embedding": 8, "state": 8, "max_epochs": 1}
    step = replace(TRANSLITERATOR, settings={**TRANSLITERATOR.settings, "neural_from": 100, "network": network})
    learn(kit_of(tmp_path / "kit", sample, "names.tsv"), tmp_path / "pack", steps=[step])
    found = findings(tmp_path / "pack", "names")
    assert found["rivals"].keys() == {"phrase", "neural", "combined"}
    assert found["measures"]["acc"] == max(found["rivals"].values()) == found["rivals"][found["chosen"]]
    text = "".join(Page((tmp_path / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert "Measured on the same unseen names" in text
    kinds = {"phrase": "PhraseTransliterator", "neural": "NeuralTransliterator", "combined": "CombinedTransliterator"}
    model = corpuscle.load(tmp_path / "pack" / "models" / "names.model")
    assert type(model).__name__ == kinds[found["chosen"]] and model.provenance_["pairs"] == 300
    assert len(model.transliterate(["Apel"])[0]) == 1


def test_the_report_shows_errors_and_a_lattice(named):
    found = findings(named / "pack", "names")
    page = Page((named / "pack" / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert "Ways to write" in text and "svg" in page.tags
    assert found["wrong"] == round((1 - found["measures"]["acc"]) * found["held_out"])
    for row in found["errors"]:
        assert row["found"] != row["wanted"] and row["source"] in text and row["wanted"] in text


@pytest.mark.parametrize(
    "lines, reason",
    [
        ("a\tb\n", "only 1 name"),
        ("a b c\td\n" * 120, "all names are the same"),
        ("".join(f"a b {i}\tc d\n" for i in range(120)), "no pair can be used: different numbers of words"),
    ],
)
def test_names_of_which_nothing_can_be_learned_are_an_error_if_there_is_nothing_else(tmp_path, capsys, lines, reason):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "names.tsv").write_text(lines)
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and f"names.tsv: {reason}" in error


def test_a_broken_line_of_names_is_an_error_with_its_place(tmp_path, capsys):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "names.tsv").write_text("a\tb\nc\n")
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q", "--strict"]) == 2
    assert "names.tsv:2: expected a source" in capsys.readouterr().err
