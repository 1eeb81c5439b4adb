"""Verbs: what a model can do, declared once, beside its task, as a function whose *defaults* are declarations.

    @verb("tag", "tag apply words.tagger text.txt -o text.conllu", out="-")
    def apply(
        model: Tagger = a_model("tag"),
        input: Treebank = treebank(default="-", raw=True),
        *,
        confidence: bool = setting("Write how likely each label is into MISC.", default=False),
    ) -> Treebank:
        \"\"\"Tag a text, one sentence of words a line, or a CoNLL-U file.\"\"\"
        return model.annotate(input, confidence=confidence)

An ``Input`` is what a verb works on, a ``Setting`` how it does so; annotations stay the real types. From such a
function follow its command with help and example, its JSON schema, and a function of Python that takes paths, lists or
objects: ``apply("words.tagger", "text.txt", confidence=True)``. A value is read and checked once, when the verb is
called; the code below trusts it. The module of a task's verbs is named by the catalogue and imports nothing heavy:
readers are named by strings, and bodies import what they need. Annotations of settings name builtin types only.

Some parameters are not declared and get what their name says, where a function has them:

- ``output``: the file that ``-o`` names, None in Python; ``keep``: see ``Keep``;
- ``work``: ``workers`` and ``cluster`` as they were given (``work=True``);
- ``names``: parameter -> the file that its value was read from.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, Union

from corpuscle.catalogue import TASKS, find
from corpuscle.errors import InputError, SettingError
from corpuscle.settings import Parallel, Seeded, Setting, option_of, setting, typed

__all__ = [
    "RAW", "SEED", "Answer", "File", "Input", "Keep", "Learned", "Picture", "Ready", "Shown", "Table", "Typed", "Verb",
    "a_model", "bitext", "evaluates", "messages", "names", "pairs", "path", "setting", "text", "trains",
    "treebank", "trees", "verb", "verbs_of", "word",
]  # fmt: skip

_READERS = "corpuscle.text.inputs"


# ---- what is handed to a verb


class File(str):
    """A path that was typed on a command line; ``-`` is stdin. A tuple of them is several files, where a list of plain
    strings is a text line by line."""


@dataclass(frozen=True)
class Typed:
    """Text that a person typed into a form."""

    text: str


@dataclass(frozen=True)
class Input:
    """What a verb works on.

    - ``reader``: ``"module:function"`` with the parameters ``(value, model, declared)`` and those of ``options``; it
      makes what the annotation says of a path, ``Typed`` text, a list or the thing itself;
    - ``help``, ``metavar``: for the command line, where the latter is the parameter's name in capitals by default;
    - ``default``: of the command line, if there is one; ``many``: several files; ``option``: by name, not by position;
    - ``options``: what else the reader takes: its own settings and inputs, by name. An Input that is ``only_options``
      has no value of its own on the command line;
    - ``without``: other parameters that it means nothing with, and why; ``kinds``: of a model file;
    - ``empty``: the complaint about a text without words; ``form``: the verb writes it, see ``cli.outputs.Output``;
    - ``offers``: what the shell completes: ``file``, ``dir`` or ``plain``.
    """

    reader: str
    help: str = ""
    metavar: str = ""
    default: Any = ...
    many: bool = False
    option: bool = False
    options: Mapping[str, Input | Setting] = field(default_factory=dict)
    only_options: bool = False
    without: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    empty: str = ""
    form: str = ""
    offers: str = "file"

    def read(self, value: Any, model: Any = None, **options: Any) -> Any:
        """What the verb works on, made of what it was given."""
        return find(self.reader)(value, model, self, **options)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of what a form asks for."""
        return {"type": "string", "description": self.help}


def _input(kind: str, help: str = "", **facts: Any) -> Any:
    """An Input that a reader of ``text.inputs`` makes; an option is one that need not be given."""
    if facts.get("option"):
        facts.setdefault("default", None)
    return Input(f"{_READERS}:{kind}", help, **facts)


