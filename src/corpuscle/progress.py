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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Self

SILENCE = 4.0  # seconds after which ``working`` and compiling give a sign of life

_quiet = False
_elsewhere = False  # whether a ``Course`` shows what is done
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


def status() -> str:
    """What this process is doing: compiling, or how far its bar is."""
    return str(COMPILATION) if COMPILATION.running else str(_bars[-1]) if _bars else ""


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
    """What shows a bar, if there is a terminal to show it on."""
    if _quiet or _elsewhere or not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    done = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,}")
    times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}")
    return Progress(*done, *times, console=Console(stderr=True), transient=True)


@contextmanager
def _pulse(text: Callable[[], str], silence: float | None = None) -> Iterator[None]:
    """Say how things stand after every few seconds of silence, unless a bar on a terminal shows it."""
    over, seconds = threading.Event(), SILENCE if silence is None else silence

    def beat() -> None:
        while not over.wait(max(_shown + seconds - time.monotonic(), 0.05)):
            with _one_speaks:
                silent = time.monotonic() - _shown >= seconds and not any(each.display for each in _bars)
                if silent and (said := text()):
                    say(said)

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


_LONG_SILENCE = 10.0
_MARKS = {"done": "✓", "kept": "✓", "left out": "-", "failed": "✗"}


class Course:
    """What is shown of the steps of a long run: name -> title; ``mine`` is the step that this process does.

    On a terminal there is a line for each step, rewritten in place: what is done, with its figure; what is being done,
    and how far it is; what waits. Elsewhere a line follows when a step begins and when it ends, and one for all of them
    when nothing was said for some seconds. Nobody else shows bars or signs of life meanwhile.
    """

    def __init__(self, titles: Mapping[str, str]):
        self._titles = {name: title[:1].lower() + title[1:] for name, title in titles.items()}
        self._began: dict[str, float] = {}
        self._status: dict[str, str] = {}
        self._ended: dict[str, tuple[str, str, str]] = {}
        self._lock, self._shows = threading.RLock(), ExitStack()
        self._before, self._live = False, False
        self.mine = ""

    def __enter__(self) -> Self:
        global _elsewhere
        if not _quiet and self._titles and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console, self._live = Console(stderr=True, highlight=False), True
            self._shows.enter_context(Live(self, console=console, refresh_per_second=5, redirect_stdout=False))
        else:
            self._shows.enter_context(_pulse(self._running, _LONG_SILENCE))
        self._before, _elsewhere = _elsewhere, True
        return self

    def __exit__(self, *error: object) -> None:
        global _elsewhere
        self._shows.close()
        _elsewhere = self._before

    def begin(self, name: str) -> None:
        with self._lock:
            self._began[name] = clock()
        if not self._live:
            say(f"{self._titles[name]} ...")

    def tell(self, name: str, status: str) -> None:
        """What another process is doing for a step."""
        with self._lock:
            self._status[name] = status

    def end(self, name: str, how: str, seconds: float | None = None, text: str = "") -> None:
        """``how``: done, kept, left out or failed; ``text``: what was learned, or why not."""
        took = "" if seconds is None else f"{seconds:.1f} s"
        with self._lock:
            self._began.pop(name, None)
            self._ended[name] = _MARKS[how], took, one_line(text)
        if not self._live:
            said = {"done": f"done in {took}", "kept": "already done"}.get(how, how)
            say(f"{self._titles[name]}: {said}" + (f": {text}" if text and how != "kept" else ""))

    def _state(self, name: str) -> str:
        now = status() if name == self.mine else self._status.get(name, "")
        return f"{now}, {clock() - self._began[name]:.0f} s" if now else f"{clock() - self._began[name]:.0f} s"

    def _running(self) -> str:
        with self._lock:
            return "; ".join(f"{self._titles[name]}: {self._state(name)}" for name in self._began)

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
