"""Which words stand in the documents of a lemma: three numbers for a candidate in a document.

N_l(w) is the sum over the tokens of lemma l of how often word w is in their documents. A candidate with lemma l in
document d has: the mean log probability of the words of d under (N_l(w) + s) / (N_l + sV), with s = 0.1; the cosine of
N_l and the counts of d; 1 if l is known, else 0. The token itself is left out of its document.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 4.2 (term frequencies), pooled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corpuscle.model import Array
from corpuscle.text.corpus import starts_of
from corpuscle.text.hashes import find

__all__ = ["TOPICS", "Topics"]

_SMOOTHING = 0.1
WIDTH = 3
"""Numbers of a candidate."""

TOPICS = {
    "topics/words": Array("uint64", ("topic_words",), rising=True),
    "topics/lemmas": Array("uint64", ("topic_lemmas",), rising=True),
    "topics/starts": Array("int64", ("topic_lemmas+1",), offsets_into="topic_pairs"),
    "topics/columns": Array("int32", ("topic_pairs",), low=0, high="topic_words"),
    "topics/counts": Array("int32", ("topic_pairs",), low=1),
}


class Topics(NamedTuple):
    """N as sparse rows: ``words``, ``lemmas`` uint64, hashes, ascending; the words of lemma i are
    ``columns[starts[i]:starts[i + 1]]``, int32, with ``counts``, int32."""

    words: np.ndarray
    lemmas: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    @classmethod
    def learn(cls, words: np.ndarray, lemmas: np.ndarray, documents: np.ndarray) -> Topics:
        """From tokens: hashes of words and lemmas, uint64 (n,), and numbers of documents."""
        from scipy.sparse import csr_matrix

        names, word = np.unique(words, return_inverse=True)
        kinds, lemma = np.unique(lemmas, return_inverse=True)
        _, document = np.unique(documents, return_inverse=True)
        ones, n = np.ones(len(words), np.int64), int(document.max(initial=-1)) + 1
        texts = csr_matrix((ones, (document, word)), (n, len(names)))
        found = (csr_matrix((ones, (lemma, document)), (len(kinds), n)) @ texts).sorted_indices()
        starts = starts_of(np.diff(found.indptr))
        return cls(names, kinds, starts, found.indices.astype(np.int32), found.data.astype(np.int32))

    def _rows(self, values: np.ndarray) -> Any:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, self.columns, self.starts), (len(self.lemmas), len(self.words)))

    def numbers(
        self, words: np.ndarray, documents: np.ndarray, tokens: np.ndarray, lemmas: np.ndarray
    ) -> np.ndarray:
        """Of rows, each a token of a text (``words`` uint64, ``documents`` int64) with the hash of a lemma: float32
        (n_rows, 3)."""
        from scipy.sparse import csr_matrix

        out = np.zeros((len(tokens), WIDTH), np.float32)
        if not len(tokens) or not len(self.lemmas):
            return out
        word, lemma, document = find(words, self.words), find(lemmas, self.lemmas), documents[tokens]
        known = word >= 0
        shape = int(documents.max()) + 1, len(self.words)
        texts = csr_matrix((np.ones(int(known.sum())), (documents[known], word[known])), shape)
        out[:, 0] = -np.log(len(self.words))
        seen = np.flatnonzero(lemma >= 0)
        if not len(seen):
            return out
        row, own, at = lemma[seen], word[tokens[seen]], document[seen]
        counts = self._rows(self.counts.astype(np.float64))
        logs = self._rows(np.log(self.counts / _SMOOTHING + 1))
        inside, column = own >= 0, np.maximum(own, 0)

        def value_of(matrix: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            return np.asarray(matrix[rows, columns]).ravel()

        sizes = np.asarray(texts.sum(axis=1)).ravel()
        squares = np.asarray(texts.multiply(texts).sum(axis=1)).ravel()
        n_words = np.maximum(sizes[at] - inside, 1)
        total = np.asarray(counts.sum(axis=1)).ravel()
        length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        (some, row_at), (there, text_at) = (np.unique(each, return_inverse=True) for each in (row, at))
        fit, same = (
            value_of(matrix[some] @ texts[there].T, row_at, text_at) - inside * value_of(matrix, row, column)
            for matrix in (logs, counts)
        )
        size = np.sqrt(np.maximum(squares[at] - inside * (2 * value_of(texts, at, column) - 1), 0))
        out[seen, 0] = fit / n_words - np.log(total[row] / _SMOOTHING + len(self.words))
        out[seen, 1] = same / np.maximum(length[row] * size, 1e-12)
        out[seen, 2] = 1
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        """For a file."""
        return {f"topics/{name}": array for name, array in self._asdict().items()}
