"""Checkpoints: what an iterative learner has so far, in ``MODEL.partial``, so that no night of work is lost.

    with Checkpoint(path, STATE, settings, corpus.signature(), resume=resume) as checkpoint:
        state = checkpoint.state          # a Container, or None for a fresh start
        ...
        for iteration in range(first, last):
            ...                           # no item takes longer than half a second
            checkpoint.after(iteration, lambda: {"seats": seats}, position=item)
        model.save(path)

The block covers the saving of the model: when it ends well the partial file has done its duty and is removed. A Ctrl-C
that came too late for the last item is still heard then: the model stays, and what would follow does not happen.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from os import PathLike
from typing import Any

import numpy as np

from corpuscle.errors import InputError, Interrupted
from corpuscle.model.kinds import Kind
from corpuscle.model.store import Container, _python, read, save
from corpuscle.progress import say, stopping

__all__ = ["Checkpoint"]

SUFFIX = ".partial"


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from a file."""
    return json.loads(json.dumps(dict(settings), default=_python))


class Checkpoint:
    """Keeps a learner's state: at least every ``every`` seconds, and when the user presses Ctrl-C.

    ``path`` is that of the model (None: keep nothing, only stop politely); ``kind`` declares the arrays of the state.
    ``iteration`` and ``position`` say how far the learner has come, the latter within an iteration or random stream.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        kind: Kind,
        settings: Mapping[str, Any],
        signature: str,
        *,
        resume: bool = False,
        every: float = 60.0,
    ):
        self.path = None if path is None else os.fspath(path) + SUFFIX
        self.kind, self.settings, self.signature, self.every = kind, _as_json(settings), signature, every
        self.state: Container | None = None
        self.iteration, self.position = 0, 0
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
        self._stack.close()
        if error is not None:
            return
        if self.path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)
        if self._stop.requested:
            raise Interrupted("stopped" if self.path is None else f"stopped; {self.path[: -len(SUFFIX)]} is complete")

    @property
    def stop_requested(self) -> bool:
        """Whether the user has pressed Ctrl-C: finish the item and call ``after``."""
        return self._stop.requested

    def after(
        self,
        iteration: int,
        arrays: Callable[[], Mapping[str, np.ndarray]],
        *,
        position: int = 0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """An item is done: keep the state if it is time to, and stop if the user wants to.

        ``arrays`` is called only when the state is written. ``extra`` are small facts of the learner's own.
        """
        stop = self._stop.requested
        if self.path is None:
            if stop:
                raise Interrupted(f"stopped after iteration {iteration}")
            return
        if not stop and time.monotonic() - self._written < self.every:
            return
        where = {"iteration": int(iteration), "position": int(position)}
        save(
            self.path,
            self.kind,
            arrays(),
            settings={name: (value, "given") for name, value in self.settings.items()},
            provenance={"signature": self.signature},
            extra={**(extra or {}), **where},
        )
        self._written = time.monotonic()
        if stop:
            raise Interrupted(f"stopped after iteration {iteration}; {self.path} keeps it, --resume goes on from it")
