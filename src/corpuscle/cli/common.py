"""What the commands share: options that mean the same everywhere, and how results are shown.

A command declares ``seed: Seed = 1, workers: Workers = None, quiet: Quiet = False, as_json: Json = False`` and so
on; the help texts and the spelling of the options live here only.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle import progress
from corpuscle.atomic import is_special
from corpuscle.errors import InputError, SettingError

if TYPE_CHECKING:
    from corpuscle.text import Corpus

__all__ = [
    "Cluster",
    "Digits",
    "Input",
    "Inputs",
    "Json",
    "Lowercase",
    "ModelFile",
    "Output",
    "Quiet",
    "Raw",
    "Resume",
    "Seed",
    "Tokenise",
    "Units",
    "UnkToken",
    "Workers",
    "check_model_output",
    "check_output",
    "check_second_output",
    "emit",
    "given",
    "naming",
    "one_line",
    "place_of",
    "plain",
    "read_input",
    "write_table",
]


def _set_quiet(on: bool) -> bool:
    progress.quiet(on)
    return on


Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of every random choice.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, max=1024, show_default="one for each core", help="How many workers share the work."
    ),
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster at this address.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_set_quiet, is_eager=True, help="Results only: no progress, no messages."),
]
"""Takes effect by itself; a command only has to declare it."""
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is stdout.")]
Raw = Annotated[
    bool, typer.Option("--raw", help="The input is running text: split it into sentences and tokens.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the .partial file of an interrupted run.")]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Lower-case all words.")]
Digits = Annotated[bool, typer.Option("--digits", help="Write every digit as 0.")]
Tokenise = Annotated[str, typer.Option("--tokenise", help="none, or simple: split punctuation off the words.")]
Units = Annotated[str, typer.Option("--units", help="What a token is: words, characters or graphemes.")]
UnkToken = Annotated[str, typer.Option("--unk-token", help="<unk> in a text: the unknown word, or a literal one.")]
Input = Annotated[str, typer.Argument(metavar="INPUT", help="A file; - is stdin.")]
Inputs = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files; - is stdin.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]


def one_line(message: object) -> str:
    """A message without line breaks and control characters, whatever file name or text it quotes."""
    joined = " ".join(part for part in (line.strip() for line in str(message).splitlines()) if part)
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: ascii(match[0])[1:-1], joined)


def check_output(path: str) -> None:
    """Complain about a place where nothing can be written before hours of work, not after them."""
    if path == "-":
        return
    target = os.path.realpath(path) if "\0" not in path else path
    folder = os.path.dirname(target)
    if "\0" in path:
        reason = "a NUL byte in the name"
    elif os.path.isdir(target):
        reason = "is a directory"
    elif not os.path.isdir(folder):
        reason = f"no such folder: {os.path.dirname(path) or folder}"
    elif not os.access(target if is_special(target) else folder, os.W_OK):
        reason = "permission denied"
    else:
        return
    raise InputError(path, None, f"cannot write: {reason}")


def check_model_output(path: str) -> None:
    """As ``check_output``, for a model, which has to be a file."""
    if path == "-":
        raise SettingError("a model cannot go to stdout: give the name of a file with -o")
    check_output(path)


def check_second_output(path: str | None, output: str) -> None:
    """As ``check_output``, for something else that is written, if it is: it must not replace the output."""
    if path is None:
        return
    check_output(path)
    target = os.path.realpath(path)
    if target == os.path.realpath(output) and not is_special(target):
        raise SettingError(f"two outputs cannot be one file: {path}")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors about a text carry the name of its file."""
    try:
        yield
    except InputError as error:
        raise InputError(error.path or path, error.line, error.reason) from error


def write_table(path: str, heading: Iterable[str], rows: Iterable[Iterable[object]], number: str = ".4f") -> None:
    """Write tab-separated values; ``number``: the format of fractions."""
    from corpuscle.text.files import write_atomically

    with write_atomically(path, "w") as out:
        out.write("\t".join(heading) + "\n")
        for row in rows:
            cells = (f"{value:{number}}" if isinstance(value, float) else str(value) for value in row)
            out.write("\t".join(cells) + "\n")


def place_of(line: int, paths: Sequence[str], n_lines: int) -> tuple[str, int]:
    """The file, and the line in it, of a line of several texts that were read one after the other, both from 1 on.

    ``n_lines``: of all texts; one that cannot be read again has those that are left.
    """
    from corpuscle.text import read_text
    from corpuscle.text.files import expand

    files = expand(list(paths))
    lines = [len(read_text(file)) if os.path.isfile(file) else 0 for file in files]
    for i, file in enumerate(files):
        if not os.path.isfile(file):
            lines[i] = n_lines - sum(lines)
            break
    at = 0
    while line > lines[at] and at < len(files) - 1:
        line -= lines[at]
        at += 1
    return files[at], line


def given(context: typer.Context) -> set[str]:
    """The names of the parameters that the user gave on the command line, whatever their values."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def read_input(paths: Sequence[str], raw: bool, **settings: Any) -> Corpus:
    """A text with a sentence on each line, or (``--raw``) running text, split into sentences and tokens first."""
    from corpuscle.text import read_strings, read_text
    from corpuscle.text.running import prepare, read_raw

    if not raw:
        return read_text(*paths, **settings)
    return read_strings([" ".join(sentence) for path in paths for sentence in prepare(read_raw(path))], **settings)


def plain(value: Any) -> Any:
    """A value as JSON knows it: NumPy's numbers and arrays become Python's, not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def emit(values: Mapping[str, Any], as_json: bool = False, text: str | None = None) -> None:
    """Show a result: one JSON object on one line, or ``text`` for people (default: ``name: value`` lines)."""
    if as_json:
        print(json.dumps(plain(values), ensure_ascii=False, allow_nan=False))
    elif text is not None:
        print(text)
    else:
        for name, value in values.items():
            shown = f"{value:.6g}" if isinstance(value, float) else value
            print(f"{name.replace('_', ' ')}: {shown}")
