"""A step of learning: what it needs, what it writes, and what it has to say in the report.

A step is a record of plain functions. ``run`` does the work and returns its findings, plain data that JSON can hold;
they are kept, so that ``report`` can write the chapter again without the work being done again. A new step is a
module with one such record, and a line in ``corpuscle.packs.learn.STEPS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from corpuscle.errors import InputError
from corpuscle.learning import Checkpoint
from corpuscle.packs.heldout import Split, split
from corpuscle.packs.kit import Kit
from corpuscle.text import read_text
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.stats import characters_of_types
from corpuscle.text.vocab import FIRST

__all__ = ["FEWEST_SPACES", "SEGMENTED", "Chapter", "Findings", "Job", "LeftOut", "Step", "blaming", "unfinished"]

Findings = dict[str, Any]
"""What a step has found out: numbers, strings, lists and dictionaries, as JSON knows them."""

FEWEST_SENTENCES = 20
"""With fewer, a tenth held out says nothing."""

FEWEST_SPACES = 0.02
"""A text with a smaller share of spaces among its characters is taken to be written without them."""

SEGMENTED = "segmented.txt"
"""Where the segmenter writes the words of such a text, in the pack."""


class LeftOut(InputError):
    """Raised by a step whose files do not hold enough to learn from, or do not need it: it is left out, and the report
    says why. A run in which nothing is learned ends with the first of these as its error."""


@contextmanager
def blaming(path: AnyPath) -> Iterator[None]:
    """Turn the error of a learner that found nothing to learn from into ``LeftOut`` with the file it came from."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise LeftOut(path, None, error.reason) from error


def unfinished(checkpoint: Callable[[bool], Checkpoint], path: Path) -> Checkpoint:
    """Go on from unfinished work on the model ``path``, unless it was done on other data or by another rule.

    ``checkpoint(resume)`` makes the checkpoint.
    """
    partial = path.with_name(path.name + ".partial")
    if partial.exists():
        try:
            return checkpoint(True)
        except InputError:
            partial.unlink()
    return checkpoint(False)


class Job:
    """What a step works with: the kit, the pack's folder, seed and workers, and the text, read once for all steps."""

    def __init__(self, kit: Kit, pack: Path, seed: int, workers: int | None):
        self.kit, self.pack, self.seed, self.workers = kit, pack, seed, workers
        self._hashes: dict[str, dict[str, str]] = {}

    def hashes(self, roles: tuple[str, ...]) -> dict[str, str]:
        """A hash of the content of every file of some roles; each file is read once a run."""
        for role in roles:
            if role not in self._hashes:
                self._hashes[role] = self.kit.hashes([role])
        return {name: digest for role in roles for name, digest in self._hashes[role].items()}

    @cached_property
    def raw(self) -> Corpus:
        """The running text as it is written: every file begins a document, and so does every empty line."""
        corpus = read_text(*self.kit.paths("text"), blank="document")
        filled = int((corpus.lengths > 0).sum())
        if filled < FEWEST_SENTENCES:
            reason = f"only {filled} sentences of text; at least {FEWEST_SENTENCES} are needed"
            raise LeftOut(self.kit.folder / "text", None, reason)
        if len(corpus.vocab) == FIRST:
            raise LeftOut(self.kit.folder / "text", None, "no words, only the mark of unknown ones")
        return corpus

    @cached_property
    def share_of_spaces(self) -> float:
        """How many of the characters of the text stand between two words."""
        spaces = self.raw.n_tokens - len(self.raw)
        letters = int(characters_of_types(self.raw.vocab) @ self.raw.vocab.counts[FIRST:])
        return spaces / max(1, spaces + letters)

    @property
    def unspaced(self) -> bool:
        """Whether the words of the text are still to be found."""
        return self.share_of_spaces < FEWEST_SPACES

    @cached_property
    def text(self) -> Corpus:
        """The text in words: as it is written, or as the segmenter has split it if it is written without spaces."""
        path = self.pack / SEGMENTED
        return read_text(path, blank="document") if self.unspaced and path.is_file() else self.raw

    def place(self, sentence: int) -> tuple[str | None, int | None]:
        """File and line of a sentence of the text, for errors."""
        for path in self.kit.paths("text"):
            for line, content in read_lines(path):
                if content.strip(" \t\n\v\f\r"):
                    if sentence == 0:
                        return path, line
                    sentence -= 1
        return None, None

    @cached_property
    def halves(self) -> Split:
        """The text without a seeded tenth, and that tenth."""
        return split(self.text, self.seed)


@dataclass(frozen=True)
class Chapter:
    """What a step tells the reader.

    - ``headline``: one sentence of plain text;
    - ``figures``: its main numbers by name, for ``--json``;
    - ``cards``: (number, what it is) for the top of the report;
    - ``body``: HTML;
    - ``commands``: (command line, what it does).
    """

    headline: str
    figures: Mapping[str, Any]
    cards: list[tuple[str, str]]
    body: str
    commands: list[tuple[str, str]]


@dataclass(frozen=True)
class Step:
    """One thing that can be learned from a kit.

    - ``name``: short, for files and JSON; ``title``: for people;
    - ``version``: to be raised when the step would give other results for the same input;
    - ``needs``: the roles of a kit's files without which there is nothing to do;
    - ``writes``: its files, relative to the pack;
    - ``run``: does the work; ``report``: findings and the pack's path as the user wrote it -> Chapter;
    - ``settings``: what it was told; kept, reported, and part of what makes a run the same run;
    - ``after``: names of steps whose files it reads;
    - ``learned``: what it gives, for a sentence that begins "Corpuscle has learned"; the title if empty;
    - ``kernels``: the package whose kernels it uses, so that they can be compiled ahead.

    ``run`` may raise ``LeftOut``.
    """

    name: str
    title: str
    version: int
    needs: tuple[str, ...]
    writes: tuple[str, ...]
    run: Callable[[Job, Mapping[str, Any]], Findings]
    report: Callable[[Findings, str], Chapter]
    settings: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    learned: str = ""
    kernels: str = ""
