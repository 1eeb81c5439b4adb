"""The soak: verdicts are right, every kind of trial runs and can be repeated, a process that is lost is noticed."""

import pytest

from bench import soak


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
    [(_, _, again)] = soak.soak(5, seed=3, groups=groups, repeat="options:1")
    assert again.notes == trials["options", 1].notes and again.verdict == trials["options", 1].verdict
    results = {"soak": {"command": "soak", "seed": 3, "done": certain}}
    assert soak.table(done).splitlines()[-1].startswith("| all | 14 |") and soak.claims(results)[0].holds
    assert all(f"- {kind}: " in soak.notes(results) for kind in soak.KINDS if kind != "kills")


def test_a_process_that_is_lost_is_a_crash_that_is_kept_and_the_next_trial_has_a_new_one(tmp_path, kept):
    watch = soak.Watch(soak.stock(tmp_path / "stock", ["text"]), tmp_path / "trial")
    assert watch.trial(1, "no such kind", 0).verdict == "crash"
    assert (kept / "1-no such kind-0" / "trial.txt").read_text().startswith("crash\n")
    assert watch.trial(1, "readers", 0).verdict == "refused"
    watch.close()
