"""Which words stand in the documents of a lemma: numbers for a candidate in a document.

N_l(w) is the sum over the tokens of lemma l of how often word w is in their documents, tf(w, d) how often it is in
document d. A candidate with lemma l in document d has three numbers: the mean log probability of the words of d under
(N_l(w) + s) / (N_l + sV), with s = 0.1; the cosine of N_l and tf(., d); 1 if l is known, else 0. By word, it also has
N_l(w) tf(w, d) for each word w, a sparse row. The token itself is left out of its document.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 4.2 (term frequencies), pooled and as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.disambiguate.kernels.ranking import Sparse, common_words
from corpuscle.hashing import find
from corpuscle.model import Array
from corpuscle.text.corpus import items_of, starts_of

_SMOOTHING = 0.1
_STEP = 1_000_000  # words that are compared by one call
WIDTH = 3  # numbers of a candidate
TOPICS = {
    "topics/words": Array("uint64", ("topic_words",), rising=True),
    "topics/lemmas": Array("uint64", ("topic_lemmas",), rising=True),
    "topics/starts": Array("int64", ("topic_lemmas+1",), offsets_into="topic_pairs"),
    "topics/columns": Array("int32", ("topic_pairs",), low=0, high="topic_words"),
    "topics/counts": Array("int32", ("topic_pairs",), low=1),
}
WORD_WEIGHTS = {"topics/weights": Array("float64", ("topic_words",), finite=True)}


class Common(NamedTuple):
    """What rows, each a token with a lemma, have in common with their documents. ``rows``: those whose lemma is known;
    ``pair`` int64, of each of them, a line of ``pairs`` (n_pairs, 2): lemma and document; the words of pair k are
    ``columns[starts[k]:starts[k + 1]]``, with their ``counts`` N and ``times`` tf; ``own``: the column of the token
    itself, or -1, and ``own_counts``: its N; ``texts``: tf; ``topics``: N."""

    rows: np.ndarray
    pair: np.ndarray
    pairs: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray
    times: np.ndarray
    own: np.ndarray
    own_counts: np.ndarray
    texts: Sparse
    topics: Topics

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of the values of the words of each pair, float64 (n_pairs,)."""
        pair = np.repeat(np.arange(len(self.pairs)), np.diff(self.starts))
        return np.bincount(pair, values, len(self.pairs))

    def numbers(self, n_rows: int) -> np.ndarray:
        """The three numbers of rows, float32 (n_rows, 3)."""
        out = np.zeros((n_rows, WIDTH), np.float32)
        out[:, 0] = -np.log(max(1, self.topics.n_words))
        if not len(self.rows):
            return out
        (lemma, document), pair = self.pairs.T, self.pair
        used, place = np.unique(lemma, return_inverse=True)
        at, begins = items_of(self.topics.starts, used)
        row, counts = np.repeat(np.arange(len(used)), np.diff(begins)), self.topics.counts[at].astype(np.float64)
        totals, lengths = np.bincount(row, counts, len(used)), np.sqrt(np.bincount(row, counts**2, len(used)))
        text = np.repeat(np.arange(len(self.texts.starts) - 1), np.diff(self.texts.starts))
        times = self.texts.counts.astype(np.float64)
        sizes, squares = (np.bincount(text, each, len(self.texts.starts) - 1)[document] for each in (times, times**2))
        inside = self.own >= 0
        own_times = _at(self.texts, self.topics.n_words, self.pairs[pair, 1], self.own)
        fit = self.sums(self.times * np.log(self.counts / _SMOOTHING + 1))[pair]
        same = self.sums(self.times * self.counts.astype(np.float64))[pair] - self.own_counts
        size = np.sqrt(np.maximum(squares[pair] - inside * (2 * own_times - 1), 0))
        fit = (fit - np.log(self.own_counts / _SMOOTHING + 1)) / np.maximum(sizes[pair] - inside, 1)
        out[self.rows, 0] = fit - np.log(totals[place][pair] / _SMOOTHING + self.topics.n_words)
        out[self.rows, 1] = same / np.maximum(lengths[place][pair] * size, 1e-12)
        out[self.rows, 2] = 1
        return out

    def products(self, n_rows: int, columns: np.ndarray, n_columns: int, logs: bool) -> SparseProduct:
        """N_l(w) tf(w, d), or log(1 + N_l(w)) tf(w, d), where word w is column ``columns[w]`` of ``n_columns``."""
        from scipy.sparse import csr_matrix

        counts, own_counts = (np.log1p(n) if logs else n.astype(np.float64) for n in (self.counts, self.own_counts))
        values = (self.times * counts, columns[self.columns], self.starts)
        ones, inside = np.ones(len(self.rows)), self.own_counts > 0
        own = (own_counts[inside], (self.rows[inside], columns[self.own[inside]]))
        return SparseProduct(
            csr_matrix((ones, (self.rows, self.pair)), (n_rows, len(self.pairs))),
            csr_matrix(values, (len(self.pairs), n_columns)), csr_matrix(own, (n_rows, n_columns)),
        )  # fmt: skip


