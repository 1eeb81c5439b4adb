"""A pack as one object: its models by name, what they say about a text, and the report.

    pack = corpuscle.load("pack")
    pack.lm.perplexity("other.txt")
    pack("A text.").surprisal

A model is loaded when it is first asked for, through the checks of model files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from corpuscle.errors import InputError
from corpuscle.model import load
from corpuscle.packs.layers import Layers, Text, layers_of
from corpuscle.packs.pack import Pack
from corpuscle.text.files import AnyPath
from corpuscle.text.html import code, element, fragment, table
from corpuscle.text.interlinear import Interlinear, Phrase, completed
from corpuscle.text.tables import read_table

__all__ = ["LoadedPack"]


class LoadedPack:
    """What was learned from a kit. ``pack.lm`` is the model of ``models/lm.model``, and so on (``list(pack)`` names
    them); ``pack(text)`` is what they say about a text."""

    def __init__(self, folder: AnyPath):
        self._pack = Pack(folder)
        self.folder = Path(folder)
        if not (self.folder / "state.json").is_file():
            raise InputError(folder, None, "not a pack, which has a state.json; corpuscle learn makes one")
        files = [name for record in self._pack.state["steps"].values() for name in record["files"]]
        paths = [PurePosixPath(name) for name in files]
        self._files = {path.stem: str(path) for path in paths if path.parts[0] == "models" and len(path.parts) == 2}
        self._models: dict[str, Any] = {}

    @property
    def report(self) -> Path:
        """Where the report is, a page for people."""
        return self.folder / "report.html"

    @property
    def findings(self) -> Mapping[str, Any]:
        """Step -> what it found, as plain data: the figures behind the report."""
        return {name: record.get("findings", {}) for name, record in self._pack.state["steps"].items()}

    def __iter__(self) -> Iterator[str]:
        """The names of its models."""
        return iter(self._files)

    def __len__(self) -> int:
        """How many models it has."""
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        """Whether it has a model of this name."""
        return name in self._files

    def path(self, name: str) -> Path:
        """The file of a model."""
        if name not in self._files:
            raise InputError(self.folder, None, f"this pack has no model {name!r}; it has {', '.join(self) or 'none'}")
        return self.folder / self._files[name]

    def model(self, name: str) -> Any:
        """A model by name, loaded at most once."""
        if name not in self._models:
            self._models[name] = load(self.path(name))
        return self._models[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._files:
            raise AttributeError(f"this pack has no {name!r}; its models are {', '.join(self) or 'none'}")
        return self.model(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __call__(self, text: Text, layers: Iterable[str] | None = None) -> Layers:
        """What the models say about running text, sentences of it, or sentences of words; ``layers``: only these models
        (and ``dictionary``, ``glosses``)."""
        wanted = None if layers is None else list(layers)
        for name in wanted or ():
            if name not in ("dictionary", "glosses"):
                self.path(name)
        return layers_of(self, text, wanted)

    @cached_property
    def translations(self) -> Mapping[str, str]:
        """Word -> its best translation in the dictionary, where that is not unsure."""
        path, best = self.folder / "dictionary.tsv", dict[str, str]()
        if path.is_file():
            for line, row in read_table(path):
                if line > 1 and row[-1] in ("sure", "likely"):
                    best.setdefault(row[0], row[1])
        return best

    @cached_property
    def glosses(self) -> Mapping[str, str]:
        """Word -> gloss, from the ``glosses.tsv`` of the kit."""
        path = self.folder / "glosses.tsv"
        return {row[0]: row[1] for _, row in read_table(path)} if path.is_file() else {}

    @cached_property
    def morphs(self) -> Mapping[str, str]:
        """Word -> its morphs, spaces between them, as the glossed texts of the kit have them."""
        path = self.folder / "morphs.tsv"
        return {row[0]: row[1] for line, row in read_table(path) if line > 1} if path.is_file() else {}

    def interlinear(self, text: Text, name: str = "text") -> Interlinear:
        """Glossed text: morphs and glosses as the kit has them, else translations of the dictionary, and a draft
        translation of each sentence, where the pack has a translator. ``write_interlinear`` writes it."""
        layers = self(text, layers=["translate"] if "translate" in self else [])
        free = layers.layers.get("translation", [""] * len(layers.words))
        table = {**self.translations, **self.glosses}
        phrases = [Phrase(" ".join(words), (), draft) for words, draft in zip(layers.words, free, strict=True)]
        return Interlinear(name, tuple(completed(phrase, table, self.morphs, mark="") for phrase in phrases))

    def __repr__(self) -> str:
        return f"LoadedPack({str(self.folder)!r}: {', '.join(self) or 'no models'})"

    def _repr_html_(self) -> str:
        """Its steps with what each says, and the way to the report."""
        from corpuscle.packs.run import STEPS

        records = self._pack.state["steps"]
        rows = [
            (step.title, step.report(records[step.name]["findings"], step).headline, code(step.writes[0]))
            for step in STEPS
            if step.name in records
        ]
        link = element("a", "report", href=self.report.as_posix())
        return fragment(table(("", "what was learned", "model"), rows), element("p", link))
