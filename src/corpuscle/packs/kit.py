"""A kit: the folder of files that someone has of a language, and what each of them is good for.

Files are recognised by where they stand and what they are called, never by guessing from their content:

    text/*.txt              running text, a sentence a line, an empty line between documents
    parallel/*.src, *.tgt   the same sentences in two languages
    names.tsv               names in two scripts
    lexicon.tsv             words with their analyses
    tagged.conllu           annotated sentences
    entities/*              texts with entities marked
    noisy.txt               messages as people type them
    noisy.tsv               such messages, token by token, with what was meant
    slang.tsv               words and what they stand for

Text files may be packed (.gz, .xz). What is not in this list is not used, and the report says so.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, reading

__all__ = ["ROLES", "Kit", "content_hash", "find_kit", "shown_name"]

ROLES = {
    "text": "running text",
    "parallel": "translations",
    "names": "names in two scripts",
    "lexicon": "a lexicon",
    "tagged": "annotated sentences",
    "entities": "texts with entities",
    "noisy": "noisy messages",
    "meant": "noisy messages with what was meant",
    "slang": "a dictionary of slang",
}
"""What a file of a kit can be, in words."""

_BY_NAME = {"names.tsv": "names", "lexicon.tsv": "lexicon", "tagged.conllu": "tagged", "noisy.txt": "noisy"}
_BY_NAME |= {"noisy.tsv": "meant", "slang.tsv": "slang"}
_PACKED = (".gz", ".xz")


@dataclass(frozen=True)
class Kit:
    """The files of a kit by role (paths relative to ``folder``, sorted), and those without a role."""

    folder: Path
    files: Mapping[str, tuple[str, ...]]
    others: tuple[str, ...]

    def paths(self, role: str) -> list[str]:
        """Where the files of a role are."""
        return [str(self.folder / name) for name in self.files.get(role, ())]

    def hashes(self, roles: Iterable[str]) -> dict[str, str]:
        """A hash of the content of every file of some roles."""
        names = sorted(name for role in roles for name in self.files.get(role, ()))
        return {name: content_hash(self.folder / name) for name in names}


def content_hash(path: AnyPath) -> str:
    """A hash of the bytes of a file, as they are on the disk."""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def shown_name(path: AnyPath) -> str:
    """The name of a file for tables and people: what is no character, or not visible, is written as Python does it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in Path(path).name)


def _role(name: str) -> str | None:
    """The role of a file by its path within the kit, with ``/`` between its parts."""
    if name.endswith(_PACKED):
        name = name[:-3]
    folder, _, base = name.rpartition("/")
    if folder == "text" and base.endswith(".txt"):
        return "text"
    if folder == "parallel" and base.endswith((".src", ".tgt")):
        return "parallel"
    if folder == "entities":
        return "entities"
    return _BY_NAME.get(base) if not folder else None


def _walk(folder: Path, without: Path) -> Iterator[str]:
    """All files below a folder, without hidden ones and without one folder, the pack that may lie within its kit."""
    for here, folders, files in os.walk(folder):
        inside = Path(here)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and (inside / f).resolve() != without)
        for name in sorted(files):
            if not name.startswith(".") and (inside / name).is_file():
                yield (inside / name).relative_to(folder).as_posix()


def find_kit(folder: AnyPath, pack: AnyPath) -> Kit:
    """Look at a folder and say what each of its files is; ``pack`` is where the results go, which is no part of a
    kit."""
    root = Path(folder)
    if not root.exists():
        raise InputError(folder, None, "no such folder")
    if not root.is_dir():
        raise InputError(folder, None, "a kit is a folder; put this file into KIT/text/ and give KIT")
    files: dict[str, list[str]] = {}
    others = []
    for name in _walk(root, Path(pack).resolve()):
        role = _role(name)
        if role is None:
            others.append(name)
        else:
            files.setdefault(role, []).append(name)
    return Kit(root, {role: tuple(names) for role, names in files.items()}, tuple(others))
