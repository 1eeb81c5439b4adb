"""What a user sees while work goes on, and how a user stops it.

Progress goes to stderr: a bar on a terminal, nothing elsewhere. Work of minutes says ``with working("topics")``, too:
wherever stderr goes, a line follows whenever nothing was shown for some seconds. Compiling is announced wherever stderr
goes, and is no work: ``clock()`` stands still meanwhile. Ctrl-C inside ``with stopping() as stop`` does not raise; it
sets ``stop.requested``, so that a learner can finish its item and write what it has. A second Ctrl-C raises at once.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

SILENCE = 4.0
"""After so many seconds without a sign of life, ``working`` and compiling give one."""

_quiet = False
_elsewhere = False  # whether somebody shows ``status()``
_shown = time.monotonic()  # when something was last shown


def quiet(on: bool = True) -> None:
    """Switch progress and messages off (``--quiet``) or on again."""
    global _quiet
    _quiet = on


def say(message: str) -> None:
    """One line on stderr for the person who runs the command."""
    global _shown
    if not _quiet:
        print(message, file=sys.stderr, flush=True)
        _shown = time.monotonic()


def is_quiet() -> bool:
    return _quiet


def idle() -> float:
    """The seconds since something was last shown."""
    return time.monotonic() - _shown


def status() -> str:
    """What this process is doing: compiling, or how far its bar is."""
    return str(COMPILATION) if COMPILATION.running else str(_bars[-1]) if _bars else ""


@contextmanager
def shown_elsewhere() -> Iterator[None]:
    """Show neither bars nor signs of life: the caller does, by ``status()``."""
    global _elsewhere
    before, _elsewhere = _elsewhere, True
    try:
        yield
    finally:
        _elsewhere = before


def one_line(message: object) -> str:
    """A message without line breaks and control characters, whatever file name or text it quotes."""
    joined = " ".join(part for part in (line.strip() for line in str(message).splitlines()) if part)
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: ascii(match[0])[1:-1], joined)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines, with its columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [one_line("  ".join(map(str.ljust, row, widths))) for row in rows]


def complaint(message: object) -> str:
    """A message on one line for people, the middle of an endless one left out."""
    line = one_line(message)
    return line if len(line) <= 900 else f"{line[:600]} ... {line[-250:]}"


def complain(message: object) -> None:
    """One line on stderr about an error, however quiet."""
    print(f"error: {complaint(message)}", file=sys.stderr, flush=True)


def is_interrupt(error: BaseException) -> bool:
    """Whether it is a Ctrl-C; Python 3.11 wraps one that comes while a class is made."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


class Bar:
    """Counts items; shows a bar when there is a terminal to show it on."""

    def __init__(self, description: str = "", total: int = 0, display: Any = None):
        self._description, self._total, self._done = description, total, 0.0
        self.display = display
        self._task = None if display is None else display.add_task(description, total=total, note="")

    def advance(self, items: float = 1, note: str = "") -> None:
        """Some more items are done; ``note`` stands beside the bar (a likelihood, say)."""
        self._done += items
        if self.display is not None:
            self.display.update(self._task, advance=items, note=note)

    def __str__(self) -> str:
        return f"{self._description} {self._done:,.0f} of {self._total:,}"


_bars: list[Bar] = []
_one_speaks = threading.Lock()


@contextmanager
def bar(description: str, total: int) -> Iterator[Bar]:
    """A progress bar over ``total`` items."""
    with _display() or nullcontext() as display:
        shown = Bar(description, total, display)
        _bars.append(shown)
        try:
            yield shown
        finally:
            _bars.remove(shown)


def _display() -> Any:
    """What shows a bar, if there is a terminal to show it on; the time since its beginning moves even if it does
    not."""
    if _quiet or _elsewhere or not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    done = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,}")
    times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}")
    return Progress(*done, *times, console=Console(stderr=True), transient=True)


@contextmanager
def _pulse(text: Callable[[], str]) -> Iterator[None]:
    """Say how things stand whenever nothing was shown for a while; a bar on a terminal shows it by itself."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(max(_shown + SILENCE - time.monotonic(), 0.05)):
            with _one_speaks:
                if time.monotonic() - _shown >= SILENCE and not any(each.display for each in _bars):
                    say(text())

    if _quiet or _elsewhere:
        yield
        return
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def working(description: str) -> Iterator[None]:
    """Give a sign of life every few seconds until this is done, wherever stderr goes."""
    began = clock()

    def stands() -> str:
        if COMPILATION.running:
            return str(COMPILATION)
        at = f": {_bars[-1]}" if _bars else ""
        return f"{description}{at}, {clock() - began:.0f} s so far"

    with _pulse(stands):
        yield


class Compilation:
    """How many kernels this process has compiled, and the seconds that it took; said at the first one, and every few
    seconds."""

    def __init__(self) -> None:
        self.kernels, self._seconds, self._depth, self._began = 0, 0.0, 0, 0.0
        self._pulse: Any = None

    @property
    def running(self) -> bool:
        return self._depth > 0

    @property
    def seconds(self) -> float:
        return self._seconds + (time.perf_counter() - self._began if self.running else 0.0)

    def begin(self) -> None:
        """A kernel is being compiled, perhaps for another one that is."""
        self._depth += 1
        if self._depth == 1:
            self._began = time.perf_counter()
            if self.kernels == 0 and not _elsewhere:
                say("compiling kernels for this machine (first use only) ...")
            self._pulse = _pulse(lambda: str(self))
            self._pulse.__enter__()

    def end(self, ours: bool = True) -> None:
        """It is compiled; ``ours``: it counts."""
        self.kernels += ours
        if self._depth == 1:
            if self._pulse is not None:
                self._pulse.__exit__(None, None, None)
                self._pulse = None
            self._seconds = self.seconds
        self._depth -= 1

    def __str__(self) -> str:
        return f"compiling kernels: {self.kernels} ready, {self.seconds:.0f} s"


COMPILATION = Compilation()
"""That of this process."""


def clock() -> float:
    """Seconds of work: those of ``time.perf_counter`` without those of compiling."""
    return time.perf_counter() - COMPILATION.seconds


class Stop:
    """Whether the user has asked to stop."""

    requested = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn the first Ctrl-C into a request to stop (only in the main thread; elsewhere nothing changes)."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_interrupt(_signal: int, _frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        say("stopping as soon as what has been learned can be kept; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
