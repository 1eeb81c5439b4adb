"""A step of learning: what it needs, what it writes, and what it has to say in the report.

A step is a record of plain functions. ``run`` does the work and returns its findings, plain data that JSON can hold;
they are kept, so that ``report`` can write the chapter again without the work being done again. A new step is a
module of ``corpuscle.packs.steps`` with one such record, a module of ``corpuscle.packs.chapters`` with its report, and
its name in the task's record of ``corpuscle.catalogue``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from corpuscle.errors import InputError, UnfitData
from corpuscle.text.files import AnyPath
from corpuscle.text.html import Html
from corpuscle.text.wording import counted

if TYPE_CHECKING:
    from corpuscle.packs.job import Job

__all__ = ["Chapter", "Findings", "LeftOut", "Step", "by_rule", "check_enough", "naming", "pick", "wrong_files"]

Findings = dict[str, Any]
"""What a step has found out: numbers, strings, lists and dictionaries, as JSON knows them."""


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


def check_enough(path: AnyPath, n: int, fewest: int, thing: str, things: str | None = None, use: str = "") -> None:
    """``LeftOut`` where there are fewer things than are needed."""
    if n < fewest:
        raise LeftOut(path, None, f"only {counted(n, thing, things)}; at least {fewest} are needed{use}")


def by_rule(setting: Any, value: Any) -> Any:
    """A setting, or what a rule gives where the setting is but the rule in words."""
    return value if isinstance(setting, str) else setting


def pick(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Some of the values by name."""
    return {name: values[name] for name in names}


def nothing_wrong(job: Job) -> list[InputError]:
    """The check of a step that takes its files as they are."""
    return []


class Card(NamedTuple):
    """A number for the top of the report: what it is, and what a simple way or chance would give."""

    number: str
    what: str
    beside: str = ""


@dataclass(frozen=True)
class Chapter:
    """What a step tells the reader.

    - ``headline``: one sentence of plain text;
    - ``figures``: its main numbers by name, for ``--json``;
    - ``cards``: its numbers for the top of the report;
    - ``body``: the pieces of its text, one after the other;
    - ``commands``: (command line, what it does); ``{model}`` stands for the first file that the step writes.
    """

    headline: str
    figures: Mapping[str, Any]
    cards: list[Card]
    body: list[Html]
    commands: list[tuple[str, str]]


@dataclass(frozen=True)
class Step:
    """One thing that can be learned from a kit.

    - ``name``: short, for files and JSON; ``title``: for people;
    - ``version``: to be raised when the step would give other results for the same input;
    - ``needs``: the roles of a kit's files without which there is nothing to do; ``wants``: roles of files that it
      may use, too; its findings name those that it did use (``also_from``);
    - ``writes``: its files, relative to the pack, the model first;
    - ``check``: what is wrong with its files, before anything is learned;
    - ``run``: does the work; its findings get the size of the model (``bytes``); ``report``: tells what was found;
    - ``settings``: what it was told; kept, reported, and part of what makes a run the same run;
    - ``after``: names of steps whose files it reads;
    - ``learned``: what it gives, for a sentence that begins "Corpuscle has learned"; the title if empty;
    - ``kernels``: the package whose kernels it uses, so that they can be compiled ahead.

    ``check`` and ``run`` may raise ``LeftOut``. A step that fails costs its own chapter, and those of steps after it.
    """

    name: str
    title: str
    version: int
    needs: tuple[str, ...]
    writes: tuple[str, ...]
    run: Callable[[Job, Mapping[str, Any]], Findings]
    report: Callable[[Findings, Step], Chapter]
    check: Callable[[Job], list[InputError]] = nothing_wrong
    settings: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    learned: str = ""
    kernels: str = ""
    wants: tuple[str, ...] = ()

    def used(self, findings: Findings) -> tuple[str, ...]:
        """The roles of the files that its findings come from."""
        return *self.needs, *findings.get("also_from", ())
