"""``learn``: look at a kit, do every step that its files allow, write the report.

A step that was already done with the same input, settings and versions is not repeated. Since everything that matters
is written when a step ends, a run can be stopped at any time, and the same command goes on from there. The files of all
steps are checked before the first one begins; a step whose files are wrong, or which fails, is missing in the report.

Steps that do not need each other are done side by side (``corpuscle.packs.crew``), in the order of what most people
have: text, translations, names. The report is written after each of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpuscle import __version__
from corpuscle.catalogue import TASKS, find
from corpuscle.compiled import is_temporary
from corpuscle.errors import InputError, Interrupted
from corpuscle.memory import physical
from corpuscle.model import source_date
from corpuscle.packs.chapter import Chapter
from corpuscle.packs.crew import Ended, Helper, Plan, crew, perform
from corpuscle.packs.intake import PREPARED, Intake, take_in
from corpuscle.packs.kit import ROLES
from corpuscle.packs.pack import Pack, record_digest
from corpuscle.packs.report import Report, Section
from corpuscle.packs.step import Job, LeftOut, Step
from corpuscle.progress import Course, clock, complain, say
from corpuscle.scale import default_workers
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import write_table
from corpuscle.text.wording import counted

STEPS: tuple[Step, ...] = tuple(find(place) for task in TASKS.values() for place in task.step.split())
"""All that can be learned, in the order of the catalogue, in which it is done."""

_MOST_SHOWN = 20  # errors of a step, and lines about files before learning begins
_WORTH_SHARING = 50_000  # bytes of a kit; with fewer, starting another process takes longer than it saves
_BYTES_A_PROCESS, _BYTES_A_BYTE = 500_000_000, 150  # memory of a process at most, and more for each byte of the kit
_FIRST = ("interlinear", "segment", "lm", "align", "names", "translate")  # what most people have files for


@dataclass(frozen=True)
class Outcome:
    """What a run of ``learn`` has done: where the report is, what each step says, which steps were kept as they were,
    why others were left out, the errors of those that failed (``FILE:LINE: reason``), and those of files that no step
    could read."""

    pack: Path
    report: Path
    chapters: Mapping[str, Chapter]
    kept: tuple[str, ...]
    left_out: Mapping[str, str]
    failed: Mapping[str, list[str]]
    refused: tuple[str, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        steps = {
            name: {"status": "kept" if name in self.kept else "done", **chapter.figures}
            for name, chapter in self.chapters.items()
        }
        return {
            "pack": str(self.pack), "report": str(self.report), "steps": steps, "left_out": dict(self.left_out),
            "failed": dict(self.failed), "refused": list(self.refused), "seconds": round(self.seconds, 3),
            "version": __version__,
        }  # fmt: skip


def learn(
    kit: AnyPath | None = None,
    pack: AnyPath = "pack",
    *,
    seed: int = 1,
    workers: int | None = None,
    cluster: str | None = None,
    encoding: str | None = None,
    strict: bool = False,
    steps: Sequence[Step] = STEPS,
) -> Outcome:
    """Learn everything that a folder allows (default: the built-in sample) into another folder, the pack.

    ``encoding``: of files that are neither UTF-8 nor have a byte-order mark. ``strict``: lines that cannot be read are
    errors; otherwise a few of them are left out and counted. Wrong files and steps that fail are in the outcome and in
    the report. It is an error if there is too little to learn anything, though nothing is wrong.
    """
    began = clock()
    source_date()  # a date that makes no sense is an error before all work
    target = Pack(pack)
    folder = _sample(target, seed) if kit is None else kit
    with TemporaryDirectory() as temporary:
        intake = take_in(folder, pack, Path(temporary) / PREPARED, encoding=encoding, strict=strict)
        possible = [step for step in steps if all(intake.kit.files.get(role) for role in step.needs)]
        if not possible:
            raise InputError(intake.kit.folder, None, _nothing_usable(intake, steps))
        target.create()
        intake = intake.moved(Path(temporary) / PREPARED, target.folder / PREPARED)
    glosses = target.folder / "glosses.tsv"
    glosses.unlink(missing_ok=True)
    if intake.glosses:
        write_table(glosses, (), intake.glosses)
    refused = _say_what_was_found(intake)
    target.state |= {"kit": str(intake.kit.folder), "seed": seed}
    for name in target.state["steps"].keys() - {step.name for step in possible}:
        target.forget(name)

    job = Job(intake.kit, target.folder, seed, workers, cluster)
    run = _Run(intake, target, job, possible)
    say(" · ".join([f"learning {counted(len(possible) - len(run.failed), 'thing')}", *_amounts(intake)]))
    run.do_all()
    done = target.state["steps"]
    target.state["steps"] = {step.name: done[step.name] for step in possible if step.name in done}  # whoever was first
    target.save()
    report = run.write_report()
    if run.bugs:
        raise run.bugs[0]
    if not run.sections and not run.failed:
        raise next(iter(run.left_out.values()))
    reasons = {name: reason.reason for name, reason in run.left_out.items()}
    chapters = {step.name: run.sections[step.name].chapter for step in possible if step.name in run.sections}
    kept = tuple(step.name for step in possible if step.name in run.kept)
    return Outcome(target.folder, report, chapters, kept, reasons, run.failed, refused, clock() - began)


class _Run:
    """The steps of a run, and how they end. ``failed``: their errors, also of steps that come after a failed one;
    ``bugs``: the errors that are ours."""

    def __init__(self, intake: Intake, target: Pack, job: Job, steps: Sequence[Step]):
        self.intake, self.target, self.job, self.steps = intake, target, job, steps
        self.kept: set[str] = set()
        self.left_out: dict[str, LeftOut] = {}
        self.bugs: list[BaseException] = []
        self.sections: dict[str, Section] = {}
        self._lock = threading.RLock()
        self.failed = self._wrong_files()

    def _wrong_files(self) -> dict[str, list[str]]:
        """The errors in the files of steps that are still to be done, each of which is shown once."""
        failed = {}
        for step in self.steps:
            try:
                wrong = [] if self._is_done(step) else step.check(self.job)
            except LeftOut:  # the step will say so
                continue
            except InputError as error:  # a file that cannot be opened
                wrong = [error]
            if wrong:
                failed[step.name] = list(map(str, wrong[:_MOST_SHOWN]))
            if len(wrong) > _MOST_SHOWN:
                failed[step.name].append(f"{wrong[-1].path}: {len(wrong) - _MOST_SHOWN:,} more errors")
        for message in dict.fromkeys(message for messages in failed.values() for message in messages):
            complain(message)
        return failed

    def do_all(self) -> None:
        sound = [step for step in self.steps if step.name not in self.failed]
        sound.sort(key=lambda step: _FIRST.index(step.name) if step.name in _FIRST else len(_FIRST))
        plan, self.course = Plan(sound), Course({step.name: step.title for step in sound})
        helpers = [Helper(STEPS, self.job, self.course.tell) for _ in range(self._more_processes())]
        with self.course:
            try:
                with crew(plan, helpers, self._do):
                    while step := plan.take():
                        self.course.mine = step.name
                        self._do(step, lambda step: perform(step, self.job))
                        self.course.mine = ""
                        plan.end(step)
            except (KeyboardInterrupt, Interrupted):
                done = [step.title.lower() for step in self.steps if step.name in self.sections]
                finished = f"finished: {', '.join(done)}" if done else "nothing is finished yet"
                raise Interrupted(f"stopped ({finished}); the same command goes on from here") from None

    def _more_processes(self) -> int:
        """How many processes beside this one are worth it, and have the memory."""
        size = sum(os.path.getsize(self.job.kit.path(name)) for names in self.job.kit.files.values() for name in names)
        todo = sum(not self._is_done(step) for step in self.steps)
        if self.job.workers["cluster"] is not None or is_temporary or size < _WORTH_SHARING:
            return 0
        room = int(physical() // (_BYTES_A_PROCESS + _BYTES_A_BYTE * size))
        return max(0, min(self.job.workers["workers"] or default_workers(), room, todo) - 1)

    def _fingerprint(self, step: Step) -> str:
        """Changes whenever the step could give another result."""
        job, before = self.job, {name: (self.target.done(name) or {}).get("fingerprint") for name in step.after}
        files, names = job.hashes((*step.needs, *step.wants)), job.kit.languages if "parallel" in step.needs else {}
        facts = [step.name, step.version, __version__, job.seed, dict(step.settings), files, before, dict(names)]
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()

    def _is_done(self, step: Step) -> bool:
        """Whether a step need not be done again: neither input nor files have changed, and its findings can be read."""
        record, fingerprint = self.target.done(step.name), self._fingerprint(step)
        if record is None or record.get("fingerprint") != fingerprint or record.get("digest") != record_digest(record):
            return False
        return not any(self.target.changed(record)) and step.read(record) is not None

    def _do(self, step: Step, work: Callable[[Step], Ended]) -> None:
        """Do a step unless it is done, or cannot be done; write down how it ended, and the report."""
        with self._lock:
            if before := [name for name in step.after if name in self.failed]:
                self.failed[step.name] = self.failed[before[0]]
                self.course.end(step.name, "failed", text=f"it needs {before[0]}")
                return
            if self._is_done(step):
                self.kept.add(step.name)
                self._add_section(step, "kept")
                return
            self.course.begin(step.name)
        ended = work(step)
        with self._lock:
            self._write_down(step, ended)

    def _write_down(self, step: Step, ended: Ended) -> None:
        error = ended.error
        if ended.facts is not None:
            self.target.record(
                step.name, step.writes, fingerprint=self._fingerprint(step), version=step.version,
                settings=dict(step.settings), finished=(source_date() or datetime.now(UTC)).strftime("%Y-%m-%d"),
                **ended.facts,
            )  # fmt: skip
            self._add_section(step, "done", ended.facts["seconds"])
            for note in ended.facts["notes"]:
                say(f"note: {note}")
            self.write_report(unfinished=True)
        elif isinstance(error, Interrupted):
            raise error
        elif isinstance(error, LeftOut):
            self.left_out[step.name] = error
            self.target.forget(step.name)
            self.course.end(step.name, "left out", text=str(error))
        elif ended.bug:
            assert error is not None
            error.add_note(ended.bug)
            self.failed[step.name] = [f"internal error: {type(error).__name__}: {error}"]
            self.course.end(step.name, "failed", text=self.failed[step.name][0])
            self.bugs.append(error)
        else:
            self.failed[step.name] = [str(error) or "out of memory"]
            self.course.end(step.name, "failed")
            complain(error)

    def _add_section(self, step: Step, how: str, seconds: float | None = None) -> None:
        section = self.sections[step.name] = Section.of(step, self.target.state["steps"][step.name])
        self.course.end(step.name, how, seconds, section.chapter.headline)

    def write_report(self, unfinished: bool = False) -> Path:
        sections = [self.sections[step.name] for step in self.steps if step.name in self.sections]
        left_out = [(step, self.left_out[step.name].reason) for step in self.steps if step.name in self.left_out]
        failed = [(step, self.failed[step.name]) for step in self.steps if step.name in self.failed]
        waiting = len(self.steps) - len(sections) - len(left_out) - len(failed) if unfinished else 0
        return Report(self.intake, self.target, sections, left_out, failed, waiting).write()


def _say_what_was_found(intake: Intake) -> tuple[str, ...]:
    """What was done to files, a line each, as far as there are few; and what is wrong with those that no step will
    read, which is returned."""
    said = [
        f"{row.name}: {text}"
        for row in intake.rows
        for text in (*(str(problem) for problem in row.problems if problem.used), *row.done)
    ]
    for line in said[:_MOST_SHOWN]:
        say(line)
    if len(said) > _MOST_SHOWN:
        say(f"{len(said) - _MOST_SHOWN:,} more about other files; learn --check shows all")
    read = {name for names in intake.kit.files.values() for name in names}
    refused = [
        f"{intake.kit.folder / row.name}: {problem}"
        for row in intake.rows
        for problem in row.problems
        if not problem.used and row.name not in read
    ]
    for message in refused:
        complain(message)
    return tuple(refused)


def _amounts(intake: Intake) -> list[str]:
    """How much there is of what most kits have."""
    lines = Counter[str | None]()
    for row in intake.rows:
        lines[row.role] += row.lines
    lines["parallel"] //= 2  # two sides
    names = {"text": ("line of text", "lines of text"), "parallel": ("translated line",), "names": ("name",)}
    return [counted(lines[role], *each) for role, each in names.items() if lines[role]]


def _sample(target: Pack, seed: int) -> Path:
    """The folder of the built-in sample, generated into the pack unless it is already there."""
    from corpuscle import samples

    folder, unfinished = target.folder / "kit", target.folder / "kit.partial"
    wanted = {"seed": seed, "version": __version__}
    if target.state.get("sample") != wanted or not folder.is_dir():
        if "sample" not in target.state and folder.exists():
            raise InputError(folder, None, "is in the way of the built-in sample; move it, or give it as the kit")
        say("no kit given: generating the built-in sample")
        target.create()
        shutil.rmtree(unfinished, ignore_errors=True)
        samples.write(unfinished, seed)
        target.state["sample"] = {}  # from here on the folder is ours, and not complete
        target.save()
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        target.state["sample"] = wanted
        target.save()
    return folder


def _nothing_usable(intake: Intake, steps: Sequence[Step]) -> str:
    useful = sorted({ROLES[role] for step in steps for role in step.needs})
    others = sum(map(len, intake.kit.files.values())) + len(intake.kit.reasons)
    found = f"{others} other files" if others else "no files"
    wrong = next((f" ({row.name}: {problem})" for row in intake.rows for problem in row.problems), "")
    return f"nothing to learn from: there is no {' or '.join(useful)} (text/*.txt), and {found}{wrong}"
