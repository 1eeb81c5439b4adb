"""What a sentence says, before it is said in any language: things, events, and a speaker who thinks of them.

A ``Thing`` becomes a noun phrase and an ``Event`` a clause, in the main language and in its sister alike. Both carry
identifiers, which the words that express them inherit: two words are translations of each other because they
express the same part of the same meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from corpuscle.random import Random
from corpuscle.samples.concepts import ADPOSITIONS, ADVERBS, CONCEPTS, GENERAL, NUMERALS
from corpuscle.samples.names import Name
from corpuscle.samples.sounds import Table, mandelbrot

ANIMATE = ("person", "animal")
CONCRETE = ("thing", "tool", "food", "place", "idea")


@dataclass(slots=True, eq=False)
class Thing:
    """Somebody or something: a noun, a name, a pronoun or a question word, with what is said about it."""

    id: int
    kind: str
    """``noun``, ``name``, ``pronoun`` or ``asking``."""
    key: str = ""
    """The concept; of a pronoun, what it stands for; of a question word, itself."""
    number: str = "Sing"
    name: Name | None = None
    person: str = "3"
    determiner: str = ""
    numeral: str = ""
    adjectives: list[tuple[str, int]] = field(default_factory=list)
    """Concepts, each with an identifier."""
    adjectives_joined: bool = False
    """Are the adjectives alternatives joined by "and" (left and right), not all true of one thing?"""
    possessor: Thing | None = None
    relative: Event | None = None
    also: list[Thing] = field(default_factory=list)
    """Further members of a coordination."""


@dataclass(slots=True, eq=False)
class Event:
    """Something that happens, is the case, is asked or is ordered."""

    id: int
    verb: str
    frame: str
    """A verb's frame (see ``concepts``), or ``be`` for a copular clause."""
    subject: Thing | None
    tense: str
    object: Thing | None = None
    recipient: Thing | None = None
    complement: Event | None = None
    predicate: Thing | tuple[str, int] | None = None
    intensified: bool = False
    negated: bool = False
    mood: str = "tell"
    """``tell``, ``ask`` or ``order``."""
    asked: str = ""
    """What a question asks for: ``subject``, ``object`` or ``place``; "" asks yes or no."""
    gap: str = ""
    """In a relative clause: ``subject`` or ``object``, which is what the clause is about."""
    adverb: str = ""
    obliques: list[tuple[str, Thing]] = field(default_factory=list)
    """Adpositions with their noun phrases."""
    fronted: bool = False
    """Does the last oblique stand first in the clause?"""
    circumstance: tuple[str, Event] | None = None
    """A subordinate clause and its conjunction."""
    also: tuple[str, Event] | None = None
    """A conjunction and the clause that it adds."""


@dataclass
class Context:
    """What a document is about: its topic, its tense, who takes part, and what was mentioned last."""

    topic: str
    tense: str
    people: Table[Name]
    places: Table[Name]
    last: Thing | None = None
    last_id: int = 0

    def fresh(self) -> int:
        """An identifier that no other part of the document has."""
        self.last_id += 1
        return self.last_id


