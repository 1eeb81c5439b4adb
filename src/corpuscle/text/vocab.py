"""Vocab: the strings of a corpus and their numbers; and word vectors, a row for each of these numbers.

Three numbers are reserved and have no string: ``UNKNOWN``, ``START`` and ``END`` (of a sentence). Ordinary types follow
from ``FIRST`` on, in the order in which they were first seen. All strings live in one UTF-8 byte array with offsets, so
that a vocabulary of millions costs bytes, not Python objects, and goes into a model file as it is.

Vectors are read and written in the text format of word2vec: a word and its numbers on a line, separated by spaces. A
first line with the number of words and of dimensions is written, and may be missing on reading. Row i of a matrix is
the vector of id i, so ``matrix[corpus.tokens]`` are the vectors of a text. A literal ``<unk>``, ``<s>`` or ``</s>`` is
the vector of the reserved symbol; reserved symbols without one are zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.scale import starts_of
from corpuscle.text.files import AnyPath, read_lines, write_atomically

if TYPE_CHECKING:
    from corpuscle.text.scan import Index

UNKNOWN, START, END, FIRST = 0, 1, 2, 3
MARKUP = ("<unk>", "<s>", "</s>")
"""How the reserved symbols are shown to people and written to ARPA files."""

_LARGE = 20_000
"""From this size on words are found by the compiled index: a dictionary of Python strings would take long to make."""


def items_of(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What stands in some rows of a flat array, one row after the other: the positions of the items in it, and where
    each row begins among them, both int64; row i had the items from ``starts[i]`` to ``starts[i + 1]``."""
    begins = starts_of(np.diff(starts)[rows])
    return np.repeat(starts[:-1][rows] - begins[:-1], np.diff(begins)) + np.arange(begins[-1]), begins


