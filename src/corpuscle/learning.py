"""The loop of every iterative learner: steps, sweeps, samples to keep, progress, checkpoints, Ctrl-C and resumption.

A ``Learner`` says what a step is and what its state consists of; ``Checkpoint.run`` does everything else.

    with Checkpoint(path, PARTIAL, settings, corpus.signature(), resume=resume) as checkpoint:
        history, samples = checkpoint.run(sampler, iterations + 1, samples=Samples(...))
        model.save(path)

While it runs, ``MODEL.partial`` gets the state at least every minute and when the user presses Ctrl-C; a run that is
resumed from that file ends in the identical result. Learning may have stages, one ``run`` after the other.

The block covers the saving of the model: when it ends well the partial file has done its duty and is removed. A Ctrl-C
that came too late for the last item is still heard then: the model stays, and what would follow does not happen.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from corpuscle.errors import InputError, Interrupted
from corpuscle.model import Array, Container, Kind, Part, numbered, prefixed, read, save, separated, stripped
from corpuscle.model.kinds import Invalid
from corpuscle.progress import bar, say, stopping
from corpuscle.random import Random
from corpuscle.scale import Workers, chunks_of

SUFFIX = ".partial"
_MOST_SAMPLES = 1000
_WORDS = 2000


class Learner(Protocol):
    """What learns, sweep by sweep (or iteration by iteration, pass by pass), from sweep 0 on.

    What it draws at random depends on the sweep and the step alone, so that it can stop after any step and go on.
    """

    def steps(self, sweep: int) -> int:
        """How many steps a sweep has before its end; none where ``finish`` does everything, as in EM."""
        return 0

    def step(self, sweep: int, number: int) -> None:
        """One part of a sweep, which lasts a fraction of a second."""
        return None

    def finish(self, sweep: int) -> float | Sequence[float] | np.ndarray:
        """End a sweep. Returns its row of the history: one number, or always equally many."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """The present state as a file keeps it."""
        ...

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Stand where the kept state stands, before a step; ``ValueError`` if it cannot be one of this learner.

        ``arrays`` also has ``history``, float64 (sweeps, columns).
        """
        ...


class Kept:
    """The base of learners whose state is what ``KEEPS`` names: attributes that are arrays of one shape throughout."""

    KEEPS: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in self.KEEPS}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if any(arrays[name].shape != getattr(self, name).shape for name in self.KEEPS):
            raise ValueError("it does not fit the data")
        for name in self.KEEPS:
            getattr(self, name)[:] = arrays[name]  # in place: records of kernels have the same arrays


class Samples(NamedTuple):
    """Which samples a run keeps: after the sweeps ``after`` what ``take`` returns; ``check`` raises ``ValueError`` for
    a sample from a file that cannot be one."""

    after: Collection[int] = ()
    take: Callable[[], dict[str, np.ndarray]] = dict
    check: Callable[[dict[str, np.ndarray]], Any] = len


class Run(NamedTuple):
    """What came of a run: ``history`` float64 (sweeps, columns), a row a sweep, and the samples in order."""

    history: np.ndarray
    samples: list[dict[str, np.ndarray]]


