"""A kit with bracketed trees gives a constituency parser."""

import json

import corpuscle
from corpuscle.cli.main import main
from corpuscle.samples import generate
from corpuscle.text import write_brackets


def learned(tmp_path, trees):
    kit, pack = tmp_path / "kit", tmp_path / "pack"
    kit.mkdir()
    write_brackets(trees, kit / "trees.mrg")
    code = main(["learn", str(kit), "-o", str(pack), "--quiet", "--workers", "1"])
    return code, pack


def test_trees_give_a_parser_its_figures_and_a_chapter(tmp_path):
    trees = generate(seed=2, sentences=90).trees()
    code, pack = learned(tmp_path, trees)
    assert code == 0
    found = json.loads((pack / "state.json").read_text())["steps"]["grammar"]["findings"]
    assert found["trees"] == 90 and 0 < found["measures"]["labelled_f1"] <= 1 and found["labels"] and found["examples"]
    page = (pack / "report.html").read_text()
    assert "Constituency parser" in page and "By label" in page and "corpuscle grammar parse" in page
    model = corpuscle.load(pack / "models" / "grammar.model")
    assert list(model.parse(trees.words[:2]).trees.words) == list(trees.words[:2])


def test_too_few_trees_are_left_out(tmp_path, capsys):
    _, pack = learned(tmp_path, generate(seed=2, sentences=10).trees())
    assert not (pack / "models" / "grammar.model").exists()
