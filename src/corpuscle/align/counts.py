"""What is counted, and where: the text that a learner goes through, its counts, and the tables that they give.

The text comes in chunks of some hundred thousand cells, cut by its lengths alone. The cells of a chunk are found when
it is processed, and then forgotten, to save memory; those of the first chunks are kept, so that small texts lose no
time. A worker in another process gets its chunks with their cells.

From expected counts of links come translation tables, the probability of each word given the word it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.kernels import cooccurrence, em
from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.compiled import frozen
from corpuscle.scale import chunks_of
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus, starts_of

CELLS_A_CHUNK = 200_000
_REMEMBERED = 40
"""How many chunks keep their cells: 32 MB."""


class LinkCounts(NamedTuple):
    """Expected links of a text, by direction.

    - ``couples``: float64 (2, n_couples), those of shared couples; ``nulls``: two float64 arrays by output type;
    - ``singles``: float32 (2, n_singles) (uint8 if they are links, not expectations); ``totals``: two float64 arrays,
      their sums by the type that generates (source types in direction 0).
    """

    couples: np.ndarray
    nulls: tuple[np.ndarray, np.ndarray]
    singles: np.ndarray
    totals: tuple[np.ndarray, np.ndarray]


def no_counts(text: StoredPairs | BitextChunks) -> LinkCounts:
    """Zero for every couple and every null word of a text."""
    (outputs, states), singles = text.sizes, np.zeros((2, text.n_singles), np.float32)
    nulls, totals = (np.zeros(outputs), np.zeros(states)), (np.zeros(states), np.zeros(outputs))
    return LinkCounts(np.zeros((2, len(text.couples.columns))), nulls, singles, totals)


def read_only(pairs: Pairs) -> Pairs:
    """These pairs in arrays of the types that kernels are compiled for; their cells may be written."""
    source, target = frozen(pairs.source, np.int32), frozen(pairs.target, np.int32)
    starts = [frozen(each, np.int64) for each in (pairs.source_starts, pairs.target_starts, pairs.cell_starts)]
    return Pairs(source, starts[0], target, starts[1], starts[2], np.require(pairs.cells, np.int32, ["C", "W"]))


def pairs_of(source: Corpus, target: Corpus, cells: bool = True) -> Pairs:
    """Sentence pairs, with room for their ``cells`` or without."""
    cell_starts = starts_of(source.lengths * target.lengths)
    room = np.empty(cell_starts[-1] if cells else 0, np.int32)
    sides = source.tokens, source.sentence_starts, target.tokens, target.sentence_starts
    return read_only(Pairs(*sides, cell_starts, room))


def part_of(pairs: Pairs, first: int, last: int) -> Pairs:
    """Sentence pairs first..last-1, with their cells."""
    cut = []
    for values, starts in ((0, 1), (2, 3), (5, 4)):
        begin, end = pairs[starts][first], pairs[starts][last]
        cut += [pairs[values][begin:end], frozen(pairs[starts][first : last + 1] - begin, np.int64)]
    source, source_starts, target, target_starts, cells, cell_starts = cut
    return Pairs(source, source_starts, target, target_starts, cell_starts, cells)


@dataclass(frozen=True)
class PairChunk:
    """A chunk for a worker: its cells are found there, or, if the worker is another process, before it gets them."""

    text: StoredPairs | BitextChunks
    number: int

    def pairs(self) -> Pairs:
        return self.text.chunk(self.number)

    def __reduce__(self) -> Any:
        return _Sent, (*self.pairs(),)


class _Sent:
    """A chunk in another process."""

    def __init__(self, *arrays: np.ndarray):
        self._pairs = read_only(Pairs(*arrays))

    def pairs(self) -> Pairs:
        return self._pairs


class StoredPairs:
    """Pairs whose cells are kept.

    - ``couples``: those that have a place in a table, here all of them; ``count``: the number of chunks;
    - ``sizes``: the number of types of the outputs of direction 0 and 1 (so of the states of direction 1 and 0);
    - ``supports``: how many singles have each source type, and each target type, float64; here none are singles.
    """

    n_singles = 0

    def __init__(self, pairs: Pairs, couples: Couples, sizes: tuple[int, int]):
        self.pairs, self.couples, self.sizes = pairs, couples, sizes
        self.bounds = list(pairwise(chunks_of(np.diff(pairs.cell_starts), CELLS_A_CHUNK).tolist()))
        self.count = len(self.bounds)
        self.supports = np.zeros(sizes[1]), np.zeros(sizes[0])

    @property
    def lengths(self) -> np.ndarray:
        return np.column_stack([np.diff(self.pairs.source_starts), np.diff(self.pairs.target_starts)])

    def chunk(self, number: int) -> Pairs:
        """A chunk with its cells."""
        return part_of(self.pairs, *self.bounds[number])


class BitextChunks:
    """The ``chosen`` pairs of a bitext, with what ``StoredPairs`` has, and

    - ``sharing``: the shared couples; those of ``known`` are among them;
    - ``longest``: the length of the longest chosen sentence;
    - ``first_singles``: int64 (count + 1,), the number of the first single of each chunk;
    - ``first_outputs``: two int64 (count + 1,), the first output of each chunk, by direction.
    """

    def __init__(self, bitext: Bitext, chosen: np.ndarray, known: Couples | None = None):
        source, target = bitext.source, bitext.target
        self.bitext, self.chosen, self.sizes = bitext, chosen, (len(target.vocab), len(source.vocab))
        bounds = chunks_of(source.lengths * target.lengths * chosen, CELLS_A_CHUNK)
        self.bounds, self.count = bounds.tolist(), len(bounds) - 1
        pairs = pairs_of(source, target, cells=False)
        self.sharing, singles, alone = cooccurrence.share(pairs, chosen, len(source.vocab), len(target.vocab), known)
        self.couples = self.sharing.couples
        self.supports = alone[0].astype(np.float64), alone[1].astype(np.float64)
        self.first_singles, *firsts = (
            starts_of(np.add.reduceat(np.where(chosen, counts, 0), bounds[:-1]))
            for counts in (singles, target.lengths, source.lengths)
        )
        self.first_outputs, self.n_singles = (firsts[0], firsts[1]), int(self.first_singles[-1])
        if self.n_shared + self.n_singles > np.iinfo(np.int32).max:
            raise MemoryError("more than two thousand million different pairs of words")
        self.longest = int(self.lengths.max(initial=0))
        self._remembered: dict[int, Pairs] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_remembered": {}}

    @property
    def lengths(self) -> np.ndarray:
        return np.column_stack([self.bitext.source.lengths, self.bitext.target.lengths])[self.chosen]

    @property
    def n_shared(self) -> int:
        return len(self.couples.columns)

    def plain(self, number: int) -> Pairs:
        """A chunk without its cells."""
        first, last = self.bounds[number], self.bounds[number + 1]
        part, chosen = self.bitext[first:last], self.chosen[first:last]
        part = part if chosen.all() else part.select(chosen)
        return pairs_of(part.source, part.target, cells=False)

    def chunk(self, number: int) -> Pairs:
        """A chunk with its cells, which are shared and must not be changed."""
        if number in self._remembered:
            return self._remembered[number]
        pairs = self.plain(number)
        pairs = pairs._replace(cells=np.empty(int(pairs.cell_starts[-1]), np.int32))
        cooccurrence.find(pairs, self.sharing, int(self.first_singles[number]))
        if number < _REMEMBERED:
            self._remembered[number] = pairs
        return pairs


UNSEEN = 1e-9
"""The probability of a couple that was never seen together."""

_COUPLES_A_CALL = 4_000_000


def rows_of(couples: Couples) -> np.ndarray:
    """The source type of every couple, int64 (n_couples,)."""
    return np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))


def sorted_couples(rows: np.ndarray, columns: np.ndarray, n_rows: int) -> tuple[Couples, np.ndarray]:
    """A table of couples whose rows rise, and the order in which these couples stand in it."""
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
    """What the entries of every generating type are divided by, float64 (see ``em.references_of``).

    ``singles``: sums of counts and numbers of couples that are not in the table, by generating type.
    """
    n_states = max(len(couples.row_starts) - 1, int(couples.columns.max(initial=0)) + 1)
    totals, supports = np.zeros((2, n_states)) if singles is None else map(np.copy, singles)
    em.references_of(couples, frozen(counts, np.float64), direction == 1, *estimation, totals, supports)
    return totals


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
        em.normalise(couples, counts, swap, *estimation, references, first, last, table)
    # The null word is the one row of a table of its own.
    null, null_counts = np.empty(len(null_counts), np.float32), frozen(null_counts, np.float64)
    row = Couples(frozen(np.array([0, len(null)]), np.int64), frozen(np.zeros(len(null)), np.int32))
    reference = references_from(row, null_counts, 0, estimation)
    em.normalise(row, null_counts, False, *estimation, reference, 0, 1, null)
    return TranslationTables(table, null)
