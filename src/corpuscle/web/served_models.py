"""What is served: the models, the report and the dictionary of a pack, or one model file; and nothing outside it.

Questions: from the bytes of a request to checked input, to a worker, to JSON, said once for all verbs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from corpuscle.align.verbs import DICTIONARY
from corpuscle.atomic import fence
from corpuscle.catalogue import TASKS
from corpuscle.errors import CorpuscleError, InputError, SettingError
from corpuscle.model import read_header
from corpuscle.packs.pack import Pack
from corpuscle.text.files import AnyPath
from corpuscle.verbs import Input, Verb, views_of
from corpuscle.web.guard import Limits, Refusal
from corpuscle.web.pool import Answers, Pool


class Holding(NamedTuple):
    """A file that can be asked: its name in addresses, kind, path, bytes and time of its last change."""

    name: str
    kind: str
    path: Path
    bytes: int
    changed: int

    @property
    def verbs(self) -> list[Any]:
        return views_of(self.kind)


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
        if self._kit is not None:
            fence(self._kit)
        self.refresh()

    @property
    def title(self) -> str:
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
        try:
            status = self._paths[name].stat()
        except (KeyError, OSError):
            return None
        path, stamp = self._paths[name], (status.st_mtime_ns, status.st_size)
        kind = DICTIONARY if path.suffix == ".tsv" else _kind(path, *stamp)
        return Holding(name, kind, path, status.st_size, status.st_mtime_ns) if kind else None

    def models(self) -> dict[str, Holding]:
        found = {name: self.model(name) for name in self._paths}
        return {name: holding for name, holding in found.items() if holding is not None}

    def told(self) -> dict[str, Any]:
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


# ---- asking

FIRST_TASK = "lm"  # that of the page's first view
_SHORT = 2_000  # characters of an input that is not a text: a word, a name, a search
_LONG = ("text", "source", "target", "names", "familiar")


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Anything else is refused."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refusal(422, "the body is not a JSON object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def checked(given: Mapping[str, Any], asked: Any, limits: Limits) -> Any:
    """The checked and complete input of a verb, or of an endpoint with settings; a text that is too long is 413, all
    else that is wrong 422."""
    for name, value in given.items():
        if isinstance(value, str):
            most = limits.text if name in _LONG else _SHORT
            if len(value) > most:
                raise Refusal(413, f"{name} has {len(value):,} characters; at most {most:,} are answered")
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                raise Refusal(422, f"{name} has half a surrogate pair in it, which is no character")
    if isinstance(asked, Verb):
        known = asked.parameters
        if unknown := [name for name in given if name not in known]:
            raise Refusal(422, f"{asked.name} takes no {unknown[0][:60]!r}; it takes {', '.join(known)}")
        for name, declared in known.items():
            if isinstance(declared, Input) and not isinstance(given.get(name, ""), str):
                raise Refusal(422, f"{name} is text; not {given[name]!r}")
    try:
        return asked.checked(given) if not isinstance(asked, type) else asked(**given)
    except (SettingError, TypeError) as error:
        raise Refusal(422, str(error)) from None


def input_schema(asked: Any, limits: Limits) -> dict[str, Any]:
    """The JSON schema of what a verb or an endpoint is asked with, with the greatest lengths of texts."""
    schema = asked.schema()
    for name, declared in schema["properties"].items():
        if declared.get("type") == "string" and "enum" not in declared:
            declared["maxLength"] = limits.text if name in _LONG else _SHORT
    return schema


class Asking:
    """Asks the models of what is served, and remembers answers as long as the models do not change."""

    def __init__(self, holdings: Holdings, limits: Limits):
        self.holdings, self.limits = holdings, limits
        # A question about the model whose view comes first, so that a worker is ready when somebody asks.
        holding = self.beside(FIRST_TASK) or next(iter(holdings.models().values()), None)
        first = holding and self._question(holding, holding.verbs[0], holding.verbs[0].asked)
        self.pool = Pool(limits.workers, limits.memory, limits.seconds, first)
        self.answers = Answers()

    def find(self, model: str, name: str) -> tuple[Holding, Any]:
        """A model that is served, and a verb that it knows."""
        holding = self.holdings.model(model)
        if holding is None:
            raise Refusal(404, f"there is no model {model[:60]!r}")
        verb = next((each for each in holding.verbs if each.name == name), None)
        if verb is None:
            known = ", ".join(each.name for each in holding.verbs)
            raise Refusal(404, f"this model does not know {name[:60]!r}; it knows {known}")
        return holding, verb

    def beside(self, task: str) -> Holding | None:
        """A model of a task that other verbs need, if there is one."""
        kinds = TASKS[task].kinds
        return next((each for each in self.holdings.models().values() if each.kind in kinds), None)

    def _question(self, holding: Holding, verb: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        models = [holding, *([self.beside("tag")] if "tagger" in verb.takes else [])]
        asked = [each and {"path": str(each.path), "changed": each.changed, "kind": each.kind} for each in models]
        return {"task": verb.task, "verb": verb.name, "given": dict(given), "models": asked}

    async def ask(self, model: str, name: str, given: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and JSON of an answer, from memory if it was given before."""
        holding, verb = self.find(model, name)
        question = self._question(holding, verb, checked(given, verb, self.limits))
        key = json.dumps(question, sort_keys=True)
        known = self.answers.get(key)
        if known is not None:
            return 200, known
        status, body = await self.pool.ask(question)
        if status == 200:
            self.answers.keep(key, body)
        return status, body
