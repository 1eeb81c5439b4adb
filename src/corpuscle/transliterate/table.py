"""The phrase table: which target phrases stand for which source phrases, how often, and how well their letters agree.

The four features of an entry, in the order of the Moses text form, all natural logs: phi(f|e), lex(f|e), phi(e|f),
lex(e|f), where f is the source and e the target phrase. phi are relative frequencies; lex multiplies, along the links
inside the phrase, the relative frequencies of linked letters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.transliterate.kernels.phrases import (
    LONGEST,
    LetterWeights,
    Linked,
    Occurrences,
    Trie,
    blocks,
    extract,
    intern,
    lexical,
    linked,
    phrase_blocks,
    trie,
)
from corpuscle.transliterate.kernels.stacks import Options

__all__ = ["BETWEEN", "FEATURES", "FLOOR", "Learned", "PhraseTable", "build_table", "letter_weights"]

FEATURES = ("phi(f|e)", "lex(f|e)", "phi(e|f)", "lex(e|f)")
BETWEEN = "\u2502"
"""Stands between the source and the target letters in the name of a piece."""

FLOOR = 1e-12
"""Lexical weights are not smaller than this."""


def letter_weights(bitext: Bitext, alignments: Alignments, weights: np.ndarray) -> LetterWeights:
    """Relative frequencies of linked letters; a letter without links is linked to nothing. ``weights`` are by pair."""
    source, target = bitext.source, bitext.target
    n_targets = len(target.vocab)
    pairs = alignments.pairs
    left = source.sentence_starts[pairs] + alignments.links[:, 0]
    right = target.sentence_starts[pairs] + alignments.links[:, 1]
    alone_left = np.ones(len(source.tokens), bool)
    alone_right = np.ones(len(target.tokens), bool)
    alone_left[left], alone_right[right] = False, False
    by_letter = [np.repeat(weights, corpus.lengths) for corpus in (source, target)]
    f = np.concatenate([source.tokens[left], source.tokens[alone_left], np.zeros(alone_right.sum(), np.int32)])
    e = np.concatenate([target.tokens[right], np.zeros(alone_left.sum(), np.int32), target.tokens[alone_right]])
    counts = np.concatenate([weights[pairs], by_letter[0][alone_left], by_letter[1][alone_right]])
    keys, inverse = np.unique(f.astype(np.int64) * n_targets + e, return_inverse=True)
    joint = np.bincount(inverse, counts, len(keys))
    f, e = keys // n_targets, keys % n_targets
    forward = joint / np.bincount(f, joint)[f]
    backward = joint / np.bincount(e, joint)[e]
    return LetterWeights(keys, forward, backward, n_targets)


@dataclass(eq=False)
class PhraseTable:
    """All phrase pairs of the training names.

    - ``trie``: the source phrases; ``first_entry``: int64 (nodes + 1,), the entries of each node, frequent first;
    - ``target_starts``: int64 (entries + 1,), ``targets``: int32, the target phrases;
    - ``counts``: float64 (entries,); ``lexical``: float32 (entries, 2), lex(f|e) and lex(e|f);
    - ``links``: uint64 (entries,), the inner links as bits, see ``kernels.phrases.Occurrences``;
    - ``piece_starts``: int64 (entries + 1,), ``pieces``: int32, each entry cut into its smallest pieces.
    """

    trie: Trie
    first_entry: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    counts: np.ndarray
    lexical: np.ndarray
    links: np.ndarray
    piece_starts: np.ndarray
    pieces: np.ndarray

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.counts)

    @cached_property
    def nodes(self) -> np.ndarray:
        """The node of each entry, int64."""
        return np.repeat(np.arange(len(self.first_entry) - 1), np.diff(self.first_entry))

    @cached_property
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """How often the source and the target phrase of each entry occur in all entries, float64 (entries,) each."""
        ids, _ = intern(self.targets, self.target_starts[:-1], np.diff(self.target_starts))
        return np.bincount(self.nodes, self.counts)[self.nodes], np.bincount(ids, self.counts)[ids]

    @cached_property
    def features(self) -> np.ndarray:
        """The four features of each entry, float64 (entries, 4)."""
        of_source, of_target = self.totals
        lex = np.maximum(self.lexical.astype(np.float64), FLOOR)
        return np.log(np.column_stack([self.counts / of_target, lex[:, 0], self.counts / of_source, lex[:, 1]]))

    def options(self, weights: np.ndarray, limit: int) -> tuple[Options, np.ndarray]:
        """The ``limit`` best entries of each source phrase under some weights, laid out for the decoder; and which
        entries they are."""
        scores = self.features @ weights
        order = np.lexsort((np.arange(len(scores)), -scores, self.nodes))
        rank = np.arange(len(scores)) - self.first_entry[self.nodes]
        kept = order[rank < limit]
        first_option = starts_of(np.minimum(np.diff(self.first_entry), limit))
        starts, where = gathered(self.target_starts, kept)
        piece_starts, piece_where = gathered(self.piece_starts, kept)
        options = Options(
            *self.trie,
            frozen(first_option, np.int64),
            frozen(scores[kept], np.float64),
            frozen(starts, np.int64),
            frozen(self.targets[where], np.int32),
            frozen(piece_starts, np.int64),
            frozen(self.pieces[piece_where], np.int32),
        )
        return options, kept

    def without_pieces(self) -> PhraseTable:
        """The table without its pieces, where no model needs them."""
        nothing = frozen(np.empty(0), np.int32)
        return dataclasses.replace(self, piece_starts=frozen(np.zeros(len(self) + 1), np.int64), pieces=nothing)

    def source_phrases(self) -> list[tuple[int, ...]]:
        """The symbols of every node's phrase."""
        phrases: list[tuple[int, ...]] = [()] * len(self.trie.symbols)
        symbols, first_child = self.trie.symbols.tolist(), self.trie.first_child.tolist()
        for node in range(self.trie.roots):
            phrases[node] = (symbols[node],)
        for node in range(len(symbols)):
            for child in range(first_child[node], first_child[node + 1]):
                phrases[child] = (*phrases[node], symbols[child])
        return phrases

    def lines(self, source: Vocab, target: Vocab) -> Iterator[str]:
        """The table in the Moses text form: phrases, four probabilities, links, and the counts of e, f and both."""
        phrases, entries = self.source_phrases(), self.target_starts.tolist()
        of_source, of_target = self.totals
        probabilities = np.exp(self.features)
        for entry, node in enumerate(self.nodes.tolist()):
            f = phrases[node]
            e = self.targets[entries[entry] : entries[entry + 1]].tolist()
            bits = int(self.links[entry])
            links = [f"{i}-{j}" for i in range(len(f)) for j in range(len(e)) if bits >> (LONGEST * i + j) & 1]
            fields = (
                " ".join(source.decode(f)),
                " ".join(target.decode(e)),
                " ".join(f"{value:.6g}" for value in probabilities[entry]),
                " ".join(links),
                f"{of_target[entry]:.6g} {of_source[entry]:.6g} {self.counts[entry]:.6g}",
            )
            yield " ||| ".join(fields)


