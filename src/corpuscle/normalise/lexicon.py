"""The lexicon: the words that tokens may become, found by their letters and by how they sound; and replacements: what a
word stands for, from a dictionary of slang or as seen in annotated messages.

A token's confusion set: the words within ``distance`` edits of it, and those with a phonetic code within
``sound_distance`` edits of one of its own (Han and Baldwin, "Lexical normalisation of short text messages: makn sens a
#twitter", 2011, section 4.1). The two indices are made when they are first needed; a file has words and codes only."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import InputError
from corpuscle.model import Array, vocab_arrays
from corpuscle.model.kinds import MOST_COUNTED
from corpuscle.normalise.kernels.words import (
    SIMILARITIES,
    Channel,
    Postings,
    Spelled,
    build_index,
    compare_words,
    near_words,
    sound_distances,
)
from corpuscle.normalise.tokens import Phonetics, is_examined, letters_of_word
from corpuscle.text.corpus import items_of
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.scripts import letters_of
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

Messages = Sequence[Sequence[str]]


def replacement_arrays(prefix: str) -> dict[str, Array]:
    name = prefix.strip("/")
    return {
        **vocab_arrays(f"{prefix}typed/", f"{name}_typed"),
        **vocab_arrays(f"{prefix}meant/", f"{name}_meant"),
        f"{prefix}rows": Array("int32", (f"{name}_rows", 2), low=-1),
        f"{prefix}counts": Array("int64", (f"{name}_rows",), low=1, high=MOST_COUNTED),
    }


class Replacements:
    """How often each typed word (lower case) stood for what; what was meant may be several words, or none."""

    def __init__(self, counts: Mapping[tuple[str, str], int]):
        self.counts = dict(counts)

    def __repr__(self) -> str:
        return f"Replacements({len(self.counts):,} pairs)"

    @cached_property
    def of(self) -> dict[str, dict[str, int]]:
        """Typed word -> what it stood for, with counts, the most frequent first, of equal ones the first seen."""
        found: dict[str, dict[str, int]] = {}
        for (typed, meant), count in self.counts.items():
            found.setdefault(typed, {})[meant] = count
        return {typed: dict(sorted(several.items(), key=lambda item: -item[1])) for typed, several in found.items()}

    def __len__(self) -> int:
        return len(self.counts)

    def arrays(self, prefix: str) -> dict[str, np.ndarray]:
        typed = {word: i for i, word in enumerate(dict.fromkeys(pair[0] for pair in self.counts))}
        meant = {word: i for i, word in enumerate(dict.fromkeys(pair[1] for pair in self.counts if pair[1]))}
        rows = [(typed[pair[0]], meant.get(pair[1], -1)) for pair in self.counts]
        return {
            **Vocab.from_words(typed).arrays(f"{prefix}typed/"), **Vocab.from_words(meant).arrays(f"{prefix}meant/"),
            f"{prefix}rows": np.array(rows, np.int32).reshape(-1, 2),
            f"{prefix}counts": np.array(list(self.counts.values()), np.int64),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], prefix: str) -> Replacements:
        """From those of a file; ``ValueError`` where a row names a word that is not there."""
        typed, meant = (Vocab.from_arrays(arrays, f"{prefix}{side}/").strings[FIRST:] for side in ("typed", "meant"))
        rows = arrays[f"{prefix}rows"]
        if len(rows) and (rows.min(axis=0)[0] < 0 or (rows.max(axis=0) >= [len(typed), len(meant)]).any()):
            raise ValueError(f"{prefix}rows name words that are not there")
        pairs = [(typed[a], meant[b] if b >= 0 else "") for a, b in rows.tolist()]
        return cls(dict(zip(pairs, arrays[f"{prefix}counts"].tolist(), strict=True)))

    @classmethod
    def seen(cls, typed: Messages, meant: Messages, never: Collection[str]) -> Replacements:
        """Count the pairs of annotated messages. A token and the following ones with empty forms are a run that stands
        for one form (``al right``: *alright*); where the tokens of a run stand for themselves, that is counted, too."""
        pairs: list[tuple[str, str]] = []
        runs: set[tuple[str, ...]] = set()
        for one, other in zip(typed, meant, strict=True):
            k = 0
            while k < len(one):
                end = k + 1
                while other[k] and end < len(one) and not other[end]:
                    end += 1
                if is_examined(one[k]) and one[k].lower() not in never:
                    if end > k + 1:
                        runs.add(tuple(token.lower() for token in one[k:end]))
                    pairs.append((" ".join(one[k:end]), other[k]))
                k = end
        apart: Counter[tuple[str, str]] = Counter()
        firsts = {run[0] for run in runs}
        for one, other in zip(typed, meant, strict=True):
            lower = [token.lower() for token in one]
            for k in (k for k, token in enumerate(lower) if token in firsts):
                for run in runs:
                    if tuple(lower[k : k + len(run)]) == run and all(other[k : k + len(run)]):
                        apart[" ".join(run), " ".join(run)] += 1
        return cls(cls.from_pairs(pairs).counts | apart)

    @classmethod
    def with_neighbours(
        cls, seen: Replacements, typed: Messages, meant: Messages, edges: tuple[str, str]
    ) -> tuple[Replacements, Replacements]:
        """The replacements of words that have several, each with the word before it in front, and with the word behind
        it at the end; ``edges`` stand before the first and behind the last."""
        after: Counter[tuple[str, str]] = Counter()
        before: Counter[tuple[str, str]] = Counter()
        for one, other in zip(typed, meant, strict=True):
            lower = [edges[0], *(token.lower() for token in one), edges[1]]
            for k, form in enumerate(other, 1):
                word, meaning = lower[k], " ".join(form.lower().split())
                if len(seen.of.get(word, ())) > 1:
                    after[f"{lower[k - 1]} {word}", meaning] += 1
                    before[f"{word} {lower[k + 1]}", meaning] += 1
        return cls(after), cls(before)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Replacements:
        """Count pairs of what was typed and what was meant, in lower case."""
        return cls(Counter((typed.lower(), " ".join(meant.lower().split())) for typed, meant in pairs))


class Run(NamedTuple):
    """Several tokens that stand for one form, and the share of times that they did."""

    tokens: tuple[str, ...]
    form: str
    share: float


def runs_of(*several: Replacements) -> dict[str, list[Run]]:
    """First token -> runs that mostly stand for one form, the longest first; later replacements override earlier."""
    found: dict[str, tuple[str, float]] = {}
    for replacements in several:
        for typed, forms in replacements.of.items():
            if " " in typed:
                form = next(iter(forms))
                found[typed] = form, forms[form] / sum(forms.values())
    runs: dict[str, list[Run]] = {}
    for typed, (form, share) in found.items():
        if form != typed:
            runs.setdefault(typed.split()[0], []).append(Run(tuple(typed.split()), form, share))
    return {first: sorted(some, key=lambda run: (-len(run.tokens), run.tokens)) for first, some in runs.items()}


def read_slang(path: AnyPath) -> Replacements:
    """A dictionary: on each line one or more words, a tab, and what they stand for; the first entry of a word
    counts."""
    entries: dict[str, str] = {}
    for number, (typed, meant) in read_table(path, ("word", "meaning")):
        if not typed.strip() or not meant.strip():
            raise InputError(path, number, "needs a word, a tab and what it stands for")
        entries.setdefault(" ".join(typed.lower().split()), meant)
    if not entries:
        raise InputError(path, None, "the dictionary is empty")
    return Replacements.from_pairs(entries.items())


def read_words(path: AnyPath) -> list[str]:
    """A word list: a word on each line, perhaps with a count behind it, which is not used."""
    words = []
    for number, line in read_lines(path):
        fields = line.split()
        if len(fields) > 2 or (len(fields) == 2 and not fields[1].isdigit()):
            raise InputError(path, number, "needs one word, and perhaps its count")
        words += fields[:1]
    if not words:
        raise InputError(path, None, "the word list is empty")
    return words


LEXICON = {
    **vocab_arrays("words/", "words"),
    **vocab_arrays("codes/", "codes"),
    "word_codes": Array("int32", ("words", 2), low=-1, high="codes"),
}
CHANNEL = {"channel": Array("float64", (12,), low=0.0, finite=True)}
_TYPES = np.array([152.0, 111.0, 24.0, 4.0])
"""How often Cook and Stevenson met stylistic changes, subsequences, prefixes and suffixes."""
_VOWELS = frozenset("aeiouy")


def spelled(words: Sequence[str]) -> Spelled:
    letters, starts = letters_of(words)
    return Spelled(frozen(letters, np.int32), frozen(starts, np.int64))


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


def coded(words: Iterable[str], phonetics: Phonetics | None) -> tuple[list[str], np.ndarray]:
    """The phonetic codes that words have, if any, and their numbers by word, int32 (n_words, 2), -1: none."""
    numbers: dict[str, int] = {}
    found = [phonetics.codes(word) if phonetics else () for word in words]
    rows = [[numbers.setdefault(code, len(numbers)) for code in codes] + [-1] * (2 - len(codes)) for codes in found]
    return list(numbers), np.array(rows, np.int32).reshape(-1, 2)


def shapes_of(words: Sequence[str], codes: Sequence[str], word_codes: np.ndarray) -> Shapes:
    """The shapes of words with these codes."""
    letters = spelled(words)
    kinds, which = np.unique(letters.letters, return_inverse=True)
    # With or without accents.
    vowels = np.array([unicodedata.normalize("NFD", chr(code))[0] in _VOWELS for code in kinds.tolist()], bool)
    return Shapes(letters, frozen(vowels[which], np.bool_), frozen(word_codes, np.int32), spelled(codes))


def default_channel(alphabet: int) -> Channel:
    """The channel as Cook and Stevenson found it, over an alphabet of this size."""
    return Channel(
        insert=0.05, keep=0.9, substitute=0.05, delete=0.05, alphabet=float(max(2, alphabet)), first=0.98,
        consonant=0.85, vowel=0.35, types=_TYPES / _TYPES.sum(),
    )  # fmt: skip


def channel_array(channel: Channel) -> np.ndarray:
    """As a model file has it: float64 (12,)."""
    return np.array([*channel[:-1], *channel.types])


def channel_from_array(array: np.ndarray) -> Channel:
    """From that of a file; ``ValueError`` where these are no probabilities."""
    insert, keep, substitute, delete, alphabet, first, consonant, vowel = array[:8].tolist()
    if not (abs(keep + substitute + delete - 1) < 1e-6 and abs(array[8:].sum() - 1) < 1e-6 and alphabet >= 2):
        raise ValueError("the probabilities of its channel do not add up to one")
    if not all(0 < share < 1 for share in (insert, first, consonant, vowel)):
        raise ValueError("its channel has a probability that is not between 0 and 1")
    types = array[8:].astype(np.float64)
    return Channel(insert, keep, substitute, delete, alphabet, first, consonant, vowel, types)


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
        self._indices: dict[Reach, tuple[Postings, Postings]] = {}

    @classmethod
    def learn(cls, words: Mapping[str, int], phonetics: Phonetics | None) -> Lexicon:
        """From words with their counts in some text, and how their codes are made, if at all."""
        codes, word_codes = coded(words, phonetics)
        vocab = Vocab.from_words(words, list(words.values()))
        return cls(vocab, Vocab.from_words(codes), word_codes, phonetics or Phonetics())

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def arrays(self) -> dict[str, np.ndarray]:
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
        if reach not in self._indices:
            by_letters = build_index(self.shapes.letters, reach.distance)
            self._indices[reach] = by_letters, build_index(self.shapes.codes, max(0, reach.sound_distance))
        return self._indices[reach]

    def confusion_set(self, token: str, reach: Reach) -> np.ndarray:
        """The numbers of the words that a token (reduced) may stand for, ascending: int32."""
        by_letters, _ = self.prepare(reach)
        near = near_words(letters_of_word(token), self.shapes.letters, by_letters)
        if reach.sound_distance < 0:
            return near
        return np.union1d(near, self.sounding_alike(token, reach))

    def sounding_alike(self, token: str, reach: Reach) -> np.ndarray:
        """The numbers of the words one of whose codes is near one of those of a token (reduced), ascending: int32."""
        _, by_code = self.prepare(reach)
        words, begins = self._words_of_code
        near = [near_words(letters_of_word(code), self.shapes.codes, by_code) for code in self.phonetics.codes(token)]
        places, _ = items_of(begins, np.concatenate([np.zeros(0, np.int32), *near]))
        return np.unique(words[places]).astype(np.int32)

    def splits(self, token: str, most: int) -> list[str]:
        """The most probable ways to read a token as two words of the lexicon, best first."""
        pairs = [(token[:k], token[k:]) for k in range(1, len(token))]
        known = [pair for pair in pairs if all(part in self.number for part in pair)]
        log = self.log_frequency
        known.sort(key=lambda pair: -sum(float(log[self.number[part]]) for part in pair))
        return [" ".join(pair) for pair in known[:most]]

    def compare(self, token: str, words: np.ndarray, shapes: Shapes | None = None) -> np.ndarray:
        """A token (reduced) and some words by number, of the lexicon or of other ``shapes``: log channel probability,
        similarities of letters, and of sounds, 0 where there are none to compare: float64 (n, ``SIMILARITIES`` + 1)."""
        shapes, words = shapes or self.shapes, frozen(words, np.int32)
        table, distances = np.empty((len(words), SIMILARITIES)), np.full(len(words), np.inf)
        compare_words(letters_of_word(token), shapes.letters, shapes.vowels, words, self.channel, table)
        if len(shapes.codes.starts) > 1:
            own = spelled(self.phonetics.codes(token))
            sound_distances(own, shapes.codes, frozen(shapes.word_codes[words], np.int32), distances)
        return np.column_stack([table, np.exp(-distances)])

    def compare_forms(self, token: str, forms: Sequence[str]) -> np.ndarray:
        """``compare`` with any forms, of several words or none, too."""
        codes, word_codes = coded(forms, self.phonetics if len(self.codes) > FIRST else None)
        return self.compare(token, np.arange(len(forms)), shapes_of(forms, codes, word_codes))
