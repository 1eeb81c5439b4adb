"""``Language``: everything about one generated language, made when it is asked for.

Each layer draws from random streams of its own, so asking for one never changes another, and a larger sample begins
with the smaller one.

The sister language has sound changes, a vocabulary that is partly inherited, and translations with alignments. About
two thirds of its roots are the main language's roots after regular sound changes; the others are unrelated. Its grammar
has another order of words, no cases, no genders, no articles; it marks definite objects with a particle, writes
compounds as two words and some verbs with a particle: so translations are not one to one.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from corpuscle.errors import SettingError
from corpuscle.random import Random
from corpuscle.samples.concepts import CONCEPTS
from corpuscle.samples.documents import Cast, Document, Sentence, make_documents
from corpuscle.samples.entities import Note, make_notes
from corpuscle.samples.grammar import UNLINKED, Grammar, Phrase, leaves
from corpuscle.samples.lexicon import Lexicon, Word, main_morphology, make_roots, sister_morphology
from corpuscle.samples.meaning import Speaker
from corpuscle.samples.messages import Channel, Message, make_messages
from corpuscle.samples.names import Name, make_names
from corpuscle.samples.sounds import Script, Sounds, inventory, latin, other_script
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.brackets import parse_brackets
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees

KNOWN_NAMES = 600
"""How many of the names the texts may mention: a fixed number, so that texts do not depend on the list's length."""


