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

A **view** is a question that the workbench asks of a model: what it works on was typed, and what it returns is plain
data. It has no command.

    @view("lm", text="a b c")
    def surprisal(model: Any, text: Corpus = text(raw=True)) -> dict[str, Any]: ...

Some parameters are not declared and get what their name says, where a function has them:

- ``tagger``: of a view, the tagger of the pack, if it has one;
- ``output``: the file that ``-o`` names, None in Python; ``keep``: see ``Keep``;
- ``work``: ``workers`` and ``cluster`` as they were given (``work=True``);
- ``settings``: those of the class of settings of the verb that were given, see ``Verb``;
- ``names``: parameter -> the file that its value was read from.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple, Protocol, Union

from corpuscle.catalogue import TASKS, extensions, find
from corpuscle.errors import InputError, SettingError
from corpuscle.settings import Parallel, Seeded, Setting, check_together, option_of, setting, typed

_READERS = "corpuscle.text.inputs"


# ---- what is handed to a verb


class File(str):
    """A path that was typed on a command line (``-``: stdin), where a plain string in a list is a line of text."""


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
    - ``default``: of the command line, if there is one; ``many``: several files; ``option``: by name, not by position,
      repeated if it may be ``many``, and with as many values as its metavar has words;
    - ``options``: what else the reader takes: its own settings and inputs, by name. An Input that is ``only_options``
      has no value of its own on the command line;
    - ``without``: other parameters that it means nothing with, and why; ``belongs``: to the input whose reader takes
      it, so that there are both or neither; ``kinds``: of a model file;
    - ``methods``: of a training: those that it means something with, if not all;
    - ``empty``: the complaint about a text without words; ``form``: the verb writes it, see ``cli.outputs.Output``;
    - ``file_reader``: the function of a path that reads such a file, see ``read_by``;
    - ``offers``: what the shell completes: ``file``, ``dir``, ``plain`` (nothing) or some words.
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
    belongs: bool = False
    kinds: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    empty: str = ""
    form: str = ""
    file_reader: str = ""
    offers: str | tuple[str, ...] = "file"

    def read(self, value: Any, model: Any = None, **options: Any) -> Any:
        return find(self.reader)(value, model, self, **options)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of what a form asks for."""
        default = {"default": self.default.text} if isinstance(self.default, Typed) else {}
        return {"type": "string", "description": self.help, **default}


RAW = Setting(False, "The input is running text: split it into sentences and tokens.", name="raw", type=bool)
SEED: Any = Seeded.SETTINGS["seed"]
MOST = 10**9
"""The greatest count that a setting may have: what is greater does not fit the integers of a kernel."""
K: Any = setting("How many.", default=10, low=1, high=200)
"""Of a view."""
ITEMS: Any = setting("How many items.", default=20, low=1, high=500)
"""Of a view for annotators."""


def _input(kind: str, help: str = "", *, reader: str = "", raw: bool = False, **facts: Any) -> Any:
    """An Input made by a function of ``text.inputs``, or by another ``reader``; ``raw``: it may be running text."""
    usual: dict[str, Any] = {"default": None} if facts.get("option") else {}
    usual |= {"options": {"raw": RAW}} if raw else {}
    return Input(reader or f"{_READERS}:{kind}", help, **(usual | facts))


text = partial(_input, "text")
"""A text as the model reads it."""
treebank = partial(_input, "treebank")
"""A treebank; ``raw``: or a text without annotation, also running text."""
lines = partial(_input, "lines")
"""Lines that were typed, as strings; ``raw``: or the sentences of running text."""
messages = partial(_input, "messages")
"""Messages, a list of words each; ``raw``: or running text."""
trees = partial(_input, "trees")
pairs = partial(_input, "pairs")
names = partial(_input, "names")
path = partial(_input, "as_given")
"""The path of a file; or whatever else was given, where the body reads it because only it knows how."""
word = partial(_input, "word", offers="plain")
"""A word or a few, not a file."""


def read_by(function: str, help: str = "", **facts: Any) -> Any:
    """What a function ``"module:name"`` reads from a file; or the same as it is in Python."""
    return _input("read_file", help, file_reader=function, **facts)


def made_by(reader: str, help: str = "", **facts: Any) -> Any:
    """What a reader of a task makes, see ``Input.reader``."""
    return _input("", help, reader=reader, **facts)


def bitext(help: str = "", **facts: Any) -> Any:
    """Sentence pairs: two files, or one with both sides; an option has two values."""
    if not facts.get("option"):
        facts = {"metavar": "SOURCE", "options": {"target": path(default=None)}} | facts
    return _input("bitext", help, **facts)


def written(help: str, *, form: str = "file", **facts: Any) -> Any:
    """An option that names a file, or what else ``form`` says, that the verb writes."""
    return _input("as_given", help, form=form, option=True, **facts)


def a_model(task: str, *kinds: str, help: str = "", **facts: Any) -> Any:
    """A model of a task, of all its kinds or of some."""
    return _input("a_model", help, kinds=kinds or tuple(TASKS[task].kinds), **facts)


def annotated(help: str = "", **facts: Any) -> Any:
    """A treebank, or a text, which ``--tagger`` and ``--parser`` can annotate first."""
    options = {
        "raw": RAW,
        "tagger": a_model("tag", help="Tag the text with this model first.", option=True),
        "parser": a_model("parse", help="Parse the text with this model first.", option=True),
    }
    return _input("annotated", help, options=options, **facts)


# ---- what a verb returns


class Shown(Protocol):
    """What a verb returns: it says itself as plain data and to people. So do ``Result`` and ``Comparison``."""

    def to_json(self) -> Mapping[str, Any]: ...

    def text(self) -> str | None: ...


@dataclass(frozen=True)
class Answer:
    """Figures, and what to say of them to people (None: a line for each); ``code``: the exit code of its command."""

    values: Mapping[str, Any]
    said: str | None = None
    code: int = 0

    def to_json(self) -> Mapping[str, Any]:
        return self.values

    def text(self) -> str | None:
        return self.said


class Writable:
    """What is not figures: a command writes it to ``-o``, or to stdout."""

    def write(self, path: str) -> None:
        """Write it to a file; ``-`` is stdout."""
        raise NotImplementedError


@dataclass(frozen=True)
class Table(Writable):
    """Rows with named columns, which may come one by one.

    - ``heading``: whether the names are written, too; ``number``: the format of fractions, if it is not the usual one;
    - ``figures``: what there is to say about the rows. ``--json`` is these, then, while the rows are written as ever.
    """

    columns: Sequence[str]
    rows: Iterable[Iterable[Any]]
    heading: bool = True
    number: str = ".6g"
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        rows = [dict(zip(self.columns, row, strict=True)) if self.columns else list(row) for row in self.rows]
        return {**self.figures, "rows": rows}

    def text(self) -> str:
        """The lines of the table without the last line feed."""
        format_row = find("corpuscle.text.tables:format_row")
        first = [format_row(self.columns)] if self.heading and self.columns else []
        return "".join([*first, *(format_row(row, self.number) for row in self.rows)]).removesuffix("\n")

    def write(self, path: str) -> None:
        heading, names = (self.columns, ()) if self.heading else ((), self.columns)
        write = find("corpuscle.text.tables:write_table")
        write(path, heading, self.rows, self.number, names=names, capture=not self.figures)


@dataclass(frozen=True)
class Lines(Writable):
    """Lines of text in blocks, to be read once. Each block is flushed, so that the reader of a pipe need not wait."""

    blocks: Iterable[Iterable[str]]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Lines:
        """All of them in one block."""
        return cls([lines])

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            yield from block

    def to_json(self) -> dict[str, Any]:
        return {"lines": list(self)}

    def write(self, path: str) -> None:
        with find("corpuscle.text.files:write_atomically")(path, "w") as file:
            for block in self.blocks:
                file.writelines(f"{line}\n" for line in block)
                file.flush()


@dataclass(frozen=True)
class Picture(Writable):
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
class Export(Writable):
    """What ``writer`` (path) writes in a format of its own; ``value``: for Python; ``figures``: see ``Table``."""

    writer: Callable[[str], Any]
    value: Any = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> Mapping[str, Any]:
        return self.figures

    def write(self, path: str) -> None:
        self.writer(path)


@dataclass(frozen=True)
class Learned:
    """A model for ``-o``, figures (without any, only its file is named), and what to say of it after the file's name
    (None: a line for each figure), and after the time that it took; ``named``: what is said names the file itself."""

    model: Any
    figures: Mapping[str, Any]
    said: str | None = None
    more: str = ""
    named: bool = False


@dataclass(frozen=True)
class Keep:
    """Where unfinished work of a training is kept: beside its output, if there is one."""

    output: str | None = None
    resume: bool = False
    stack: ExitStack = field(default_factory=ExitStack)

    def checkpoint(self, model: Any, *data: Any, **more: Any) -> Any:
        """The checkpoint of a model that learns from some data, open until the model is saved; None without output."""
        if self.output is None:
            return None
        return self.stack.enter_context(model.checkpoint(*data, self.output, self.resume, **more))

    def for_fit(self, model: Any, *data: Any, **known: Any) -> dict[str, Any]:
        """What ``fit`` takes besides data: a checkpoint, or nothing where a model learns in one pass (``RESUMES``)."""
        if not model.RESUMES and self.resume:
            raise SettingError("--resume means nothing with this method, which learns in one pass")
        checkpoint = self.checkpoint(model, *data, **known) if model.RESUMES else None
        return {} if checkpoint is None else {"checkpoint": checkpoint}


# ---- the verb itself


@dataclass(frozen=True)
class Verb:
    """A verb of a task.

    - ``declared``: parameter of the function -> its declaration; ``example``: what to type, a line or several;
    - ``out``: what ``-o`` is: empty: there is none, ``-``: a file, or ``either``: a file or a folder, stdout by
      default, or another form of ``Output``; with a question mark behind it need not be given;
    - ``work``: it shares its work; ``overlap``: the input that the model should not have seen in training;
    - ``check``: complains about values that do not go together before anything is read: settings with their defaults,
      inputs as they were given, and ``output``;
    - ``methods``, ``choose``: of a training: its methods, and what settings say about which is meant;
    - ``settings``: of a verb that learns in one way only: the class ``"module:name"`` of the settings that it takes;
    - ``apply``, ``hides``, ``instead``: of an evaluation, see ``evaluates``;
    - ``json``: whether its command has ``--json``;
    - ``kinds``, ``asked``: of a view, the kinds of models that it asks, and an example of what it is asked with.
    """

    task: str
    name: str
    function: Callable[..., Any]
    example: str
    declared: Mapping[str, Input | Setting]
    out: str = ""
    work: bool = False
    overlap: str = ""
    check: Callable[[Mapping[str, Any]], None] | None = None
    methods: tuple[str, ...] = ()
    choose: Callable[[Mapping[str, str]], str] | None = None
    settings: str = ""
    apply: Callable[[Any, Any], Any] | None = None
    hides: tuple[str, ...] = ()
    instead: str = ""
    json: bool = True
    kinds: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def help(self) -> str:
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
    def own_settings(self) -> Mapping[str, Setting]:
        return find(self.settings).SETTINGS if self.settings else {}

    @property
    def takes(self) -> tuple[str, ...]:
        """The parameters of its function."""
        return tuple(inspect.signature(self.function).parameters)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of what a form asks for: texts and settings, the model apart."""
        asked = {
            name: each for name, each in self.parameters.items()
            if not (each.runtime if isinstance(each, Setting) else each.kinds or each.form)
        }  # fmt: skip
        properties = {name: each.schema() for name, each in asked.items()}
        needed = [name for name, each in asked.items() if each.default is ...]
        about = {"title": f"{self.task} {self.name}", "description": " ".join(self.help.split()), "type": "object"}
        return about | {"properties": properties, "required": needed, "additionalProperties": False}

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.done(self.read(*given, **named))

    def read(self, *given: Any, **named: Any) -> Ready:
        """The arguments of the function: settings are checked first, then the model is read, which knows how its texts
        are read, and the other inputs in their order."""
        values = self.checked(dict(zip(self.takes, given, strict=False)) | named)
        settings = {name: values[name] for name in self.own_settings if values.get(name) is not None}
        shared = [name for name in Parallel.SETTINGS if self.work or name in self.own_settings]
        work = {name: values[name] for name in shared if values.get(name) is not None}
        check_together(Parallel.SETTINGS, work)
        if self.check is not None:
            self.check(dict.fromkeys([*self.parameters, *self.takes, "output"]) | values)
        if self.settings:
            find(self.settings)(**settings)  # complains before anything is read
        names: dict[str, str] = {}
        own = {"work": work, "settings": settings, "names": names, "keep": Keep(), "output": None}
        taken: dict[str, Any] = {}
        model = values.get("model")
        for name in sorted(self.takes, key="model".__ne__):
            declared = self.declared.get(name)
            if isinstance(declared, Input):
                taken[name] = _read(declared, name, values, model, work, names)
                model = taken[name] if name == "model" else model
            else:
                taken[name] = values[name] if name in values else own.get(name)
        if self.apply is not None and taken["found"] is None:
            gold = taken["gold"]
            with _naming(names.get("gold")):
                taken["found"] = self.apply(taken["model"], gold.without(*self.hides) if self.hides else gold)
        return Ready(taken, names)

    def done(self, ready: Ready) -> Any:
        """Call the function with what ``read`` has made; an error without a file is about the text, or the model."""
        inputs = {name: each for name, each in self.declared.items() if isinstance(each, Input)}
        texts = [name for name, each in inputs.items() if not each.kinds and not each.form]
        order = ["found"] * bool(self.instead) + [*texts, "model"]
        with _naming(next((ready.names[name] for name in order if name in ready.names), None)):
            result = self.function(**ready.arguments)
            compared = self.instead and ready.arguments.get("found") is not None
            return self._with_metrics(result, ready.arguments) if compared else result

    def _with_metrics(self, result: Shown, arguments: Mapping[str, Any]) -> Shown:
        """The result of an evaluation, with what metrics of other packages say of the same outputs."""
        of_task = f"{self.task}."
        metrics = {n.removeprefix(of_task): each for n, each in extensions("metrics").items() if n.startswith(of_task)}
        if not metrics:
            return result
        more = {name: metric(arguments["gold"], arguments["found"]) for name, metric in metrics.items()}
        said = [str(result.text()), *(str(each.text()) for each in more.values())]
        return Answer({**result.to_json(), **{name: each.to_json() for name, each in more.items()}}, "\n".join(said))

    def answer(self, given: Mapping[str, Any], model: Any, tagger: Any = None) -> Mapping[str, Any]:
        """What a view says of a model; texts are strings that were typed."""
        typed = {n: Typed(value) if isinstance(self.parameters[n], Input) else value for n, value in given.items()}
        return self(model, **typed, **({"tagger": tagger} if "tagger" in self.takes else {}))

    def checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What was given, with the checked values of all settings; complains about what is wrong before any reading."""
        self._check(values)
        settings = {name: each for name, each in self.parameters.items() if isinstance(each, Setting)}
        found = {n: each.checked(values[n]) if n in values else each.default for n, each in settings.items()}
        return {**values, **found}

    def method_of(self, learner: Any) -> str:
        """The method of a training that a learner is for."""
        ways = {name: TASKS[self.task].methods[name].learner.rpartition(":")[2] for name in self.methods}
        mine = [name for name, learns in ways.items() if learns == type(learner).__name__]
        return mine[0] if len(mine) == 1 else str(learner.method)

    def _check(self, values: Mapping[str, Any]) -> None:
        taken = {*self.parameters, *self.own_settings, *self.takes, *(["output"] if self.out else [])}
        for name in values.keys() - taken:
            raise TypeError(f"{self.task} {self.name} knows no {name}; it takes {', '.join(self.parameters)}")
        given = {name for name, value in values.items() if value is not None}
        if self.instead and ("found" in given) == ("model" in given):
            raise SettingError(f"give {self.instead}, or --model")
        for name, each in self.parameters.items():
            if each.default is ... and name not in values:
                raise TypeError(f"{self.task} {self.name} needs {name}")
            if isinstance(each, Input):
                for other, about in each.options.items():
                    if isinstance(about, Input) and about.belongs and (name in given) != (other in given):
                        raise SettingError(f"{option_of(name)} and {option_of(other)} belong together")
                if name not in given:
                    continue
                for other, why in each.without.items():
                    if other in given:
                        raise SettingError(f"{option_of(name)} means nothing with {option_of(other)}, {why}")
                if each.methods and (method := self.method_of(values["model"])) not in each.methods:
                    known = ", ".join(each.methods)
                    raise SettingError(f"{option_of(name)} means nothing with --method {method}; it is for {known}")


class Ready(NamedTuple):
    """What a verb is about to work on: the arguments of its function, and the files that they were read from."""

    arguments: dict[str, Any]
    names: dict[str, str]


def _read(
    declared: Input, name: str, values: Mapping[str, Any], model: Any, work: Mapping[str, Any], names: dict[str, str]
) -> Any:
    """The value of an input; ``names`` gets the file that it is from."""
    default = None if declared.default is ... else declared.default
    value = values.get(name, default)
    if declared.many and isinstance(value, tuple) and not value:  # nothing was given
        value = default
    if value is None and not declared.only_options:
        return None
    first = value[0] if isinstance(value, tuple) and value and isinstance(value[0], File) else value
    if isinstance(first, str | os.PathLike) and declared.offers != "plain":
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
    """The type of a setting; ``"str | None"`` or ``"tuple[int, ...]"`` where the module postpones annotations."""
    if not isinstance(annotation, str):
        return annotation
    if annotation.startswith("tuple["):
        item: Any = getattr(builtins, annotation[6:].partition(",")[0])
        return tuple[item, ...]
    kinds = [None if each == "None" else getattr(builtins, each) for each in annotation.split(" | ")]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def verb(task: str, example: str, *, name: str = "", **facts: Any) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a verb of a task, of its own name if no other is given; ``facts``: see ``Verb``."""

    def declare(function: Callable[..., Any]) -> Verb:
        declared: dict[str, Input | Setting] = {}
        for each in inspect.signature(function).parameters.values():
            if isinstance(each.default, Setting):  # that of a class has its name and type
                own = each.default
                declared[each.name] = own if own.name else typed(own, each.name, _type_of(each.annotation))
            elif isinstance(each.default, Input):
                declared[each.name] = each.default
        return Verb(task, name or function.__name__.rstrip("_"), function, example, declared, **facts)

    return declare


