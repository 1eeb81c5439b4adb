"""Claims about corpuscle.lazy: a package imports what is used of it, and nothing else."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from corpuscle.catalogue import TASKS

PACKAGES = sorted({task.package for task in TASKS.values()} | {"corpuscle.measure"})


def loaded_by(code: str) -> set[str]:
    """The modules of ours that a new process has loaded after some code."""
    code += "\nimport sys; print(*(name for name in sys.modules if name.startswith('corpuscle')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_language_model_loads_no_measure_of_another_task():
    measures = {name for name in loaded_by("from corpuscle.lm import NgramModel; NgramModel()") if ".measure." in name}
    assert "corpuscle.measure.likelihood" in measures
    names = "brackets", "mentions", "retrieval", "segmentation", "translations", "dependencies"
    assert not measures & {f"corpuscle.measure.{name}" for name in names}


def test_a_package_alone_loads_none_of_its_modules():
    assert not {name for name in loaded_by("import corpuscle.measure") if name.startswith("corpuscle.measure.")}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_does_not_hide_the_public_thing_of_its_name(package):
    module = importlib.import_module(package)
    for each in pkgutil.iter_modules(module.__path__, f"{package}."):
        importlib.import_module(each.name)
    assert not [name for name in module.__all__ if inspect.ismodule(getattr(module, name))]
