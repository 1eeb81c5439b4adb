"""How a run of ``learn`` looks while it goes on: a line for each thing that is learned.

On a terminal the lines are rewritten in place: what is done, with its figure; what is being done, and how far it is;
what waits. Elsewhere a line follows when a step begins and when it ends, and one for all of them when nothing was said
for some seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from corpuscle import progress
from corpuscle.packs.step import Step
from corpuscle.progress import clock, one_line, say

_SILENCE = 10.0  # seconds
_TICK = 0.2
_MARKS = {"done": "✓", "kept": "✓", "left out": "-", "failed": "✗"}
_WIDEST = 22  # of the names of steps


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
        """What is being done for a step now, and for how long."""
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
