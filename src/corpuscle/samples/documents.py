"""Sentences and documents: text by topic, in which the same people and places recur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from corpuscle.random import Random
from corpuscle.samples.concepts import TOPICS
from corpuscle.samples.grammar import Grammar, Leaf, Phrase, dependencies, leaves
from corpuscle.samples.meaning import Context, Event, Speaker
from corpuscle.samples.names import Name
from corpuscle.samples.sounds import Table, mandelbrot


@dataclass(eq=False)
class Sentence:
    """One sentence: what it means, and the tree of how it is said."""

    meaning: Event
    tree: Phrase

    @cached_property
    def leaves(self) -> list[Leaf]:
        """The words with all that is known about them."""
        return leaves(self.tree)

    @cached_property
    def words(self) -> list[str]:
        """The words as they are written."""
        return [leaf.form for leaf in self.leaves]

    @cached_property
    def dependencies(self) -> tuple[list[int], list[str]]:
        """Heads (from 1, 0 for the root) and relations."""
        return dependencies(self.tree)

    def brackets(self) -> str:
        """The constituent tree in the notation of the Penn Treebank."""

        def show(node: Leaf | Phrase) -> str:
            if isinstance(node, Leaf):
                return f"({node.word.upos} {node.form})"
            return f"({node.label} {' '.join(map(show, node.children))})"

        return show(self.tree)

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass
class Document:
    """Consecutive sentences about one topic."""

    label: str
    topic: str
    sentences: list[Sentence]


def running_text(words: list[str]) -> tuple[str, list[tuple[int, int]]]:
    """Words as people write them, without a space before punctuation, and where each word begins and ends."""
    text, offsets = "", []
    for word in words:
        if text and word not in ".,?!":
            text += " "
        offsets.append((len(text), len(text) + len(word)))
        text += word
    return text, offsets


class Cast:
    """Who and what may be named: each document draws a few people and one or two places."""

    def __init__(self, names: list[Name]):
        people = [name for name in names if name.kind == "person"]
        places = [name for name in names if name.kind == "place"]
        self.people = Table(people, mandelbrot(len(people), 20.0))
        self.places = Table(places, mandelbrot(len(places), 10.0))

    def context(self, random: Random, topic: str) -> Context:
        """The beginning of a document: its tense and who will take part."""
        people = list(dict.fromkeys(self.people.draw(random) for _ in range(2 + random.below(3))))
        places = list(dict.fromkeys(self.places.draw(random) for _ in range(1 + random.below(2))))
        tense = "Past" if random.uniform() < 0.6 else "Pres"
        return Context(topic, tense, Table(people, mandelbrot(len(people), 0.5)), Table(places))


def said_in_turn(
    think: Callable[[Random, Context], Event], grammar: Grammar, random: Random, context: Context, count: int
) -> list[Sentence]:
    """Sentences, one after the other: what somebody thinks, and how the language says it."""
    meanings = (think(random, context) for _ in range(count))
    return [Sentence(meaning, grammar.sentence(meaning)) for meaning in meanings]


def make_documents(
    seed: int, purpose: str, sentences: int, speaker: Speaker, grammar: Grammar, cast: Cast
) -> list[Document]:
    """Documents of 10 to 25 sentences, with this number of ``sentences`` in all; topics take turns."""
    documents: list[Document] = []
    made = 0
    while made < sentences:
        index = len(documents)
        random = Random(seed, purpose, 0, index)
        topic = TOPICS[index % len(TOPICS)]
        context = cast.context(random, topic)
        said = said_in_turn(speaker.sentence, grammar, random, context, min(10 + random.below(16), sentences - made))
        documents.append(Document(f"{topic}-{index // len(TOPICS) + 1:02d}", topic, said))
        made += len(said)
    return documents