def _packed(words: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of words one after the other, and where each begins and the last ends."""
    return np.frombuffer(b"".join(words), np.uint8), starts_of(map(len, words))


class Vocab:
    """Strings <-> ids, with counts.

    - ``bytes``: uint8, the UTF-8 of all types one after the other, without the reserved symbols;
    - ``offsets``: int64 (n_types + 1), where each type begins in ``bytes``;
    - ``counts``: int64 (3 + n_types), the number of occurrences of each id; zeros if they were not counted.

    >>> vocab = Vocab.from_words(["a", "b"], [5, 2])
    >>> vocab.id("b"), vocab.word(4), vocab.id("never seen")
    (4, 'b', 0)
    """

    def __init__(self, bytes: np.ndarray, offsets: np.ndarray, counts: np.ndarray | None = None):
        self.bytes = bytes
        self.offsets = offsets
        self.counts = np.zeros(FIRST + len(offsets) - 1, np.int64) if counts is None else counts

    @classmethod
    def from_words(cls, words: Iterable[str], counts: Sequence[int] | np.ndarray | None = None) -> Vocab:
        """A vocabulary of distinct words, numbered in the given order; ``counts`` excludes the reserved symbols."""
        encoded = [word.encode() for word in words]
        if len(set(encoded)) != len(encoded):
            raise ValueError("the words of a vocabulary must be distinct")
        vocab = cls(*_packed(encoded))
        if counts is not None:
            vocab.counts[FIRST:] = counts
        return vocab

    def __len__(self) -> int:
        """The number of ids, the reserved ones included."""
        return FIRST + len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Vocab({len(self) - FIRST:,} types)"

    def __eq__(self, other: object) -> bool:
        """Same strings with the same ids (counts may differ)."""
        return isinstance(other, Vocab) and (
            self is other or (np.array_equal(self.offsets, other.offsets) and np.array_equal(self.bytes, other.bytes))
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def strings(self) -> list[str]:
        """The string of every id; the reserved ones as people see them."""
        blob, offsets = self.bytes.tobytes(), self.offsets.tolist()
        types = [blob[a:b].decode() for a, b in pairwise(offsets)]
        return [*MARKUP, *types]

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of every ordinary type."""
        return {word: FIRST + i for i, word in enumerate(self.strings[FIRST:])}

    @cached_property
    def index(self) -> Index:
        """The compiled hash table that finds words by their bytes, made at first use."""
        from corpuscle.text.scan import Index

        return Index.of(self.bytes, self.offsets)

    def forget_index(self) -> None:
        """Drop the index, which takes more memory than the strings do; it is made again when it is needed."""
        self.__dict__.pop("index", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocab, (self.bytes, self.offsets, self.counts)  # without what can be made again

    def __contains__(self, word: str) -> bool:
        return self.id(word) != UNKNOWN

    def id(self, word: str) -> int:
        """The id of a word, ``UNKNOWN`` if it has none."""
        return int(self.encode([word])[0])

    def word(self, id: int) -> str:
        """The string of an id, decoded on its own: no need to decode the rest."""
        if id < FIRST:
            return MARKUP[id]
        a, b = self.offsets[id - FIRST : id - FIRST + 2]
        return self.bytes[a:b].tobytes().decode()

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """The ids of some words, int32; ``UNKNOWN`` where the vocabulary has none."""
        if len(self) < _LARGE or "ids" in self.__dict__:
            return np.fromiter((self.ids.get(word, UNKNOWN) for word in words), np.int32)
        return self.index.look_up(*_packed([word.encode("utf-8", "surrogatepass") for word in words]))

    def mapping_from(self, other: Vocab) -> np.ndarray:
        """For every id of another vocabulary the id of the same word in this one, int32 (len(other),).

        Words that this vocabulary lacks become ``UNKNOWN``; the reserved symbols are the same in all vocabularies.
        """
        mapping = np.arange(len(other), dtype=np.int32)
        mapping[FIRST:] = self.index.look_up(other.bytes, other.offsets)
        return mapping

    def decode(self, ids: Iterable[int] | np.ndarray) -> list[str]:
        """The strings of some ids, in their order."""
        strings = self.strings
        return [strings[i] for i in ids]

    def cut(self, min_count: int = 1, max_types: int | None = None) -> tuple[Vocab, np.ndarray]:
        """Keep the types that occur at least ``min_count`` times, and at most the ``max_types`` most frequent of them.

        Returns the smaller vocabulary (in the old order) and a map from old to new ids, int32 (len(self),), in which
        dropped types become ``UNKNOWN``; their counts are added to its count.
        """
        counts = self.counts[FIRST:]
        keep = counts >= min_count
        if max_types is not None and keep.sum() > max_types:
            ranking = np.argsort(-np.where(keep, counts, -1), kind="stable")
            keep = np.zeros(len(counts), bool)
            keep[ranking[:max_types]] = True
        mapping = np.zeros(len(self), np.int32)
        mapping[:FIRST] = np.arange(FIRST)
        mapping[FIRST:][keep] = FIRST + np.arange(keep.sum())
        kept = self.subset(np.flatnonzero(keep) + FIRST)
        kept.counts = np.bincount(mapping, weights=self.counts).astype(np.int64)
        return kept, mapping

    def subset(self, ids: np.ndarray) -> Vocab:
        """A vocabulary of the given ordinary ids, in that order, with their counts."""
        source, offsets = items_of(self.offsets, np.asarray(ids) - FIRST)
        return Vocab(self.bytes[source], offsets, np.concatenate([self.counts[:FIRST], self.counts[ids]]))

    def arrays(self, prefix: str = "vocab/") -> dict[str, np.ndarray]:
        """What a model file keeps of a vocabulary."""
        return {prefix + "bytes": self.bytes, prefix + "offsets": self.offsets, prefix + "counts": self.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str = "vocab/") -> Vocab:
        """The vocabulary of a model file."""
        return cls(arrays[prefix + "bytes"], arrays[prefix + "offsets"], arrays[prefix + "counts"])


_HEADER = re.compile(r"([0-9]{1,9}) ([0-9]{1,9})[ \t]*")
_FIELD = re.compile(r"[^ \t\v\f\r]+")
SPACES = re.compile(r"[ \t\n\r\v\f]+")
_NUMBERS = re.compile(r"[-+0-9.eE ]*")
_LARGEST = float(np.finfo(np.float32).max)


def read_vectors(path: AnyPath) -> tuple[Vocab, np.ndarray]:
    """Read vectors: the vocabulary, and a float32 matrix (len(vocab), dimensions).

    A first line of two integers is the header, unless what follows shows that it is a word with a vector of one number.
    """
    lines = list(read_lines(path))
    announced = None
    match = _HEADER.fullmatch(lines[0][1]) if lines else None
    if match and (len(lines) == 1 or len(_FIELD.findall(lines[1][1])) == int(match[2]) + 1):
        announced = (int(match[1]), int(match[2]))
        lines = lines[1:]
    words: dict[str, np.ndarray] = {}
    width = None if announced is None else announced[1]
    for number, line in lines:
        fields = line.rstrip(" ").split(" ")
        if "" in fields or "\t" in line:
            fields = _FIELD.findall(line) or [""]
        word, *numbers = fields
        if not word:
            raise InputError(path, number, "a line without a word")
        if width is None:
            width = len(numbers)
        if len(numbers) != width:
            reason = f"{len(numbers)} numbers instead of {width} (words must not contain spaces)"
            raise InputError(path, number, reason)
        if word in words:
            raise InputError(path, number, f"the word {word[:40]!r} occurs twice")
        row = _numbers(numbers)
        if row is None:
            bad = next(text for text in numbers if _numbers([text]) is None)
            raise InputError(path, number, f"{bad[:40]!r} is not a number that can be used")
        words[word] = row
    if announced is not None and announced[0] != len(words):
        raise InputError(path, None, f"{len(words)} words, but the first line announces {announced[0]}")
    vocab = Vocab.from_words(word for word in words if word not in MARKUP)
    matrix = np.zeros((len(vocab), width or 0), np.float32)
    for id, word in enumerate(vocab.strings):
        if word in words:
            matrix[id] = words[word]
    return vocab, matrix


def _numbers(texts: list[str]) -> np.ndarray | None:
    """The numbers of a line, float32, or None if one of them is none: Python's ``float`` takes more than should stand
    there, and ``float32`` less."""
    if not _NUMBERS.fullmatch(" ".join(texts)):
        return None
    try:
        row = np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return None
    return row.astype(np.float32) if (np.abs(row) <= _LARGEST).all() else None


def write_vectors(vocab: Vocab, matrix: np.ndarray, path: AnyPath) -> None:
    """Write vectors with a header; the shortest digits that give the same float32 again.

    Reserved symbols come first, and only those that have a vector other than zeros.
    """
    matrix = np.asarray(matrix, np.float32)
    if matrix.ndim != 2 or len(matrix) != len(vocab):
        raise ValueError(f"a matrix of shape {matrix.shape} for {len(vocab)} ids")
    if not np.isfinite(matrix).all():
        raise InputError(path, None, "a vector has a number that is not finite")
    reserved = [id for id in range(FIRST) if matrix[id].any()]
    kept = [*reserved, *range(FIRST, len(vocab))]
    for word in vocab.strings[FIRST:]:
        if not word or SPACES.search(word) or word in MARKUP:
            raise InputError(path, None, f"this file cannot hold the word {word!r}")
    with write_atomically(path, "w") as output:
        output.write(f"{len(kept)} {matrix.shape[1]}\n")
        for id in kept:
            output.write(" ".join([vocab.strings[id], *map(str, matrix[id])]) + "\n")
