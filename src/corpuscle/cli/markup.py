"""A complaint that several commands share: symbols of ours that stand in a text as words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.text import Corpus

__all__ = ["refuse_markup"]


def refuse_markup(corpus: Corpus, paths: list[str], units: str, unk: str) -> None:
    """Complain about a literal ``<s>`` or ``</s>`` where it stands."""
    from corpuscle.lm import find_markup
    from corpuscle.text import read_text
    from corpuscle.text.files import expand

    found = find_markup(corpus)
    if found is None:
        return
    reason = f"a literal {found[1]} in a sentence; --allow-markup accepts it as a word"
    if paths != ["-"]:
        for path in expand(paths):
            if (here := find_markup(read_text(path, units=units, unk=unk))) is not None:
                raise InputError(path, here[0] + 1, reason)
    raise InputError(paths[0], found[0] + 1, reason)
