"""Claims about steps side by side."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from corpuscle import progress
from corpuscle.errors import InputError
from corpuscle.packs import learn, run
from corpuscle.packs.crew import Ended, Helper, Plan, crew, perform
from corpuscle.packs.kit import find_kit
from corpuscle.packs.step import Job, LeftOut
from tests.packs.kits import findings, kit_of, plain_step, state, write_kit


@pytest.fixture
def job(tmp_path):
    (tmp_path / "pack" / "models").mkdir(parents=True)
    return Job(find_kit(write_kit(tmp_path / "kit"), tmp_path / "pack"), tmp_path / "pack", 1, None)


def test_a_step_is_taken_when_those_before_it_have_ended():
    one, two, three = (plain_step(name, "text", after=after) for name, after in (("1", ()), ("2", ("1",)), ("3", ())))
    plan = Plan([one, two, three])
    assert [plan.take(), plan.take()] == [one, three]
    threading.Timer(0.1, plan.end, [one]).start()
    assert plan.take() is two
    assert plan.take() is None


def test_a_step_that_does_not_suit_is_left_to_others():
    one, two = plain_step("1", "text"), plain_step("2", "text")
    plan = Plan([one, two])
    assert plan.take(lambda step: step is two) is two
    assert plan.take(lambda step: step is two) is None
    assert plan.take() is one


def test_all_steps_are_done_once_by_whoever_is_free():
    steps = [plain_step(str(i), "text", after=(str(i - 2),) if i > 3 else ()) for i in range(12)]
    plan, done, lock = Plan(steps), [], threading.Lock()

    class Busy:
        def can(self, step):
            return step.name != "5"

        def do(self, step):
            time.sleep(0.01)

        def interrupt(self):
            pass

        end = interrupt

    def do(step, work):
        work(step)
        with lock:
            done.append(step.name)

    with crew(plan, [Busy(), Busy()], do):
        while step := plan.take():
            do(step, lambda step: time.sleep(0.01))
            plan.end(step)
    assert sorted(done, key=int) == [step.name for step in steps]
    assert all(done.index(step.name) > done.index(name) for step in steps for name in step.after)


def test_an_error_beside_this_process_is_raised_here():
    class Broken:
        def can(self, step):
            return True

        def do(self, step):
            raise ZeroDivisionError

        def interrupt(self):
            pass

        end = interrupt

    plan = Plan([plain_step("1", "text")])
    with pytest.raises(ZeroDivisionError), crew(plan, [Broken()], lambda step, work: work(step)):
        time.sleep(0.2)


@pytest.mark.parametrize("error", [InputError("a", 1, "b"), LeftOut("a", None, "b"), MemoryError(), OSError("disk")])
def test_what_a_step_raises_is_how_it_ended(job, error):
    def fails(job, settings):
        raise error

    ended = perform(plain_step("1", "text", run=fails), job)
    assert ended.error is error and ended.facts is None and not ended.bug


def test_a_bug_says_where_it_happened(job):
    def fails(job, settings):
        raise ZeroDivisionError("of ours")

    ended = perform(plain_step("1", "text", run=fails), job)
    assert isinstance(ended.error, ZeroDivisionError) and "in fails" in ended.bug


def test_another_process_gives_what_this_one_does(tmp_path, sample):
    kit = kit_of(tmp_path / "kit", sample, "names.tsv")
    step = next(step for step in run.STEPS if step.name == "names")
    told, results = [], []
    for name in "ab":
        (tmp_path / name / "models").mkdir(parents=True)
        job = Job(find_kit(kit, tmp_path / name), tmp_path / name, 1, None)
        helper = Helper(run.STEPS, job, lambda *status: told.append(status))
        ended = perform(step, job) if name == "a" else helper.do(step)
        helper.end()
        assert ended.error is None, (ended.error, ended.bug)
        results.append((ended.facts["findings"], (tmp_path / name / step.writes[0]).read_bytes()))
    assert results[0] == results[1]
    assert not helper.can(replace(step))


def test_a_process_that_dies_costs_its_step_and_another_one_does_the_next(tmp_path, sample):
    kit = kit_of(tmp_path / "kit", sample, "names.tsv")
    step = next(step for step in run.STEPS if step.name == "names")
    (tmp_path / "pack" / "models").mkdir(parents=True)
    helper = Helper(run.STEPS, Job(find_kit(kit, tmp_path / "pack"), tmp_path / "pack", 1, None), lambda *status: None)
    try:
        answers = []
        thread = threading.Thread(target=lambda: answers.append(helper.do(step)))
        thread.start()
        while helper._process is None or not helper._process.is_alive():
            time.sleep(0.01)
        helper._process.kill()
        thread.join()
        assert isinstance(answers[0].error, MemoryError) and "-9" in str(answers[0].error)
        assert helper.do(step).error is None
    finally:
        helper.end()


def test_side_by_side_and_one_after_the_other_give_the_same_pack(tmp_path, sample, monkeypatch):
    kit = kit_of(tmp_path / "kit", sample, "names.tsv", "lexicon.tsv", "tagged.conllu")
    monkeypatch.setattr(run, "default_workers", lambda: 3)
    for name, least in (("one", float("inf")), ("many", 0)):
        monkeypatch.setattr(run, "_WORTH_SHARING", least)
        learn(kit, tmp_path / name)
    one, many = tmp_path / "one", tmp_path / "many"
    files = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert files == sorted(str(path.relative_to(many)) for path in many.rglob("*") if path.is_file())
    for name in set(files) - {"state.json", "report.json", "report.html"}:
        assert (one / name).read_bytes() == (many / name).read_bytes(), name
    assert state(one)["steps"].keys() == state(many)["steps"].keys()
    for step in state(one)["steps"]:
        assert findings(one, step) == findings(many, step)


def test_ctrl_c_reaches_every_process_and_the_same_command_goes_on(tmp_path, sample):
    kit = kit_of(tmp_path / "kit", sample, "names.tsv", "tagged.conllu", "lexicon.tsv", "parallel/train.src",
                 "parallel/train.tgt")  # fmt: skip
    command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(tmp_path / "pack"), "--workers", "2"]
    begun = 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        for line in process.stderr:
            begun += line.endswith("...\n")
            if begun == 3:
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        assert process.wait(100) == 130, rest
    assert "same command goes on" in rest
    assert not Path(f"/proc/{process.pid}").exists() and not _children(tmp_path)
    done = set(state(tmp_path / "pack")["steps"])
    again = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True, encoding="utf-8")
    steps = json.loads(again.stdout.splitlines()[-1])["steps"]
    assert {name for name, step in steps.items() if step["status"] == "kept"} == done < set(steps)


def _children(folder: Path) -> list[str]:
    """Processes that still work on something in a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in os.readlink(each / "cwd") or str(folder).encode() in (each / "cmdline").read_bytes():
                found.append(each.name)
        except OSError:
            continue
    return found


