"""Symbols of ours that stand in a text as words: a complaint that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.cli.common import place_of
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.text import Corpus

__all__ = ["refuse_markup"]


def refuse_markup(corpus: Corpus, paths: list[str]) -> None:
    """Complain about a literal ``<s>`` or ``</s>`` where it stands."""
    from corpuscle.lm import find_markup

    found = find_markup(corpus)
    if found is not None:
        line, symbol = found
        reason = f"a literal {symbol} in a sentence; --allow-markup accepts it as a word"
        raise InputError(*place_of(line + 1, paths, len(corpus)), reason)
