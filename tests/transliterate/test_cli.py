"""``corpuscle transliterate``: the contract of the command line."""

import itertools
import json

import pytest

from corpuscle.cli.main import main
from corpuscle.transliterate import FEATURES
from tests.schemas import FRACTION, last_line_conforms
from tests.transliterate.test_phrase import cipher

TRAINED = {
    "method": str, "pairs": int, "tuning_pairs": int, "entries": int, "metric": str | None, "rounds": int,
    "tuning_value": float | None, "weights": {str: float}, "seconds": float, "model": str,
}  # fmt: skip
FIGURES = ("acc", "f_score", "mrr", "map_ref")
MEASURED = (
    {name + end: FRACTION for name in FIGURES for end in ("", "_low", "_high")}
    | {"names": int, "low": FRACTION, "high": FRACTION, "deviation": float, "signature": str}
    | {"overlap_training?": FRACTION, "overlap_tuning?": FRACTION}
)


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """Pairs and a model of them."""
    folder = tmp_path_factory.mktemp("transliterate")
    pairs = cipher(1, 330)
    for name, part in ("train", pairs[:300]), ("test", pairs[300:]):
        (folder / f"{name}.tsv").write_text("".join(f"{p.source}\t{p.targets[0]}\n" for p in part), encoding="utf-8")
    (folder / "names.txt").write_text("".join(f"{p.source}\n" for p in pairs[300:]) + "\nabc dea\n", encoding="utf-8")
    (folder / "dev.tsv").write_text("a b c\tA B\n")
    arguments = ["--restarts", "1", "--rounds", "2", "-q"]
    assert main(["transliterate", "train", str(folder / "train.tsv"), "-o", str(folder / "m"), *arguments]) == 0
    return folder


def test_training_prints_its_figures(kit, capsys):
    command = ["transliterate", "train", f"{kit}/train.tsv", "-o", f"{kit}/m2", "--dev", f"{kit}/test.tsv", "--json"]
    assert main([*command, "--restarts", "0", "--rounds", "1", "--metric", "acc"]) == 0
    result = last_line_conforms(capsys.readouterr().out, TRAINED)
    assert result["pairs"] == 300 and result["tuning_pairs"] == 30


