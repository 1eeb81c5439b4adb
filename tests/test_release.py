"""Claims about a release: its wheel carries machine code, and where that fits nothing compiles."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import TREES

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="there is machine code for Linux x86-64 alone"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What the wheel of a release installs, with the machine code of two tasks."""
    folder = tmp_path_factory.mktemp("release")
    known = {name: value for name, value in os.environ.items() if not name.startswith("CORPUSCLE")}
    command = ["bash", ROOT / ".ci" / "release", folder / "wheels", "metric", "tag"]
    subprocess.run(command, check=True, env=known | {"PYTHON": sys.executable})
    (wheel,) = (folder / "wheels").glob("*.whl")
    assert wheel.name.endswith("-manylinux_2_28_x86_64.whl") and wheel.stat().st_size < 20 << 20
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / "site", wheel]
    subprocess.run(install, check=True)
    return folder / "site"


def compiled(site: Path, folder: Path, **more: str) -> list[str]:
    """What learning a tagger compiles, with an empty cache."""
    (folder / "train.conllu").write_text(TREES * 10, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(site), "CORPUSCLE_CACHE": str(folder / "cache")} | more
    command = [sys.executable, "-P", "-m", "corpuscle", "tag", "train", "train.conllu", "-o", "a.tagger"]
    subprocess.run(command, check=True, cwd=folder, env=environment)
    return [path.name for path in (folder / "cache").rglob("*.nbc")]


def test_nothing_compiles_where_the_machine_code_fits(site, tmp_path):
    assert compiled(site, tmp_path) == []


def test_for_another_processor_kernels_compile_as_always(site, tmp_path):
    assert compiled(site, tmp_path, NUMBA_CPU_NAME="generic")


def test_damaged_machine_code_is_made_again(site, tmp_path):
    damaged = list((site / "corpuscle" / "machine_code").rglob("kernels-tag.*/*.nbc"))
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    made = compiled(site, tmp_path)
    assert made and len(made) <= len(damaged)
