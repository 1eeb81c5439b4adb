"""Warm some packages in this process and report, as JSON, about every kernel that they define or use.

python tests/kernel_report.py corpuscle.text corpuscle.words
"""

import importlib
import json
import sys
import time
from types import ModuleType

from numba.core import event
from numba.core.dispatcher import Dispatcher


class Clock(event.Listener):
    """Seconds of compilation by module; a kernel that is compiled on behalf of another counts for its own module."""

    def __init__(self):
        self.seconds, self.stack = {}, []

    def on_start(self, event):
        self.stack.append([event.data["dispatcher"].py_func.__module__, time.perf_counter(), 0.0])

    def on_end(self, event):
        module, begin, inner = self.stack.pop()
        spent = time.perf_counter() - begin
        self.seconds[module] = self.seconds.get(module, 0.0) + spent - inner
        if self.stack:
            self.stack[-1][2] += spent


def kernels_of(modules: dict[str, ModuleType]) -> dict[str, Dispatcher]:
    """All kernels of the package that have been imported, by module and name there (those that a factory has made have
    names of their own only in the module)."""
    return {
        f"{name}.{attribute}": value
        for name, module in modules.items()
        if name.startswith("corpuscle")
        for attribute, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == name
    }


def main(packages: list[str]) -> None:
    clock = Clock()
    event.register("numba:compile", clock)
    for package in packages:
        importlib.import_module(package).warm()
    kernels = kernels_of(dict(sys.modules))
    misses = {name: sum(kernel.stats.cache_misses.values()) for name, kernel in kernels.items()}
    report = {
        "hits": sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels.values()),
        "misses": {name: count for name, count in misses.items() if count},
        "signatures": {name: list(map(str, kernel.signatures)) for name, kernel in kernels.items()},
        "seconds": clock.seconds,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    from corpuscle import compiled  # noqa: F401  (before Numba: it sets the cache)

    main(sys.argv[1:])