def spread(last: int, count: int, apart: int | None = None) -> set[int]:
    """The sweeps of which samples are kept: the last one and others before it, equally far from one another, spread
    over the second half of the run; ``apart``: at most so many sweeps from one to the next.

    >>> sorted(spread(100, 5))
    [60, 70, 80, 90, 100]
    """
    gap = max(1, last // (2 * count))
    return {last - (gap if apart is None else min(gap, apart)) * number for number in range(count)}


def sweep(learner: Learner, number: int) -> Any:
    """All steps of one sweep and its end; its row of the history."""
    for step in range(learner.steps(number)):
        learner.step(number, step)
    return learner.finish(number)


class Shuffled(Kept):
    """The base of online learners: sentences in an order of its own each sweep, about 2,000 words at a time.

    ``lengths``: int64 (n_sentences,); the order depends on seed, purpose and sweep alone.
    """

    def __init__(self, lengths: np.ndarray, seed: int, purpose: str):
        self._bounds = chunks_of(lengths + 1, _WORDS)
        self._sentences, self._seed, self._purpose = len(lengths), seed, purpose
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    def steps(self, sweep: int) -> int:
        """How many groups of sentences a sweep has."""
        return len(self._bounds) - 1

    def part(self, sweep: int, number: int) -> np.ndarray:
        """The sentences of one step, int64."""
        if self._order[0] != sweep:
            keys = Random(self._seed, self._purpose, sweep).uniforms(self._sentences)
            self._order = sweep, np.argsort(keys, kind="stable")
        return self._order[1][self._bounds[number] : self._bounds[number + 1]]


class Chains:
    """Several learners side by side, as one: their rows of the history one after the other, their arrays under
    ``chain/0/``, ``chain/1/``, ..., each on a worker of the pool."""

    def __init__(self, chains: Sequence[Any], pool: Workers):
        self.chains, self._held = chains, pool.scatter(chains)

    def steps(self, sweep: int) -> int:
        return self.chains[0].steps(sweep)

    def step(self, sweep: int, number: int) -> None:
        for _ in self._held.map(lambda chain: chain.step(sweep, number)):
            pass

    def finish(self, sweep: int) -> np.ndarray:
        """End a sweep of every chain; their rows, float64 (chains, columns)."""
        return np.array(list(self._held.map(lambda chain: chain.finish(sweep))))

    def sample(self) -> dict[str, np.ndarray]:
        return numbered("chain", [chain.sample() for chain in self.chains])

    def state(self) -> dict[str, np.ndarray]:
        return numbered("chain", [chain.state() for chain in self.chains])

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        for which, chain in enumerate(self.chains):
            chain.restore(stripped(f"chain/{which}/", arrays), sweep, number)


Declared = Mapping[str, Array] | Callable[[Mapping[str, Any]], Mapping[str, Array]]
"""Arrays, or a function of the header's ``extra`` that returns them."""


def partial(
    name: str, *stages: Declared, sample: Callable[[Mapping[str, Any], int], Mapping[str, Array]] | None = None
) -> Kind:
    """The kind of file that keeps unfinished work on models of the kind ``name``.

    ``stages``: the state of the learner in each stage; ``sample(extra, number)``: the arrays ``sample/NUMBER/...``.
    """

    def arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
        stage, kept = extra["stage"], extra["kept"]
        if type(stage) is not int or not 0 <= stage < len(stages):
            raise ValueError("it does not say how far it has come")
        if type(kept) is not int or not 0 <= kept <= (0 if sample is None else _MOST_SAMPLES):
            raise ValueError("it does not say how many samples it has")
        declared = {"history": Array("float64", ("sweeps", "columns"))}
        *before, now = (each(extra) if callable(each) else each for each in stages[: stage + 1])
        for number, of_stage in enumerate(before):
            lasting = {name: replace(array, optional=True) for name, array in of_stage.items()}
            lasting["history"] = Array("float64", (f"sweeps{number}", f"columns{number}"))
            declared |= prefixed(f"stage/{number}/", lasting)
        declared |= now
        for number in range(kept):
            assert sample is not None
            declared |= sample(extra, number)
        return declared

    return Kind(f"{name}.partial", 1, arrays)


class Checkpoint:
    """Runs learners, and keeps what they have: at least every ``every`` seconds, and when the user presses Ctrl-C.

    ``path`` is that of the model (None: keep nothing, only stop politely); ``kind``, see ``partial``, declares the
    arrays of the state. ``resume`` goes on from ``MODEL.partial``, if that comes from the same settings and data.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        kind: Kind | None = None,
        settings: Mapping[str, Any] | None = None,
        signature: str = "",
        *,
        resume: bool = False,
        every: float = 60.0,
    ):
        self.path = None if path is None else os.fspath(path) + SUFFIX
        # Settings as they come back from a file.
        self.settings = json.loads(json.dumps(dict(settings or {}), default=lambda value: value.tolist()))
        self.kind, self.signature, self.every = kind, signature, every
        self.state: Container | None = None
        self.iteration, self.position = 0, 0  # how far unfinished work has come
        self._stack: ExitStack | None = None
        self._stage, self._sweeps = 0, 0  # how many stages are over, and how many sweeps they had
        self._lasting: dict[str, np.ndarray] = {}
        self._facts: dict[str, Any] = {}
        if resume:
            self._resume()
        elif self.path is not None and os.path.exists(self.path):
            say(f"note: {self.path} exists; --resume would go on from it, this run starts afresh")

    def _resume(self) -> None:
        if self.path is None or not os.path.exists(self.path):
            raise InputError(self.path, None, "nothing to resume: no such file")
        state = read(self.path, self.kind)
        if state.provenance.get("signature") != self.signature:
            raise InputError(self.path, None, "cannot resume: it was learning from other data")
        for name in sorted(self.settings.keys() | state.settings.keys()):
            before, now = state.settings.get(name), self.settings.get(name)
            if before != now:
                raise InputError(self.path, None, f"cannot resume: {name} was {before!r} and is {now!r} now")
        where = state.extra.get("iteration"), state.extra.get("position")
        if not all(type(number) is int and 0 <= number < 1 << 62 for number in where):
            raise InputError(self.path, None, "a damaged model: it does not say how far it has come")
        self.state = state
        self.iteration, self.position = where  # type: ignore[assignment]

    def __enter__(self) -> Checkpoint:
        self._stack = ExitStack()
        self._stop = self._stack.enter_context(stopping())
        self._written = time.monotonic()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        assert self._stack is not None
        self._stack.close()
        self._stack = None
        if self.state is not None and error is not None and issubclass(error, Invalid):
            raise InputError(self.path, None, "a damaged file: what was learned from it is no model") from None
        if error is not None:
            return
        if self.path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)
        if self._stop.requested:
            raise Interrupted("stopped" if self.path is None else f"stopped; {self.path[: -len(SUFFIX)]} is complete")

    def run(
        self,
        learner: Learner,
        sweeps: int,
        *,
        columns: int = 1,
        samples: Samples | None = None,
        facts: Mapping[str, Any] | None = None,
        converged: Callable[[], bool] | None = None,
        lasting: bool = False,
        log: Callable[..., None] | None = None,
        title: str = "sweeps",
        note: str = "log P {:.4g}",
    ) -> Run:
        """All sweeps of a learner, from where unfinished work stands, or fewer if it has ``converged``.

        - ``columns``: how many numbers a row of the history has; ``samples``: which to keep, in the last stage only;
        - ``facts``: small facts that the declarations of arrays need, and that a resumed run must share;
        - ``lasting``: later stages need what this one has learned, so it is kept and restored with them;
        - ``log``: gets the number of each sweep and its row; ``title``, ``note``: what the progress bar shows, the
          latter a format of the last row.
        """
        samples, facts = samples or Samples(), facts or {}
        stage, self._stage, self._facts = self._stage, self._stage + 1, {**self._facts, **facts}
        rows: list[list[float]] = []
        kept: list[dict[str, np.ndarray]] = []
        sweep, step = 0, 0
        if self.state is not None and self.state.extra["stage"] >= stage:
            try:
                if self.state.extra["stage"] > stage:
                    return Run(self._passed(learner, stage, sweeps, columns, lasting), [])
                rows, kept, sweep, step = self._restored(learner, sweeps, columns, samples, facts)
            except (ValueError, KeyError, IndexError) as error:
                raise InputError(self.path, None, f"a damaged file: {error}") from None

        def history() -> np.ndarray:
            return np.array(rows, np.float64).reshape(len(rows), columns)

        def arrays() -> dict[str, np.ndarray]:
            return {**self._lasting, **learner.state(), **numbered("sample", kept), "history": history()}

        def after() -> None:
            extra = {**self._facts, "stage": stage, "kept": len(kept)}
            self.after(self._sweeps + sweep, arrays, position=step, extra=extra)

        with nullcontext() if self._stack is not None else self, bar(title, sweeps) as progress:
            progress.advance(sweep)
            while sweep < sweeps and not (converged is not None and converged()):
                said, steps = note.format(*rows[-1]) if rows else "", learner.steps(sweep)
                progress.advance(step / (steps + 1), said)
                while step < steps:
                    learner.step(sweep, step)
                    step += 1
                    progress.advance(1 / (steps + 1), said)
                    after()
                rows.append(np.ravel(learner.finish(sweep)).tolist())
                if log is not None:
                    log(sweep, *rows[-1])
                if sweep in samples.after:
                    kept.append(samples.take())
                sweep, step = sweep + 1, 0
                progress.advance(1 / (steps + 1), note.format(*rows[-1]))
                after()
        self._sweeps += len(rows)
        if self.path is not None:
            left = {name: array.copy() for name, array in learner.state().items()} if lasting else {}
            self._lasting |= prefixed(f"stage/{stage}/", {**left, "history": history()})
        return Run(history(), kept)

    def _passed(self, learner: Learner, stage: int, sweeps: int, columns: int, lasting: bool) -> np.ndarray:
        """The history of a stage that unfinished work has left behind; a lasting learner is restored."""
        assert self.state is not None
        arrays = stripped(f"stage/{stage}/", self.state.arrays)
        history = arrays["history"]
        if len(history) > sweeps or history.shape[1] != columns:
            raise ValueError("it does not fit the text")
        if lasting:
            learner.restore(arrays, len(history), 0)
        self._lasting |= prefixed(f"stage/{stage}/", arrays)
        self._sweeps += len(history)
        return history

    def _restored(
        self, learner: Learner, sweeps: int, columns: int, samples: Samples, facts: Mapping[str, Any]
    ) -> tuple[list[list[float]], list[dict[str, np.ndarray]], int, int]:
        """The history, the samples, the sweep and the step of unfinished work, whose learner is restored."""
        assert self.state is not None
        arrays, extra = self.state.arrays, self.state.extra
        sweep, step = self.iteration - self._sweeps, self.position
        count = sum(number < sweep for number in samples.after)
        if extra["kept"] != count or any(extra[name] != value for name, value in facts.items()):
            raise ValueError("it is another run")
        within = 0 <= sweep <= sweeps and step <= (learner.steps(sweep) if sweep < sweeps else 0)
        if not within or arrays["history"].shape != (sweep, columns):
            raise ValueError("it does not fit the text")
        learner.restore(arrays, sweep, step)
        kept = separated("sample", arrays, count)
        for sample in kept:
            samples.check(sample)
        return arrays["history"].tolist(), kept, sweep, step

    def after(
        self,
        iteration: int,
        arrays: Callable[[], Mapping[str, np.ndarray]],
        *,
        position: int = 0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """An item is done: keep the state if it is time to, and stop if the user wants to.

        ``iteration`` and ``position`` say how far the learner has come, the latter within the iteration. ``arrays`` is
        called only when the state is written. ``extra`` are small facts.
        """
        stop = self._stop.requested
        if self.path is None:
            if stop:
                raise Interrupted(f"stopped after iteration {iteration}")
            return
        if not stop and time.monotonic() - self._written < self.every:
            return
        assert self.kind is not None
        settings = {name: (value, "given") for name, value in self.settings.items()}
        facts = {**(extra or {}), "iteration": int(iteration), "position": int(position)}
        save(self.path, Part(self.kind, arrays(), settings, provenance={"signature": self.signature}, extra=facts))
        self._written = time.monotonic()
        if stop:
            raise Interrupted(f"stopped after iteration {iteration}; {self.path} keeps it, --resume goes on from it")
