"""The soak: verdicts are right, every kind of trial runs and can be repeated, a process that is lost is noticed."""

import signal
import subprocess
import sys
import time

import pytest

from bench import soak, soak_stock


@pytest.mark.parametrize(
    ("code", "said", "verdict"),
    [
        (0, "", "fine"),
        (0, "warning: short\n", "fine"),
        (0, "a.py:3: RuntimeWarning: overflow\n", "unclear"),
        (2, "warning: short\nerror: a.txt:3: no\n", "refused"),
        (2, "", "unclear"),
        (2, "error: one\nerror: two\n", "unclear"),
        (2, f"error: {'x' * 1000}\n", "unclear"),
        (1, "internal error", "crash"),
        (130, "interrupted\n", "crash"),
    ],
)
def test_the_verdict_follows_from_exit_code_and_messages(code, said, verdict):
    assert soak.judged(code, said) == verdict


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Bad trials are not kept where those of people are."""
    monkeypatch.setattr(soak, "KEPT", tmp_path)
    return tmp_path


def test_every_kind_of_trial_runs_and_one_can_be_repeated():
    groups = ["text", "classes"]
    done = soak.soak(5, seed=3, groups=groups, most=2)
    trials = {(kind, number): trial for kind, number, trial in done}
    assert trials.keys() == {(kind, number) for kind in soak.KINDS for number in range(2)}
    certain = [each for each in done if each[0] != "kills"]  # when those come is left to chance
    assert not [each for each in certain if each[2].verdict in soak.BAD]
    again = soak.again(3, "options", 1, groups)
    assert again.notes == trials["options", 1].notes and again.verdict == trials["options", 1].verdict
    results = {"soak": {"command": "soak", "seed": 3, "done": certain}}
    assert soak.table(done).splitlines()[-1].startswith("| all | 14 |") and soak.claims(results)[0].holds
    assert all(f"- {kind}: " in soak.notes(results) for kind in soak.KINDS if kind != "kills")


def test_a_process_that_is_lost_is_a_crash_that_is_kept_and_the_next_trial_has_a_new_one(tmp_path, kept):
    watch = soak.Watch(soak_stock.stock(tmp_path / "stock", ["text"]), tmp_path / "trial")
    assert watch.trial(1, "no such kind", 0).verdict == "crash"
    assert (kept / "1-no such kind-0" / "trial.txt").read_text().startswith("crash\n")
    assert watch.trial(1, "readers", 0).verdict == "refused"
    watch.close()


def test_a_repeat_makes_nothing_again_but_the_group_that_it_needs(kept, monkeypatch):
    groups = ["text", "classes"]
    [(_, _, first)] = [each for each in soak.soak(5, 3, groups, most=1) if each[0] == "options"]
    marks = [kept / "stock" / group / "mark" for group in groups]
    for mark in marks:
        mark.touch()
    monkeypatch.setattr(soak_stock, "version", lambda: "a later one")
    again = soak.again(3, "options", 0, groups)
    assert (again.verdict, again.notes) == (first.verdict, first.notes)
    stock = soak_stock.Stock(kept / "stock", groups)
    renewed = [mark.parent.name for mark in marks if not mark.exists()]
    assert len(renewed) == 1 and [group for group in groups if stock.made[group] == "a later one"] == renewed
    homes = [line.home.name for line in stock.lines]
    assert homes == sorted(homes, key=groups.index)


@pytest.mark.parametrize(
    "program, hangs", [("while True: pass", True), ("import time; time.sleep(60)", True), ("", False)]
)
def test_work_and_waiting_end_the_patience(monkeypatch, program, hangs):
    monkeypatch.setattr(soak, "SECONDS", 0.5)
    monkeypatch.setattr(soak, "WAITING", 2.0)
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert soak.said(child) == (None if hangs else "")
    assert child.poll() == (-signal.SIGKILL if hangs else 0)


def test_the_work_of_children_is_no_hang():
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'for i in range(10**7): pass'])"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    seen = [(0.0, 0.0)]
    while child.poll() is None:
        seen.append(soak.cpu(child.pid))
        time.sleep(0.02)
    own, whole = map(max, zip(*seen, strict=True))
    assert own < whole
