"""Notes of a clinic with the entities marked: people, places, products and disorders.

Disorders come in pieces ("the left knee was very swollen": left knee, swollen) and share words ("the left and the right
knee ..."). Mentions are found in the meaning of a sentence, not in its words, so the marking is complete: everything
in the text that is a mention is marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from corpuscle.random import Random
from corpuscle.samples.concepts import CONCEPTS, head_of
from corpuscle.samples.documents import Cast, Sentence, running_text, said_in_turn
from corpuscle.samples.grammar import SLOTS, Grammar
from corpuscle.samples.meaning import Context, Event, Speaker, Thing
from corpuscle.samples.names import Name, NamePart
from corpuscle.samples.sounds import Script, Sounds
from corpuscle.text import standoff
from corpuscle.text.mention_tags import TokenMention, tags_of_spans
from corpuscle.text.standoff import Standoff

TYPES = {"person": "PERSON", "place": "PLACE", "product": "PRODUCT"}


@dataclass
class Note:
    """A short document with the mentions of every sentence."""

    label: str
    sentences: list[Sentence]
    mentions: list[list[TokenMention]]
    text: str = ""
    """The running text, one line a sentence."""
    offsets: list[list[tuple[int, int]]] = field(default_factory=list)
    """Begin and end of every token of every sentence in the text."""

    def __post_init__(self) -> None:
        for sentence in self.sentences:
            line, offsets = running_text(sentence.words)
            base = len(self.text)
            self.offsets.append([(base + begin, base + end) for begin, end in offsets])
            self.text += line + "\n"

    def document(self) -> Standoff:
        """The running text with the mentions as stretches of its characters."""
        found: list[standoff.Mention] = []
        for offsets, mentions in zip(self.offsets, self.mentions, strict=True):
            for mention in mentions:
                spans = tuple((offsets[first][0], offsets[last][1]) for first, last in mention.runs)
                found.append(standoff.Mention(mention.type, spans, f"T{len(found) + 1}"))
        return Standoff(self.text, tuple(found), name=self.label)

    def tags(self, sentence: int) -> list[str]:
        """BIO tags of the mentions that such tags can express: in one piece, and not overlapping an earlier one."""
        spans, taken = [], set[int]()
        for mention in self.mentions[sentence]:
            if len(mention.runs) == 1 and taken.isdisjoint(mention.tokens):
                taken.update(mention.tokens)
                spans.append((mention.tokens[0], mention.tokens[-1] + 1, mention.type))
        return tags_of_spans(spans, len(self.sentences[sentence].words))


def _things(event: Event | None) -> Iterator[tuple[Thing, Event]]:
    """Everything that a meaning talks about, with the event it takes part in."""
    if event is None:
        return
    roots = [event.subject, event.object, event.recipient, *(thing for _, thing in event.obliques)]
    if isinstance(event.predicate, Thing):
        roots.append(event.predicate)
    stack = [thing for thing in roots if thing is not None]
    while stack:
        thing = stack.pop()
        if thing.kind != "pronoun":
            yield thing, event
            stack += thing.also
            if thing.possessor is not None:
                stack.append(thing.possessor)
            yield from _things(thing.relative)
    yield from _things(event.complement)
    for other in (event.circumstance, event.also):
        if other is not None:
            yield from _things(other[1])


def _kind(thing: Thing) -> str:
    """The meaning class of a noun; nothing for other things."""
    return CONCEPTS[head_of(thing.key)].kind if thing.kind == "noun" else ""


def mentions_of(sentence: Sentence) -> list[TokenMention]:
    """The entities of a sentence, read off its meaning, in the order of their first tokens."""
    places: dict[int, list[int]] = {}
    for position, leaf in enumerate(sentence.leaves):
        places.setdefault(leaf.meaning, []).append(position)

    def tokens(*meanings: int) -> tuple[int, ...]:
        return tuple(sorted(position for meaning in meanings for position in places.get(meaning, ())))

    found = set()
    for thing, event in _things(sentence.meaning):
        head = thing.id * SLOTS
        if thing.name is not None:
            parts = range(head, head + len(thing.name.parts))
            found.add(TokenMention(TYPES[thing.name.kind], tokens(*parts)))
            continue
        kind = _kind(thing)
        if kind == "illness":
            own = [id * SLOTS for key, id in thing.adjectives if CONCEPTS[key].kind == "state"]
            if thing.possessor is not None and _kind(thing.possessor) == "body":
                own.append(thing.possessor.id * SLOTS)
            found.add(TokenMention("DISORDER", tokens(head, *own)))
        elif kind == "body" and isinstance(event.predicate, tuple) and thing is event.subject:
            adjective, id = event.predicate
            if CONCEPTS[adjective].kind == "state":
                sides = [side * SLOTS for key, side in thing.adjectives if CONCEPTS[key].kind == "side"]
                for side in sides if sides else [head]:
                    found.add(TokenMention("DISORDER", tokens(*{side, head, id * SLOTS})))
    return sorted((mention for mention in found if mention.tokens), key=lambda mention: mention[::-1])


class _Clinic:
    """Thinks of sentences that a note of a clinic consists of."""

    def __init__(self, speaker: Speaker, products: list[Name]):
        self.speaker = speaker
        self.products = products

    def body(self, random: Random, context: Context) -> Thing:
        key = self.speaker.concepts("NOUN", ("body",), "healing").draw(random)
        return Thing(context.fresh(), "noun", key, determiner="the")

    def finding(self, random: Random, context: Context) -> Event:
        """A part of the body is in a state; with two sides named, that is two disorders."""
        part = self.body(random, context)
        chance = random.uniform()
        sides = random.shuffled(("left.a", "right.a"))[: 2 if chance < 0.35 else 1 if chance < 0.75 else 0]
        part.adjectives = [(side, context.fresh()) for side in sides]
        part.adjectives_joined = len(sides) == 2
        event = Event(context.fresh(), "be.v", "be", part, context.tense)
        state = self.speaker.concepts("ADJ", ("state",), "healing").draw(random)
        event.predicate = (state, context.fresh())
        event.intensified = random.uniform() < 0.4
        return event

    def complaint(self, random: Random, context: Context) -> Event:
        """Somebody has a disorder, or two."""
        event = Event(context.fresh(), "have.v", "t", self.speaker.subject(random, context), context.tense)
        if random.uniform() < 0.5:
            event.verb = "feel.v"
        event.object = self.illness(random, context)
        if random.uniform() < 0.3:
            event.object.also.append(self.illness(random, context))
        return event

    def illness(self, random: Random, context: Context) -> Thing:
        key = self.speaker.concepts("NOUN", ("illness",), "healing").draw(random)
        illness = Thing(context.fresh(), "noun", key)
        chance = random.uniform()
        if chance < 0.3:
            illness.possessor = self.body(random, context)
        elif chance < 0.7:
            illness.determiner = "a"
        if random.uniform() < 0.2:
            state = self.speaker.concepts("ADJ", ("quality",), "healing").draw(random)
            illness.adjectives.append((state, context.fresh()))
        return illness

    def treatment(self, random: Random, context: Context) -> Event:
        """Somebody gives a product to somebody."""
        verb = random.choice(("prescribe.v", "give.v", "send.v"))
        event = Event(context.fresh(), verb, "d", self.speaker.subject(random, context), context.tense)
        event.object = Thing(context.fresh(), "name", name=random.choice(self.products))
        event.recipient = self.speaker.animate(random, context, 1)
        return event

    def sentence(self, random: Random, context: Context) -> Event:
        kinds = (self.finding, self.complaint, self.treatment, self.speaker.sentence)
        event = random.choice(kinds, [0.3, 0.25, 0.2, 0.25])(random, context)
        if random.uniform() < 0.35 and not event.obliques and event.mood == "tell":
            place = Thing(context.fresh(), "name", name=context.places.draw(random))
            event.obliques.append((random.choice(("in", "near", "from")), place))
        return event


def _products(seed: int, sounds: Sounds, latin: Script, other: Script) -> list[Name]:
    random = Random(seed, "samples/products")
    products = []
    for _ in range(40):
        brand = sounds.root(random, 2 + random.below(2))
        parts = [NamePart(brand, latin.capitalise(latin.spell(brand)), (other.capitalise(other.spell(brand)),), True)]
        if random.uniform() < 0.4:
            strength = str(5 * (1 + random.below(20)))
            parts.append(NamePart("", strength, (strength,), True))
        products.append(Name("product", random.below(2), tuple(parts)))
    return products


def make_notes(
    seed: int, purpose: str, sentences: int, speaker: Speaker, grammar: Grammar, cast: Cast, other: Script
) -> list[Note]:
    """Notes of 3 to 5 sentences, with this number of ``sentences`` in all."""
    lexicon = grammar.lexicon
    clinic = _Clinic(speaker, _products(seed, lexicon.sounds, lexicon.script, other))
    notes: list[Note] = []
    made = 0
    while made < sentences:
        random = Random(seed, purpose, 0, len(notes))
        context = cast.context(random, "healing")
        said = said_in_turn(clinic.sentence, grammar, random, context, min(3 + random.below(3), sentences - made))
        notes.append(Note(f"note-{len(notes) + 1:03d}", said, list(map(mentions_of, said))))
        made += len(said)
    return notes
