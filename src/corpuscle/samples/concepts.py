"""What the sample languages can talk about: concepts with an English gloss, a meaning class and a topic.

Both languages name the same concepts; the glosses are for people who look at the result. Nouns are listed by class
(who can do something, what can be eaten, where one can be), verbs with the classes that they take: a verb is written
``gloss/frame/objects``. Frames: ``i`` somebody does it, ``n`` something does it, ``t`` somebody does it to an object,
``d`` somebody gives an object to somebody, ``c`` somebody says or thinks that a clause holds, ``x`` somebody does it
with an action (want to ...).
"""

from __future__ import annotations

from typing import NamedTuple

GENERAL = "general"
TOPICS = ("sea", "field", "market", "kitchen", "house", "music", "healing", "road")

_NOUNS = {
    GENERAL: {
        "person": "man woman child person friend mother father brother sister king neighbour stranger",
        "animal": "dog bird horse",
        "food": "bread water",
        "tool": "knife rope basket",
        "place": "village town river hill land world",
        "thing": "stone fire light tree letter thing",
        "body": "hand head eye heart",
        "idea": "day night year word name story work way life law fear hope question price",
    },
    "sea": {
        "person": "fisher sailor captain diver pirate",
        "animal": "fish whale gull seal crab",
        "food": "oyster salt seaweed",
        "tool": "boat net sail oar anchor hook",
        "place": "harbour island beach bay reef",
        "thing": "wave storm wind pearl shell tide",
        "idea": "voyage catch",
    },
    "field": {
        "person": "farmer shepherd reaper miller",
        "animal": "cow sheep goat ox hen",
        "food": "grain milk apple bean honey",
        "tool": "plough sickle cart fence",
        "place": "field barn meadow orchard mill",
        "thing": "seed rain soil straw flower",
        "idea": "harvest spring autumn",
    },
    "market": {
        "person": "merchant buyer thief guard beggar",
        "animal": "donkey parrot",
        "food": "spice wine date",
        "tool": "scale purse chest",
        "place": "market stall square warehouse",
        "thing": "coin gold silk jewel carpet cloth",
        "idea": "debt trade profit tax bargain",
    },
    "kitchen": {
        "person": "cook guest servant baker",
        "animal": "duck cat",
        "food": "soup meat onion egg cheese cake rice oil",
        "tool": "pot spoon oven plate kettle",
        "place": "kitchen cellar table",
        "thing": "smoke steam flame",
        "idea": "taste meal hunger feast",
    },
    "house": {
        "person": "mason carpenter owner painter",
        "animal": "mouse spider",
        "food": "breakfast",
        "tool": "hammer saw nail ladder brush",
        "place": "house roof room yard cottage",
        "thing": "wall door window brick beam key paint",
        "idea": "plan repair rent",
    },
    "music": {
        "person": "singer drummer piper dancer teacher",
        "animal": "nightingale cricket",
        "food": "sweet",
        "tool": "flute drum harp bell fiddle",
        "place": "hall stage school",
        "thing": "song string voice tune",
        "idea": "rhythm silence dance wedding joy",
    },
    "healing": {
        "person": "healer patient nurse midwife",
        "animal": "leech snake",
        "food": "herb broth root",
        "tool": "bandage needle syringe",
        "place": "clinic bed ward",
        "thing": "wound medicine pill blood",
        "body": "lung knee back stomach throat ear foot skin liver shoulder",
        "illness": "fever cough pain rash headache infection fracture ulcer cramp",
        "idea": "cure sleep birth",
    },
    "road": {
        "person": "traveller pilgrim driver messenger soldier",
        "animal": "mule camel wolf",
        "food": "ration",
        "tool": "wagon wheel tent lamp map",
        "place": "road bridge inn forest mountain gate",
        "thing": "dust mud snow sign",
        "idea": "journey mile border danger",
    },
}
_VERBS = {
    GENERAL: "see/t/person+animal+thing+place come/i go/i sleep/i laugh/i stay/i take/t/tool+thing+food "
    "find/t/tool+thing+person+animal have/t/tool+thing+idea+animal love/t/person+place+food "
    "know/t/person+place+idea wait/i fall/n+i begin/n give/d/thing+tool+food+animal show/d/thing+place+tool "
    "send/d/thing+person say/c think/c hear/c believe/c want/x try/x forget/x learn/x fear/t/animal+person+idea "
    "make/t/thing+tool die/i change/n help/t/person ask/t/person+idea watch/t/person+animal+thing",
    "sea": "sail/i swim/i sink/n drift/n+i catch/t/animal row/t/tool dive/i mend/t/tool",
    "field": "plough/t/place sow/t/food+thing reap/t/food grow/n+i feed/t/animal milk/t/animal ripen/n",
    "market": "buy/t/food+thing+tool+animal sell/d/food+thing+tool+animal count/t/thing steal/t/thing+food pay/d/thing "
    "shout/i weigh/t/food+thing",
    "kitchen": "cook/t/food eat/t/food drink/t/food burn/n+i cut/t/food boil/n serve/d/food smell/t/food",
    "house": "build/t/place+thing paint/t/thing+place open/t/thing+place close/t/thing+place break/t/thing+tool "
    "collapse/n clean/t/place+tool",
    "music": "sing/i+t/thing+idea dance/i play/t/tool+idea ring/n listen/i praise/d/thing",
    "healing": "heal/t/person+body+illness examine/t/person+body suffer/i recover/i wash/t/body+tool swell/n "
    "prescribe/d/food+thing swallow/t/food+thing feel/t/illness",
    "road": "walk/i ride/t/animal+tool cross/t/place follow/t/person+animal arrive/i leave/t/place+person "
    "carry/t/thing+tool+person rest/i",
}
_ADJECTIVES = {
    GENERAL: "good bad big small old new long black white young other strong beautiful quiet first",
    "sea": "deep salty wet stormy",
    "field": "green ripe muddy fertile",
    "market": "cheap dear rich false",
    "kitchen": "hot fresh sour tasty",
    "house": "wooden empty high broken",
    "music": "loud merry sad gentle",
    "healing": "sick healthy weak bitter",
    "road": "far tired dark steep",
}
STATES = "swollen sore inflamed numb stiff bruised"
"""What a part of the body can be: with the part, a disorder in two pieces."""
SIDES = "left right"
ADVERBS = "now today often soon always here there again slowly well never quickly"
ADPOSITIONS = "in on with from to for about without under near"
NUMERALS = "two three four five six seven eight nine ten hundred"


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


