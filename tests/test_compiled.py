"""Compiled kernels: cached on disk, found again by the next process, in a directory that follows their sources."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpuscle.cli.warm import WARMERS

REPORT = Path(__file__).with_name("kernel_report.py")
WHERE = "from corpuscle.compiled import cache_directory; print(cache_directory)"


def run(*arguments, **environment):
    """What a fresh Python process prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("task", WARMERS)
def test_a_second_process_finds_every_kernel_in_the_cache(task):
    run(REPORT, WARMERS[task])
    report = json.loads(run(REPORT, WARMERS[task]))
    assert report["misses"] == {} and report["hits"] > 0


@pytest.mark.slow
def test_a_cold_cache_fills_within_ten_seconds_a_file_and_serves_the_next_process(tmp_path):
    cold = json.loads(run(REPORT, *WARMERS.values(), CORPUSCLE_CACHE=str(tmp_path)))
    assert {module: seconds for module, seconds in cold["seconds"].items() if seconds > 10} == {}
    warm = json.loads(run(REPORT, *WARMERS.values(), CORPUSCLE_CACHE=str(tmp_path)))
    assert warm["misses"] == {} and warm["seconds"] == {}


def test_the_cache_is_named_by_the_sources_and_the_bounds_checking_flag(tmp_path):
    plain = run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path))
    assert run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path)) == plain
    assert run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path), NUMBA_BOUNDSCHECK="1") != plain
    assert Path(plain).parent == tmp_path and Path(plain).name.startswith("kernels-")


def test_caches_that_were_not_used_for_sixty_days_are_removed(tmp_path):
    for name, days in ("kernels-old", 61), ("kernels-recent", 59), ("other", 100):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
        then = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    current = Path(run("-c", WHERE, CORPUSCLE_CACHE=str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} == {"kernels-recent", "other", current.name}


def test_without_a_writable_place_the_cache_is_temporary_and_vanishes(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    used = run("-c", WHERE + "; print(cache_directory.is_dir())", CORPUSCLE_CACHE=str(blocker / "below"))
    directory, existed = used.splitlines()
    assert existed == "True" and not Path(directory).exists()
