"""Every verb at a realistic size: a million words of text, 10,000 names and translations, 1,000 annotated sentences.

The commands are those of ``record.txt``, which has every method on a small sample: of each verb the first one, after
the commands that make the files which it reads. Kernels are compiled on the small sample before. A verb that is
missing there is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import record
from bench.harness import CELLS, CORPUSCLE, Call, Cell, Claim, number, row, run_command

SIZE = "samples write sample --seed 1 --sentences 92000 --pairs 10000 --names 10000 --notes 1000 --messages 1000"
SEGMENTED, ITEMS = 10_000, 2
"""Lines of text without spaces; sentences of a document that are items of a metric, 10,500 in all."""
INPUTS = CELLS / "files" / "verbs"
OUTPUTS = {"-o", "--all", "--arpa", "--links", "--offsets", "--save"}
"""Options of ``record.txt`` that name files which later commands read."""
UNITS = {".conllu": "words", ".mrg": "words", ".tsv": "lines", ".csv": "lines"}


def cells(data: Path) -> Iterator[Cell]:
    """One for each task."""
    for task in tasks():
        call = Call(task, "bench.cli_verbs:measure_task", {"task": task})
        yield Cell(task, task, (call,), prepare=prepare, repeats=1, warm_up=False)


def tasks() -> list[str]:
    from corpuscle.catalogue import TASKS

    return [task for task in TASKS if task != "samples"]


def prepare() -> None:
    """The small sample and the large one, with the texts that are made of them."""
    for name, *size in ("small", record.SAMPLE), ("large", SIZE, SEGMENTED, ITEMS):
        if not (INPUTS / name).exists():
            (INPUTS / f"{name}.partial").mkdir(parents=True)
            with chdir(INPUTS / f"{name}.partial"):
                record.make_inputs(*size)
            (INPUTS / f"{name}.partial").rename(INPUTS / name)


def chosen(task: str) -> list[tuple[list[str], str]]:
    """The commands of a task in their order, and the verb that each is to measure (or "")."""
    from corpuscle.verbs import verbs_of

    groups = record.commands()
    missing = {name.replace("_", "-") for name in verbs_of(task)}
    found: dict[str, list[tuple[list[str], str]]] = {}
    for group in sorted(groups, key=lambda group: group != task):
        made: dict[str, int] = {}
        lines = list(groups[group].values())
        wanted: dict[int, str] = {}
        for place, words in enumerate(lines):
            made |= {name: place for name in _outputs(words) if name not in made}
            if words[0] == task and words[1] in missing:
                missing.remove(words[1])
                todo, wanted[place] = [place], words[1]
                while todo:
                    last = todo.pop()
                    needs = {made[word] for word in lines[last] if made.get(word, last) < last}
                    todo += needs - wanted.keys()
                    wanted |= dict.fromkeys(needs - wanted.keys(), "")
        found[group] = [(lines[place], verb) for place, verb in sorted(wanted.items())]
    if missing:
        raise ValueError(f"record.txt has no command for {task} {', '.join(sorted(missing))}")
    return [each for commands in found.values() for each in commands]


def _outputs(words: list[str]) -> list[str]:
    return [name for option, name in pairwise(words) if option in OUTPUTS]


def measure_task(timer, task: str) -> dict[str, float]:
    """Figures of each verb: ``VERB|seconds``, ``|items`` and ``|MB``, and ``|UNIT``, which is there."""
    figures: dict[str, float] = {}
    commands = chosen(task)
    for size in "small", "large":
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(INPUTS / size, folder, dirs_exist_ok=True)
            given = set(os.listdir(folder))
            for words, verb in commands:
                with timer:
                    run = run_command((CORPUSCLE, *words, "--quiet"), folder=Path(folder))
                if size == "large" and verb:
                    items, unit = work(words[2:], given, Path(folder))
                    figures |= {f"{verb}|seconds": run["cpu"], f"{verb}|MB": run["peak"], f"{verb}|items": items}
                    figures[f"{verb}|{unit}"] = 1
    return figures


def work(words: list[str], given: set[str], folder: Path) -> tuple[int, str]:
    """How much of the inputs a command reads, and in what unit: the largest of its files, or the number that it is to
    make."""
    if "-n" in words:
        return int(words[words.index("-n") + 1]), "items"
    sizes = [
        _size(folder / word) for word in words if word.partition("/")[0] in given and (folder / word).exists()
    ]  # fmt: skip
    return max(sizes, default=(0, "model"))


def _size(path: Path) -> tuple[int, str]:
    if path.is_dir():
        return sum(_size(each)[0] for each in path.rglob("*.txt")), "words"
    text, unit = path.read_text("utf-8"), UNITS.get(path.suffix, "words")
    if path.suffix == ".conllu":
        return len(re.findall(r"^\d+\t", text, re.M)), unit
    if path.suffix == ".mrg":
        return len(re.findall(r"[^\s()]\)", text)), unit
    return (text.count("\n"), "lines") if unit == "lines" else (len(text.split()), unit)


def rows(results: Mapping[str, Any]) -> Iterator[tuple[str, float, float, str, float]]:
    """Verb, CPU seconds, items, unit, peak memory in MB."""
    for task, result in results.items():
        figures = next(iter(result["runs"].values()))[0]["figures"]
        for name in (name for name, _, what in (key.partition("|") for key in figures) if what == "seconds"):
            unit = next(unit for unit in ("words", "lines", "items", "model") if f"{name}|{unit}" in figures)
            yield (
                f"{task} {name}",
                *(figures[f"{name}|{what}"] for what in ("seconds", "items")),
                unit,
                figures[f"{name}|MB"],
            )


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = list(rows(results))
    most = max(found, key=lambda each: each[4], default=None)
    if most is None:
        return [Claim("most memory of a verb", "2,000 MB")]
    return [Claim(f"most memory of a verb ({most[0]})", "2,000 MB", f"{most[4]:,.0f} MB", most[4] <= 2000)]


def tables(results: dict[str, Any]) -> list[str]:
    """One row a verb."""
    lines = [
        row(["command", "items", "", "CPU s", "items per CPU s", "peak MB"]),
        row(["---", "---:", "---"] + ["---:"] * 3),
    ]
    for name, seconds, items, unit, memory in rows(results):
        rate = f"{items / seconds:,.0f}" if items else ""
        shown = [f"{items:,.0f}", unit] if items else ["", "model"]
        lines.append(row([f"`{name}`", *shown, number(seconds), rate, f"{memory:,.0f}"]))
    return ["### Every verb", "\n".join(lines)]


def notes(results: dict[str, Any]) -> str:
    """How to read the table."""
    return (
        "### Notes\n\n- Whole commands: starting up (about half a second of CPU time), reading files and models, and "
        "writing are counted. Items are those of the largest input; a command that only reads a model has none.\n- "
        f"Commands are those of `bench/record.txt`; the sample: `corpuscle {SIZE}`."
    )