def _concepts() -> dict[str, Concept]:
    found: dict[str, Concept] = {}

    def add(gloss: str, pos: str, kind: str, topic: str, objects: tuple[str, ...] = ()) -> None:
        key = f"{gloss}.{pos[0].lower()}" if pos in ("NOUN", "VERB", "ADJ") else gloss
        if key in found:
            raise ValueError(f"the concept {key} is listed twice")
        found[key] = Concept(gloss, pos, kind, topic, objects)

    for topic, classes in _NOUNS.items():
        for kind, glosses in classes.items():
            for gloss in glosses.split():
                add(gloss, "NOUN", kind, topic)
    for topic, verbs in _VERBS.items():
        for verb in verbs.split():
            gloss, frames, *objects = verb.split("/")
            add(gloss, "VERB", frames, topic, tuple(objects[0].split("+")) if objects else ())
    for topic, adjectives in _ADJECTIVES.items():
        for gloss in adjectives.split():
            add(gloss, "ADJ", "quality", topic)
    for gloss in STATES.split():
        add(gloss, "ADJ", "state", "healing")
    for gloss in SIDES.split():
        add(gloss, "ADJ", "side", "healing")
    for words, pos in ((ADVERBS, "ADV"), (ADPOSITIONS, "ADP"), (NUMERALS, "NUM")):
        for gloss in words.split():
            add(gloss, pos, pos.lower(), GENERAL)
    return found


CONCEPTS: dict[str, Concept] = _concepts()


def head_of(key: str) -> str:
    """The concept that a noun is one of: ``a+b`` is a compound with head b, ``b~`` a diminutive."""
    return key.rstrip("~").rsplit("+")[-1]
