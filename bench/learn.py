"""``corpuscle learn`` of the built-in sample as a newcomer meets it: with an empty cache of kernels, and again.

``cold``: everything is compiled on the way; ``warm``: a second run into another pack with the cache of the first. The
seconds until the first step is done, until all are, and the longest time without a line on stderr. To be measured on
an idle machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, row

LIMITS = {
    "first chapter, cold": ("first", "cold", 60.0),
    "all chapters, cold": ("all", "cold", 240.0),
    "all chapters, warm": ("all", "warm", 60.0),
    "longest silence, cold": ("silence", "cold", 5.0),
    "longest silence, warm": ("silence", "warm", 5.0),
}


def cells(data: Path) -> Iterator[Cell]:
    """Both runs are one cell: the second one needs the cache of the first."""
    yield Cell("sample", "the built-in sample", (Call("learn", "bench.learn:sample"),), repeats=1, warm_up=False)


def sample(timer) -> dict[str, float]:
    """Learn the sample twice with one cache, and watch what is said."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for run in ("cold", "warm"):
            with timer:
                figures |= {f"{name}, {run}": value for name, value in _watched(folder, run).items()}
    return figures


def _watched(folder: str, run: str) -> dict[str, float]:
    command = [sys.executable, "-m", "corpuscle", "learn", "-o", f"{folder}/{run}", "--json"]
    environment = os.environ | {"CORPUSCLE_CACHE": f"{folder}/cache"}
    began = last = time.perf_counter()
    first = silence = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            now = time.perf_counter()
            silence, last = max(silence, now - last), now
            if not first and ": done in " in line:
                first = now - began
    if child.returncode:
        raise RuntimeError(f"learn ended with {child.returncode}")
    return {"first": first, "all": time.perf_counter() - began, "silence": silence}


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    if "sample" not in results:
        return [Claim(f"learn: {text}", f"{limit:g} s") for text, (*_, limit) in LIMITS.items()]
    found = results["sample"]["runs"]["learn"][0]["figures"]
    made = []
    for text, (name, run, limit) in LIMITS.items():
        seconds = found[f"{name}, {run}"]
        made.append(Claim(f"learn: {text}", f"{limit:g} s", f"{seconds:.1f} s", seconds <= limit))
    return made


def tables(results: dict[str, Any]) -> list[str]:
    """The seconds."""
    if "sample" not in results:
        return []
    found = results["sample"]["runs"]["learn"][0]["figures"]
    lines = [row(("cache", "first chapter (s)", "all (s)", "longest silence (s)")), row(("---", *["---:"] * 3))]
    for run in ("cold", "warm"):
        lines.append(row((run, *(f"{found[f'{name}, {run}']:.1f}" for name in ("first", "all", "silence")))))
    return ["\n".join(lines)]


def notes(results: dict[str, Any]) -> str:
    """How to read the table."""
    return (
        "Seconds of wall-clock time on two cores. Two processes do steps side by side and share what they compile; on "
        "a pipe, as here, `learn` gives a sign of life after ten seconds of silence."
    )
