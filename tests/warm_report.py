"""Warm a task in an empty cache, run the commands that the record has of it, and report, as JSON, what compiled later.

CORPUSCLE_CACHE=empty python -m tests.warm_report segment
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from bench.record import commands, make_inputs, run

SAMPLE = "samples write sample --seed 1 --sentences 1200 --pairs 60 --names 60 --notes 10 --messages 10"


def kernels_in(cache: Path) -> set[str]:
    """The files of machine code in a cache, whichever process has written them."""
    return {path.name for path in cache.glob("**/*.nbc")}


def main(task: str) -> None:
    cache = Path(os.environ["CORPUSCLE_CACHE"])
    subprocess.run([sys.executable, "-m", "corpuscle", "warm", task, "--quiet"], check=True, stdout=sys.stderr)
    report = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        make_inputs(SAMPLE)
        for label, words in commands()[task].items():
            before = kernels_in(cache)
            run(words)
            if words[0] == task and (new := kernels_in(cache) - before):
                report[label] = sorted(new)
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
