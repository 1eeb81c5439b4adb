"""Commands made from verbs: an ``Input`` becomes an argument or an option, a ``Setting`` an option, the docstring the
help, what the verb returns the output.

What a verb returns is shown by what it is: a model (``Learned``) is saved to ``-o`` and its figures are shown; a table,
a picture or annotated text is written to ``-o`` or to stdout; everything else says itself (``Shown``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from corpuscle.catalogue import TASKS, find
from corpuscle.cli.command import (
    CONTEXT,
    Command,
    Figures,
    SettingOption,
    completing,
    last_options,
    learner_of,
    method_options,
    resume,
    run_shown,
    task_group,
)
from corpuscle.cli.outputs import Output
from corpuscle.progress import clock
from corpuscle.settings import Setting, option_of
from corpuscle.text.wording import seconds
from corpuscle.verbs import File, Input, Keep, Learned, Picture, Ready, Table, Verb, verbs_of

__all__ = ["command_of", "group_of"]

_WRITERS = {
    "Treebank": "corpuscle.text:write_conllu",
    "Corpus": "corpuscle.text:write_text",
    "Trees": "corpuscle.text:write_brackets",
    "Bitext": "corpuscle.text:write_bitext",
}
"""How what is neither figures nor a table is written: class -> function of it and a path."""


def group_of(task: str) -> click.Group:
    """The commands of a task: those of its verbs, or, where it has none yet, of its module."""
    if not TASKS[task].verbs:
        return find(f"{TASKS[task].commands}:group")
    group = task_group(task)
    for each in verbs_of(task).values():
        group.add_command(command_of(each))
    return group


def command_of(verb: Verb) -> Command:
    """The command of a verb."""
    methods = {each: TASKS[verb.task].methods[each] for each in verb.methods}
    params = [_param(name, each) for name, each in verb.parameters.items() if name != "model" or not verb.methods]
    arguments = [each for each in params if isinstance(each, click.Argument)]
    options = [each for each in params if not isinstance(each, click.Argument)]
    sections: list[Any] = []
    if methods:
        if "keep" in verb.takes:
            options += resume(lambda: None).__click_params__
        of_methods, sections = method_options(methods)
        options += of_methods

    @click.pass_context
    def callback(context: click.Context, /, **given: Any) -> None:
        facts = {}
        if methods:
            facts["method"], given["model"] = learner_of(context, methods, given, verb.choose)
        own = {name: given.pop(name) for name in ("quiet", "max_bytes", "as_json")}
        for param in verb.parameters.values():
            if isinstance(param, Setting):
                given[param.name] = _value(param, given[param.name])
        run_shown(partial(_run, verb, facts, given), **own)

    made = Command(
        verb.name.replace("_", "-"),
        params=[*arguments, *_output(verb.out), *options, *last_options()],
        callback=callback,
        help=verb.help,
        context_settings=CONTEXT,
    )
    made.sections = sections
    return made


# ---- parameters


def _param(name: str, declared: Input | Setting) -> click.Parameter:
    if isinstance(declared, Setting):
        return SettingOption(declared, {})
    flags, needed = [option_of(name), name], declared.default is ...
    if declared.form:
        return Output(flags, form=declared.form, metavar=declared.metavar or "FILE", help=declared.help)
    offers = completing(declared.offers)
    if declared.option:
        metavar = declared.metavar or "FILE"
        return click.Option(flags, metavar=metavar, help=declared.help, required=needed, shell_complete=offers)
    metavar = (declared.metavar or name.upper()) + ("..." if declared.many else "")
    facts: dict[str, Any] = {"nargs": -1} if declared.many else {} if needed else {"default": declared.default}
    shown = metavar if needed else f"[{metavar}]"
    return click.Argument([name], metavar=shown, required=needed, shell_complete=offers, **facts)


def _output(out: str) -> list[click.Option]:
    """``-o``, see ``Verb.out``."""
    if not out:
        return []
    facts: dict[str, Any] = {"default": "-"} if out == "-" else {"form": out, "required": True}
    help = "Where to write the model." if out == "model" else "Where to write; - is stdout."
    return [Output(["-o", "--output", "output"], metavar="FILE", help=help, show_default=False, **facts)]


def _value(declared: Setting, given: Any) -> Any:
    """The value of a setting as the user gave it."""
    return declared.default if given is None else SettingOption(declared, {}).value(given, declared)


def _file(declared: Any, value: Any) -> Any:
    """What the user gave for an input: one file or several."""
    if not isinstance(declared, Input) or declared.offers == "plain":
        return value
    if declared.many:
        return tuple(map(File, value))
    return File(value) if isinstance(value, str) else value


# ---- running


def _run(verb: Verb, facts: Mapping[str, Any], given: dict[str, Any]) -> Figures:
    """Do what a verb does, and say what came of it; ``facts``: figures that come first."""
    begin, output, again = clock(), given.pop("output", None), given.pop("resume", False)
    values = {name: _file(verb.parameters.get(name), value) for name, value in given.items()}
    with ExitStack() as stack:
        own = {"keep": Keep(output, again, stack), "output": output}
        ready = verb.read(**values, **{name: value for name, value in own.items() if name in verb.takes})
        shares = _overlap(verb, ready)
        result = verb.done(ready)
        if isinstance(result, Learned):
            result.model.save(output)
    if isinstance(result, Learned):
        return _learned(result, facts, str(output), clock() - begin if verb.methods else None)
    if result is None or isinstance(result, Table | Picture) or type(result).__name__ in _WRITERS:
        if isinstance(result, Table | Picture):
            result.write(output or "-")
        elif result is not None:
            find(_WRITERS[type(result).__name__])(result, output or "-")
        return Figures({}, "", lists=True)
    return Figures({**result.to_json(), **shares}, result.text())


def _overlap(verb: Verb, ready: Ready) -> dict[str, float]:
    """How much of a text its model has seen; a warning if that is more than a little."""
    if not verb.overlap or ready.arguments["model"] is None:
        return {}
    from corpuscle.text.overlap import overlap_shares

    model, data = ready.arguments["model"], ready.arguments[verb.overlap]
    return overlap_shares(model, getattr(data, "corpus", data), ready.names.get("model", "the model"))


def _learned(result: Learned, facts: Mapping[str, Any], output: str, took: float | None) -> Figures:
    """The figures of a model that was saved; ``took``: how long it learned."""
    figures = {**facts, **result.figures} | ({} if took is None else {"seconds": took})
    if result.said is None:
        return Figures({**figures, "model": output})
    time = "" if took is None else f", {seconds(took)}"
    return Figures(figures, f"{output}: {result.said}{time}{result.more}")