@contextmanager
def _collecting_later() -> Iterator[None]:
    """No garbage collection for a while: trees are many objects that stay, and looking through them over and over
    takes as long as making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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
    known = {"articles": False, "copula": False, "splits": True, "marks_objects": True}
    grammar = Grammar.drawn(random, lexicon, order, adjective_first=not main.adjective_first, **known)
    particles = Random(seed, "samples/sister/particles")
    forms = [sounds.root(particles, 1) for _ in range(3)]
    for key, concept in CONCEPTS.items():
        if concept.pos == "VERB" and particles.uniform() < 0.1:
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


class Pair(NamedTuple):
    """A sentence of the main language, its translation into the sister language, and their alignment."""

    source: Sentence
    target: Sentence
    links: list[Link]


@dataclass(frozen=True)
class Sizes:
    """How much to make of each layer; what is held out comes on top."""

    sentences: int = 6000
    pairs: int = 1500
    names: int = 1200
    notes: int = 400
    """Sentences with entities."""
    messages: int = 800

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise SettingError(f"{name} must be at least 1, not {value}")

    @property
    def held_out(self) -> Sizes:
        """The sizes of the held-out parts; messages have none, since repairing them is learned from clean text."""
        parts = {"sentences": 15, "pairs": 7, "names": 6, "notes": 5}
        return replace(self, **{name: max(1, getattr(self, name) // part) for name, part in parts.items()})


class Language:
    """A language, its sister, and texts in them. See ``generate``.

    - ``sounds``: phonemes and how they combine; ``sound_changes``: what happened to inherited words in the sister;
    - ``script``: the Latin orthography of the main language; ``other_script``: that of the sister language.
    """

    def __init__(self, seed: int, sizes: Sizes):
        self.seed, self.sizes = seed, sizes
        self.sounds, self.sound_changes = inventory(seed), SoundChanges(seed)
        self.script, self.other_script = latin(seed), other_script(seed)

    def __repr__(self) -> str:
        return f"Language(seed={self.seed}, sizes={self.sizes})"

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar and the lexicon of the main language."""
        seed = self.seed
        roots = make_roots(seed, "samples/main/roots", self.sounds)
        morphology = main_morphology(seed, self.sounds)
        lexicon = Lexicon(seed, "samples/main", self.sounds, self.script, morphology, roots)
        random = Random(seed, "samples/main/grammar")
        order = random.choice(("SVO", "SOV", "VSO"))
        return Grammar.drawn(random, lexicon, order, articles=True, copula=True, drop=random.uniform() < 0.5)

    @cached_property
    def sister(self) -> Grammar:
        """The grammar and the lexicon of the sister language."""
        roots = self.grammar.lexicon.roots
        return sister_grammar(self.seed, self.sounds, self.other_script, roots, self.sound_changes, self.grammar)

    @cached_property
    def lexicon(self) -> list[Word]:
        """Every form of every base word of the main language, with lemma and features."""
        return list(dict.fromkeys(self.grammar.lexicon.paradigms()))

    @cached_property
    def _speaker(self) -> Speaker:
        return Speaker(self.seed, self.grammar.lexicon.morphology.numbers)

    @cached_property
    @_collecting_later()
    def _names(self) -> list[Name]:
        count = max(KNOWN_NAMES, self.sizes.names + self.sizes.held_out.names)
        return make_names(self.seed, count, self.sounds, self.script, self.other_script, self.sound_changes)

    @property
    def names(self) -> list[Name]:
        """Names in both scripts."""
        return self._names[: self.sizes.names]

    @property
    def held_out_names(self) -> list[Name]:
        """More names, for testing."""
        return self._names[self.sizes.names :][: self.sizes.held_out.names]

    @cached_property
    def _cast(self) -> Cast:
        return Cast(self._names[:KNOWN_NAMES])

    @_collecting_later()
    def _documents(self, purpose: str, sentences: int) -> list[Document]:
        return make_documents(self.seed, purpose, sentences, self._speaker, self.grammar, self._cast)

    @cached_property
    def documents(self) -> list[Document]:
        """The main text."""
        return self._documents("samples/text", self.sizes.sentences)

    @cached_property
    def held_out(self) -> list[Document]:
        """More documents of the same kind, for testing."""
        return self._documents("samples/held-out text", self.sizes.held_out.sentences)

    @_collecting_later()
    def _pairs(self, purpose: str, count: int) -> list[Pair]:
        pairs = []
        for sentence in self.sentences(self._documents(purpose, count)):
            target = Sentence(sentence.meaning, self.sister.sentence(sentence.meaning))
            pairs.append(Pair(sentence, target, links(sentence.tree, target.tree)))
        return pairs

    @cached_property
    def pairs(self) -> list[Pair]:
        """Sentences with their translations into the sister language."""
        return self._pairs("samples/pairs", self.sizes.pairs)

    @cached_property
    def held_out_pairs(self) -> list[Pair]:
        """More pairs, for testing."""
        return self._pairs("samples/held-out pairs", self.sizes.held_out.pairs)

    @_collecting_later()
    def _notes(self, purpose: str, sentences: int) -> list[Note]:
        return make_notes(self.seed, purpose, sentences, self._speaker, self.grammar, self._cast, self.other_script)

    @cached_property
    def entities(self) -> list[Note]:
        """Notes in which people, places, products and disorders are marked."""
        return self._notes("samples/notes", self.sizes.notes)

    @cached_property
    def held_out_entities(self) -> list[Note]:
        """More notes, for testing."""
        return self._notes("samples/held-out notes", self.sizes.held_out.notes)

    @cached_property
    def channel(self) -> Channel:
        """What corrupts messages, with its slang."""
        return Channel(self.seed, self.grammar.lexicon)

    @cached_property
    @_collecting_later()
    def messages(self) -> list[Message]:
        """Noisy messages with their repair."""
        return make_messages(self.seed, self.sizes.messages, self._speaker, self.grammar, self._cast, self.channel)

    def sentences(self, documents: Iterable[Document] | None = None) -> list[Sentence]:
        """The sentences of some documents, of the main text unless others are given."""
        return [s for document in (self.documents if documents is None else documents) for s in document.sentences]

    def corpus(self, documents: Sequence[Document] | None = None) -> Corpus:
        """The main text (or other documents) as a Corpus, with documents labelled by their topics."""
        documents = self.documents if documents is None else documents
        corpus = Corpus.from_sentences(sentence.words for sentence in self.sentences(documents))
        starts = starts_of(len(document.sentences) for document in documents)
        return corpus.with_documents(starts, [document.topic for document in documents])

    def treebank(self, documents: Sequence[Document] | None = None) -> Treebank:
        """The main text (or other documents) with lemmas, tags, features and dependencies."""
        documents = self.documents if documents is None else documents
        comments = []
        for document in documents:
            for number, _ in enumerate(document.sentences, 1):
                first = (f"# newdoc id = {document.label}",) if number == 1 else ()
                comments.append((*first, f"# sent_id = {document.label}-{number}"))
        return _treebank(self.sentences(documents), comments)

    def trees(self, documents: Sequence[Document] | None = None) -> Trees:
        """The main text (or other documents) as constituent trees."""
        return parse_brackets(sentence.brackets() for sentence in self.sentences(documents))

    def bitext(self, pairs: Sequence[Pair] | None = None) -> Bitext:
        """The pairs (or others) as a Bitext."""
        pairs = self.pairs if pairs is None else pairs
        source = Corpus.from_sentences(pair.source.words for pair in pairs)
        return Bitext(source, Corpus.from_sentences(pair.target.words for pair in pairs))

    def alignments(self, pairs: Sequence[Pair] | None = None) -> Alignments:
        """The gold alignments of the pairs (or of others)."""
        pairs = self.pairs if pairs is None else pairs
        return Alignments.from_pairs(
            ([(link.source, link.target) for link in pair.links] for pair in pairs),
            sure=([link.sure for link in pair.links] for pair in pairs),
        )

    def pair_treebank(self, pairs: Sequence[Pair] | None = None) -> Treebank:
        """The source side of the pairs with lemmas, tags and dependencies."""
        return _treebank([pair.source for pair in (self.pairs if pairs is None else pairs)])

    def sister_treebank(self, pairs: Sequence[Pair] | None = None) -> Treebank:
        """The translations with lemmas, tags and dependencies."""
        return _treebank([pair.target for pair in (self.pairs if pairs is None else pairs)])


def _treebank(sentences: Sequence[Sentence], comments: Sequence[tuple[str, ...]] | None = None) -> Treebank:
    words = [[leaf.word for leaf in sentence.leaves] for sentence in sentences]
    return Treebank.from_sentences(
        [sentence.words for sentence in sentences],
        heads=[sentence.dependencies[0] for sentence in sentences],
        relations=[sentence.dependencies[1] for sentence in sentences],
        lemmas=[[word.lemma for word in row] for row in words],
        tags=[[word.upos for word in row] for row in words],
        features=[[word.features for word in row] for row in words],
        misc=[[f"Gloss={word.gloss}" for word in row] for row in words],
        comments=comments,
    )


def generate(seed: int = 1, **sizes: int) -> Language:
    """The language of a seed, as much of it as ``Sizes`` says. Layers are made when they are first asked for.

    >>> language = generate(seed=1, sentences=20)
    >>> len(language.corpus())
    20
    """
    if seed < 0:
        raise SettingError(f"a seed is 0 or more, not {seed}")
    return Language(seed, Sizes(**sizes))
