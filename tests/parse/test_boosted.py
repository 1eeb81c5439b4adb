"""Boosted parsers: between the two parsers that they are made of, by a weight that is the best of all."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.parse import BoostedParser, MstParser, PairParser
from corpuscle.samples import generate
from corpuscle.text import write_conllu
from tests.hostile import survives_hostile_edits


@pytest.fixture(scope="module")
def bank():
    return generate(seed=2, sentences=150).treebank()[:140]


@pytest.fixture(scope="module")
def parts(bank):
    base = MstParser(passes=1, hash_bits=14, relation_bits=8, decode="projective").fit(bank[:25])
    return base, PairParser(passes=20, hash_bits=14, relation_bits=8, tag_layer="upos").fit(bank[25:100])


def test_without_weight_it_is_the_base_and_with_much_the_classifier(bank, parts):
    boosted = BoostedParser(*parts)
    new = bank[100:]
    assert boosted.parse(new).heads.tolist() == parts[0].parse(new).heads.tolist()
    boosted.weight_ = 1e9
    assert boosted.parse(new).heads.tolist() == parts[1].parse(new).heads.tolist()


def test_the_weight_is_the_best_of_a_dense_grid(bank, parts):
    dev = bank[100:]
    boosted = BoostedParser(*parts, max_weight=3.0).fit(dev)
    found = boosted.weight_, boosted.right_
    assert 0.0 <= found[0] <= 3.0
    assert (boosted.parse(dev).heads == dev.heads).mean() == pytest.approx(found[1])
    for weight in np.linspace(0, 3, 40).tolist():
        boosted.weight_ = weight
        assert (boosted.parse(dev).heads == dev.heads).mean() <= found[1] + 1e-12


def test_the_command_makes_one_file_of_two(bank, parts, tmp_path, capsys):
    for part, name in zip(parts, ("base", "pairs"), strict=True):
        part.save(tmp_path / name)
    dev, out = str(tmp_path / "dev.conllu"), str(tmp_path / "out")
    write_conllu(bank[100:], dev)
    names = [str(tmp_path / name) for name in ("base", "pairs")]
    assert main(["parse", "boost", *names, "--dev", dev, "-o", out, "--max-weight", "2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["uas_dev"] >= figures["uas_dev_base"] and 0 <= figures["weight"] <= 2
    assert main(["parse", "evaluate", dev, "--model", out, "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again["uas"] == pytest.approx(figures["uas_dev"]) and again["overlap_tuning"] == 1.0
    loaded = corpuscle.load(out)
    listed = loaded.k_best(bank[100:104], 3)
    assert [trees[0][0].tolist() for trees in listed] == [
        loaded.parse(bank[i : i + 1]).heads.tolist() for i in range(100, 104)
    ]
    assert main(["parse", "boost", *names[::-1], "--dev", dev, "-o", str(tmp_path / "new")]) == 2
    assert "a model of kind parse.pairs" in capsys.readouterr().err


def test_hostile_files_of_boosted_parsers_are_refused(bank, tmp_path):
    small = {"hash_bits": 10, "relation_bits": 8, "passes": 1}
    base = MstParser(decode="projective", **small).fit(bank[:5])
    BoostedParser(base, PairParser(tag_layer="upos", **small).fit(bank[5:10])).fit(bank[10:12]).save(tmp_path / "m")

    def use(path):
        loaded = corpuscle.load(path)
        loaded.annotate(bank[12:14], confidence=True)
        loaded.k_best(bank[12:13], 2)

    assert survives_hostile_edits(tmp_path / "m", use, edits=80) > 20
