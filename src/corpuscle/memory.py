"""Memory: how much this process has, giving back what it needs no more, and arrays in files instead.

Files of arrays have no name: whatever becomes of the process, nothing is left of them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

from corpuscle.errors import InputError

PIECE = 1 << 22
"""How many items of a long array are looked at together."""


def resident() -> int:
    """How many bytes of memory this process has now; where the system does not say, the most that it has had."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def physical() -> float:
    """How many bytes of memory this computer has, or this process may have; infinity where nobody says."""
    known = [float("inf")]
    with suppress(OSError, ValueError, AttributeError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
        known.append(int(file.read()))
    return min(known)


def trim() -> None:
    """Give freed memory back to the system at once; some C libraries would keep it for later."""
    if sys.platform == "linux":
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if give_back is not None:
            give_back(0)


def release(array: np.ndarray) -> None:
    """Let go of the pages of an array that is mapped read-only: they come back from the file when they are needed."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not array.flags.writeable and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def pieces(array: np.ndarray, overlap: int = 0) -> Iterator[np.ndarray]:
    """Consecutive pieces of a long array, each with the first items of the next; of a mapped one only a few are in
    memory at a time. An empty array has none.

    >>> PIECE, [len(piece) for piece in pieces(np.zeros(PIECE + 5), overlap=1)]
    (4194304, [4194305, 5])
    """
    for first in range(0, len(array), PIECE):
        yield array[first : first + PIECE + overlap]
        release(array)


class ArrayFile:
    """An array that grows in a file of its own, in a folder (None: the system's for temporary files)."""

    def __init__(self, dtype: Any, folder: str | PathLike[str] | None = None):
        self.dtype, self.folder = np.dtype(dtype), os.fspath(folder or tempfile.gettempdir())
        self.size = 0
        try:
            self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        except OSError as error:
            raise self._cannot(error) from error

    def _cannot(self, error: OSError) -> InputError:
        reason = (error.strerror or str(error)).lower()
        return InputError(self.folder, None, f"cannot write temporary files: {reason}")

    def append(self, items: np.ndarray) -> None:
        """Write more items behind those that are there."""
        data = np.ascontiguousarray(items, self.dtype)
        try:
            self._file.seek(self.size * self.dtype.itemsize)
            self._file.write(data.data)
            self._file.flush()
        except OSError as error:
            raise self._cannot(error) from error
        self.size += len(data)

    def read(self, first: int, last: int) -> np.ndarray:
        """The items from ``first`` to ``last``, which are there."""
        items = np.empty(last - first, self.dtype)
        self._file.seek(first * self.dtype.itemsize)
        if self._file.readinto(items.data) != items.nbytes:
            raise InputError(self.folder, None, "a temporary file is shorter than what was written to it")
        return items

    def mapped(self) -> np.ndarray:
        """The whole array, read-only, in memory only where it is looked at."""
        if not self.size:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "r", shape=(self.size,)))