RAW = Setting(False, "The input is running text: split it into sentences and tokens.", name="raw", type=bool)
SEED: Any = Seeded.SETTINGS["seed"]


def text(help: str = "", *, raw: bool = False, **facts: Any) -> Any:
    """A text as the model reads it; ``raw``: or running text."""
    return _input("text", help, **({"options": {"raw": RAW}} if raw else {}) | facts)


def treebank(help: str = "", *, raw: bool = False, **facts: Any) -> Any:
    """A treebank; ``raw``: or a text without annotation, also running text."""
    return _input("treebank", help, **({"options": {"raw": RAW}} if raw else {}) | facts)


trees = partial(_input, "trees")
bitext = partial(_input, "bitext")
pairs = partial(_input, "pairs")
names = partial(_input, "names")
messages = partial(_input, "messages")
path = partial(_input, "as_given")
"""The path of a file; or whatever else was given, where the body reads it because only it knows how."""
word = partial(_input, "word", offers="plain")
"""A word or a few, not a file."""


def a_model(task: str, *kinds: str, help: str = "", **facts: Any) -> Any:
    """A model of a task, of all its kinds or of some."""
    return _input("a_model", help, kinds=kinds or tuple(TASKS[task].kinds), **facts)


# ---- what a verb returns


class Shown(Protocol):
    """What a verb returns: it says itself as plain data and to people. So do ``Result`` and ``Comparison``."""

    def to_json(self) -> Mapping[str, Any]: ...

    def text(self) -> str | None: ...


@dataclass(frozen=True)
class Answer:
    """Figures, and what to say of them to people (None: a line for each)."""

    values: Mapping[str, Any]
    said: str | None = None

    def to_json(self) -> Mapping[str, Any]:
        return self.values

    def text(self) -> str | None:
        return self.said


@dataclass(frozen=True)
class Table:
    """Rows with named columns, which may come one by one; ``heading``: whether the names are written, too; ``number``:
    the format of fractions, if it is not the usual one."""

    columns: Sequence[str]
    rows: Iterable[Iterable[Any]]
    heading: bool = True
    number: str = ".6g"

    def to_json(self) -> dict[str, Any]:
        return {"rows": [dict(zip(self.columns, row, strict=True)) if self.columns else list(row) for row in self.rows]}

    def text(self) -> str:
        """The lines of the table without the last line feed."""
        format_row = find("corpuscle.text.tables:format_row")
        first = [format_row(self.columns)] if self.heading and self.columns else []
        return "".join([*first, *(format_row(row, self.number) for row in self.rows)]).removesuffix("\n")

    def write(self, path: str) -> None:
        """Write it to a file."""
        heading, names = (self.columns, ()) if self.heading else ((), self.columns)
        find("corpuscle.text.tables:write_table")(path, heading, self.rows, self.number, names=names)


@dataclass(frozen=True)
class Picture:
    """A picture."""

    svg: str

    def to_json(self) -> dict[str, Any]:
        return {"svg": self.svg}

    def _repr_html_(self) -> str:
        return self.svg

    def write(self, path: str) -> None:
        """Write it as SVG, or as PNG by the name of the file."""
        find("corpuscle.figures:save_figure")(self.svg, path)


@dataclass(frozen=True)
class Learned:
    """A model for ``-o``, figures, and what to say of it after the file's name (None: a line for each figure), and
    after the time that it took."""

    model: Any
    figures: Mapping[str, Any]
    said: str | None = None
    more: str = ""


@dataclass(frozen=True)
class Keep:
    """Where unfinished work of a training is kept: beside its output, if there is one."""

    output: str | None = None
    resume: bool = False
    stack: ExitStack = field(default_factory=ExitStack)

    def checkpoint(self, model: Any, data: Any) -> Any:
        """The checkpoint of a model that learns from some data, open until the model is saved; None without output."""
        if self.output is None:
            return None
        return self.stack.enter_context(model.checkpoint(data, self.output, self.resume))


