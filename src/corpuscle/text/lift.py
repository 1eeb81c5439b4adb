"""LIFT (Lexicon Interchange FormaT): dictionaries as FLEx, WeSay and other tools of the field exchange them.

An entry has a lexical unit, and a sense with a gloss for each translation, each with an example. How sure a translation
is stands in a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.html import escape

__all__ = ["Sense", "write_lift"]

VERSION = "0.13"


class Sense(NamedTuple):
    """A translation, what is said of it, and an example with its translation, empty if there is none."""

    gloss: str
    note: str = ""
    example: str = ""
    translation: str = ""


def _form(language: str, text: str) -> str:
    return f'<form lang="{escape(language)}"><text>{escape(text)}</text></form>'


def write_lift(
    words: Iterable[tuple[str, Sequence[Sense]]], path: AnyPath, languages: tuple[str, str] = ("qaa", "qab")
) -> None:
    """Write words with their senses; ``languages``: codes of the words and of their translations."""
    own, other = languages
    with write_atomically(path, "w") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<lift version="{VERSION}" producer="Corpuscle">\n')
        for number, (word, senses) in enumerate(words, 1):
            file.write(f'<entry id="{number}"><lexical-unit>{_form(own, word)}</lexical-unit>\n')
            for place, sense in enumerate(senses, 1):
                gloss = f'<gloss lang="{escape(other)}"><text>{escape(sense.gloss)}</text></gloss>'
                note = f'<note type="confidence">{_form("en", sense.note)}</note>' if sense.note else ""
                free = f"<translation>{_form(other, sense.translation)}</translation>" if sense.translation else ""
                example = f"<example>{_form(own, sense.example)}{free}</example>" if sense.example else ""
                file.write(f'<sense id="{number}-{place}">{gloss}{example}{note}</sense>\n')
            file.write("</entry>\n")
        file.write("</lift>\n")
