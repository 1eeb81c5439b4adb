"""Measures ours and a peer side by side, and keeps what it has measured.

A *cell* is one comparison: two or more *sides* that do the same job on the same input. A side is a chain of whole
commands (start-up included) or a Python function in a fresh process. The sides take turns, repeat after repeat, so that
a slow moment of the machine hits all of them; figures are medians, and a ratio is taken within each repeat.

A finished cell is a JSON file named by a hash of everything that could change its outcome: the commands, the contents
of the input files, the versions, the machine. The next run finds it there and goes on with the others.

This process imports neither NumPy nor Numba: Linux counts the memory of the parent at the moment of starting a child
into the child's peak, so the parent must stay small.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
CELLS = HERE / "cells"
RESULTS = HERE / "results"
CORPUSCLE = str(Path(sys.executable).with_name("corpuscle"))
BUSY = 0.1
"""A machine is called busy when other processes take more than this share of its cores during a run."""


@dataclass(frozen=True)
class Commands:
    """Whole commands, one after the other. ``read`` names a function (``module:function``) that finds figures in the
    text that the last one prints; ``stdin`` is a file that each of them may read."""

    name: str
    argvs: tuple[tuple[str, ...], ...]
    read: str = ""
    stdin: str = os.devnull

    def shown(self) -> str:
        """The commands as people would type them, without folders."""
        source = "" if self.stdin == os.devnull else f" < {_shown(self.stdin)}"
        return " && ".join(" ".join(_shown(word) for word in argv) + source for argv in self.argvs)


@dataclass(frozen=True)
class Call:
    """A function ``module:function`` called as ``function(timer, **arguments)`` in a process of its own. It times what
    counts with ``with timer:`` and returns a dict of figures; lists of numbers are kept apart, as ``curves``."""

    name: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> str:
        """The call, without folders."""
        settings = ", ".join(
            f"{key}={_shown(value) if isinstance(value, str) else '...'}" for key, value in self.arguments.items()
        )
        return f"{self.function.partition(':')[2]}({settings})"


Side = Commands | Call


@dataclass(frozen=True)
class Cell:
    """One comparison. ``peer`` is the name of the side that the others are divided by; ``inputs`` are the files whose
    contents matter; ``prepare`` makes what the sides need and is not timed; ``sources`` are patterns of the files under
    ``src`` on which the outcome depends, for cells that take hours (default: all of them)."""

    name: str
    title: str
    sides: tuple[Side, ...]
    peer: str | None = None
    inputs: tuple[Path, ...] = ()
    prepare: Callable[[], None] | None = None
    repeats: int | None = None
    warm_up: bool = True
    sources: tuple[str, ...] = ("**/*.py",)


@dataclass(frozen=True)
class Claim:
    """Something that a benchmark must show, and whether it does; None where chance does not let us say."""

    text: str
    target: str
    measured: str = "not measured"
    holds: bool | None = None

    def told(self, gain: Any) -> Claim:
        """The same with a paired comparison of shares that must be above 0, in points of a hundred."""
        measured = f"{100 * gain.difference:+.2f} ({100 * gain.low:+.2f} to {100 * gain.high:+.2f})"
        return Claim(self.text, self.target, measured, None if gain.low <= 0 <= gain.high else gain.difference > 0)


class Timer:
    """Adds up the seconds of wall and CPU time (of all threads) spent in its ``with`` blocks."""

    wall = cpu = 0.0

    def __enter__(self) -> Timer:
        self._begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._begun[0]
        self.cpu += time.process_time() - self._begun[1]


def measure(side: Side) -> dict[str, Any]:
    """Run one side once: seconds of wall and CPU time, peak memory in MB, the core seconds that other processes took
    and could have taken meanwhile, and the side's own figures."""
    if isinstance(side, Call):
        call = json.dumps([side.function, side.arguments])
        run = run_command((sys.executable, "-m", "bench.harness", call))
        answer = json.loads(run.pop("output").splitlines()[-1])
        return {**run, **answer}
    runs = [run_command(argv, side.stdin) for argv in side.argvs]
    outputs = [run.pop("output") for run in runs]
    return {
        "wall": sum(run["wall"] for run in runs),
        "cpu": sum(run["cpu"] for run in runs),
        "peak": max(run["peak"] for run in runs),
        "others": sum(run["others"] for run in runs),
        "core_seconds": sum(run["core_seconds"] for run in runs),
        "figures": _function(side.read)(outputs[-1]) if side.read else {},
    }


