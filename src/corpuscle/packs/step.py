"""A step of learning: what it needs, what it writes, and what it has to say in the report.

A step is a record. Its function ``learn`` does the work and returns its findings, a record whose class says how they
become a chapter; they are kept as JSON, so that the chapter can be written again without the work being done
again. A new step is one module of ``corpuscle.packs.systems`` and its name in the task's record of
``corpuscle.catalogue``.

Steps share a job: the kit, the pack's folder, and the text, read and split once for all of them. A tenth of the text is
held out: a model does not see it, so that its figures mean something. Whole documents are held out where there are
enough of them, since sentences of one document share words and would make a model look better than it is. A text with
fewer than ten documents, or with documents so large that those that fit into two tenths are hardly anything, is split
by sentences. In a text of which one sentence is nearly all, even those are far less than a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from corpuscle.errors import InputError, UnfitData
from corpuscle.packs.chapter import Findings
from corpuscle.packs.kit import Kit, shown_name
from corpuscle.random import Random, purpose_id, shuffle, stream
from corpuscle.text import Bitext, read_bitext, read_conllu, read_text
from corpuscle.text.corpus import Corpus, characters_of_types, starts_of
from corpuscle.text.files import AnyPath, read_blocks, read_lines
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import counted, percent

Settings = Mapping[str, Any]


class LeftOut(InputError):
    """Raised by a step whose files do not hold enough to learn from, or do not need it: it is left out, and the report
    says why. A run in which nothing is learned ends with the first of these as its error."""


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

    def read(self, record: Mapping[str, Any] | None) -> Findings | None:
        """The findings that were written down; None where there are none, or those of another version."""
        try:
            return None if record is None else self.findings.from_json(record["findings"])
        except (KeyError, ValueError):
            return None


FEWEST_SENTENCES = 20  # with fewer, a tenth held out says nothing
FEWEST_SPACES = 0.02  # a text with a smaller share of spaces among its characters is taken to be written without them
_SPACES = " \t\n\v\f\r"

SEGMENTED = "segmented.txt"  # where the segmenter writes the words of such a text, in the pack


class Parallel(NamedTuple):
    """All sentence pairs of a kit; ``files``: the source file of each part and how many pairs it has."""

    bitext: Bitext
    files: list[tuple[str, int]]

    def place(self, pair: int) -> tuple[str, int]:
        """The source file of a pair, and its line there, counted from 1."""
        starts = starts_of(count for _, count in self.files)
        part = int(np.searchsorted(starts, pair, side="right")) - 1
        return self.files[part][0], pair - int(starts[part]) + 1


class Job:
    """Kit, folder of the pack, seed and workers of a run, and what its steps share.

    ``workers``: the settings of learners that say who works, ``workers`` and ``cluster``; ``common``: with the seed.
    """

    def __init__(self, kit: Kit, pack: Path, seed: int, workers: int | None, cluster: str | None = None):
        self.kit, self.pack, self.seed = kit, pack, seed
        self.workers: dict[str, Any] = {"workers": workers, "cluster": cluster}
        self.common: dict[str, Any] = {"seed": seed, **self.workers}
        self._hashes: dict[str, dict[str, str]] = {}

    def __repr__(self) -> str:
        return f"<Job: a pack {self.pack} of {self.kit!r}>"

    def hashes(self, roles: tuple[str, ...]) -> dict[str, str]:
        """A hash of the content of every file of some roles; each file is read once a run."""
        for role in roles:
            if role not in self._hashes:
                self._hashes[role] = self.kit.hashes([role])
        return {name: digest for role in roles for name, digest in self._hashes[role].items()}

    def fit(self, model: Any, *material: Any, name: str, save: bool = False) -> Any:
        """Fit a model to its material and return it; ``save`` also writes it, to ``name`` in the pack.

        Unfinished work on that file goes on, unless it was done on other data or by another rule.
        """
        path, checkpoint = self.pack / name, None
        partial = path.with_name(path.name + ".partial")
        if partial.exists():
            try:
                checkpoint = model.checkpoint(*material, path, True)
            except InputError:
                partial.unlink()
        if checkpoint is None:
            checkpoint = model.checkpoint(*material, path, False)
        with checkpoint:
            model.fit(*material, checkpoint=checkpoint)
            if save:
                model.save(path)
        return model

    def measured(
        self, fit: Callable[[Any], Any], data: Any, held: np.ndarray, *, file: str, path: AnyPath
    ) -> tuple[Any, Any, Any, Any]:
        """Fit a model to data without those that are held out (bool, one an item), so that it can be measured on them;
        then one to everything, which is saved to ``file`` in the pack. ``path``: where the data came from. Returns the
        first model, what it has learned from, what is held out, and the model of everything."""
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
        """How many characters the words of the text have."""
        return int(characters_of_types(self.raw.vocab) @ self.raw.vocab.counts[FIRST:])

    @property
    def share_of_spaces(self) -> float:
        """How many of the characters of the text stand between two words."""
        spaces = self.raw.n_tokens - len(self.raw)
        return spaces / max(1, spaces + self.letters)

    @cached_property
    def glosses(self) -> dict[str, str]:
        """Words and what they mean, as the kit says."""
        path = self.pack / "glosses.tsv"
        return {row[0]: row[1] for _, row in read_table(path)} if path.is_file() else {}

    @property
    def unspaced(self) -> bool:
        """Whether the words of the text are still to be found."""
        return self.share_of_spaces < FEWEST_SPACES

    @cached_property
    def text(self) -> Corpus:
        """The text in words: as it is written, or as the segmenter has split it if it is written without spaces."""
        path = self.pack / SEGMENTED
        return read_text(path, blank="document") if self.unspaced and path.is_file() else self.raw

    def document_names(self) -> list[str]:
        """The documents of the text by file, with the line where each begins if there are several in the file."""
        names: list[str] = []
        for path in self.kit.paths("text"):
            lines, name = [block[0][0] for block in read_blocks(path, _SPACES)], shown_name(path)
            names += [name] if len(lines) == 1 else [f"{name}:{line}" for line in lines]
        return names

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
            name = Path(path).name.removesuffix(".gz").removesuffix(".xz")
            stem, _, side = name.rpartition(".")
            if side in sides.setdefault(stem, {}):
                also = Path(sides[stem][side]).name
                wrong.append(InputError(path, None, f"there is also {also}; which one is meant?"))
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
    def parallel(self) -> Parallel:
        """The pairs of all ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name."""
        pairs, _ = self._sides()
        parts = [read_bitext(*paths) for paths in pairs]
        files = list(zip((shown_name(source) for source, _ in pairs), map(len, parts), strict=True))
        if len(parts) == 1:
            return Parallel(parts[0], files)
        return Parallel(Bitext(*(read_text(*paths) for paths in zip(*pairs, strict=True))), files)

    def place(self, sentence: int) -> tuple[str | None, int | None]:
        """File and line of a sentence of the text, for errors."""
        for path in self.kit.paths("text"):
            for line, content in read_lines(path):
                if content.strip(_SPACES):
                    if sentence == 0:
                        return path, line
                    sentence -= 1
        return None, None


SHARE = 0.1
T = TypeVar("T")
FEWEST_DOCUMENTS = 10  # with fewer, documents are not kept together


class Split(NamedTuple):
    """Two parts of a text; ``groups`` says what was kept together: ``"documents"`` or ``"sentences"``.

    ``train`` has a vocabulary of its own words only; ``held_out`` keeps that of the whole text, which spells all its
    words.
    """

    train: Corpus
    held_out: Corpus
    groups: str


def part_held(share: float) -> str:
    """A share of the text that was held out, for people: a tenth, unless it is far from one."""
    return "a tenth" if abs(share - SHARE) <= SHARE / 2 else percent(share)


def tenth(items: Sequence[T], seed: int, purpose: str) -> list[T]:
    """A tenth of some items of equal weight, in random order; at least one."""
    return Random(seed, purpose).shuffled(items)[: max(1, round(SHARE * len(items)))]


def _draw(weights: np.ndarray, seed: int) -> np.ndarray:
    """Groups in random order, as many as it takes to reach the share, without those that would exceed twice the share.

    At least half of them stay, even where the share is not reached.
    """
    order = np.arange(len(weights))
    shuffle(stream(seed, purpose_id("packs.heldout"), 0, 0), order)
    taken: list[int] = []
    total, held = int(weights.sum()), 0
    for group in order:
        if held >= SHARE * total or 2 * (len(taken) + 1) > len(weights):
            break
        if held + weights[group] <= 2 * SHARE * total:
            taken.append(int(group))
            held += int(weights[group])
    return np.array(taken, np.int64)


def held_documents(corpus: Corpus, seed: int) -> np.ndarray:
    """A tenth of the text in whole documents: which of them, bool (n_documents,). None are, if there are few or if each
    is too large."""
    starts = corpus.document_starts
    if starts is None:
        return np.zeros(0, bool)
    held = np.zeros(len(starts) - 1, bool)
    if len(held) >= FEWEST_DOCUMENTS:
        held[_draw(np.diff(starts_of(corpus.lengths + 1)[starts]), seed)] = True
    return held


def held_sentences(corpus: Corpus, seed: int) -> tuple[np.ndarray, str]:
    """A tenth of the tokens, the same for the same text and seed: which sentences, bool (n_sentences,), and what was
    kept together."""
    # A model predicts the end of a sentence, too.
    sizes, documents = corpus.lengths + 1, held_documents(corpus, seed)
    held, groups = np.zeros(len(corpus), bool), "documents"
    if documents.any():
        assert corpus.document_starts is not None
        held = np.repeat(documents, np.diff(corpus.document_starts))
    if sizes[held].sum() < SHARE / 2 * sizes.sum():
        held, groups = np.zeros(len(corpus), bool), "sentences"
        held[_draw(sizes, seed)] = True
    return held, groups


def split(corpus: Corpus, seed: int) -> Split:
    held, groups = held_sentences(corpus, seed)
    return Split(corpus.select(~held).counted(), corpus.select(held), groups)
