"""What the sample languages can talk about: concepts with an English gloss, a meaning class and a topic.

Both languages name the same concepts; the glosses are for people who look at the result. The words are in
``words.toml``: nouns by class (who can do something, what can be eaten, where one can be), verbs with the classes that
they take, as ``gloss/frame/objects``. Frames: ``i`` somebody does it, ``n`` something does it, ``t`` somebody does it
to an object, ``d`` somebody gives an object to somebody, ``c`` somebody says or thinks that a clause holds, ``x``
somebody does it with an action (want to ...).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
GENERAL = "general"
TOPICS = tuple(topic for topic in _WORDS["nouns"] if topic != GENERAL)
ADVERBS, ADPOSITIONS, NUMERALS = (tuple(_WORDS["others"][pos].split()) for pos in ("ADV", "ADP", "NUM"))


class Concept(NamedTuple):
    """Something that both languages have a word for."""

    gloss: str
    pos: str
    """The universal part of speech."""
    kind: str
    """The meaning class of a noun, the frames of a verb."""
    topic: str
    objects: tuple[str, ...] = ()
    """The meaning classes that a verb takes as its object."""


def _listed() -> Iterator[Concept]:
    for topic, classes in _WORDS["nouns"].items():
        for kind, glosses in classes.items():
            yield from (Concept(gloss, "NOUN", kind, topic) for gloss in glosses.split())
    for topic, verbs in _WORDS["verbs"].items():
        for verb in verbs.split():
            gloss, frames, *objects = verb.split("/")
            yield Concept(gloss, "VERB", frames, topic, tuple(objects[0].split("+")) if objects else ())
    for kind, topics in _WORDS["adjectives"].items():
        for topic, glosses in topics.items():
            yield from (Concept(gloss, "ADJ", kind, topic) for gloss in glosses.split())
    for pos, glosses in _WORDS["others"].items():
        yield from (Concept(gloss, pos, pos.lower(), GENERAL) for gloss in glosses.split())


CONCEPTS: dict[str, Concept] = {
    f"{each.gloss}.{each.pos[0].lower()}" if each.pos in ("NOUN", "VERB", "ADJ") else each.gloss: each
    for each in _listed()
}
"""Concepts by gloss, with the first letter of an open part of speech behind it: ``sail.n``, ``sail.v``."""


def head_of(key: str) -> str:
    """The concept that a noun is one of: ``a+b`` is a compound with head b, ``b~`` a diminutive."""
    return key.rstrip("~").rsplit("+")[-1]
