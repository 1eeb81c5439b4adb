"""What a soak tries: the command lines of the record, run once on a small sample, with their inputs and outputs.

That takes minutes, so it is kept from one soak to the next. When the product has changed, a soak makes all of it again;
a single trial that is repeated makes again only the group of the record that it needs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import click

from bench import harness, record
from corpuscle.cli.main import _root

SAMPLE = "samples write sample --seed 1 --sentences 1000 --pairs 80 --names 80 --notes 8 --messages 8"


@dataclass(frozen=True)
class Line:
    """A command line of the record that works. ``inputs``: its words that are files or folders of ``home``;
    ``outputs``: name -> hash of each file that it writes, but for those that tell times."""

    label: str
    words: tuple[str, ...]
    home: Path
    inputs: tuple[str, ...]
    outputs: dict[str, str]

    @cached_property
    def options(self) -> dict[str, click.Option]:
        """The options of the command."""
        command: Any = _root()
        for word in self.words:
            if isinstance(command, click.Group):
                command = command.get_command(click.Context(command), word)
        return {param.name: param for param in command.params if isinstance(param, click.Option)}

    def lay_out(self) -> None:
        """Copy the inputs to the current folder."""
        for name in self.inputs:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (self.home / name).is_dir() else shutil.copy
            copy(self.home / name, name)


def stock(folder: Path, groups: Sequence[str]) -> list[Line]:
    """Run all command lines of some groups of the record in ``folder``, on a small sample."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    with chdir(inputs):
        record.make_inputs(SAMPLE)
    return [line for group in groups for line in lines_of(folder, group)]


def lines_of(folder: Path, group: str) -> Iterator[Line]:
    """Run the command lines of one group in a folder of its own, beside ``folder/inputs``."""
    home = folder / group
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder / "inputs", home)
    with chdir(home):
        for label, words in record.commands()[group].items():
            needs = tuple(dict.fromkeys(word for word in words[1:] if os.path.exists(word)))
            before = record.files()
            record.run(words)
            yield Line(label, tuple(words), home, needs, digests(before))


def digests(before: dict[Path, int]) -> dict[str, str]:
    """Name -> hash of the files of the current folder that are new or written anew, but for those that tell times."""
    new = [path for path, written in record.files().items() if before.get(path) != written]
    return {str(path): harness.digest(path) for path in new if path.name not in record.WITH_TIMES}


def files_in(place: Path) -> list[Path]:
    """A file, or all files of a folder, in order."""
    return [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())


class Stock:
    """The lines of some groups, in a folder that is kept. ``made``: group -> the version that made it."""

    def __init__(self, folder: Path, groups: Sequence[str]):
        self.folder, self.groups, self.notes = folder, list(groups), folder / "lines.json"
        kept = json.loads(self.notes.read_text()) if self.notes.exists() else {}
        same = kept.get("groups") == self.groups
        self.made: dict[str, str] = kept["made"] if same else {}
        self.lines = [_line(folder, *line) for line in kept["lines"]] if same else []

    def make(self) -> list[Line]:
        """All lines, made by the present version."""
        if set(self.made.values()) != {version()}:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.lines, self.made = stock(self.folder, self.groups), dict.fromkeys(self.groups, version())
            self._keep()
        return self.lines

    def renew(self, groups: Iterable[str]) -> bool:
        """Make those of these groups again that an older version made; whether there were any."""
        old = [group for group in self.groups if group in groups and self.made[group] != version()]
        for group in old:
            again = {line.label: line for line in lines_of(self.folder, group)}
            same = [line for line in self.lines if line.home.name != group or line.label in again]
            self.lines = [again.get(line.label, line) for line in same]
            self.made[group] = version()
            self._keep()
        return bool(old)

    def _keep(self) -> None:
        lines = [(each.home.name, each.label, each.words, each.inputs, each.outputs) for each in self.lines]
        self.notes.write_text(json.dumps({"groups": self.groups, "made": self.made, "lines": lines}))


def _line(folder: Path, home: str, label: str, words: list[str], inputs: list[str], outputs: dict[str, str]) -> Line:
    return Line(label, tuple(words), folder / home, tuple(inputs), outputs)


@cache
def version() -> str:
    """What the product and the record are now."""
    return "-".join([harness.source_digest(), *map(harness.digest, (record.COMMANDS, Path(record.__file__)))])
