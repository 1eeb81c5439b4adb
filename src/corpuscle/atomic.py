"""Writing files so that nothing is ever half-written and nothing old is lost: a new file first, then renamed; and what
was written is noted for whoever asks, ``with noting() as notes``."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from typing import BinaryIO

from corpuscle.errors import InputError

_counter = itertools.count()
_HOST = re.sub(r"\W", "_", os.uname().nodename) if hasattr(os, "uname") else "here"


@dataclass(frozen=True)
class Written:
    """A file that was written: its name, its size, its lines if it is text."""

    file: str
    bytes: int
    lines: int | None = None


_notes: list[Written] | None = None


@contextmanager
def noting() -> Iterator[list[Written]]:
    """A list that receives what is written until the block ends."""
    global _notes
    before, _notes = _notes, []
    try:
        yield _notes
    finally:
        _notes = before


def note(file: str | PathLike[str], size: int, lines: int | None = None) -> None:
    if _notes is not None:
        _notes.append(Written(os.fspath(file), size, lines))


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # no way to ask without harm
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove_leftovers(target: str) -> None:
    """Remove what processes of this machine that were killed have left beside ``target``."""
    folder, name = os.path.split(target)
    left = re.compile(rf"{re.escape(name)}\.{_HOST}-(\d{{1,9}})-\d+\.part")
    with suppress(OSError):
        for other in os.listdir(folder):
            match = left.fullmatch(other)
            if match and not _is_running(int(match[1])):
                os.unlink(os.path.join(folder, other))


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


def check_inside(folder: str | PathLike[str], name: str) -> None:
    """Complain if ``folder/name`` is, or lies behind, a link that leads out of the folder, or is a pipe or a device."""
    root, path = os.path.realpath(folder), os.path.join(folder, name)
    if os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise InputError(path, None, "a link that leads out of the folder; such links are not followed")
    if is_special(path):
        raise InputError(path, None, "neither a file nor a folder")


def check_all_inside(folder: str | PathLike[str]) -> None:
    """The same for everything in a folder that somebody else may have packed."""
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            if not stat.S_ISREG(mode := os.lstat(path).st_mode) and not stat.S_ISDIR(mode):
                check_inside(folder, os.path.relpath(path, folder))


_fences: set[str] = set()


def fence(folder: str | PathLike[str]) -> None:
    """From now on this process writes nothing into a folder through a link that leads out of it."""
    _fences.add(os.path.abspath(folder))


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A new file beside ``path`` that takes its place, and its permissions, when the block ends well, and vanishes
    otherwise.

    A full disk, a missing folder and the like are an ``InputError``; after any error the target is what it was before.
    """
    name = os.fspath(path)
    if "\0" in name:
        raise InputError(path, None, "cannot write: a NUL byte in the name")
    for folder in _fences:
        if os.path.abspath(name).startswith(folder + os.sep):
            check_inside(folder, os.path.relpath(os.path.abspath(name), folder))
    target = os.path.realpath(name)
    if os.path.isdir(target):
        raise InputError(path, None, "cannot write: is a directory")
    # The name of a new file tells whose it is, see ``_remove_leftovers``.
    new = target if is_special(target) else f"{target}.{_HOST}-{os.getpid()}-{next(_counter)}.part"
    try:
        if new != target:
            _remove_leftovers(target)
        with open(new, "wb") as file:
            yield file
        if new != target:
            if os.path.exists(target):
                shutil.copymode(target, new)
            os.replace(new, target)
    except BaseException as error:
        if new != target:
            with suppress(OSError):
                os.unlink(new)
        if not isinstance(error, OSError) or isinstance(error, BrokenPipeError):
            raise
        if error.filename not in (None, new, target):  # about some other file
            raise
        raise InputError(path, None, f"cannot write: {(error.strerror or str(error)).lower()}") from error
