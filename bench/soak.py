"""``python -m bench soak --minutes N``: the whole product under damaged input, odd options and kills, for a while.

A *trial* does one bad thing and judges how Corpuscle takes it. What is tried is not listed here: command lines come
from the record (``record.txt``), options from the command tree, readers from the packages of the catalogue, model files
from the tiny one of every kind. Kinds of trials take turns so that each gets about the same time; the trial NUMBER of a
KIND depends on nothing but the seed, so that ``--repeat SEED:KIND:NUMBER`` does it again (the moment of a kill is as
exact as the machine's clock). The folder of a bad trial is kept in ``bench/cells/soak``.

Trials run in a process of their own, which calls the command line as a function; this process watches it, and starts
another one after a crash, a hang, or when too much memory is taken.

Verdicts: fine (exit code 0), refused (exit code 2 and one line of error), and the bad ones, ``BAD``.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench import harness, record
from bench.soak_stock import Line, Stock, digests, files_in
from corpuscle.catalogue import TASKS
from corpuscle.cli.main import main as corpuscle
from corpuscle.errors import CorpuscleError, CorpuscleWarning
from corpuscle.learning import SUFFIX, Checkpoint
from corpuscle.model import read_header
from corpuscle.progress import one_line
from tests import hostile, mutation, tiny_models

KEPT = harness.CELLS / "soak"
BAD = {
    "unclear": "exit code 2 without exactly one line of error below 1,000 characters, a traceback, a warning of Python",
    "crash": "exit code 1, or a signal",
    "hang": "more than 20 s of CPU time, 60 s without any, or 10 minutes",
    "memory": "more than 1,500 MB",
    "damaged": "an input changed, an output half-written, other bytes than an undisturbed run's",
}
SECONDS, WAITING, ENDLESS, MEGABYTES, CHARACTERS = 20.0, 60.0, 600.0, 1500.0, 1000
LONG = (b"x" * 5000, b"9" * 5000, b"(" * 5000, b"\xcc\x81" * 2500, b"a\tb\n" * 1250)
ODD = ["", "\u0663", "\u00b2", " 1", "\x1b[2J", "a\nb", "\udcff", "x" * 5000, "9" * 5000, str(10**30), str(2**63)]
ODD += ["-1", "0", "-0.0", "1e308", "1e-320", "nan", "inf", "0x10", "1_0", ",", "1,,2", ";", "-", "no/such/place", "%s"]


@dataclass(frozen=True)
class Chosen:
    """A trial has taken a line of this group of the record."""

    group: str


@dataclass
class Trial:
    """What was done, and what came of it."""

    verdict: str = "fine"
    why: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0
    notes: list[str] = field(default_factory=list)

    def judge(self, verdict: str, *notes: str) -> None:
        """The worst verdict counts, and the last line of its notes says why."""
        order = ["fine", "refused", *BAD]
        if order.index(verdict) > order.index(self.verdict):
            said = [line for note in notes for line in note.splitlines() if line.strip()]
            self.verdict, self.why = verdict, one_line(said[-1] if said else "")[:120].replace("`", "'")
        self.notes += notes


# ---- what there is to try


@cache
def readers() -> list[Callable[..., Any]]:
    """Every public function ``read_...`` of a task whose first parameter is a path."""
    packages = [importlib.import_module(name) for name in dict.fromkeys(task.package for task in TASKS.values())]
    found = [getattr(each, name) for each in packages for name in each.__all__ if name.startswith("read_")]
    return [each for each in found if "Path" in str(next(iter(inspect.signature(each).parameters.values())).annotation)]


@cache
def kind_of(path: Path) -> str:
    """The kind of model in a file; empty if there is none."""
    try:
        return read_header(path)[0]["kind"]
    except (CorpuscleError, OSError):
        return ""


# ---- damage


def damaged(good: bytes, dice: random.Random) -> bytes:
    """A text or table with some damage, now and then with something endless in it."""
    bad = mutation.mutate(good, dice)
    if dice.random() < 0.15:
        where = dice.randrange(len(bad) + 1)
        bad = bad[:where] + dice.choice(LONG) + bad[where:]
    return bad


def edited(good: bytes, dice: random.Random) -> bytes:
    """A model, a JSON file or a text, changed by somebody who knows what it is."""
    if good[8:9] == b"{":
        return hostile.reseal(dice.choice(hostile.EDITS)(good, dice))
    if good[:1] == b"{" and dice.random() < 0.8:
        return json.dumps(hostile._change_one(json.loads(good), dice)).encode("utf-8", "replace")
    return damaged(good, dice)


# ---- trials, in the process that is watched


class Runs:
    """Does trials in the current folder. ``lines``: what there is; ``tell``: called when a line is chosen, and, before
    each piece of work that has the time limit for itself, with what that is."""

    def __init__(self, lines: Sequence[Line], tell: Callable[[Any], None]):
        self.lines, self.tell = lines, tell
        self.items: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.samples: dict[tuple[str, str], list[Path]] = {}
        inputs = files_in(lines[0].home.parent / "inputs")
        for path in [*inputs, *(line.home / name for line in lines for name in line.outputs)]:
            self.samples.setdefault((path.parent.name, path.suffix or path.name), []).append(path)

    def trial(self, seed: int, kind: str, number: int) -> Trial:
        """Do one trial."""
        trial, dice = Trial(), random.Random(f"{seed}:{kind}:{number}")
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory counts from here on
        before, begin = memory("VmRSS"), sum(os.times()[:4])
        KINDS[kind](self, trial, dice)
        trial.seconds = sum(os.times()[:4]) - begin
        trial.megabytes = max(0.0, memory("VmHWM") - before)
        if trial.megabytes > MEGABYTES:
            trial.judge("memory", f"{trial.megabytes:,.0f} MB")
        return trial

    def choose(self, dice: random.Random, wanted: Callable[[Line], Any]) -> Line:
        """One of the lines that are wanted, of any task alike."""
        lines = [line for line in self.lines if wanted(line)]
        task = dice.choice(sorted({line.words[0] for line in lines}))
        line = dice.choice([line for line in lines if line.words[0] == task])
        self.tell(Chosen(line.home.name))
        return line

    def run(self, trial: Trial, line: Line | None, words: Sequence[str], stops: bool = False) -> str:
        """Run a command line as a function, judge how it ends (``stops``: it may be interrupted) and whether it leaves
        the inputs of ``line`` as they are; returns what it prints."""
        shown = f"corpuscle {shlex.join(words)}"
        self.tell(shown)
        inputs = [path for name in (line.inputs if line else ()) for path in files_in(Path(name))]
        held = {path: harness.digest(path) for path in inputs}
        output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape"), io.StringIO()
        with redirect_stdout(output), redirect_stderr(errors), warnings.catch_warnings():
            warnings.simplefilter("always")
            code = corpuscle([*words, "--quiet"])
        trial.judge(judged(code, errors.getvalue(), stops), shown, errors.getvalue()[-5000:].strip())
        for path, digest in held.items():
            if not path.exists() or harness.digest(path) != digest:
                trial.judge("damaged", f"{path} has changed")
        for left in Path().rglob("*.part"):
            trial.judge("damaged", f"{left.suffix} file left over")
        output.seek(0)
        return output.read()

    def compare(self, trial: Trial, line: Line) -> None:
        """All outputs must be those of an undisturbed run, and nothing unfinished may lie about."""
        for name, digest in line.outputs.items():
            if not Path(name).exists() or harness.digest(Path(name)) != digest:
                trial.judge("damaged", f"{name} is not what an undisturbed run writes")
        for left in Path().rglob("*.part*"):
            trial.judge("damaged", f"{left.suffix} file left over")

    # ---- kinds of trials

    def readers(self, trial: Trial, dice: random.Random) -> None:
        """A damaged file through every reader."""
        path = dice.choice(self.samples[dice.choice(list(self.samples))])
        for sibling in path.parent.glob(f"{path.stem}.*"):
            if sibling.is_file():
                shutil.copy(sibling, sibling.name)
        Path(path.name).write_bytes(damaged(path.read_bytes(), dice))
        for reader in readers():
            self.tell(f"{reader.__name__}({path.name!r})")
            given = inspect.signature(reader).parameters.values()
            needed = [each for each in given if each.default is each.empty and each.kind != each.KEYWORD_ONLY]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.simplefilter("ignore", CorpuscleWarning)
                    found = reader(*("." if each.name == "folder" else path.name for each in needed))
                    Counter(map(type, found)) if isinstance(found, Iterator) else None
            except CorpuscleError as error:
                clear = 0 < len(str(error)) < CHARACTERS
                trial.judge("refused" if clear else "unclear", "" if clear else f"{reader.__name__}: {error}"[:5000])
            except MemoryError:
                trial.judge("refused")
            except Exception:
                trial.judge("crash", f"{reader.__name__}({path.name!r})", traceback.format_exc().strip())

    def commands(self, trial: Trial, dice: random.Random) -> None:
        """A command with a damaged input."""
        line = self.choose(dice, lambda line: line.inputs)
        line.lay_out()
        path = dice.choice(files_in(Path(dice.choice(line.inputs))))
        path.write_bytes(damaged(path.read_bytes(), dice))
        self.run(trial, line, line.words)

    def options(self, trial: Trial, dice: random.Random) -> None:
        """A command with an odd value of an option, or with one odd word."""
        line = self.choose(dice, lambda line: True)
        line.lay_out()
        words = list(line.words)
        if dice.random() < 0.2:
            words[dice.randrange(1, len(words))] = dice.choice(ODD)
        else:
            option = dice.choice(list(line.options.values()))
            flag = dice.choice([*option.opts, *option.secondary_opts])
            words += [flag, *(dice.choice(ODD) for _ in range(0 if option.is_flag else option.nargs))]
        self.run(trial, line, words)

    def models(self, trial: Trial, dice: random.Random) -> None:
        """An edited model, its checksum made right, in a command that takes such a model, or in ``info``."""
        kind = dice.choice([kind for task in TASKS.values() for kind in task.kinds])
        good = tiny_models.FOLDER / f"{kind}.model"
        users = [line for line in self.lines if any(kind_of(line.home / name) == kind for name in line.inputs)]
        line, name = None, "model"
        if users and dice.random() < 0.85:
            line = self.choose(dice, users.__contains__)
            line.lay_out()
            name = next(name for name in line.inputs if kind_of(line.home / name) == kind)
            good = dice.choice((good, line.home / name))
        Path(name).write_bytes(edited(good.read_bytes(), dice))
        self.run(trial, line, line.words if line else ["info", name])

    def unfinished(self, trial: Trial, dice: random.Random) -> None:
        """A command that is interrupted, its unfinished work edited, and taken up again."""
        packs = [line for line in self.lines if any((line.home / word / "state.json").exists() for word in line.words)]
        while not self.items_of(line := self.choose(dice, lambda line: "resume" in line.options or line in packs)):
            pass
        line.lay_out()
        with interrupting(dice.randint(1, self.items_of(line))):
            self.run(trial, line, line.words, stops=True)
        inputs = {path for name in line.inputs for path in files_in(Path(name))}
        left = [path for path in files_in(Path()) if path not in inputs and str(path) not in line.outputs]
        left += [path for path in map(Path, line.outputs) if len(path.parts) > 1 and path.exists()]
        unfinished = [path for path in left if path.suffix == SUFFIX]
        edit = dice.choice(left) if left and dice.random() < 0.75 else None
        if edit:
            edit.write_bytes(edited(edit.read_bytes(), dice))
        self.run(trial, line, [*line.words, *(["--resume"] if unfinished and "resume" in line.options else [])])
        if trial.verdict == "fine" and (edit is None or edit not in unfinished):
            self.compare(trial, line)

    def items_of(self, line: Line) -> int:
        """After how many items an undisturbed run of a command can be stopped and taken up again."""
        if line.label not in self.items:
            with tempfile.TemporaryDirectory() as folder, chdir(folder), interrupting(0) as items:
                line.lay_out()
                self.run(Trial(), line, line.words)
            self.items[line.label] = len(items)
        return self.items[line.label]

    def kills(self, trial: Trial, dice: random.Random) -> None:
        """A command that writes is killed at some moment and begun again."""
        line = self.choose(dice, lambda line: line.outputs)
        line.lay_out()
        if line.label not in self.seconds:
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                line.lay_out()
                begin = time.perf_counter()
                self.child(trial, line.words)
                self.seconds[line.label] = time.perf_counter() - begin
        how = dice.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
        self.child(trial, line.words, how, dice.random() * self.seconds[line.label])
        for name, digest in line.outputs.items():
            if Path(name).exists() and harness.digest(Path(name)) != digest:
                trial.judge("damaged", f"{name} is half-written after {how.name}")
        unfinished = "resume" in line.options and any(Path(name + SUFFIX).exists() for name in line.outputs)
        self.child(trial, [*line.words, *(["--resume"] if unfinished else [])])
        self.compare(trial, line)

    def child(self, trial: Trial, words: Sequence[str], how: int = 0, moment: float = 0.0) -> None:
        """Run a command line in a process of its own; ``how``: a signal that it gets after so many seconds."""
        shown = f"corpuscle {shlex.join(words)}"
        if how:
            shown += f"  # {signal.Signals(how).name} after {moment:.3f} s"
        self.tell(shown)
        command = [sys.executable, "-m", "corpuscle", *words, "--quiet"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            if how:
                _, errors = child.communicate(timeout=moment)
            else:
                errors = said(child)
        except subprocess.TimeoutExpired:
            child.send_signal(how)
            errors = said(child)
        if errors is None:
            trial.judge("hang", shown)
            return
        stopped = child.returncode in (-how, 128 + how)
        trial.judge("fine" if stopped else judged(child.returncode, errors), shown, errors[-5000:].strip())

    def workers(self, trial: Trial, dice: random.Random) -> None:
        """A command gives the same with one, two and three workers."""
        line = self.choose(dice, lambda line: "workers" in line.options)
        found: list[Any] = []
        for number in 1, 2, 3:
            Path(str(number)).mkdir()
            with chdir(str(number)):
                line.lay_out()
                before = record.files()
                printed = self.run(trial, line, [*line.words, "--workers", str(number)])
                *rest, last = printed.splitlines() or [""]
                figures = record.figures(json.loads(last)) if last[:1] == "{" else last
                found.append((rest, figures, digests(before)))
        if any(each != found[0] for each in found):
            trial.judge("damaged", f"other output with more workers: {line.label}")


KINDS: dict[str, Callable[[Runs, Trial, random.Random], None]] = {
    each.__name__: each
    for each in (Runs.readers, Runs.commands, Runs.options, Runs.models, Runs.unfinished, Runs.kills, Runs.workers)
}


def judged(code: int, errors: str, stops: bool = False) -> str:
    """The verdict on an exit code and what was said."""
    if code not in ((0, 2, 130) if stops else (0, 2)):
        return "crash"
    said = [line for line in errors.splitlines() if not line.startswith("warning: ")]
    if "Traceback (most" in errors or re.search(r"^\S+:\d+: \w*Warning: ", errors, re.M):
        return "unclear"
    if code != 2:
        return "fine"
    return "refused" if len(said) == 1 and said[0].startswith("error: ") and len(said[0]) < CHARACTERS else "unclear"


@contextmanager
def interrupting(at: int) -> Iterator[list[int]]:
    """A Ctrl-C for every learner after so many items; the list has an entry for each item that was done."""
    items: list[int] = []
    original = Checkpoint.after

    def after(self: Checkpoint, *args: Any, **facts: Any) -> None:
        items.append(len(items))
        if len(items) == at:
            signal.raise_signal(signal.SIGINT)
        original(self, *args, **facts)

    Checkpoint.after = after  # type: ignore[method-assign]
    try:
        yield items
    finally:
        Checkpoint.after = original  # type: ignore[method-assign]


def memory(name: str, process: int | str = "self") -> float:
    """The present (VmRSS) or highest (VmHWM) memory of a process in MB; 0 if it is gone."""
    try:
        return int(re.findall(rf"{name}:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) / 1024
    except (OSError, IndexError):
        return 0.0


def cpu(process: int) -> tuple[float, float]:
    """The seconds that a process has worked, alone and with its children; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        tasks = Path(f"/proc/{process}/task").glob("*/children")
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:
        return 0.0, 0.0
    own, waited = (sum(map(int, fields[i : i + 2])) / os.sysconf("SC_CLK_TCK") for i in (11, 13))
    return own, own + waited + sum(cpu(child)[1] for child in children)


