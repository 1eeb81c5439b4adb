"""What a command is made of: options that follow from settings, those that mean the same everywhere, help in sections,
and how what comes of it is shown.

A command returns its figures, which are shown as text or as one JSON object; ``--json`` and ``--quiet`` are nobody
else's business. Nothing here imports NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from corpuscle import progress
from corpuscle.atomic import noting
from corpuscle.catalogue import Method, find
from corpuscle.cli.outputs import check_outputs, say_written, written_by
from corpuscle.errors import SettingError
from corpuscle.settings import Setting, option_of, size_of
from corpuscle.text.files import accept
from corpuscle.text.tables import plain
from corpuscle.text.wording import count, number, seconds


class Figures(NamedTuple):
    """The result of a command: plain data for ``--json``, a text for people (None: ``name: value`` lines), the exit
    code, and whether its data are the rows of its table, or what it wrote (``lists``)."""

    values: Mapping[str, Any]
    text: str | None = None
    code: int = 0
    lists: bool = False


def _told(name: str, value: Any) -> str:
    value = plain(value)
    if isinstance(value, list):
        return ", ".join(_told(name, each) for each in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return seconds(value) if name == "seconds" else count(value) if isinstance(value, int) else number(value)


# ---- parameters


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
            if setting.required:
                facts = {"help": setting.help, "required": True}  # a default of None would be one, too
            super().__init__([flag, setting.name], metavar=setting.value_text(), multiple=setting.repeated, **facts)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        records = self.declared.values() or [self.setting]
        words = dict.fromkeys(str(word) for record in records for word in (*record.choices, *record.words))
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    def value(self, given: Any, setting: Setting) -> Any:
        """What the user gave, as a value of the setting."""
        named = replace(setting, name=setting.option)  # complaints speak of the option
        if setting.repeated:
            return named.checked(value for text in given for value in named.parsed(text))
        return named.checked(given if setting.type is bool else named.parsed(given))


def _row(setting: Setting) -> tuple[str, str]:
    name = setting.option
    if setting.type is bool and setting.default is not False:
        name += f"/{option_of('no_' + setting.name)}"
    default = setting.default_text()
    more = "  [required]" if setting.required else f"  [default: {default}]" if default else ""
    return f"{name} {setting.value_text()}".rstrip(), setting.help + more


# ---- commands


def examples(lines: str, path: str) -> list[tuple[str, str]]:
    """The examples of a command, such as ``lm train``: what to type, and what it is for (after ``#``)."""
    found = []
    for line in lines.strip().splitlines():
        typed, _, purpose = line.partition("  # ")
        piped = "| corpuscle " in typed
        if (typed.partition("| corpuscle ")[2] if piped else typed).startswith(path + " "):
            found.append((typed if piped else f"corpuscle {typed}", purpose))
    return found


class Command(click.Command):
    """A command whose help has sections, and whose settings are checked before anything heavy is imported."""

    sections: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    example: str = ""

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
        with formatter.section("Examples"):
            for typed, purpose in examples(self.example, ctx.command_path.removeprefix("corpuscle ")):
                formatter.write(f"{'':{formatter.current_indent}}{typed}{f'  # {purpose}' if purpose else ''}\n")


CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_MOST = click.Option(
    ["--max-bytes", "max_bytes"],
    metavar="SIZE",
    callback=lambda _, __, text: None if text is None else size_of(text),
    help="Accept lines and unpacked archives of up to this size (such as 500M or 2G).",
)
_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object as the last line.")
_QUIET = click.Option(["-q", "--quiet", "quiet"], is_flag=True, help="Results only: no progress, no messages.")


def last_options(as_json: bool) -> list[click.Option]:
    return [_JSON, _MOST, _QUIET] if as_json else [_MOST, _QUIET]


def run_shown(function: Callable[..., Figures], /, **parameters: Any) -> None:
    """Check the outputs of a command, call it, show what it returns and name what it wrote."""
    context = click.get_current_context()
    check_outputs(context.command.params, context.params)
    progress.quiet(parameters.pop("quiet"))
    accept(parameters.pop("max_bytes"))
    as_json = parameters.pop("as_json", False)
    captured: AbstractContextManager[list[Any]] = nullcontext([])
    if as_json:
        from corpuscle.text.tables import capturing

        captured = capturing()
    with noting() as notes, captured as tables:
        result = function(**parameters)
    written = written_by(context.command.params, context.params, notes)
    if result.lists:
        rows = {"rows": [row for table in tables for row in table]} if tables else {}
        result = result._replace(values={**result.values, **rows, "written": [asdict(each) for each in written]})
    if as_json:
        print(json.dumps(plain(result.values), ensure_ascii=False, allow_nan=False))
    elif result.text:
        print(result.text)
    elif result.text is None:
        for name, value in result.values.items():
            print(f"{name.replace('_', ' ')}: {_told(name, value)}")
    say_written(written, result.text or "")
    if result.code:
        context.exit(result.code)


# ---- training


def method_options(methods: Mapping[str, Method]) -> tuple[list[click.Option], list[tuple[str, list[tuple[str, str]]]]]:
    """``--method``, an option for each setting, and sections of help for settings that not all methods share."""
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
    """The method of a training and a new learner with the settings that were given, which leave the parameters;
    ``choose``: see ``Verb``."""
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
