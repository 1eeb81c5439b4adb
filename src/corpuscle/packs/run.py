"""``learn``: look at a kit, do every step that its files allow, write the report.

A step that was already done with the same input, settings and versions is not repeated. Since everything that matters
is written when a step ends, a run can be stopped at any time, and the same command goes on from there. The files of all
steps are checked before the first one begins; a step whose files are wrong, or which fails, is missing in the report.

Compiling ahead: while the first steps of a run are at work, the kernels of later ones compile in another process.

Kernels compile at their first use on a computer, which takes longer than learning from a small kit, and only one thread
of a process can do it. The result goes to the cache on disk, where the step finds it. Whether a package has been
compiled is written down beside the cache, by an empty file. A package whose defaults need only some of its kernels
has a ``warm_defaults`` beside ``warm``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpuscle import __version__
from corpuscle.catalogue import TASKS, find
from corpuscle.compiled import cache_root, fingerprint, is_temporary
from corpuscle.errors import CorpuscleError, CorpuscleWarning, InputError, Interrupted
from corpuscle.model import source_date
from corpuscle.packs.chapter import Chapter
from corpuscle.packs.intake import PREPARED, Intake, take_in
from corpuscle.packs.kit import ROLES
from corpuscle.packs.pack import Pack, record_digest, write_json
from corpuscle.packs.report import Section, render
from corpuscle.packs.step import Job, LeftOut, Step
from corpuscle.progress import clock, complain, is_interrupt, say, working
from corpuscle.scale import default_workers
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.tables import write_table

STEPS: tuple[Step, ...] = tuple(find(place) for task in TASKS.values() for place in task.step.split())
"""All that can be learned, in the order of the catalogue, in which it is done."""

_MOST_SHOWN = 20  # errors of a step, and lines about files before learning begins
_WORTH_COMPILING = 5000  # bytes


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
    found = intake.kit
    glosses = target.folder / "glosses.tsv"
    glosses.unlink(missing_ok=True)
    if intake.glosses:
        write_table(glosses, (), intake.glosses)
    refused = _say_what_was_found(intake)
    target.state |= {"kit": str(found.folder), "seed": seed}
    for name in [name for name in target.state["steps"] if name not in {step.name for step in possible}]:
        target.forget(name, target.state["steps"][name]["files"])

    job = Job(found, target.folder, seed, workers, cluster)
    failed = _check(possible, job, target)
    sound = [step for step in possible if step.name not in failed]
    kept, left_out, bugs = _do_all(sound, job, target, failed)
    learned = [step for step in sound if step.name not in left_out and step.name not in failed]
    sections = [Section.of(step, target.state["steps"][step.name]) for step in learned]
    omitted = [(step, left_out[step.name].reason) for step in possible if step.name in left_out]
    missing = [(step, failed[step.name]) for step in possible if step.name in failed]
    report = _write_report(intake, target, sections, omitted, missing)
    if bugs:
        raise bugs[0]
    if not learned and not failed:
        raise next(iter(left_out.values()))
    reasons = {step.name: reason for step, reason in omitted}
    chapters = {each.step.name: each.chapter for each in sections}
    return Outcome(target.folder, report, chapters, tuple(kept), reasons, failed, refused, clock() - began)


def _do_all(
    steps: Sequence[Step], job: Job, target: Pack, failed: dict[str, list[str]]
) -> tuple[list[str], dict[str, LeftOut], list[Exception]]:
    """Do every step that is not done yet. Returns the names of those that were done before, why others were left out,
    and the errors that are bugs; ``failed`` receives all errors, also for steps that come after a failed one."""
    kept: list[str] = []
    left_out: dict[str, LeftOut] = {}
    bugs: list[Exception] = []
    precompiler = Precompiler(_cold(steps, job, target))
    try:
        for step in steps:
            if before := [name for name in step.after if name in failed]:
                failed[step.name] = failed[before[0]]
                continue
            with working(f"compiling kernels for {step.title.lower()}"):
                precompiler.turn(step.kernels)
            try:
                with working(step.title.lower()):
                    if _do(step, job, target):
                        kept.append(step.name)
            except LeftOut as reason:
                left_out[step.name] = reason
                target.forget(step.name, (target.done(step.name) or {"files": ()})["files"])
                say(f"{step.title.lower()}: left out: {reason}")
            except Interrupted:
                raise
            except (CorpuscleError, MemoryError, OSError) as error:
                failed[step.name] = [str(error) or "out of memory"]
                complain(error)
            except Exception as error:
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                failed[step.name] = [f"internal error: {type(error).__name__}: {error}"]
                bugs.append(error)
    except (KeyboardInterrupt, Interrupted):
        done = [s.title.lower() for s in steps if _is_done(s, job, target)]
        finished = f"finished: {', '.join(done)}" if done else "nothing is finished yet"
        message = f"stopped during the step {step.title.lower()!r} ({finished}); the same command goes on from here"
        raise Interrupted(message) from None
    finally:
        precompiler.close()
    return kept, left_out, bugs


def _check(steps: Sequence[Step], job: Job, target: Pack) -> dict[str, list[str]]:
    """The errors in the files of steps that are still to be done, each of which is shown once."""
    failed = {}
    for step in steps:
        try:
            done = _is_done(step, job, target)
            wrong = [] if done else step.check(job)
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


def _cold(steps: Sequence[Step], job: Job, target: Pack) -> list[str]:
    """What should be compiled ahead: the kernels of all steps to be done but the first, the last ones first.

    A file of a few lines is not worth it: its step will hardly be done.
    """
    todo = [
        step.kernels
        for step in steps
        if step.kernels
        and not is_temporary  # another process would not share it
        and not _mark(step.kernels).exists()
        and not _is_done(step, job, target)
        and sum(os.path.getsize(path) for role in step.needs for path in job.kit.paths(role)) >= _WORTH_COMPILING
    ]
    return todo[:0:-1] if default_workers() > 1 else []


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


def _fingerprint(step: Step, job: Job, target: Pack) -> str:
    """Changes whenever the step could give another result."""
    before = {name: (target.done(name) or {}).get("fingerprint") for name in step.after}
    files = job.hashes((*step.needs, *step.wants))
    names = job.kit.languages if "parallel" in step.needs else {}
    facts = [step.name, step.version, __version__, job.seed, dict(step.settings), files, before, dict(names)]
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _is_done(step: Step, job: Job, target: Pack) -> bool:
    """Whether a step need not be done again: neither input nor files have changed, and what was found can be read."""
    record, fingerprint = target.done(step.name), _fingerprint(step, job, target)
    if record is None or record.get("fingerprint") != fingerprint or record.get("digest") != record_digest(record):
        return False
    return not any(target.changed(record)) and step.read(record) is not None


def _do(step: Step, job: Job, target: Pack) -> bool:
    """Do a step unless it is done; returns whether it was."""
    if _is_done(step, job, target):
        say(f"{step.title.lower()}: already done")
        return True
    say(f"{step.title.lower()} ...")
    began = clock()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CorpuscleWarning)
        found = step.learn(job, step.settings).to_json()
        findings = found | {"bytes": (job.pack / step.writes[0]).stat().st_size}
    seconds = clock() - began
    today = (source_date() or datetime.now(UTC)).strftime("%Y-%m-%d")
    notes = list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, CorpuscleWarning)))
    target.record(
        step.name, step.writes, fingerprint=_fingerprint(step, job, target), version=step.version,
        settings=dict(step.settings), seconds=round(seconds, 3), finished=today, notes=notes, findings=findings,
    )  # fmt: skip
    if step.kernels:
        with suppress(OSError):
            _mark(step.kernels).touch()
    for note in notes:
        say(f"note: {note}")
    say(f"{step.title.lower()}: done in {seconds:.1f} s")
    return False


def _write_report(
    intake: Intake,
    target: Pack,
    sections: Sequence[Section],
    left_out: Sequence[tuple[Step, str]],
    failed: Sequence[tuple[Step, list[str]]],
) -> Path:
    kit, used = intake.kit, {role for each in sections for role in each.used}
    unused = [(name, ROLES[role]) for role, names in kit.files.items() if role not in used for name in names]
    unused += list(kit.reasons.items())
    write_json(target.folder / "report.json", {
        "corpuscle": __version__, "kit": str(kit.folder), "seed": target.state["seed"],
        "files": {role: list(names) for role, names in sorted(kit.files.items()) if role in used},
        "not_used": sorted(name for name, _ in unused), "intake": [row.to_json() for row in intake.rows],
        "languages": dict(kit.languages), "steps": {each.step.name: each.record for each in sections},
        "left_out": {step.name: reason for step, reason in left_out},
        "failed": {step.name: errors for step, errors in failed},
    })  # fmt: skip
    path = target.folder / "report.html"
    with write_atomically(path, "w") as file:
        file.write(render(intake, target, sections, sorted(unused), left_out, failed))
    return path


_COMPILE = """
import importlib, sys
package = importlib.import_module(sys.argv[1])
getattr(package, "warm_defaults", package.warm)()
"""


def _mark(package: str) -> Path:
    """The file that says that the kernels of a package have been used with this cache."""
    return cache_root / f"warm-{package}-{fingerprint(package)}"


class Precompiler:
    """Compiles packages, one after the other, until it is closed; ``turn(package)`` says that a step needs one now."""

    def __init__(self, packages: Sequence[str]):
        self._lock, self._closed = threading.Lock(), False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._ahead = {package: self._thread.submit(self._compile, package) for package in packages}

    def _compile(self, package: str) -> None:
        program = [sys.executable, "-P", "-c", _COMPILE, package]
        environment, null = os.environ | {"CORPUSCLE_CACHE": str(cache_root)}, subprocess.DEVNULL
        with self._lock:
            if self._closed:
                return
            # In a session of its own: Ctrl-C is for the parent, which then closes this.
            self._process = subprocess.Popen(
                program, stdin=null, stdout=null, stderr=null, env=environment, start_new_session=True
            )
        self._process.wait()  # a failure will be seen, and said, by the step itself

    def turn(self, package: str) -> None:
        """Wait for a package that is being compiled; one whose turn has not come yet is left to the caller."""
        ahead = self._ahead.get(package)
        while ahead is not None and not ahead.cancel() and not ahead.done():
            wait([ahead], timeout=0.2)  # so that Ctrl-C is heard

    def close(self) -> None:
        """Stop at once."""
        with self._lock:
            self._closed = True
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
        self._thread.shutdown(cancel_futures=True)
