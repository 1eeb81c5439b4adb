"""What is served: the models, the report and the dictionary of a pack, or one model file; and nothing outside it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from corpuscle.errors import CorpuscleError, InputError
from corpuscle.model import read_header
from corpuscle.packs.pack import Pack
from corpuscle.text.files import AnyPath
from corpuscle.web.verbs.pairs import DICTIONARY
from corpuscle.web.verbs.table import Verb, verbs_of

__all__ = ["Holding", "Holdings"]


class Holding(NamedTuple):
    """A file that can be asked: its name in addresses, kind, path, bytes and time of its last change."""

    name: str
    kind: str
    path: Path
    bytes: int
    changed: int

    @property
    def verbs(self) -> list[Verb]:
        """What can be asked of it."""
        return verbs_of(self.kind)


@cache
def _kind(path: Path, changed: int, size: int) -> str | None:
    """The kind of a model file that is whole; None of one that is not."""
    try:
        return read_header(path)[0]["kind"]
    except CorpuscleError:
        return None


class Holdings:
    """A pack, perhaps an empty one, or a model file. ``kit``: the folder that annotations and files go to, and that is
    learned from: one that was given, or that of the pack where it lies inside."""

    def __init__(self, path: AnyPath, kit: AnyPath | None = None):
        self.path = Path(path)
        self.is_pack = not self.path.is_file()
        if not self.is_pack and _kind(self.path, 0, 0) is None:
            read_header(self.path)  # says what is wrong with it
        self._kit = None if kit is None else Path(kit)
        if kit is not None and not self.is_pack:
            raise InputError(path, None, "a model file has no kit: --kit goes with a pack")
        self.refresh()

    @property
    def title(self) -> str:
        """What people call it."""
        return self.path.resolve().stem if not self.is_pack else self.path.resolve().name

    def refresh(self) -> None:
        """Look again at a pack that may have been learned anew."""
        self.pack = Pack(self.path) if self.is_pack else None
        if self.pack is None:
            self._paths: dict[str, Path] = {self.title: self.path}
            return
        names = [name for record in self.pack.state["steps"].values() for name in record["files"]]
        files = {Path(name).stem: name for name in names if name.endswith(".model")}
        if (table := f"{DICTIONARY}.tsv") in names:
            files[DICTIONARY] = table
        inside = {name: self.inside(file) for name, file in files.items()}
        self._paths = {name: path for name, path in inside.items() if path is not None}

    def create(self) -> None:
        """Make the folder of a pack that is not there yet; the state of one that is there is for ``learn`` to write."""
        if self.is_pack and not (self.path / "state.json").exists():
            Pack(self.path).create()

    @property
    def kit(self) -> Path | None:
        """The folder that may be written to and learned from."""
        if self._kit is not None or self.pack is None:
            return self._kit
        own = self.path / "kit"
        return own if own.is_dir() or self.pack.state.get("kit") is None else None

    def inside(self, name: str) -> Path | None:
        """A file of the pack by its name, if it is one and lies in the pack, whatever links are on the way."""
        path = (self.path / name).resolve()
        return path if self.is_pack and path.is_file() and path.is_relative_to(self.path.resolve()) else None

    def model(self, name: str) -> Holding | None:
        """What can be asked under a name."""
        try:
            status = self._paths[name].stat()
        except (KeyError, OSError):
            return None
        path, stamp = self._paths[name], (status.st_mtime_ns, status.st_size)
        kind = DICTIONARY if path.suffix == ".tsv" else _kind(path, *stamp)
        return Holding(name, kind, path, status.st_size, status.st_mtime_ns) if kind else None

    def models(self) -> dict[str, Holding]:
        """Everything that can be asked, by name."""
        found = {name: self.model(name) for name in self._paths}
        return {name: holding for name, holding in found.items() if holding is not None}

    def told(self) -> dict[str, Any]:
        """What the page is told."""
        models = [
            {
                "name": holding.name, "kind": holding.kind, "bytes": holding.bytes,
                "verbs": [{"task": verb.task, "name": verb.name} for verb in holding.verbs],
            }
            for holding in self.models().values()
        ]  # fmt: skip
        kit = self.kit
        return {
            "title": self.title, "pack": self.is_pack, "models": models,
            "report": self.inside("report.html") is not None, "kit": None if kit is None else kit.name,
        }  # fmt: skip
