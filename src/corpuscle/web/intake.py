"""A kit from the browser: files are dropped, stand where a kit has them, and what they are, or are not, is said."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpuscle.errors import InputError
from corpuscle.packs import STEPS, Job, find_kit
from corpuscle.packs.kit import ROLES
from corpuscle.packs.step import LeftOut
from corpuscle.web.guard import Refusal

__all__ = ["place_of", "store", "told"]

_PLACES = (
    (r".*\.(src|tgt)", "parallel/"),
    (r"(names|lexicon|noisy|slang)\.tsv", ""),
    (r"noisy\.(txt|norm)", ""),
    (r"tagged\.conllu|trees\.mrg|segmented\.txt", ""),
    (r".*\.conllu", "tagged.conllu"),
    (r".*\.(mrg|ptb)", "trees.mrg"),
    (r".*\.(ann|bio|iob|conll|pubtator|jsonl)", "entities/"),
    (r".*\.txt", "text/"),
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
    if path.is_dir() or not path.resolve().is_relative_to(kit.resolve()):
        raise Refusal(422, "there is a folder of this name, or a link that leads out of the kit")
    partial = path.with_name(f".{path.name}.part")
    try:
        with open(partial, "wb") as file:
            async for piece in pieces:
                file.write(piece)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    return place


def told(kit: Path | None, pack: Path) -> dict[str, Any]:
    """The files of a kit: what each is, what is wrong with them (file, line, reason), and what can be learned."""
    if kit is None or not kit.is_dir():
        return {"files": [], "wrong": [], "steps": []}
    found = find_kit(kit, pack)
    job = Job(found, pack, 1, None)
    named = [(name, ROLES[role]) for role, names in found.files.items() for name in names]
    named += [(name, "") for name in found.others]
    files = [{"name": name, "role": role or None, "bytes": (kit / name).stat().st_size} for name, role in named]
    wrong: dict[str, dict[str, Any]] = {}
    steps = []
    for step in STEPS:
        if not all(found.files.get(role) for role in step.needs):
            continue
        reason = None
        try:
            errors = step.check(job)
        except LeftOut as left_out:
            errors, reason = [], left_out.reason
        except InputError as error:
            errors = [error]
        for each in errors[:20]:
            path = None if each.path is None else os.path.relpath(str(each.path), str(kit))
            wrong[str(each)] = {"file": path, "line": each.line, "reason": each.reason}
        steps.append({"name": step.name, "title": step.title, "ready": not errors and reason is None, "why": reason})
    return {"files": files, "wrong": list(wrong.values()), "steps": steps}
