"""The members of an ensemble, trained side by side, each from random weights of its own.

They advance a few updates at a time, in processes or on a cluster if there are several, and come back after each time:
so unfinished work is kept in one place, and where they were trained does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import CorpuscleError, warn
from corpuscle.learning import Checkpoint, Learner
from corpuscle.model import Array, numbered, separated
from corpuscle.neural.settings import Architecture, NetworkSettings
from corpuscle.neural.training import Plan, Progress, Task, advance, begun, named
from corpuscle.scale import default_workers, processes

UPDATES = 20
"""The number of updates that are made at a time: about a second."""

_VECTORS = ("weights", "first", "second", "mean", "best")


class Member(NamedTuple):
    """One model in training: which of the tasks it learns, and how far it has come."""

    task: int
    progress: Progress


def member_arrays(count: str, stage: str = "") -> Any:
    """What a file with unfinished work has of each member, see ``learning.partial``; ``count`` names the fact that says
    how many there are."""

    def arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
        members = extra.get(count)
        if type(members) is not int or not 1 <= members <= 1000:
            raise ValueError("it does not say how many models it has")
        vectors = dict.fromkeys(_VECTORS, Array("float32", (f"parameters{stage}",), finite=True))

        def each(number: int) -> dict[str, Array]:
            rows = Array("float64", (f"rows{stage}/{number}", 3), finite=True, low=0)
            return {**vectors, "rows": rows, "facts": Array("int64", (2,), low=0)}

        return numbered("member", map(each, range(members)))

    return arrays


SEEN, FEWEST_PASSES, MOST_PASSES = 450_000, 12, 100
"""The number of pairs that are seen, and how often those of a set at least and at most, by default."""


def plan_of(settings: NetworkSettings, a: Architecture, pairs: int, guide: float) -> Plan:
    """The plan that settings make for a model of this size and this number of pairs."""
    rate = settings.rate
    if rate is None:
        rate = 0.001 if not a.recurrent else 0.01 if a.state <= 128 else 0.002 if a.state <= 256 else 0.0003
    schedule = settings.schedule_of(a)
    batch = settings.batch or (32 if a.recurrent else 128)
    pass_ = max(1, -(-pairs // batch))
    interval = settings.validate_every or min(500, pass_)
    epochs = settings.max_epochs or min(MOST_PASSES, max(FEWEST_PASSES, round(SEEN / max(1, pairs))))
    updates = max(1, -(-epochs * pass_ // interval)) * interval
    patience = settings.patience or (updates if schedule == "linear" else 5)
    return Plan(
        settings.dropout, settings.symbol_dropout, settings.label_smoothing, rate, settings.warm_up, batch, patience,
        settings.decay, interval, settings.average_weights, guide, schedule, updates,
    )  # fmt: skip


def _advanced(member: Member, tasks: Sequence[Task]) -> Member:
    return member._replace(progress=advance(member.progress, tasks[member.task], UPDATES))


class Members(Learner):
    """Trains the members. A sweep ends with a validation; its row of the history: cross-entropy and quality, both
    means over members.

    ``kinds``: which of the ``tasks`` each member learns; ``seeds``: one for each member.
    """

    def __init__(self, tasks: Sequence[Task], kinds: Sequence[int], seeds: Sequence[int], pool: Any):
        self.tasks, self.pool = list(tasks), pool
        self.members = [Member(kind, begun(tasks[kind], seed)) for kind, seed in zip(kinds, seeds, strict=True)]

    def steps(self, sweep: int) -> int:
        """As many as the validation interval has parts."""
        return -(-self.tasks[0].plan.interval // UPDATES)

    def step(self, sweep: int, number: int) -> None:
        """Some updates of every member."""
        self.members = list(self.pool.map(_advanced, self.members, self.tasks))

    def finish(self, sweep: int) -> np.ndarray:
        """What the validation has found."""
        rows = [member.progress.history[-1, :2] for member in self.members if len(member.progress.history)]
        if not rows:
            raise CorpuscleError("the loss was not finite before the first validation: a smaller --rate may help")
        return np.mean(rows, axis=0)

    def over(self) -> bool:
        """Whether all members have learned what they could."""
        return all(member.progress.over(self.tasks[member.task].plan) for member in self.members)

    def best(self) -> list[dict[str, np.ndarray]]:
        """The arrays of every member as they were at its best validation."""
        for number, member in enumerate(self.members, 1):
            if member.progress.broken:
                warn(f"the loss of model {number} was not finite: its last good weights are kept")
        return [named(member.progress.best, self.tasks[member.task]) for member in self.members]

    def state(self) -> dict[str, np.ndarray]:
        """All that the next update needs."""
        return numbered(
            "member",
            [
                {name: getattr(progress, name) for name in _VECTORS}
                | {"rows": progress.history, "facts": np.array([progress.updates, progress.broken], np.int64)}
                for _, progress in self.members
            ],
        )

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Let every member stand where it stood."""
        kept = separated("member", arrays, len(self.members))
        for place, (member, state) in enumerate(zip(self.members, kept, strict=True)):
            updates, broken = state["facts"].tolist()
            interval = self.tasks[member.task].plan.interval
            most = sweep * interval + number * UPDATES
            if len(state["weights"]) != len(member.progress.weights) or updates > most or broken > 1:
                raise ValueError("it does not fit the pairs")
            if len(state["rows"]) != updates // interval:
                raise ValueError("its validations are not those of its updates")
            vectors: dict[str, Any] = {name: np.array(state[name]) for name in _VECTORS}
            facts = {"updates": updates, "broken": bool(broken), "history": np.array(state["rows"])}
            self.members[place] = member._replace(progress=member.progress._replace(**vectors, **facts))


def train(
    tasks: Sequence[Task],
    kinds: Sequence[int],
    seeds: Sequence[int],
    checkpoint: Checkpoint,
    count: str = "members",
    workers: int | None = None,
    cluster: Any = None,
) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
    """Train members to the end: their arrays, and the history, float64 (validations, 2). ``count``: see
    ``member_arrays``."""
    with processes(None if cluster is not None else min(workers or default_workers(), len(kinds)), cluster) as pool:
        members = Members(tasks, kinds, seeds, pool)
        plan = tasks[0].plan
        history, _ = checkpoint.run(
            members, plan.updates // plan.interval, columns=2, facts={count: len(kinds)}, converged=members.over,
            lasting=True, title="validations", note=tasks[0].quality + " {1:.3f}",
        )  # fmt: skip
        return members.best(), history
