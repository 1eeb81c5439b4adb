"""Layer: one annotation for every token, as numbers with their own vocabulary.

A column of a treebank or of a column file has few distinct values, so it is kept the way tokens are: int32 ids and a
``Vocab``. The reserved id 0 stands for a value that is not given (``_`` in CoNLL-U, an empty field elsewhere).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np

from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

T = TypeVar("T")


def flattened(name: str, rows: Iterable[Sequence[T]], sentences: Sequence[Sequence[str]]) -> list[T]:
    """The values of a layer, which has one for each word of the sentences, one after the other."""
    rows = list(rows)
    if list(map(len, rows)) != list(map(len, sentences)):
        raise ValueError(f"{name} must have one value for each word")
    return [value for row in rows for value in row]


def aligned_signature(text: str, *aligned: np.ndarray | Layer) -> str:
    """A short hash of a text, given by its own signature, and of what is aligned to its tokens."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for each in aligned:
        digest.update("\n".join(each.strings()).encode() if isinstance(each, Layer) else each.tobytes())
    return digest.hexdigest()


class Numbering:
    """Numbers strings in the order in which they come, a batch at a time.

    >>> numbering = Numbering(missing="_")
    >>> numbering.add(["a", "_", "b"]).tolist(), numbering.add(["b"]).tolist()
    ([3, 0, 4], [4])
    >>> numbering.layer().ids.tolist()
    [3, 0, 4, 4]
    """

    def __init__(self, missing: str | None = None):
        self.missing = missing
        self.ids: defaultdict[str, int] = defaultdict(count(FIRST).__next__)
        if missing is not None:
            self.ids[missing] = UNKNOWN
        self._batches: list[np.ndarray] = []

    def add(self, strings: Iterable[str]) -> np.ndarray:
        """Number some more strings; their ids, int32."""
        self._batches.append(np.fromiter(map(self.ids.__getitem__, strings), np.int32))
        return self._batches[-1]

    @property
    def types(self) -> list[str]:
        """The distinct strings so far, without the missing one, in the order of their ids."""
        return [string for string, id in self.ids.items() if id >= FIRST]

    def finish(self) -> tuple[np.ndarray, Vocab]:
        """All ids, int32, and the vocabulary with counts."""
        ids = np.concatenate(self._batches) if self._batches else np.zeros(0, np.int32)
        vocab = Vocab.from_words(self.types)
        vocab.counts[:] = np.bincount(ids, minlength=len(vocab))
        return ids, vocab

    def layer(self) -> Layer:
        return Layer(*self.finish(), missing="_" if self.missing is None else self.missing)


@dataclass(frozen=True, eq=False)
class Layer:
    """One value for every token: ``ids`` int32 (n_tokens,) in ``vocab``; id 0 is written as ``missing``.

    >>> Layer.from_strings(["NOUN", "_", "NOUN"]).ids.tolist()
    [3, 0, 3]
    """

    ids: np.ndarray
    vocab: Vocab
    missing: str = "_"

    @classmethod
    def from_strings(cls, strings: Iterable[str], missing: str = "_") -> Layer:
        """Number the values of all tokens."""
        numbering = Numbering(missing)
        numbering.add(strings)
        return numbering.layer()

    @classmethod
    def unset(cls, length: int, missing: str = "_") -> Layer:
        """A layer that says nothing about any token."""
        return cls(np.zeros(length, np.int32), Vocab.from_words([]), missing)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, tokens: Any) -> Layer:
        """The layer of some tokens (a slice, indices or a mask), in the same vocabulary."""
        return Layer(self.ids[tokens], self.vocab, self.missing)

    @property
    def values(self) -> list[str]:
        """What each id of the vocabulary is written as."""
        return [self.missing, *self.vocab.strings[1:]]

    @property
    def used(self) -> list[str]:
        """The distinct values of all tokens, as the vocabulary spells them."""
        return [self.vocab.word(id) for id in np.unique(self.ids).tolist()]

    def strings(self) -> list[str]:
        values = self.values
        return [values[id] for id in self.ids.tolist()]

    def map(self, function: Callable[[str], str]) -> Layer:
        """Another value for each token, computed once for each distinct value; missing values stay missing."""
        types = Layer.from_strings(map(function, self.vocab.strings[FIRST:]), self.missing)
        ids = np.concatenate([np.zeros(FIRST, np.int32), types.ids])[self.ids]
        types.vocab.counts[:] = np.bincount(ids, minlength=len(types.vocab))
        return Layer(ids, types.vocab, self.missing)
