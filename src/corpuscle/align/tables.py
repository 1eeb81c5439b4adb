"""Translation tables: from expected counts of links to the probability of each word given the word it comes from."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.align.kernels import translation
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.compiled import frozen
from corpuscle.scale import chunks_of
from corpuscle.text.corpus import starts_of

__all__ = [
    "Estimation",
    "Posteriors",
    "TranslationTables",
    "finished_tables",
    "references_from",
    "rows_of",
    "sorted_couples",
    "tables_from",
]

UNSEEN = 1e-9
"""The probability of a couple that was never seen together."""

_COUPLES_A_CALL = 4_000_000


def rows_of(couples: Couples) -> np.ndarray:
    """The source type of every couple, int64 (n_couples,)."""
    return np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))


def sorted_couples(rows: np.ndarray, columns: np.ndarray, n_rows: int) -> tuple[Couples, np.ndarray]:
    """A table of couples whose rows rise, and the order that makes it out of the given ones."""
    order = np.lexsort((columns, rows))
    row_starts = starts_of(np.bincount(rows, minlength=n_rows))
    return Couples(frozen(row_starts, np.int64), frozen(columns[order], np.int32)), order


class Estimation(NamedTuple):
    """How counts become probabilities: by variational Bayes (``bayes``) with a Dirichlet prior of concentration
    ``alpha`` for each row, or by maximum likelihood."""

    alpha: float
    bayes: bool


class TranslationTables(NamedTuple):
    """Probabilities of one direction: ``couples`` float32 (n_couples + 1,), the last for couples that are not in the
    table; ``null`` float32 (output types,), what the null word generates."""

    couples: np.ndarray
    null: np.ndarray


class Posteriors(NamedTuple):
    """Link probabilities of one direction in some sentence pairs: ``links`` float32 (n_cells,) in the order of cells,
    ``nulls`` float32 (n_outputs,), ``likelihood``: the log-likelihood of the outputs, nan where it is not known;
    ``moments``: what a law of positions learns from."""

    links: np.ndarray
    nulls: np.ndarray
    likelihood: float
    moments: np.ndarray | None = None


def references_from(
    couples: Couples,
    counts: np.ndarray,
    direction: int,
    estimation: Estimation,
    singles: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """What the entries of every generating type are divided by, float64 (see ``translation.references_of``).

    ``singles``: sums of counts and numbers of couples that are not in the table, by generating type.
    """
    n_states = max(len(couples.row_starts) - 1, int(couples.columns.max(initial=0)) + 1)
    totals, supports = np.zeros((2, n_states)) if singles is None else map(np.copy, singles)
    translation.totals_of(couples, frozen(counts, np.float64), direction == 1, totals, supports)
    references = np.empty(len(totals))
    translation.references_of(totals, supports, *estimation, references)
    return references


def tables_from(
    couples: Couples,
    counts: np.ndarray,
    null_counts: np.ndarray,
    direction: int,
    estimation: Estimation,
    references: np.ndarray | None = None,
) -> TranslationTables:
    """Probabilities from the expected counts of one direction; the entry beyond the last couple is zero."""
    swap, counts = direction == 1, frozen(counts, np.float64)
    if references is None:
        references = references_from(couples, counts, direction, estimation)
    table = np.zeros(len(counts) + 1, np.float32)
    for first, last in pairwise(chunks_of(np.diff(couples.row_starts), _COUPLES_A_CALL).tolist()):
        translation.normalise(couples, counts, swap, *estimation, references, first, last, table)
    null = np.empty(len(null_counts), np.float32)
    translation.normalise_one(frozen(null_counts, np.float64), *estimation, float(len(null_counts)), null)
    return TranslationTables(table, null)


def finished_tables(
    couples: Couples, counts: np.ndarray, null_counts: tuple[np.ndarray, np.ndarray], estimation: Estimation
) -> tuple[TranslationTables, TranslationTables]:
    """The probabilities of both directions of a learned model, with a floor for couples that were never seen.

    ``counts``: float32 (2, n_couples), by direction.
    """
    found = []
    for direction in (0, 1):
        table = tables_from(couples, counts[direction], null_counts[direction], direction, estimation)
        floored = (frozen(np.maximum(each, UNSEEN, dtype=np.float32), np.float32) for each in table)
        found.append(TranslationTables(*floored))
    return found[0], found[1]
