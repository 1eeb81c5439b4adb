"""The loop of iterative learners: a toy whose result depends on every step, stopped wherever one can stop."""

import signal
import time

import numpy as np
import pytest

from corpuscle import learning, scale
from corpuscle.errors import InputError, Interrupted
from corpuscle.learning import Chains, Checkpoint, Learner, Samples, partial, spread
from corpuscle.model import Array, prefixed
from corpuscle.model.kinds import Invalid
from corpuscle.random import Random
from tests.hostile import survives_hostile_edits

TOTAL = {"total": Array("float64", (1,), finite=True)}
SAMPLED = partial("test.toy", TOTAL, sample=lambda _, number: prefixed(f"sample/{number}/", TOTAL))


class Toy:
    """A chain of numbers, the next drawn from the one before; sweep 0 has one step, all others three."""

    def __init__(self, seed=1):
        self.seed, self.total = seed, np.zeros(1)

    def steps(self, sweep):
        return 3 if sweep else 1

    def step(self, sweep, number):
        self.total = np.sin(self.total + Random(self.seed, "toy", sweep, number).uniform())

    def finish(self, sweep):
        self.total = self.total * 1.5
        return float(self.total[0])

    def sample(self):
        return {"total": self.total.copy()}

    state = sample

    def restore(self, arrays, sweep, number):
        if abs(arrays["total"][0]) > 1.5:
            raise ValueError("no such total")
        self.total = np.array(arrays["total"])


class Halving(Learner):
    """EM in the form that all have: nothing but iterations, until the gain is small."""

    def __init__(self):
        self.value, self.gain = np.ones(1), 1.0

    def finish(self, sweep):
        self.gain = float(self.value[0]) / 2
        self.value = self.value / 2
        return [float(self.value[0]), self.gain]

    def state(self):
        return {"total": self.value}

    def restore(self, arrays, sweep, number):
        self.value = np.array(arrays["total"])
        self.gain = float(arrays["history"][-1, 1]) if sweep else 1.0


class StopAt(Checkpoint):
    """A user who presses Ctrl-C before the item of the given number is done."""

    left = -1

    def after(self, *args, **named):
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        self.left -= 1
        super().after(*args, **named)


def learn(path, settings=None, signature="abc", *, resume=False, stop_at=-1, sweeps=7, log=None):
    """Seven sweeps of the toy, three samples; returns history and samples as bytes."""
    with StopAt(path, SAMPLED, settings or {}, signature, resume=resume) as checkpoint:
        checkpoint.left, toy = stop_at, Toy()
        samples = Samples(spread(sweeps - 1, 3), toy.sample)
        history, kept = checkpoint.run(toy, sweeps, samples=samples, facts={"colour": "red"}, log=log)
    return history.tobytes(), [sample["total"].tobytes() for sample in kept]


ITEMS = 2 + 6 * 4
"""The steps of seven sweeps, and their ends."""


@pytest.mark.parametrize("stop_at", range(ITEMS))
def test_a_run_that_is_stopped_after_any_item_resumes_to_the_identical_result(tmp_path, stop_at):
    path = tmp_path / "m"
    whole = learn(None)
    with pytest.raises(Interrupted, match=r"stopped after iteration \d.*m\.partial keeps it, --resume goes on from it"):
        learn(path, stop_at=stop_at)
    logged = []
    assert learn(path, resume=True, log=lambda sweep, value: logged.append((sweep, value))) == whole
    assert logged == list(enumerate(np.frombuffer(whole[0]).tolist()))[7 - len(logged) :]
    assert not (tmp_path / "m.partial").exists()


def test_there_are_no_other_items(tmp_path):
    assert learn(tmp_path / "m", stop_at=ITEMS) == learn(None)


def test_a_run_that_is_stopped_again_and_again_ends_in_the_identical_result(tmp_path):
    with pytest.raises(Interrupted):
        learn(tmp_path / "m", stop_at=0)
    for _ in range(ITEMS - 1):
        with pytest.raises(Interrupted):
            learn(tmp_path / "m", resume=True, stop_at=0)
    assert learn(tmp_path / "m", resume=True) == learn(None)


