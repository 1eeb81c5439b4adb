"""The one door to Numba: the decorator for kernels, and where their machine code is kept.

Numba's own cache notices when the file of a kernel changes, but not when a kernel that it calls does. So the cache
directory is named by a hash of all kernel sources (and of the Numba version, and of the bounds-checking flag, which a
warm cache would silently ignore): another source, another directory. Importing this module imports Numba; modules
without kernels do not need it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["cache_directory", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def _source_hash() -> str:
    digest = hashlib.blake2b(digest_size=8)
    digest.update(version("numba").encode())
    digest.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source:
            digest.update(source)
    return digest.hexdigest()


def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _choose_directory() -> Path:
    base = os.environ.get("CORPUSCLE_CACHE")
    if base is None:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "corpuscle")
    directory = Path(base) / f"kernels-{_source_hash()}"
    if _usable(directory):
        return directory
    return Path(tempfile.mkdtemp(prefix="corpuscle-kernels-"))


cache_directory = _choose_directory()
os.environ["NUMBA_CACHE_DIR"] = str(cache_directory)

import numba  # noqa: E402  (the environment variable comes first)
from numba.core import event  # noqa: E402

numba.config.CACHE_DIR = str(cache_directory)


class _Announcer(event.Listener):
    """Says once, to a person at a terminal, that the first use compiles."""

    told = False

    def on_start(self, event: Any) -> None:
        if not self.told and sys.stderr.isatty():
            print("compiling kernels for this machine (first use only) ...", file=sys.stderr, flush=True)
        _Announcer.told = True

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers: cached on disk, without the GIL, with NumPy's division by zero."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
