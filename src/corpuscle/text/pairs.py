"""Pairs of strings, and human judgements on words and phrases: other spellings of names and forms, similarities of
words or phrases, relations between words.

Files of pairs: a source and one or more accepted targets on a line, separated by tabs, the preferred target first; the
XML of the NEWS shared tasks on transliteration; and two words with a score on a line, as sets of word similarities have
them.

A *phrase* is a small tree of words. Where the parts of speech of its words follow a pattern (adjective and noun, noun
and noun, verb and object, subject and verb, subject, verb and object), that decides what hangs on what; any other tree
is written out, the head of each word counted from 1, 0 for the root:

    small/ADJ house/NOUN
    very/ADV/2 small/ADJ/3/amod house/NOUN/0

Files of judgements on phrases, known by their first line:

- ``participant verb subject object landmark input hilo``: Grefenstette and Sadrzadeh 2011; the phrase is compared with
  the landmark, a verb by itself; ``participant verb noun landmark input hilo``: the same with subject and verb alone,
  Mitchell and Lapata 2008;
- ``noun1 verb1 noun2 verb2 rating``: two pairs of object and verb; Mitchell and Lapata 2010 in eight columns without a
  heading: subject, type (``adjectivenouns``, ``compoundnouns``, ``verbobjects``), level, four words, rating. In verb
  objects the object stands before its verb;
- ``phrase1 phrase2 rating``, separated by tabs, perhaps with a first column ``participant``: any phrases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.origin import Listed, Origin
from corpuscle.text.tables import read_table, write_table
from corpuscle.text.xml import read_xml


class Pair(NamedTuple):
    """A source and what may stand for it, the preferred target first."""

    source: str
    targets: tuple[str, ...]


class ScoredPair(NamedTuple):
    """Two words and the similarity that people gave them, on the scale of the set."""

    first: str
    second: str
    score: float


def read_pairs(path: AnyPath, wrong: list[InputError] | None = None) -> list[Pair]:
    """Read tab-separated pairs; every line has a source and at least one target, and no field is blank.

    The first line that is otherwise is an error; or, where ``wrong`` is given, all of them are added to it.
    """
    pairs, lines = [], []
    for number, fields in read_table(path):
        empty = next((column for column, field in enumerate(fields, 1) if not field.strip()), None)
        if len(fields) >= 2 and empty is None:
            pairs.append(Pair(fields[0], tuple(fields[1:])))
            lines.append(number)
            continue
        missing = "expected a source and at least one target, separated by tabs"
        error = InputError(path, number, missing if len(fields) < 2 else f"field {empty} is empty")
        if wrong is None:
            raise error
        wrong.append(error)
    return Listed(pairs, Origin.of(path, lines))


def write_pairs(pairs: Iterable[tuple[str, Iterable[str]]], path: AnyPath) -> None:
    """Write a source and its targets per line, with tabs between them."""

    def row(source: str, targets: Iterable[str]) -> list[str]:
        fields = [source, *targets]
        if len(fields) < 2:
            raise InputError(path, None, f"the source {source!r} has no target")
        if not all(map(str.strip, fields)):
            raise InputError(path, None, f"the source {source!r} has an empty field")
        return fields

    write_table(path, (), (row(*pair) for pair in pairs))


def read_news(path: AnyPath, results: bool = False) -> list[Pair]:
    """Read the XML of the NEWS shared tasks: ``Name`` elements with a ``SourceName`` and ``TargetName`` elements.

    In ``results`` a name may have no target: nothing was found for it.
    """
    pairs = []
    for number, name in enumerate(read_xml(path).iter("Name"), 1):
        sources = [(element.text or "").strip() for element in name.findall("SourceName")]
        targets = [(element.text or "").strip() for element in name.findall("TargetName")]
        if len(sources) != 1 or not (results or all(sources)):
            raise InputError(path, None, f"name {number} (ID {name.get('ID')}) needs one SourceName with text")
        if not results and not (targets and all(targets)):
            raise InputError(path, None, f"name {number} (ID {name.get('ID')}) needs a TargetName with text")
        pairs.append(Pair(sources[0], tuple(targets)))
    return Listed(pairs, Origin.of(path))


_SCORE = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


def is_score(text: str) -> bool:
    """Whether a field is a finite number."""
    return bool(_SCORE.fullmatch(text)) and math.isfinite(float(text))


def read_scored_pairs(path: AnyPath) -> list[ScoredPair]:
    """Read pairs of words with a score: three fields on every line, separated by tabs, or by commas, semicolons or
    spaces where the first line has no tab. A first line whose last field is no number is a heading."""
    pairs: list[ScoredPair] = []
    separator = ""
    for number, line in read_lines(path):
        if number == 1:
            separator = next((mark for mark in "\t,; " if mark in line), "\t")
        fields = [field.strip() for field in line.split(separator)] if separator != " " else line.split()
        if len(fields) != 3:
            raise InputError(path, number, f"{len(fields)} fields, where two words and a score are expected")
        if not all(fields):
            raise InputError(path, number, f"field {fields.index('') + 1} is empty")
        if is_score(fields[2]):
            pairs.append(ScoredPair(fields[0], fields[1], float(fields[2])))
        elif number > 1:
            raise InputError(path, number, f"{fields[2][:40]!r} is not a score")
    if not pairs:
        raise InputError(path, None, "there are no pairs in it")
    return pairs


TAGS = {"n": "NOUN", "v": "VERB", "j": "ADJ"}
"""Letters that stand for parts of speech at the end of a word of BLESS."""

PATTERNS: dict[tuple[str, ...], tuple[tuple[int, ...], tuple[str, ...]]] = {
    ("ADJ", "NOUN"): ((2, 0), ("amod", "root")),
    ("NOUN", "NOUN"): ((2, 0), ("compound", "root")),
    ("VERB", "NOUN"): ((0, 1), ("root", "obj")),
    ("NOUN", "VERB"): ((2, 0), ("nsubj", "root")),
    ("NOUN", "VERB", "NOUN"): ((2, 0, 2), ("nsubj", "root", "obj")),
}
"""Parts of speech -> the head of each word, and the relation to it."""

_TERM = re.compile(r"(?s)(.+?)(?:/([A-Z]*)(?:/([0-9]{1,4})(?:/([^/]+))?)?)?")
_KINDS = {"adjectivenouns": ("ADJ", "NOUN"), "compoundnouns": ("NOUN", "NOUN"), "verbobjects": ("NOUN", "VERB")}
_HEADINGS = (
    ("participant", "verb", "subject", "object", "landmark", "input", "hilo"),
    ("participant", "verb", "noun", "landmark", "input", "hilo"),
    ("noun1", "verb1", "noun2", "verb2", "rating"),
    ("phrase1", "phrase2", "rating"),
    ("participant", "phrase1", "phrase2", "rating"),
)


class Term(NamedTuple):
    """A word, and its part of speech if it is given."""

    word: str
    tag: str = ""

    @classmethod
    def parse(cls, text: str) -> Term:
        """``head/NOUN`` or ``head``; only capital letters after a slash are a part of speech.

        >>> Term.parse("head/NOUN"), Term.parse("1/2")
        (Term(word='head', tag='NOUN'), Term(word='1/2', tag=''))
        """
        word, slash, tag = text.rpartition("/")
        return cls(word, tag) if slash and word and re.fullmatch("[A-Z]+", tag) else cls(text)

    def __str__(self) -> str:
        return f"{self.word}/{self.tag}" if self.tag else self.word


class Phrase(NamedTuple):
    """A tree of words: the number of each one's head, from 1 on, 0 for the root, and the relations to them."""

    terms: tuple[Term, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def head(self) -> int:
        """Where the root stands, from 0 on."""
        return self.heads.index(0)

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


class Triple(NamedTuple):
    """A concept, a relation, and a word that stands in it to the concept."""

    concept: Term
    relation: str
    relatum: Term


class Judgement(NamedTuple):
    """The similarity of two phrases, as an annotator (``subject``) rates it; ``landmark``: the second is a single word
    without context. A phrase whose parts of speech are not known yet is the tuple of its words."""

    first: Phrase | tuple[Term, ...]
    second: Phrase | tuple[Term, ...]
    rating: float
    subject: str | None = None
    landmark: bool = False


def phrase_of(terms: Sequence[Term]) -> Phrase:
    """The phrase of some words whose parts of speech follow a pattern; ``ValueError`` if there is none.

    >>> phrase_of([Term("small", "ADJ"), Term("house", "NOUN")]).heads
    (2, 0)
    """
    tags = tuple("NOUN" if term.tag == "PROPN" else term.tag for term in terms)
    if len(terms) == 1:
        return Phrase(tuple(terms), (0,), ("root",))
    if tags not in PATTERNS:
        said = " ".join(tag or "?" for tag in tags)
        raise ValueError(f"there is no pattern for {said}: give its tree, word/TAG/HEAD, heads from 1 on, 0 on top")
    return Phrase(tuple(terms), *PATTERNS[tags])


def parse_phrase(text: str) -> Phrase | tuple[Term, ...]:
    """A phrase as people write it: with its tree where heads are given; else its words, perhaps with parts of speech.
    ``ValueError`` if it is neither."""
    parts = [_TERM.fullmatch(token) for token in text.split()]
    found = [part.groups() for part in parts if part is not None]
    if not found:
        raise ValueError("there is no word in it")
    heads = [int(head) for _, _, head, _ in found if head is not None]
    if not heads:
        return tuple(map(Term.parse, text.split()))
    terms = tuple(Term(word, tag or "") for word, tag, _, _ in found)
    if len(heads) < len(terms):
        raise ValueError("some of its words have heads, others none")
    if heads.count(0) != 1:
        raise ValueError(f"{heads.count(0)} of its words are the root (head 0), where one must be")
    for number, head in enumerate(heads, 1):
        if head > len(heads):
            raise ValueError(f"the head of word {number} points nowhere: there are {len(heads)} words")
        seen = {number}
        while head:
            if head in seen:
                raise ValueError(f"word {number} hangs on itself: the heads run in a circle")
            seen.add(head)
            head = heads[head - 1]
    relations = tuple(relation or ("_" if head else "root") for head, (*_, relation) in zip(heads, found, strict=True))
    return Phrase(terms, tuple(heads), relations)


def read_triples(path: AnyPath) -> list[Triple]:
    """Read BLESS: concept, class of concept, relation, relatum on every line, words with ``-n``, ``-j`` or ``-v``."""
    triples = []
    for number, (concept, _, relation, relatum) in read_table(path, ("concept", "class", "relation", "relatum")):
        both = []
        for word in (concept, relatum):
            stem, dash, letter = word.strip().rpartition("-")
            if not (dash and stem and letter in TAGS):
                raise InputError(path, number, f"{word[:40]!r} does not end in -n, -j or -v")
            both.append(Term(stem, TAGS[letter]))
        if not relation.strip():
            raise InputError(path, number, "field 3 is empty")
        triples.append(Triple(both[0], relation.strip(), both[1]))
    if not triples:
        raise InputError(path, None, "there are no concepts in it")
    return triples


def read_judgements(path: AnyPath) -> list[Judgement]:
    """Read judgements on phrases, see above."""
    found: list[Judgement] = []
    names: tuple[str, ...] = ()
    separator: str | None = None
    for number, line in read_lines(path):
        if number == 1:
            separator = "\t" if "\t" in line else None
        fields = [field.strip() for field in line.split(separator)]
        if number == 1:
            names = tuple(name.lower() for name in fields)
            if names in _HEADINGS:
                continue
            if len(fields) != 8:
                known = "; ".join(" ".join(heading) for heading in _HEADINGS)
                raise InputError(path, 1, f"unknown columns; known are: {known}; and eight columns without a heading")
            names = ()
            if fields[1] not in _KINDS:
                continue
        if len(fields) != (len(names) or 8):
            raise InputError(path, number, f"{len(fields)} fields, where {len(names) or 8} are expected")
        if not all(fields):
            raise InputError(path, number, f"field {fields.index('') + 1} is empty")
        found.append(_judgement(fields, names, path, number))
    if not found:
        raise InputError(path, None, "there are no judgements in it")
    return found


def _judgement(fields: Sequence[str], names: Sequence[str], path: AnyPath, line: int) -> Judgement:
    row = dict(zip(names, fields, strict=True)) if names else {}
    text = row.get("input", row.get("rating", fields[-1]))
    if not is_score(text):
        raise InputError(path, line, f"{text[:40]!r} is not a rating")
    rating, subject = float(text), row.get("participant")
    if "phrase1" in row:
        try:
            return Judgement(parse_phrase(row["phrase1"]), parse_phrase(row["phrase2"]), rating, subject)
        except ValueError as error:
            raise InputError(path, line, str(error)) from None
    if "landmark" in row:
        parts = {"subject": "NOUN", "noun": "NOUN", "verb": "VERB", "object": "NOUN"}
        first = [Term(row[name], tag) for name, tag in parts.items() if name in row]
        return Judgement(phrase_of(first), phrase_of([Term(row["landmark"], "VERB")]), rating, subject, landmark=True)
    if row:
        words, kind = fields[:4], "verbobjects"
    else:
        subject, kind, words = fields[0], fields[1], fields[3:7]
        if kind not in _KINDS:
            raise InputError(path, line, f"the type {kind[:40]!r} is none of {', '.join(_KINDS)}")
    terms = [Term(word, tag) for word, tag in zip(words, _KINDS[kind] * 2, strict=True)]
    pairs = [terms[:2], terms[2:]]
    if kind == "verbobjects":
        pairs = [pair[::-1] for pair in pairs]
    return Judgement(phrase_of(pairs[0]), phrase_of(pairs[1]), rating, subject)