def trains(task: str, example: str, *, methods: Sequence[str] = (), **facts: Any) -> Callable[..., Verb]:
    """A verb whose function trains a new learner, ``model``, and returns ``Learned``. Its command has ``--method``, the
    settings of all (or the named) methods of the task, ``-o``, and ``--resume`` if the function takes ``keep``."""
    ways = tuple(methods or TASKS[task].methods)
    return verb(task, example, methods=ways, out="model", **facts)


def evaluates(
    task: str, example: str, *, instead: str, apply: Callable[[Any, Any], Any] | None = None, **facts: Any
) -> Callable[..., Verb]:
    """A verb that compares ``found`` with ``gold``: what was given (``instead`` says what that is), or what ``apply``
    makes with ``model`` of gold without the layers that it ``hides``. Without ``apply``, the function does that."""
    return verb(task, example, apply=apply, instead=instead, **{"overlap": "gold"} | facts)


def view(task: str, *, name: str = "", kinds: Sequence[str] = (), **asked: Any) -> Callable[..., Verb]:
    """A view of the models of a task, or of some ``kinds``, whose inputs are optional texts; ``asked``: an example."""

    def declare(function: Callable[..., Any]) -> Verb:
        made = verb(task, "", name=name, kinds=tuple(kinds or TASKS[task].kinds), asked=asked)(function)
        typed_in = {
            each: replace(about, default=Typed(""), help=about.help or "Text, a sentence a line.")
            for each, about in made.declared.items()
            if isinstance(about, Input) and about.default is ...
        }
        return replace(made, declared={**made.declared, **typed_in})

    return declare


def _declared_in(module: str) -> list[Verb]:
    """All verbs of a module, in their order."""
    return [each for each in vars(importlib.import_module(module)).values() if isinstance(each, Verb)]


def verbs_of(task: str) -> dict[str, Verb]:
    """The verbs of a task that have a command, by name."""
    found = [each for each in _declared_in(TASKS[task].verbs) if each.task == task and not each.kinds]
    return {each.name: each for each in found}


@cache
def views() -> Mapping[tuple[str, str], Verb]:
    """The views of all tasks, by task and name."""
    modules = dict.fromkeys(task.verbs for task in TASKS.values() if task.verbs)
    return {(each.task, each.name): each for module in modules for each in _declared_in(module) if each.kinds}


def views_of(kind: str) -> list[Verb]:
    """All that can be asked of a model of some kind."""
    return [each for each in views().values() if kind in each.kinds]
