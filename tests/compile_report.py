"""Run a command in an empty cache, in this process alone, and report, as JSON, which kernels were compiled twice, how
many seconds the compiler took, and how much CPU all of it.

    CORPUSCLE_CACHE=empty python -m tests.compile_report learn kit -o pack
"""

import json
import math
import sys
import time
from collections import Counter

from corpuscle import compiled  # noqa: F401  (before Numba: it sets the cache)
from corpuscle.cli.main import main
from corpuscle.packs import run as packs_run

from numba.core import event  # isort: skip


class Listed(event.Listener):
    """How often each kernel of ours is compiled; the two that a factory makes (sum, max) are two."""

    def __init__(self):
        self.kernels, self.seconds, self.depth, self.began = Counter(), 0.0, 0, 0.0

    def on_start(self, event):
        if self.depth == 0:
            self.began = time.thread_time()
        self.depth += 1
        dispatcher = event.data["dispatcher"]
        if dispatcher.py_func.__module__.startswith("corpuscle."):
            self.kernels[f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__name__}", id(dispatcher)] += 1

    def on_end(self, event):
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.thread_time() - self.began


def report(arguments: list[str]) -> dict[str, object]:
    listed = Listed()
    event.register("numba:compile", listed)
    packs_run._WORTH_SHARING = math.inf  # no other process does a part of it
    code = main(arguments)
    again = {name: count for (name, _), count in sorted(listed.kernels.items()) if count > 1}
    return {
        "code": code,
        "kernels": len(listed.kernels),
        "compilations": listed.kernels.total(),
        "again": again,
        "compiler": listed.seconds,
        "cpu": time.process_time(),
    }


if __name__ == "__main__":
    print(json.dumps(report(sys.argv[1:])))
