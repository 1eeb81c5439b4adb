"""A step of learning: what it needs, what it writes, and what it has to say in the report.

A step is a record. Its function ``learn`` does the work and returns its findings, a record whose class says how they
become a chapter; they are kept as JSON, so that the chapter can be written again without the work being done
again. A new step is one module of ``corpuscle.packs.systems``, a table of ``steps.toml``, and its name in the task's
record of ``corpuscle.catalogue``.

Steps share a job: the kit, the pack's folder, and the text, read and split once for all of them (``text.heldout``).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpuscle.errors import InputError, UnfitData
from corpuscle.packs.chapter import Findings
from corpuscle.packs.kit import Kit, content_hash, second_columns, shown_name
from corpuscle.text import Bitext, read_bitext, read_conllu, read_text
from corpuscle.text.corpus import Corpus, characters_of_types
from corpuscle.text.files import AnyPath
from corpuscle.text.heldout import Split, held_sentences, split
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import counted

Settings = Mapping[str, Any]


class LeftOut(InputError):
    """Raised by a step whose files are too few, or do not need it: the report says so. A run without any other steps
    ends with the first of these as its error."""


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Turn the error of a learner that found nothing to learn from into ``LeftOut`` with the file it came from."""
    try:
        yield
    except InputError as error:
        if error.path is not None and not isinstance(error, UnfitData):
            raise
        raise LeftOut(path, None, error.reason) from error


def wrong_files(read: Callable[..., Any], files: Iterable[tuple[Any, ...]]) -> list[InputError]:
    """The errors of reading files, each by ``read(*files)``, one after the other."""
    wrong = []
    for each in files:
        try:
            read(*each)
        except InputError as error:
            wrong.append(error)
    return wrong


def checked_by(**readers: Callable[[str], Any]) -> Callable[[Job], list[InputError]]:
    """The check of a step: every file of some roles is read, each role by its reader."""
    each = readers.items()
    return lambda job: [e for role, read in each for e in wrong_files(read, [(p,) for p in job.kit.paths(role)])]


def check_enough(path: AnyPath, n: int, fewest: int, thing: str, things: str | None = None, use: str = "") -> None:
    """``LeftOut`` where there are fewer things than are needed."""
    if n < fewest:
        raise LeftOut(path, None, f"only {counted(n, thing, things)}; at least {fewest} are needed{use}")


def by_rule(setting: Any, value: Any) -> Any:
    """A setting, or what a rule gives where the setting is but the rule in words."""
    return value if isinstance(setting, str) else setting


