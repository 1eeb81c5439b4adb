"""What a reader has to learn in a text: words that are not known yet, the most frequent first, and how hard it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from corpuscle.disambiguate.labels import MISSING
from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, read_lines


class Card(NamedTuple):
    """A lemma that is to be learned: an example of it in the text, its gloss, and how often it is there."""

    lemma: str
    vowelled: str
    gloss: str
    times: int


class Vocabulary(NamedTuple):
    """``cards``: lemmas that are not known, the most frequent first; ``lemmas``: how many there are; ``words``; the
    shares of lemmas (``difficulty``) and of words (``unknown_words``) that are not known."""

    cards: list[Card]
    lemmas: int
    words: int
    difficulty: float
    unknown_words: float


def read_familiar(path: AnyPath) -> frozenset[str]:
    """The words or lemmas that a reader knows, one a line."""
    words = frozenset(line.strip() for _, line in read_lines(path)) - {""}
    if not words:
        raise InputError(path, None, "there are no words in it")
    return words


def vocabulary(sentences: Iterable[Sequence[dict[str, Any]]], familiar: Collection[str] = ()) -> Vocabulary:
    """Of readings (``Disambiguator.readings``), by the first analysis of each word; signs and digits are no words. A
    lemma is known if it or one of its forms is."""
    times, notes, known = Counter[str](), dict[str, tuple[str, str]](), set[str]()
    for word in (word for sentence in sentences for word in sentence if any(map(str.isalpha, word["form"]))):
        best = word["analyses"][0]
        lemma = best["elements"].get("lemma", MISSING)
        lemma = word["form"] if lemma == MISSING else lemma
        times[lemma] += 1
        notes.setdefault(lemma, (best["vowelled"], best["gloss"]))
        if word["form"] in familiar or lemma in familiar:
            known.add(lemma)
    cards = [Card(lemma, *notes[lemma], n) for lemma, n in times.items() if lemma not in known]
    cards.sort(key=lambda card: (-card.times, card.lemma))
    lemmas, words = len(times), times.total()
    missing = sum(card.times for card in cards)
    return Vocabulary(cards, lemmas, words, len(cards) / max(lemmas, 1), missing / max(words, 1))
