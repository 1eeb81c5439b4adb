"""``corpuscle warm [TASK]``: compile and cache the kernels of a task by running it on tiny data."""

from __future__ import annotations

import importlib
import time
from typing import Annotated

import typer

from corpuscle.cli.common import Json, Quiet, emit
from corpuscle.errors import SettingError

__all__ = ["WARMERS", "app"]

WARMERS = {
    "text": "corpuscle.text",
    "lm": "corpuscle.lm",
    "segment": "corpuscle.segment",
    "classes": "corpuscle.words",
    "align": "corpuscle.align",
    "transliterate": "corpuscle.transliterate",
    "topics": "corpuscle.topics",
}
"""Task -> the package whose ``warm()`` runs each of its kernels once."""

app = typer.Typer()


@app.command()
def warm(
    task: Annotated[str | None, typer.Argument(show_default="all tasks", help=", ".join(WARMERS))] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compile the kernels of a task now instead of at its first use."""
    if task is not None and task not in WARMERS:
        raise SettingError(f"nothing to warm for {task!r}; tasks with kernels: {', '.join(WARMERS)}")
    seconds = {}
    for name in WARMERS if task is None else [task]:
        begin = time.perf_counter()
        importlib.import_module(WARMERS[name]).warm()
        seconds[name] = round(time.perf_counter() - begin, 3)
    emit(
        {"seconds": seconds}, as_json, "\n".join(f"{name}: {value:.1f} s" for name, value in seconds.items())
    )
