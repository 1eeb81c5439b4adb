"""A pack on disk: models, report, and the state from which an interrupted run goes on.

    PACK/state.json      what has been done, from which input, with which settings, and what was found
    PACK/models/*.model  what was learned
    PACK/report.html     the report for people
    PACK/report.json     the same figures for programs
    PACK/kit/            the built-in sample, if nothing else was given

The state is written after every step, all of it or nothing. A step counts as done when its fingerprint (the content
of its input files, its settings, its version) is the one that was written down, and its files and the record itself are
still what they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from corpuscle.atomic import lies_within
from corpuscle.errors import InputError
from corpuscle.packs.kit import content_hash
from corpuscle.text.files import AnyPath, decode, open_bytes, write_atomically

__all__ = ["Pack", "record_digest", "write_json"]

FORMAT = 1
_MARK = "corpuscle_pack"


def write_json(path: AnyPath, value: Any) -> None:
    """Write plain data, readable for people, in one go."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    with write_atomically(path) as file:
        # A file name need not be valid Unicode; the backslash escape of what is not is also JSON's.
        file.write(text.encode("utf-8", "backslashreplace"))


def record_digest(record: Mapping[str, Any]) -> str:
    """A hash of what is written down about a step, by which damage is noticed."""
    facts = json.dumps({name: value for name, value in record.items() if name != "digest"})
    in_order = json.dumps(json.loads(facts), sort_keys=True)
    return hashlib.blake2b(in_order.encode(), digest_size=16).hexdigest()


class Pack:
    """The folder of a pack and its state. ``shown`` is the path as the user wrote it."""

    def __init__(self, folder: AnyPath):
        self.shown = str(folder)
        self.folder = Path(folder)
        self.state: dict[str, Any] = {_MARK: FORMAT, "steps": {}}
        if self.folder.exists() or self.folder.is_symlink():
            self._check()

    def _check(self) -> None:
        """Take up an existing folder if it is empty or ours; never write into anything else."""
        if not self.folder.is_dir():
            raise InputError(self.shown, None, "is a file; a pack is a folder")
        if not any(self.folder.iterdir()):
            return
        path = self.folder / "state.json"
        if not path.exists():
            raise InputError(self.shown, None, "is neither empty nor a pack; choose another folder with -o")
        try:
            state = json.loads(decode(open_bytes(path), path))
        except (ValueError, RecursionError) as error:
            raise InputError(path, None, f"not the state of a pack: {error}") from None
        if not isinstance(state, dict) or not isinstance(state.get(_MARK), int):
            raise InputError(path, None, "not the state of a pack; choose another folder with -o")
        if state[_MARK] > FORMAT:
            raise InputError(path, None, "written by a newer version of Corpuscle")
        steps = state.get("steps")
        if not isinstance(steps, dict) or not all(
            isinstance(done, dict)
            and isinstance(done.get("files"), dict)
            and all(lies_within(self.folder, name) for name in done["files"])
            for done in steps.values()
        ):
            raise InputError(path, None, "a damaged state; remove it together with its folder to begin again")
        self.state = state

    def create(self) -> None:
        """Make the folder, and mark it as ours before anything else is in it."""
        try:
            (self.folder / "models").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(self.shown, None, f"cannot make this folder: {(error.strerror or '').lower()}") from error
        self.save()

    def save(self) -> None:
        """Write the state down."""
        write_json(self.folder / "state.json", self.state)

    def done(self, step: str) -> Mapping[str, Any] | None:
        """What is written down about a step, or None."""
        return self.state["steps"].get(step)

    def is_done(self, step: str, fingerprint: str) -> bool:
        """Whether a step was done with this very input, and its files are still there and unchanged."""
        record = self.done(step)
        if record is None or record.get("fingerprint") != fingerprint or record.get("digest") != record_digest(record):
            return False
        return not any(self.changed(record))

    def changed(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The files of a step that are not what it wrote, and why: missing, or changed."""
        for name, digest in record["files"].items():
            path = self.folder / name
            if not path.is_file():
                yield name, "missing"
            elif content_hash(path) != digest:
                yield name, "is not what the step wrote"

    def record(self, step: str, writes: Iterable[str], **facts: Any) -> None:
        """Write down that a step is done."""
        files = {name: content_hash(self.folder / name) for name in writes}
        record = {**facts, "files": files}
        self.state["steps"][step] = record | {"digest": record_digest(record)}
        self.save()

    def forget(self, step: str, writes: Iterable[str]) -> None:
        """Remove what a step has left, which no longer fits the kit."""
        self.state["steps"].pop(step, None)
        self.save()
        for name in writes:
            (self.folder / name).unlink(missing_ok=True)