class Speaker:
    """Makes up meanings. Its habits (which concepts are frequent) depend on the seed and the topic."""

    def __init__(self, seed: int, numbers: Sequence[str]):
        random = Random(seed, "samples/speaker")
        self.weights: dict[str, float] = {}
        self.dual = "Dual" in numbers
        groups: dict[tuple[str, str], list[str]] = {}
        for key, concept in CONCEPTS.items():
            groups.setdefault((concept.pos, concept.topic), []).append(key)
        for (pos, _), keys in groups.items():
            order = random.shuffled(keys) if pos in ("NOUN", "VERB", "ADJ") else keys
            for key, weight in zip(order, mandelbrot(len(order), 1.5), strict=True):
                self.weights[key] = weight
        self.by_kind: dict[str, list[str]] = {}
        for key, concept in CONCEPTS.items():
            for kind in concept.kind.split("+"):
                self.by_kind.setdefault(f"{concept.pos}/{kind}", []).append(key)
        self._tables: dict[tuple[str, ...], Table[str]] = {}
        self.adpositions, self.adverbs, self.numerals = (
            Table(words, mandelbrot(len(words))) for words in (ADPOSITIONS, ADVERBS, NUMERALS)
        )

    def concepts(self, pos: str, kinds: tuple[str, ...], topic: str) -> Table[str]:
        """The concepts of some kinds: those of the topic come often, the general ones too, the others rarely."""
        memory = (pos, topic, *kinds)
        if memory not in self._tables:
            keys = dict.fromkeys(key for kind in kinds for key in self.by_kind[f"{pos}/{kind}"])
            self._tables[memory] = self._weighted(list(keys), topic)
        return self._tables[memory]

    def _weighted(self, keys: list[str], topic: str) -> Table[str]:
        boosts = {GENERAL: 1.0, topic: 1.5}
        return Table(keys, [self.weights[key] * boosts.get(CONCEPTS[key].topic, 0.04) for key in keys])

    def thing(self, random: Random, context: Context, kinds: tuple[str, ...], depth: int = 0) -> Thing:
        """A noun phrase with its head from the given kinds."""
        key = self.concepts("NOUN", kinds, context.topic).draw(random)
        kind = CONCEPTS[key].kind
        chance = random.uniform()
        if chance < 0.07 and kind in ("thing", "tool", "food", "place", "animal"):
            modifier = self.concepts("NOUN", ("thing", "food", "animal", "tool"), context.topic).draw(random)
            if modifier != key:
                key = f"{modifier}+{key}"
        elif chance < 0.10 and kind in ("thing", "tool", "animal", "place"):
            key += "~"
        plural = random.uniform() < 0.27
        thing = Thing(context.fresh(), "noun", key, "Plur" if plural else "Sing")
        if plural and random.uniform() < 0.2:
            thing.numeral = self.numerals.draw(random) if random.uniform() < 0.8 else str(11 + random.below(89))
            if self.dual and thing.numeral == "two":
                thing.number = "Dual"
        chance = random.uniform()
        if chance < 0.1 and depth < 2 and not thing.numeral:
            thing.possessor = self.animate(random, context, depth + 1)
        elif chance < 0.62:
            thing.determiner = "the"
        elif chance < 0.82 and not plural:
            thing.determiner = "a"
        elif chance < 0.88:
            thing.determiner = "this"
        while random.uniform() < 0.32 - 0.1 * len(thing.adjectives) and len(thing.adjectives) < 2:
            adjective = self.concepts("ADJ", ("quality",), context.topic).draw(random)
            if all(adjective != other for other, _ in thing.adjectives):
                thing.adjectives.append((adjective, context.fresh()))
        if depth < 1 and random.uniform() < 0.1:
            thing.relative = self.relative(random, context, kind, depth + 1)
        elif depth < 1 and random.uniform() < 0.07:
            thing.also.append(self.thing(random, context, kinds, 2))
        return thing

    def animate(self, random: Random, context: Context, depth: int = 0) -> Thing:
        """Somebody: a name of the document's cast, or a person or an animal."""
        if random.uniform() < 0.3:
            thing = Thing(context.fresh(), "name", name=context.people.draw(random))
            if depth < 1 and random.uniform() < 0.08:
                thing.also.append(Thing(context.fresh(), "name", name=context.people.draw(random)))
            return thing
        return self.thing(random, context, ANIMATE, depth)

    def subject(self, random: Random, context: Context) -> Thing:
        """Who the sentence is about; a pronoun may take up what was mentioned last."""
        chance = random.uniform()
        last = context.last
        if chance < 0.14 and last is not None:
            return Thing(context.fresh(), "pronoun", last.key, last.number, last.name, also=last.also)
        if chance < 0.22:
            number = "Sing" if random.uniform() < 0.6 else "Plur"
            person = "1" if random.uniform() < 0.7 else "2"
            return Thing(context.fresh(), "pronoun", number=number, person=person)
        context.last = self.animate(random, context)
        return context.last

    def relative(self, random: Random, context: Context, kind: str, depth: int) -> Event:
        """A clause about a noun of the given kind, which is its subject or its object."""
        if kind in ANIMATE:
            event = self.event(random, context, "t" if random.uniform() < 0.6 else "i", None, depth)
            event.gap = "subject"
            return event
        memory = ("relative", kind, context.topic)
        if memory not in self._tables:
            verbs = [key for key in self.by_kind["VERB/t"] if kind in CONCEPTS[key].objects]
            self._tables[memory] = self._weighted(verbs, context.topic)
        id, verb = context.fresh(), self._tables[memory].draw(random)
        return Event(id, verb, "t", self.animate(random, context, depth), context.tense, gap="object")

    def event(self, random: Random, context: Context, frame: str, subject: Thing | None, depth: int = 0) -> Event:
        """A clause with a verb of the frame (``be``: a copular clause) and what the verb asks for."""
        tense = context.tense
        chance = random.uniform()
        if chance < 0.2:
            tense = "Fut" if chance < 0.07 else "Past" if tense == "Pres" else "Pres"
        if frame == "be":
            event = Event(context.fresh(), "be.v", "be", subject, tense)
            if random.uniform() < 0.75:
                adjective = self.concepts("ADJ", ("quality",), context.topic).draw(random)
                event.predicate = (adjective, context.fresh())
                event.intensified = random.uniform() < 0.2
            else:
                event.predicate = self.thing(random, context, ("person",) if subject else CONCRETE, 1)
                event.predicate.also = []
        else:
            verb = self.concepts("VERB", (frame,), context.topic).draw(random)
            event = Event(context.fresh(), verb, frame, subject, tense)
            if frame in "td":
                event.object = self.thing(random, context, CONCEPTS[verb].objects, depth)
            if frame == "d":
                event.recipient = self.animate(random, context, depth + 1)
            elif frame == "x":
                event.complement = self.event(random, context, "t" if random.uniform() < 0.6 else "i", None, depth + 1)
            elif frame == "c":
                inner = self.frame(random, 0.0)
                subject = self.subject_for(random, context, inner)
                event.complement = self.event(random, context, inner, subject, depth + 1)
        event.negated = random.uniform() < 0.08
        if random.uniform() < 0.14:
            event.adverb = self.adverbs.draw(random)
        if depth < 2 and frame != "c":
            self.add_obliques(random, context, event, depth)
        return event

    def add_obliques(self, random: Random, context: Context, event: Event, depth: int) -> None:
        """Where, with whom, about what."""
        chance = random.uniform()
        if chance >= (0.58 if depth == 0 else 0.3):
            return
        adposition = self.adpositions.draw(random)
        if adposition in ("in", "on", "from", "to", "under", "near"):
            if random.uniform() < 0.25:
                thing = Thing(context.fresh(), "name", name=context.places.draw(random))
            else:
                thing = self.thing(random, context, ("place",), 1)
        else:
            thing = self.thing(random, context, ("person", "thing", "tool", "idea"), 1)
        event.obliques.append((adposition, thing))
        if chance < 0.12 and len(event.obliques) < 2:
            self.add_obliques(random, context, event, depth)
        event.fronted = depth == 0 and random.uniform() < 0.2

    def frame(self, random: Random, complements: float = 0.13) -> str:
        chance = random.uniform()
        if chance < complements:
            return "c" if chance < 0.6 * complements else "x"
        chance = random.uniform()
        for frame, bound in (("t", 0.46), ("i", 0.65), ("be", 0.82), ("d", 0.93)):
            if chance < bound:
                return frame
        return "n"

    def subject_for(self, random: Random, context: Context, frame: str) -> Thing:
        """A subject that suits the clause type."""
        if frame == "n" or (frame == "be" and random.uniform() < 0.5):
            return self.thing(random, context, CONCRETE)
        return self.subject(random, context)

    def sentence(self, random: Random, context: Context) -> Event:
        """The meaning of a whole sentence."""
        chance = random.uniform()
        if chance < 0.045:
            return self.order(random, context)
        if chance < 0.11:
            return self.question(random, context)
        event = self.statement(random, context)
        if chance < 0.23:
            conjunction = "and" if random.uniform() < 0.6 else "but"
            event.also = (conjunction, self.statement(random, context))
        elif chance < 0.34:
            conjunction = random.choice(("when", "because", "if"))
            event.circumstance = (conjunction, self.statement(random, context, 1))
        return event

    def statement(self, random: Random, context: Context, depth: int = 0) -> Event:
        """One clause that tells something."""
        frame = self.frame(random, 0.13 if depth == 0 else 0.0)
        return self.event(random, context, frame, self.subject_for(random, context, frame), depth)

    def order(self, random: Random, context: Context) -> Event:
        event = self.event(random, context, "t" if random.uniform() < 0.7 else "i", None)
        event.mood, event.fronted = "order", False
        number = "Sing" if random.uniform() < 0.6 else "Plur"
        event.subject = Thing(context.fresh(), "pronoun", number=number, person="2")
        return event

    def question(self, random: Random, context: Context) -> Event:
        """A question: yes or no, who, what or where."""
        frame = "t" if random.uniform() < 0.7 else "i"
        asked = random.choice(("", "", "subject", "object" if frame == "t" else "place", "place"))
        subject = Thing(context.fresh(), "asking", "who") if asked == "subject" else self.subject(random, context)
        event = self.event(random, context, frame, subject, 1)
        event.mood, event.asked, event.fronted = "ask", asked, False
        if asked == "object":
            event.object = Thing(context.fresh(), "asking", "what")
        elif asked == "place":
            event.obliques = [("", Thing(context.fresh(), "asking", "where"))]
        return event
