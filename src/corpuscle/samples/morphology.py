"""Paradigms: which categories a language marks on its words, and with which endings.

Endings are drawn once a seed. Nouns are inflected for number and case in a declension for each gender, adjectives and
determiners for gender and number, verbs for tense and for the person and number of their subject. Some endings are
the same on purpose (the last gender does not tell Nom from Acc), as in the languages people speak: a form alone does
not always say what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpuscle.random import Random
from corpuscle.samples.sounds import Sounds


@dataclass(frozen=True)
class Morphology:
    """The categories of a language, () where it has none, and the endings that mark them."""

    genders: tuple[str, ...]
    numbers: tuple[str, ...]
    cases: tuple[str, ...]
    noun: dict[tuple[str, str, str], str]
    """(gender, number, case) -> ending; "" stands for a category that the language lacks."""
    agreement: dict[tuple[str, str], str]
    """(gender, number) -> ending of adjectives and determiners."""
    subject: dict[tuple[str, str], str]
    """(person, number) -> ending of verbs; {} where verbs do not agree."""
    tense: dict[str, str]
    """Tense -> marker; a tense that is missing is made with an auxiliary."""
    infinitive: str
    order: dict[str, str]
    """Number -> ending of commands."""
    pronoun_case: dict[str, str]
    diminutive: str
    linking: str
    """The vowel between the parts of a compound."""


class _Suffixes:
    """Draws suffixes that differ from each other."""

    def __init__(self, random: Random, sounds: Sounds):
        self.random, self.taken = random, set[str]()
        favourites = [c for c in "nstmrlkdvzʃj" if c in sounds.consonants.items]
        self.consonants = random.shuffled(favourites)[:7]
        self.vowels = ["A", "I", "o"] if sounds.harmony else ["a", "i", "o", "e", "u"]

    def draw(self, shapes: str, taken: set[str] | None = None) -> str:
        """One suffix of a shape such as ``VC`` (several shapes: any of them) that is not in ``taken``, by default what
        has been drawn so far."""
        taken = self.taken if taken is None else taken
        for attempt in range(1000):
            shape = self.random.choice(shapes.split())
            if attempt > 50:
                shape += "C" if shape[-1] == "V" else "V"
            suffix = "".join(self.random.choice(self.consonants if s == "C" else self.vowels) for s in shape)
            if suffix not in taken:
                taken.add(suffix)
                return suffix
        raise RuntimeError("ran out of suffixes")


def _nouns(
    suffixes: _Suffixes, genders: tuple[str, ...], numbers: tuple[str, ...], cases: tuple[str, ...]
) -> dict[tuple[str, str, str], str]:
    endings: dict[tuple[str, str, str], str] = {}
    themes = set[str]()
    marks = {case: suffixes.draw("C V VC CV") for case in cases}
    for index, gender in enumerate(genders or ("",)):
        taken: set[str] = set()
        for number in numbers:
            plural = "" if number == "Sing" else suffixes.draw("V VC CV", taken)
            for case in cases or ("",):
                if case in ("", "Nom"):
                    ending = plural
                    if number == "Sing" and index:
                        ending = suffixes.draw("V", themes)
                elif number == "Sing" and suffixes.random.uniform() < 0.5:
                    ending = marks[case]
                else:
                    ending = "-".join(filter(None, (plural, suffixes.draw("C V VC", taken))))
                endings[gender, number, case] = ending
    if len(genders) > 1 and cases:
        for number in numbers:
            endings[genders[-1], number, "Acc"] = endings[genders[-1], number, "Nom"]
    if cases:
        for gender in genders or ("",):
            endings[gender, "Plur", "Dat"] = endings[gender, "Plur", "Gen"]
    return endings


def _morphology(
    purpose: str,
    seed: int,
    sounds: Sounds,
    genders: tuple[str, ...],
    numbers: tuple[str, ...],
    cases: tuple[str, ...],
    agreeing_verbs: bool,
    tenses: tuple[str, ...],
) -> Morphology:
    def suffixes(part: str) -> _Suffixes:
        return _Suffixes(Random(seed, f"{purpose}/{part}"), sounds)

    draw = suffixes("agreement").draw
    both = [(gender, number) for gender in genders or ("",) for number in numbers]
    agreement = {each: draw("V V VC") if genders else "" for each in both}
    draw, subject = suffixes("subject").draw, {}
    for number in numbers if agreeing_verbs else ():
        for person in "123":
            subject[person, number] = draw("V C VC" if number == "Sing" else "CV VC VCV")
    draw = suffixes("tense").draw
    tense = {name: draw("CV VC") if name != "Pres" else "" for name in tenses}
    infinitive = draw("VC CV")
    order = {number: "" if number == "Sing" else draw("V VC") for number in numbers}
    draw = suffixes("small").draw
    return Morphology(
        genders=genders,
        numbers=numbers,
        cases=cases,
        noun=_nouns(suffixes("noun"), genders, numbers, cases),
        agreement=agreement,
        subject=subject,
        tense=tense,
        infinitive=infinitive,
        order=order,
        pronoun_case={case: "" if case == "Nom" else draw("V C VC") for case in cases},
        diminutive=draw("VCV CVC"),
        linking=draw("V"),
    )


def main_morphology(seed: int, sounds: Sounds) -> Morphology:
    """The rich one: two or three genders, two or three numbers, four cases, verbs that agree with their subject."""
    random = Random(seed, "samples/main/categories")
    genders = ("Masc", "Fem", "Neut") if random.uniform() < 0.5 else ("Masc", "Fem")
    numbers = ("Sing", "Dual", "Plur") if random.uniform() < 0.3 else ("Sing", "Plur")
    cases = ("Nom", "Acc", "Gen", "Dat")
    return _morphology("samples/main", seed, sounds, genders, numbers, cases, True, ("Pres", "Past", "Fut"))


def sister_morphology(seed: int, sounds: Sounds) -> Morphology:
    """The poor one: number on nouns and tense on verbs; the future takes an auxiliary, cases take adpositions."""
    return _morphology("samples/sister", seed, sounds, (), ("Sing", "Plur"), (), False, ("Pres", "Past"))