def _at(rows: Sparse, n_columns: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The counts of some rows at some columns, int32, 0 where there is none, or the column is -1."""
    keys = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts)) * n_columns + rows.columns
    at = find(row * n_columns + column, keys)
    return np.where((at >= 0) & (column >= 0), np.append(rows.counts, 0)[at], 0)


class SparseProduct(NamedTuple):
    """N_l(w) tf(w, d) as a product of sparse matrices, float64: ``rows`` (n_rows, n_pairs) says which pair a row has,
    ``words`` (n_pairs, n_words) what that has; ``own`` (n_rows, n_words) is left out."""

    rows: Any
    words: Any
    own: Any

    def times(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum of each row, float64 (n_rows,)."""
        return self.rows @ (self.words @ weights) - self.own @ weights

    def turned(self, values: np.ndarray) -> np.ndarray:
        """The sum over rows with their values, by word, float64 (n_words,)."""
        return self.words.T @ (self.rows.T @ values) - self.own.T @ values

    def scaled(self, factors: np.ndarray) -> SparseProduct:
        """With each column times a factor."""
        from scipy.sparse import diags

        return self._replace(words=self.words @ diags(factors), own=self.own @ diags(factors))

    @classmethod
    def joined(cls, parts: Sequence[SparseProduct]) -> SparseProduct:
        """The rows of several parts one after the other."""
        from scipy.sparse import block_diag, vstack

        rows, words, own = zip(*parts, strict=True)
        return cls(block_diag(rows, "csr"), vstack(words, "csr"), vstack(own, "csr"))

    def spread(self) -> np.ndarray:
        """The root of the mean square of each column, float64 (n_words,), 1 where it is 0."""
        squares = self.words.power(2).T @ np.asarray(self.rows.sum(axis=0)).ravel() / max(1, self.rows.shape[0])
        return np.where(squares > 0, np.sqrt(squares), 1.0)


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

    @property
    def n_words(self) -> int:
        return len(self.words)

    def common(self, words: np.ndarray, documents: np.ndarray, tokens: np.ndarray, lemmas: np.ndarray) -> Common:
        """Of rows, each a token of a text (``words`` uint64, ``documents`` int64) with the hash of a lemma."""
        lemma = find(lemmas, self.lemmas)
        rows = np.flatnonzero(lemma >= 0)
        here = np.flatnonzero(np.isin(documents, documents[tokens[rows]]))
        word = np.full(len(words), -1)
        word[here] = find(words[here], self.words)
        known = here[word[here] >= 0]
        kinds, times = np.unique(documents[known] * len(self.words) + word[known], return_counts=True)
        at, column = np.divmod(kinds, max(1, len(self.words)))
        starts = np.searchsorted(at, np.arange(int(documents.max(initial=-1)) + 2))
        texts = Sparse(starts.astype(np.int64), column.astype(np.int32), times.astype(np.int32))
        both = lemma[rows] * len(starts) + documents[tokens[rows]]
        keys, pair = np.unique(both, return_inverse=True)
        pairs = np.column_stack(np.divmod(keys, len(starts)))
        ends, columns, counts, many = self._shared(texts, pairs)
        own = word[tokens[rows]]
        own_counts = _at(Sparse(ends, columns, counts), len(self.words), pair, own)
        return Common(rows, pair, pairs, ends, columns, counts, many, own, own_counts, texts, self)

    def _shared(self, texts: Sparse, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``starts``, ``columns``, ``counts`` and ``times`` of pairs, see ``Common``."""
        own, room = Sparse(self.starts, self.columns, self.counts), np.zeros(len(self.words), np.int32)
        sizes = starts_of(np.diff(texts.starts)[pairs[:, 1]])
        cuts = np.searchsorted(sizes, np.arange(0, sizes[-1], _STEP))
        steps = np.unique([0, *cuts.tolist(), len(pairs)])  # also where no document has a word that is known
        ends, parts = [np.zeros(1, np.int64)], []
        for first, last in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True):
            most, until = int(sizes[last] - sizes[first]), np.zeros(last - first, np.int64)
            found = tuple(np.zeros(most, np.int32) for _ in range(3))
            common_words(own, texts, pairs[first:last], room, until, *found)
            parts.append([each[: until[-1]] for each in found])
            ends.append(until + ends[-1][-1])
        none = np.zeros(0, np.int32)
        columns, counts, times = (np.concatenate([none, *(part[k] for part in parts)]) for k in range(3))
        return np.concatenate(ends), columns, counts, times
