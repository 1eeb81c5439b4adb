"""One table of verbs: what can be asked of a model over the web, said once.

A verb has a task, a name, the settings that are its input (from which come its checks, its JSON schema and the form of
the page) and a function ``(model, given) -> plain data``. The shapes are those of the command line's ``--json`` where a
command has the same name. Nothing here imports NumPy: the server knows what can be asked without loading a model.

    @verb("lm", Context)
    def next(model, given): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpuscle.catalogue import TASKS
from corpuscle.settings import Settings, setting

if TYPE_CHECKING:
    from corpuscle.text import Corpus
    from corpuscle.text.treebank import Treebank

__all__ = ["VERBS", "K", "Lines", "Pair", "Verb", "Word", "bank_of", "corpus_of", "lines_of", "verb", "verbs_of"]

Call = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class Verb:
    """Something to ask of models of a task: ``kinds`` of model files that know it, ``inputs``: the class of its input,
    ``example``: an input, ``beside``: the task of a model that is handed to ``call``, too, if the pack has one; its
    help is the docstring of ``call``."""

    task: str
    name: str
    kinds: tuple[str, ...]
    inputs: type[Settings]
    call: Call
    example: Mapping[str, Any]
    beside: str = ""

    @property
    def help(self) -> str:
        """What it does, in one sentence."""
        return " ".join((self.call.__doc__ or "").split())


VERBS: dict[tuple[str, str], Verb] = {}
"""(task, name) -> verb, filled by the modules beside this one."""


def verb(
    task: str, inputs: type[Settings], *, name: str = "", kinds: Iterable[str] = (), beside: str = "", **example: Any
) -> Callable[[Call], Call]:
    """Enter a function in the table, under its own name if no other is given; ``kinds``: of which models, if not of all
    of the task; ``beside``: see ``Verb``."""

    def enter(call: Call) -> Call:
        label = name or call.__name__.rstrip("_")
        of = tuple(kinds) or tuple(TASKS[task].kinds if task in TASKS else (task,))
        VERBS[task, label] = Verb(task, label, of, inputs, call, example, beside)
        return call

    return enter


def verbs_of(kind: str) -> list[Verb]:
    """All that can be asked of a model of some kind."""
    return [each for each in VERBS.values() if kind in each.kinds]


# ---- inputs


class Lines(Settings):
    """Text, a sentence a line, or running text."""

    text: str = setting("Text, a sentence a line.", default="")
    raw: bool = setting("It is running text: split it into sentences and tokens.", default=False)


class Pair(Settings):
    """Sentences and their translations, line by line."""

    source: str = setting("Sentences, one a line.", default="")
    target: str = setting("Their translations, one a line.", default="")


class K(Settings):
    """How many answers."""

    k: int = setting("How many.", default=10, low=1, high=200)


class Word(K):
    """A word."""

    word: str = setting("A word.", default="")


def split_lines(text: str) -> list[str]:
    """The lines of a text; the last line feed ends the last line, and no text has no line."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def lines_of(given: Lines) -> list[str]:
    """The sentences of a text that was given."""
    if not given.raw:
        return split_lines(given.text)
    from corpuscle.text.running import prepare

    return [" ".join(sentence) for sentence in prepare(given.text)]


def corpus_of(model: Any, given: Lines) -> Corpus:
    """A text that was given as the model reads text."""
    from corpuscle.text import read_strings

    return read_strings(lines_of(given), **model.reading)


def bank_of(given: Lines) -> Treebank:
    """A text that was given as a treebank without annotation; empty lines are left out."""
    from corpuscle.text import Treebank

    return Treebank.from_sentences([words for words in map(str.split, lines_of(given)) if words])
