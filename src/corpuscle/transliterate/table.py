"""Names cut into small pieces of both sides, and the phrase table with its entries in the same pieces."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from corpuscle.align import PhraseTable, build_table
from corpuscle.compiled import frozen
from corpuscle.engine.phrases.extraction import Linked, Occurrences, intern, linked
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.transliterate.kernels.pieces import blocks, phrase_blocks

__all__ = ["BETWEEN", "Learned", "learn_table"]

BETWEEN = "\u2502"
"""Stands between the source and the target letters in the name of a piece."""


class Learned(NamedTuple):
    """What a pass over aligned names gives: the phrase table, the names as sequences of smallest pieces, and the source
    letters of every piece in the vocabulary of that corpus (CSR: int64 starts, int32 letters)."""

    table: PhraseTable
    pieces: Corpus
    piece_starts: np.ndarray
    piece_letters: np.ndarray


def learn_table(bitext: Bitext, alignments: Alignments, weights: np.ndarray, longest: int) -> Learned:
    """The table of all phrase pairs of at most ``longest`` letters, and pieces; ``weights`` are float64 by pair."""
    table, entries = build_table(bitext, alignments, weights, longest)
    sides = bitext.source.sentence_starts, bitext.target.sentence_starts
    names = linked(alignments.links, alignments.starts, *sides)
    pieces, entry_pieces, entry_starts, letters = _pieces(bitext, names, entries)
    starts, pieces_of = frozen(entry_starts, np.int64), frozen(entry_pieces, np.int32)
    return Learned(dataclasses.replace(table, piece_starts=starts, pieces=pieces_of), pieces, *letters)


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