class Patience:
    """How long a process may go on. Its own time counts, since the machine may have other work to do."""

    def __init__(self, process: int):
        self.process, self.begun = process, time.monotonic()
        self.active, (self.first, self.last) = self.begun, cpu(process)
        self.seconds = 0.0

    def ends(self) -> bool:
        """Whether this has been a hang: too much work, or too long without any, by its children neither."""
        now, (own, whole) = time.monotonic(), cpu(self.process)
        self.seconds = max(self.seconds, own - self.first)
        if whole != self.last:
            self.active, self.last = now, whole
        return self.seconds > SECONDS or now - self.active > WAITING or now - self.begun > ENDLESS


def said(child: subprocess.Popen[str]) -> str | None:
    """The messages of a process that comes to its end; one that hangs is killed and has said nothing."""
    patience = Patience(child.pid)
    while True:
        try:
            return child.communicate(timeout=0.2)[1]
        except subprocess.TimeoutExpired:
            if patience.ends():
                child.kill()
                child.communicate()
                return None


def serve(pipe: Any, lines: Sequence[Line]) -> None:
    """Do the trials that come through a pipe."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    runs = Runs(lines, pipe.send)
    while True:
        folder, *which = pipe.recv()
        with chdir(folder):
            pipe.send(runs.trial(*which))


# ---- the process that watches


class Watch:
    """Has trials done by another process, and starts a new one when that is lost. ``groups``: those of the record whose
    lines the last trial chose."""

    def __init__(self, lines: Sequence[Line], folder: Path):
        self.lines, self.folder = lines, folder
        self.process: Any = None
        self.groups: set[str] = set()

    def trial(self, seed: int, kind: str, number: int) -> Trial:
        """A trial, its folder kept if it is bad."""
        self.groups = set()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other, self.lines), daemon=True)
            self.process.start()
            other.close()
        self.pipe.send((self.folder, seed, kind, number))
        trial = self._wait()
        if trial.verdict in BAD:
            kept = KEPT / f"{seed}-{kind}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.folder, kept)
            (kept / "trial.txt").write_text("\n".join([trial.verdict, *trial.notes, ""]), "utf-8", "replace")
        return trial

    def _wait(self) -> Trial:
        """What the other process says; if it does not, why."""
        pid, doing = self.process.pid, ""
        patience, before = Patience(pid), memory("VmRSS", pid)
        while True:
            megabytes = memory("VmRSS", pid) - before
            lost = Trial(seconds=patience.seconds, megabytes=max(0.0, megabytes), notes=[doing])
            try:
                if self.pipe.poll(0.02):
                    answer = self.pipe.recv()
                    if isinstance(answer, Trial):
                        return answer
                    if isinstance(answer, Chosen):
                        self.groups.add(answer.group)
                        continue
                    patience, doing = Patience(pid), answer
                elif megabytes > MEGABYTES or patience.ends():
                    what = "memory" if megabytes > MEGABYTES else "hang"
                    lost.judge(what, f"{patience.seconds:.0f} CPU s, {megabytes:,.0f} MB")
                    return lost
            except (EOFError, OSError):
                self.process.join()
                lost.judge("crash", f"the process ended with exit code {self.process.exitcode}")
                return lost
            finally:
                if lost.verdict in BAD:
                    self.close()

    def close(self) -> None:
        """End the other process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def soak(
    minutes: float, seed: int = 1, groups: Sequence[str] | None = None, most: int | None = None
) -> list[tuple[str, int, Trial]]:
    """All trials that the time allows (``most``: of each kind), with their kinds and numbers."""
    done: list[tuple[str, int, Trial]] = []
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Stock(KEPT / "stock", groups or list(record.commands())).make(), Path(folder, "trial"))
        end, spent, numbers = time.monotonic() + 60 * minutes, Counter(dict.fromkeys(KINDS, 0.0)), Counter[str]()
        while spent and time.monotonic() < end:
            kind, begin = min(spent, key=spent.__getitem__), time.monotonic()
            trial = watch.trial(seed, kind, numbers[kind])
            done.append((kind, numbers[kind], trial))
            if trial.verdict in BAD:
                print(f"{seed}:{kind}:{numbers[kind]}: {trial.verdict}: {trial.why}", flush=True)
            numbers[kind] += 1
            spent[kind] += time.monotonic() - begin
            if numbers[kind] == most:
                del spent[kind]
        watch.close()
    return done


