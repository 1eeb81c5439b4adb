"""What a user sees while work goes on, and how a user stops it.

Progress goes to stderr: a bar on a terminal, nothing elsewhere. Ctrl-C inside ``with stopping() as stop`` does not
raise; it sets ``stop.requested``, so that a learner can finish its item and write what it has. A second Ctrl-C raises
at once.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Bar", "Stop", "bar", "complain", "complaint", "is_interrupt", "one_line", "quiet", "say", "stopping"]

_quiet = False


def quiet(on: bool = True) -> None:
    """Switch progress and messages off (``--quiet``) or on again."""
    global _quiet
    _quiet = on


def say(message: str) -> None:
    """One line on stderr for the person who runs the command."""
    if not _quiet:
        print(message, file=sys.stderr, flush=True)


def one_line(message: object) -> str:
    """A message without line breaks and control characters, whatever file name or text it quotes."""
    joined = " ".join(part for part in (line.strip() for line in str(message).splitlines()) if part)
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: ascii(match[0])[1:-1], joined)


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

    def __init__(self, display: Any = None, task: Any = None):
        self._display, self._task = display, task

    def advance(self, items: float = 1, note: str = "") -> None:
        """Some more items are done; ``note`` stands beside the bar (a likelihood, say)."""
        if self._display is not None:
            self._display.update(self._task, advance=items, note=note)


@contextmanager
def bar(description: str, total: int | None = None) -> Iterator[Bar]:
    """A progress bar over ``total`` items."""
    if _quiet or not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,}")]
    if total is None:
        columns = columns[:2]
    columns += [TimeRemainingColumn(), TextColumn("{task.fields[note]}")]
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield Bar(display, display.add_task(description, total=total, note=""))


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