def _best_links(key: np.ndarray, count: np.ndarray, lex: np.ndarray) -> np.ndarray:
    """Of the rows with the same key, the one with the largest count, then the largest lex(e|f)."""
    order = np.lexsort((-lex[:, 1], -count, key))
    return order[np.flatnonzero(np.diff(key[order], prepend=-1))]


def gathered(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a CSR array: their new starts, and the indices of their items."""
    new = starts_of(np.diff(starts)[rows])
    return new, np.repeat(starts[rows] - new[:-1], np.diff(new)) + np.arange(new[-1])


class Learned(NamedTuple):
    """What a pass over aligned names gives: the phrase table, the names as sequences of smallest pieces, and the source
    letters of every piece in the vocabulary of that corpus (CSR: int64 starts, int32 letters)."""

    table: PhraseTable
    pieces: Corpus
    piece_starts: np.ndarray
    piece_letters: np.ndarray


def build_table(bitext: Bitext, alignments: Alignments, weights: np.ndarray, longest: int) -> Learned:
    """Extract, count and weigh all phrase pairs of at most ``longest`` letters; ``weights`` are float64 by pair."""
    source, target = bitext.source, bitext.target
    names = linked(alignments.links, alignments.starts, source.sentence_starts, target.sentence_starts)
    found = extract(names, longest)
    source_ids, source_firsts = intern(source.tokens, found.source, found.source_length)
    target_ids, target_firsts = intern(target.tokens, found.target, found.target_length)
    # The same phrase pair with the same inner links is one row; of these rows one is chosen for each phrase pair.
    key = source_ids * len(target_firsts) + target_ids
    order = np.lexsort((found.links, key))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (np.diff(key[order]) != 0) | (found.links[order][1:] != found.links[order][:-1])
    begins = np.flatnonzero(fresh)
    rows = Occurrences(*(column[order[begins]] for column in found))
    row_key = key[order[begins]]
    row_count = np.add.reduceat(weights[found.pair][order], begins) if len(begins) else np.empty(0)
    lex = lexical(source.tokens, target.tokens, rows, letter_weights(bitext, alignments, weights))
    chosen = _best_links(row_key, row_count, lex)
    count = np.bincount(np.unique(row_key, return_inverse=True)[1], row_count)
    nodes, node_of = _source_trie(source.tokens, found, source_firsts, longest)
    node = node_of[row_key[chosen] // len(target_firsts)]
    order = np.lexsort((np.arange(len(chosen)), -count, node))
    picked = Occurrences(*(column[chosen[order]] for column in rows))
    pieces, entry_pieces, entry_starts, letters = _pieces(bitext, names, picked)
    starts = starts_of(picked.target_length)
    where = np.repeat(picked.target - starts[:-1], np.diff(starts)) + np.arange(starts[-1])
    table = PhraseTable(
        nodes,
        frozen(starts_of(np.bincount(node, minlength=len(nodes.symbols))), np.int64),
        frozen(starts, np.int64),
        frozen(target.tokens[where], np.int32),
        frozen(count[order], np.float64),
        frozen(lex[chosen[order]], np.float32),
        frozen(picked.links, np.uint64),
        frozen(entry_starts, np.int64),
        frozen(entry_pieces, np.int32),
    )
    return Learned(table, pieces, *letters)


def _source_trie(tokens: np.ndarray, found: Occurrences, firsts: np.ndarray, longest: int) -> tuple[Trie, np.ndarray]:
    lengths = found.source_length[firsts].astype(np.int64)
    phrases = np.full((len(firsts), longest), -1, np.int32)
    for i in range(longest):
        inside = lengths > i
        phrases[inside, i] = tokens[found.source[firsts[inside]] + i]
    return trie(phrases, lengths)


def _pieces(
    bitext: Bitext, names: Linked, entries: Occurrences
) -> tuple[Corpus, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """All names as sequences of smallest pieces, a Corpus; the entries of the table in the same pieces (CSR); and the
    source letters of the pieces (CSR)."""
    source, target = bitext.source, bitext.target
    of_names, starts = blocks(names)
    of_entries, entry_starts = phrase_blocks(entries)
    pieces = np.concatenate([of_names, of_entries])
    left, _ = intern(source.tokens, pieces[:, 0], pieces[:, 1])
    right, right_firsts = intern(target.tokens, pieces[:, 2], pieces[:, 3])
    _, first, inverse = np.unique(left * len(right_firsts) + right, return_index=True, return_inverse=True)
    words: list[str] = []
    letters: list[np.ndarray] = [source.tokens[:0]] * FIRST
    for a, n, b, m in pieces[first].tolist():
        f, e = source.vocab.decode(source.tokens[a : a + n]), target.vocab.decode(target.tokens[b : b + m])
        words.append("".join(f) + BETWEEN + "".join(e))
        letters.append(source.tokens[a : a + n])
    ids = (FIRST + inverse).astype(np.int32)
    vocab = Vocab.from_words(words, np.bincount(inverse[: len(of_names)], minlength=len(words)))
    sources = (starts_of(map(len, letters)), np.concatenate(letters))
    return Corpus(ids[: len(of_names)], starts, vocab), ids[len(of_names) :], entry_starts, sources
