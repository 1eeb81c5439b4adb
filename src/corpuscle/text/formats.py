"""Formats of text: files whose lines have to be taken out of something, such as those of a word processor.

A format has a name, the ends of names of its files, and a function ``"module:function"`` from a path to lines. Wherever
a text is read, and in kits, files that are called so are read by it. Other packages add formats, see
``corpuscle.catalogue``. What is in no format is text as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from corpuscle.catalogue import extensions, find
from corpuscle.text.files import AnyPath


@dataclass(frozen=True)
class Format:
    """A format of text; ``help``: what it is, in a few words."""

    name: str
    suffixes: tuple[str, ...]
    read: str
    help: str

    def lines(self, path: AnyPath) -> list[str]:
        """The lines of a file, without line ends."""
        return [line for text in find(self.read)(path) for line in text.split("\n")]


FORMATS = (
    Format("docx", (".docx",), "corpuscle.text.office:read_docx", "text of Word, a paragraph a line"),
    Format("odt", (".odt",), "corpuscle.text.office:read_odt", "text of LibreOffice, a paragraph a line"),
)
_OURS = frozenset({
    "", ".txt", ".gz", ".xz", ".conllu", ".tsv", ".csv", ".mrg", ".src", ".tgt", ".jsonl", ".tmx", ".eaf", ".flextext",
    ".sfm", ".toolbox", ".xml", ".md",
})  # fmt: skip
"""Ends of names for which nobody else is asked."""


def formats() -> tuple[Format, ...]:
    """All formats, ours first."""
    return *FORMATS, *extensions("formats").values()


def format_of(path: AnyPath) -> Format | None:
    """The format of a file by the end of its name, if it is in one."""
    name = os.fspath(path).lower()
    suffix = os.path.splitext(name)[1]
    if suffix in _OURS:
        return None
    return next((each for each in formats() if name.endswith(each.suffixes)), None)
