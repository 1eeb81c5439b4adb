"""What the spelling of a word says: about its vector, by its pieces, and about rare words, by their signatures.

*Pieces* are strings of three to six letters, each with a vector. Words that share pieces (walk, walks, walking; -ness,
un-) often share meaning, and a word that the text has five times has little but its spelling. Regression finds the
vectors of pieces whose sum, divided by the root of their number, comes nearest to the vectors of the words; frequent
words weigh more. Pieces that fewer than ``LEAST`` types have are left out.

The *signature* of a word is whether it has a capital, a digit or a hyphen, and its last letters. Rare words of one
signature share a type: what a word looks like tells more than that it is rare.

The regression is weighted ridge regression on sparse features, for many targets at once. The coefficients B (features,
targets) that make (X B - Y)' W (X B - Y) + lambda |B|^2 least solve the normal equations (X' W X + lambda I) B = X' W
Y. Conjugate gradients need products with X and X' alone, and after a few steps B is as good as the noise in Y deserves;
all targets are solved side by side, each with step lengths of its own.

Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952; Hoerl and Kennard, "Ridge
regression: biased estimation for nonorthogonal problems", 1970. X is (items, features), W a diagonal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.text.corpus import starts_of
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

SHORTEST, LONGEST, LEAST = 3, 6, 3
FREQUENT = 100  # from this count on all words weigh the same


def pieces_of(word: str) -> list[str]:
    """The pieces of a word between its edges, in order and without the whole.

    >>> pieces_of("cat")
    ['<ca', '<cat', 'cat', 'cat>', 'at>']
    """
    whole = f"<{word}>"
    spans = (
        whole[i : i + n]
        for i in range(len(whole) - SHORTEST + 1)
        for n in range(SHORTEST, min(LONGEST, len(whole) - i) + 1)
    )
    return [piece for piece in dict.fromkeys(spans) if piece != whole]


class Spelling(NamedTuple):
    """Pieces and what they say: ``pieces``, a vocabulary, and ``vectors`` float32 (len(pieces), dimensions)."""

    pieces: Vocab
    vectors: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self.pieces.arrays("pieces/"), "pieces/vectors": self.vectors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Spelling:
        return cls(Vocab.from_arrays(arrays, "pieces/"), arrays["pieces/vectors"])

    def features(self, words: Sequence[str]) -> Rows:
        """The pieces of words as a matrix (words, len(pieces)), rows of unit length; reserved ids have empty
        columns."""
        columns = [np.empty(0, np.int32)]
        for word in words:
            found = np.unique(self.pieces.encode(pieces_of(word)))
            columns.append(found[found != UNKNOWN].astype(np.int32))
        starts = starts_of(map(len, columns[1:]))
        sizes = np.diff(starts)
        values = np.repeat(1 / np.sqrt(np.maximum(1, sizes)), sizes)
        return Rows(starts, np.concatenate(columns), values, len(self.pieces))

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """What the spelling of words says, float64 (words, dimensions); zeros where no piece is known."""
        return SparseOperator(self.features(words), 1).matmat(self.vectors.astype(np.float64))


def learn_spelling(
    words: Sequence[str], counts: np.ndarray, vectors: np.ndarray, workers: int | None = None
) -> tuple[Spelling, np.ndarray]:
    """The pieces of words with these counts and vectors (words, dimensions); and what they say about these very words,
    float64 (words, dimensions)."""
    seen = Counter(piece for word in words for piece in pieces_of(word))
    kept = Vocab.from_words(piece for piece, count in seen.items() if count >= LEAST)
    spelling = Spelling(kept, np.zeros((len(kept), vectors.shape[1]), np.float32))
    features = SparseOperator(spelling.features(words), workers)
    found = ridge(features, vectors, np.minimum(1.0, counts / FREQUENT)).astype(np.float32)
    return Spelling(kept, found), features.matmat(found.astype(np.float64))


_SUFFIX = 2


def signature_of(word: str) -> str:
    """What a word looks like, as the name of a type.

    >>> signature_of("Walking"), signature_of("1,234"), signature_of("up")
    ('<unk:A:ng>', '<unk:0>', '<unk:>')
    """
    if any(map(str.isdecimal, word)):
        return "<unk:0>" if not any(map(str.isalpha, word)) else "<unk:0a>"
    marks = ("A" if word[:1].isupper() else "") + ("-" if "-" in word[1:-1] else "")
    ending = word[-_SUFFIX:].lower() if len(word) > 2 * _SUFFIX and word[-_SUFFIX:].isalpha() else ""
    return f"<unk:{':'.join(filter(None, (marks, ending)))}>"


def vocabulary_of(vocab: Vocab, min_count: int, max_types: int | None, rare: str) -> tuple[Vocab, np.ndarray]:
    """A vocabulary cut at these bounds and sorted by falling counts, and a map from old ids to new ones, int32. With
    ``rare`` "signature" the types below are put into classes by their signatures, those classes that are not rare
    themselves; everything else is ``UNKNOWN``."""
    if rare == "signature":
        gone = np.flatnonzero(vocab.cut(min_count, max_types)[1][FIRST:] == UNKNOWN) + FIRST
        names = [signature_of(vocab.word(int(id))) for id in gone]
        # Strings of the text that are spelled like a class are of that class.
        strings = np.array(vocab.strings[FIRST:], dtype=object)
        strings[gone - FIRST] = names
        unique = {word: number for number, word in enumerate(dict.fromkeys(strings))}
        numbers = np.array([unique[word] for word in strings], np.int64)
        merged = Vocab.from_words(unique, np.bincount(numbers, vocab.counts[FIRST:], len(unique)).astype(np.int64))
        merged.counts[:FIRST] = vocab.counts[:FIRST]
        smaller, mapping = merged.cut(min_count)
        mapping = mapping[np.concatenate([np.arange(FIRST), FIRST + numbers])]
    else:
        smaller, mapping = vocab.cut(min_count, max_types)
    order = np.argsort(-smaller.counts[FIRST:], kind="stable") + FIRST
    rank = np.arange(len(smaller), dtype=np.int32)
    rank[order] = np.arange(FIRST, len(smaller))
    result = smaller.subset(order)
    result.counts = np.concatenate([smaller.counts[:FIRST], smaller.counts[order]])
    return result, rank[mapping]


def ridge(features: Any, targets: np.ndarray, weights: np.ndarray, penalty: float = 1.0, steps: int = 15) -> np.ndarray:
    """B, float64 (features, targets): ``features`` an operator X with ``matmat`` and ``rmatmat``, ``targets`` Y
    (items, targets), ``weights`` W (items,), ``penalty`` lambda > 0."""
    weighted = weights[:, None]
    residual = features.rmatmat(weighted * targets)
    solution, direction = np.zeros_like(residual), residual.copy()
    size = (residual**2).sum(axis=0)
    for _ in range(steps):
        image = features.rmatmat(weighted * features.matmat(direction)) + penalty * direction
        curvature = (direction * image).sum(axis=0)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution += length * direction
        residual -= length * image
        before, size = size, (residual**2).sum(axis=0)
        direction = residual + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return solution
