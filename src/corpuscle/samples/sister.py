"""The sister language: sound changes, a vocabulary that is partly inherited, and translation with alignments.

About two thirds of its roots are the main language's roots after regular sound changes; the others are unrelated. Its
grammar has another order of words, no cases, no genders, no articles; it marks definite objects with a particle,
writes compounds as two words and some verbs with a particle: so translations are not one to one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from corpuscle.random import Random
from corpuscle.samples.concepts import CONCEPTS
from corpuscle.samples.grammar import UNLINKED, Grammar, Phrase, leaves
from corpuscle.samples.lexicon import Lexicon, Word, make_roots
from corpuscle.samples.morphology import sister_morphology
from corpuscle.samples.scripts import Script
from corpuscle.samples.sounds import Sounds

__all__ = ["CHANGES", "Link", "SoundChanges", "links", "sister_grammar"]

_V = "aeiouyøɨ"
CHANGES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("voiceless stops become fricatives after vowels", rf"(?<=[{_V}])[ptk]", {"p": "f", "t": "s", "k": "x"}),
    ("velars become affricates before front vowels", r"[kg](?=[eiyø])", {"k": "ʧ", "g": "ʤ"}),
    ("t becomes ʦ before high vowels", r"t(?=[iyu])", {"t": "ʦ"}),
    ("voiced stops become fricatives between vowels", rf"(?<=[{_V}])[bdg](?=[{_V}])", {"b": "v", "d": "z", "g": "j"}),
    ("s becomes h at the beginning of a word", rf"^s(?=[{_V}])", {"s": "h"}),
    ("low and mid vowels rise before nasals", r"[ao](?=[mnɲŋ])", {"a": "o", "o": "u"}),
    ("mid vowels rise at the end of a word", r"[eo]$", {"e": "i", "o": "u"}),
    ("l becomes r between vowels", rf"(?<=[{_V}])l(?=[{_V}])", {"l": "r"}),
    ("glides become fricatives", r"[jw]", {"j": "ʒ", "w": "v"}),
    ("a becomes e after palatals and dentals", r"(?<=[ʃʒʧʤɲjszd])a", {"a": "e"}),
    ("final vowels are lost in long words", rf"(?<=[{_V}][lrmnst])[{_V}]$", dict.fromkeys(_V, "")),
)
"""What changes, where (a regular expression), and into what."""


class SoundChanges:
    """Some of the changes, in an order, applied to every inherited word without exception."""

    def __init__(self, seed: int):
        random = Random(seed, "samples/sister/changes")
        self.chosen = random.shuffled(CHANGES)[:6]
        self._rules = [(re.compile(pattern), table) for _, pattern, table in self.chosen]

    def __call__(self, sounds: str) -> str:
        for pattern, table in self._rules:
            changed = pattern.sub(lambda match, table=table: table[match.group()], sounds)  # type: ignore[misc]
            if len(changed) > 1:
                sounds = changed
        return sounds


def sister_grammar(
    seed: int, sounds: Sounds, script: Script, roots: dict[str, str], change: SoundChanges, main: Grammar
) -> Grammar:
    """The grammar and vocabulary of the sister of the language with these roots."""
    inherited = Random(seed, "samples/sister/inherited")
    keeps = {key: inherited.uniform() < 0.66 for key in CONCEPTS}
    own_roots = make_roots(
        seed, "samples/sister/roots", sounds, lambda key: change(roots[key]) if keeps.get(key) else None
    )
    merged = Random(seed, "samples/sister/merged")
    groups: dict[tuple[str, str, str], list[str]] = {}
    for key, concept in CONCEPTS.items():
        if concept.pos in ("NOUN", "ADJ"):
            groups.setdefault((concept.pos, concept.kind, concept.topic), []).append(key)
    for keys in groups.values():
        if len(keys) > 2 and merged.uniform() < 0.3:  # one word here for two of the main language
            own_roots[keys[-1]] = own_roots[keys[0]]
    lexicon = Lexicon(seed, "samples/sister", sounds, script, sister_morphology(seed, sounds), own_roots)
    random = Random(seed, "samples/sister/grammar")
    order = random.choice([order for order in ("SVO", "SOV", "VSO") if order != main.order])
    grammar = Grammar.drawn(
        random,
        lexicon,
        order,
        adjective_first=not main.adjective_first,
        articles=False,
        copula=False,
        splits=True,
        marks_objects=True,
    )
    particles = Random(seed, "samples/sister/particles")
    verbs = [key for key, concept in CONCEPTS.items() if concept.pos == "VERB"]
    forms = [sounds.root(particles, 1) for _ in range(3)]
    for key in verbs:
        if particles.uniform() < 0.1:
            form = particles.choice(forms)
            spelled = script.spell(form)
            grammar.phrasal[key] = Word(spelled, spelled, "PART", "_", form, "PRT")
    return grammar


class Link(NamedTuple):
    """Source word and target word, from 0, and whether the link is sure or only possible."""

    source: int
    target: int
    sure: bool


def links(source: Phrase, target: Phrase) -> list[Link]:
    """The gold alignment of two expressions of the same meaning: words that express the same part of it."""
    places: dict[int, list[tuple[int, bool]]] = {}
    for position, leaf in enumerate(leaves(source)):
        places.setdefault(leaf.meaning, []).append((position, leaf.sure))
    found = []
    for position, leaf in enumerate(leaves(target)):
        for place, sure in places.get(leaf.meaning, ()) if leaf.meaning != UNLINKED else ():
            found.append(Link(place, position, sure and leaf.sure))
    return sorted(found)
