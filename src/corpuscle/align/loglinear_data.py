"""Sentence pairs as the kernels of the log-linear model want them: one direction, all features of all couples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.align.chunks import pairs_of
from corpuscle.align.features import COPY_LETTERS, Facts, Layout, Side, by_role, couple_features, log_bins, same_types
from corpuscle.align.features_user import UserFeatures
from corpuscle.align.kernels.cooccurrence import Couples, couples_of, locate
from corpuscle.align.kernels.loglinear import (
    CELLS,
    OUTPUTS,
    SCORES,
    STATES,
    Direction,
    Neighbours,
    Shape,
    Text,
    workspace,
)
from corpuscle.align.kernels.loglinear_links import couple_scores
from corpuscle.align.tables import rows_of, sorted_couples
from corpuscle.compiled import frozen
from corpuscle.engine.optim.online import reader_of
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST

__all__ = ["NO_GUIDE", "DirectionFeatures", "Encoded", "bigrams_of", "encode", "transposition", "words_of_pairs"]

NO_GUIDE = frozen(np.zeros(0), np.float32)
"""Of a direction that learns alone."""


class Encoded(NamedTuple):
    """One direction of some sentence pairs as kernels want it: the text, and the features of its couples."""

    text: Text
    neighbours: Neighbours

    def read_with(self, shape: Shape, weights: np.ndarray) -> Direction:
        """All that kernels need to align with some weights; nothing is learned."""
        work = workspace(*self, shape)
        couple_scores(self.neighbours, frozen(weights, np.float64), work.couples[SCORES])
        return Direction(*self, shape, reader_of(np.array(weights)), work)


class DirectionFeatures(NamedTuple):
    """The features of one direction: their numbers, what the training text says about couples, the bigrams of states
    that have a feature (in the model's ids), and features of the user's own."""

    layout: Layout
    facts: Facts
    bigrams: Couples
    user: UserFeatures


def transposition(starts: np.ndarray) -> np.ndarray:
    """For each cell of a text with these ``starts``, state by state, its place output by output, int64 (n_cells,)."""
    m, n = np.diff(starts[STATES]), np.diff(starts[OUTPUTS])
    pair = np.repeat(np.arange(len(m)), m * n)
    inside = np.arange(len(pair)) - starts[CELLS][pair]
    i, j = inside // n[pair], inside % n[pair]
    return starts[CELLS][pair] + j * m[pair] + i


def bigrams_of(corpus: Corpus) -> Couples:
    """All types that share a sentence, either order, as a table whose rows rise."""
    pairs = pairs_of(corpus, corpus)
    found = couples_of(pairs, len(corpus.vocab), len(corpus.vocab))
    return sorted_couples(rows_of(found), found.columns, len(corpus.vocab))[0]


def words_of_pairs(states: Corpus, outputs: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The neighbourhood for prediction: every word with every word of its sentence pair, the null word with all.

    Returns state types (``len(states.vocab)`` for the null word) and output types.
    """
    pairs = pairs_of(states, outputs)
    found = couples_of(pairs, len(states.vocab), len(outputs.vocab))
    all_outputs = np.unique(outputs.tokens)
    return (
        np.append(rows_of(found), np.full(len(all_outputs), len(states.vocab))).astype(np.int32),
        np.append(found.columns, all_outputs).astype(np.int32),
    )


def _copies(states: Side, outputs: Side, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The couple of each state type that is a copy, -1 where there is none."""
    n = len(states.vocab)
    same = np.append(same_types(states.vocab, outputs.vocab), -1)
    long = np.append(np.diff(states.letters[1]) >= COPY_LETTERS, False)
    found = np.flatnonzero((same[rows] == columns) & (columns >= FIRST) & long[rows])
    result = np.full(n + 1, -1, np.int32)
    result[rows[found]] = found
    return result


def _with_user(
    features: tuple[np.ndarray, np.ndarray, np.ndarray], more: tuple[np.ndarray, np.ndarray, np.ndarray], start: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features of couples and those of the user, couple by couple."""
    starts, numbers, values = features
    couples, names, their_values = more
    both = np.concatenate([np.repeat(np.arange(len(starts) - 1), np.diff(starts)), couples])
    order = np.argsort(both, kind="stable")
    new_starts = starts.copy()
    new_starts[1:] += np.cumsum(np.bincount(couples, minlength=len(starts) - 1))
    numbers = np.concatenate([numbers, names + np.int32(start)])[order]
    return new_starts, numbers, np.concatenate([values, their_values])[order]


def encode(
    bitext: Bitext,
    sides: tuple[Side, Side],
    direction: int,
    rows: np.ndarray,
    columns: np.ndarray,
    features: DirectionFeatures,
) -> Encoded:
    """One direction of some sentence pairs, with a neighbourhood of state types ``rows`` and output types ``columns``.

    ``sides``: what the model knows about source and target types.
    """
    layout, facts, bigrams, user = features
    states, outputs = by_role((bitext.source, bitext.target), direction)
    sides = by_role(sides, direction)
    table, order = sorted_couples(rows, columns, len(states.vocab) + 1)
    rows, columns = rows[order], columns[order]
    pairs = pairs_of(states, outputs)
    locate(pairs, table)
    n_couples = len(rows)
    null_cells = np.full(len(outputs.vocab), n_couples, np.int32)
    null_row = slice(*table.row_starts[-2:])
    null_cells[columns[null_row]] = np.arange(n_couples, dtype=np.int32)[null_row]
    copies = np.full(len(states.vocab) + 1, -1, np.int32)
    if "cycle" in layout.families:
        copies = _copies(*sides, rows, columns)
    found = couple_features(layout, facts, *sides, rows, columns)
    if layout.user:
        more = user.of(states.vocab, outputs.vocab, rows, columns, facts.swap, False)
        found = _with_user(found, more, layout.start("user"))
    bigram_cells, bigram_starts = np.zeros(0, np.int32), np.zeros_like(pairs.cell_starts)
    if "bigram" in layout.families:
        known = Corpus(sides[0].known[states.tokens].astype(np.int32), states.sentence_starts, states.vocab)
        both = pairs_of(known, known)
        locate(both, bigrams)
        both.cells[both.cells == len(bigrams.columns)] = -1
        bigram_cells, bigram_starts = both.cells, both.cell_starts
    longest = max(int(side.lengths.max(initial=0)) for side in (states, outputs))
    starts = np.stack([pairs.source_starts, pairs.target_starts, pairs.cell_starts, bigram_starts])
    cells = frozen(pairs.cells, np.int32), frozen(bigram_cells, np.int32), frozen(starts, np.int64)
    types = frozen(np.stack([sides[0].classes, sides[0].known]), np.int32)
    text = Text(pairs.source, pairs.target, *cells, types, log_bins(longest + 2), NO_GUIDE, NO_GUIDE)
    features_of_couples = (frozen(*each) for each in zip(found, (np.int64, np.int32, np.float64), strict=True))
    neighbours = Neighbours(
        table.row_starts, frozen(null_cells, np.int32), frozen(copies, np.int32), *features_of_couples
    )
    return Encoded(text, neighbours)