# ---- the verb itself


@dataclass(frozen=True)
class Verb:
    """A verb of a task.

    - ``declared``: parameter of the function -> its declaration; ``example``: what to type, a line or several;
    - ``out``: what ``-o`` is: empty: there is none, ``-``: a file, stdout by default, or a form of ``Output``;
    - ``work``: it shares its work; ``overlap``: the input that the model should not have seen in training;
    - ``methods``, ``choose``: of a training: its methods, and what settings say about which is meant;
    - ``apply``, ``hides``, ``instead``: of an evaluation, see ``evaluates``.
    """

    task: str
    name: str
    function: Callable[..., Any]
    example: str
    declared: Mapping[str, Input | Setting]
    out: str = ""
    work: bool = False
    overlap: str = ""
    methods: tuple[str, ...] = ()
    choose: Callable[[Mapping[str, str]], str] | None = None
    apply: Verb | None = None
    hides: tuple[str, ...] = ()
    instead: str = ""

    @property
    def help(self) -> str:
        """The docstring of its function."""
        return self.function.__doc__ or ""

    @property
    def parameters(self) -> dict[str, Input | Setting]:
        """All that can be given by name: what is declared, and what the readers of inputs take."""
        found: dict[str, Input | Setting] = {}
        for name, each in self.declared.items():
            if isinstance(each, Setting) or not each.only_options:
                found[name] = each
            found |= {} if isinstance(each, Setting) else each.options
        return {**found, **(Parallel.SETTINGS if self.work else {})}

    @property
    def takes(self) -> tuple[str, ...]:
        """The parameters of its function."""
        return tuple(inspect.signature(self.function).parameters)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of what a form asks for: texts and settings, the model apart."""
        properties, needed = {}, []
        for name, each in self.parameters.items():
            if isinstance(each, Setting):
                if not each.runtime:
                    properties[name] = each.schema()
            elif not each.kinds and not each.form:
                properties[name] = each.schema
                needed += [name] * (each.default is ...)
        about = {"title": f"{self.task} {self.name}", "description": " ".join(self.help.split()), "type": "object"}
        return about | {"properties": properties, "required": needed, "additionalProperties": False}

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.done(self.read(*given, **named))

    def read(self, *given: Any, **named: Any) -> Ready:
        """The arguments of the function: settings are checked first, then inputs are read in their order."""
        values = dict(zip(self.takes, given, strict=False)) | named
        self._check(values)
        for name, each in self.parameters.items():
            if isinstance(each, Setting):
                values[name] = each.checked(values[name]) if name in values else each.default
        work = {name: values[name] for name in Parallel.SETTINGS if self.work and values[name] is not None}
        Parallel(**work)  # complains about workers together with a cluster
        names: dict[str, str] = {}
        own = {"work": work, "names": names, "keep": Keep(), "output": None}
        taken: dict[str, Any] = {}
        model = values.get("model")
        for name in self.takes:
            declared = self.declared.get(name)
            if isinstance(declared, Input):
                taken[name] = _read(declared, name, values, model, work, names)
                model = taken[name] if name == "model" else model
            else:
                taken[name] = values[name] if name in values else own[name]
        if self.apply is not None and taken["found"] is None:
            with _naming(names.get("gold")):
                taken["found"] = self.apply(taken["model"], taken["gold"].without(*self.hides))
        return Ready(taken, names)

    def done(self, ready: Ready) -> Any:
        """Call the function with what ``read`` has made; an error without a file is about the text, or the model."""
        texts = [name for name, each in self.declared.items() if isinstance(each, Input) and not each.kinds]
        order = ["found"] * (self.apply is not None) + [*texts, "model"]
        with _naming(next((ready.names[name] for name in order if name in ready.names), None)):
            return self.function(**ready.arguments)

    def _check(self, values: Mapping[str, Any]) -> None:
        """Complain about what needs no reading to be wrong."""
        for name in values.keys() - self.parameters.keys() - set(self.takes):
            raise TypeError(f"{self.task} {self.name} knows no {name}; it takes {', '.join(self.parameters)}")
        given = {name for name, value in values.items() if value is not None}
        if self.apply is not None and ("found" in given) == ("model" in given):
            raise SettingError(f"give {self.instead}, or --model")
        for name, each in self.parameters.items():
            if isinstance(each, Input):
                if each.default is ... and name not in values:
                    raise TypeError(f"{self.task} {self.name} needs {name}")
                for other, why in each.without.items():
                    if name in given and other in given:
                        raise SettingError(f"{option_of(name)} means nothing with {option_of(other)}, {why}")


class Ready(NamedTuple):
    """What a verb is about to work on: the arguments of its function, and the files that they were read from."""

    arguments: dict[str, Any]
    names: dict[str, str]


def _read(
    declared: Input, name: str, values: Mapping[str, Any], model: Any, work: Mapping[str, Any], names: dict[str, str]
) -> Any:
    """The value of an input; ``names`` gets the file that it is from."""
    value = values.get(name, None if declared.default is ... else declared.default)
    if value is None and not declared.only_options:
        return None
    first = value[0] if isinstance(value, tuple) and value and isinstance(value[0], File) else value
    if isinstance(first, str | os.PathLike):
        names[name] = os.fspath(first)
    options = {
        each: _read(about, each, values, model, work, names) if isinstance(about, Input) else values[each]
        for each, about in declared.options.items()
    }
    made = declared.read(value, model, **options)
    if declared.kinds:
        for each in made if isinstance(made, list) else [made]:
            for key, shared in work.items():
                setattr(each, key, shared)
    return made


@contextmanager
def _naming(path: str | None) -> Iterator[None]:
    """Errors about a text that has no name carry the name of its file."""
    try:
        yield
    except InputError as error:
        if error.path is not None or path is None:
            raise
        raise InputError(path, error.line, error.reason) from error


def _type_of(annotation: Any) -> Any:
    """The type of a setting; ``"str | None"`` where the module postpones annotations."""
    if not isinstance(annotation, str):
        return annotation
    kinds = [None if each == "None" else getattr(builtins, each) for each in annotation.split(" | ")]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def verb(task: str, example: str, *, name: str = "", **facts: Any) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a verb of a task, of its own name if no other is given; ``facts``: see ``Verb``."""

    def declare(function: Callable[..., Any]) -> Verb:
        declared: dict[str, Input | Setting] = {}
        for each in inspect.signature(function).parameters.values():
            if isinstance(each.default, Setting):
                declared[each.name] = typed(each.default, each.name, _type_of(each.annotation))
            elif isinstance(each.default, Input):
                declared[each.name] = each.default
        return Verb(task, name or function.__name__.rstrip("_"), function, example, declared, **facts)

    return declare


def trains(task: str, example: str, *, methods: Sequence[str] = (), **facts: Any) -> Callable[..., Verb]:
    """A verb that learns: its function gets a new learner, ``model``, and returns ``Learned``. Its command has
    ``--method`` and the settings of the methods (all of the task if none are named), ``-o``, and ``--resume`` if the
    function takes ``keep``."""
    ways = tuple(methods or TASKS[task].methods)
    return verb(task, example, methods=ways, out="model", **facts)


def evaluates(task: str, example: str, *, apply: Verb, instead: str, **facts: Any) -> Callable[..., Verb]:
    """A verb with the inputs ``gold``, ``found`` and ``model`` that compares ``found`` with ``gold``: what was given
    (``instead`` says what that is), or what ``apply`` makes of gold without the layers that it ``hides``."""
    return verb(task, example, apply=apply, instead=instead, overlap="gold", **facts)


def verbs_of(task: str) -> dict[str, Verb]:
    """The verbs of a task by name, in the order of their module."""
    module = importlib.import_module(TASKS[task].verbs)
    found = [each for each in vars(module).values() if isinstance(each, Verb) and each.task == task]
    return {each.name: each for each in found}