def test_the_report_is_there_after_each_step_and_loads_itself_until_the_last(tmp_path):
    kit, pack, seen = write_kit(tmp_path / "kit"), tmp_path / "pack", []

    def look(job, settings):
        seen.append((pack / "report.html").read_text("utf-8"))
        return plain_step("one", "text").learn(job, settings)

    steps = [plain_step("one", "text"), replace(plain_step("two", "text", run=look), writes=("models/one.model",))]
    learn(kit, pack, steps=steps)
    assert 'id="one"' in seen[0] and 'http-equiv="refresh"' in seen[0] and "1 chapter to come" in seen[0]
    report = (pack / "report.html").read_text("utf-8")
    assert 'id="two"' in report and "refresh" not in report and "to come" not in report


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_every_step_has_one_line(monkeypatch):
    titles = {name: plain_step(name, "text").title for name in ("one", "two", "three", "four")}
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress.Course(titles) as course:
        course.begin("one")
        course.end("one", "done", 1.25, "one: 3 words")
        course.begin("two")
        course.tell("two", "sweeps 5 of 16")
        course.end("three", "failed", text="no words")
        from rich.console import Console

        console = Console(width=100, file=io.StringIO())
        console.print(course)
        lines = console.file.getvalue().splitlines()
    assert [line.split() for line in lines if "✓" in line] == [["✓", "one", "1.2", "s", "3", "words"]]
    assert any("✗ three" in line and "no words" in line for line in lines)
    assert any("two" in line and "sweeps 5 of 16" in line for line in lines)
    assert any("· four" in line for line in lines)


def test_elsewhere_a_line_follows_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr("corpuscle.progress._LONG_SILENCE", 0.3)
    step = plain_step("one", "text")
    with progress.Course({"one": step.title}) as course:
        course.begin("one")
        course.mine = "one"
        with progress.bar("sweeps", 7) as bar:
            bar.advance(3)
            time.sleep(1)
        course.end("one", "done", 1.0, "one: 1 word")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "one ..." and lines[-1] == "one: done in 1.0 s: one: 1 word"
    assert any(line.startswith("one: sweeps 3 of 7") for line in lines[1:-1])


def test_ended_is_what_it_was_on_the_other_side():
    import pickle

    ended = Ended(error=LeftOut("a.txt", None, "too few"))
    again = pickle.loads(pickle.dumps(ended))
    assert type(again.error) is LeftOut and str(again.error) == "a.txt: too few"
