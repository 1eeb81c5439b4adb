"""Complaints that several commands share: symbols of ours that stand in a text as words, two outputs in one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from corpuscle.aside import is_special
from corpuscle.errors import InputError, SettingError

if TYPE_CHECKING:
    from corpuscle.text import Corpus

__all__ = ["refuse_markup", "refuse_one_file"]


def refuse_one_file(first: str, second: str) -> None:
    """Complain if the second of two outputs would replace the first."""
    target = os.path.realpath(first)
    if target == os.path.realpath(second) and not is_special(target):
        raise SettingError(f"two outputs cannot be one file: {second}")


def refuse_markup(corpus: Corpus, paths: list[str], units: str, unk: str) -> None:
    """Complain about a literal ``<s>`` or ``</s>`` where it stands."""
    from corpuscle.lm import find_markup
    from corpuscle.text import read_text
    from corpuscle.text.files import expand

    found = find_markup(corpus)
    if found is None:
        return
    line, symbol = found
    files = expand(paths)
    lines = [len(read_text(file, units=units, unk=unk)) if os.path.isfile(file) else 0 for file in files]
    streams = [i for i, file in enumerate(files) if not os.path.isfile(file)]
    if streams:  # what cannot be read again has the lines that are left
        lines[streams[0]] = len(corpus) - sum(lines)
    for file, count in zip(files, lines, strict=True):
        if line < count:
            reason = f"a literal {symbol} in a sentence; --allow-markup accepts it as a word"
            raise InputError(file, line + 1, reason)
        line -= count