def run_cell(bench: str, cell: Cell, repeats: int, fresh: bool = False, folder: Path = CELLS) -> dict[str, Any]:
    """The result of a cell: stored, or measured now and stored."""
    stored = place_of(bench, cell, repeats, folder)
    if stored.exists() and not fresh:
        return json.loads(stored.read_text())
    (CELLS / "files").mkdir(parents=True, exist_ok=True)
    if cell.prepare is not None:
        cell.prepare()
    if cell.warm_up:
        for side in cell.sides:
            measure(side)
    load = os.getloadavg()[0]
    runs: dict[str, list[dict[str, Any]]] = {side.name: [] for side in cell.sides}
    for _ in range(cell.repeats or repeats):
        for side in cell.sides:
            runs[side.name].append(measure(side))
    every = [run for side in runs.values() for run in side]
    others = sum(run["others"] for run in every) / sum(run["core_seconds"] for run in every)
    if others > BUSY:
        print(f"warning: {cell.name}: other processes took {others:.0%} of the cores", file=sys.stderr)
    result = {
        "name": cell.name,
        "title": cell.title,
        "peer": cell.peer,
        "shown": {side.name: side.shown() for side in cell.sides},
        "date": time.strftime("%Y-%m-%d"),
        "load": load,
        "others": others,
        "runs": runs,
    }
    folder.mkdir(parents=True, exist_ok=True)
    aside = stored.with_suffix(".partial")
    aside.write_text(json.dumps(result, indent=1))
    aside.replace(stored)
    return result


def trained(name: str, learner: Callable[[], Any], *texts: Any, **more: Any) -> tuple[Any, float]:
    """A trained model and the CPU seconds that it took: kept from an earlier run, or learned now from ``texts`` and
    ``more``, perhaps from where an earlier run was stopped."""
    import corpuscle

    path, notes = CELLS / "files" / f"{name}.model", CELLS / "files" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(notes.read_text())["seconds"] if notes.exists() else 0.0
    if not path.exists():
        model, begin = learner(), time.process_time()
        try:
            with model.checkpoint(*texts, path, resume=Path(f"{path}.partial").exists(), **more) as checkpoint:
                model.fit(*texts, checkpoint=checkpoint, **more).save(path)
        finally:
            before += time.process_time() - begin
            notes.write_text(json.dumps({"seconds": before}))
    return corpuscle.load(path), before


def place_of(bench: str, cell: Cell, repeats: int, folder: Path = CELLS) -> Path:
    """Where a cell is kept when it is finished."""
    return folder / f"{bench}-{cell.name}-{key_of(bench, cell, repeats)}.json"


def key_of(bench: str, cell: Cell, repeats: int) -> str:
    """A hash of everything that could change the outcome of a cell."""
    sides = [{"kind": type(side).__name__, **asdict(side)} for side in cell.sides]
    inputs = [digest(path) for path in cell.inputs]
    what = [bench, cell.name, cell.peer, sides, inputs, cell.repeats or repeats, versions(cell.sources), machine()]
    return hashlib.blake2b(json.dumps(what, sort_keys=True).encode(), digest_size=8).hexdigest()


def typical(result: dict[str, Any], side: str, what: str = "wall") -> float:
    """The median of a side's wall time, CPU time, peak memory or of one of its figures."""
    return median(run[what] if what in run else run["figures"][what] for run in result["runs"][side])


def ratios(result: dict[str, Any], side: str) -> list[float]:
    """The side's wall time divided by the peer's, repeat by repeat."""
    pairs = zip(result["runs"][side], result["runs"][result["peer"]], strict=True)
    return [ours["wall"] / peer["wall"] for ours, peer in pairs]


