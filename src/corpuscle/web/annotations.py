"""Annotations on disk: a line of JSON each, appended, on the disk before it is acknowledged, never changed.

    {"id": 7, "layer": "trees", "item": "a b c", "annotator": "Ana", "value": {...}, "at": "2026-01-31T12:00:00Z"}
    {"id": 8, "undo": 7, "annotator": "Ana", "at": ...}

A line that a crash cut short was never acknowledged: it is passed over, and the next record begins a new line. A line
that is no annotation, whoever wrote it, is set aside: it is named once, stays in the file, and plays no part. One
server at a time writes to a pack; a lock that ends with its process sees to that.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from corpuscle.atomic import check_inside
from corpuscle.errors import CorpuscleError, InputError, SettingError
from corpuscle.progress import say
from corpuscle.web.annotation_formats import LAYERS

FILE = "annotations.jsonl"

_GREATEST = 2**53  # the greatest number of a record: every JSON reader reads it as it is


def _number(value: Any) -> bool:
    return type(value) is int and 0 < value < _GREATEST


def _check_record(record: Any) -> None:
    """Complain about what is no record of an annotation, or of one that was taken back."""
    if not isinstance(record, dict) or not _number(record.get("id")):
        raise SettingError("it has no number")
    if not isinstance(record.get("annotator"), str):
        raise SettingError("it does not say whose it is")
    if "undo" in record:
        if not _number(record["undo"]):
            raise SettingError("it does not say what it takes back")
        return
    layer, value = record.get("layer"), record.get("value")
    if not isinstance(layer, str) or layer not in LAYERS:
        raise SettingError("it is of no layer")
    if not isinstance(value, Mapping) or LAYERS[layer].check(value) != record.get("item"):
        raise SettingError("its value is not that of its item")


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


class Annotations:
    """The annotations of a pack; opened for writing when the first one comes."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()
        self._records: dict[int, dict[str, Any]] = {}
        self._undone: set[int] = set()
        self._last = 0
        self.torn = 0
        self.set_aside: list[str] = []
        check_inside(folder, FILE)
        if self.path.is_file():
            for record in self._read():
                self._take(record)
        if self.set_aside:
            more = f"; and {len(self.set_aside) - 1:,} more such lines" if len(self.set_aside) > 1 else ""
            say(f"{self.path}: {self.set_aside[0]}{more}; set aside, they stay in the file")

    def _read(self) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            try:
                record = json.loads(line)
                _check_record(record)
            except (ValueError, RecursionError, CorpuscleError) as error:
                if line.startswith(b'{"id": ') and not line.endswith(b"}"):
                    self.torn += 1
                elif line.strip():
                    reason = str(error) if isinstance(error, CorpuscleError) else "not JSON"
                    self.set_aside.append(f"line {number} is no annotation ({reason})")
            else:
                yield record

    def _take(self, record: dict[str, Any]) -> None:
        self._last = max(self._last, record["id"])
        if "undo" in record:
            self._undone.add(record["undo"])
        else:
            self._records[record["id"]] = record

    def _open(self) -> BinaryIO:
        """The file, ours alone, and at the beginning of a line."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_inside(self.path.parent, FILE)
            file = open(self.path, "ab+", buffering=0, opener=_no_link)  # noqa: SIM115  (open as long as the server lives)
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows
                pass
            except OSError:
                file.close()
                raise InputError(self.path, None, "another server writes to this pack") from None
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            os.fsync(file.fileno())
            with suppress(OSError):
                folder = os.open(self.path.parent, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
            self._file = file
        return self._file

    def _append(self, record: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            file = self._open()
            record = {"id": self._last + 1, **record, "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
            line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
            end = file.seek(0, os.SEEK_END)
            try:
                if file.write(line) != len(line):
                    raise OSError("a part of it only")
                os.fsync(file.fileno())
            except OSError as error:
                with suppress(OSError):
                    file.truncate(end)
                raise InputError(self.path, None, f"cannot write: {error}") from None
            self._take(record)
            return record

    # ---- verbs

    def add(self, layer: str, value: Any, annotator: str) -> dict[str, Any]:
        """Keep a correction; it is on the disk when this returns."""
        if layer not in LAYERS:
            raise SettingError(f"layer is one of {', '.join(LAYERS)}")
        if not annotator.strip() or len(annotator) > 100 or not annotator.isprintable():
            raise SettingError("annotator: a name of at most 100 characters is needed")
        if not isinstance(value, Mapping):
            raise SettingError("value is an object")
        item = LAYERS[layer].check(value)
        return self._append({"layer": layer, "item": item, "annotator": annotator.strip(), "value": value})

    def undo(self, annotator: str) -> dict[str, Any]:
        """Take back the last annotation of an annotator that still stands."""
        own = [record for record in self._left() if record["annotator"] == annotator.strip()]
        if not own:
            raise SettingError(f"there is nothing of {annotator[:60]!r} to take back")
        self._append({"undo": own[-1]["id"], "annotator": annotator.strip()})
        return own[-1]

    def _left(self) -> list[dict[str, Any]]:
        return [record for number, record in self._records.items() if number not in self._undone]

    def standing(self, layer: str) -> dict[str, dict[str, dict[str, Any]]]:
        """Item -> annotator -> the last record that stands."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for record in self._left():
            if record["layer"] == layer:
                found.setdefault(record["item"], {})[record["annotator"]] = record
        return found

    def agreed(self, layer: str) -> list[dict[str, Any]]:
        """One value for each item: what most annotators say; the latest of those where none has more."""
        values = []
        for by_annotator in self.standing(layer).values():
            by_number = {record["id"]: record for record in by_annotator.values()}
            said = {number: json.dumps(record["value"], sort_keys=True) for number, record in by_number.items()}
            votes = Counter(said.values())
            values.append(by_number[max(said, key=lambda number: (votes[said[number]], number))]["value"])
        return values

    def told(self) -> dict[str, Any]:
        """How many items each layer has, by whom; and how far annotators agree where two have judged the same."""
        from corpuscle.measure import agreement

        layers = {}
        for name, layer in LAYERS.items():
            standing = self.standing(name)
            if not standing:
                continue
            who = Counter(annotator for records in standing.values() for annotator in records)
            shared = [
                list(zip(*(layer.units(record["value"]) for record in records.values()), strict=True))
                for records in standing.values()
                if len(records) > 1 and len({len(layer.units(record["value"])) for record in records.values()}) == 1
            ]
            known = agreement(shared).to_json() if any(shared) else None
            layers[name] = {"items": len(standing), "annotators": dict(who), "agreement": known}
        return {"layers": layers, "torn": self.torn}

    def export(self, kit: Path) -> dict[str, list[str]]:
        """Write all that stands into the files of a kit; layer -> the files."""
        kit.mkdir(parents=True, exist_ok=True)
        written = {}
        for name, layer in LAYERS.items():
            if values := self.agreed(name):
                layer.write(kit, values)
                written[name] = list(layer.files)
        return written
