"""Compiled kernels: cached on disk, found again by the next process, in a directory that follows their sources; each
compiled once, none with a way in from Python that nobody takes; the same functions in plain Python."""

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle import compiled
from corpuscle.catalogue import TASKS
from corpuscle.compiled import kernel, part

PACKAGES = {name: task.package for name, task in TASKS.items() if task.kernels}
REPORT = Path(__file__).with_name("kernel_report.py")
WHERE = "from corpuscle.compiled import cache_directory; at = cache_directory('corpuscle.hashing'); print(at)"


def run(*arguments, **environment):
    """What a fresh Python process prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("task", PACKAGES)
def test_a_second_process_finds_every_kernel_in_the_cache(task):
    run(REPORT, PACKAGES[task])
    report = json.loads(run(REPORT, PACKAGES[task]))
    assert report["misses"] == {} and report["hits"] > 0


@pytest.mark.slow
def test_a_cold_cache_fills_within_ten_seconds_a_file_and_serves_the_next_process(tmp_path):
    cold = json.loads(run(REPORT, *PACKAGES.values(), CORPUSCLE_CACHE=str(tmp_path)))
    assert {module: seconds for module, seconds in cold["seconds"].items() if seconds > 10} == {}
    warm = json.loads(run(REPORT, *PACKAGES.values(), CORPUSCLE_CACHE=str(tmp_path)))
    assert warm["misses"] == {} and warm["seconds"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("task", PACKAGES)
def test_after_warming_no_command_of_the_task_compiles_anything(task, tmp_path):
    assert json.loads(run("-m", "tests.warm_report", task, CORPUSCLE_CACHE=str(tmp_path))) == {}


def test_the_cache_is_named_by_the_sources_and_the_bounds_checking_flag(tmp_path):
    plain = run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path))
    assert run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path)) == plain
    assert run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path), NUMBA_BOUNDSCHECK="1") != plain
    assert Path(plain).parent == tmp_path and Path(plain).name.startswith("kernels-hashing-")


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A package whose kernels import one another: outer -> middle -> inner, and one that stands alone."""
    (tmp_path / "engine").mkdir()
    for name, text in {
        "outer": "from corpuscle.engine import (\n    middle,\n)\n",
        "engine/__init__": "",
        "engine/middle": "from corpuscle.inner import number\n",
        "inner": "number = 1\n",
        "alone": "number = 1\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(compiled, "_PACKAGE", tmp_path)
    compiled._imports.cache_clear()
    yield tmp_path
    compiled._imports.cache_clear()


def test_a_changed_source_changes_the_caches_of_all_that_import_it_and_of_no_others(sources):
    modules = ["corpuscle.outer", "corpuscle.engine.middle", "corpuscle.inner", "corpuscle.alone"]
    before = [compiled.fingerprint(module) for module in modules]
    assert len(set(before)) == 3  # inner and alone are the same text
    (sources / "inner.py").write_text("number = 2\n")
    compiled._imports.cache_clear()
    after = [compiled.fingerprint(module) for module in modules]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, False, True]


def test_caches_that_were_not_used_for_sixty_days_are_removed(tmp_path):
    for name, days in ("kernels-old", 61), ("kernels-recent", 59), ("other", 100):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
        then = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    current = Path(run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path)))
    names = {path.name for path in tmp_path.iterdir() if not path.name.startswith("kernels-random-")}
    assert names == {"kernels-recent", "other", current.name}


USE = "from corpuscle.random import stream, uniform; print(uniform(stream(1, 2, 3, 4)))"