def test_apply_prints_one_target_a_line_or_ranked_ones(kit, capsys):
    assert main(["transliterate", "apply", f"{kit}/m", f"{kit}/names.txt"]) == 0
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert len(lines) == 32 and lines[30] == "" and " " in lines[31]
    assert main(["transliterate", "apply", f"{kit}/m", f"{kit}/names.txt", "--nbest", "3"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.split("\n")[:-1]]
    assert all(len(row) == 4 for row in rows) and rows[0][1:3] == ["1", lines[0]]
    for before, row in itertools.pairwise(rows):
        assert row[1] in ("0", "1") or (row[1] == str(int(before[1]) + 1) and float(before[3]) >= float(row[3]))
    assert sum(row[1] in ("0", "1") for row in rows) == 32


def test_capitals_are_kept_and_letters_that_cannot_be_spelled_are_named(kit, capsys, tmp_path):
    name = (kit / "test.tsv").read_text(encoding="utf-8").split("\t")[0]
    (tmp_path / "names").write_text(f"{name}\n{name.title()}\n{name.upper()}\n{name}ж\n", encoding="utf-8")
    assert main(["transliterate", "apply", f"{kit}/m", f"{tmp_path}/names"]) == 0
    said = capsys.readouterr()
    lower, title, upper, copied = said.out.splitlines()
    assert (title, upper) == (lower.title(), lower.upper()) and lower != title and copied.startswith(lower)
    assert said.err.endswith("could not be spelled, with the names they are in: ж (1)\n") and said.err.count("\n") == 1
    assert main(["transliterate", "apply", f"{kit}/m", f"{tmp_path}/names", "--case", "lower", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [lower] * 3


def test_evaluation_of_a_model_and_of_its_output_agree(kit, capsys):
    assert main(["transliterate", "evaluate", f"{kit}/test.tsv", "--model", f"{kit}/m", "--json"]) == 0
    direct = last_line_conforms(capsys.readouterr().out, MEASURED)
    assert direct["acc"] > 0.7 and direct["overlap_training"] == 0.0
    sources = "".join(line.split("\t")[0] + "\n" for line in (kit / "test.tsv").read_text().splitlines())
    (kit / "sources.txt").write_text(sources)
    for format, name in ("tsv", "out.tsv"), ("news", "out.xml"):
        command = ["transliterate", "apply", f"{kit}/m", f"{kit}/sources.txt", "--nbest", "20", "--format", format]
        assert main([*command, "-o", f"{kit}/{name}"]) == 0
        capsys.readouterr()
        assert main(["transliterate", "evaluate", f"{kit}/test.tsv", f"{kit}/{name}", "--json"]) == 0
        again = last_line_conforms(capsys.readouterr().out, MEASURED)
        assert all(again[figure] == direct[figure] for figure in FIGURES)
    command = ["transliterate", "evaluate", f"{kit}/test.tsv", f"{kit}/out.tsv", "--at", "1", "--at", "20", "--json"]
    assert main(command) == 0
    ranked = last_line_conforms(capsys.readouterr().out, MEASURED | {"acc_at_1": FRACTION, "acc_at_20": FRACTION})
    assert ranked["acc_at_1"] == direct["acc"] <= direct["mrr"] <= ranked["acc_at_20"]


def test_export_weights_drawing_and_json(kit, capsys):
    assert main(["transliterate", "export", f"{kit}/m"]) == 0
    first = capsys.readouterr().out.split("\n")[0].split(" ||| ")
    assert len(first) == 5 and len(first[2].split()) == 4 and len(first[4].split()) == 3
    assert main(["transliterate", "weights", f"{kit}/m"]) == 0
    weights = json.loads(capsys.readouterr().out)
    (kit / "w.json").write_text(json.dumps(weights | {"language": 0.9}))
    assert main(["transliterate", "weights", f"{kit}/m", "--set", f"{kit}/w.json", "-o", f"{kit}/m3"]) == 0
    assert main(["transliterate", "weights", f"{kit}/m3"]) == 0
    assert json.loads(capsys.readouterr().out)["language"] == 0.9
    assert main(["transliterate", "draw", f"{kit}/m", "abcd", "-o", f"{kit}/l.svg"]) == 0
    assert (kit / "l.svg").read_text().startswith("<svg")
    assert main(["transliterate", "apply", f"{kit}/m", f"{kit}/names.txt", "--format", "json", "--sum"]) == 0
    assert json.loads(capsys.readouterr().out.split("\n")[0])["candidates"]


def test_the_way_back_and_news_files(kit, capsys):
    xml = ["<TransliterationCorpus>"]
    for number, line in enumerate((kit / "train.tsv").read_text(encoding="utf-8").splitlines()[:100]):
        source, target = line.split("\t")
        names = f'<SourceName>{source}</SourceName><TargetName ID="1">{target}</TargetName>'
        xml.append(f'<Name ID="{number}">{names}</Name>')
    (kit / "train.xml").write_text("\n".join([*xml, "</TransliterationCorpus>"]), encoding="utf-8")
    assert main(["transliterate", "train", f"{kit}/train.xml", "-o", f"{kit}/back", "--reverse", "--no-tune"]) == 0
    assert main(["transliterate", "evaluate", f"{kit}/train.xml", "--reverse", "--model", f"{kit}/back", "--json"]) == 0
    assert last_line_conforms(capsys.readouterr().out, MEASURED)["acc"] > 0.8


@pytest.mark.parametrize("value", ["1" + 400 * "0", "Infinity", "NaN", "true"])
def test_weights_that_are_not_finite_numbers_are_refused(kit, capsys, value):
    weights = ", ".join(f'"{name}": {value}' for name in FEATURES)
    (kit / "huge.json").write_text(f"{{{weights}}}")
    assert main(["transliterate", "weights", f"{kit}/m", "--set", f"{kit}/huge.json", "-o", f"{kit}/x"]) == 2
    assert "huge.json: expected 8 finite weights" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["train", "{kit}/names.txt", "-o", "{kit}/x"], "names.txt:1: expected a source and at least one target"),
        (["train", "{kit}/train.tsv", "-o", "{kit}/x", "--method", "rules"], "'rules' is not one of"),
        (
            ["train", "{kit}/train.tsv", "-o", "{kit}/x", "--dev", "{kit}/dev.tsv"],
            "dev.tsv: no development pair can be used: different numbers of words",
        ),
        (
            ["train", "{kit}/train.tsv", "-o", "{kit}/x", "--dev", "{kit}/test.tsv", "--no-tune"],
            "development pairs are for tuning",
        ),
        (["train", "{kit}/none.tsv", "-o", "-"], "a model cannot go to stdout"),
        (["train", "{kit}/none.tsv", "-o", "{kit}/x", "--symmetrise", "foo"], "symmetrise is one of"),
        (["weights", "{kit}/m", "--set", "{kit}/none.json", "-o", "-"], "a model cannot go to stdout"),
        (["evaluate", "{kit}/test.tsv"], "give either an OUTPUT"),
        (["evaluate", "{kit}/test.tsv", "{kit}/names.txt"], "32 names"),
        (["weights", "{kit}/m", "--set", "{kit}/names.txt", "-o", "{kit}/x"], "not JSON"),
        (["apply", "{kit}/m", "{kit}/names.txt", "--format", "pdf"], "--format is one of tsv, json, news; not 'pdf'"),
        (["draw", "{kit}/m", "two words"], "one word is needed"),
    ],
)
def test_bad_usage_and_bad_input_are_one_line(kit, capsys, arguments, reason):
    assert main(["transliterate", *(argument.format(kit=kit) for argument in arguments)]) == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert error.startswith("error: ") and reason in error
