"""What raw text says about words: their classes, and their vectors as signs.

A word has the number of its class and, where there is a class tree, of its groups of fewer classes. Of its vector, each
coordinate counts as large, as small, or not at all: above the mean of the positive ones, below the mean of the negative
ones, or in between. So both are features like any other. A form without an entry has that of its lower case.

Guo, Che, Wang and Liu, "Revisiting embedding features for simple semi-supervised learning", 2014, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.model import Array
from corpuscle.text.hashes import find, hashes_of
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import WordClasses, WordVectors

__all__ = ["ARRAYS", "Sources"]

ARRAYS = {
    "classes/forms": Array("uint64", ("class_forms",), rising=True),
    "classes/codes": Array("int32", ("class_forms", "class_columns"), low=0),
    "vectors/forms": Array("uint64", ("vector_forms",), rising=True),
    "vectors/codes": Array("int8", ("vector_forms", "dimensions"), low=0, high=3),
}
_COARSER = (16, 64)
"""Groups of classes that count beside the classes, where there are more classes than that."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Sources(NamedTuple):
    """Codes of words: the arrays that ``ARRAYS`` declares; code 0 says nothing."""

    class_forms: np.ndarray
    class_codes: np.ndarray
    vector_forms: np.ndarray
    vector_codes: np.ndarray

    @classmethod
    def of(cls, classes: WordClasses | None, vectors: WordVectors | None) -> Sources:
        """From the classes and the vectors of words."""
        nothing = np.zeros(0, np.uint64)
        class_forms, class_codes = nothing, np.zeros((0, 0), np.int32)
        vector_forms, vector_codes = nothing, np.zeros((0, 0), np.int8)
        if classes is not None:
            numbers, tree = classes.classes_[FIRST:], classes.tree_
            grains = [g for g in _COARSER if tree is not None and g < classes.n_classes_]
            groups = [tree.groups(grain)[numbers] for grain in grains if tree is not None]
            codes = np.column_stack([numbers, *groups]).astype(np.int32) + 1
            class_forms, class_codes = _sorted(classes.vocab_, codes)
        if vectors is not None:
            matrix = vectors.vectors_[FIRST:]
            means = [(matrix * side).sum(axis=0) / np.maximum(1, side.sum(axis=0)) for side in (matrix > 0, matrix < 0)]
            signs = np.where(matrix > means[0], 1, np.where(matrix < means[1], 2, 0)).astype(np.int8)
            vector_forms, vector_codes = _sorted(vectors.vocab_, signs)
        return cls(class_forms, class_codes, vector_forms, vector_codes)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Sources:
        """From the arrays of a file."""
        return cls(*(arrays[name] for name in ARRAYS))

    def arrays(self) -> dict[str, np.ndarray]:
        """For a file."""
        return dict(zip(ARRAYS, self, strict=True))

    @property
    def n_classes(self) -> int:
        """How many columns come from classes."""
        return self.class_codes.shape[1]

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return self.n_classes + self.vector_codes.shape[1]

    def values(self, forms: Sequence[str], lower: Sequence[str]) -> np.ndarray:
        """What is known of words, uint64 (n, n_columns), 0 for nothing."""
        found = []
        for keys, codes in ((self.class_forms, self.class_codes), (self.vector_forms, self.vector_codes)):
            rows = find(hashes_of(forms), keys)
            rows = np.where(rows < 0, find(hashes_of(lower), keys), rows)
            padded = np.vstack([codes, np.zeros((1, codes.shape[1]), codes.dtype)])
            found.append(padded[rows].astype(np.uint64) * _ODD)
        return np.hstack(found)


def _sorted(vocab: Vocab, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of words, ascending, and their codes."""
    hashes = hashes_of(vocab.strings[FIRST:])
    order = np.argsort(hashes)
    return hashes[order], np.ascontiguousarray(codes[order])
