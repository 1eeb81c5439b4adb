"""How a command is made: the options that mean the same everywhere, and those that follow from the settings of a class.

    group = task_group("lm")

    @command(group, work=True)
    @argument("text")
    def perplexity(model: str, text: str) -> Figures: ...

    @trainer(group)
    @argument("text", many=True)
    def train(model: LanguageModel, text: tuple[str, ...], output: str) -> Figures: ...

A command returns its figures, which are shown as text or as one JSON object; ``--json`` and ``--quiet`` are nobody
else's business. ``trainer`` adds ``--method`` and the settings of all methods of the task from the catalogue, and hands
the command a new learner of the chosen method with the settings that were given. Nothing here imports NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from corpuscle import progress
from corpuscle.atomic import noting
from corpuscle.catalogue import TASKS, Method, find
from corpuscle.cli.outputs import Output, check_outputs, say_written, written_by
from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Setting, option_of, size_of
from corpuscle.text.files import accept
from corpuscle.text.values import plain
from corpuscle.text.wording import count, number, seconds

__all__ = [
    "CONTEXT", "COUNT", "Command", "Figures", "SettingOption", "annotation", "argument", "command", "completing",
    "given_of", "last_options", "learner_of", "method_options", "option", "output", "plain", "raw", "resume",
    "run_shown", "task_group", "trainer", "work_of", "written",
]  # fmt: skip

Function = Callable[..., Any]

COUNT = click.IntRange(1, 10**9)
"""The type of an option that says how many: bounded, since what is greater does not fit the integers of a kernel."""


class Figures(NamedTuple):
    """What a command has to say: plain data for ``--json``, and the text for people (default: ``name: value`` lines;
    empty: nothing); ``code``: the exit code; ``lists``: its data are the rows of its table, or what it wrote."""

    values: Mapping[str, Any]
    text: str | None = None
    code: int = 0
    lists: bool = False


def _told(name: str, value: Any) -> str:
    """A value for people."""
    value = plain(value)
    if isinstance(value, list):
        return ", ".join(_told(name, each) for each in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return seconds(value) if name == "seconds" else count(value) if isinstance(value, int) else number(value)


def _show(figures: Figures, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(figures.values), ensure_ascii=False, allow_nan=False))
    elif figures.text:
        print(figures.text)
    elif figures.text is None:
        for name, value in figures.values.items():
            print(f"{name.replace('_', ' ')}: {_told(name, value)}")


# ---- parameters

_FILES = {
    "CONLLU", "FILE", "GOLD", "ITEMS", "LINKS", "MODEL", "NAMES", "PAIRS", "SRC", "SRC TGT", "TEXT", "TGT", "TREES",
    "TSV",
}  # fmt: skip
"""The values of options that name files."""
_WORDS = {"a", "b", "c", "context", "name", "sentence", "word", "words"}
"""Arguments that name no file."""
_FOLDERS = {"folder", "kit", "pack"}


def completing(kind: str, words: Iterable[str] = ()) -> Function:
    """What the shell offers: those of the words that begin so, or files (``file``) or folders (``dir``)."""

    def complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if kind != "plain":
            return [CompletionItem(incomplete, type=kind)]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


def argument(name: str, *, many: bool = False, required: bool = True, default: str | None = None) -> Function:
    """A positional argument: a file, or several."""
    metavar, required = name.upper() + ("..." if many else ""), required and default is None
    facts: dict[str, Any] = {"nargs": -1} if many else {} if required else {"default": default}
    words = [each for each, task in TASKS.items() if task.kernels] if name == "task" else ()
    kind = "dir" if name in _FOLDERS else "plain" if name in _WORDS or name == "task" else "file"
    facts["shell_complete"] = completing(kind, words)
    return click.argument(name, metavar=metavar if required else f"[{metavar}]", required=required, **facts)


def option(name: str, help: str, *flags: str, words: Iterable[str] = (), **facts: Any) -> Function:
    """An option of one command; ``name`` is that of the parameter; ``words``: the values that the shell offers, where
    its metavar is neither them, as in ``a|b``, nor a kind of file."""
    facts.setdefault("show_default", facts.get("default") not in (None, False) and not facts.get("required"))
    metavar = facts.get("metavar") or ""
    if words or "|" in metavar:
        facts["shell_complete"] = completing("plain", words or metavar.split("|"))
    elif metavar in _FILES:
        facts["shell_complete"] = completing("file")
    return click.option(*(flags or (option_of(name),)), name, help=help, **facts)


def written(name: str, help: str, *flags: str, form: str = "file", metavar: str = "FILE", **facts: Any) -> Function:
    """An option that names what a command writes (``form``: see ``Output``)."""
    return option(name, help, *flags, cls=Output, form=form, metavar=metavar, show_default=False, **facts)


def output(default: str | None = None, help: str = "Where to write; - is stdout.", **facts: Any) -> Function:
    """``-o``: the output of a command, a model unless there is a default or another ``form``."""
    if default is None:
        facts = {"form": "model", "required": True} | facts
        help = help if facts["form"] != "model" else "Where to write the model."
    else:
        facts["default"] = default  # None would be one, too, and nothing would be missing
    return written("output", help, "-o", "--output", **facts)


resume = option("resume", "Go on from the .partial file of an interrupted run.", is_flag=True)
raw = option("raw", "The input is running text: split it into sentences and tokens.", is_flag=True)


def annotation(function: Function) -> Function:
    """``--tagger`` and ``--parser``: what makes a treebank of a text."""
    function = option("parser", "Parse the text with this model first.", metavar="FILE")(function)
    return option("tagger", "Tag the text with this model first.", metavar="FILE")(function)


def _switch(name: str, help: str, *flags: str) -> click.Option:
    return click.Option([*flags, name], is_flag=True, help=help)


def _declared(declared: Setting) -> click.Option:
    """An option for a setting that is not of a learner."""
    return SettingOption(declared, {})


class SettingOption(click.Option):
    """The option of a setting; ``declared``: method -> its declaration, where methods have different ones."""

    def __init__(self, setting: Setting, declared: Mapping[str, Setting]):
        self.setting, self.declared = setting, declared
        flag = setting.option
        facts: dict[str, Any] = {"help": setting.help, "default": None}
        if setting.type is bool:
            switchable = any(each.default is not False for each in (setting, *declared.values()))
            off = f"/{option_of('no_' + setting.name)}" if switchable else ""
            super().__init__([flag + off, setting.name], is_flag=True, **facts)
        else:
            super().__init__([flag, setting.name], metavar=setting.value_text(), **facts)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The choices and words that begin like this."""
        records = self.declared.values() or [self.setting]
        words = dict.fromkeys(str(word) for record in records for word in (*record.choices, *record.words))
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    def value(self, given: Any, setting: Setting) -> Any:
        """What the user gave, as a value of the setting."""
        named = replace(setting, name=setting.option)  # complaints speak of the option
        return named.checked(given if setting.type is bool else named.parsed(given))


