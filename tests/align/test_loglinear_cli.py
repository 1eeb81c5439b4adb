"""``corpuscle align`` with the log-linear model: features of one's own, weights, several best alignments, oracles."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import corpuscle
from corpuscle.align import LogLinear
from corpuscle.cli.main import main
from corpuscle.text.alignments import write_pharaoh
from tests.align.test_models import SAMPLE, TRUTH
from tests.schemas import FRACTION, last_line_conforms


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A part of the sampled text, its links, a table of features, and models."""
    folder = tmp_path_factory.mktemp("loglinear")
    for corpus, name in (SAMPLE.source, "s"), (SAMPLE.target, "t"):
        (folder / name).write_text("".join(" ".join(words) + "\n" for words in corpus[:150]))
    write_pharaoh(TRUTH[:150], folder / "gold")
    lines = []
    for k in range(150):
        source, target = SAMPLE.source.words(k), SAMPLE.target.words(k)
        lines += [f"{source[i].upper()}\t{target[j]}\tdictionary\t1\n" for i, j in TRUTH.pair(k).tolist()]
    (folder / "features").write_text("".join(sorted(set(lines))))
    texts = [str(folder / "s"), str(folder / "t")]
    more = ["--passes", "2", "--classes", "5", "-q"]
    features = ["--features", str(folder / "features"), "--lowercase"]
    assert main(["align", "train", *texts, "-o", str(folder / "m"), "--method", "loglinear", *features, *more]) == 0
    assert main(["align", "train", *texts, "-o", str(folder / "hmm"), "-q", "--method", "hmm"]) == 0
    return folder


def texts(folder: Path) -> list[str]:
    return [str(folder / "s"), str(folder / "t")]


