"""How commands are made: from the settings of their methods, with the same options everywhere, at no cost."""

import inspect
import json
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from corpuscle.catalogue import COMMANDS, TASKS, find
from corpuscle.cli import command as making
from corpuscle.cli.derive import command_of, group_of
from corpuscle.cli.main import _root
from corpuscle.errors import SettingError
from corpuscle.model import read_header
from corpuscle.verbs import verbs_of

TRAINED = [name for name, task in TASKS.items() if task.methods]


def commands(name):
    """All commands of a task (``TASK ACTION``), or the one command of that name."""
    if name in COMMANDS:
        return {(name,): command_of(find(COMMANDS[name].verb))}
    group = group_of(name)
    return {(name, action): each for action, each in group.commands.items()}


# ---- options that follow from settings


def test_help_shows_what_all_methods_share_and_then_what_some_have(run):
    code, out, _ = run("toy", "train", "--help")
    assert code == 0
    shared, plain, fancy = out.index("Options:"), out.index("Only with --method plain:"), out.index("--method fancy:")
    assert shared < out.index("--rate X") < plain < fancy and shared < out.index("--seed N") < plain
    assert "How many words.  [default: 3]" in out[plain:fancy] and "[default: 5]" in out[fancy:]
    for option in "--shape round|square", "--cuts N,...", "--polish/--no-polish", "--strict", "--order N|auto":
        assert out.count(option) == 1 and out.index(option) > fancy, option
    assert out.count("--rate") == 1 and out.count("--order") == 2 and "--no-strict" not in out
    assert "plain: nothing special" in " ".join(out.split()) and "[default: plain]" in " ".join(out.split())


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--shape", "round"], "--shape means nothing with --method plain; it is for fancy"),
        (["--order", "auto"], "--order is a whole number from 1 to 9; not 'auto'"),
        (["--order", "10"], "--order is a whole number from 1 to 9; not 10"),
        (["--rate", "1"], "--rate is a number between 0.0 and 1.0; not 1.0"),
        (["--rate", "nan"], "--rate is a number between 0.0 and 1.0; not nan"),
        (["--method", "fancy", "--order", "x"], "--order is a whole number from 1 to 99, or auto; not 'x'"),
        (["--method", "fancy", "--shape", "oval"], "--shape is one of round, square; not 'oval'"),
        (["--method", "fancy", "--cuts", "1,-1"], "--cuts is a list, each a whole number from 0 on; not (1, -1)"),
        (["--method", "other"], "'other' is not one of 'plain', 'fancy'"),
        (["--seed", "-1"], "--seed is a whole number from 0 to"),
        (["--workers", "0"], "--workers is a whole number from 1 to 1,024; not 0"),
    ],
)
def test_a_wrong_option_or_value_is_one_clear_line(run, tmp_path, options, complaint):
    code, out, err = run("toy", "train", "text", "-o", tmp_path / "m", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and complaint in err
    assert not (tmp_path / "m").exists()


def test_the_header_of_a_model_says_what_was_given_what_is_default_and_what_was_tuned(run, tmp_path):
    given = ["--order", "auto", "--cuts", "1,5", "--no-polish", "--seed", "4", "--workers", "2", "--json"]
    code, out, _ = run("toy", "train", "text", "-o", tmp_path / "m", "--method", "fancy", *given)
    figures = json.loads(out)
    assert (code, figures.pop("seconds") >= 0, figures.pop("model")) == (0, True, str(tmp_path / "m"))
    assert figures == {"method": "fancy", "size": 4, "threads": 2}
    assert read_header(tmp_path / "m")[0]["settings"] == {
        "seed": [4, "given"],
        "order": [7, "tuned"],
        "rate": [0.5, "default"],
        "shape": ["round", "default"],
        "cuts": [[1, 5], "given"],
        "polish": [False, "given"],
        "strict": [False, "default"],
    }
    assert run("toy", "train", "text", "-o", tmp_path / "m")[0] == 0
    settings = read_header(tmp_path / "m")[0]["settings"]
    assert settings == {"seed": [1, "default"], "order": [3, "default"], "rate": [0.5, "default"]}


def test_a_loaded_model_shares_its_work_as_the_user_asked(run, tmp_path):
    run("toy", "train", "text", "-o", tmp_path / "m", "--method", "fancy")
    for options, workers, cluster in (
        ([], None, None),
        (["--workers", "3"], 3, None),
        (["--cluster", "tcp://there:8786"], None, "tcp://there:8786"),
    ):
        code, out, _ = run("toy", "size", tmp_path / "m", *options, "--json")
        assert code == 0 and json.loads(out) == {"size": 4, "workers": workers, "cluster": cluster}


def test_a_model_of_another_task_is_one_line(run, tmp_path):
    run("toy", "train", "text", "-o", tmp_path / "m")
    code, out, err = run("classes", "show", tmp_path / "m")
    assert (code, out) == (2, "") and err == (
        f"error: {tmp_path / 'm'}: a model of kind toy.plain, where {' or '.join(TASKS['classes'].kinds)} is needed\n"
    )


def test_what_is_missing_is_one_line(run):
    assert (
        run("toy", "train", "text")[2] == "error: missing option '-o' / '--output' (see corpuscle toy train --help)\n"
    )
    assert run("toy", "train", "-o", "m")[2] == "error: missing argument 'TEXT' (see corpuscle toy train --help)\n"


def test_completion_knows_tasks_actions_options_and_values(run):
    def offered(*words):
        complete = ShellComplete(_root(), {}, "corpuscle", "_CORPUSCLE_COMPLETE")
        return {item.value for item in complete.get_completions(list(words[:-1]), words[-1])}

    assert offered("to") == {"toy", "topics"}
    assert offered("toy", "") == {"train", "size", "fail", "show", "wait", "flood"}
    assert offered("toy", "train", "--s") == {"--seed", "--shape", "--strict"}
    assert offered("toy", "train", "--shape", "") == {"round", "square"}
    assert offered("toy", "train", "--order", "") == {"auto"}
    assert offered("toy", "train", "--method", "f") == {"fancy"}


def test_values_become_json_and_text():
    import numpy as np

    assert making.plain({1: np.arange(2), "a": (float("nan"), np.float32(0.5))}) == {"1": [0, 1], "a": [None, 0.5]}


# ---- what is the same for all commands


@pytest.mark.parametrize("name", [*TASKS, *COMMANDS])
def test_every_command_can_be_quiet_and_every_one_but_the_server_speaks_json(name):
    for words, each in commands(name).items():
        flags = {flag for param in each.params for flag in param.opts}
        assert {"--quiet", "-q"} <= flags, words
        assert ("--json" in flags) == (words[-1] != "serve"), words
        assert each.help, words
        for option in (param for param in each.params if isinstance(param, click.Option)):
            assert option.help, (words, option.name)


@pytest.mark.parametrize("name", [*TASKS, *COMMANDS])
def test_verbs_are_short(name):
    found = [find(COMMANDS[name].verb)] if name in COMMANDS else verbs_of(name).values()
    for each in found:
        lines = len(inspect.getsource(each.function).splitlines())
        assert lines <= 90 and len(each.takes) <= 14, f"{each.name}: {lines} lines, {len(each.takes)} parameters"


LIGHT = """
import contextlib, io, sys
from click.shell_completion import ShellComplete
from corpuscle.catalogue import TASKS
from corpuscle.cli.main import _root, main
root, name, heavy = _root(), sys.argv[1], ("numpy", "numba", "scipy", "rich", "dask", "distributed")
group = root.get_command(None, name)
every = [[name, action] for action in group.commands] if name in TASKS else [[name]]
complete = ShellComplete(root, {}, "corpuscle", "_CORPUSCLE_COMPLETE").get_completions
for words in every:
    told, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(complained):
        assert main([*words, "--help"]) == 0
        assert main([*words, "--no-such-option"]) == 2
        if words[-1] == "train":
            assert main([*words, "a", "b", "-o", "m", "--seed", "-1"]) == 2
            assert main([*words, "a", "b", "-o", "m", "--method", "x"]) == 2
    assert told.getvalue().startswith("Usage: corpuscle " + " ".join(words)), words
    assert all(line.startswith("error: ") for line in complained.getvalue().splitlines()), complained.getvalue()
    assert {"--help", "--quiet"} <= {item.value for item in complete(words, "--")}, words
    assert not [module for module in heavy if module in sys.modules], (words, "imports something heavy")
"""


@pytest.mark.parametrize("name", [*TASKS, *COMMANDS])
def test_help_usage_errors_and_completion_import_nothing_heavy(name):
    done = subprocess.run([sys.executable, "-c", LIGHT, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", TRAINED)
def test_an_option_of_a_training_is_the_setting_of_the_same_name(name):
    trainings = [{param.name: param.opts[0] for param in each.params} for each in commands(name).values()]
    for method in TASKS[name].methods.values():
        settings = set(find(method.settings).SETTINGS) - {"method"}
        expected = {setting: "--" + setting.replace("_", "-") for setting in settings}
        assert any(expected.items() <= options.items() for options in trainings), method.learner


def test_settings_that_no_command_line_can_say_are_refused_before_anything_is_imported():
    methods = TASKS["lm"].methods
    option = making.SettingOption(find(methods["mkn"].settings).SETTINGS["prune"], {})
    with pytest.raises(SettingError, match="prune is a rising list"):
        making._learner(methods, "mkn", {"prune": (option, "3,1")})


@pytest.mark.parametrize("name", [*TASKS, *COMMANDS])
def test_every_option_that_is_a_count_has_an_upper_bound(name):
    types = [(param.name, param.type) for each in commands(name).values() for param in each.params]
    assert [param for param, type in types if isinstance(type, click.IntRange) and type.max is None] == []