def damage(data: bytes, how: str) -> bytes:
    return {"empty": b"", "cut": data[: len(data) // 2], "other": b"x" * 40, "flip": data[:-9] + b"?" + data[-8:]}[how]


@pytest.mark.parametrize(("suffix", "how"), [("nbi", "empty"), ("nbi", "other"), ("nbc", "cut"), ("nbc", "flip")])
def test_a_damaged_cache_is_made_again(tmp_path, suffix, how):
    first = run("-c", USE, CORPUSCLE_CACHE=str(tmp_path))
    files = {path: path.read_bytes() for path in tmp_path.rglob(f"*.{suffix}")}
    assert files
    for path, data in files.items():
        path.write_bytes(damage(data, how))
    assert run("-c", USE, CORPUSCLE_CACHE=str(tmp_path)) == first
    assert [path for path in files if path.read_bytes() == damage(files[path], how)] == []


def test_a_cache_that_names_a_module_which_has_moved_is_made_again(tmp_path):
    first = run("-c", USE, CORPUSCLE_CACHE=str(tmp_path))
    moved = b"cno_such_module\nRecord\n."  # what pickle reads as a class of a module that is not there
    files = list(tmp_path.rglob("*.nbi"))
    assert files
    for path in files:
        path.write_bytes(compiled._checksum(moved) + moved)
    assert run("-c", USE, CORPUSCLE_CACHE=str(tmp_path)) == first
    assert not [path for path in files if path.read_bytes().endswith(moved)]


def test_a_full_disk_costs_the_cache_and_nothing_else(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    assert run("-c", limit + USE, CORPUSCLE_CACHE=str(tmp_path)) == run("-c", USE)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".nbi"]


def test_without_a_writable_place_the_cache_is_temporary_and_vanishes(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    used = run("-c", WHERE + "; print(at.is_dir())", CORPUSCLE_CACHE=str(blocker / "below"))
    directory, existed = used.splitlines()
    assert existed == "True" and not Path(directory).exists()


@part
def add(a, b):
    return a + b


@kernel
def add_in_many_ways(narrow):
    return add(1, 2) + add(narrow[0], 3) + add(b=4, a=np.int8(5)) + add(narrow.size, narrow[0])


def test_literals_and_narrow_integers_do_not_compile_a_part_again():
    assert add_in_many_ways(np.ones(2, np.int32)) == 19
    assert [str(signature) for signature in add.signatures] == ["(int64, int64)"]


@part(bare=True)
def multiply(values, by=2):
    for i in range(values.size):
        values[i] *= by
    return values.size


def test_python_can_call_a_part_all_the_same():
    values = np.ones(3)
    assert (multiply(values), multiply(values, 5)) == (3, 3) and values.tolist() == [10, 10, 10]


def decorated(tree):
    """The functions under a decorator of ``compiled``, with its name; those that a factory makes, too."""
    for node in ast.walk(tree):
        for mark in getattr(node, "decorator_list", ()) if isinstance(node, ast.FunctionDef) else ():
            name = getattr(mark.func if isinstance(mark, ast.Call) else mark, "id", None)
            if name in ("kernel", "part", "macro"):
                yield node, name


def outside_kernels(node, inside=False):
    """The names that are used outside kernels: by name, or as an attribute of a module."""
    for child in ast.iter_child_nodes(node):
        marks = getattr(child, "decorator_list", ())
        compiled_ = inside or any(
            getattr(mark.func if isinstance(mark, ast.Call) else mark, "id", None) in ("kernel", "part", "macro")
            for mark in marks
        )
        if not compiled_ and isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Load):
            yield child.id if isinstance(child, ast.Name) else child.attr
        yield from outside_kernels(child, compiled_)


def test_every_kernel_is_called_from_python_and_wrappers_are_made_for_no_other():
    sources = [path for path in Path(corpuscle.__file__).parent.rglob("*.py") if path.name != "compiled.py"]
    trees = [ast.parse(path.read_text("utf-8")) for path in sources]
    used = {name for tree in trees for name in outside_kernels(tree)}
    made = {node.name: mark for tree in trees for node, mark in decorated(tree)}
    # A kernel that a factory returns has other names where it is used.
    inner = {
        node.name for tree in trees for maker in tree.body if isinstance(maker, ast.FunctionDef)
        for node, _ in decorated(ast.Module(maker.body, []))
    }  # fmt: skip
    assert [name for name, mark in made.items() if mark == "kernel" and name not in used | inner] == []
    assert sum(mark == "part" for mark in made.values()) > 300


@pytest.mark.parametrize("tests", ["engine/dp", "engine/linalg", "neural/kernels", "engine/test_*.py"])
def test_the_exact_tests_of_the_engine_hold_in_plain_python(tests):
    """Not those of sums in single precision: compiled, they are added up in another order, to more digits."""
    paths = [str(path) for path in sorted(Path(__file__).parent.glob(tests))]
    options = "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "-k", "not full_sort"
    assert " passed" in run("-m", "pytest", *options, *paths, NUMBA_DISABLE_JIT="1")


def test_a_numba_that_is_not_known_compiles_the_plain_way(tmp_path):
    program = USE + "; from corpuscle.compiled import KNOWN; print(KNOWN)"
    known, plain = (run("-c", program, CORPUSCLE_CACHE=str(tmp_path), CORPUSCLE_PLAIN_NUMBA=flag) for flag in ("", "1"))
    assert known.splitlines() == [plain.splitlines()[0], "True"] and plain.splitlines()[1] == "False"
    report = json.loads(run(REPORT, "corpuscle.lm", CORPUSCLE_CACHE=str(tmp_path), CORPUSCLE_PLAIN_NUMBA="1"))
    assert report["misses"]
    again = json.loads(run(REPORT, "corpuscle.lm", CORPUSCLE_CACHE=str(tmp_path), CORPUSCLE_PLAIN_NUMBA="1"))
    assert again["misses"] == {} and again["hits"] > 0


TWICE = {
    "corpuscle.align.kernels.fertility._prepare": "sentences of 16 and of 32 bits",
    "corpuscle.engine.dp.cky._put": "stacks of 32 and of 64 bits",
    "corpuscle.engine.dp.spanning.best_tree": "all arcs of a chart, and those of a shorter sentence",
    "corpuscle.text.kernels._find": "the text, which is mapped, and the table's own bytes",
    "corpuscle.text.kernels._key": "the text, which is mapped, and the table's own bytes",
}
"""The kernels that one run needs for two types of arrays."""


def test_learning_from_a_kit_compiles_no_kernel_twice(tmp_path):
    sizes = ["--sentences", "300", "--pairs", "120", "--names", "80", "--notes", "12", "--messages", "30"]
    run("-m", "corpuscle", "samples", "write", tmp_path / "kit", "--seed", "1", *sizes)
    arguments = "learn", tmp_path / "kit", "-o", tmp_path / "pack", "--quiet", "--workers", "1"
    report = json.loads(
        run("-m", "tests.compile_report", *arguments, CORPUSCLE_CACHE=str(tmp_path / "cache")).splitlines()[-1]
    )
    assert report["code"] == 0 and report["kernels"] > 200
    assert set(report["again"]) <= set(TWICE) and max(report["again"].values()) == 2


def test_a_copy_of_the_sources_elsewhere_uses_what_was_compiled_here(tmp_path):
    here, there, cache = Path(compiled.__file__).parent, tmp_path / "src", tmp_path / "cache"
    first = run("-c", USE, CORPUSCLE_CACHE=str(cache))
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}
    shutil.copytree(here, there / "corpuscle", copy_function=shutil.copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert run("-c", USE, CORPUSCLE_CACHE=str(cache), PYTHONPATH=str(there)) == first
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")} == files and files
