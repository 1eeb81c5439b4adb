"""Writing files so that nothing is ever half-written and nothing old is lost: aside first, then renamed."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from corpuscle.errors import InputError

__all__ = ["is_special", "lies_within", "replacing"]

_counter = itertools.count()


def is_special(path: str) -> bool:
    """Whether it is a pipe, a device or the like, which must be written to and not be replaced."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def lies_within(folder: str | PathLike[str], name: str) -> bool:
    """Whether ``folder/name`` is a file or folder below ``folder``, whatever dots and symbolic links are on the way.

    To be asked before a file is removed whose name was read from another file.
    """
    if "\0" in name or os.path.basename(name) in ("", ".", ".."):
        return False
    root = os.path.realpath(folder)
    parent = os.path.realpath(os.path.join(root, os.path.dirname(name)))
    return os.path.commonpath([root, parent]) == root


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A new file aside that takes the place of ``path`` when the block ends well, and vanishes otherwise.

    A full disk, a missing folder and the like are an ``InputError``; after any error the target is what it was before.
    """
    name = os.fspath(path)
    if "\0" in name:
        raise InputError(path, None, "cannot write: a NUL byte in the name")
    target = os.path.realpath(name)
    if os.path.isdir(target):
        raise InputError(path, None, "cannot write: is a directory")
    aside = target if is_special(target) else f"{target}.{os.getpid()}-{next(_counter)}.part"
    try:
        with open(aside, "wb") as file:
            yield file
        if aside != target:
            os.replace(aside, target)
    except BaseException as error:
        if aside != target:
            with suppress(OSError):
                os.unlink(aside)
        if not isinstance(error, OSError) or isinstance(error, BrokenPipeError):
            raise
        if error.filename not in (None, aside, target):  # about some other file
            raise
        raise InputError(path, None, f"cannot write: {(error.strerror or str(error)).lower()}") from error
