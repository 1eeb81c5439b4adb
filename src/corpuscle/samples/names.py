"""Names of people and places, written in both scripts.

Most spellings follow the rules of the two scripts. Some do not: a name may keep an old Latin spelling (doubled or
silent letters), or be known abroad in a form that went through the sound changes of the sister language. And some have
several accepted answers, because writers disagree how to render a sound.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from typing import NamedTuple

from corpuscle.random import Random
from corpuscle.samples.lexicon import Word, features_of
from corpuscle.samples.sounds import CONSONANTS, VOWELS, Script, Sounds

RENDERINGS = {"w": "v", "x": "h", "h": "x", "ʤ": "ʒ", "ʧ": "ʃ", "ɲ": "nj", "ŋ": "ng", "ʦ": "ts", "j": "i"}
RENDERINGS |= {"y": "u", "ø": "o", "ɨ": "i"}
"""Sounds that writers of the other script render in a second way."""


class NamePart(NamedTuple):
    """One word of a name."""

    sounds: str
    latin: str
    other: tuple[str, ...]
    """Accepted spellings in the other script, the usual one first."""
    regular: bool
    """Do the rules of the two scripts alone lead from the one spelling to the usual other one?"""


class Name(NamedTuple):
    """A name of a person or a place."""

    kind: str
    """``person`` or ``place``."""
    gender: int
    """Which of the language's genders it has, by index."""
    parts: tuple[NamePart, ...]

    @property
    def latin(self) -> str:
        """The name as the main language writes it."""
        return " ".join(part.latin for part in self.parts)

    @property
    def other(self) -> tuple[str, ...]:
        """At most four accepted spellings in the other script, the usual one first."""
        return tuple(" ".join(words) for words in islice(product(*(part.other for part in self.parts)), 4))

    @property
    def regular(self) -> bool:
        """Does the whole name follow the rules?"""
        return all(part.regular for part in self.parts)

    def words(self, script: Script, gender: str) -> list[Word]:
        """The name as words of a text in the script."""
        features = features_of(Gender=gender, Number="Sing" if gender else "")
        forms = [part.latin if script.name == "latin" else part.other[0] for part in self.parts]
        return [
            Word(form, form, "PROPN", features, part.sounds, part.latin)
            for form, part in zip(forms, self.parts, strict=True)
        ]


def _old_spelling(random: Random, graphemes: list[str], sounds: str) -> list[str]:
    """A Latin spelling that the rules would not give."""
    result = list(graphemes)
    inner = [i for i in range(1, len(result) - 1) if result[i] in CONSONANTS and result[i + 1] in VOWELS]
    way = random.below(4)
    if way == 0 and inner:
        result[random.choice(inner)] *= 2
    elif way == 1 and "f" in result:
        result[result.index("f")] = "ph"
    elif way == 2 and result[0] in ("t", "r", "d", "g"):
        result[0] += "h"
    elif sounds[-1] in VOWELS:
        result[-1] += "h"
    else:
        result[-1] += "e"
    return result


class _Namer:
    def __init__(self, seed: int, sounds: Sounds, latin: Script, other: Script, change: Callable[[str], str]):
        random = Random(seed, "samples/name endings")
        self.sounds, self.latin, self.other, self.change = sounds, latin, other, change
        self.place_endings = [sounds.root(random, 1) for _ in range(5)]
        self.family_endings = [sounds.root(random, 1) for _ in range(3)]

    def sounds_of(self, random: Random, role: str) -> str:
        root = self.sounds.root(random, 1 + (random.uniform() < 0.8) + (random.uniform() < 0.15))
        if role == "place" and random.uniform() < 0.6:
            return self.sounds.join(root, random.choice(self.place_endings))
        if role == "family" and random.uniform() < 0.5:
            return self.sounds.join(root, random.choice(self.family_endings))
        if role == "woman" and root[-1] not in VOWELS:
            return root + "a"
        if role == "man" and root[-1] == "a":
            return root[:-1] + "o"
        return root

    def part(self, random: Random, role: str) -> NamePart:
        sounds = ""
        while len(sounds) < 3:
            sounds = self.sounds_of(random, role)
        graphemes, regular = self.latin.graphemes(sounds), True
        if random.uniform() < 0.12:
            graphemes, regular = _old_spelling(random, graphemes, sounds), False
        abroad = sounds
        if random.uniform() < 0.06 and self.change(sounds) != sounds:
            abroad, regular = self.change(sounds), False
        accepted = [self.other.spell(abroad)]
        disputed = [sound for sound in RENDERINGS if sound in abroad[1:]]
        if disputed and random.uniform() < 0.6:
            sound = random.choice(disputed)
            accepted.append(self.other.spell(abroad[0] + abroad[1:].replace(sound, RENDERINGS[sound])))
            if random.uniform() < 0.25:
                accepted.reverse()
                regular = False
        latin = self.latin.capitalise(self.latin.assemble(graphemes) if regular else "".join(graphemes))
        return NamePart(sounds, latin, tuple(dict.fromkeys(map(self.other.capitalise, accepted))), regular)

    def name(self, random: Random) -> Name:
        chance = random.uniform()
        if chance < 0.4:
            part = self.part(random, "place")
            return Name("place", random.below(2), (part,))
        gender = random.below(2)
        parts = [self.part(random, "woman" if gender else "man")]
        if chance < 0.6:
            parts.append(self.part(random, "family"))
        return Name("person", gender, tuple(parts))


def make_names(
    seed: int, count: int, sounds: Sounds, latin: Script, other: Script, change: Callable[[str], str]
) -> list[Name]:
    """Names, no two alike; name i does not depend on how many are made."""
    namer = _Namer(seed, sounds, latin, other, change)
    names: dict[str, Name] = {}
    item = 0
    while len(names) < count:
        name = namer.name(Random(seed, "samples/names", 0, item))
        names.setdefault(name.latin, name)
        item += 1
    return list(names.values())
