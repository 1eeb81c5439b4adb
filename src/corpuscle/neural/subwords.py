"""Words cut into pieces that a network can write: frequent words whole, rare ones spelled (byte pair encoding).

Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", 2016. The last piece of a
word ends in a space, which no word contains: pieces written one after the other are the sentence again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.hashtable import EMPTY, grown, new_index
from corpuscle.model import Array
from corpuscle.neural.kernels.merges import GONE, Places, count_pairs, cut, join, most_frequent, room_for
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

LONGEST = 100
"""A longer word is cut into stretches of this length: the time that a word takes grows with its square."""

MERGES = {"merges": Array("int32", ("merges", 3), low=FIRST, high="types+3")}
"""The array of a model file, besides those of the vocabulary."""


class Pieces(NamedTuple):
    """A text in pieces: ``symbols`` int32, one sentence after the other; ``words`` int32, which word of its sentence
    each belongs to; ``starts`` int64 (n + 1,), where sentences begin."""

    symbols: np.ndarray
    words: np.ndarray
    starts: np.ndarray

    def words_of(self, sentence: int) -> np.ndarray:
        """Which word each piece of a sentence belongs to."""
        return self.words[self.starts[sentence] : self.starts[sentence + 1]]

    def split(self) -> list[np.ndarray]:
        return [self.symbols[a:b] for a, b in pairwise(self.starts.tolist())]


class Subwords:
    """Pieces. ``vocab``: letters and what merges have made; ``merges`` int32 (m, 3): which symbols are joined, and to
    which, in order."""

    def __init__(self, vocab: Vocab, merges: np.ndarray):
        self.vocab, self.merges = vocab, frozen(merges, np.int32)
        self.index = grown(new_index(-(-len(merges) // 4)), self.merges, 0, len(merges))

    def __repr__(self) -> str:
        return f"<Subwords: {len(self.vocab) - FIRST:,} pieces by {len(self.merges):,} merges>"

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> Subwords:
        """From words and how often they were seen. Every letter is known inside of words and at their end.

        >>> pieces = Subwords.learn({"low": 5, "lower": 2, "newest": 6}, 4)
        >>> [pieces.vocab.decode(word) for word in pieces.encode(["lowest"])]
        [['lo', 'we', 's', 't ']]
        """
        letters = sorted({letter for word in counts for letter in word})
        vocab = Vocab.from_words([*letters, *(f"{letter} " for letter in letters)])
        spelled, starts, parts = _spelled(list(counts), vocab)
        weights = np.repeat(np.fromiter(counts.values(), np.int64, len(counts)), parts)
        lengths = np.diff(starts)
        numbers = np.arange(len(spelled), dtype=np.int32)
        before, after = numbers - 1, numbers + 1
        before[starts[:-1][lengths > 0]] = -1
        after[starts[1:][lengths > 0] - 1] = -1
        places = Places(spelled, before, after, np.repeat(weights, lengths))
        pairs, ids, found = room_for(len(spelled)), dict(vocab.ids), list[tuple[int, int, int]]()
        strings = vocab.strings[:]
        count_pairs(places, pairs)
        while len(found) < merges and (item := most_frequent(pairs)) != EMPTY:
            left, right = pairs.keys[item].tolist()
            made = strings[left] + strings[right]
            symbol = ids.setdefault(made, len(strings))
            if symbol == len(strings):
                strings.append(made)
            found.append((left, right, symbol))
            join(places, pairs, item, symbol)
        return cls(Vocab.from_words(strings[FIRST:]), np.array(found, np.int32).reshape(-1, 3))

    def check(self) -> None:
        """``ValueError`` unless every merge makes what its two symbols are together."""
        strings = self.vocab.strings
        if any(strings[left] + strings[right] != strings[made] for left, right, made in self.merges.tolist()):
            raise ValueError("its merges do not make its pieces")

    def encode(self, words: Sequence[str]) -> list[np.ndarray]:
        """The pieces of each word, int32; UNKNOWN for letters that were never seen."""
        symbols, starts = self._cut(words)
        return [symbols[a:b] for a, b in pairwise(starts.tolist())]

    def _cut(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of all words, and where those of each begin."""
        symbols, starts, parts = _spelled(words, self.vocab)
        cut(symbols, starts, self.index, self.merges)
        there = symbols != GONE
        return symbols[there], starts_of(there)[starts][starts_of(parts)]

    def pieces(self, corpus: Corpus) -> Pieces:
        used, types = np.unique(corpus.tokens, return_inverse=True)
        pieces, starts = self._cut(corpus.vocab.decode(used))
        places, _ = items_of(starts, types)
        lengths = np.diff(starts)[types]
        ends = starts_of(lengths)[corpus.sentence_starts]
        word = np.arange(len(corpus.tokens)) - np.repeat(corpus.sentence_starts[:-1], corpus.lengths)
        return Pieces(pieces[places], np.repeat(word, lengths).astype(np.int32), ends)

    def join(self, symbols: np.ndarray) -> str:
        """The sentence that some pieces are."""
        return " ".join("".join(self.vocab.decode(symbols)).split(" ")).strip()


def _spelled(words: Sequence[str], vocab: Vocab) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The letters of words, int32, the last one of each with its space; where stretches of them begin; and how many
    stretches each word has."""
    ids = vocab.ids
    rows = [[*(ids.get(letter, UNKNOWN) for letter in word[:-1]), ids.get(f"{word[-1:]} ", UNKNOWN)] for word in words]
    lengths = np.array([len(row) for row in rows], np.int64)
    parts = -(-lengths // LONGEST)
    sizes = np.full(int(parts.sum()), LONGEST)
    sizes[np.cumsum(parts) - 1] = lengths - LONGEST * (parts - 1)
    return np.array([symbol for row in rows for symbol in row], np.int32), starts_of(sizes), parts
