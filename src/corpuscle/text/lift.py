"""LIFT (Lexicon Interchange FormaT): dictionaries as FLEx, WeSay and other tools of the field exchange them.

An entry has a lexical unit, and a sense with a gloss for each translation, each with an example. How sure a translation
is stands in a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.html import Html, element, fragment

__all__ = ["Sense", "write_lift"]

VERSION = "0.13"


class Sense(NamedTuple):
    """A translation, what is said of it, and an example with its translation, empty if there is none."""

    gloss: str
    note: str = ""
    example: str = ""
    translation: str = ""


def _form(language: str, text: str) -> Html:
    return element("form", element("text", text), lang=language)


def _sense(name: str, sense: Sense, languages: tuple[str, str]) -> Html:
    own, other = languages
    parts = [element("gloss", element("text", sense.gloss), lang=other)]
    if sense.example:
        free = [element("translation", _form(other, sense.translation))] if sense.translation else []
        parts.append(element("example", _form(own, sense.example), *free))
    if sense.note:
        parts.append(element("note", _form("en", sense.note), type="confidence"))
    return element("sense", *parts, id=name)


def write_lift(
    words: Iterable[tuple[str, Sequence[Sense]]], path: AnyPath, languages: tuple[str, str] = ("qaa", "qab")
) -> None:
    """Write words with their senses; ``languages``: codes of the words and of their translations."""
    entries = [
        element(
            "entry",
            element("lexical-unit", _form(languages[0], word)),
            *(_sense(f"{number}-{place}", sense, languages) for place, sense in enumerate(senses, 1)),
            id=number,
        )
        for number, (word, senses) in enumerate(words, 1)
    ]
    with write_atomically(path, "w") as file:
        file.write(element("lift", "\n", fragment(*entries, between="\n"), "\n", version=VERSION, producer="Corpuscle"))
