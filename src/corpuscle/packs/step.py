"""A step of learning: what it needs, what it writes, and what it has to say in the report.

A step is a record. Its function ``learn`` does the work and returns its findings, a record whose class says how they
become a chapter; they are kept as JSON, so that the chapter can be written again without the work being done
again. A new step is one module of ``corpuscle.packs.systems`` and its name in the task's record of
``corpuscle.catalogue``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, UnfitData
from corpuscle.packs.findings import Findings
from corpuscle.text.files import AnyPath
from corpuscle.text.wording import counted

if TYPE_CHECKING:
    from corpuscle.packs.job import Job


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


def checked_by(read: Callable[[str], Any], *roles: str) -> Callable[[Job], list[InputError]]:
    """The check of a step: every file of some roles is read."""
    return lambda job: wrong_files(read, [(path,) for role in roles for path in job.kit.paths(role)])


def check_enough(path: AnyPath, n: int, fewest: int, thing: str, things: str | None = None, use: str = "") -> None:
    """``LeftOut`` where there are fewer things than are needed."""
    if n < fewest:
        raise LeftOut(path, None, f"only {counted(n, thing, things)}; at least {fewest} are needed{use}")


def by_rule(setting: Any, value: Any) -> Any:
    """A setting, or what a rule gives where the setting is but the rule in words."""
    return value if isinstance(setting, str) else setting


def nothing_wrong(job: Job) -> list[InputError]:
    """The check of a step that takes its files as they are."""
    return []


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
    learn: Callable[[Job, Mapping[str, Any]], Findings]
    findings: type[Findings]
    check: Callable[[Job], list[InputError]] = nothing_wrong
    settings: Mapping[str, Any] = field(default_factory=dict)
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
