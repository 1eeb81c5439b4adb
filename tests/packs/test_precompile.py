"""Claims about compiling ahead."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from corpuscle.packs import learn, run
from tests.packs.kits import plain_step, write_kit


@pytest.fixture
def compiled_by(monkeypatch, tmp_path):
    """Compiling is writing a file here, after a while."""

    def program(seconds: float) -> Path:
        code = f"import sys, time; time.sleep({seconds}); open({str(tmp_path)!r} + '/' + sys.argv[1], 'w')"
        monkeypatch.setattr(run, "_COMPILE", code)
        return tmp_path

    return program


def test_a_step_waits_for_what_is_being_compiled_and_takes_what_is_not(compiled_by):
    folder = compiled_by(0.3)
    later = run.Precompiler(["one", "two"])
    while later._process is None:
        time.sleep(0.01)
    later.turn("two")
    later.turn("one")
    assert [path.name for path in folder.iterdir()] == ["one"]
    later.turn("three")
    later.close()
    assert [path.name for path in folder.iterdir()] == ["one"]


def test_compiling_ahead_ends_with_the_run(compiled_by):
    folder = compiled_by(100)
    later = run.Precompiler(["one", "two"])
    while later._process is None:
        time.sleep(0.01)
    later.close()
    assert later._process.returncode is not None and not list(folder.iterdir())


def test_only_cold_kernels_of_later_steps_are_compiled_ahead(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "cache_root", tmp_path)
    asked = []
    precompiler = run.Precompiler
    monkeypatch.setattr(run, "Precompiler", lambda packages: asked.append(packages) or precompiler([]))
    monkeypatch.setattr(run, "default_workers", lambda: 2)
    steps = [replace(plain_step(name, "text"), kernels=f"k.{name}") for name in ("one", "two", "three")]
    few = replace(plain_step("four", "names"), kernels="k.four")
    for _ in range(2):
        learn(write_kit(tmp_path / f"kit{len(asked)}", 1000), tmp_path / "pack", steps=[*steps, few])
    assert asked == [["k.three", "k.two"], []]
