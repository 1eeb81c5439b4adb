"""The sounds of the sample language, what happens where morphemes meet, and the scripts in which sounds are written.

A phoneme is one character of the International Phonetic Alphabet, so a word's sounds are a plain string. A suffix may
contain the archiphonemes ``A`` and ``I``, low and high vowels that take their backness from the stem where the
language has vowel harmony.

A script maps one or two phonemes to a grapheme of one or two letters; a grapheme may depend on the sounds beside it (as
Greek writes another sigma at the end of a word). Every grapheme stands for one thing only, so that reading, which takes
the longest grapheme that fits, inverts spelling; where two graphemes side by side would be misread, a separator is
written between them. ``read(spell(sounds)) == sounds`` for every string of sounds. Names have exceptions to the rules,
see ``corpuscle.samples.names``.

``Table``, with which the whole sample is drawn, is weighted choice for many draws from the same weights. Weights are
sums and quotients of small numbers, never powers or logarithms: those differ in the last digit between mathematical
libraries, and a seed must give the same bytes on every machine.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from corpuscle.random import Random

T = TypeVar("T")


class Table(Generic[T]):
    """Items with weights, drawn by bisection.

    >>> Table(["a", "b"], [1.0, 0.0]).draw(Random(1, "example"))
    'a'
    """

    __slots__ = ("items", "last", "sums")

    def __init__(self, items: Sequence[T], weights: Sequence[float] | None = None):
        if not items:
            raise ValueError("a table needs at least one item")
        self.items = list(items)
        self.sums = list(accumulate([1.0] * len(items) if weights is None else weights))
        self.last = len(self.items) - 1

    def draw(self, random: Random) -> T:
        """One item, in proportion to its weight."""
        return self.items[bisect_right(self.sums, random.uniform() * self.sums[-1], 0, self.last)]


def mandelbrot(n: int, shift: float = 2.7) -> list[float]:
    """Weights of ranks 1..n by the law of Zipf and Mandelbrot with exponent one: 1 / (rank + shift)."""
    return [1.0 / (rank + shift) for rank in range(1, n + 1)]


class Consonant(NamedTuple):
    place: str
    manner: str
    voiced: bool


_MANNERS = {
    "stop": "p:labial b:labial+ t:dental d:dental+ k:velar g:velar+",
    "nasal": "m:labial+ n:dental+ ɲ:palatal+ ŋ:velar+",
    "fricative": "f:labial v:labial+ s:dental z:dental+ ʃ:palatal ʒ:palatal+ x:velar h:glottal",
    "affricate": "ʦ:dental ʧ:palatal ʤ:palatal+",
    "liquid": "l:dental+ r:dental+",
    "glide": "j:palatal+ w:labial+",
}
"""Sounds with their places, a plus after those that are voiced."""
CONSONANTS: dict[str, Consonant] = {
    sound: Consonant(place.rstrip("+"), manner, place.endswith("+"))
    for manner, sounds in _MANNERS.items()
    for sound, place in (pair.split(":") for pair in sounds.split())
}
FRONT, BACK = frozenset("eiyø"), frozenset("aouɨ")
VOWELS = FRONT | BACK

_OBSTRUENTS = frozenset(c for c, f in CONSONANTS.items() if f.manner in ("stop", "fricative", "affricate"))
_VOICING = dict(zip("pbtdkgfvszʃʒʧʤ", "bpdtgkvfzsʒʃʤʧ", strict=True))
_NASALS = {"labial": "m", "dental": "n"}
_EASE = "tnsrklmpdbgvjfzhʃxwʧʦʒɲŋʤ"


def _assimilate(word: str) -> str:
    """Neighbouring obstruents agree in voicing, nasals take the place of a following stop, nothing is doubled."""
    sounds: list[str] = []
    following = ""
    for sound in reversed(word):
        if sound in CONSONANTS and following in CONSONANTS:
            features, next_features = CONSONANTS[sound], CONSONANTS[following]
            if sound in _OBSTRUENTS and following in _OBSTRUENTS and features.voiced != next_features.voiced:
                sound = _VOICING.get(sound, sound)
            elif sound in "mn" and next_features.manner == "stop":
                sound = _NASALS.get(next_features.place, sound)
        if sound == following:
            continue
        sounds.append(sound)
        following = sound
    return "".join(reversed(sounds))


@dataclass(frozen=True)
class Sounds:
    """The sound system of one language."""

    consonants: Table[str]
    vowels: Table[str]
    codas: Table[str]
    clusters: bool
    """May a syllable begin with an obstruent and a liquid?"""
    coda_rate: float
    harmony: bool
    lenition: bool
    """Does a final voiceless stop become voiced before a vowel of a suffix?"""
    hiatus: str
    """What stands between two vowels at a morpheme boundary: a glide, or nothing, and the first vowel goes."""
    epenthesis: str
    """The vowel that breaks up clusters at a morpheme boundary."""

    def syllable(self, random: Random, first: bool = False, last: bool = False) -> str:
        """One syllable; only the first of a word may lack an onset."""
        vowel = self.vowels.draw(random)
        onset = "" if first and random.uniform() < 0.14 else self.consonants.draw(random)
        if self.clusters and onset in ("p", "b", "t", "d", "k", "g", "f") and random.uniform() < 0.13:
            onset += "r" if onset in "td" or random.uniform() < 0.5 else "l"
        rate = self.coda_rate * (1.6 if last else 1.0)
        coda = self.codas.draw(random) if random.uniform() < rate else ""
        if vowel in {"j": "iy", "w": "uy"}.get(onset, ""):
            vowel = "a"
        return onset + vowel + coda

    def root(self, random: Random, syllables: int) -> str:
        parts = [self.syllable(random, i == 0, i == syllables - 1) for i in range(syllables)]
        return _assimilate("".join(parts))

    def join(self, stem: str, suffix: str) -> str:
        """Stem and suffix as one word: harmony, lenition, hiatus and clusters are settled.

        This is where allomorphs come from: the same suffix is ``-ta`` after one stem, ``-ete`` after another. A hyphen
        separates suffixes that are joined one after the other.
        """
        for piece in suffix.split("-") if suffix else ():
            stem = self._join(stem, piece)
        return stem

    def _join(self, stem: str, suffix: str) -> str:
        if "A" in suffix or "I" in suffix:
            last_vowel = next((s for s in reversed(stem) if s in VOWELS), "a")
            front = self.harmony and last_vowel in FRONT
            suffix = suffix.replace("A", "e" if front else "a").replace("I", "i" if front else "u")
        if suffix[0] in VOWELS:
            if stem[-1] in VOWELS:
                if self.hiatus:
                    return stem + self.hiatus + suffix
                return (stem[:-1] if len(stem) > 2 else stem + "j") + suffix
            if self.lenition and stem[-1] in "ptk" and len(stem) > 2 and stem[-2] in VOWELS:
                stem = stem[:-1] + _VOICING[stem[-1]]
            return stem + suffix
        if stem[-1] in VOWELS:
            return stem + suffix
        if len(suffix) == 1:
            return stem + self.epenthesis + suffix
        fits = CONSONANTS[stem[-1]].manner in ("nasal", "liquid") or (stem[-1] in "sʃ" and suffix[0] in "ptk")
        if fits and suffix[0] != stem[-1] and (len(stem) < 2 or stem[-2] in VOWELS):
            return _assimilate(stem + suffix)
        return stem + self.epenthesis + suffix


def inventory(seed: int) -> Sounds:
    """The sound system of a seed: 15 to 19 consonants, 5 to 7 vowels, and its habits."""
    random = Random(seed, "samples/sounds")
    extra = random.shuffled([c for c in CONSONANTS if c not in "ptkmnslr"])[: 7 + random.below(5)]
    chosen = sorted(["p", "t", "k", "m", "n", "s", "l", "r", *extra], key=_EASE.index)
    weights = [(0.5 + random.uniform()) / (4 + rank) for rank in range(len(chosen))]
    vowels = ["a", "i", "e", "o", "u", *random.shuffled(["y", "ø", "ɨ"])[: random.below(3)]]
    vowel_weights = [(0.6 + random.uniform()) / (2 + rank) for rank in range(len(vowels))]
    codas = [c for c in chosen if CONSONANTS[c].manner in ("nasal", "liquid") or c in "sʃkt"]
    return Sounds(
        consonants=Table(chosen, weights),
        vowels=Table(vowels, vowel_weights),
        codas=Table(codas, [(0.5 + random.uniform()) / (3 + rank) for rank in range(len(codas))]),
        clusters=random.uniform() < 0.6,
        coda_rate=0.12 + 0.18 * random.uniform(),
        harmony=random.uniform() < 0.5,
        lenition=random.uniform() < 0.6,
        hiatus="j" if "j" in chosen and random.uniform() < 0.6 else "",
        epenthesis="a" if random.uniform() < 0.5 else "e",
    )


# ---- scripts

Spelling = tuple[frozenset[str] | None, frozenset[str] | None, str]
"""The sounds before, the sounds after (None: any; ``#`` is the edge of the word), and the grapheme."""

_EDGE = frozenset("#")


class Script:
    """A way to write sounds.

    ``rules`` gives for one or two phonemes a list of spellings, of which the first that fits is written.

    >>> greek = SCRIPTS["greek"]
    >>> greek.spell("saksos"), greek.read("σαξος")
    ('σαξος', 'saksos')
    """

    def __init__(self, name: str, rules: Mapping[str, list[Spelling]], separator: str, cased: bool = True):
        self.name = name
        self.rules = rules
        self.separator = separator
        self.cased = cased
        self.sounds: dict[str, str] = {}
        for sounds, spellings in rules.items():
            for _, _, grapheme in spellings:
                if self.sounds.setdefault(grapheme, sounds) != sounds:
                    raise ValueError(f"{grapheme} stands for both {self.sounds[grapheme]} and {sounds}")

    def __repr__(self) -> str:
        return f"Script({self.name!r})"

    @cached_property
    def longest(self) -> int:
        """The letters of the longest grapheme."""
        return max(map(len, self.sounds))

    def graphemes(self, sounds: str) -> list[str]:
        """The graphemes of a word, without separators."""
        result, i = [], 0
        while i < len(sounds):
            unit = sounds[i : i + 2]
            if unit not in self.rules:
                unit = sounds[i]
            before = sounds[i - 1] if i else "#"
            after = sounds[i + len(unit)] if i + len(unit) < len(sounds) else "#"
            for left, right, grapheme in self.rules[unit]:
                if (left is None or before in left) and (right is None or after in right):
                    result.append(grapheme)
                    break
            i += len(unit)
        return result

    def spell(self, sounds: str) -> str:
        """The letters of a word."""
        return self.assemble(self.graphemes(sounds))

    def assemble(self, graphemes: list[str]) -> str:
        """Graphemes as one word, with separators where a reader would go wrong."""
        letters, previous = "", ""
        for grapheme in graphemes:
            if previous and self._first(previous + grapheme) != previous:
                letters += self.separator
            letters += grapheme
            previous = grapheme
        return letters

    def _first(self, letters: str) -> str:
        for length in range(min(self.longest, len(letters)), 0, -1):
            if letters[:length] in self.sounds:
                return letters[:length]
        raise ValueError(f"{letters[0]!r} is no letter of the {self.name} script")

    def read(self, letters: str) -> str:
        """The sounds of a regularly spelled word; upper case is read as lower case."""
        letters = letters.lower() if self.cased else letters
        sounds, i = "", 0
        while i < len(letters):
            if letters.startswith(self.separator, i):
                i += len(self.separator)
                continue
            grapheme = self._first(letters[i:])
            sounds += self.sounds[grapheme]
            i += len(grapheme)
        return sounds

    def capitalise(self, word: str) -> str:
        """The word with a first capital, if the script has capitals."""
        return word[0].upper() + word[1:] if self.cased else word


_SCRIPTS = tomllib.loads(Path(__file__).with_name("scripts.toml").read_text(encoding="utf-8"))
_WHERE = {"initial": (_EDGE, None), "final": (None, _EDGE), "before_front": (None, FRONT)}


def _rules(letters: str, **special: str) -> dict[str, list[Spelling]]:
    """Rules from text such as ``"p π b μπ"``, and for sounds that are written in another way in some places."""
    parts = letters.split()
    rules: dict[str, list[Spelling]] = {
        sounds: [(None, None, grapheme)] for sounds, grapheme in zip(parts[::2], parts[1::2], strict=True)
    }
    for where, listed in special.items():
        parts = listed.split()
        for sound, there, elsewhere in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            rules[sound] = [(*_WHERE[where], there), (None, None, elsewhere)]
    return rules


def _script(name: str, separator: str, cased: bool = True, **rules: str) -> Script:
    return Script(name, _rules(**rules), separator, cased)


SCRIPTS = {name: _script(name, **facts) for name, facts in _SCRIPTS.items() if name != "latin"}


def other_script(seed: int) -> Script:
    """The second script of a seed, which its sister language is written in."""
    return SCRIPTS[Random(seed, "samples/other script").choice(sorted(SCRIPTS))]


def latin(seed: int) -> Script:
    """The Latin orthography of a seed: digraphs or diacritics, and a few habits that depend on context."""
    random, rules = Random(seed, "samples/latin"), _rules(_SCRIPTS["latin"]["letters"])
    for choices in _SCRIPTS["latin"]["choices"]:
        sound, *graphemes = choices.split()
        rules[sound] = [(None, None, random.choice(graphemes))]
    rules["k"] = [(None, None, "k")]
    if random.uniform() < 0.6:
        rules["k"].insert(0, (None, BACK | frozenset(CONSONANTS), "c"))
    rules["e"] = [(None, None, "e")]
    if random.uniform() < 0.6:
        rules["e"].insert(0, (None, _EDGE, "é"))
    if random.uniform() < 0.4:
        rules["ks"] = [(VOWELS, VOWELS, "cz"), (None, None, "cs")]
    return Script("latin", rules, _SCRIPTS["latin"]["separator"])