def _row(setting: Setting) -> tuple[str, str]:
    """A line of help about a setting."""
    name = setting.option
    if setting.type is bool and setting.default is not False:
        name += f"/{option_of('no_' + setting.name)}"
    default = setting.default_text()
    return f"{name} {setting.value_text()}".rstrip(), setting.help + (f"  [default: {default}]" if default else "")


# ---- commands


class Command(click.Command):
    """A command whose help has sections, and whose settings are checked before anything heavy is imported."""

    sections: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options: of the command and of all its methods first, then those of some methods under their names."""
        hidden = {param.name for param in self.get_params(ctx) if getattr(param, "declared", None)}
        rows = [
            _row(param.setting) if isinstance(param, SettingOption) else param.get_help_record(ctx)
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and param.name not in hidden
        ]
        for title, section in (("Options", [row for row in rows if row]), *self.sections):
            if section:
                with formatter.section(title):
                    formatter.write_dl(list(section))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, each on a line of its own that can be copied."""
        from corpuscle.cli.examples import examples

        with formatter.section("Examples"):
            for typed, purpose in examples(ctx.command_path.removeprefix("corpuscle ")):
                formatter.write(f"{'':{formatter.current_indent}}{typed}{f'  # {purpose}' if purpose else ''}\n")


def task_group(name: str) -> click.Group:
    """The group of commands of a task."""
    return click.Group(name, help=TASKS[name].help, no_args_is_help=True, context_settings=CONTEXT)


CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_QUIET = ("quiet", "Results only: no progress, no messages.", "-q", "--quiet")
_MOST = click.Option(
    ["--max-bytes", "max_bytes"],
    metavar="SIZE",
    callback=lambda _, __, text: None if text is None else size_of(text),
    help="Accept lines and unpacked archives of up to this size (such as 500M or 2G).",
)
_JSON = ("as_json", "Print one JSON object as the last line.", "--json")


def last_options(as_json: bool = True) -> list[click.Option]:
    """The options that end the help of every command."""
    return [*([_switch(*_JSON)] if as_json else []), _MOST, _switch(*_QUIET)]


def run_shown(function: Function, /, *, lists: bool | None = None, **parameters: Any) -> None:
    """Check the outputs of a command, call it, show what it returns and name what it wrote; ``lists``: with ``--json``
    it shows the rows of its table, or what it wrote (None: its figures say whether)."""
    context = click.get_current_context()
    check_outputs(context.command.params, context.params)
    progress.quiet(parameters.pop("quiet"))
    accept(parameters.pop("max_bytes"))
    as_json = parameters.pop("as_json", False)
    captured: AbstractContextManager[list[Any]] = nullcontext([])
    if as_json and lists is not False:
        from corpuscle.text.tables import capturing

        captured = capturing()
    with noting() as notes, captured as tables:
        result: Figures = function(**parameters) or Figures({}, "")
    written = written_by(context.command.params, context.params, notes)
    if lists or result.lists:
        rows = {"rows": [row for table in tables for row in table]} if tables else {}
        result = result._replace(values={**result.values, **rows, "written": [asdict(each) for each in written]})
    _show(result, as_json)
    say_written(written, result.text or "")
    if result.code:
        context.exit(result.code)


def work_of(context: click.Context | None = None) -> dict[str, Any]:
    """``workers`` and ``cluster`` as the user gave them to the running command, for what is not a learner."""
    context = context or click.get_current_context()
    return {name: value for name, value in context.meta.get("corpuscle.work", {}).items() if value is not None}


