"""Claims about ``corpuscle learn``: kits, steps that are not repeated, interrupts, the report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle import samples
from corpuscle.align import HMM
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted
from corpuscle.packs import Chapter, Step, find_kit, learn, precompile
from corpuscle.packs.alignments import ALIGNMENTS
from corpuscle.packs.heldout import split
from corpuscle.packs.language_model import LANGUAGE_MODEL
from corpuscle.packs.step import LeftOut
from corpuscle.packs.unseen_pairs import doubts, measure_unseen
from corpuscle.packs.word_classes import number_of_classes
from corpuscle.random import Random
from corpuscle.text import Bitext, Corpus
from tests.packs.pages import Page
from tests.schemas import last_line_conforms

learning = sys.modules["corpuscle.packs.learn"]  # the name in its package is that of the function

HOSTILE = '<script>alert("1")</script>'


def sentences(n: int, seed: int = 1) -> list[str]:
    stream = Random(seed, "test sentences")
    words = ["ka", "mi", "tor", "sen", "lu", "pa", "ri", "dok", "é", "ol"]
    weights = [1 / (i + 1) for i in range(len(words))]
    return [" ".join(stream.choice(words, weights) for _ in range(2 + stream.below(6))) for _ in range(n)]


def write_kit(folder: Path, n: int = 200) -> Path:
    lines = sentences(n)
    (folder / "text").mkdir(parents=True)
    documents = ["\n".join(lines[i : i + 10]) for i in range(0, n, 10)]
    (folder / "text" / "a.txt").write_text("\n\n".join(documents[::2]) + "\n", encoding="utf-8")
    (folder / "text" / "b.txt").write_text(
        "\n\n".join(documents[1::2]) + f"\n{HOSTILE} ka mi & tor\n", encoding="utf-8"
    )
    (folder / "names.tsv").write_text("a\tb\n", encoding="utf-8")
    (folder / "no <b>tes.md").write_text("hello", encoding="utf-8")
    return folder


def plain_step(name: str, needs: str, after: tuple[str, ...] = (), version: int = 1, run=None) -> Step:
    """A step that counts the bytes of its input: as quick as a step can be."""

    def count(job, settings):
        size = sum(Path(path).stat().st_size for path in job.kit.paths(needs))
        (job.pack / "models" / f"{name}.model").write_text(str(size))
        return {"size": size}

    def report(findings, pack):
        return Chapter(f"{name}: {findings['size']}", findings, [], "", [])

    return Step(name, name.title(), version, (needs,), (f"models/{name}.model",), run or count, report, after=after)


SCHEMA = {
    "pack": str,
    "report": str,
    "seconds": float,
    "version": str,
    "left_out": {"names": str, "segment": str},
    "steps": {
        "lm": {
            "status": str,
            "order": int,
            "perplexity": float | None,
            "perplexity_without_oov": float | None,
            "tokens": int,
            "oov": int,
            "bits_per_token": float | None,
            "low": float | None,
            "high": float | None,
            "deviation": float | None,
        },
        "classes": {"status": str, "classes": int, "types": int, "mutual_information_bits": float},
        "topics": {
            "status": str,
            "topics": int,
            "documents": int,
            "iterations": int,
            "held_out_documents": int,
            "perplexity": float,
            "low": float,
            "high": float,
            "perplexity_without_topics": float,
        },
    },
}


def state(pack: Path) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))


# ---- kits


def test_files_are_recognised_by_place_and_name(tmp_path):
    usable = "text/a.txt text/b.txt.gz parallel/x.src parallel/x.tgt names.tsv noisy.txt entities/1.ann"
    others = "text/c.md deep/text/a.txt gold/names.tsv"
    for name in (*usable.split(), *others.split(), ".hidden", "pack/models/x.model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    kit = find_kit(tmp_path, tmp_path / "pack")
    assert kit.files == {
        "text": ("text/a.txt", "text/b.txt.gz"),
        "parallel": ("parallel/x.src", "parallel/x.tgt"),
        "names": ("names.tsv",),
        "noisy": ("noisy.txt",),
        "entities": ("entities/1.ann",),
    }
    assert set(kit.others) == set(others.split())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda kit: None, "no such folder"),
        (lambda kit: kit.write_text("x"), "a kit is a folder"),
        (lambda kit: kit.mkdir(), "nothing to learn from"),
        (lambda kit: (kit.mkdir(), (kit / "notes.txt").write_text("x")), "nothing to learn from"),
    ],
)
def test_a_kit_without_anything_usable_is_an_error_and_leaves_no_pack(tmp_path, capsys, make, reason):
    make(tmp_path / "kit")
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and reason in error
    assert not (tmp_path / "pack").exists()


def test_a_date_that_makes_no_sense_is_an_error_before_all_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "abc")
    assert main(["learn", str(write_kit(tmp_path / "kit")), "-o", str(tmp_path / "pack")]) == 2
    assert capsys.readouterr().err == "error: SOURCE_DATE_EPOCH is 'abc', not a number of seconds\n"
    assert not (tmp_path / "pack").exists()


def test_too_little_text_is_an_error_that_names_the_folder(tmp_path, capsys):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    (tmp_path / "kit" / "text" / "a.txt").write_text("only this\n\n\n")
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "kit/text: only 1 sentence" in capsys.readouterr().err.replace(os.sep, "/")


def test_text_that_is_not_utf8_is_an_error_with_file_and_line(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    (kit / "text" / "c.txt").write_bytes(b"fine\nb\xff d\n")
    assert main(["learn", str(kit), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "c.txt:2: invalid UTF-8" in capsys.readouterr().err


def test_text_with_marks_for_the_edges_of_sentences_is_an_error_with_file_and_line(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    (kit / "text" / "c.txt").write_text("fine\n\nka <s> mi\n")
    assert main(["learn", str(kit), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert "c.txt:3: a literal <s>" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", ["ka ka ka", "<unk> ka", "吾輩は猫である", "שלום عالم", "x" * 100_000 + " ka" * 3000, "a\x01\x1b[31m b"]
)
def test_odd_text_is_learned_and_reported(tmp_path, line):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    (tmp_path / "kit" / "text" / "a.txt").write_text(f"{line}\n" * 30, encoding="utf-8")
    outcome = learn(tmp_path / "kit", tmp_path / "pack")
    Page(outcome.report.read_text(encoding="utf-8"))
    assert outcome.report.stat().st_size < 100_000


def test_text_of_unknown_words_only_is_an_error(tmp_path):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    (tmp_path / "kit" / "text" / "a.txt").write_text("<unk> <unk>\n" * 30)
    with pytest.raises(InputError, match="no words"):
        learn(tmp_path / "kit", tmp_path / "pack")


@pytest.mark.parametrize("name", ["thesis.doc", "state.json"])
def test_a_folder_that_is_not_ours_is_never_written_to(tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("{}")
    with pytest.raises(InputError, match="pack"):
        learn(write_kit(tmp_path / "kit"), tmp_path / "mine", steps=[plain_step("one", "text")])
    assert os.listdir(tmp_path / "mine") == [name]


# ---- steps


def test_a_step_is_repeated_only_when_what_it_depends_on_changes(tmp_path):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    steps = [plain_step("one", "text"), plain_step("two", "names"), plain_step("three", "names", after=("one",))]
    assert learn(kit, pack, steps=steps).kept == ()
    before = {path.name: path.stat().st_mtime_ns for path in (pack / "models").iterdir()}
    assert learn(kit, pack, steps=steps).kept == ("one", "two", "three")
    assert {path.name: path.stat().st_mtime_ns for path in (pack / "models").iterdir()} == before

    (kit / "text" / "a.txt").write_text("something else\n" * 30)
    assert learn(kit, pack, steps=steps).kept == ("two",)
    assert learn(kit, pack, steps=steps, seed=2).kept == ()
    steps[1] = plain_step("two", "names", version=2)
    assert learn(kit, pack, steps=steps, seed=2).kept == ("one", "three")
    (pack / "models" / "one.model").write_text("tampered with")
    assert "one" not in learn(kit, pack, steps=steps, seed=2).kept


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"

    def interrupted(job, settings):
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal comes first")

    steps = [plain_step("one", "text"), plain_step("two", "text", run=interrupted)]
    with pytest.raises(Interrupted, match="same command goes on"):
        learn(kit, pack, steps=steps)
    assert list(state(pack)["steps"]) == ["one"]
    steps[1] = plain_step("two", "text")
    assert learn(kit, pack, steps=steps).kept == ("one",)


def test_what_no_longer_fits_the_kit_is_removed(tmp_path):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    steps = [plain_step("one", "text"), plain_step("two", "names")]
    learn(kit, pack, steps=steps)
    (kit / "names.tsv").unlink()
    learn(kit, pack, steps=steps)
    assert list(state(pack)["steps"]) == ["one"]
    assert [path.name for path in (pack / "models").iterdir()] == ["one.model"]


def test_a_step_that_finds_too_little_is_left_out_with_its_reason_and_its_old_files_go(tmp_path):
    def too_little(job, settings):
        raise LeftOut(job.kit.paths("names")[0], None, "too few")

    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    learn(kit, pack, steps=[plain_step("one", "text"), plain_step("two", "names")])
    steps = [plain_step("one", "text"), plain_step("two", "names", version=2, run=too_little)]
    outcome = learn(kit, pack, steps=steps)
    assert outcome.left_out == {"two": "too few"} and list(outcome.chapters) == ["one"]
    assert list(state(pack)["steps"]) == ["one"]
    assert [path.name for path in (pack / "models").iterdir()] == ["one.model"]
    report = json.loads((pack / "report.json").read_text(encoding="utf-8"))
    assert report["left_out"] == {"two": "too few"} and "names.tsv" in report["not_used"]
    with pytest.raises(InputError, match=r"names.tsv: too few"):
        learn(kit, tmp_path / "other", steps=steps[1:])


def write_pairs(kit: Path, source: list[str], target: list[str]) -> Path:
    (kit / "parallel").mkdir(parents=True, exist_ok=True)
    for side, lines in ("src", source), ("tgt", target):
        (kit / "parallel" / f"a.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return kit


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
    model = HMM(workers=1, iterations=1).fit(bitext)
    more = Bitext(
        Corpus.from_sentences([*bitext.source, *([[f"new{i}"] for i in range(40)])]),
        Corpus.from_sentences([*bitext.target, *([["KA", "MI"]] * 40)]),
    )
    one, other = (doubts(pairs, lambda pairs, half: model, 0.9, seed=1) for pairs in (bitext, more))
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


def damage(pack: Path, change) -> None:
    content = state(pack)
    change(content)
    (pack / "state.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("name", ["../precious.txt", "outside/precious.txt", "models/../../precious.txt", "", "a\0b"])
def test_a_hostile_pack_cannot_remove_what_is_not_in_it(tmp_path, name):
    kit, pack, precious = write_kit(tmp_path / "kit"), tmp_path / "pack", tmp_path / "precious.txt"
    learn(kit, pack, steps=[plain_step("one", "text")])
    precious.write_text("x")
    (pack / "outside").symlink_to(tmp_path)
    for hostile in (name, str(precious)):
        damage(pack, lambda content, name=hostile: content["steps"].update(old={"files": {name: "x"}}))
        with pytest.raises(InputError, match="damaged state"):
            learn(kit, pack, steps=[plain_step("one", "text")])
    assert precious.read_text() == "x"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["findings"].clear(),
        lambda record: record.update(findings=None),
        lambda record: record.pop("seconds"),
        lambda record: record.update(notes=7),
        lambda record: record.pop("digest"),
    ],
)
def test_a_step_whose_record_is_damaged_is_done_again(tmp_path, change):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    steps = [plain_step("one", "text"), plain_step("two", "text")]
    learn(kit, pack, steps=steps)
    damage(pack, lambda content: change(content["steps"]["one"]))
    assert learn(kit, pack, steps=steps).kept == ("two",)
    assert learn(kit, pack, steps=steps).kept == ("one", "two")


# ---- compiling ahead


@pytest.fixture
def compiled_by(monkeypatch, tmp_path):
    """Compiling is writing a file here, after a while."""

    def program(seconds: float) -> Path:
        code = f"import sys, time; time.sleep({seconds}); open({str(tmp_path)!r} + '/' + sys.argv[1], 'w')"
        monkeypatch.setattr(precompile, "_COMPILE", code)
        return tmp_path

    return program


def test_a_step_waits_for_what_is_being_compiled_and_takes_what_is_not(compiled_by):
    folder = compiled_by(0.3)
    later = precompile.Precompiler(["one", "two"])
    while later._current is None:
        time.sleep(0.01)
    later.turn("two")
    later.turn("one")
    assert [path.name for path in folder.iterdir()] == ["one"]
    later.turn("three")
    later.close()
    assert [path.name for path in folder.iterdir()] == ["one"]


def test_compiling_ahead_ends_with_the_run(compiled_by):
    folder = compiled_by(100)
    later = precompile.Precompiler(["one", "two"])
    while later._process is None:
        time.sleep(0.01)
    later.close()
    assert later._process.returncode is not None and not list(folder.iterdir())


def test_only_cold_kernels_of_later_steps_are_compiled_ahead(tmp_path, monkeypatch):
    monkeypatch.setattr(precompile, "cache_root", tmp_path)
    asked = []
    monkeypatch.setattr(learning, "Precompiler", lambda packages: asked.append(packages) or precompile.Precompiler([]))
    monkeypatch.setattr(learning, "default_workers", lambda: 2)
    steps = [replace(plain_step(name, "text"), kernels=f"k.{name}") for name in ("one", "two", "three")]
    few = replace(plain_step("four", "names"), kernels="k.four")
    for _ in range(2):
        learn(write_kit(tmp_path / f"kit{len(asked)}", 1000), tmp_path / "pack", steps=[*steps, few])
    assert asked == [["k.three", "k.two"], []]


# ---- holding out


def corpus_of(documents: int, each: int) -> Corpus:
    lines = [[f"d{d}", f"w{i}", "x"] for d in range(documents) for i in range(each)]
    return Corpus.from_sentences(lines).with_documents(np.arange(documents + 1) * each)


def test_whole_documents_are_held_out_when_there_are_enough():
    corpus = corpus_of(30, 8)
    train, held_out, unit = split(corpus, seed=1)
    assert unit == "documents" and len(train) + len(held_out) == len(corpus)
    documents = {words[0] for words in held_out}
    assert len(documents) == 3 and not documents & {words[0] for words in train}


def test_few_documents_are_split_by_sentence():
    corpus = corpus_of(3, 40)
    train, held_out, unit = split(corpus, seed=1)
    assert unit == "sentences" and len(held_out) == 12 and len(train) == 108


def test_a_sentence_that_is_nearly_all_of_the_text_is_learned_from():
    corpus = Corpus.from_sentences([["a"] * 10_000, *[["b", "c"]] * 30])
    for seed in range(20):
        train, held_out, _ = split(corpus, seed)
        assert held_out.lengths.max() == 2 and len(held_out) == 15 and len(train) == 16


def test_documents_that_are_hardly_anything_are_not_what_is_held_out():
    corpus = Corpus.from_sentences([["a", "b"]] * 1009).with_documents(np.append(0, np.arange(1000, 1010)))
    _, held_out, unit = split(corpus, seed=1)
    assert unit == "sentences" and len(held_out) == 101


def test_the_report_says_how_much_was_held_out_where_it_is_no_tenth(tmp_path):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    text = "\n".join([*sentences(30), " ".join(sentences(1000, seed=2))])
    (tmp_path / "kit" / "text" / "a.txt").write_text(text + "\n", encoding="utf-8")
    report = learn(tmp_path / "kit", tmp_path / "pack", workers=1, steps=[LANGUAGE_MODEL]).report
    assert re.search(r"trained without [12]\.\d % of the text \(15 sentences", report.read_text(encoding="utf-8"))


def test_the_training_part_does_not_know_the_words_of_the_rest():
    train, held_out, _ = split(corpus_of(30, 8), seed=1)
    assert {word for words in train for word in words} == set(train.vocab.strings[3:])
    assert train.vocab.counts[3:].min() > 0 and train.vocab.counts.sum() == train.n_tokens
    unknown = held_out.recode(train.vocab).tokens == 0
    assert unknown.sum() == len(held_out)  # the word that only this document has


def test_the_split_depends_on_the_seed_only():
    corpus = corpus_of(30, 8)
    first, again, other = (list(split(corpus, seed).held_out) for seed in (1, 1, 2))
    assert first == again != other


def test_a_text_with_counts_of_its_own_is_the_same_text():
    corpus = Corpus.from_sentences([["a", "b"], ["c"]])[1:]
    assert list(corpus.counted()) == [["c"]] and len(corpus.counted().vocab) == 4


def test_the_number_of_classes_follows_the_rule():
    assert number_of_classes(np.array([2] * 100 + [1] * 1000)) == 10
    assert number_of_classes(np.array([1, 1, 1])) == 2
    assert number_of_classes(np.array([5])) == 1
    assert number_of_classes(np.full(4_000_000, 2)) == 1000


# ---- the whole job


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    """A pack learned from a small kit by the real steps."""
    folder = tmp_path_factory.mktemp("learned")
    kit = write_kit(folder / "kit")
    command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(folder / "pack"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    result = last_line_conforms(done.stdout, SCHEMA)
    assert result["steps"]["lm"]["status"] == result["steps"]["classes"]["status"] == "done"
    figures = result["steps"]["lm"]
    assert figures["low"] <= figures["perplexity"] <= figures["high"] and figures["tokens"] > 0
    assert Path(result["report"]).is_file()
    assert result["left_out"]["names"] == "only 1 name; at least 100 are needed"
    assert "of the characters of the text are spaces" in result["left_out"]["segment"]
    return folder


def test_the_models_of_a_pack_can_be_loaded_and_used(learned):
    model = corpuscle.load(learned / "pack" / "models" / "lm.model")
    assert model.order == state(learned / "pack")["steps"]["lm"]["findings"]["order"]
    assert "ka" in model.vocab_
    classes = corpuscle.load(learned / "pack" / "models" / "classes.model")
    assert classes.class_of("ka") >= 0


def test_the_shipped_model_has_seen_everything_and_the_measured_one_has_not(learned):
    findings = state(learned / "pack")["steps"]["lm"]["findings"]
    model = corpuscle.load(learned / "pack" / "models" / "lm.model")
    assert findings["words"] == model.vocab_.counts.sum()
    held = findings["held_out"]
    assert findings["orders"][0]["tokens"] == held["words"] + held["sentences"]
    assert 0.05 <= held["words"] / findings["words"] <= 0.2


def test_running_again_repeats_nothing_and_says_where_the_report_is(learned, capsys):
    pack = learned / "pack"
    before = {path: path.stat().st_mtime_ns for path in (pack / "models").iterdir()}
    assert main(["learn", str(learned / "kit"), "-o", str(pack)]) == 0
    output = capsys.readouterr()
    assert "report.html" in output.out and "perplexity" in output.out
    assert output.err.count("already done") == 3
    assert {path: path.stat().st_mtime_ns for path in (pack / "models").iterdir()} == before


def test_the_same_kit_and_seed_give_the_same_models(learned, tmp_path):
    assert main(["learn", str(learned / "kit"), "-o", str(tmp_path / "pack"), "-q", "--workers", "1"]) == 0
    for name in ("lm.model", "classes.model", "topics.model"):
        one, two = (folder / "pack" / "models" / name for folder in (learned, tmp_path))
        assert one.read_bytes() == two.read_bytes()


def test_the_report_is_one_file_that_needs_nothing_else(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert page.links and all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"url\(|@import", html)
    assert 'name="viewport"' in html and "prefers-color-scheme: dark" in html


def test_the_report_says_what_was_learned_and_what_was_not_used(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    text = " ".join("".join(Page(html).text).split())
    findings = state(learned / "pack")["steps"]["lm"]["findings"]
    best = next(row for row in findings["orders"] if row["order"] == findings["order"])
    assert f"{best['perplexity']:.1f}" in text
    for words in ("trained without a tenth", "most surprising", "Word classes", "seed", "no <b>tes.md", "names.tsv"):
        assert words in text
    assert "Left out" in text and "only 1 name; at least 100 are needed" in text
    assert html.count("<svg") >= 4
    report = json.loads((learned / "pack" / "report.json").read_text(encoding="utf-8"))
    assert report["not_used"] == ["names.tsv", "no <b>tes.md"] and report["seed"] == 1
    assert report["steps"]["lm"]["findings"]["order"] == findings["order"]


def test_hostile_text_stays_text(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    assert HOSTILE not in html and "<script" not in html
    assert HOSTILE in "".join(Page(html).text)  # it is a word of a class, and shown as such


def test_ctrl_c_exits_with_130_and_says_how_to_go_on(tmp_path):
    kit = write_kit(tmp_path / "kit", 3000)
    command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(tmp_path / "pack")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("language model ..."):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert "same command goes on" in rest
    assert state(tmp_path / "pack")["steps"] == {}
    assert not list((tmp_path / "pack").rglob("*.part"))


def test_a_sample_that_was_half_written_is_written_again_and_a_folder_of_the_user_is_not_touched(tmp_path):
    pack = tmp_path / "pack"
    learn(write_kit(tmp_path / "kit"), pack, steps=[plain_step("one", "text")])
    (pack / "kit.partial").mkdir()
    (pack / "kit.partial" / "half").write_text("x")
    learn(None, pack, steps=[plain_step("one", "text")])
    assert (pack / "kit" / "text").is_dir() and not (pack / "kit.partial").exists()
    other = tmp_path / "other"
    learn(tmp_path / "kit", other, steps=[plain_step("one", "text")])
    (other / "kit").mkdir()
    (other / "kit" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="in the way"):
        learn(None, other, steps=[plain_step("one", "text")])
    assert (other / "kit" / "mine.txt").exists()


@pytest.mark.parametrize("rename", ["before", "after"])
@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_dies_while_it_puts_the_sample_in_place_goes_on(tmp_path, monkeypatch, rename, again):
    pack, steps, original = tmp_path / "pack", [plain_step("one", "text")], Path.rename
    sizes = dict.fromkeys(("sentences", "pairs", "names", "notes", "messages"), 20)
    monkeypatch.setattr(samples, "write", partial(samples.write, **sizes))
    if again:
        learn(None, pack, steps=steps, seed=2)

    def die(path, target):
        if path.name == "kit.partial":
            if rename == "after":
                original(path, target)
            raise SystemExit
        return original(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", die)
        with pytest.raises(SystemExit):
            learn(None, pack, steps=steps)
    learn(None, pack, steps=steps)
    assert json.loads((pack / "kit" / "sample.json").read_text())["seed"] == 1


def test_the_built_in_sample_is_learned_when_no_kit_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "-q"]) == 0
    output = capsys.readouterr().out
    assert str(Path("pack") / "report.html") in output
    assert (tmp_path / "pack" / "kit" / "text").is_dir()
    findings = state(tmp_path / "pack")["steps"]["lm"]["findings"]
    by_order = {row["order"]: row["perplexity"] for row in findings["orders"]}
    assert by_order[findings["order"]] < 0.6 * by_order[1]  # it is a language: context helps
    assert main(["learn", "-q", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {step["status"] for step in result["steps"].values()} == {"kept"}