def again(seed: int, kind: str, number: int, groups: Sequence[str] | None = None) -> Trial:
    """One trial of a soak, with what that soak had to try; what the trial chooses is made by the present version."""
    stock = Stock(KEPT / "stock", groups or list(record.commands()))
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(stock.lines or stock.make(), Path(folder, "trial"))
        trial = watch.trial(seed, kind, number)
        if stock.renew(watch.groups):
            watch.close()
            watch = Watch(stock.lines, Path(folder, "trial"))
            trial = watch.trial(seed, kind, number)
        watch.close()
    return trial


def table(done: Sequence[tuple[str, int, Trial]]) -> str:
    """One row a kind of trial."""
    verdicts = ["fine", "refused", *BAD]
    head = ["trials", "number", *verdicts, "slowest CPU s", "peak MB"]
    lines = [harness.row(head), harness.row(["---"] + ["---:"] * (len(head) - 1))]
    for kind in [*KINDS, "all"]:
        trials = [trial for name, _, trial in done if kind in (name, "all")]
        counts = Counter(trial.verdict for trial in trials)
        slowest, peak = (max((getattr(each, what) for each in trials), default=0) for what in ("seconds", "megabytes"))
        row = [kind, len(trials), *(counts[verdict] for verdict in verdicts)]
        lines.append(
            harness.row([*(f"{cell:,}" if cell != kind else kind for cell in row), f"{slowest:.1f}", f"{peak:,.0f}"])
        )
    return "\n".join(lines)


