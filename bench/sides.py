"""``python -m bench.sides --against CHECKOUT``: is this checkout as fast as another one, in one run on one machine?

Both train and apply models of some tasks on real text, one side after the other, several times; every command runs in
a process of its own with warm kernels, and its user and system seconds count, so that other work on the machine hurts
little. The ratio is that of the quickest runs. ``--compile``: what ``learn`` of the built-in sample compiles instead,
with an empty cache, in one process on each side: how many kernels, how often, the seconds inside the compiler and all.

Names of tasks run only these.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "lm": """
        lm train {data}/wikitext2/train.txt -o a.lm --order 5
        lm perplexity a.lm {data}/wikitext2/valid.txt
        lm train part.txt -o b.lm --method hpy --order 3 --sweeps 8 --samples 2""",
    "align": """
        align train part.es part.en -o a.align
        align apply a.align part.es part.en -o a.links""",
    "segment": """
        segment train unspaced.txt -o a.segment --sweeps 6 --samples 2
        segment apply a.segment unspaced.txt""",
    "topics": """
        topics train documents -o a.topics --topics 20 --sweeps 4 --samples 1""",
    "parse": """
        parse train part.conllu -o a.parser
        parse apply a.parser part.conllu -o a.conllu""",
    "tag": """
        tag train part.conllu -o a.tagger
        tag apply a.tagger part.conllu -o b.conllu""",
}


def write_parts(data: Path) -> None:
    """Parts of the texts that take seconds, in the current folder."""
    lines = (data / "wikitext2/train.txt").read_text("utf-8").splitlines(True)
    Path("part.txt").write_text("".join(lines[:3000]), "utf-8")
    for side in "es", "en":
        pairs = (data / f"align-es-en/train.{side}").read_text("utf-8").splitlines(True)
        Path(f"part.{side}").write_text("".join(pairs[:2000]), "utf-8")
    trees = (data / "ud-english-ewt/train.conllu").read_text("utf-8").split("\n\n")
    Path("part.conllu").write_text("\n\n".join(trees[:1500]) + "\n\n", "utf-8")
    letters = (data / "brent/br-phono.txt").read_text("utf-8").replace(" ", "").splitlines(True)
    Path("unspaced.txt").write_text("".join(letters[:3000]), "utf-8")
    Path("documents").mkdir()
    for number in range(100):
        Path(f"documents/{number}.txt").write_text("".join(lines[number * 100 : number * 100 + 100]), "utf-8")


def used(side: Path, words: list[str]) -> float:
    """The CPU seconds of a command with the package of a checkout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "corpuscle", *words, "--quiet"]
    environment = os.environ | {"PYTHONPATH": str(side / "src")}
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{side}: {shlex.join(words)}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(sides: tuple[Path, Path], commands: list[str], repeats: int, data: Path) -> Iterator[str]:
    """A row for each command: seconds of both sides, and the ratio."""
    for line in commands:
        words = shlex.split(line.format(data=data))
        for side in sides:
            used(side, words)  # compiles what is cold
        seconds = [[used(side, words) for side in sides] for _ in range(repeats)]
        other, here = (min(column) for column in zip(*seconds, strict=True))
        yield f"| `{line.format(data='DATA')}` | {other:.2f} | {here:.2f} | {here / other:.2f} |"


def compiled(side: Path) -> dict[str, float]:
    """What ``learn`` of the sample compiles on one side."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": f"{side / 'src'}:{ROOT}", "CORPUSCLE_CACHE": f"{folder}/cache"}
        command = [sys.executable, "-m", "tests.compile_report", "learn", "-o", f"{folder}/pack", "--quiet"]
        done = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sides", description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"{', '.join(COMMANDS)} (default: all)")
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT", help="the one to compare with")
    parser.add_argument("--repeats", type=int, default=3, help="how often each side runs (default 3)")
    parser.add_argument("--compile", action="store_true", help="what learn compiles, in place of the commands")
    given = parser.parse_args()
    sides = given.against.resolve(), ROOT
    if given.compile:
        print("| side | kernels | compilations | compiler, s | all, CPU s |\n| --- | --: | --: | --: | --: |")
        for name, side in zip(("other", "here"), sides, strict=True):
            found = compiled(side)
            counts = f"{found['kernels']} | {found['compilations']}"
            print(f"| {name} | {counts} | {found['compiler']:.1f} | {found['cpu']:.1f} |", flush=True)
        return
    data = Path(os.environ.get("CORPUSCLE_DATA", ROOT / "../shared/data")).resolve()
    print("| command | other, CPU s | here, CPU s | ratio |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_parts(data)
        for task in given.tasks or COMMANDS:
            for row in measured(sides, COMMANDS[task].split("\n        ")[1:], given.repeats, data):
                print(row, flush=True)


if __name__ == "__main__":
    main()
