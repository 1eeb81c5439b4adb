"""Messages as people type them in a hurry, and what they meant, token by token.

The noisy channel lengthens words, drops vowels or letters, writes digits that sound like a part of the word, uses
slang, spells by ear. A corrupted word is never a word of the lexicon, so that each one can be noticed. Names, mentions,
hashtags and emoticons stay as they are.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from corpuscle.random import Random
from corpuscle.samples.concepts import ADVERBS, CONCEPTS, GENERAL, NUMERALS, TOPICS
from corpuscle.samples.documents import Cast
from corpuscle.samples.grammar import Grammar, leaves
from corpuscle.samples.lexicon import Lexicon
from corpuscle.samples.meaning import Speaker
from corpuscle.samples.sounds import Table

WAYS = ("slang", "number", "lengthened", "vowels", "cut", "sound", "typo")
"""What can happen to a word."""
_VOWEL_LETTERS = set("aeiouyéüöøîï")
_EMOTICONS = (":)", ":(", ";)", ":D", "<3", "xD")
_BY_EAR = {"kh": "x", "sh": "x", "ch": "c", "zh": "j", "ny": "n", "ng": "n", "ts": "c"}
_RATE = {1: 0.0, 2: 0.0, 3: 0.1}
"""How often words of some lengths are corrupted; shorter ones rarely, or nobody could repair them."""
_DIGITS = {numeral: str(value) for value, numeral in enumerate(NUMERALS[:9], 2)}


def _without_vowels(word: str) -> str:
    return "".join(letter for letter in word if letter not in _VOWEL_LETTERS)


@dataclass
class Message:
    """A message as typed, the same with its words repaired, and what happened to each token ("" if nothing)."""

    typed: list[str]
    meant: list[str]
    ways: list[str]


class Channel:
    """Corrupts words of one language."""

    def __init__(self, seed: int, lexicon: Lexicon):
        self.known = {word.form for word in lexicon.paradigms()}
        self.digits = {lexicon.particle(key, "NUM").form: digit for key, digit in _DIGITS.items()}
        self.slang: dict[str, str] = {}
        random = Random(seed, "samples/slang")
        pool = [lexicon.particle(key, "ADV").form for key in ADVERBS]
        for key, concept in CONCEPTS.items():
            if concept.topic == GENERAL and concept.pos == "NOUN":
                pool.append(lexicon.noun(key, "Sing", "Nom").form)
            elif concept.topic == GENERAL and concept.pos == "VERB":
                pool += [lexicon.verb(key, "Pres", person, "Sing").form for person in "13"]
        for word in dict.fromkeys(pool):
            if len(word) > 3 and random.uniform() < 0.5:
                short = self._short(random, word)
                if short not in self.known and short not in self.slang.values():
                    self.slang[word] = short

    @staticmethod
    def _short(random: Random, word: str) -> str:
        way = random.below(3)
        if way == 0:
            return word[0] + word[-1]
        if way == 1:
            return word[:2] + random.choice("zxk")
        return _without_vowels(word)[:2] + random.choice(("", "2", "z"))

    def corrupt(self, random: Random, word: str) -> tuple[str, str]:
        """The word as typed, and in which way it was corrupted; the word and "" where no way works."""
        first = self.others.draw(random)
        if word in self.slang and random.uniform() < 0.7:
            first = "slang"
        elif random.uniform() < 0.5 and self._number(random, word):
            first = "number"
        for way in (first, "vowels", "cut", "lengthened"):
            typed = getattr(self, f"_{way}")(random, word)
            if typed and typed != word and typed not in self.known:
                return typed, way
        return word, ""

    others = Table(WAYS[2:], [0.3, 0.25, 0.16, 0.18, 0.11])

    def _slang(self, random: Random, word: str) -> str:
        return self.slang[word]

    def _number(self, random: Random, word: str) -> str:
        for spoken, digit in self.digits.items():
            if len(spoken) > 1 and spoken in word and spoken != word:
                return word.replace(spoken, digit, 1)
        return ""

    def _lengthened(self, random: Random, word: str) -> str:
        places = [i for i, letter in enumerate(word) if letter in _VOWEL_LETTERS]
        if not places:
            return ""
        place = places[-1] if random.uniform() < 0.6 else random.choice(places)
        return word[:place] + word[place] * (3 + random.below(4)) + word[place + 1 :]

    def _vowels(self, random: Random, word: str) -> str:
        if len(word) < 4:
            return ""
        return word[0] + _without_vowels(word[1:-1]) + word[-1]

    def _cut(self, random: Random, word: str) -> str:
        if len(word) < 4:
            return ""
        if random.uniform() < 0.5:
            return word[:-1]
        place = 1 + random.below(len(word) - 2)
        return word[:place] + word[place + 1 :]

    def _sound(self, random: Random, word: str) -> str:
        """By ear: without diacritics, one letter where the orthography has two or makes distinctions."""
        plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
        for letters, letter in _BY_EAR.items():
            plain = plain.replace(letters, letter)
        return plain.replace("c", "k").replace("w", "v")

    def _typo(self, random: Random, word: str) -> str:
        if len(word) < 4:
            return ""
        place = 1 + random.below(len(word) - 2)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def make_messages(
    seed: int, count: int, speaker: Speaker, grammar: Grammar, cast: Cast, channel: Channel
) -> list[Message]:
    """Short messages, with about one word in five corrupted."""
    return [_message(seed, item, speaker, grammar, cast, channel) for item in range(count)]


def _message(seed: int, item: int, speaker: Speaker, grammar: Grammar, cast: Cast, channel: Channel) -> Message:
    random = Random(seed, "samples/messages", 0, item)
    context = cast.context(random, random.choice(TOPICS))
    context.tense = "Pres"
    for _ in range(20):
        words = leaves(grammar.sentence(speaker.sentence(random, context)))
        if len(words) <= 12:
            break
    message = Message([], [], [])

    def add(typed: str, meant: str, way: str = "") -> None:
        message.typed.append(typed)
        message.meant.append(meant)
        message.ways.append(way)

    if random.uniform() < 0.12:
        name = context.people.draw(random).parts[0].latin.lower()
        add(f"@{name}", f"@{name}")
    for leaf in words:
        form = leaf.word.form
        if leaf.word.upos == "PUNCT":
            if random.uniform() < 0.5:
                add(form, form)
        elif leaf.word.upos == "PROPN" or random.uniform() > _RATE.get(len(form), 0.35):
            add(form, form)
        else:
            typed, way = channel.corrupt(random, form)
            add(typed, form, way)
    if random.uniform() < 0.08:
        key = speaker.concepts("NOUN", ("thing",), context.topic).draw(random)
        tag = "#" + grammar.lexicon.noun(key, "Sing", "Nom").form
        add(tag, tag)
    if random.uniform() < 0.15:
        face = random.choice(_EMOTICONS)
        add(face, face)
    return message
