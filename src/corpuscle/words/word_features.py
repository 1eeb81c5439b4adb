"""What raw text says of words, as features of taggers and parsers: paths of classes, and clusters of vectors.

A source is a table from words to a few values, each a hash of 64 bits, so that a model that learned with it needs
neither the class model nor the vectors again. A word is looked for as it is written, then in lower case, then with
every digit as 0, since texts differ in how they were prepared.

- Classes: the class, and the first 4, 6, 10 bits of its path where classes have a tree (Miller, Guinness and Zamanian,
  "Name tagging with word clusters and discriminative training", 2004).
- Vectors: the nearest of 50, 200 and 1,000 centres of unit vectors (Guo, Che, Wang and Liu, "Revisiting embedding
  features for simple semi-supervised learning", 2014, section 4.2: clusters of several sizes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words.classes import WordClasses

PREFIXES = (4, 6, 10)
CENTRES = (50, 200, 1000)

SOURCES = {
    "sources/words": Array("uint64", ("source_words",), rising=True),
    "sources/values": Array("uint64", ("source_words", "source_columns")),
}
"""The arrays of a source inside a model."""


@dataclass(frozen=True, eq=False)
class WordFeatures:
    """Values of words.

    - ``words``: uint64 (n,), hashes of words, ascending; ``values``: uint64 (n, columns), 0 for nothing;
    - ``single``: the columns that serve alone, one of each class model or set of vectors; files do not keep it.
    """

    words: np.ndarray
    values: np.ndarray
    single: tuple[int, ...] = ()

    @classmethod
    def none(cls) -> WordFeatures:
        return cls(np.zeros(0, np.uint64), np.zeros((0, 0), np.uint64))

    @classmethod
    def from_words(cls, words: Sequence[str], values: np.ndarray, single: int = 0) -> WordFeatures:
        """From distinct words and their values, uint64 (n, columns); ``single``: the column that serves alone."""
        hashes, first = np.unique(hashes_of(words), return_index=True)
        return cls(hashes, np.ascontiguousarray(values[first]), (single,))

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> WordFeatures:
        return cls(arrays["sources/words"], arrays["sources/values"])

    def alone(self) -> WordFeatures:
        """With the columns that serve alone; a source that does not know them stays as it is."""
        if not self.single:
            return self
        return WordFeatures(self.words, np.ascontiguousarray(self.values[:, list(self.single)]))

    def all_serve(self) -> WordFeatures:
        """With all columns, none of which serves alone."""
        return WordFeatures(self.words, self.values)

    def of(self, words: Sequence[str]) -> np.ndarray:
        """The values of some words, uint64 (n, columns); 0 where a word is not known in any spelling."""
        found = np.full(len(words), -1, np.int64)
        with_zeros = partial(re.compile(r"\d").sub, "0")
        for spelled in (str, str.lower, with_zeros, lambda word: with_zeros(word.lower())):
            missing = np.flatnonzero(found < 0)
            if len(missing):
                found[missing] = find(hashes_of([spelled(words[i]) for i in missing.tolist()]), self.words)
        values = np.zeros((len(words), self.n_columns), np.uint64)
        values[found >= 0] = self.values[found[found >= 0]]
        return values

    def arrays(self) -> dict[str, np.ndarray]:
        return {"sources/words": self.words, "sources/values": self.values}


def class_sources(model: WordClasses) -> WordFeatures:
    """The classes of a model, which have one for each word."""
    columns = [hashes_of([f"class {number}" for number in range(model.n_classes_)])]
    if model.tree_ is not None:
        columns += [hashes_of([f"path {length} {path[:length]}" for path in model.tree_.paths]) for length in PREFIXES]
    return WordFeatures.from_words(model.vocab_.strings[FIRST:], np.column_stack(columns)[model.classes_[FIRST:]])


def vector_sources(vocab: Vocab, matrix: np.ndarray, seed: int = 1) -> WordFeatures:
    """Clusters of word vectors, float (len(vocab), dimensions); the second clustering serves alone."""
    from sklearn.cluster import MiniBatchKMeans

    from corpuscle.engine.linalg import unit_rows

    vectors = unit_rows(np.asarray(matrix[FIRST:], np.float64))
    columns = []
    for centres in CENTRES:
        if centres <= len(vectors) // 2 or centres == CENTRES[0]:
            n = min(centres, len(vectors))
            learner = MiniBatchKMeans(n, random_state=seed, n_init=1, batch_size=4096, max_iter=30)
            names = [f"cluster {centres} {number}" for number in range(n)]
            columns.append(hashes_of(names)[learner.fit_predict(vectors)])
    return WordFeatures.from_words(vocab.strings[FIRST:], np.column_stack(columns), min(1, len(columns) - 1))


def joint_sources(*sources: WordFeatures) -> WordFeatures:
    """Several sources side by side: a word has the values of all that know it."""
    words = np.unique(np.concatenate([np.zeros(0, np.uint64), *(source.words for source in sources)]))
    values = np.zeros((len(words), sum(source.n_columns for source in sources)), np.uint64)
    at, single = 0, []
    for source in sources:
        values[find(source.words, words), at : at + source.n_columns] = source.values
        single += [at + column for column in source.single]
        at += source.n_columns
    return WordFeatures(words, values, tuple(single))