def given_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings of the running command that the user gave."""
    context = click.get_current_context()
    commandline = click.core.ParameterSource.COMMANDLINE
    return {name: value for name, value in settings.items() if context.get_parameter_source(name) is commandline}


def _take_shared(context: click.Context, parameters: dict[str, Any]) -> None:
    """Check the values of shared settings, and keep those of the work with the context."""
    for param in context.command.params:
        if isinstance(param, SettingOption) and not param.declared and param.name in parameters:
            given = parameters[param.name]
            parameters[param.name] = param.setting.default if given is None else param.value(given, param.setting)
    work = {name: parameters.pop(name) for name in Parallel.SETTINGS if name in parameters}
    Parallel(**work)  # complains about workers together with a cluster
    context.meta["corpuscle.work"] = work


def _make(
    group: click.Group,
    name: str,
    function: Function,
    callback: Function,
    settings: Iterable[click.Option],
    as_json: bool,
) -> Command:
    params = list(reversed(getattr(function, "__click_params__", [])))
    params += [*settings, *last_options(as_json)]
    made = Command(name, params=params, callback=callback, help=function.__doc__, context_settings=CONTEXT)
    group.add_command(made)
    return made


def command(
    group: click.Group,
    name: str = "",
    *,
    settings: Iterable[Setting] = (),
    work: bool = False,
    seed: bool = False,
    figures: bool = True,
    as_json: bool = True,
) -> Function:
    """Make a function a command: ``settings``: it takes these of a learner; ``work``: it shares its work
    (``--workers``, ``--cluster``); ``seed``: it makes random choices; ``figures``: it returns figures, otherwise those
    of ``--json`` are the rows that it lists, or what it writes; ``as_json``: there is ``--json``."""

    def decorate(function: Function) -> Function:
        shared = [*settings, *(Seeded.SETTINGS.values() if seed else ()), *(Parallel.SETTINGS.values() if work else ())]

        @click.pass_context
        def callback(context: click.Context, /, **parameters: Any) -> None:
            _take_shared(context, parameters)
            run_shown(function, lists=not figures, **parameters)

        label = name or function.__name__.rstrip("_").replace("_", "-")
        _make(group, label, function, callback, map(_declared, shared), as_json)
        return function

    return decorate


# ---- training


def trainer(
    group: click.Group,
    choose: Callable[[Mapping[str, str]], str] | None = None,
    *,
    name: str = "train",
    only: Sequence[str] = (),
) -> Function:
    """Make a function the ``train`` command of a task: it gets a new learner (``model``) and its own parameters.

    ``choose``: given settings (as texts) -> the method, where ``--method`` is not given and they decide it; ``name``,
    ``only``: of the command, and its methods, where a task learns in several ways from different things.
    """
    methods = {each: TASKS[group.name or ""].methods[each] for each in only or TASKS[group.name or ""].methods}

    def decorate(function: Function) -> Function:
        options, sections = method_options(methods)

        @click.pass_context
        def callback(context: click.Context, /, **parameters: Any) -> None:
            method, learner = learner_of(context, methods, parameters, choose)
            run_shown(partial(_train, function, method, learner), lists=False, **parameters)

        made = _make(group, name, function, callback, options, True)
        made.sections = sections
        return function

    return decorate


def _train(function: Function, method: str, learner: Any, /, **parameters: Any) -> Figures:
    """The figures of a training, the method first."""
    figures = function(learner, **parameters)
    return figures._replace(values={"method": method, **figures.values})


def method_options(methods: Mapping[str, Method]) -> tuple[list[click.Option], list[tuple[str, list[tuple[str, str]]]]]:
    """``--method``, an option for each setting of the methods, and the sections of help with those settings that not
    all methods share."""
    declared: dict[str, dict[str, Setting]] = {}
    for method, each in methods.items():
        for name, setting in find(each.settings).SETTINGS.items():
            if name != "method":
                declared.setdefault(name, {})[method] = setting
    options: list[click.Option] = [
        click.Option(
            ["--method", "method"],
            type=click.Choice(list(methods)),
            help="How to learn; " + "; ".join(f"{name}: {each.help}" for name, each in methods.items()) + ".",
            metavar="|".join(methods),
            default=next(iter(methods)),
            show_default=True,
        )
    ]
    sections: dict[str, list[tuple[str, str]]] = {}
    for by_method in declared.values():
        setting = next(iter(by_method.values()))
        common = len(by_method) == len(methods) and len(set(by_method.values())) == 1
        options.append(SettingOption(setting, {} if common else by_method))
        if not common:
            for record in dict.fromkeys(by_method.values()):
                names = ", ".join(method for method, other in by_method.items() if other == record)
                sections.setdefault(f"Only with --method {names}", []).append(_row(record))
    return options, list(sections.items())


def learner_of(
    context: click.Context,
    methods: Mapping[str, Method],
    parameters: dict[str, Any],
    choose: Callable[[Mapping[str, str]], str] | None = None,
) -> tuple[str, Any]:
    """The method of a training and a new learner with the settings that were given, which are taken out of the
    parameters; ``choose``: see ``trainer``."""
    names = {name for each in methods.values() for name in find(each.settings).SETTINGS}
    method, source = parameters.pop("method"), click.core.ParameterSource
    given = {}
    for option in context.command.params:
        if isinstance(option, SettingOption) and option.name in names and option.name in parameters:
            value = parameters.pop(option.name)
            if context.get_parameter_source(option.name) is source.COMMANDLINE:
                given[option.name] = option, value
    if choose is not None and context.get_parameter_source("method") is source.DEFAULT:
        method = choose({name: value for name, (_, value) in given.items()}) or method
    return method, _learner(methods, method, given)


def _learner(methods: Mapping[str, Method], method: str, given: Mapping[str, tuple[SettingOption, Any]]) -> Any:
    """A new learner of a method with the settings that were given."""
    light = find(methods[method].settings)
    values = {"method": method} if "method" in light.SETTINGS else {}
    for name, (option, text) in given.items():
        if name not in light.SETTINGS:
            known = ", ".join(option.declared)
            raise SettingError(f"{option_of(name)} means nothing with --method {method}; it is for {known}")
        values[name] = option.value(text, light.SETTINGS[name])
    light(**values)  # complains before anything heavy is imported
    return find(methods[method].learner)(**values)
