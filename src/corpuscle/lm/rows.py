"""The shape of an n-gram trie that comes from a file: what kernels rely on beyond the ranges of its arrays."""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import children_rise
from corpuscle.memory import pieces, release
from corpuscle.model import Array, Container

__all__ = ["ROWS", "check_rows"]

ROWS = {
    "levels": Array("int64", ("levels",), low=0),
    "words": Array("int32", ("rows",), low=0, high="types+3"),
    "first_child": Array("int32", ("contexts+1",), low=0, rising=True),
    "suffix": Array("int32", ("rows",), low=-1),
}
"""The arrays of a trie, see ``engine.ngrams.trie.Ngrams``."""


def check_rows(loaded: Container) -> None:
    """Raise ``ValueError`` unless levels, children, suffixes and words make a trie."""
    arrays = loaded.arrays
    levels, first_child, suffix = arrays["levels"], arrays["first_child"], arrays.get("suffix")
    order = len(levels) - 1
    if order < 1 or levels[0] != 0 or np.any(np.diff(levels) < 0) or levels[1] != len(arrays["vocab/counts"]):
        raise ValueError("the levels of the n-gram trie do not fit")
    if levels[-1] != len(arrays["words"]) or levels[-2] + 1 != len(first_child):
        raise ValueError("the levels of the n-gram trie do not fit its rows")
    words = arrays["words"]
    if not np.array_equal(words[: levels[1]], np.arange(levels[1])):
        raise ValueError("unigram rows must be the symbols themselves")
    if suffix is not None and np.any(suffix[: levels[1]] != -1):
        raise ValueError("a unigram has no suffix")
    for m in range(1, order):
        if first_child[levels[m - 1]] != levels[m]:
            raise ValueError("the rows of an order must follow the contexts of the order below")
        begin, end = int(levels[m]), int(levels[m + 1])
        for piece in pieces(suffix[begin:end] if suffix is not None else np.empty(0)):
            if piece.min() < 0 or piece.max() >= begin:
                raise ValueError("a suffix must be a shorter n-gram")
    if order > 1 and first_child[-1] != levels[-1]:
        raise ValueError("the last context must end with the last row")
    for ends in pieces(frozen(first_child, np.int32), overlap=1):
        if not children_rise(frozen(words, np.int32), ends):
            raise ValueError("the words after a context must rise")
        release(words)
