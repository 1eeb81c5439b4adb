"""Claims about what ``corpuscle learn`` makes of translations and of names in two scripts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle import samples
from corpuscle.align import HMM, Model1
from corpuscle.align.lexicon import Entry
from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.packs import learn
from corpuscle.packs.alignments import ALIGNMENTS
from corpuscle.packs.transliterator import TRANSLITERATOR
from corpuscle.packs.unseen_pairs import doubts, measure_unseen
from corpuscle.text import Bitext, Corpus, read_bitext
from corpuscle.text.alignments import read_pharaoh
from corpuscle.transliterate import PhraseTransliterator
from tests.packs.pages import Page

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """A small sample: 400 pairs, 300 names."""
    folder = tmp_path_factory.mktemp("sample")
    samples.write(folder, sentences=60, pairs=400, names=300, notes=5, messages=5)
    return folder


def kit_of(folder: Path, sample: Path, *parts: str) -> Path:
    """Some files of the sample as a kit of their own."""
    for part in parts:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (folder / part).write_bytes((sample / part).read_bytes())
    return folder


@pytest.fixture(scope="module")
def aligned(tmp_path_factory, sample) -> Path:
    folder = tmp_path_factory.mktemp("aligned")
    kit = kit_of(folder / "kit", sample, "parallel/train.src", "parallel/train.tgt")
    for side in ("src", "tgt"):
        with open(kit / "parallel" / f"train.{side}", "a", encoding="utf-8") as file:
            file.write(f"{HOSTILE.replace(' ', '_')} & <b>\n" * 30)
    learn(kit, folder / "pack", steps=[ALIGNMENTS])
    return folder


def findings(pack: Path, step: str) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))["steps"][step]["findings"]


# ---- translations


def test_translations_give_a_model_links_and_a_dictionary(aligned, sample):
    pack = aligned / "pack"
    bitext = read_bitext(*(aligned / "kit" / "parallel" / f"train.{side}" for side in ("src", "tgt")))
    model = corpuscle.load(pack / "models" / "align.model")
    links = read_pharaoh(pack / "alignments.txt")
    links.check_range(bitext)
    assert len(links) == len(bitext) == 430 and links.links.tolist() == model.align(bitext).links.tolist()
    heading, *rows = [line.split("\t") for line in (pack / "dictionary.tsv").read_text(encoding="utf-8").splitlines()]
    assert heading[:3] == ["source", "target", "confidence"] and len(rows) == findings(pack, "align")["entries"] > 100
    for row in rows:
        assert len(row) == 8 and 0 < float(row[2]) < 1
        assert not row[6] or (row[0] in row[6].split() and row[1] in row[7].split())  # the example shows both words
    assert sum(bool(row[6]) for row in rows) > 0.5 * len(rows)


def test_figures_about_unseen_pairs_come_without_gold_and_say_that_something_was_learned(aligned):
    held = findings(aligned / "pack", "align")["held_out"]
    assert held["pairs"] == 43 and held["choices"] == 10
    assert held["found"] / held["asked"] > 0.5
    assert all(0.5 < share <= 1 for share in held["coverage"])
    found = findings(aligned / "pack", "align")
    for given, alone in zip(found["bits_with"], found["bits_without"], strict=True):
        assert given < alone


def test_nothing_but_the_pairs_is_read(aligned, sample, tmp_path):
    kit = kit_of(tmp_path / "kit", sample, "parallel/train.src", "parallel/train.tgt", "gold/alignments.txt")
    (kit / "gold" / "alignments.txt").write_text("no links at all\n")
    outcome = learn(kit, tmp_path / "pack", steps=[ALIGNMENTS])
    assert "gold/alignments.txt" in json.loads(outcome.report.with_suffix(".json").read_text())["not_used"]


def test_hostile_words_stay_words_in_report_and_dictionary(aligned):
    for name in ("report.html", "dictionary.html"):
        html = (aligned / "pack" / name).read_text(encoding="utf-8")
        page = Page(html)
        assert not {"img", "script"} & set(page.tags)
        own = {"dictionary.html", "dictionary.tsv"}
        assert all((link.startswith("#") and link[1:] in page.ids) or link in own for link in page.links)
        assert len(page.ids) == len(set(page.ids))
        assert "onerror" in "".join(page.text)


def test_the_report_draws_grids_shaded_by_probability(aligned):
    html = (aligned / "pack" / "report.html").read_text(encoding="utf-8")
    assert html.count("Unseen pair") >= 3 and "opacity=" in html
    grids = findings(aligned / "pack", "align")["grids"]
    for grid in grids:
        weights = np.array(grid["weights"])
        assert weights.shape == (len(grid["source"]), len(grid["target"])) and 0 <= weights.min() <= weights.max() <= 1


def test_pairs_that_were_mixed_up_are_found_suspicious(sample):
    bitext = read_bitext(sample / "parallel" / "train.src", sample / "parallel" / "train.tgt")
    mixed = np.arange(0, len(bitext), 20)
    order = np.arange(len(bitext))
    order[mixed] = np.roll(mixed, 1)
    shuffled = Bitext(bitext.source, bitext.target.select(order))
    halves = doubts(shuffled, lambda pairs, half: HMM().fit(pairs), 0.9, seed=1)
    suspicious = np.flatnonzero(halves.confidence <= halves.by_chance)
    right = np.setdiff1d(np.arange(len(bitext)), mixed)
    assert np.isin(mixed, suspicious).mean() > 0.7 and np.isin(right, suspicious).mean() < 0.25


def test_several_files_are_one_text_and_places_are_right(tmp_path, sample):
    for side in ("src", "tgt"):
        lines = (sample / "parallel" / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / "kit" / "parallel").mkdir(parents=True, exist_ok=True)
        (tmp_path / "kit" / "parallel" / f"a.{side}").write_text("".join(lines[:150]), encoding="utf-8")
        (tmp_path / "kit" / "parallel" / f"b.{side}").write_text("".join(lines[150:]), encoding="utf-8")
    learn(tmp_path / "kit", tmp_path / "pack", steps=[ALIGNMENTS])
    found = findings(tmp_path / "pack", "align")
    assert found["files"] == [["a.src", 150], ["b.src", 250]]
    for line in (tmp_path / "pack" / "suspicious.tsv").read_text(encoding="utf-8").splitlines():
        name, number, _, source, _ = line.split("\t")
        lines = (tmp_path / "kit" / "parallel" / name).read_text(encoding="utf-8").splitlines()
        assert lines[int(number) - 1].split() == source.split()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.src": 60, "a.tgt": 59}, "a.tgt: 59 lines, but"),
        ({"a.src": 60}, "a.src: the other language is missing: there is no a.tgt"),
        ({"a.tgt": 60}, "a.tgt: the other language is missing: there is no a.src"),
        ({"a.src": 3, "a.tgt": 3}, "parallel: only 3 sentence pairs; at least 50 are needed"),
    ],
)
def test_pairs_that_do_not_match_are_an_error_that_names_the_file(tmp_path, capsys, files, reason):
    (tmp_path / "kit" / "parallel").mkdir(parents=True)
    for name, lines in files.items():
        (tmp_path / "kit" / "parallel" / name).write_text("a b\n" * lines)
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert reason in capsys.readouterr().err


def test_two_files_with_the_same_name_are_an_error(tmp_path):
    (tmp_path / "kit" / "parallel").mkdir(parents=True)
    for name in ("a.src", "a.src.gz", "a.tgt"):
        (tmp_path / "kit" / "parallel" / name).write_text("x")
    with pytest.raises(InputError, match="which one is meant"):
        learn(tmp_path / "kit", tmp_path / "pack")


def test_likelihood_is_that_of_all_ways_to_link():
    """Model 1: each word comes from any word of the other side or from nothing, all alike."""
    bitext = Bitext(
        Corpus.from_sentences([["a", "b"], ["b"], ["c", "a", "c"]]),
        Corpus.from_sentences([["x", "y"], ["y"], ["z", "x"]]),
    )
    model = Model1(iterations=3, workers=1).fit(bitext)
    table, columns = model.tables_[0], model.couples_.columns

    def probability(source: str, target: int) -> float:
        first, last = model.couples_.row_starts[model.source_vocab_.id(source) :][:2]
        found = [k for k in range(first, last) if columns[k] == target]
        return float(table.couples[found[0]]) if found else float(table.couples[-1])

    total = 0.0
    for source, target in bitext:
        for word in target:
            id = model.target_vocab_.id(word)
            total += np.log((table.null[id] + sum(probability(s, id) for s in source)) / (len(source) + 1))
    assert model.log_likelihood(bitext)[0] == pytest.approx(total, rel=1e-5)
    assert model.log_likelihood(bitext[:0]).tolist() == [0, 0]


def test_unseen_pairs_are_measured_on_known_words_only():
    words = [[f"w{i}", f"w{(i * 7) % 20}"] for i in range(20)] * 5
    bitext = Bitext(Corpus.from_sentences(words), Corpus.from_sentences([[w.upper() for w in s] for s in words]))
    model = HMM(workers=1).fit(bitext)
    unseen = Bitext(
        Corpus.from_sentences([["w1", "new"], ["w2", "w3"]]), Corpus.from_sentences([["W1"], ["NEW", "W3"]])
    )
    measured = measure_unseen(model, unseen, seed=1)
    assert measured["coverage"] == [0.75, pytest.approx(2 / 3)]
    assert measured["choices"] == 2 and measured["found"] == measured["asked"] == 2
    halves = doubts(bitext, lambda pairs, half: HMM(workers=1).fit(pairs), 0.9, seed=1)
    assert all(bits < 1 for bits in halves.bits_with) and all(4 < bits < 5 for bits in halves.bits_without)


def test_confidence_of_an_entry_grows_with_its_evidence():
    once, often = (Entry("a", "b", links, 1.0, 1.0, 1.0).confidence for links in (1.0, 99.0))
    assert once == pytest.approx(0.5) and often == pytest.approx(0.99)
    assert Entry("a", "b", 5.0, 0.0, 0.0, 0.0).confidence == pytest.approx(0, abs=1e-6)


# ---- names


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
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "names.tsv:2: expected a source" in capsys.readouterr().err


# ---- stopping


def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(tmp_path, sample, aligned, named):
    parts = ("parallel/train.src", "parallel/train.tgt", "names.tsv")
    kit, one, two = kit_of(tmp_path / "kit", sample, *parts), tmp_path / "one", tmp_path / "two"
    assert main(["learn", str(kit), "-o", str(one), "-q"]) == 0
    command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(two), "--workers", "1"]
    for beginning in ("word alignment", "transliterator"):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith(beginning) and line.endswith("...\n"):
                    process.send_signal(signal.SIGINT)
                    break
            process.stderr.read()
            assert process.wait(100) in (130, 0)
    subprocess.run([*command, "-q"], check=True, capture_output=True)
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(two)) for path in two.rglob("*") if path.is_file())
    for name in set(names) - {"state.json", "report.json", "report.html"}:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    for step in ("align", "names"):
        assert findings(one, step) == findings(two, step)
