"""The files that a command writes, checked before its work begins: they can be written, are not written twice, and are
not among the files that it reads. And what is said about them after it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from corpuscle.atomic import Written, is_special
from corpuscle.errors import InputError, SettingError, require
from corpuscle.progress import one_line, say
from corpuscle.text.files import STDIO, expand

_MOST_NAMED = 5  # files that a command wrote and that are named one by one


class Output(click.Option):
    """An option that names what a command writes; ``form``: ``file``, ``model``, ``figure``, ``page`` (or figure),
    ``folder`` (which the command checks itself), ``prefix`` of several names, or ``either`` file or folder."""

    def __init__(self, *arguments: Any, form: str = "file", **facts: Any):
        super().__init__(*arguments, **facts)
        self.form = form


def check_place(path: str, form: str = "file") -> None:
    """Complain about a place where nothing can be written before hours of work, not after them."""
    if path == STDIO:
        if form == "model":
            raise SettingError("a model cannot go to stdout: give the name of a file with -o")
        return
    target = os.path.realpath(path) if "\0" not in path else path
    folder = os.path.dirname(target)
    if "\0" in path:
        reason = "a NUL byte in the name"
    elif os.path.isdir(target) and form != "either":
        reason = "is a directory"
    elif not os.path.isdir(folder):
        reason = f"no such folder: {os.path.dirname(path) or folder}"
    elif not os.access(target if is_special(target) else folder, os.W_OK):
        reason = "permission denied"
    elif form == "figure" and not path.lower().endswith((".svg", ".png")) and not is_special(target):
        reason = "a figure is an SVG or PNG file: its name ends in .svg or .png"
    elif form == "page" and not path.lower().endswith((".html", ".svg", ".png")):
        reason = "-o is a page (.html) or a picture (.svg, .png)"
    else:
        if form in ("figure", "page") and path.lower().endswith(".png"):
            require("resvg_py", "png")
        return
    raise InputError(path, None, f"cannot write: {reason}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _words(param: click.Parameter) -> Iterable[str]:
    """The words that a parameter knows: they name no file."""
    setting = getattr(param, "setting", None)
    return map(str, (*setting.choices, *setting.words)) if setting else getattr(param.type, "choices", ())


def _identity(path: str) -> tuple[int, int] | None:
    """What makes a file the same file under any of its names; None if it is no file."""
    if path == STDIO or "\0" in path or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _files(inputs: Iterable[str]) -> Iterator[str]:
    """The files that these names may stand for: those in a folder, too."""
    for path in inputs:
        try:
            yield from expand([path])
        except (InputError, ValueError, OSError):
            yield path


def check_outputs(params: Sequence[click.Parameter], values: dict[str, Any]) -> None:
    """Check the outputs of a command against one another and against all files among its other parameters."""
    written = {param.name: param.form for param in params if isinstance(param, Output) and param.form != "folder"}
    outputs = {name: values[name] for name in written if values.get(name) is not None}
    if not outputs:
        return
    known: dict[tuple[int, int], str] = {}
    read = (text for param in params if param.name not in written for text in _texts(values.get(param.name or "")))
    words = {word for param in params for word in _words(param)}
    for path in _files(text for text in read if text not in words):
        if (identity := _identity(path)) is not None:
            known[identity] = path
    targets: set[str] = set()
    for name, path in outputs.items():
        check_place(path + "." if written[name] == "prefix" else path, written[name])
        target = os.path.realpath(path)
        if target in targets and not is_special(target):
            raise SettingError(f"two outputs cannot be one file: {path}")
        targets.add(target)
        for identity, other in known.items():
            ends = {"prefix": ".", "either": os.sep}.get(written[name])
            beginning = ends is not None and os.path.realpath(other).startswith(target + ends)
            if beginning or _identity(path) == identity:
                raise InputError(path, None, f"cannot write: it would replace {other}, which is read")


def written_by(params: Sequence[click.Parameter], values: dict[str, Any], notes: Iterable[Written]) -> list[Written]:
    """What of all that was written belongs to the outputs that the user named."""
    files = [param for param in params if isinstance(param, Output) and param.form != "folder"]
    named = tuple(value for param in files if (value := values.get(param.name or "")))
    beginnings = tuple(name + end for name in named for end in (".", os.sep))
    return [each for each in notes if each.file in named or each.file.startswith(beginnings)]


def say_written(written: Sequence[Written], shown: str) -> None:
    """Name the files that were written, with counts, unless what the command has shown names them."""
    from corpuscle.text.wording import counted, size

    files = [each for each in written if each.file != STDIO and not is_special(each.file) and each.file not in shown]
    if len(files) > _MOST_NAMED:
        lines = sum(each.lines or 0 for each in files)
        say(f"{one_line(files[0].file)} and {len(files) - 1:,} more files: {counted(lines, 'line')}")
        return
    for each in files:
        say(f"{one_line(each.file)}: {size(each.bytes) if each.lines is None else counted(each.lines, 'line')}")
