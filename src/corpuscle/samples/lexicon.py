"""The words of a language: paradigms, roots, irregular forms, function words.

``Morphology`` says which categories a language marks on its words, and with which endings, which are drawn once a seed.
Nouns are inflected for number and case in a declension for each gender, adjectives and determiners for gender and
number, verbs for tense and for the person and number of their subject. Some endings are the same on purpose (the last
gender does not tell Nom from Acc), as in the languages people speak: a form alone does not always say what it is.

``Lexicon`` answers "the word for this concept in this form" and remembers the answer. The same class serves the main
language and its sister; they differ in their morphology, their script and their roots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

from corpuscle.random import Random
from corpuscle.samples.concepts import CONCEPTS, GENERAL, head_of
from corpuscle.samples.sounds import VOWELS, Script, Sounds

# ---- paradigms


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
    tenses: tuple[str, ...],
) -> Morphology:
    """The endings of a language; in one with cases verbs agree with their subject."""

    def suffixes(part: str) -> _Suffixes:
        return _Suffixes(Random(seed, f"{purpose}/{part}"), sounds)

    draw = suffixes("agreement").draw
    both = [(gender, number) for gender in genders or ("",) for number in numbers]
    agreement = {each: draw("V V VC") if genders else "" for each in both}
    draw, subject = suffixes("subject").draw, {}
    for number in numbers if cases else ():
        for person in "123":
            subject[person, number] = draw("V C VC" if number == "Sing" else "CV VC VCV")
    draw = suffixes("tense").draw
    tense = {name: draw("CV VC") if name != "Pres" else "" for name in tenses}
    infinitive = draw("VC CV")
    order = {number: "" if number == "Sing" else draw("V VC") for number in numbers}
    draw = suffixes("small").draw
    noun = _nouns(suffixes("noun"), genders, numbers, cases)
    pronoun_case = {case: "" if case == "Nom" else draw("V C VC") for case in cases}
    return Morphology(
        genders, numbers, cases, noun, agreement, subject, tense, infinitive, order, pronoun_case,
        diminutive=draw("VCV CVC"), linking=draw("V"),
    )  # fmt: skip


def main_morphology(seed: int, sounds: Sounds) -> Morphology:
    """The rich one: two or three genders, two or three numbers, four cases, verbs that agree with their subject."""
    random = Random(seed, "samples/main/categories")
    genders = ("Masc", "Fem", "Neut") if random.uniform() < 0.5 else ("Masc", "Fem")
    numbers = ("Sing", "Dual", "Plur") if random.uniform() < 0.3 else ("Sing", "Plur")
    cases = ("Nom", "Acc", "Gen", "Dat")
    return _morphology("samples/main", seed, sounds, genders, numbers, cases, ("Pres", "Past", "Fut"))


def sister_morphology(seed: int, sounds: Sounds) -> Morphology:
    """The poor one: number on nouns and tense on verbs; the future takes an auxiliary, cases take adpositions."""
    return _morphology("samples/sister", seed, sounds, (), ("Sing", "Plur"), (), ("Pres", "Past"))


# ---- words

UNINFLECTED = {
    "not": "PART", "that": "SCONJ", "and": "CCONJ", "but": "CCONJ", "or": "CCONJ", "when": "SCONJ", "because": "SCONJ",
    "if": "SCONJ", "very": "ADV", "Q": "PART", "of": "ADP", "OBJ": "ADP", "FUT": "AUX",
}  # fmt: skip
"""Function words that have one form only, with their part of speech."""
ANALYTIC = ("of", "OBJ", "FUT")
"""Those of them that do what endings do in a language with cases and a future tense."""
_INFLECTED = "the a this which who what where I you he we youse they be be-past"
FUNCTION_WORDS = (*_INFLECTED.split(" "), *UNINFLECTED)
FREQUENT = tuple(
    key for key, concept in CONCEPTS.items() if concept.topic == GENERAL and concept.kind in ("person", "idea", "body")
)
"""Nouns that may have an unrelated plural."""
STRONG = ("see.v", "come.v", "go.v", "take.v", "have.v", "know.v", "give.v", "say.v", "think.v", "make.v")
"""Verbs that may have an unrelated past."""
ARTICLES = ("the", "a")
_PRONOUNS = {"1Sing": "I", "2Sing": "you", "3Sing": "he", "1Plur": "we", "2Plur": "youse", "3Plur": "they"}
_ABLAUT = str.maketrans("aeioyuøɨ", "oieuoiea")


class Word(NamedTuple):
    """A word form with all that is known about it."""

    form: str
    lemma: str
    upos: str
    features: str
    """In the notation of Universal Dependencies, "_" if there are none."""
    sounds: str
    gloss: str


def features_of(**values: str) -> str:
    """Features as Universal Dependencies writes them, without the empty ones.

    >>> features_of(Number="Sing", Case="Nom", Gender="")
    'Case=Nom|Number=Sing'
    """
    return "|".join(f"{name}={value}" for name, value in sorted(values.items()) if value) or "_"


def onset(root: str) -> str:
    """The consonants before the first vowel."""
    return root[: next((i for i, sound in enumerate(root) if sound in VOWELS), len(root))]


def make_roots(
    seed: int, purpose: str, sounds: Sounds, root_of: Callable[[str], str | None] = lambda key: None
) -> dict[str, str]:
    """A root for every concept and function word, no two alike.

    Frequent words are short. ``root_of`` may suggest a root (an inherited one); it is taken unless another word has it.
    A verb shares its root with the noun of the same gloss (to sail, a sail).
    """
    roots: dict[str, str] = {}
    taken: set[str] = set()
    for key in (*FUNCTION_WORDS, *CONCEPTS):
        noun = key[:-2] + ".n"
        if key.endswith(".v") and noun in roots:
            roots[key] = roots[noun]
            continue
        suggestion = root_of(key)
        if suggestion is None or suggestion in taken:
            suggestion = _new_root(Random(seed, f"{purpose}/{key}"), key, sounds, taken, onset(roots.get("the", "")))
        taken.add(suggestion)
        roots[key] = suggestion
    return roots


def _new_root(random: Random, key: str, sounds: Sounds, taken: set[str], article: str) -> str:
    """A root that no word has; those of articles begin with different consonants, which is all that is left of them."""
    concept = CONCEPTS.get(key)
    for attempt in range(10_000):
        length = 1 + attempt // 6
        if concept is not None and concept.pos not in ("ADP", "NUM"):
            second = random.uniform() < (0.5 if concept.topic == GENERAL else 0.85)
            length = 1 + second + (random.uniform() < 0.25) + attempt // 20
        root = sounds.root(random, length)
        if root in taken or len(root) >= 10 or len(root) < (2 if length == 1 else 3):
            continue
        if key not in ARTICLES or onset(root) not in ("", article):
            return root
    raise RuntimeError(f"no root left for {key}")


def _remembered(method: Callable[..., Word]) -> Callable[..., Word]:
    """A method of a lexicon that makes a word only once."""

    @wraps(method)
    def word(self: Lexicon, *asked: str) -> Word:
        memory = (method.__name__, *asked)
        if memory not in self._words:
            self._words[memory] = method(self, *asked)
        return self._words[memory]

    return word


class Lexicon:
    """All words of one language."""

    def __init__(
        self, seed: int, purpose: str, sounds: Sounds, script: Script, morphology: Morphology, roots: dict[str, str]
    ):
        self.sounds = sounds
        self.script = script
        self.morphology = morphology
        self.roots = roots
        self.genders: dict[str, str] = {}
        self.stems: dict[tuple[str, str], str] = {}
        """(concept, number or tense) -> an irregular stem."""
        self._words: dict[tuple[str, ...], Word] = {}
        self._assign_genders(Random(seed, f"{purpose}/genders"))
        self._make_irregular(Random(seed, f"{purpose}/irregular"))

    def __repr__(self) -> str:
        return f"Lexicon({len(self.roots)} roots in {self.script!r})"

    def _assign_genders(self, random: Random) -> None:
        genders = self.morphology.genders
        weights = [0.45, 0.35, 0.2][: len(genders)]
        for key, concept in CONCEPTS.items():
            if concept.pos != "NOUN":
                continue
            self.genders[key] = gender = random.choice(genders, weights) if genders else ""
            root = self.roots[key]
            if gender != (genders or ("",))[0] and len(root) > 3:  # here a theme vowel takes the place of the last one
                self.roots[key] = root.rstrip("".join(VOWELS))

    def _make_irregular(self, random: Random) -> None:
        for key in FREQUENT:
            if random.uniform() < 0.4:
                other = self.sounds.root(random, 2)
                for number in self.morphology.numbers[1:]:
                    self.stems[key, number] = other
        for key, concept in CONCEPTS.items():
            if concept.pos != "VERB":
                continue
            if key in STRONG and random.uniform() < 0.5:
                self.stems[key, "Past"] = self.sounds.root(random, 1 + random.below(2))
            elif random.uniform() < 0.2:
                self.stems[key, "Past"] = self.roots[key].translate(_ABLAUT)

    def _word(self, sounds: str, lemma: str, upos: str, features: str, gloss: str) -> Word:
        return Word(self.script.spell(sounds), lemma, upos, features, sounds, gloss)

    def root(self, key: str) -> str:
        """The root of a concept; ``a+b`` is a compound with head b, ``a~`` a diminutive."""
        if key.endswith("~"):
            return self.sounds.join(self.root(key[:-1]), self.morphology.diminutive)
        if "+" in key:
            modifier, head = key.split("+")
            stem = self.sounds.join(self.root(modifier), self.morphology.linking)
            return self.sounds.join(stem, self.root(head))
        return self.roots[key]

    def gender(self, key: str) -> str:
        """The gender of a noun, "" where the language has none; a compound has the gender of its head."""
        return self.genders[head_of(key)]

    def gloss(self, key: str) -> str:
        """What a concept is called in English."""
        if key.endswith("~"):
            return f"little-{self.gloss(key[:-1])}"
        return "-".join(CONCEPTS[part].gloss if part in CONCEPTS else part for part in key.split("+"))

    @_remembered
    def noun(self, key: str, number: str, case: str) -> Word:
        """A noun in a number and a case (any case, for a language without)."""
        case = case if self.morphology.cases else ""
        gender, endings = self.gender(key), self.morphology.noun
        lemma = self.sounds.join(self.root(key), endings[gender, "Sing", "Nom" if case else ""])
        sounds = self.sounds.join(self.stems.get((key, number)) or self.root(key), endings[gender, number, case])
        features = features_of(Case=case, Gender=gender, Number=number)
        return self._word(sounds, self.script.spell(lemma), "NOUN", features, self.gloss(key))

    @_remembered
    def agreeing(self, key: str, upos: str, gender: str, number: str) -> Word:
        """An adjective (ADJ) or a determiner (DET: ``the``, ``a`` or ``this``) that agrees with its noun."""
        if not self.morphology.genders:
            gender = number = ""
        endings, root = self.morphology.agreement, self.roots[key]
        first = (self.morphology.genders[0], "Sing") if gender else ("", "Sing")
        if key in ARTICLES and gender:  # articles are short: what precedes the first vowel, and an ending
            root = onset(root)
        lemma = self.script.spell(self.sounds.join(root, endings[first]))
        sounds = self.sounds.join(root, endings[gender, number] if gender else "")
        extra = {"the": "Def", "a": "Ind"}.get(key, "") if upos == "DET" else ""
        kind = {"the": "Art", "a": "Art", "this": "Dem"}.get(key, "") if upos == "DET" else ""
        features = features_of(Definite=extra, Gender=gender, Number=number, PronType=kind)
        return self._word(sounds, lemma, upos, features, self.gloss(key))

    @_remembered
    def verb(self, key: str, tense: str, person: str, number: str) -> Word:
        """A finite verb; ``be.v`` is the copula."""
        if not self.morphology.subject:
            person = number = ""
        ending = self.morphology.subject[person, number] if person else ""
        features = features_of(Mood="Ind", Number=number, Person=person, Tense=tense, VerbForm="Fin")
        upos = "AUX" if key == "be.v" else "VERB"
        irregular = self.roots["be-past"] if (key, tense) == ("be.v", "Past") else self.stems.get((key, tense))
        root = self.roots["be" if key == "be.v" else key]
        stem = irregular or self.sounds.join(root, self.morphology.tense[tense])
        sounds = self.sounds.join(stem, ending)
        return self._word(sounds, self.infinitive(key).form, upos, features, self.gloss(key))

    @_remembered
    def infinitive(self, key: str) -> Word:
        """The form in which a verb is listed, and which follows another verb."""
        sounds = self.sounds.join(self.roots["be" if key == "be.v" else key], self.morphology.infinitive)
        upos = "AUX" if key == "be.v" else "VERB"
        return self._word(sounds, self.script.spell(sounds), upos, "VerbForm=Inf", self.gloss(key))

    @_remembered
    def order(self, key: str, number: str) -> Word:
        """A verb as a command, to one or to several."""
        agrees = bool(self.morphology.subject)
        sounds = self.sounds.join(self.roots[key], self.morphology.order[number if agrees else "Sing"])
        features = features_of(Mood="Imp", Number=number if agrees else "", Person="2", VerbForm="Fin")
        return self._word(sounds, self.infinitive(key).form, "VERB", features, self.gloss(key))

    def _pronoun(self, key: str, upos: str, ending: str, case: str, **features: str) -> Word:
        """A word that stands for another: its root with an ending, and that of a case where the language has any."""
        case = case if self.morphology.cases else ""
        stem = self.sounds.join(self.roots[key], ending)
        sounds = self.sounds.join(stem, self.morphology.pronoun_case.get(case, ""))
        return self._word(sounds, self.script.spell(self.roots[key]), upos, features_of(Case=case, **features), key)

    @_remembered
    def pronoun(self, person: str, number: str, gender: str, case: str) -> Word:
        """A personal pronoun; only the third person singular knows gender."""
        gender = gender if person == "3" and number == "Sing" else ""
        number = "Plur" if number == "Dual" else number
        ending = self.morphology.agreement[gender, "Sing"] if gender else ""
        known = {"Gender": gender, "Number": number, "Person": person}
        return self._pronoun(_PRONOUNS[person + number], "PRON", ending, case, **known, PronType="Prs")

    @_remembered
    def relative(self, gender: str, number: str, case: str) -> Word:
        """The relative pronoun: gender and number of what it refers to, case of its own clause."""
        if not self.morphology.cases:
            gender = number = ""
        ending = self.morphology.agreement[gender, number] if gender else ""
        return self._pronoun("which", "PRON", ending, case, Gender=gender, Number=number, PronType="Rel")

    @_remembered
    def asking(self, key: str, case: str) -> Word:
        """``who``, ``what`` (in a case) or ``where``."""
        is_place = key == "where"
        return self._pronoun(key, "ADV" if is_place else "PRON", "", "" if is_place else case, PronType="Int")

    @_remembered
    def particle(self, key: str, upos: str) -> Word:
        """A word without inflection."""
        sounds = self.roots[key]
        return self._word(sounds, self.script.spell(sounds), upos, "_", self.gloss(key))

    def numeral(self, key: str) -> Word:
        """A number, in letters or in digits."""
        return Word(key, key, "NUM", "_", "", key) if key.isdigit() else self.particle(key, "NUM")

    def paradigms(self) -> Iterator[Word]:
        """Every form of every word in the list of concepts, and the function words; some forms more than once."""
        numbers, cases = self.morphology.numbers, self.morphology.cases or ("",)
        both = [(gender, number) for gender in self.morphology.genders or ("",) for number in numbers]
        finite = [(tense, person, number) for tense in self.morphology.tense for number in numbers for person in "123"]
        for key, concept in CONCEPTS.items():
            if concept.pos == "NOUN":
                yield from (self.noun(key, number, case) for number in numbers for case in cases)
            elif concept.pos == "ADJ":
                yield from (self.agreeing(key, "ADJ", *each) for each in both)
            elif concept.pos == "VERB":
                yield self.infinitive(key)
                yield from (self.verb(key, *each) for each in finite)
                yield from (self.order(key, number) for number in numbers)
            else:
                yield self.particle(key, concept.pos)
        yield from (self.verb("be.v", *each) for each in finite)
        yield from (self.agreeing(key, "DET", *each) for key in ("the", "a", "this") for each in both)
        genders = self.morphology.genders or ("",)
        yield from (self.pronoun(p, n, g, c) for p in "123" for n in numbers for g in genders for c in cases)
        yield from (self.relative(*each, case) for each in both for case in cases[:2])
        yield from (self.asking(key, case) for key in ("who", "what") for case in cases[:2])
        yield self.asking("where", "")
        for key, upos in UNINFLECTED.items():
            if key not in ANALYTIC or not self.morphology.cases:
                yield self.particle(key, upos)
