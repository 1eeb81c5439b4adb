"""The catalogue tells the truth: everything it names exists, and everything that should follow from it does."""

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import corpuscle.words.verbs
from corpuscle.catalogue import COMMANDS, TASKS, Method, find, home_of
from corpuscle.cli.derive import group_of
from corpuscle.cli.main import main
from corpuscle.learning import Checkpoint
from corpuscle.model import Kind, Model, read_header
from corpuscle.settings import Parallel, Settings, setting
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import FIRST
from corpuscle.words.classes import CLASSES, Pass, WordClasses, check_classes

ROOT = Path(__file__).parents[1]
METHODS = [(task, method) for task, each in TASKS.items() for method in each.methods]
LIGHT = sorted({each.settings.partition(":")[0] for task in TASKS.values() for each in task.methods.values()})


@pytest.mark.parametrize("name", TASKS)
def test_everything_that_a_task_names_exists(name):
    task = TASKS[name]
    package, group = __import__(task.package, fromlist=["__doc__"]), group_of(name)
    assert package.__doc__ and group.name == name and group.help == task.help
    assert (ROOT / "docs" / task.page).is_file()
    assert hasattr(package, "warm") == task.kernels
    assert bool(task.methods) == ("train" in group.commands)
    assert task.help.endswith(".") and "\n" not in task.help + task.summary
    for kind, home in task.kinds.items():
        assert find(home).KIND.name == kind and home_of(kind) == home
    assert all(find(place).name for place in task.step.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_that_a_command_names_exists(name):
    command = COMMANDS[name]
    assert find(command.verb).help and find(command.verb).name == name
    assert (ROOT / "docs" / command.page).is_file()


@pytest.mark.parametrize(("task", "method"), METHODS)
def test_a_method_is_a_learner_with_declared_settings_and_a_kind_of_file(task, method):
    record = TASKS[task].methods[method]
    settings, learner = find(record.settings), find(record.learner)
    assert issubclass(learner, settings) and issubclass(learner, Model) and issubclass(settings, Settings)
    assert learner.SETTINGS == settings.SETTINGS
    assert "method" not in settings.SETTINGS or method in settings.SETTINGS["method"].choices
    assert learner.KIND.name in TASKS[task].kinds
    assert record.help and not record.help.endswith(".")


@pytest.mark.parametrize("module", LIGHT)
def test_declarations_of_settings_cost_neither_numpy_nor_numba(module):
    code = f"import sys, {module}; print([name for name in ('numpy', 'numba', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_the_catalogue_itself_imports_nothing_but_how_it_is_extended():
    code = "import sys, corpuscle.catalogue; print([name for name in sys.modules if name.startswith('corpuscle.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['corpuscle.catalogue']\n", done.stderr


# ---- what follows from it


def test_the_readme_has_a_row_for_every_task_and_command():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `corpuscle ([\w-]+)` \| (.*) \| \[.*\]\(docs/(.*)\) \|$", readme, re.M)
    assert {name: (summary, page) for name, summary, page in rows} == {
        name: (each.summary, each.page) for name, each in (TASKS | COMMANDS).items()
    }
    assert len(rows) == len(TASKS) + len(COMMANDS)


def test_commands_that_a_summary_lists_exist():
    listed = {name: re.search(r": (train(?:, [\w-]+)+)", each.summary) for name, each in TASKS.items()}
    found = {name: set(match[1].split(", ")) for name, match in listed.items() if match}
    assert {"lm", "topics"} <= found.keys() and "prune" in found["lm"]
    for name, commands in found.items():
        assert commands <= group_of(name).commands.keys()


def test_the_navigation_of_the_documentation_has_every_page():
    menu = re.findall(r":\s+([\w/-]+\.md)\s*$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert {each.page for each in (TASKS | COMMANDS).values()} <= set(menu)


def test_the_linter_has_a_layer_for_every_package():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [layer.split(" | ") for layer in contract["layers"]]
    flat = [name for layer in layers for name in layer]
    tasks = flat[flat.index("samples") + 1 : flat.index("measure")]
    packages = {task.package.partition(".")[2] for task in TASKS.values()}
    without_commands = {"neural"}  # models of several tasks
    assert sorted(tasks) == sorted(packages - {"text", "samples", "packs"} | without_commands)
    assert contract["exhaustive"]
    assert ["catalogue", "settings"] in layers and layers.index(["scale"]) > layers.index(["model"])


def test_steps_of_learn_stand_in_the_order_of_the_catalogue():
    from corpuscle.packs import STEPS

    assert [find(place) for task in TASKS.values() for place in task.step.split()] == list(STEPS)


def test_warm_knows_the_tasks_with_kernels(capsys):
    assert main(["warm", "nothing"]) == 2
    assert capsys.readouterr().err.endswith(", ".join(name for name, task in TASKS.items() if task.kernels) + "\n")


# ---- a new method of a task is its class and its line


class InitialsSettings(TextSettings, Parallel):
    """The settings of the new method."""

    letters: int = setting("How many letters decide.", default=1, low=1)


class InitialsClasses(InitialsSettings, WordClasses):
    """Words that begin alike are of one class."""

    KIND = Kind("words.initials", 1, CLASSES, check=check_classes)

    def checkpoint(self, corpus, path, resume=False):
        return Checkpoint(path, None, self.settings, corpus.signature())

    def fit(self, corpus, *, checkpoint=None):
        vocab = corpus.counted().vocab
        initials, classes = np.unique([word[: self.letters] for word in vocab.strings[FIRST:]], return_inverse=True)
        self.vocab_, self.n_classes_, self.tree_ = vocab, len(initials), None
        self.classes_ = np.concatenate([np.full(FIRST, -1), classes]).astype(np.int32)
        self._class_unknown()
        self.history_, self.provenance_ = [Pass(0.0, 0)], {"types": len(vocab) - FIRST}
        return self


def test_a_method_that_is_added_to_the_catalogue_is_in_help_trains_saves_and_loads(monkeypatch, tmp_path, capsys):
    task = TASKS["classes"]
    line = Method("tests.test_catalogue:InitialsSettings", "tests.test_catalogue:InitialsClasses", "by first letters")
    more = {"words.initials": "tests.test_catalogue:InitialsClasses"}
    task = replace(task, methods={**task.methods, "initials": line}, kinds={**task.kinds, **more})
    monkeypatch.setitem(TASKS, "classes", task)
    find(f"{task.verbs}:train")
    monkeypatch.setattr(corpuscle.words.verbs, "classes", sys.modules[task.verbs])  # to be there again afterwards
    monkeypatch.delitem(sys.modules, task.verbs)  # so that verbs are declared as in a new process

    assert main(["classes", "train", "--help"]) == 0
    help = " ".join(capsys.readouterr().out.split())
    assert "initials: by first letters" in help and f"--method {'|'.join(task.methods)}" in help
    assert "Only with --method initials: --letters N How many letters decide. [default: 1]" in help

    (tmp_path / "text").write_text("an apple and bread\nbe brave\n")
    train = ["classes", "train", f"{tmp_path}/text", "-o", f"{tmp_path}/m", "--method", "initials"]
    assert main([*train, "--letters", "2", "--json"]) == 0
    assert '"method": "initials", "classes": 4' in capsys.readouterr().out
    assert main([*train, "--passes", "3"]) == 2
    assert "--passes means nothing with --method initials; it is for exchange, brown" in capsys.readouterr().err
    header, *_ = read_header(tmp_path / "m")
    assert header["kind"] == "words.initials" and header["settings"]["letters"] == [2, "given"]

    loaded = corpuscle.load(tmp_path / "m")
    assert isinstance(loaded, InitialsClasses) and repr(loaded) == "InitialsClasses(letters=2)"
    assert loaded.class_of("brave") == loaded.class_of("bread") != loaded.class_of("be")
    for words in ["info", f"{tmp_path}/m"], ["classes", "show", f"{tmp_path}/m"]:
        assert main(words) == 0
    assert "bread" in capsys.readouterr().out
