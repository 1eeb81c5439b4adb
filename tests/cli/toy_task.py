"""A task of the command line that goes wrong in every way, and two methods that learn nothing, for tests."""
# ruff: noqa: B008  (the defaults of a verb are declarations)

import errno
import math
import signal
from typing import Any

import numpy as np

from corpuscle import progress
from corpuscle.errors import InputError, Interrupted, SettingError, require, warn
from corpuscle.model import Array, Kind, Model
from corpuscle.settings import Parallel, Seeded, setting
from corpuscle.verbs import SEED, Answer, Learned, a_model, path, trains, verb, word

SIZE = {"size": Array("int64", (1,), low=0)}


class PlainSettings(Seeded, Parallel):
    """What both methods have, but not with the same default."""

    order: int = setting("How many words.", default=3, low=1, high=9)
    rate: float = setting("How fast.", default=0.5, above=0.0, below=1.0)


class FancySettings(Seeded, Parallel):
    """Some settings of every kind."""

    order: int | str = setting("How many words, at length.", default=5, low=1, high=99, words=("auto",))
    rate: float = setting("How fast.", default=0.5, above=0.0, below=1.0)
    shape: str = setting("Round or square.", default="round", choices=("round", "square"))
    cuts: tuple[int, ...] = setting("Where to cut.", default=(), low=0)
    polish: bool = setting("Polish it.", default=True)
    strict: bool = setting("Be strict.", default=False)


class ToyModel(Model):
    """Learns how long a text is."""

    def fit(self, text):
        self.size_ = len(text)
        return self

    def _arrays(self):
        return {"size": np.array([self.size_])}

    def _restore(self, loaded):
        self.size_ = int(loaded.arrays["size"][0])


class PlainModel(PlainSettings, ToyModel):
    """The first method."""

    KIND = Kind("toy.plain", 1, SIZE)


class FancyModel(FancySettings, ToyModel):
    """The other method, which chooses an order where it may."""

    KIND = Kind("toy.fancy", 1, SIZE)

    def fit(self, text):
        self.chosen_ = {"order": 7} if self.order == "auto" else {}
        return super().fit(text)


KINDS = ("toy.plain", "toy.fancy")


@trains("toy", "toy train text -o m", methods=("plain", "fancy"))
def train(model: Any, text: str = path()) -> Learned:
    """Learn how long TEXT is."""
    model.fit(text)
    return Learned(model, {"size": model.size_, "threads": model.threads})


@verb("toy", "toy size m", work=True)
def size(model: Any = a_model("toy", *KINDS)) -> Answer:
    """What a model has learned."""
    return Answer({"size": model.size_, "workers": model.workers, "cluster": model.cluster})


@verb("toy", "toy fail bug", work=True)
def fail(how: str = word(), *, seed: int = SEED, work: Any) -> None:
    """Go wrong."""
    if how == "require":
        require("no_such_module", extra="neural")
    if how == "wrapped":
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
    raise {
        "input": InputError("a.txt", 3, "invalid\nUTF-8 \x1b[2J"),
        "setting": SettingError("order is 0, it must be at least 1"),
        "endless": InputError("a.txt", 3, "an unknown word: " + "x" * 5000 + ", in the vocabulary"),
        "bug": ZeroDivisionError("oh"),
        "interrupt": KeyboardInterrupt(),
        "interrupted": Interrupted("stopped after iteration 3; --resume goes on"),
        "memory": MemoryError("cannot allocate 3 GB"),
        "disk": OSError(errno.ENOSPC, "No space left on device", "big.model"),
        "pipe": BrokenPipeError(),
    }[how]


@verb("toy", "toy show")
def show() -> Answer:
    """Show a result."""
    warn("the text is\nshort")
    warn("the text is\nshort")
    progress.say("working")
    return Answer({"rate": np.float64(0.25), "worst": math.inf, "n": np.int64(3), "words": ("ñ", "日")})


@verb("toy", "toy wait")
def wait() -> None:
    """Wait for a signal."""
    print("ready", flush=True)
    signal.pause()


@verb("toy", "toy flood")
def flood() -> None:
    """More than a pipe holds."""
    for _ in range(100_000):
        print("ñandú 日本")