@dataclass(frozen=True)
class Step:
    """One thing that can be learned from a kit.

    - ``name``: short, for files and JSON; ``title``: for people;
    - ``version``: to be raised when the step would give other results for the same input, or findings of another shape;
    - ``needs``: the roles of a kit's files without which there is nothing to do; ``wants``: roles of files that it
      may use, too; its findings name those that it did use (``also_from``);
    - ``writes``: its files, relative to the pack, the model first;
    - ``learn``: does the work; ``findings``: the class of what it returns, which writes the chapter;
    - ``check``: what is wrong with its files, before anything is learned;
    - ``settings``: kept, reported, and part of what makes a run the same run;
    - ``after``: names of steps whose files it reads;
    - ``learned``: what it gives, for a sentence that begins "Corpuscle has learned"; the title if empty;
    - ``labels``: what people call the kinds of things that its findings name;
    - ``commands``: (command line, what it does), for the report; ``{model}`` stands for the first file that is written;
    - ``kernels``: the package whose kernels it uses, so that they can be compiled ahead.

    ``check`` and ``learn`` may raise ``LeftOut``. A step that fails costs its own chapter, and those of steps after it.
    """

    name: str
    title: str
    version: int
    needs: tuple[str, ...]
    writes: tuple[str, ...]
    learn: Callable[[Job, Settings], Findings]
    findings: type[Findings]
    check: Callable[[Job], list[InputError]] = lambda job: []
    settings: Settings = field(default_factory=dict)
    after: tuple[str, ...] = ()
    learned: str = ""
    kernels: str = ""
    wants: tuple[str, ...] = ()
    commands: tuple[Sequence[str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def read(self, record: Mapping[str, Any] | None) -> Findings | None:
        """The findings that were written down; None where there are none, or those of another version."""
        try:
            return None if record is None else self.findings.from_json(record["findings"])
        except (KeyError, ValueError):
            return None


_DECLARED = tomllib.loads(Path(__file__).with_name("steps.toml").read_text(encoding="utf-8"))


def declared(
    name: str, version: int, writes: tuple[str, ...], learn: Callable[[Job, Settings], Findings],
    findings: type[Findings], **more: Any,
) -> Step:  # fmt: skip
    """A step of this package; what people read about it, and what it needs, stands in ``steps.toml``."""
    facts: dict[str, Any] = {k: tuple(each) if isinstance(each, list) else each for k, each in _DECLARED[name].items()}
    return Step(name=name, version=version, writes=writes, learn=learn, findings=findings, **facts, **more)


FEWEST_SENTENCES = 20  # with fewer, a tenth held out says nothing
FEWEST_SPACES = 0.02  # a text with a smaller share of spaces among its characters is taken to be written without them
SEGMENTED = "segmented.txt"  # where the segmenter writes the words of such a text, in the pack


class Job:
    """Kit, folder of the pack, seed and workers of a run, and what its steps share.

    ``workers``: the settings of learners that say who works, ``workers`` and ``cluster``; ``common``: with the seed.
    """

    def __init__(self, kit: Kit, pack: Path, seed: int, workers: int | None, cluster: str | None = None):
        self.kit, self.pack, self.seed = kit, pack, seed
        self.workers: dict[str, Any] = {"workers": workers, "cluster": cluster}
        self.common: dict[str, Any] = {"seed": seed, **self.workers}
        self._hash = cache(content_hash)

    def __repr__(self) -> str:
        return f"<Job: a pack {self.pack} of {self.kit!r}>"

    def hashes(self, roles: tuple[str, ...]) -> dict[str, str]:
        """A hash of the content of every file of some roles; each file is read once a run."""
        names = [name for role in roles for name in sorted(self.kit.files.get(role, ()))]
        return {name: self._hash(self.kit.path(name)) for name in names}

    def fit(self, model: Any, *material: Any, name: str, save: bool = False) -> Any:
        """Fit a model to its material and return it; ``save`` also writes it, to ``name`` in the pack.

        Unfinished work on that file goes on, unless it was done on other data or by another rule.
        """
        path = self.pack / name
        partial = path.with_name(path.name + ".partial")
        try:
            checkpoint = model.checkpoint(*material, path, partial.exists())
        except InputError:
            partial.unlink(missing_ok=True)
            checkpoint = model.checkpoint(*material, path, False)
        with checkpoint:
            model.fit(*material, checkpoint=checkpoint)
            if save:
                model.save(path)
        return model

    def measured(
        self, fit: Callable[[Any], Any], data: Any, held: np.ndarray, *, file: str, path: AnyPath
    ) -> tuple[Any, Any, Any, Any]:
        """Fit a model to data without the items that are held out (bool), to be measured on them, and one to all data,
        which is saved to ``file``. Returns the first model, its training data, the held-out data, and the other model.
        """
        train, test = data.select(np.flatnonzero(~held)), data.select(np.flatnonzero(held))
        with naming(path):
            model, final = fit(train), fit(data)
        final.save(self.pack / file)
        return model, train, test, final

    @cached_property
    def raw(self) -> Corpus:
        """The running text as it is written: every file begins a document, and so does every empty line."""
        corpus, folder = read_text(*self.kit.paths("text"), blank="document"), self.kit.folder / "text"
        filled = int((corpus.lengths > 0).sum())
        check_enough(folder, filled, FEWEST_SENTENCES, "sentence of text", "sentences of text")
        if len(corpus.vocab) == FIRST:
            raise LeftOut(folder, None, "no words, only the mark of unknown ones")
        return corpus

    def check_text(self) -> list[InputError]:
        """What is wrong with the files of running text: the first error of each."""
        wrong = wrong_files(lambda: self.raw, [()])
        return wrong and wrong_files(read_text, [(path,) for path in self.kit.paths("text")])

    @cached_property
    def letters(self) -> int:
        return int(characters_of_types(self.raw.vocab) @ self.raw.vocab.counts[FIRST:])

    @property
    def share_of_spaces(self) -> float:
        """How many of the characters of the text stand between two words."""
        spaces = self.raw.n_tokens - len(self.raw)
        return spaces / max(1, spaces + self.letters)

    @cached_property
    def glosses(self) -> dict[str, str]:
        return second_columns(self.pack / "glosses.tsv")

    @property
    def unspaced(self) -> bool:
        return self.share_of_spaces < FEWEST_SPACES

    @cached_property
    def text(self) -> Corpus:
        """The text in words: as it is written, or as the segmenter has split it if it is written without spaces."""
        path = self.pack / SEGMENTED
        return read_text(path, blank="document") if self.unspaced and path.is_file() else self.raw

    def document_names(self) -> list[str]:
        """The documents of the text by file, with the line where each begins if there are several in the file."""
        origin, starts = self.raw.origin, self.raw.document_starts
        assert origin is not None and starts is not None
        places = [origin.place(start) for start in starts[:-1].tolist()]
        of_file = Counter(path for path, _ in places)
        return [shown_name(path) + (f":{line}" if of_file[path] > 1 else "") for path, line in places]

    @cached_property
    def split(self) -> Split:
        return split(self.text, self.seed)

    @cached_property
    def trees(self) -> Treebank:
        return read_conllu(self.kit.paths("tagged")[0])

    def check_trees(self) -> list[InputError]:
        return wrong_files(lambda: self.trees, [()])

    @cached_property
    def held_trees(self) -> np.ndarray:
        """Which of the annotated sentences are a seeded tenth, bool."""
        return held_sentences(self.trees.corpus, self.seed)[0]

    @cached_property
    def split_trees(self) -> tuple[Treebank, Treebank]:
        """The annotated sentences without that tenth, and it."""
        return self.trees.select(~self.held_trees), self.trees.select(self.held_trees)

    def _sides(self) -> tuple[list[tuple[str, str]], list[InputError]]:
        """All ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name; and what is wrong with the others."""
        sides: dict[str, dict[str, str]] = {}
        wrong: list[InputError] = []
        for path in self.kit.paths("parallel"):
            stem, _, side = Path(path).name.removesuffix(".gz").removesuffix(".xz").rpartition(".")
            if other := sides.setdefault(stem, {}).get(side):
                wrong.append(InputError(path, None, f"there is also {Path(other).name}; which one is meant?"))
            sides[stem][side] = path
        for stem, found in sides.items():
            if len(found) == 1:
                reason = f"the other language is missing: there is no {stem}.{'tgt' if 'src' in found else 'src'}"
                wrong.append(InputError(next(iter(found.values())), None, reason))
        return [(found["src"], found["tgt"]) for found in sides.values() if len(found) == 2], wrong

    def check_parallel(self) -> list[InputError]:
        """What is wrong with the translations: files without another side, lines that do not match."""
        pairs, wrong = self._sides()
        if pairs and wrong_files(lambda: self.parallel, [()]):
            wrong += wrong_files(read_bitext, pairs)
        return wrong

    @cached_property
    def parallel(self) -> Bitext:
        """The pairs of all ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name."""
        pairs, _ = self._sides()
        parts = [read_bitext(*paths) for paths in pairs]
        return parts[0] if len(parts) == 1 else Bitext(*(read_text(*paths) for paths in zip(*pairs, strict=True)))
