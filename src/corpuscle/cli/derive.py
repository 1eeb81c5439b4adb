"""Commands made from verbs: an ``Input`` becomes an argument or an option, a ``Setting`` an option, the docstring the
help, what the verb returns the output.

What a verb returns is shown by what it is: a model (``Learned``) is saved to ``-o`` and its figures are shown; a table,
a picture (``Writable``) or annotated text is written to ``-o`` or to stdout; everything else says itself (``Shown``),
to ``-o`` where the verb has it. A verb that has a setting ``json`` writes JSON itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from corpuscle.catalogue import TASKS, find
from corpuscle.cli.command import (
    CONTEXT,
    Command,
    Figures,
    SettingOption,
    last_options,
    learner_of,
    method_options,
    run_shown,
)
from corpuscle.cli.outputs import Output
from corpuscle.progress import clock
from corpuscle.settings import Setting, option_of
from corpuscle.text.wording import seconds
from corpuscle.verbs import File, Input, Keep, Learned, Lines, Ready, Verb, Writable, verbs_of

_WRITERS = {
    "Treebank": "corpuscle.text:write_conllu",
    "Corpus": "corpuscle.text:write_text",
    "Trees": "corpuscle.text:write_brackets",
    "Bitext": "corpuscle.text:write_bitext",
    "Alignments": "corpuscle.text.alignments:write_pharaoh",
    "Normalised": "corpuscle.normalise.verbs:write_messages",
}
"""How what is neither figures nor a table is written: class -> function of it and a path."""


def group_of(task: str) -> click.Group:
    commands = [command_of(each) for each in verbs_of(task).values()]
    return click.Group(task, commands, help=TASKS[task].help, no_args_is_help=True, context_settings=CONTEXT)


def command_of(verb: Verb) -> Command:
    methods = {each: TASKS[verb.task].methods[each] for each in verb.methods}
    params = [_param(name, each) for name, each in verb.parameters.items() if name != "model" or not verb.methods]
    arguments = [each for each in params if isinstance(each, click.Argument)]
    options = [each for each in params if not isinstance(each, click.Argument)]
    sections: list[Any] = []
    if "keep" in verb.takes:
        help = "Go on from the .partial file of an interrupted run."
        options.append(click.Option(["--resume"], is_flag=True, help=help))
    options += [SettingOption(each, {}) for each in verb.own_settings.values()]
    if methods:
        of_methods, sections = method_options(methods)
        options += of_methods

    @click.pass_context
    def callback(context: click.Context, /, **given: Any) -> None:
        facts = {}
        if methods:
            facts["method"], given["model"] = learner_of(context, methods, given, verb.choose)
        own = {name: given.pop(name) for name in ("quiet", "max_bytes", "as_json") if name in given}
        for param in verb.parameters.values():
            if isinstance(param, Setting):
                given[param.name] = _value(param, given[param.name])
        for name, declared in verb.own_settings.items():
            given[name] = None if given[name] is None else _value(declared, given[name])
        run_shown(partial(_run, verb, facts, given), **own)

    made = Command(
        verb.name.replace("_", "-"),
        params=[*arguments, *_output(verb.out), *options, *last_options(verb.json and "json" not in verb.parameters)],
        callback=callback,
        help=verb.help,
        context_settings=CONTEXT,
    )
    made.sections, made.example = sections, verb.example
    return made


# ---- parameters


def _param(name: str, declared: Input | Setting) -> click.Parameter:
    if isinstance(declared, Setting):
        return SettingOption(declared, {})
    flags, needed = [option_of(name), name], declared.default is ...
    if declared.form:
        flags = ["-o", "--output", name] if name == "output" else flags
        default = {} if needed or declared.default is None else {"default": declared.default}
        facts = {"metavar": declared.metavar or "FILE", "help": declared.help, "show_default": False, **default}
        return Output(flags, form=declared.form, **facts)

    def offers(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if isinstance(declared.offers, str):
            return [] if declared.offers == "plain" else [CompletionItem(incomplete, type=declared.offers)]
        return [CompletionItem(word) for word in declared.offers if word.startswith(incomplete)]

    if declared.option:
        metavar = declared.metavar or "FILE"
        several: dict[str, Any] = {"multiple": True} if declared.many else {"nargs": len(metavar.split()), "type": str}
        return click.Option(
            flags, metavar=metavar, help=declared.help, required=needed, shell_complete=offers, **several
        )
    metavar = (declared.metavar or name.upper()) + ("..." if declared.many else "")
    facts = {"nargs": -1} if declared.many else {} if needed else {"default": declared.default}
    shown = metavar if needed else f"[{metavar}]"
    return click.Argument([name], metavar=shown, required=needed, shell_complete=offers, **facts)


def _output(out: str) -> list[click.Option]:
    """``-o``, see ``Verb.out``."""
    if not out:
        return []
    form = out.removesuffix("?")
    facts: dict[str, Any] = {"default": "-"} if out in ("-", "either") else {"required": form == out}
    facts |= {} if out == "-" else {"form": form}
    help = "Where to write the model." if form == "model" else "Where to write; - is stdout."
    return [Output(["-o", "--output", "output"], metavar="FILE", help=help, show_default=False, **facts)]


def _value(declared: Setting, given: Any) -> Any:
    return declared.default if given in (None, ()) else SettingOption(declared, {}).value(given, declared)


def _file(declared: Any, value: Any) -> Any:
    if not isinstance(declared, Input) or declared.form or declared.offers not in ("file", "dir"):
        return value
    if isinstance(value, tuple):
        return tuple(map(File, value))
    return File(value) if isinstance(value, str) else value


# ---- running


def _run(verb: Verb, facts: Mapping[str, Any], given: dict[str, Any]) -> Figures:
    """Do what a verb does, and say what came of it; ``facts``: figures that come first."""
    begin, output = clock(), given.pop("output", None) if verb.out else None
    again = given.pop("resume", False)
    values = {name: _file(verb.parameters.get(name), value) for name, value in given.items()}
    with ExitStack() as stack:
        own = {"keep": Keep(output, again, stack), "output": output}
        taken = {*verb.takes, *(["output"] if verb.out else [])} - verb.parameters.keys()
        own = {name: value for name, value in own.items() if name in taken}
        ready = verb.read(**values, **own)
        shares = _overlap(verb, ready)
        result = verb.done(ready)
        if isinstance(result, Learned):
            result.model.save(output)
    if isinstance(result, Learned):
        return _learned(result, facts, str(output), clock() - begin if verb.methods or verb.settings else None)
    if result is None or isinstance(result, Writable) or type(result).__name__ in _WRITERS:
        figures: Mapping[str, Any] = {}
        if isinstance(result, Writable):
            result.write(output or "-")
            figures = getattr(result, "figures", {})
        elif result is not None:
            find(_WRITERS[type(result).__name__])(result, output or "-")
        return Figures(figures, "", lists=not figures)
    said = result.text()
    if verb.out == "-" and output != "-" and "output" not in verb.takes:  # what it says to people is what it writes
        Lines.of([str(said)]).write(str(output))
        said = ""
    return Figures({**result.to_json(), **shares}, said, code=getattr(result, "code", 0))


def _overlap(verb: Verb, ready: Ready) -> dict[str, float]:
    """How much of a text its model has seen; a warning if that is more than a little."""
    if not verb.overlap or ready.arguments["model"] is None:
        return {}
    from corpuscle.text.heldout import overlap_shares

    model, data = ready.arguments["model"], ready.arguments[verb.overlap]
    return overlap_shares(model, getattr(data, "corpus", data), ready.names.get("model", "the model"))


def _learned(result: Learned, facts: Mapping[str, Any], output: str, took: float | None) -> Figures:
    """The figures of a model that was saved; ``took``: how long it learned."""
    figures = {**facts, **result.figures} | ({} if took is None else {"seconds": took})
    if not figures:
        return Figures({}, "", lists=True)
    if result.named:
        return Figures(figures, result.said)
    if result.said is None:
        return Figures({**figures, "model": output})
    time = "" if took is None else f", {seconds(took)}"
    return Figures(figures, f"{output}: {result.said}{time}{result.more}")
