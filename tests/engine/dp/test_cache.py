"""Kernels that factories make are found in the cache by the next process, like all others."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.engine.dp.every_kernel import KERNELS


def test_a_second_process_finds_every_dynamic_program_in_the_cache():
    command = [sys.executable, "-m", "tests.kernel_report", "tests.engine.dp.every_kernel"]
    root = Path(__file__).parents[3]
    for process in ("first", "second"):
        done = subprocess.run(command, cwd=root, env=os.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["signatures"].keys() >= KERNELS
        assert all(report["signatures"][kernel] for kernel in KERNELS), "a kernel was not called"
        if process == "second":
            assert report["misses"] == {} and report["hits"] >= len(KERNELS)
