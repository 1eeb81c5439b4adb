"""Compiling ahead: while the first steps of a run are at work, the kernels of later ones compile in another process.

Kernels compile at their first use on a computer, which takes longer than learning from a small kit, and only one thread
of a process can do it. The result goes to the cache on disk, where the step finds it. Whether a package has been
compiled is written down beside the cache, by an empty file. A package whose defaults need only some of its kernels
has a ``warm_defaults`` beside ``warm``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from corpuscle.compiled import cache_root, fingerprint, is_temporary

_COMPILE = """
import importlib, sys
package = importlib.import_module(sys.argv[1])
getattr(package, "warm_defaults", package.warm)()
"""


def _mark(package: str) -> Path:
    return cache_root / f"warm-{package}-{fingerprint(package)}"


def is_cold(package: str) -> bool:
    """Whether the kernels of a package have never been used with this cache; never so where it is a temporary one,
    which another process would not share."""
    return not is_temporary and not _mark(package).exists()


def mark_warm(package: str) -> None:
    """Write down that the kernels of a package are compiled."""
    with suppress(OSError):
        _mark(package).touch()


class Precompiler:
    """Compiles packages, one after the other, until it is closed; ``turn(package)`` says that a step needs one now."""

    def __init__(self, packages: Sequence[str]):
        self._packages = list(packages)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._current: str | None = None
        self._free = threading.Event()
        self._thread = threading.Thread(target=self._compile, daemon=True)
        if self._packages:
            self._thread.start()

    def _compile(self) -> None:
        while True:
            with self._lock:
                if not self._packages:
                    return
                self._current = self._packages.pop(0)
                self._free.clear()
                environment = os.environ | {"CORPUSCLE_CACHE": str(cache_root)}
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _COMPILE, self._current],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,  # Ctrl-C is for the parent, which then closes this
                )
            self._process.wait()  # a failure will be seen, and said, by the step itself
            with self._lock:
                self._current = None
                self._free.set()

    def turn(self, package: str) -> None:
        """Wait for a package that is being compiled; one whose turn has not come yet is left to the caller."""
        with self._lock:
            if package in self._packages:
                self._packages.remove(package)
            busy = self._current == package
        while busy and not self._free.wait(0.2):  # so that Ctrl-C is heard
            pass

    def close(self) -> None:
        """Stop at once."""
        with self._lock:
            self._packages.clear()
            process = self._process
        if process is not None:
            with suppress(OSError):
                process.kill()
            self._thread.join()
