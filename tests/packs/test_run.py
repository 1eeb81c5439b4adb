"""Claims about ``corpuscle learn``: errors, steps that are not repeated, interrupts, the report, the whole job."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import corpuscle
from corpuscle import samples
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted
from corpuscle.packs import learn
from corpuscle.packs.step import LeftOut, naming
from corpuscle.packs.systems.transliterator import TRANSLITERATOR
from corpuscle.text import read_text
from tests.packs.kits import HOSTILE, findings, kit_of, plain_step, state, write_kit
from tests.packs.pages import Page
from tests.schemas import last_line_conforms

SCHEMA = {
    "pack": str,
    "report": str,
    "seconds": float,
    "version": str,
    "left_out": {"names": str, "segment": str, "vectors": str, "brackets?": str},
    "failed": {},
    "refused": [str],
    "steps": {
        "lm": {
            "status": str,
            "method": str,
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
            "sweeps": int,
            "held_out_documents": int,
            "perplexity": float,
            "low": float,
            "high": float,
            "perplexity_without_topics": float,
        },
    },
}


# ---- errors


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


def test_text_that_is_not_utf8_is_an_error_with_file_and_line_where_nothing_is_left_out(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    (kit / "text" / "c.txt").write_bytes(b"fine\nb\xff d\n")
    assert main(["learn", str(kit), "-o", str(tmp_path / "pack"), "-q", "--strict"]) == 2
    assert "c.txt:2: invalid UTF-8" in capsys.readouterr().err


def test_text_with_marks_for_the_edges_of_sentences_is_an_error_with_file_and_line(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    (kit / "text" / "c.txt").write_text("fine\n\nka <s> mi\n")
    assert main(["learn", str(kit), "-o", str(tmp_path / "pack"), "-q", "--strict"]) == 2
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
    assert "no words" in (tmp_path / "pack" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["thesis.doc", "state.json"])
def test_a_folder_that_is_not_ours_is_never_written_to(tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("{}")
    with pytest.raises(InputError, match="pack"):
        learn(write_kit(tmp_path / "kit"), tmp_path / "mine", steps=[plain_step("one", "text")])
    assert os.listdir(tmp_path / "mine") == [name]


def test_wrong_lines_cost_their_chapter_and_are_told_before_all_work(tmp_path, sample, capsys):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    kit_of(kit, sample, "parallel/train.src")
    names = (sample / "names.tsv").read_text(encoding="utf-8").splitlines()
    (kit / "names.tsv").write_text("\n".join([*names[:2], "wrong", *names[2:], "x\t "]) + "\n", encoding="utf-8")
    command = ["learn", str(kit), "-o", str(pack), "--strict"]
    assert main([*command, "--json"]) == 2
    output = capsys.readouterr()
    wrong = [
        f"{kit / 'parallel' / 'train.src'}: the other language is missing: there is no train.tgt",
        f"{kit / 'names.tsv'}:3: expected a source and at least one target, separated by tabs",
        f"{kit / 'names.tsv'}:{len(names) + 2}: field 2 is empty",
    ]
    assert output.err.splitlines()[:3] == [f"error: {line}" for line in wrong] and output.err.count("error") == 3
    result = json.loads(output.out.splitlines()[-1])
    assert set(result["steps"]) == {"lm", "classes", "topics"}
    assert result["failed"] == {"align": wrong[:1], "translate": wrong[:1], "names": wrong[1:]}
    text = "".join(Page((pack / "report.html").read_text(encoding="utf-8")).text)
    assert "What is missing" in text and all(line in text for line in wrong)
    assert json.loads((pack / "report.json").read_text(encoding="utf-8"))["failed"] == result["failed"]

    (kit / "names.tsv").write_text("\n".join(names) + "\n", encoding="utf-8")
    assert main([*command, "--json", "-q"]) == 2
    output = capsys.readouterr()
    assert output.err == f"error: {wrong[0]}\n"
    steps = json.loads(output.out.splitlines()[-1])["steps"]
    assert {name: step["status"] for name, step in steps.items()} == {
        "lm": "kept", "classes": "kept", "topics": "kept", "names": "done"
    }  # fmt: skip
    (kit / "parallel" / "train.src").unlink()
    assert main([*command, "-q"]) == 0
    assert "What is missing" not in (pack / "report.html").read_text(encoding="utf-8")


def test_many_wrong_lines_are_not_all_told(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    (kit / "names.tsv").write_text("wrong\n" * 500)
    outcome = learn(kit, tmp_path / "pack", steps=[plain_step("one", "text"), TRANSLITERATOR])
    assert len(outcome.failed["names"]) == 21 and outcome.failed["names"][-1].endswith("names.tsv: 480 more errors")
    assert capsys.readouterr().err.count("error: ") == 21


def test_every_text_that_cannot_be_read_is_told_once_and_a_report_is_written(tmp_path, capsys):
    kit = write_kit(tmp_path / "kit")
    for name in ("c", "d"):
        (kit / "text" / f"{name}.txt").write_bytes(b"fine\nb\xff d\n")
    assert main(["learn", str(kit), "-o", str(tmp_path / "pack"), "-q", "--strict"]) == 2
    output = capsys.readouterr()
    assert [line.partition(": invalid")[0] for line in output.err.splitlines()] == [
        f"error: {kit / 'text' / name}.txt:2" for name in ("c", "d")
    ]
    assert "missing: segment, lm, classes, vectors, topics" in output.out
    text = "".join(Page((tmp_path / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert "has learned nothing" in text and "d.txt:2: invalid UTF-8" in text


@pytest.mark.parametrize("error", [InputError("a.txt", 3, "bad"), OSError("disk"), MemoryError()])
def test_a_step_that_fails_costs_its_own_chapter_and_those_after_it(tmp_path, capsys, error):
    def fails(job, settings):
        raise error

    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    steps = [plain_step("one", "text"), plain_step("two", "names"), plain_step("three", "text", after=("one",))]
    learn(kit, pack, steps=steps)
    (kit / "text" / "a.txt").write_text("something else\n")
    outcome = learn(kit, pack, steps=[plain_step("one", "text", run=fails), *steps[1:]])
    reason = [str(error) or "out of memory"]
    assert outcome.failed == {"one": reason, "three": reason} and outcome.kept == ("two",)
    assert list(outcome.chapters) == ["two"] and "error: " in capsys.readouterr().err
    report = outcome.report.read_text(encoding="utf-8")
    assert reason[0] in report and "From an earlier run, and not described here: models/one.model" in report
    assert learn(kit, pack, steps=steps).kept == ("two",)


def test_an_error_of_ours_is_raised_when_the_report_is_written(tmp_path):
    def fails(job, settings):
        raise ZeroDivisionError("of ours")

    steps = [plain_step("one", "text", run=fails), plain_step("two", "names")]
    with pytest.raises(ZeroDivisionError):
        learn(write_kit(tmp_path / "kit"), tmp_path / "pack", steps=steps)
    report = (tmp_path / "pack" / "report.html").read_text(encoding="utf-8")
    assert "internal error: ZeroDivisionError: of ours" in report and 'id="two"' in report


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
    method, best = min(findings["methods"].items(), key=lambda item: item[1]["perplexity"])
    assert method == findings["method"] and set(findings["methods"]) == {"mkn", "plre"}
    assert f"{best['perplexity']:.1f}" in text and "Which method" in text
    for words in ("trained without a tenth", "most surprising", "Word classes", "seed", "no <b>tes.md", "names.tsv"):
        assert words in text
    assert "Left out" in text and "only 1 name; at least 100 are needed" in text
    assert html.count("<svg") >= 4
    report = json.loads((learned / "pack" / "report.json").read_text(encoding="utf-8"))
    assert report["not_used"] == ["names.tsv", "no <b>tes.md"] and report["seed"] == 1
    assert report["steps"]["lm"]["findings"]["order"] == findings["order"]


def test_figures_at_the_top_stand_beside_a_simple_way(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    cards = re.findall(r'<div class="card"><b>([^<]*)</b><span>([^<]*)</span>(?:<small>([^<]*)</small>)?', html)
    beside = {what.split(",")[0]: simple for _, what, simple in cards}
    frequency = state(learned / "pack")["steps"]["lm"]["findings"]["orders"][0]["perplexity"]
    assert beside["perplexity on unseen text"] == f"by frequency alone: {frequency:,.1f}"
    facts = {"words of text read", "dictionary entries", "words with vectors"}
    assert [what for what, simple in beside.items() if not simple and what not in facts] == []


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
    short = re.search(r'<dl class="short">(.*?)</dl>', (tmp_path / "pack" / "report.html").read_text("utf-8"), re.S)
    verdicts = re.findall(r'href="#(\w+)">[^<]*</a></dt><dd[^>]*>(?=\w)', short[1])
    assert verdicts == list(state(tmp_path / "pack")["steps"])  # every step says what its figures mean
    assert main(["learn", "-q", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {step["status"] for step in result["steps"].values()} == {"kept"}


def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(tmp_path, sample):
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


def test_data_of_no_use_are_left_out_but_a_broken_file_is_an_error(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a\n")
    with pytest.raises(LeftOut, match="kit: too few words"), naming("kit"):
        raise read_text(path).error("too few words")
    with pytest.raises(InputError, match="other: invalid") as caught, naming("kit"):
        raise InputError("other", None, "invalid")
    assert not isinstance(caught.value, LeftOut)