def test_training_with_a_table_of_features(folder, capsys) -> None:
    model = corpuscle.load(folder / "m")
    assert isinstance(model, LogLinear) and model.user_.names == ["dictionary"]
    assert dict(model.learned_features(0))["user dictionary"] > 0
    arguments = ["--json", "--source", texts(folder)[0], "--target", texts(folder)[1], "--model", str(folder / "m")]
    capsys.readouterr()
    assert main(["align", "evaluate", str(folder / "gold"), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["aer"] < 0.3


def test_some_families_and_another_neighbourhood(folder, tmp_path, capsys) -> None:
    more = [
        "--families",
        "jump,pair",
        "--neighbourhood",
        "cooc",
        "--null-jump",
        "remember",
        "--beta",
        "1",
        "--seed",
        "7",
    ]
    path = tmp_path / "m"
    command = ["align", "train", *texts(folder), "-o", str(path), "--method", "loglinear", "--passes", "1"]
    assert main([*command, *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "loglinear"
    model = corpuscle.load(path)
    assert (model.families, model.neighbourhood, model.null_jump) == (("jump", "pair"), "cooc", "remember")
    assert (model.beta, model.seed) == (1.0, 7)
    assert {name.split("_")[0].split()[0] for name, _ in model.learned_features(0)} == {"pair", "jump"}


def weights_of(folder, capsys, *options):
    capsys.readouterr()
    assert main(["align", "weights", str(folder / "m"), *options]) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_the_published_learner_is_there_on_the_command_line(folder, tmp_path) -> None:
    """Stochastic gradients of single pairs with one rate, as in the paper; nothing of it is Python only."""
    given = "--rate 0.05 --batch 1 --no-adaptive --no-agreement --decay 0.85 --beta 0.4 --passes 1 --romanise latin"
    train = ["align", "train", str(folder / "s"), str(folder / "t"), "-o", str(tmp_path / "m"), "--method", "loglinear"]
    assert main([*train, *given.split()]) == 0
    model = corpuscle.load(tmp_path / "m")
    assert (model.rate, model.batch, model.adaptive, model.agreement) == (0.05, 1, False, False)
    assert model.romanise == "latin"


def test_weights_are_listed_the_strongest_first(folder, capsys) -> None:
    capsys.readouterr()
    assert main(["align", "weights", str(folder / "m"), "--top", "20"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["forward"] * 20 + ["backward"] * 20
    sizes = [abs(float(row[2])) for row in rows[:20]]
    assert sizes == sorted(sizes, reverse=True)
    whole = weights_of(folder, capsys)
    for top in 1, 10:
        by_family = weights_of(folder, capsys, "--family", *(["--top", str(top)] if top != 10 else []))
        for direction in "forward", "backward":
            listed = [name for way, name, _ in by_family if way == direction]
            families = [name.split()[0].partition("_")[0] for name in listed]
            for family in dict.fromkeys(families):
                known = [n for way, n, _ in whole if way == direction and n.split()[0].partition("_")[0] == family]
                assert [n for n, own in zip(listed, families, strict=True) if own == family] == known[:top]
            assert len(dict.fromkeys(families)) > 3 and families == sorted(families, key=families.index)
    assert main(["align", "weights", str(folder / "hmm")]) == 2
    assert "align.hmm, where align.loglinear is needed" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["m", "hmm"])
def test_the_best_alignments_of_each_pair(folder, capsys, model) -> None:
    capsys.readouterr()
    command = ["align", "apply", str(folder / model), *texts(folder), "--symmetrise", "backward"]
    assert main([*command, "--nbest", "3"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert main(command) == 0
    links = capsys.readouterr().out.splitlines()
    assert [row[3] for row in rows if row[1] == "1"] == links
    assert [int(row[0]) for row in rows if row[1] == "3"] == list(range(1, 151))
    assert all(float(a[2]) >= float(b[2]) for a, b in pairwise(rows) if a[0] == b[0])


def test_the_oracle_of_a_neighbourhood(folder, capsys) -> None:
    schema = {"neighbourhood": str} | {f"aer_{way}": FRACTION for way in ("forward", "backward")}
    schema |= {f"couples_{way}": int for way in ("forward", "backward")}
    found = {}
    for name in ("eb-model1", "model1", "cooc"):
        command = ["align", "evaluate", str(folder / "gold"), "--oracle", name, "--json"]
        command += ["--source", texts(folder)[0], "--target", texts(folder)[1], "--train", *texts(folder)]
        capsys.readouterr()
        assert main(command) == 0
        out = capsys.readouterr().out
        last_line_conforms(out, schema)
        found[name] = json.loads(out)
    assert found["cooc"]["aer_forward"] == 0 < found["eb-model1"]["aer_forward"] < 0.3
    assert found["eb-model1"]["couples_forward"] < found["cooc"]["couples_forward"]
    assert main(["align", "evaluate", str(folder / "gold"), "--oracle", "cooc"]) == 2


def test_bad_input_is_one_clear_line_and_exit_code_2(folder, capsys, tmp_path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("s1\tt1\tgood\t1\ns1\tt1\tgood\tmuch\n")
    out = ["-o", str(tmp_path / "m")]
    loglinear = [*texts(folder), *out, "--method", "loglinear"]
    model = str(folder / "m")
    for arguments, reason in [
        (["train", *loglinear, "--features", str(bad)], f"{bad}:2: 'much' is not a number"),
        (["train", *loglinear, "--families", "pair,magic"], "families is some of"),
        (["train", *loglinear, "--neighbourhood", "magic"], "neighbourhood is one of"),
        (["train", *loglinear, "--p0", "0.1"], "--p0 means nothing with --method loglinear"),
        (
            ["train", *texts(folder), *out, "--features", str(folder / "features")],
            "--features means nothing with",
        ),
        (["train", *texts(folder), *out, "--method", "hmm", "--beta", "1"], "--beta means nothing with --method hmm"),
        (["apply", model, *texts(folder), "--nbest", "3"], "one direction"),
        (["apply", model, *texts(folder), "--nbest", "3", "--all", str(tmp_path / "x")], "nothing else"),
        (["update", model, *texts(folder), *out], "learn from all the text"),
        (["evaluate", str(folder / "gold"), "--oracle", "cooc"], "--oracle needs"),
    ]:
        assert main(["align", *arguments]) == 2, arguments
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("error: ") and reason in error, (arguments, error)
    assert not (tmp_path / "m").exists()
