"""Steps side by side: this process and others of its kind do the steps of a run, each the next one that is ready.

A step is ready when the steps whose files it reads have ended; the plan keeps the order otherwise. All processes share
the cache of kernels, and one that needs a kernel which another one is compiling waits for it (``corpuscle.compiled``).
So compiling, which only one thread of a process can do, is shared out with the work, and nothing is compiled that no
step needs. What a step gives depends on its input and settings alone, never on who does it, or when.

This process asks each of the others for one step at a time and writes down what they answer. Ctrl-C is for this
process, which passes it on: every step writes what it has. A process whose parent is gone ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from corpuscle import progress
from corpuscle.errors import CorpuscleError, CorpuscleWarning, Interrupted
from corpuscle.packs.kit import Kit
from corpuscle.packs.step import Job, Step
from corpuscle.progress import clock, is_interrupt
from corpuscle.scale import started

_BEAT = 0.25  # seconds between two signs of life
_GRACE = 60.0  # seconds until a step that was asked to stop has written what it has


@dataclass(frozen=True)
class Ended:
    """How a step ended: with facts to write down, or with an error; ``bug``: its traceback, if it is one of ours."""

    facts: Mapping[str, Any] | None = None
    error: BaseException | None = None
    bug: str = ""


def perform(step: Step, job: Job) -> Ended:
    """Do a step: what it found, how long it took, what it noted."""
    began = clock()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CorpuscleWarning)
            found = step.learn(job, step.settings).to_json()
        size = (job.pack / step.writes[0]).stat().st_size
    except (CorpuscleError, MemoryError, OSError) as error:
        return Ended(error=error)
    except (KeyboardInterrupt, Exception) as error:
        interrupted = is_interrupt(error)
        return Ended(error=Interrupted("stopped")) if interrupted else Ended(error=error, bug=traceback.format_exc())
    notes = list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, CorpuscleWarning)))
    return Ended({"seconds": round(clock() - began, 3), "notes": notes, "findings": found | {"bytes": size}})


class Plan:
    """The steps that wait, in order, and those that are being done."""

    def __init__(self, steps: Sequence[Step]):
        self._waiting, self._running = list(steps), dict[str, Step]()
        self._changed = threading.Condition()

    def take(self, suits: Callable[[Step], bool] = lambda step: True) -> Step | None:
        """The next step that is ready and suits; None when there will be no more."""
        with self._changed:
            while any(suits(step) for step in self._waiting):
                open_ = {step.name for step in self._waiting} | self._running.keys()
                for step in self._waiting:
                    if suits(step) and not open_ & set(step.after):
                        self._waiting.remove(step)
                        self._running[step.name] = step
                        return step
                self._changed.wait(_BEAT)  # not for ever, so that Ctrl-C is heard
            return None

    def end(self, step: Step) -> None:
        with self._changed:
            self._running.pop(step.name, None)
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()


class Helper:
    """Another process that does steps, one at a time; ``shows(step, status)`` hears what it is doing."""

    def __init__(self, known: Sequence[Step], job: Job, shows: Callable[[str, str], None]):
        self._known, self._shows = {step.name: step for step in known}, shows
        self._material = job.kit, job.pack, job.seed, *job.workers.values()
        self._process: Any = None
        self._pipe: Any = None
        self.busy = False

    def can(self, step: Step) -> bool:
        return self._known.get(step.name) is step

    def do(self, step: Step) -> Ended:
        """Let it do a step, and wait."""
        if self._process is None or not self._process.is_alive():
            self._process, self._pipe = started(serve, os.getpid(), *self._material)
        self.busy = True
        try:
            self._pipe.send(step.name)
            while not isinstance(answer := self._pipe.recv(), Ended):
                self._shows(step.name, answer)
            return answer
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            return Ended(error=MemoryError(f"the process that did it ended ({code}), perhaps for want of memory"))
        finally:
            self.busy = False

    def interrupt(self) -> None:
        if self.busy and self._process is not None and self._process.is_alive():
            with suppress(OSError):
                os.kill(self._process.pid, signal.SIGINT)

    def end(self) -> None:
        """End it at once, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()


def serve(pipe: Any, parent: int, kit: Kit, *material: Any) -> None:
    """What the other process does: steps that it is asked for, until its parent has gone."""
    from corpuscle.packs.run import STEPS

    known, job = {step.name: step for step in STEPS}, Job(kit, *material)
    with suppress(OSError, AttributeError):
        os.setsid()  # the Ctrl-C of a terminal is for the parent
    progress.quiet()
    said = threading.Lock()

    def tell(message: Any) -> None:
        with said, suppress(OSError):
            pipe.send(message)

    def watch() -> None:
        last = ""
        while True:
            time.sleep(_BEAT)
            if os.getppid() != parent:
                os._exit(1)
            if (status := progress.status()) != last:
                tell(last := status)

    threading.Thread(target=watch, daemon=True).start()
    while True:
        try:
            name = pipe.recv()
        except (EOFError, OSError):
            return
        except KeyboardInterrupt:
            continue
        ended = perform(known[name], job)
        try:
            tell(ended)
        except Exception:  # an error that cannot travel
            tell(Ended(error=RuntimeError(str(ended.error)), bug=ended.bug))


@contextmanager
def crew(plan: Plan, helpers: Sequence[Helper], do: Callable[[Step, Callable[[Step], Ended]], None]) -> Iterator[None]:
    """Helpers take steps of the plan meanwhile: ``do(step, work)`` for each, from threads of this process.

    At the end they are waited for; after Ctrl-C they stop as this process does.
    """
    wrong: list[BaseException] = []

    def work(helper: Helper) -> None:
        try:
            while step := plan.take(helper.can):
                do(step, helper.do)
                plan.end(step)
        except BaseException as error:
            wrong.append(error)
            plan.stop()

    threads = [threading.Thread(target=work, args=(helper,), daemon=True) for helper in helpers]
    try:
        for thread in threads:
            thread.start()
        yield
        while any(thread.is_alive() for thread in threads):
            threads[0].join(_BEAT)
        if wrong:
            raise wrong[0]
    except (KeyboardInterrupt, Interrupted):
        plan.stop()
        for helper in helpers:
            helper.interrupt()
        end = time.monotonic() + _GRACE
        with suppress(KeyboardInterrupt):  # another one: at once
            while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
                time.sleep(_BEAT)
        raise
    finally:
        plan.stop()
        for helper in helpers:
            helper.end()
