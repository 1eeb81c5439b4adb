"""Worker processes for the server: a question goes to a free one, waits for one, or is refused; none takes for ever."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from corpuscle.web.worker import told

Answer = tuple[int, bytes]
_LIMIT = 1 << 16


class _Worker:
    """A process, started at its first question, and again after its end; ``first``: a question to warm it up."""

    def __init__(self, budget: int, first: Mapping[str, Any] | None = None):
        self.arguments = [str(budget), *([json.dumps(first)] if first else [])]
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        if self.process is None or self.process.returncode is not None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "corpuscle.web.worker", *self.arguments, limit=_LIMIT,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
        return self.process

    async def ask(self, question: Mapping[str, Any]) -> Answer:
        process = await self.start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        await process.stdin.drain()
        status, size = (await process.stdout.readuntil(b"\n")).split()
        return int(status), await process.stdout.readexactly(int(size))

    async def end(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class Pool:
    """``workers`` processes with ``budget`` bytes each; a question that has no answer after ``seconds``, waiting
    included, is refused (503), and its process is ended. ``first``: see ``_Worker``."""

    def __init__(self, workers: int, budget: int, seconds: float, first: Mapping[str, Any] | None = None):
        self.seconds = seconds
        self._workers = [_Worker(budget, None if i else first) for i in range(workers)]
        self._free: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        for worker in reversed(self._workers):
            self._free.put_nowait(worker)

    async def open(self) -> None:
        """Start the first process, so that the first question need not wait for it."""
        await self._workers[0].start()

    async def ask(self, question: Mapping[str, Any]) -> Answer:
        """Status and JSON."""
        worker = None
        try:
            async with asyncio.timeout(self.seconds):
                worker = await self._free.get()
                return await worker.ask(question)
        except TimeoutError:
            if worker is None:
                return 503, told("busy: every worker had something to do all the time; try again")
            await worker.end()
            return 503, told(f"this took longer than {self.seconds:g} seconds; a shorter text may do")
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError):
            assert worker is not None
            await worker.end()
            return 503, told("the worker process ended, perhaps for want of memory; a shorter text may do")
        except asyncio.CancelledError:  # the reader went away, and a half-read answer is in the pipe
            if worker is not None:
                await worker.end()
            raise
        finally:
            if worker is not None:
                self._free.put_nowait(worker)

    async def close(self) -> None:
        await asyncio.gather(*(worker.end() for worker in self._workers))


class Answers:
    """A cache of the last answers, of at most ``most`` bytes."""

    def __init__(self, most: int = 32 << 20):
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: str, answer: bytes) -> None:
        """Remember an answer, and forget the oldest ones for it."""
        size = len(answer) + len(key)
        if size > self.most // 4 or key in self._kept:
            return
        self._kept[key] = answer
        self.bytes += size
        while self.bytes > self.most:
            old, gone = self._kept.popitem(last=False)
            self.bytes -= len(gone) + len(old)
