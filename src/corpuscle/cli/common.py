"""What the commands share: options that mean the same everywhere, and how results are shown.

A command declares ``seed: Seed = 1, workers: Workers = None, quiet: Quiet = False, as_json: Json = False`` and so
on; the help texts and the spelling of the options live here only.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle import progress
from corpuscle.errors import InputError

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
    "check_output",
    "emit",
    "one_line",
    "plain",
    "read_input",
]


def _set_quiet(on: bool) -> bool:
    progress.quiet(on)
    return on


Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, show_default="one for each core", help="How many workers share the work."
    ),
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster at this address.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_set_quiet, is_eager=True, help="No progress and no messages."),
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
    """Complain about a folder that does not exist before hours of work, not after them."""
    folder = os.path.dirname(path) or "."
    if path != "-" and not os.path.isdir(folder):
        raise InputError(path, None, f"cannot write: no such folder: {folder}")


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
