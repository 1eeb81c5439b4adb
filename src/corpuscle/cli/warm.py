"""``corpuscle warm [TASK]``: compile and cache the kernels of a task by running it on tiny data."""

from __future__ import annotations

import time

import click

from corpuscle.catalogue import TASKS, find
from corpuscle.cli.command import Figures, argument, command
from corpuscle.errors import SettingError
from corpuscle.text.wording import seconds

__all__ = ["group"]

group = click.Group("warm")


@command(group)
@argument("task", required=False)
def warm(task: str | None) -> Figures:
    """Compile the kernels of a task (default: of all tasks) now instead of at its first use."""
    tasks = [name for name, each in TASKS.items() if each.kernels]
    if task is not None and task not in tasks:
        raise SettingError(f"nothing to warm for {task!r}; tasks with kernels: {', '.join(tasks)}")
    took = {}
    for name in tasks if task is None else [task]:
        begin = time.perf_counter()
        find(f"{TASKS[name].package}:warm")()
        took[name] = round(time.perf_counter() - begin, 3)
    return Figures({"seconds": took}, "\n".join(f"{name}: {seconds(value)}" for name, value in took.items()))