def main(words: Sequence[str]) -> dict[str, Any]:
    """Do what the command line says; the results, or none if they are not for the page."""
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of all choices (default 1)")
    parser.add_argument("--repeat", metavar="SEED:KIND:NUMBER", help="do one trial again and say what happens")
    given = parser.parse_args(words)
    if given.repeat:
        seed, kind, number = given.repeat.split(":")
        trial = again(int(seed), kind, int(number))
        print("\n".join([*trial.notes, trial.verdict]))
        return {}
    done = soak(given.minutes, given.seed)
    command = f"python -m bench soak --minutes {given.minutes:g} --seed {given.seed}"
    return {"soak": {"date": time.strftime("%Y-%m-%d"), "command": command, "seed": given.seed, "done": done}}


def claims(results: dict[str, Any]) -> list[harness.Claim]:
    """Nothing bad happens."""
    verdicts = [trial.verdict for _, _, trial in results["soak"]["done"]]
    bad = sum(verdict in BAD for verdict in verdicts)
    return [harness.Claim(f"bad ends of {len(verdicts):,} trials", "0", str(bad), bad == 0)]


def tables(results: dict[str, Any]) -> Iterator[str]:
    """The table, and every bad trial by how to repeat it."""
    yield f"`{results['soak']['command']}`"
    yield table(results["soak"]["done"])
    found: dict[tuple[str, str], list[str]] = {}
    for kind, number, trial in results["soak"]["done"]:
        if trial.verdict in BAD:
            found.setdefault((trial.verdict, trial.why), []).append(f"{results['soak']['seed']}:{kind}:{number}")
    yield "\n".join(f"- {verdict}: {' '.join(which)}: `{why}`" for (verdict, why), which in found.items())


def notes(results: dict[str, Any]) -> str:
    """What the columns mean."""
    kinds = [f"- {kind}: {(each.__doc__ or '').rstrip('.')}" for kind, each in KINDS.items()]
    bad = "; ".join(f"{verdict}: {what}" for verdict, what in BAD.items())
    verdicts = f"- fine: exit code 0; refused: exit code 2 and one line of error; {bad}"
    peak = "- peak MB: beyond what the process had before the trial; kills are processes of their own, not measured"
    return "\n".join(["### Notes", "", *kinds, verdicts, peak])
