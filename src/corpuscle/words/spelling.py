"""What the spelling of a word says about its vector: pieces of three to six letters, each with a vector.

Words that share pieces (walk, walks, walking; -ness, un-) often share meaning, and a word that the text has five times
has little but its spelling. Regression finds the vectors of pieces whose sum, divided by the root of their number,
comes nearest to the vectors of the words; frequent words weigh more. Pieces that fewer than ``LEAST`` types have are
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.engine.linalg.ridge import ridge
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.text.vocab import UNKNOWN, Vocab

__all__ = ["Spelling", "learn_spelling", "pieces_of"]

SHORTEST, LONGEST, LEAST = 3, 6, 3
FREQUENT = 100
"""From this count on all words weigh the same."""


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

    def features(self, words: Sequence[str]) -> Rows:
        """The pieces of words as a matrix (words, len(pieces)), rows of unit length; reserved ids have empty
        columns."""
        starts, columns, values = [0], [], []
        for word in words:
            found = np.unique(self.pieces.encode(pieces_of(word)))
            found = found[found != UNKNOWN]
            columns.append(found.astype(np.int32))
            values.append(np.full(len(found), 1 / np.sqrt(max(1, len(found)))))
            starts.append(starts[-1] + len(found))
        none = np.empty(0)
        return Rows(
            np.array(starts, np.int64),
            np.concatenate([none.astype(np.int32), *columns]),
            np.concatenate([none, *values]),
            len(self.pieces),
        )

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
