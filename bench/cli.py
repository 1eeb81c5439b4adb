"""What every command pays: starting up, and compiling all kernels on a new machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import CORPUSCLE, Call, Cell, Claim, Commands, typical


def cells(data: Path) -> Iterator[Cell]:
    """Both measurements."""
    yield Cell(
        "start-up",
        "Start-up",
        (Commands("corpuscle --help", ((CORPUSCLE, "--help"),)), Commands("python", ((sys.executable, "-c", ""),))),
    )
    yield Cell(
        "compile",
        "Cold compilation, seconds a file",
        (Call("warm", "bench.cli:compile_cold"),),
        repeats=1,
        warm_up=False,
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    seconds = typical(results["start-up"], "corpuscle --help")
    file, slowest = max(results["compile"]["runs"]["warm"][0]["figures"].items(), key=lambda item: item[1])
    return [
        Claim("corpuscle --help", "0.5 s", f"{seconds:.2f} s", seconds < 0.5),
        Claim(f"slowest file to compile ({file})", "10 s", f"{slowest:.1f} s", slowest <= 10),
    ]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "### Notes\n\n- Cold compilation: a kernel's own time, without that of our kernels which it calls, but with "
        "what it needs of Numba itself."
    )


def compile_cold(timer) -> dict[str, float]:
    """Seconds spent compiling, by file, with an empty cache."""
    import importlib
    import tempfile
    import time

    with tempfile.TemporaryDirectory() as cache:
        os.environ["CORPUSCLE_CACHE"] = cache
        from numba.core import event

        import corpuscle
        from corpuscle.catalogue import TASKS

        home = Path(corpuscle.__file__).parent
        seconds: dict[str, float] = {}
        running: list[list[float]] = [[0.0, 0.0]]

        class Clock(event.Listener):
            def on_start(self, event):
                running.append([time.perf_counter(), 0.0])

            def on_end(self, event):
                begun, counted = running.pop()
                path = Path(event.data["dispatcher"].py_func.__code__.co_filename)
                if path.is_relative_to(home):
                    spent = time.perf_counter() - begun
                    name = str(path.relative_to(home))
                    seconds[name] = seconds.get(name, 0.0) + spent - counted
                    counted = spent
                running[-1][1] += counted

        with event.install_listener("numba:compile", Clock()), timer:
            for task in TASKS.values():
                if task.kernels:
                    importlib.import_module(task.package).warm()
    return dict(sorted(seconds.items()))
