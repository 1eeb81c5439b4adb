"""Training: Adam on padded batches, a running mean of the weights, a rate that falls by a plan or by validation.

All weights are views of one vector, so that an update is a handful of operations whatever the number of tensors. What a
member has learned so far is a record of arrays, ``Progress``; ``advance`` takes one and returns a later one, so members
of an ensemble can be anywhere: in this process, in others, on a cluster.

- Adam: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1;
- the running mean: theta_bar = D theta_bar + (1 - D) theta, D = min(1 - 1e-4, (t + 1) / (t + 10)) after update t;
- attention guided by known links: Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural
  machine translation", 2016, section 4.

The members of an ensemble are trained side by side, each from random weights of its own. They advance a few updates at
a time, in processes or on a cluster if there are several, and come back after each time: so unfinished work is kept in
one place, and where they were trained does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import CorpuscleError, warn
from corpuscle.learning import Checkpoint, Learner
from corpuscle.measure.translations import bleu
from corpuscle.model import Array, numbered, separated
from corpuscle.neural.decoder import Decoder
from corpuscle.neural.network import Batch, Dropping, forward, keep_all, torch
from corpuscle.neural.reference import Weights, shapes
from corpuscle.neural.settings import Architecture, NetworkSettings
from corpuscle.random import Random
from corpuscle.scale import default_workers, processes
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.vocab import END, START, UNKNOWN, Vocab


class Examples(NamedTuple):
    """Pairs to learn from: ``sources`` and ``targets`` int32, one sequence after the other without START and END, and
    ``source_starts``, ``target_starts`` int64 (n + 1,), where each begins.

    ``links``: float32, for each pair one number for each target and source position (the target's rows one after the
    other, END excluded): how sure it is that they belong together; from ``link_starts`` int64 (n + 1,) on. Empty where
    nothing is known.
    """

    sources: np.ndarray
    source_starts: np.ndarray
    targets: np.ndarray
    target_starts: np.ndarray
    links: np.ndarray
    link_starts: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[np.ndarray, np.ndarray]], links: Sequence[np.ndarray] | None = None) -> Examples:
        """Pairs of int arrays; ``links``: a matrix (m, n) for each, if they are known."""
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        flat = [np.concatenate([*side, np.zeros(0)]).astype(np.int32) for side in sides]
        starts = [starts_of(map(len, side)) for side in sides]
        known = links or []
        cells = np.concatenate([*(matrix.ravel() for matrix in known), np.zeros(0)]).astype(np.float32)
        return cls(flat[0], starts[0], flat[1], starts[1], cells, starts_of([matrix.size for matrix in known]))

    def __len__(self) -> int:
        return len(self.source_starts) - 1

    def links_of(self, which: np.ndarray, m: int, n: int) -> np.ndarray:
        """The links of some pairs, padded with zeros: float32 (b, m, n)."""
        result = np.zeros((len(which), m, n), np.float32)
        for row, i in enumerate(which.tolist()):
            matrix = self.links[self.link_starts[i] : self.link_starts[i + 1]]
            height = self.target_starts[i + 1] - self.target_starts[i]
            result[row, :height, : len(matrix) // max(1, height)] = matrix.reshape(height, -1)
        return result


def padded(flat: np.ndarray, starts: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some sequences, each with an END, padded with END: int64 (b, longest + 1); and what is not padding, bool."""
    lengths = starts[which + 1] - starts[which]
    columns = np.arange(lengths.max(initial=0) + 1)
    symbols = np.full((len(which), len(columns)), END, np.int64)
    symbols[columns < lengths[:, None]] = flat[items_of(starts, which)[0]]
    return symbols, columns <= lengths[:, None]


