"""Steps side by side: this process and others of its kind do the steps of a run, each the next one that is ready.

A step is ready when the steps whose files it reads have ended; the plan keeps the order otherwise. All processes share
the cache of kernels, and one that needs a kernel which another one is compiling waits for it (``corpuscle.compiled``).
So compiling, which only one thread of a process can do, is shared out with the work, and nothing is compiled that no
step needs. What a step gives depends on its input and settings alone, never on who does it, or when.

This process asks each of the others for one step at a time and writes down what they answer. Ctrl-C is for this
process, which passes it on: every step writes what it has. A process whose parent is gone ends.

``Course`` is what is shown meanwhile. On a terminal there is a line for each step, rewritten in place: what is done,
with its figure; what is being done, and how far it is; what waits. Elsewhere a line follows when a step begins and when
it ends, and one for all of them when nothing was said for some seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from corpuscle import progress
from corpuscle.errors import CorpuscleError, CorpuscleWarning, Interrupted
from corpuscle.packs.kit import Kit
from corpuscle.packs.step import Job, Step
from corpuscle.progress import clock, is_interrupt, one_line, say
from corpuscle.scale import started

_BEAT = 0.25  # seconds between two signs of life
_GRACE = 60.0  # seconds until a step that was asked to stop has written what it has


@dataclass(frozen=True)
class Ended:
    """How a step ended: with facts to write down, or with the error that it raised; ``bug``: where that happened, if it
    is an error of ours."""

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


_SILENCE = 10.0  # seconds
_TICK = 0.2
_MARKS = {"done": "✓", "kept": "✓", "left out": "-", "failed": "✗"}


class Course:
    """What is shown of the steps; ``mine`` is the one that this process does."""

    def __init__(self, steps: Sequence[Step]):
        self._titles = {step.name: step.title[:1].lower() + step.title[1:] for step in steps}
        self._began: dict[str, float] = {}
        self._status: dict[str, str] = {}
        self._ended: dict[str, tuple[str, str, str]] = {}
        self._lock, self._over = threading.RLock(), threading.Event()
        self._elsewhere = progress.shown_elsewhere()
        self._live: Any = None
        self.mine = ""

    def __enter__(self) -> Self:
        self._elsewhere.__enter__()
        if not progress.is_quiet():
            if self._titles and sys.stderr.isatty():
                from rich.console import Console
                from rich.live import Live

                console = Console(stderr=True, highlight=False)
                self._live = Live(self, console=console, refresh_per_second=5, redirect_stdout=False)
                self._live.start()
            else:
                threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()
        self._elsewhere.__exit__(*error)

    def begin(self, step: Step) -> None:
        with self._lock:
            self._began[step.name] = clock()
        if self._live is None:
            say(f"{self._titles[step.name]} ...")

    def tell(self, name: str, status: str) -> None:
        """What another process is doing for a step."""
        with self._lock:
            self._status[name] = status

    def end(self, step: Step, how: str, seconds: float | None = None, text: str = "") -> None:
        """``how``: done, kept, left out or failed; ``text``: what was learned, or why not."""
        took = "" if seconds is None else f"{seconds:.1f} s"
        with self._lock:
            self._began.pop(step.name, None)
            self._ended[step.name] = _MARKS[how], took, one_line(text)
        if self._live is None:
            said = {"done": f"done in {took}", "kept": "already done"}.get(how, how)
            say(f"{self._titles[step.name]}: {said}" + (f": {text}" if text and how != "kept" else ""))

    def _state(self, name: str) -> str:
        now = progress.status() if name == self.mine else self._status.get(name, "")
        return f"{now}, {clock() - self._began[name]:.0f} s" if now else f"{clock() - self._began[name]:.0f} s"

    def _beat(self) -> None:
        while not self._over.wait(_TICK):
            if progress.idle() >= _SILENCE:
                with self._lock:
                    running = [f"{self._titles[name]}: {self._state(name)}" for name in self._began]
                if running:
                    say("; ".join(running))

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(time.monotonic() * 8) % 10]
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis")
        waiting = []
        with self._lock:
            for name, title in self._titles.items():
                if name in self._ended:
                    mark, took, text = self._ended[name]
                    style = {"✓": "green", "✗": "red"}.get(mark, "dim")
                    table.add_row(Text(f"  {mark} {title}", style), Text(took), Text(text.partition(": ")[2] or text))
                elif name in self._began:
                    table.add_row(Text(f"  {spinner} {title}", "bold"), "", Text(self._state(name), "dim"))
                else:
                    waiting.append(title)
        if waiting:
            shown = Table.grid()
            shown.add_row(table)
            shown.add_row(Text(f"  · {' · '.join(waiting)}", "dim", overflow="ellipsis", no_wrap=True))
            return shown
        return table
