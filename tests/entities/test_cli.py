"""The commands: from documents to a model and back to documents, and what they refuse."""

import json

import pytest

from corpuscle.cli.main import main
from corpuscle.text import read_brat, read_standoff_json
from tests.schemas import FRACTION, conforms, last_line_conforms

MANY = {
    f"{kind}_{figure}{edge}": FRACTION
    for kind in ("strict", "relaxed", "simple", "complex", "discontinuous")
    for figure in ("precision", "recall", "f1")
    for edge in ("", "_low", "_high")
}
EVALUATE = MANY | {
    "gold": int, "found": int, "documents": int, "simple_gold": int, "complex_gold": int, "discontinuous_gold": int,
    "low": FRACTION, "high": FRACTION, "deviation": float, "signature": str, "overlap_training?": FRACTION,
    "overlap_tuning?": FRACTION, "by_type?": [{str: float | int | str}],
}  # fmt: skip
TRAIN = {
    "method": str, "documents": int, "sentences": int, "words": int, "mentions": int, "types": int, "lost": int,
    "expressible": FRACTION, "features": int, "weights": int, "templates": int, "iterations": int, "nc": str,
    "tuned": [str], "seconds": float,
}  # fmt: skip


GUESSES = {
    "document": str, "words": [str],
    "guesses": [{"probability": FRACTION, "mentions": [{"type": str, "tokens": [int]}]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit") / "sample"
    sizes = ["--sentences", "300", "--pairs", "10", "--names", "10", "--notes", "60", "--messages", "5"]
    assert main(["samples", "write", str(folder), *sizes, "-q"]) == 0
    train = ["entities", "train", str(folder / "entities"), "-o", str(folder / "m"), "--iterations", "40", "-q"]
    assert main(train) == 0
    return folder


def test_train_and_evaluate_say_what_their_schemas_say(kit, capsys):
    command = ["entities", "train", str(kit / "entities"), "-o", str(kit / "n"), "--iterations", "3", "--json", "-q"]
    assert main(command) == 0
    figures = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert figures["iterations"] == 3 and figures["types"] == 4
    gold, model = str(kit / "gold/entities"), str(kit / "m")
    assert main(["entities", "evaluate", gold, "--model", model, "--by-type", "--json"]) == 0
    figures = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert figures["strict_f1"] > 0.6 and figures["relaxed_f1"] > figures["strict_f1"]


def test_guesses_and_pictures(kit, capsys, tmp_path):
    gold, model = str(kit / "gold/entities"), str(kit / "m")
    assert main(["entities", "apply", model, gold, "--nbest", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for row in rows:
        conforms(row, GUESSES)
        assert 1 <= len(row["guesses"]) <= 3 and sum(each["probability"] for each in row["guesses"]) <= 1 + 1e-9
    page, picture = tmp_path / "x.html", tmp_path / "x.svg"
    assert main(["entities", "draw", gold, "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") == len(rows) and "Content-Security-Policy" in text
    assert main(["entities", "draw", gold, "--model", model, "-o", str(picture), "--sentence", "2"]) == 0
    assert picture.read_text("utf-8").startswith("<svg")
    for bad, said in ((["-o", "x.gif"], "-o is a page"), (["-o", str(page), "--sentence", "1"], "goes with a picture"),
                      (["-o", str(picture), "--sentence", "99999"], "none of number 99,999")):  # fmt: skip
        assert main(["entities", "draw", gold, *bad]) == 2 and said in capsys.readouterr().err
    assert main(["entities", "apply", model, gold, "--nbest", "2", "--confidence"]) == 2
    assert "--nbest writes JSON lines" in capsys.readouterr().err


def test_every_format_that_is_written_is_read_back_with_the_same_figures(kit, capsys, tmp_path):
    gold, model = str(kit / "gold/entities"), str(kit / "m")
    main(["entities", "evaluate", gold, "--model", model, "--json"])
    wanted = json.loads(capsys.readouterr().out.splitlines()[-1])["strict_f1"]
    for form, name in (("brat", "b"), ("jsonl", "b.jsonl")):
        assert main(["entities", "apply", model, gold, "-o", str(tmp_path / name), "--format", form]) == 0
        assert main(["entities", "evaluate", gold, str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["strict_f1"] == wanted
    sure = tmp_path / "c.jsonl"
    main(["entities", "apply", model, gold, "-o", str(sure), "--confidence"])
    values = [float(m.attributes[0].value) for each in read_standoff_json(sure) for m in each.mentions]
    assert values and all(0 <= value <= 1 for value in values)
    columns = tmp_path / "d.bio"
    assert main(["entities", "apply", model, gold, "-o", str(columns), "--format", "bio"]) == 0
    assert "\tDB-DISORDER\n" in columns.read_text(encoding="utf-8")
    assert main(["entities", "evaluate", str(columns), "--model", model]) == 0


def test_uncertain_sentences_features_and_errors(kit, capsys, tmp_path):
    gold, model = str(kit / "gold/entities"), str(kit / "m")
    assert main(["entities", "uncertain", model, gold, "--most", "3", "--json"]) == 0
    shape = {"sentences": [{"document": str, "confidence": FRACTION, "text": str, "found": str}]}
    rows = last_line_conforms(capsys.readouterr().out, shape)["sentences"]
    assert len(rows) == 3 and rows[0]["confidence"] <= rows[2]["confidence"]
    assert main(["entities", "features", model, "--label", "B-PERSON", "--json"]) == 0
    shape = {"features": [{"label": str, "feature": str, "weight": float}]}
    assert all(row["label"] == "B-PERSON" for row in last_line_conforms(capsys.readouterr().out, shape)["features"])
    assert main(["entities", "evaluate", gold, "--model", model, "--errors", str(tmp_path / "e.tsv")]) == 0
    lines = (tmp_path / "e.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == ["document", "error", "mention", "found", "text"] and len(lines) > 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("train {empty} -o x", "empty.jsonl: there are no mentions to learn from"),
        ("train {kit}/entities -o x --method dictionary --gazetteer {empty}", "--gazetteer means nothing"),
        ("train {kit}/entities -o x --gazetteer {empty}", "empty.jsonl: there are no entries"),
        ("apply {kit}/m {kit}/noisy.txt --format brat", "writes a folder"),
        ("apply {kit}/m {kit}/noisy.txt --format bio --confidence", "no place for --confidence"),
        ("apply {kit}/m {kit}/entities --format brat -o {kit}/entities", "which is read"),
        ("evaluate {kit}/gold/entities", "give a file of found mentions, or --model"),
        ("evaluate {kit}/gold/entities {kit}/entities", "gold documents, but"),
        ("features {kit}/m --label Q", "there is no tag 'Q'"),
    ],
)
def test_what_is_refused(kit, capsys, tmp_path, monkeypatch, words, reason):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["entities", *words.format(kit=kit, empty=empty).split()]) == 2
    said = capsys.readouterr().err
    assert reason in said and said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl"]


def test_an_offset_outside_of_the_text_is_named(kit, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("short", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tX 0 50\tshort\n", encoding="utf-8")
    assert main(["entities", "train", str(tmp_path), "-o", str(tmp_path / "m")]) == 2
    assert "a.ann:1:" in capsys.readouterr().err


def test_empty_and_huge_documents_are_tagged(kit, tmp_path):
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    (tmp_path / "long.txt").write_text("Tisatoke to jesonad " * 5000, encoding="utf-8")
    for name in ("empty", "long"):
        out = tmp_path / f"{name}.jsonl"
        assert main(["entities", "apply", str(kit / "m"), str(tmp_path / f"{name}.txt"), "-o", str(out), "-q"]) == 0
        assert len(read_standoff_json(out)) == 1
    assert len(read_brat(str(kit / "entities"))) > 1