def test_other_settings_data_or_facts_are_refused(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(InputError, match="nothing to resume: no such file"):
        learn(path, resume=True)
    with pytest.raises(Interrupted):
        learn(path, {"scale": 0.1, "order": 3}, stop_at=9)
    for changes, reason in [
        ({"settings": {"scale": 0.2, "order": 3}}, r"cannot resume: scale was 0\.1 and is 0\.2 now"),
        ({"settings": {"scale": 0.1}}, "cannot resume: order was 3 and is None now"),
        ({"settings": {"scale": np.float64(0.1), "order": 3}, "signature": "xyz"}, "it was learning from other data"),
        ({"settings": {"scale": 0.1, "order": 3}, "sweeps": 2}, "a damaged file: it is another run"),
    ]:
        with pytest.raises(InputError, match=reason):
            learn(path, **changes, resume=True)
    with (
        pytest.raises(InputError, match="another run"),
        Checkpoint(path, SAMPLED, {"scale": 0.1, "order": 3}, "abc", resume=True) as checkpoint,
    ):
        checkpoint.run(Toy(), 7, facts={"colour": "blue"})


def test_hostile_unfinished_work_is_refused_or_harmless(tmp_path):
    with pytest.raises(Interrupted):
        learn(tmp_path / "m", stop_at=22)

    def resume(path):
        (tmp_path / "x.partial").write_bytes(path.read_bytes())
        learn(tmp_path / "x", resume=True)

    assert survives_hostile_edits(tmp_path / "m.partial", resume, edits=200) > 30


def test_the_state_is_kept_now_and_then_and_survives_an_error(tmp_path, capsys):
    class Breaks(Toy):
        def step(self, sweep, number):
            super().step(sweep, number)
            if (sweep, number) == (2, 1):
                raise ZeroDivisionError

    path = tmp_path / "m"
    with pytest.raises(ZeroDivisionError), Checkpoint(path, SAMPLED, {}, "abc", every=0) as checkpoint:
        checkpoint.run(Breaks(), 7, facts={"colour": "red"})
    resumed = Checkpoint(path, SAMPLED, {}, "abc", resume=True)
    assert (resumed.iteration, resumed.position) == (2, 1)
    assert learn(path, resume=True)[0] == learn(None)[0]
    Checkpoint(path, SAMPLED, {}, "abc")
    assert "--resume would go on" not in capsys.readouterr().err
    (tmp_path / "m.partial").touch()
    Checkpoint(path, SAMPLED, {}, "abc")
    assert "--resume would go on" in capsys.readouterr().err


def test_the_state_is_written_every_minute(tmp_path, monkeypatch):
    class Counted(Toy):
        written = 0

        def state(self):
            self.written += 1
            return super().state()

    clock, toy = iter(range(0, 10_000, 25)), Counted()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with Checkpoint(tmp_path / "m", SAMPLED) as checkpoint:
        checkpoint.run(toy, 7)
    assert toy.written == ITEMS // 3


def test_without_a_path_ctrl_c_only_stops():
    with pytest.raises(Interrupted, match=r"stopped after iteration 2$"):
        learn(None, stop_at=8)

    class Pressed(Toy):
        def step(self, sweep, number):
            if sweep == 3:
                signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=r"stopped after iteration 3$"):
        Checkpoint().run(Pressed(), 7)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_after_the_last_item_is_not_lost(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(Interrupted, match="m is complete"), Checkpoint(path, SAMPLED, {}, "abc", every=0) as checkpoint:
        checkpoint.run(Toy(), 2)
        signal.raise_signal(signal.SIGINT)
    assert not (tmp_path / "m.partial").exists()
    with pytest.raises(Interrupted, match="stopped"), Checkpoint():
        signal.raise_signal(signal.SIGINT)


def test_samples_are_spread_over_the_second_half():
    assert spread(100, 5) == {60, 70, 80, 90, 100}
    assert spread(100, 1) == {100} and spread(1, 1) == {1} and spread(3, 3) == {1, 2, 3}
    assert spread(500, 3, apart=10) == {480, 490, 500} and spread(12, 3, apart=10) == {8, 10, 12}
    toy, totals = Toy(), []
    for number in range(13):
        learning.sweep(toy, number)
        totals.append(toy.total.copy())
    again = Toy()
    history, kept = Checkpoint().run(again, 13, samples=Samples(spread(12, 3), again.sample))
    assert [sample["total"] for sample in kept] == [totals[8], totals[10], totals[12]]
    np.testing.assert_array_equal(history, totals)


def test_learning_stops_when_it_has_converged(tmp_path):
    kind = partial("test.em", TOTAL)

    def climb(path, resume=False, stop_at=-1):
        with StopAt(path, kind, {}, "abc", resume=resume) as checkpoint:
            em, checkpoint.left = Halving(), stop_at
            return checkpoint.run(em, 50, columns=2, converged=lambda: em.gain < 0.01).history

    whole = climb(None)
    assert whole[:, 0].tolist() == [0.5**n for n in range(1, 8)] and whole[-1, 1] < 0.01
    for stop_at in range(7):
        with pytest.raises(Interrupted, match=f"after iteration {stop_at + 1}"):
            climb(tmp_path / "m", stop_at=stop_at)
        np.testing.assert_array_equal(climb(tmp_path / "m", resume=True), whole)


def test_stages_follow_one_another_and_a_lasting_one_comes_back(tmp_path):
    kind = partial("test.stages", TOTAL, TOTAL, TOTAL)

    def both(path, resume=False, stop_at=-1):
        with StopAt(path, kind, {}, "abc", resume=resume) as checkpoint:
            checkpoint.left = stop_at
            first, second, third = Toy(1), Toy(2), Toy(3)
            histories = [checkpoint.run(first, 2, lasting=True).history, checkpoint.run(second, 2).history]
            third.total = first.total + 1
            histories.append(checkpoint.run(third, 2).history)
        return np.concatenate([*histories, [first.total, third.total]]).tobytes()

    whole = both(None)
    for stop_at in range(3 * 6):
        iteration = 2 * (stop_at // 6) + (0, 1, 1, 1, 1, 2)[stop_at % 6]
        with pytest.raises(Interrupted, match=f"after iteration {iteration};"):
            both(tmp_path / "m", stop_at=stop_at)
        assert both(tmp_path / "m", resume=True) == whole


@pytest.mark.parametrize("workers", [1, 3])
def test_chains_run_side_by_side_and_are_what_they_are_alone(tmp_path, workers):
    kind = partial("test.chains", {f"chain/{chain}/{name}": a for chain in range(3) for name, a in TOTAL.items()})

    def chains(resume=False, stop_at=-1):
        with scale.workers(workers) as pool, StopAt(tmp_path / "m", kind, {}, "abc", resume=resume) as checkpoint:
            checkpoint.left, several = stop_at, Chains([Toy(seed) for seed in (1, 2, 3)], pool)
            return checkpoint.run(several, 4, columns=3).history, several.sample()

    with pytest.raises(Interrupted):
        chains(stop_at=6)
    history, sample = chains(resume=True)
    for chain, seed in enumerate((1, 2, 3)):
        alone = Toy(seed)
        np.testing.assert_array_equal(Checkpoint().run(alone, 4).history[:, 0], history[:, chain])
        np.testing.assert_array_equal(sample[f"chain/{chain}/total"], alone.total)


def test_unfinished_work_that_leads_to_no_model_is_to_blame_and_fresh_work_is_not(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(Interrupted):
        learn(path, stop_at=3)
    with (
        pytest.raises(InputError, match=r"m\.partial: a damaged file: what was learned from it is no model"),
        Checkpoint(path, SAMPLED, {}, "abc", resume=True),
    ):
        raise Invalid("array 'weights' has values that are not finite")
    assert (tmp_path / "m.partial").exists()
    with pytest.raises(Invalid), Checkpoint(tmp_path / "other", SAMPLED, {}, "abc"):
        raise Invalid("array 'weights' has values that are not finite")
