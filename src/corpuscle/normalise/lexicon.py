"""The lexicon: the words that tokens may become, found by their letters and by how they sound.

A token's confusion set: the words within ``distance`` edits of it, and those one of whose phonetic codes is within
``sound_distance`` edits of one of its own (Han and Baldwin, "Lexical normalisation of short text messages: makn sens a
#twitter", 2011, section 4.1). The two indices are made when they are first needed; a file has words and codes only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.model import Array, vocab_arrays
from corpuscle.normalise.channels import default_channel
from corpuscle.normalise.kernels.channel import SIMILARITIES, Channel, compare_words, sound_distances
from corpuscle.normalise.kernels.deletions import Postings, Spelled, build_index, near_words
from corpuscle.normalise.tokens import Phonetics, letters_of_word
from corpuscle.text.scripts import letters_of
from corpuscle.text.vocab import FIRST, Vocab

LEXICON = {
    **vocab_arrays("words/", "words"),
    **vocab_arrays("codes/", "codes"),
    "word_codes": Array("int32", ("words", 2), low=-1, high="codes"),
}
_VOWELS = frozenset("aeiouy")


def spelled(words: Sequence[str]) -> Spelled:
    """The letters of words."""
    letters, starts = letters_of(words)
    return Spelled(frozen(letters, np.int32), frozen(starts, np.int64))


def _vowels(words: Spelled) -> np.ndarray:
    """Which letters are vowels, with or without accents: bool."""
    kinds, which = np.unique(words.letters, return_inverse=True)
    are = [unicodedata.normalize("NFD", chr(code))[0] in _VOWELS for code in kinds.tolist()]
    return frozen(np.array(are, bool)[which] if len(kinds) else np.zeros(0, bool), np.bool_)


class Reach(NamedTuple):
    """How far candidates are looked for: edits of letters, edits of codes (-1: sounds are not compared)."""

    distance: int
    sound_distance: int


class Shapes(NamedTuple):
    """What words are compared by: their letters, which of these are vowels (bool), their phonetic codes by number
    (int32 (n_words, 2), -1: none), and the letters of these codes."""

    letters: Spelled
    vowels: np.ndarray
    word_codes: np.ndarray
    codes: Spelled


def coded(words: Sequence[str], phonetics: Phonetics) -> tuple[list[str], np.ndarray]:
    """The phonetic codes that words have, and their numbers by word, int32 (n_words, 2), -1: none."""
    numbers: dict[str, int] = {}
    word_codes = np.full((len(words), 2), -1, np.int32)
    for i, word in enumerate(words):
        for k, code in enumerate(phonetics.codes(word)):
            word_codes[i, k] = numbers.setdefault(code, len(numbers))
    return list(numbers), word_codes


def shapes_of(words: Sequence[str], codes: Sequence[str], word_codes: np.ndarray) -> Shapes:
    """The shapes of words with these codes."""
    letters = spelled(words)
    return Shapes(letters, _vowels(letters), frozen(word_codes, np.int32), spelled(codes))


def compare(token: str, shapes: Shapes, words: np.ndarray, channel: Channel, phonetics: Phonetics) -> np.ndarray:
    """A token (reduced) and some words by number: log channel probability, similarities of letters, and of sounds,
    0 where there are none to compare: float64 (n, ``SIMILARITIES`` + 1)."""
    table, distances = np.empty((len(words), SIMILARITIES)), np.full(len(words), np.inf)
    words = frozen(words, np.int32)
    compare_words(letters_of_word(token), shapes.letters, shapes.vowels, words, channel, table)
    if len(shapes.codes.starts) > 1:
        own = spelled(phonetics.codes(token))
        sound_distances(own, shapes.codes, frozen(shapes.word_codes[words], np.int32), distances)
    return np.column_stack([table, np.exp(-distances)])


class Lexicon:
    """Words with their counts in the training text and their phonetic codes, and the indices of both."""

    def __init__(self, words: Vocab, codes: Vocab, word_codes: np.ndarray, phonetics: Phonetics):
        self.words, self.codes, self.phonetics = words, codes, phonetics
        self.strings = words.strings[FIRST:]
        self.number = {word: i for i, word in enumerate(self.strings)}
        self.shapes = shapes_of(self.strings, codes.strings[FIRST:], word_codes)
        counts = words.counts[FIRST:]
        self.log_frequency: np.ndarray = np.log((counts + 1.0) / (counts.sum() + len(counts) + 1.0))
        self.channel = default_channel(len(np.unique(self.shapes.letters.letters)) + 10)

    @classmethod
    def learn(cls, words: Mapping[str, int], phonetics: Phonetics | None) -> Lexicon:
        """From words with their counts in some text, and how their codes are made, if at all."""
        codes, word_codes = coded([] if phonetics is None else list(words), phonetics or Phonetics())
        if phonetics is None:
            word_codes = np.full((len(words), 2), -1, np.int32)
        vocab = Vocab.from_words(words, list(words.values()))
        return cls(vocab, Vocab.from_words(codes), word_codes, phonetics or Phonetics())

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def arrays(self) -> dict[str, np.ndarray]:
        """As a model file has it."""
        arrays = {**self.words.arrays("words/"), **self.codes.arrays("codes/")}
        return arrays | {"word_codes": self.shapes.word_codes}

    @cached_property
    def _words_of_code(self) -> tuple[np.ndarray, np.ndarray]:
        """The words of all codes one after the other, and where those of each begin."""
        words, columns = np.nonzero(self.shapes.word_codes >= 0)
        codes = self.shapes.word_codes[words, columns]
        order = np.argsort(codes, kind="stable")
        return words[order], np.searchsorted(codes[order], np.arange(len(self.codes) - FIRST + 1))

    def prepare(self, reach: Reach) -> tuple[Postings, Postings]:
        """The index of words by their letters, and that of codes; made once."""
        made: dict[Reach, tuple[Postings, Postings]] = self.__dict__.setdefault("_indices", {})
        if reach not in made:
            by_letters = build_index(self.shapes.letters, reach.distance)
            made[reach] = by_letters, build_index(self.shapes.codes, max(0, reach.sound_distance))
        return made[reach]

    def confusion_set(self, token: str, reach: Reach) -> np.ndarray:
        """The numbers of the words that a token (reduced) may stand for, ascending: int32."""
        by_letters, _ = self.prepare(reach)
        near = near_words(letters_of_word(token), self.shapes.letters, by_letters)
        if reach.sound_distance < 0:
            return near
        return np.unique(np.concatenate([near, self.sounding_alike(token, reach)])).astype(np.int32)

    def sounding_alike(self, token: str, reach: Reach) -> np.ndarray:
        """The numbers of the words one of whose codes is near one of those of a token (reduced), ascending: int32."""
        _, by_code = self.prepare(reach)
        words, begins = self._words_of_code
        parts = [np.zeros(0, np.int64)]
        for code in self.phonetics.codes(token):
            for found in near_words(letters_of_word(code), self.shapes.codes, by_code).tolist():
                parts.append(words[begins[found] : begins[found + 1]])
        return np.unique(np.concatenate(parts)).astype(np.int32)

    def splits(self, token: str, most: int) -> list[str]:
        """The most probable ways to read a token as two words of the lexicon, best first."""
        pairs = [(token[:k], token[k:]) for k in range(1, len(token))]
        known = [pair for pair in pairs if all(part in self.number for part in pair)]
        log = self.log_frequency
        known.sort(key=lambda pair: -sum(float(log[self.number[part]]) for part in pair))
        return [" ".join(pair) for pair in known[:most]]

    def compare(self, token: str, words: np.ndarray) -> np.ndarray:
        """``compare`` with words of the lexicon by number."""
        return compare(token, self.shapes, words, self.channel, self.phonetics)

    def compare_forms(self, token: str, forms: Sequence[str]) -> np.ndarray:
        """``compare`` with any forms, of several words or none, too."""
        codes, word_codes = coded(forms if len(self.codes) > FIRST else [""] * len(forms), self.phonetics)
        shapes = shapes_of(forms, codes, word_codes)
        return compare(token, shapes, np.arange(len(forms)), self.channel, self.phonetics)