def batches(examples: Examples, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """All pairs in batches of ``size``, pairs of about equal length together, in an order of this epoch."""
    random = Random(seed, "neural/batches", epoch)
    source, target = np.diff(examples.source_starts), np.diff(examples.target_starts)
    order = np.lexsort((random.uniforms(len(examples)), target, source))
    return random.shuffled([order[first : first + size] for first in range(0, len(order), size)])


BETAS = {True: (0.9, 0.999), False: (0.9, 0.98)}
"""Decays of Adam's moments, for recurrent models and for transformers."""

CLIP, TINY = 1.0, 1e-8
AT_ONCE = 256
"""The number of validation pairs that are read together."""


class Plan(NamedTuple):
    """How to learn, see ``NetworkSettings``; ``guide``: weight of the guided attention; ``interval``: updates between
    two validations; ``updates``: their greatest number; ``choose``: keep the best weights, not the last."""

    dropout: float
    symbol_dropout: float
    label_smoothing: float
    rate: float
    warm_up: int
    batch: int
    patience: int
    decay: float
    interval: int
    smoothing: bool
    guide: float
    schedule: str
    updates: int
    choose: bool = True


class Task(NamedTuple):
    """What all members share: architecture, symbols of either side, pairs to learn from and to validate on, each source
    of the latter with its accepted targets as tuples of ids; ``quality``: by what the best weights are chosen, the
    ``accuracy`` of whole outputs or the ``bleu`` of their words, which end in spaces."""

    architecture: Architecture
    vocabs: tuple[Vocab, Vocab]
    training: Examples
    validation: Examples
    accepted: list[set[tuple[int, ...]]]
    plan: Plan
    quality: str = "accuracy"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes(self.architecture, *map(len, self.vocabs))


class Progress(NamedTuple):
    """How far a member of an ensemble has come: its ``seed``, the number of ``updates``, the vectors float32
    (n_parameters,) of the weights, of Adam's two moments, of the running mean and of the best mean so far; and a row
    for each validation:
    cross-entropy, quality, rate. ``broken``: the loss was not finite, and it stopped there. ``task``: which of
    several it learns."""

    seed: int
    updates: int
    weights: np.ndarray
    first: np.ndarray
    second: np.ndarray
    mean: np.ndarray
    best: np.ndarray
    history: np.ndarray
    broken: bool = False
    task: int = 0

    def waits(self) -> int:
        """How many validations in a row, up to the last, brought no new least cross-entropy."""
        if not len(self.history):
            return 0
        return len(self.history) - 1 - int(np.argmin(self.history[:, 0]))

    def over(self, plan: Plan) -> bool:
        return self.broken or self.waits() >= plan.patience


def begun(task: Task, seed: int, number: int = 0) -> Progress:
    """Random weights: uniform, within sqrt(6 / (rows + columns)); gains 1, biases 0. ``number`` is that of the task."""
    parts = []
    for place, (name, shape) in enumerate(task.shapes.items()):
        values = np.zeros(shape)
        if len(shape) == 2 or name == "attention/v":
            bound = math.sqrt(6 / (sum(shape) if len(shape) == 2 else shape[0] + 1))
            if name.endswith("embedding"):
                bound = math.sqrt(3 / shape[1]) if task.architecture.recurrent else math.sqrt(3) / shape[1]
            values = (Random(seed, "neural/weights", 0, place).uniforms(*shape) * 2 - 1) * bound
            if name.endswith("embedding"):
                values[UNKNOWN] = 0  # as a symbol that was dropped
        elif name.rsplit("/", 1)[-1] in ("g", "gx", "gh", "gu", "gw"):
            values += 1
        parts.append(values.ravel())
    vector = np.concatenate(parts).astype(np.float32)
    zero = np.zeros_like(vector)
    return Progress(seed, 0, vector, zero, zero, vector, vector, np.zeros((0, 3)), task=number)


def named(vector: Any, task: Task) -> dict[str, Any]:
    """The tensors (or arrays) of which a vector consists."""
    wanted = task.shapes
    sizes = [math.prod(shape) for shape in wanted.values()]
    parts = np.split(vector, np.cumsum(sizes)[:-1]) if isinstance(vector, np.ndarray) else vector.split(sizes)
    return {name: part.reshape(shape) for (name, shape), part in zip(wanted.items(), parts, strict=True)}


def smoothing(update: int) -> float:
    """How much of the running mean stays after an update."""
    return min(1 - 1e-4, (update + 1) / (update + 10))


def rate_of(progress: Progress, plan: Plan) -> float:
    t = progress.updates + 1
    rate = plan.rate * min(1.0, t / max(1, plan.warm_up))
    if plan.schedule == "linear":
        return rate * max(0.0, 1 - progress.updates / plan.updates)
    if plan.schedule == "root":
        return rate * min(1.0, math.sqrt(max(1, plan.warm_up) / t))
    lows = np.minimum.accumulate(progress.history[:, 0])
    misses = int((progress.history[1:, 0] >= lows[:-1]).sum())
    return rate * plan.decay**misses


def advance(progress: Progress, task: Task, updates: int) -> Progress:
    """What a member is after some more updates, or at its next validation, whichever comes first."""
    plan, a = task.plan, task.architecture
    if progress.over(plan):
        return progress
    torch.set_num_threads(1)  # steps are small: two threads would mostly wait for each other
    theta = torch.tensor(progress.weights, requires_grad=True)
    first, second, mean = (torch.tensor(x) for x in (progress.first, progress.second, progress.mean))
    per_epoch = -(-len(task.training) // plan.batch)
    end = min(progress.updates + updates, (progress.updates // plan.interval + 1) * plan.interval)
    slow, fast = BETAS[a.recurrent]
    epoch, order = -1, list[np.ndarray]()
    for t in range(progress.updates, end):
        if t // per_epoch != epoch:
            epoch = t // per_epoch
            order = batches(task.training, plan.batch, progress.seed, epoch)
        loss = _loss(task, named(theta, task), order[t % per_epoch], _dropping(plan, progress.seed, t))
        (gradient,) = torch.autograd.grad(loss, theta)
        norm = gradient.norm()
        if not math.isfinite(loss.item()) or not math.isfinite(norm.item()):
            return progress._replace(broken=True)
        gradient *= min(1.0, CLIP / (norm.item() + TINY))
        first.lerp_(gradient, 1 - slow)
        second.mul_(fast).addcmul_(gradient, gradient, value=1 - fast)
        rate = rate_of(progress._replace(updates=t), plan)
        deviation = second.sqrt().div_(math.sqrt(1 - fast ** (t + 1))).add_(TINY)
        with torch.no_grad():
            theta.addcdiv_(first, deviation, value=-rate / (1 - slow ** (t + 1)))
        mean.lerp_(theta.detach(), 1 - smoothing(t)) if plan.smoothing else mean.copy_(theta.detach())
    later = progress._replace(
        updates=end, weights=theta.detach().numpy(), first=first.numpy(), second=second.numpy(), mean=mean.numpy()
    )
    return _validated(later, task) if end % plan.interval == 0 else later


def _validated(progress: Progress, task: Task) -> Progress:
    """Measure the running mean; keep it where its quality is the best so far (or as good, and the cross-entropy
    smaller), or in any case if there is nothing to choose by."""
    arrays = named(progress.mean, task)
    entropy = cross_entropy(task, {name: torch.from_numpy(x) for name, x in arrays.items()})
    if not math.isfinite(entropy):
        return progress._replace(broken=True)
    row = [entropy, quality(task, arrays), rate_of(progress, task.plan)]
    ranks = [(-right, low) for low, right, _ in progress.history.tolist()]
    best = not task.plan.choose or not ranks or (-row[1], row[0]) < min(ranks)
    return progress._replace(best=progress.mean if best else progress.best, history=np.vstack([progress.history, row]))


def _dropping(plan: Plan, seed: int, update: int) -> Dropping:
    random = Random(seed, "neural/dropout", update)

    def drop(*shape: int, symbols: bool = False) -> Any:
        share = plan.symbol_dropout if symbols else plan.dropout
        if share == 0:
            return None
        kept = random.uniforms(*shape) >= share
        return torch.from_numpy(kept.astype(np.float32) / np.float32(1 - share))

    return drop


def _batch(examples: Examples, which: np.ndarray) -> tuple[Batch, Any, Any]:
    """Some pairs as tensors: what goes in, the symbols (b, m) to write, and which of them are real."""
    sources, real = padded(examples.sources, examples.source_starts, which)
    targets, wanted = padded(examples.targets, examples.target_starts, which)
    read = np.concatenate([np.full((len(which), 1), START), targets[:, :-1]], axis=1)
    return Batch(*map(torch.from_numpy, (sources, read, real))), torch.from_numpy(targets), torch.from_numpy(wanted)


def _loss(task: Task, p: Mapping[str, Any], which: np.ndarray, drop: Dropping) -> Any:
    """Mean cross-entropy of a target symbol, END included, and what the attention is away from known links."""
    inputs, wanted, real = _batch(task.training, which)
    logits, attention = forward(task.architecture, p, inputs, drop)
    loss = torch.nn.functional.cross_entropy(logits[real], wanted[real], label_smoothing=task.plan.label_smoothing)
    if task.plan.guide and len(task.training.links):
        links = torch.from_numpy(task.training.links_of(which, *attention.shape[1:]))
        guided = links.sum(-1) > 0
        away = -torch.log((attention * links).sum(-1)[guided] + 1e-6)
        loss = loss + task.plan.guide * away.sum() / max(1, int(real.sum()))
    return loss


def cross_entropy(task: Task, p: Mapping[str, Any]) -> float:
    """Mean over the symbols of the validation pairs."""
    total, symbols = 0.0, 0
    order = np.argsort(np.diff(task.validation.source_starts), kind="stable")
    with torch.no_grad():
        for first in range(0, len(order), AT_ONCE):
            inputs, wanted, real = _batch(task.validation, order[first : first + AT_ONCE])
            logits, _ = forward(task.architecture, p, inputs, keep_all)
            total += torch.nn.functional.cross_entropy(logits[real], wanted[real], reduction="sum").item()
            symbols += int(real.sum())
    return total / symbols


def quality(task: Task, arrays: Mapping[str, np.ndarray]) -> float:
    """How good the output for the validation sources is, the best symbol at each step: share accepted, or BLEU."""
    decoder = Decoder(Weights(task.architecture, *task.vocabs, arrays))
    sides = task.validation
    sources = [sides.sources[a:b] for a, b in pairwise(sides.source_starts.tolist())]
    found = [best.symbols for (best,) in decoder.decode(sources, beam=1, scores=False, workers_=1)]
    if task.quality == "bleu":
        targets = [sides.targets[a:b] for a, b in pairwise(sides.target_starts.tolist())]
        lines = [["".join(task.vocabs[1].decode(each)) for each in side] for side in (found, targets)]
        return float(bleu(*lines, draws=1).figures["bleu"])
    right = [tuple(best.tolist()) in good for best, good in zip(found, task.accepted, strict=True)]
    return sum(right) / len(right)


UPDATES = 20
"""The number of updates that are made at a time: about a second."""

_VECTORS = ("weights", "first", "second", "mean", "best")


def member_arrays(count: str, stage: str = "") -> Any:
    """What a file with unfinished work has of each member, see ``learning.partial``; ``count``: the fact with their
    number."""

    def arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
        members = extra.get(count)
        if type(members) is not int or not 1 <= members <= 1000:
            raise ValueError("it does not say how many models it has")
        same = dict.fromkeys(_VECTORS, Array("float32", (f"parameters{stage}",), finite=True))
        rows = [Array("float64", (f"rows{stage}/{n}", 3), finite=True, low=0) for n in range(members)]
        return numbered("member", [{**same, "rows": each, "facts": Array("int64", (2,), low=0)} for each in rows])

    return arrays


SEEN, FEWEST_PASSES, MOST_PASSES = 450_000, 12, 100
"""The number of pairs that are seen, and how often those of a set at least and at most, by default."""


def plan_of(settings: NetworkSettings, pairs: int, guide: float) -> Plan:
    """The plan that settings make for this number of pairs."""
    rate, a = settings.rate, settings.architecture
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


def _advanced(member: Progress, tasks: Sequence[Task]) -> Progress:
    return advance(member, tasks[member.task], UPDATES)


class Members(Learner):
    """Trains the members. A sweep ends with a validation; its row of the history: cross-entropy and quality, both
    means over members.

    ``kinds``: which of the ``tasks`` each member learns; ``seeds``: one for each member.
    """

    def __init__(self, tasks: Sequence[Task], kinds: Sequence[int], seeds: Sequence[int], pool: Any):
        self.tasks, self.pool = list(tasks), pool
        self.members = [begun(tasks[kind], seed, kind) for kind, seed in zip(kinds, seeds, strict=True)]

    def steps(self, sweep: int) -> int:
        """As many as the validation interval has parts."""
        return -(-self.tasks[0].plan.interval // UPDATES)

    def step(self, sweep: int, number: int) -> None:
        self.members = list(self.pool.map(_advanced, self.members, self.tasks))

    def finish(self, sweep: int) -> np.ndarray:
        rows = [member.history[-1, :2] for member in self.members if len(member.history)]
        if not rows:
            raise CorpuscleError("the loss was not finite before the first validation: a smaller --rate may help")
        return np.mean(rows, axis=0)

    def over(self) -> bool:
        """Whether all members have learned what they could."""
        return all(member.over(self.tasks[member.task].plan) for member in self.members)

    def best(self) -> list[dict[str, np.ndarray]]:
        """The arrays of every member as they were at its best validation."""
        for number, member in enumerate(self.members, 1):
            if member.broken:
                warn(f"the loss of model {number} was not finite: its last good weights are kept")
        return [named(member.best, self.tasks[member.task]) for member in self.members]

    def state(self) -> dict[str, np.ndarray]:
        def each(member: Progress) -> dict[str, np.ndarray]:
            facts = {"rows": member.history, "facts": np.array([member.updates, member.broken], np.int64)}
            return {name: getattr(member, name) for name in _VECTORS} | facts

        return numbered("member", map(each, self.members))

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        kept = separated("member", arrays, len(self.members))
        for place, (member, state) in enumerate(zip(self.members, kept, strict=True)):
            updates, broken = state["facts"].tolist()
            interval = self.tasks[member.task].plan.interval
            most = sweep * interval + number * UPDATES
            if len(state["weights"]) != len(member.weights) or updates > most or broken > 1:
                raise ValueError("it does not fit the pairs")
            if len(state["rows"]) != updates // interval:
                raise ValueError("its validations are not those of its updates")
            vectors: dict[str, Any] = {name: np.array(state[name]) for name in _VECTORS}
            facts = {"updates": updates, "broken": bool(broken), "history": np.array(state["rows"])}
            self.members[place] = member._replace(**vectors, **facts)


def train(
    tasks: Sequence[Task], kinds: Sequence[int], seeds: Sequence[int], checkpoint: Checkpoint, count: str = "members",
    workers: int | None = None, cluster: Any = None,
) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:  # fmt: skip
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
