"""Claims about what ``corpuscle learn`` makes of translations."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle.align import HMM, Model1
from corpuscle.align.evaluation import measure_unseen, score_by_halves
from corpuscle.align.lexicon import Entry, how_sure, kind_of, lexicon
from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.packs import learn
from corpuscle.packs.systems import dictionary
from corpuscle.packs.systems.alignments import ALIGNMENTS
from corpuscle.random import Random
from corpuscle.text import Bitext, Corpus, read_bitext, read_strings, read_xml
from corpuscle.text.alignments import read_pharaoh
from tests.packs.kits import findings, kit_of, plain_step, sentences, write_kit, write_pairs
from tests.packs.pages import Page

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def aligned(tmp_path_factory, sample) -> Path:
    folder = tmp_path_factory.mktemp("aligned")
    kit = kit_of(folder / "kit", sample, "parallel/train.src", "parallel/train.tgt")
    for side in ("src", "tgt"):
        with open(kit / "parallel" / f"train.{side}", "a", encoding="utf-8") as file:
            file.write(f"{HOSTILE.replace(' ', '_')} & <b>\n" * 30)
    learn(kit, folder / "pack", steps=[ALIGNMENTS])
    return folder


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
        assert len(row) == 10 and 0 < float(row[2]) < 1
        assert (row[9] == "seen once") == (float(row[3]) < 1.5) and row[8] in ("content", "frequent", "alike")
        assert not row[6] or all(row[i] in row[6 + i].lower().split() + row[6 + i].split() for i in (0, 1))
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
        assert "img" not in page.tags and page.tags.count("script") == (2 if name == "dictionary.html" else 0)
        own = {"dictionary.html", "dictionary.tsv", "dictionary.csv", "dictionary.lift"}
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
    halves = score_by_halves(shuffled, lambda pairs, half: HMM().fit(pairs), 0.9, seed=1)
    suspicious = np.flatnonzero(halves.surplus <= halves.by_chance)
    right = np.setdiff1d(np.arange(len(bitext)), mixed)
    assert np.isin(mixed, suspicious).mean() > 0.8 and np.isin(right, suspicious).mean() < 0.1


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
    assert "which one is meant" in learn(tmp_path / "kit", tmp_path / "pack").failed["align"][0]


def test_likelihood_is_that_of_all_ways_to_link():
    """Model 1: each word comes from any word of the other side or from nothing, all alike."""
    bitext = Bitext(
        Corpus.from_sentences([["a", "b"], ["b"], ["c", "a", "c"]]),
        Corpus.from_sentences([["x", "y"], ["y"], ["z", "x"]]),
    )
    model = Model1(passes=3, workers=1).fit(bitext)
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
    halves = score_by_halves(bitext, lambda pairs, half: HMM(workers=1).fit(pairs), 0.9, seed=1)
    assert all(bits < 1 for bits in halves.bits_with) and all(4 < bits < 5 for bits in halves.bits_without)


def test_confidence_of_an_entry_grows_with_its_evidence():
    once, often = (Entry("a", "b", links, 1.0, 1.0, 1.0) for links in (1.0, 99.0))
    assert once.strength == pytest.approx(0.5) and often.strength == pytest.approx(0.99)
    never = Entry("a", "b", 5.0, 0.0, 0.0, 0.0)
    assert never.strength == pytest.approx(0, abs=1e-6)
    assert 0 < never.confidence < once.confidence < often.confidence < 1


def test_what_was_linked_once_is_never_sure_and_counted_apart(aligned):
    found = findings(aligned / "pack", "align")
    rows = [line.split("\t") for line in (aligned / "pack" / "dictionary.tsv").read_text(encoding="utf-8").splitlines()]
    kinds = [row[9] for row in rows[1:]]
    assert set(kinds) <= {"seen once", "unsure", "likely", "sure"}
    assert kinds.count("seen once") == found["seen_once"] > 0 and kinds.count("sure") == found["sure"] > 0
    for name in ("report.html", "dictionary.html"):
        assert "seen once" in "".join(Page((aligned / "pack" / name).read_text(encoding="utf-8")).text)
    report = "".join(Page((aligned / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert f"{found['seen_once']:,} rest on a single link" in report
    assert how_sure(1.0, 0.9) == "seen once" and how_sure(1.4, 0.95) == "seen once" and how_sure(2.0, 0.9) == "sure"


def test_few_pairs_do_not_make_the_translation_misleading(sample):
    bitext = read_bitext(sample / "parallel" / "train.src", sample / "parallel" / "train.tgt")
    for n in (50, 120):
        halves = score_by_halves(bitext[:n], lambda pairs, half: HMM(workers=1).fit(pairs), 0.9, seed=1)
        assert all(w < alone for w, alone in zip(halves.bits_with, halves.bits_without, strict=True))


def test_translations_that_say_nothing_are_as_good_as_frequencies(bitext):
    mixed = Bitext(bitext.source, bitext.target.select(np.array(Random(1, "mixed").shuffled(range(len(bitext))))))
    halves = score_by_halves(mixed, lambda pairs, half: HMM(workers=1).fit(pairs), 0.9, seed=1)
    assert halves.bits_with == pytest.approx(halves.bits_without, rel=0.05)


def test_pairs_that_are_too_long_to_learn_from_are_left_out_with_their_folder(tmp_path):
    lines = [" ".join(["a"] * 101)] * 60 + ["b"] * 49
    kit = write_pairs(write_kit(tmp_path / "kit"), lines, lines)
    reason = "only 49 sentence pairs of at most 100 words; at least 50 are needed"
    outcome = learn(kit, tmp_path / "pack", steps=[plain_step("one", "text"), ALIGNMENTS])
    assert outcome.left_out == {"align": reason} and outcome.report.exists()
    with pytest.raises(InputError, match=f"parallel: {reason}"):
        learn(kit, tmp_path / "other", steps=[ALIGNMENTS])


@pytest.fixture
def bitext() -> Bitext:
    lines = sentences(120)
    return Bitext(*(Corpus.from_sentences([spell(line).split() for line in lines]) for spell in (str, str.upper)))


def test_pairs_without_a_known_word_on_one_side_are_not_in_the_bits(bitext):
    model = HMM(workers=1, passes=1).fit(bitext)
    more = Bitext(
        Corpus.from_sentences([*bitext.source, *([[f"new{i}"] for i in range(40)])]),
        Corpus.from_sentences([*bitext.target, *([["KA", "MI"]] * 40)]),
    )
    one, other = (score_by_halves(pairs, lambda pairs, half: model, 0.9, seed=1) for pairs in (bitext, more))
    assert other.bits_with == pytest.approx(one.bits_with)
    assert other.bits_without == pytest.approx(one.bits_without)


def test_pairs_with_an_empty_side_change_no_figure_of_the_others(bitext, tmp_path):
    source, target = ([" ".join(words) for words in side] for side in (bitext.source, bitext.target))
    blank = [""] * 30
    kits = {"plain": (source, target), "blank": (blank + source + source[:30] + blank, blank + target + blank * 2)}
    figures = {}
    for name, sides in kits.items():
        outcome = learn(write_pairs(tmp_path / name, *sides), tmp_path / f"{name}.pack", workers=1, steps=[ALIGNMENTS])
        figures[name] = outcome.chapters["align"].figures
        lines = (outcome.pack / "suspicious.tsv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == figures[name]["suspicious"] and all(all(line.split("\t")) for line in lines)
    assert figures["plain"] == figures["blank"] and figures["plain"]["pairs"] == 120


def test_the_right_translation_is_offered_with_different_ones_only(bitext, tmp_path):
    model = HMM(workers=1).fit(bitext)
    source, target = ("ka ka mi mi", "tor tor sen sen"), ("KA KA MI MI", "TOR TOR SEN SEN")
    repeated = Bitext(*(Corpus.from_sentences([line.split() for line in side * 20]) for side in (source, target)))
    figures = measure_unseen(model, repeated, seed=1)
    assert figures["choices"] == 2 and figures["found"] == figures["asked"] == 40
    kit = write_pairs(tmp_path / "kit", ["ka mi"] * 60, ["KA MI"] * 60)
    outcome = learn(kit, tmp_path / "pack", workers=1, steps=[ALIGNMENTS])
    assert outcome.chapters["align"].figures["found"] is None
    assert "they are all the same" in outcome.report.read_text(encoding="utf-8")


def test_places_of_pairs_have_one_column_whatever_the_name_of_the_file(bitext, tmp_path):
    source, target = ([" ".join(words) for words in side] for side in (bitext.source, bitext.target))
    kit = write_pairs(tmp_path / "kit", [*source, *["new"] * 3], [*target, "KA", "MI TOR", "SEN"])
    for side in (b"src", b"tgt"):
        folder = os.fsencode(kit / "parallel")
        os.rename(folder + b"/a." + side, folder + b"/\tt\xff." + side)
    outcome = learn(kit, tmp_path / "pack", workers=1, steps=[ALIGNMENTS])
    rows = [line.split("\t") for line in (outcome.pack / "suspicious.tsv").read_text(encoding="utf-8").splitlines()]
    assert rows and all(len(row) == 5 and row[0] == r"\tt\udcff.src" for row in rows)


def test_the_dictionary_is_one_in_all_its_forms(aligned):
    pack, found = aligned / "pack", findings(aligned / "pack", "align")
    rows = [line.split("\t") for line in (pack / "dictionary.tsv").read_text(encoding="utf-8").splitlines()]
    with open(pack / "dictionary.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == rows
    lift = read_xml(pack / "dictionary.lift")
    pairs = [
        (entry.findtext("lexical-unit/form/text"), sense.findtext("gloss/text"))
        for entry in lift.iter("entry")
        for sense in entry.iter("sense")
    ]
    assert sorted(pairs) == sorted((row[0], row[1]) for row in rows[1:]) and len(pairs) == found["entries"]
    page = (pack / "dictionary.html").read_text(encoding="utf-8")
    data = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', page)[1])
    assert len(data["entries"]) == found["on_page"] == found["entries"] and len(page) < 500_000
    for source, target, _, _, _, example in data["entries"]:
        if example >= 0:
            lines = data["examples"][example]
            assert all(
                word.lower() in line.lower().split() or "…" in line
                for word, line in zip((source, target), lines, strict=True)
            )
    order = [kind_of(Entry(e[0], e[1], 1.0, 1.0, 1.0, 1.0), set()) for e in data["entries"]]
    assert "content" not in order[order.index("alike") :]  # what is written alike comes last


def test_a_page_has_room_for_half_a_megabyte_and_no_more(monkeypatch):
    words = [f"word{i} is here" for i in range(300)]
    bitext = Bitext(read_strings(words), read_strings(words[::-1]))
    entries = [Entry(f"word{i}", f"wort{i}", 3.0, 0.5, 0.5, 0.5, i) for i in range(300)]
    monkeypatch.setattr(dictionary, "MOST_BYTES", 10_000)
    page, shown = dictionary.whole_page(entries, bitext, ("A", "B"), {"word0": "zero"})
    empty, _ = dictionary.whole_page([], bitext, ("A", "B"), {})
    assert 50 < shown < 300 and len(page) - len(empty) < 10_500 and "zero" in page


def test_capitals_at_the_beginning_of_sentences_make_no_entries_of_their_own():
    source = ["The dog", "the cat", "the dog", "The cat", "Anna"] * 4
    target = ["Der hund", "der kater", "der hund", "Der kater", "Anna"] * 4
    model = Model1().fit(Bitext(read_strings(source), read_strings(target)))
    apart, together = (lexicon(model, min_score=0.0, fold_case=fold) for fold in (False, True))
    assert {"The", "the"} <= {e.source for e in apart} and "The" not in {e.source for e in together}
    assert sum(e.links for e in together) == pytest.approx(
        sum(e.links for e in lexicon(model, min_links=0, min_score=0)), rel=0.2
    )
    assert "Anna" in {e.source for e in together}  # there is no other way to write it


def test_glosses_of_the_kit_stand_in_the_dictionary(tmp_path, sample):
    kit = kit_of(tmp_path / "kit", sample, "parallel/train.src", "parallel/train.tgt", "glosses.tsv")
    learn(kit, tmp_path / "pack", steps=[ALIGNMENTS])
    glosses = dict(line.split("\t") for line in (sample / "glosses.tsv").read_text(encoding="utf-8").splitlines())
    shown = findings(tmp_path / "pack", "align")["shown"]
    assert sum(word["gloss"] == glosses.get(word["word"]) for word in shown) > len(shown) / 2
    named = [f"the language in {script} script" for script in ("Latin", "Cyrillic")]
    assert findings(tmp_path / "pack", "align")["languages"] == named


def test_links_that_people_have_drawn_decide_what_the_text_cannot(tmp_path):
    """Two words that are always together with two others: only links tell which belongs to which."""
    draw = Random(3, "links")
    lines = [[f"w{int(8 * draw.uniform())}" for _ in range(3)] for _ in range(80)]
    source = [" ".join(["ka", "mi", *words]) for words in lines]
    target = [" ".join([*(word.replace("w", "v") for word in words), "to", "su"]) for words in lines]
    found = []
    for name, links in (("plain", None), ("linked", "0-4 1-3\n"), ("other", "0-3 1-4\n")):
        kit = write_pairs(tmp_path / name, source, target)
        if links:
            (kit / "links").mkdir()
            for side, text in (("src", "ka mi w1\n"), ("tgt", "v1 v2 v3 to su\n"), ("links", links)):
                (kit / "links" / f"annotated.{side}").write_text(text * 8)
        learn(kit, kit / "pack", steps=[ALIGNMENTS])
        entries = lexicon(corpuscle.load(kit / "pack" / "models" / "align.model"), min_links=0.0, min_score=0.0)
        scores = {(entry.source, entry.target): entry.confidence for entry in entries}
        found.append(scores.get(("ka", "su"), 0.0) - scores.get(("ka", "to"), 0.0))
        assert findings(kit / "pack", "align")["also_from"] == (["links"] if links else [])
    assert found[1] > max(0.3, found[0]) and found[2] < min(-0.3, found[0])
    report = (tmp_path / "linked" / "pack" / "report.html").read_text()
    assert "16 groups of words that people have linked" in report


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.links": "0-0\n"}, "there is no a.src"),
        ({"a.links": "0-0\n", "a.src": "x\n", "a.tgt": "x\ny\n"}, "line"),
        ({"a.links": "0-0\n0-0\n", "a.src": "x\n", "a.tgt": "y\n"}, "2 lines of links, but 1"),
        ({"a.links": "0-9\n", "a.src": "x\n", "a.tgt": "y\n"}, "0-9"),
        ({"a.links": "zero\n", "a.src": "x\n", "a.tgt": "y\n"}, "zero"),
    ],
)
def test_wrong_links_are_said_with_their_file(tmp_path, files, said):
    write_pairs(tmp_path / "kit", ["a b"] * 60, ["c d"] * 60)
    (tmp_path / "kit" / "links").mkdir()
    for name, text in files.items():
        (tmp_path / "kit" / "links" / name).write_text(text)
    outcome = learn(tmp_path / "kit", tmp_path / "pack", steps=[ALIGNMENTS])
    assert said in outcome.failed["align"][0] and "links" in outcome.failed["align"][0]
