"""Learning from the page: the same ``corpuscle learn``, in a process of its own, its messages as events.

Cancelling is Ctrl-C: the step writes what it has, and the next start goes on from there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpuscle.errors import CorpuscleError
from corpuscle.web.guard import Refusal

__all__ = ["Learning"]

_MOST_LINES, _MOST_READERS, _BEAT = 2000, 16, 15.0
_ENDS = {0: "done", 2: "failed", 130: "stopped"}


class Learning:
    """At most one run at a time. ``state``: idle, running, done, stopped (it can go on) or failed; ``cluster``: the
    address of one to work on, instead of ``workers`` of this machine."""

    def __init__(self, pack: Path, workers: int | None = None, cluster: str | None = None):
        self.pack, self.workers, self.cluster = pack, workers, cluster
        self.state = "idle"
        self.lines: list[str] = []
        self.begun = 0
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._readers = 0

    def told(self) -> dict[str, Any]:
        """How it stands."""
        last = (self.lines or [""])[-1]
        return {"state": self.state, "run": self.begun, "lines": len(self.lines), "last": last, "cluster": self.cluster}

    def dashboard(self) -> dict[str, str | None]:
        """Where the cluster shows what it does, or why it does not answer."""
        from corpuscle.scale import dashboard

        try:
            return {"dashboard": dashboard(self.cluster) if self.cluster else None, "problem": None}
        except CorpuscleError as error:
            return {"dashboard": None, "problem": str(error)}

    async def start(self, kit: Path, seed: int, on_cluster: bool = False) -> None:
        """Begin, or go on with what was stopped; on the cluster, or on this machine."""
        if self.state == "running":
            raise Refusal(409, "a run is under way; cancel it first")
        if not kit.is_dir():
            raise Refusal(409, "there is no kit yet: add files first")
        command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(self.pack), "--seed", str(seed)]
        if on_cluster:
            if self.cluster is None:
                raise Refusal(409, "there is no cluster: serve with --cluster ADDRESS")
            command += ["--cluster", self.cluster]
        elif self.workers is not None:
            command += ["--workers", str(self.workers)]
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.state, self.lines, self.begun = "running", [], self.begun + 1
        self._task = asyncio.create_task(self._follow(self._process))

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
            del self.lines[:-_MOST_LINES]
            self._tell()
        self.state = _ENDS.get(await process.wait(), "failed")
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def cancel(self) -> None:
        """Ask the run to stop, as Ctrl-C does, and wait until it has written what it has."""
        if self.state != "running" or self._process is None or self._task is None:
            raise Refusal(409, "nothing is being learned")
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(asyncio.shield(self._task), 20)
        except TimeoutError:
            self._process.kill()
            await self._task

    async def close(self) -> None:
        """The server ends: so does the run, in good order."""
        if self.state == "running":
            await self.cancel()

    async def events(self) -> AsyncIterator[str]:
        """All messages of the run so far and then as they come, as server-sent events, until it ends."""
        if self._readers >= _MOST_READERS:
            raise Refusal(503, "too many readers of the progress")
        self._readers += 1
        try:
            sent, run = 0, self.begun
            while run == self.begun:
                news = self._news
                for line in self.lines[sent:]:
                    yield f"event: line\ndata: {json.dumps(line)}\n\n"
                sent = len(self.lines)
                if self.state != "running":
                    break
                try:
                    await asyncio.wait_for(news.wait(), _BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
            yield f"event: end\ndata: {json.dumps(self.told())}\n\n"
        finally:
            self._readers -= 1
