"""A kit from the browser: files are dropped, stand where a kit has them, and what they are, or are not, is said."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError
from corpuscle.web.guard import Refusal

if TYPE_CHECKING:
    from corpuscle.packs import Job, Step

_PLACES = (
    (r".*\.(src|tgt|tmx)", "parallel/"),
    (r"noisy\.txt|tagged\.conllu|trees\.mrg|segmented\.txt", ""),
    (r".*\.conllu", "tagged.conllu"),
    (r".*\.(mrg|ptb)", "trees.mrg"),
    (r".*\.(ann|bio|iob|conll|pubtator|jsonl)", "entities/"),
    (r".*\.(txt|docx|odt)", "text/"),
)
"""What a file is called -> where it stands in a kit: a folder, or a name of its own."""


def place_of(name: str) -> str:
    """Where a dropped file stands in a kit, by its name; a path within a kit stays.

    >>> place_of("story.txt"), place_of("my.conllu"), place_of("parallel/a.src"), place_of("photo.jpg")
    ('text/story.txt', 'tagged.conllu', 'parallel/a.src', 'photo.jpg')
    """
    folder, _, base = name.rpartition("/")
    good = re.fullmatch(r"[^/\\\0-\x1f\x7f]{1,120}", base) and not base.startswith(".")
    if not good or folder not in ("", "text", "parallel", "entities") or any("\ud800" <= c <= "\udfff" for c in base):
        raise Refusal(422, "the name of a file is that of a kit's file: at most 120 characters, in no other folder")
    if folder:
        return name
    plain = base.lower().removesuffix(".gz").removesuffix(".xz")
    for pattern, place in _PLACES:
        if re.fullmatch(pattern, plain):
            return f"{place}{base}" if place.endswith("/") or not place else place
    return base


async def store(kit: Path, name: str, pieces: AsyncIterator[bytes]) -> str:
    """Write a file into a kit as it comes, under its own name when all of it is there; returns where it stands."""
    place = place_of(name)
    path = kit / place
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    if path.is_dir() or not all(each.resolve().is_relative_to(kit.resolve()) for each in (path, partial)):
        raise Refusal(422, "there is a folder of this name, or a link that leads out of the kit")
    try:
        partial.unlink(missing_ok=True)
        with open(partial, "xb") as file:
            async for piece in pieces:
                file.write(piece)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    return place


def told(kit: Path | None, pack: Path) -> dict[str, Any]:
    """The files of a kit: what each is, or why it is nothing, what is wrong with them (file, line, reason), and what
    can be learned. It is the intake of ``learn``, into a folder that is thrown away."""
    from corpuscle.packs import STEPS, Job
    from corpuscle.packs.intake import PREPARED, take_in
    from corpuscle.packs.kit import ROLES

    if kit is None or not kit.is_dir():
        return {"files": [], "wrong": [], "steps": []}
    with tempfile.TemporaryDirectory() as folder:
        taken = take_in(kit, pack, Path(folder) / PREPARED)
        job, wrong = Job(taken.kit, pack, 1, None), dict[str, dict[str, Any]]()
        for row in taken.rows:
            for problem in row.problems:
                wrong[f"{row.name} {problem}"] = {"file": row.name, "line": None, "reason": str(problem)}
            for line, why in row.bad[:20]:
                wrong[f"{row.name}:{line}"] = {"file": row.name, "line": line, "reason": why}
        possible = [step for step in STEPS if all(taken.kit.files.get(role) for role in step.needs)]
        steps = [_ready(step, job, wrong, kit) for step in possible]
    sizes = [(kit / row.name).stat().st_size for row in taken.rows]
    files = [
        {"name": row.name, "role": ROLES.get(row.role or ""), "why": row.reason, "bytes": size}
        for row, size in zip(taken.rows, sizes, strict=True)
    ]
    return {"files": files, "wrong": list(wrong.values()), "steps": steps}


def _ready(step: Step, job: Job, wrong: dict[str, dict[str, Any]], kit: Path) -> dict[str, Any]:
    """Whether a step can begin; what is wrong with its files is added to what is known."""
    from corpuscle.packs.step import LeftOut

    reason, errors = None, list[InputError]()
    try:
        errors = step.check(job)
    except LeftOut as left_out:
        reason = left_out.reason
    except InputError as error:
        errors = [error]
    for each in errors[:20]:
        path = None if each.path is None else os.path.relpath(str(each.path), str(kit))
        wrong[str(each)] = {"file": path, "line": each.line, "reason": each.reason}
    return {"name": step.name, "title": step.title, "ready": not errors and reason is None, "why": reason}
