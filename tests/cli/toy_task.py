"""A task of the command line that goes wrong in every way, for tests."""

import errno
import math
import signal

import numpy as np
import typer

from corpuscle import progress
from corpuscle.cli.common import Json, Quiet, Seed, Workers, emit
from corpuscle.errors import InputError, Interrupted, SettingError, require, warn

app = typer.Typer(help="A task for tests.")


@app.command()
def fail(how: str, seed: Seed = 1, workers: Workers = None, quiet: Quiet = False) -> None:
    """Go wrong."""
    if how == "require":
        require("no_such_module", extra="neural")
    raise {
        "input": InputError("a.txt", 3, "invalid\nUTF-8 \x1b[2J"),
        "setting": SettingError("order is 0, it must be at least 1"),
        "bug": ZeroDivisionError("oh"),
        "interrupt": KeyboardInterrupt(),
        "interrupted": Interrupted("stopped after iteration 3; --resume goes on"),
        "memory": MemoryError("cannot allocate 3 GB"),
        "disk": OSError(errno.ENOSPC, "No space left on device", "big.model"),
        "pipe": BrokenPipeError(),
    }[how]


@app.command()
def show(as_json: Json = False, quiet: Quiet = False) -> None:
    """Show a result."""
    warn("the text is\nshort")
    warn("the text is\nshort")
    progress.say("working")
    emit({"rate": np.float64(0.25), "worst": math.inf, "n": np.int64(3), "words": ("ñ", "日")}, as_json)


@app.command()
def wait() -> None:
    """Wait for a signal."""
    print("ready", flush=True)
    signal.pause()


@app.command()
def flood() -> None:
    """More than a pipe holds."""
    for _ in range(100_000):
        print("ñandú 日本")