def joined(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Cells with the same title as one, with the sides of all; for benches whose sides run in cells of their own."""
    together: dict[str, dict[str, Any]] = {}
    for result in results.values():
        if (former := together.get(result["title"])) is not None:
            merged = {part: {**former[part], **result[part]} for part in ("runs", "shown")}
            load = {what: max(former[what], result[what]) for what in ("load", "others")}
            result = {**former, **merged, **load}
        together[result["title"]] = result
    return list(together.values())


def perplexity_ratio(results: dict[str, Any], mine: str, other: str) -> tuple[str, bool | None] | tuple[()]:
    """The perplexity of a cell over that of another, with its 95 % interval over the same pieces of text, and whether
    it is above 1 (None: the interval has 1 in it); nothing where one has not run. Their first sides have the curves
    ``logs``, natural logs of the probabilities of pieces, and ``lengths``."""
    if mine not in results or other not in results:
        return ()
    import numpy as np

    first, second = (next(iter(results[cell]["runs"].values()))[0]["curves"] for cell in (mine, other))
    losses, lengths = np.subtract(second["logs"], first["logs"]), np.array(first["lengths"])
    drawn = np.random.default_rng(1).integers(len(losses), size=(1000, len(losses)))
    low, high = np.quantile(np.exp(losses[drawn].sum(1) / lengths[drawn].sum(1)), (0.025, 0.975))
    ratio = float(np.exp(losses.sum() / lengths.sum()))
    return f"{ratio:.3f} ({low:.3f} to {high:.3f})", None if low <= 1 <= high else ratio > 1


def cpu_hours(results: dict[str, Any]) -> float:
    """What all runs together cost, with the training that sides report as ``training CPU s``."""
    runs = [run for result in results.values() for side in result["runs"].values() for run in side]
    return sum(run["cpu"] + run["figures"].get("training CPU s", 0.0) for run in runs) / 3600


def not_run(cells: Iterable[Cell], results: dict[str, Any]) -> list[str]:
    """A line that names the cells that have not run, if there are any."""
    missing = [cell.name for cell in cells if cell.name not in results]
    return [f"- Not run yet: {', '.join(missing)}."] if missing else []


def table(result: dict[str, Any]) -> str:
    """A cell as a Markdown table, its commands below."""
    peer = result["peer"]
    figures = list(dict.fromkeys(key for side in result["runs"].values() for key in side[0]["figures"]))
    head = ["", "wall s", "CPU s", "peak MB"] + ([f"times {peer} (min to max)"] if peer else []) + figures
    lines = [f"### {result['title']}", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for side, runs in result["runs"].items():
        cells = [side] + [number(typical(result, side, what)) for what in ("wall", "cpu", "peak")]
        if peer:
            shares = ratios(result, side)
            cells.append("1" if side == peer else f"{median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})")
        cells += [number(typical(result, side, key), 6) if key in runs[0]["figures"] else "" for key in figures]
        lines.append(row(cells))
    repeats = len(next(iter(result["runs"].values())))
    busy = f"load {result['load']:.1f}, {result['others']:.0%} of the cores taken by others"
    lines += ["", f"Median of {repeats} ({result['date']}, {busy}).", ""]
    return "\n".join(lines + [f"- {side}: `{shown}`" for side, shown in result["shown"].items()] + [""])


def claims_table(claims: Iterable[Claim]) -> str:
    """What must be shown, as a Markdown table."""
    lines = [row(["claim", "target", "measured", "holds"]), row(["---", "---:", "---:", "---"])]
    for claim in claims:
        holds = "yes" if claim.holds else "**no**" if claim.holds is False else "not told apart"
        shown = "" if claim.measured == Claim.measured else holds
        lines.append(row([claim.text, claim.target, claim.measured, shown]))
    return "\n".join([*lines, ""])


def benches() -> list[str]:
    """The names of all benchmarks: the modules here that have a function ``cells``."""
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef cells(" in path.read_text())


def page_of(bench: str) -> Path:
    """The page of results that a benchmark shares with the others of its task: ``lm_pitman_yor`` is one of ``lm``."""
    return RESULTS / f"{bench.partition('_')[0]}.md"


def write_section(path: Path, bench: str, text: str) -> None:
    """Put ``text`` between the marks of this benchmark in a Markdown file, after its last line if they are new."""
    begin, end = f"<!-- {bench}: begin -->", f"<!-- {bench}: end -->"
    old = path.read_text() if path.exists() else f"# Results: {path.stem}\n"
    if begin not in old:
        old += f"\n{begin}\n{end}\n"
    before, _, rest = old.partition(begin)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{rest.partition(end)[2]}")


def summary(folder: Path = RESULTS) -> str:
    """The page of all claims: one table for each page of results, with the date of its section beside each claim."""
    parts = []
    for page in sorted(folder.glob("*.md")):
        lines = [row(["claim", "target", "measured", "holds", "date"]), row(["---", "---:", "---:", "---", "---"])]
        for section in re.findall(r"<!-- \w+: begin -->\n(.*?)<!-- \w+: end -->", page.read_text(), re.S):
            date = re.search(r"^(\d{4}-\d\d-\d\d(?: to [\d-]+)?) on ", section, re.M)
            table = re.search(r"^\| claim \|.*\n\| ---.*\n((?:\|.*\n)*)", section, re.M)
            for claim in table[1].splitlines() if table else ():
                lines.append(f"{claim} {date[1] if date and Claim.measured not in claim else ''} |")
        verdicts = [line.split(" | ")[-2].strip() for line in lines[2:]]
        told = {"hold": "yes", "do not": "**no**", "not told apart": "not told apart", "not measured": ""}
        counts = ", ".join(f"{verdicts.count(v)} {name}" for name, v in told.items() if v in verdicts)
        head = f"## {page.stem}\n\n{len(verdicts)} claims: {counts}. [Details]({folder.name}/{page.name})\n\n"
        parts.append(head + "\n".join(lines))
    return "\n\n".join([_SUMMARY, *parts]) + "\n"


_SUMMARY = """# Results

All claims, task by task, with their targets; the pages behind the links have every table with its machine, versions and
commands. Written by `python -m bench NAME`; [README.md](README.md) says how. *Not told apart*: the 95 % interval of the
difference contains 0. Each table says how much of the machine other processes took meanwhile: ratios of a busy machine
are worth less."""


def digest(path: Path) -> str:
    """A hash of a file's contents."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:16]


def source_digest(patterns: Iterable[str] = ("**/*.py",)) -> str:
    """A hash of our own source, or of some files of it: results of another source are other results."""
    whole = hashlib.blake2b(digest_size=8)
    found = {pattern: list((HERE.parent / "src").glob(pattern)) for pattern in patterns}
    if missing := [pattern for pattern, paths in found.items() if not paths]:
        raise ValueError(f"no source matches {', '.join(missing)}")
    for path in sorted({path for paths in found.values() for path in paths}):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def versions(sources: Iterable[str] = ("**/*.py",)) -> dict[str, str]:
    """The versions of what takes part."""
    found = {"python": platform.python_version(), "source": source_digest(sources)}
    for package in ("corpuscle", "numpy", "scipy", "numba", "kenlm"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def machine() -> dict[str, str]:
    """The processor, its cores, and the memory."""
    processor = platform.processor() or platform.machine()
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "processor": processor,
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(memory) / 2**20:.0f} GB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def run_command(argv: tuple[str, ...], stdin: str = os.devnull, folder: Path = HERE.parent) -> dict[str, Any]:
    """Run one command to its end. Its standard error is kept aside and shown only if it fails."""
    with open(stdin, "rb") as source, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        busy, begun = _busy_seconds(), time.perf_counter()
        child = subprocess.Popen(argv, stdin=source, stdout=output, stderr=errors, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        wall, busy = time.perf_counter() - begun, _busy_seconds() - busy
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode != 0:
            last = errors.read().decode(errors="replace").strip()[-2000:]
            raise RuntimeError(f"{' '.join(argv)} failed with exit code {child.returncode}:\n{last}")
        cpu = usage.ru_utime + usage.ru_stime
        return {
            "wall": wall,
            "cpu": cpu,
            "peak": usage.ru_maxrss / 1024,
            "others": max(0.0, busy - cpu),
            "core_seconds": wall * (os.cpu_count() or 1),
            "output": output.read().decode(errors="replace"),
        }


def _busy_seconds() -> float:
    """The seconds that all cores together have worked since the machine started."""
    user, nice, system, *_ = next(iter(_lines("/proc/stat")), "cpu 0 0 0").split()[1:]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def _shown(word: str) -> str:
    return Path(word).name if os.sep in word else word


def row(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def number(value: float, digits: int = 3) -> str:
    """So many significant digits; thousands separated and whole."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def _serve_call(request: str) -> None:
    """What the process of a ``Call`` does."""
    function, arguments = json.loads(request)
    timer = Timer()
    answer = _function(function)(timer, **arguments) or {}
    curves = {name: value for name, value in answer.items() if isinstance(value, list)}
    figures = {name: value for name, value in answer.items() if name not in curves}
    print(json.dumps({"wall": timer.wall, "cpu": timer.cpu, "figures": figures, "curves": curves}))


if __name__ == "__main__":
    _serve_call(sys.argv[1])
