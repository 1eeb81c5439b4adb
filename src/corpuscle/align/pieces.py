"""The text that a learner walks through, piece by piece: cells are found when a piece is worked on, and forgotten.

A piece has some hundred thousand cells. Where the text is cut depends on nothing but its lengths. The first pieces
are remembered after all, as many as do not take much memory: so small texts do not pay for what large ones save.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corpuscle.align.kernels import sharing as engine
from corpuscle.align.kernels.cooccurrence import Couples, Pairs
from corpuscle.compiled import frozen
from corpuscle.scale import chunks_of
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import starts_of

__all__ = ["CELLS_A_PIECE", "Filled", "Text", "Walk"]

CELLS_A_PIECE = 200_000
_REMEMBERED = 40
"""How many pieces keep their cells: 32 MB."""


class Filled:
    """Pairs whose cells are kept.

    - ``pieces``: how many there are; ``lengths``: int64 (n_pairs, 2), source and target;
    - ``supports``: how many singles have each source type, and each target type, float64; None: there are no singles.
    """

    supports: tuple[np.ndarray, np.ndarray] | None = None

    def __init__(self, pairs: Pairs):
        self.pairs = pairs
        self.bounds = list(pairwise(chunks_of(np.diff(pairs.cell_starts), CELLS_A_PIECE).tolist()))
        self.pieces = len(self.bounds)

    @property
    def lengths(self) -> np.ndarray:
        """Source and target lengths."""
        return np.column_stack([np.diff(self.pairs.source_starts), np.diff(self.pairs.target_starts)])

    def piece(self, number: int) -> Pairs:
        """A piece with its cells."""
        first, last = self.bounds[number]
        source, source_starts, target, target_starts, cell_starts, cells = self.pairs
        own = slice(first, last + 1)
        begin, end = cell_starts[first], cell_starts[last]
        starts = frozen(cell_starts[own] - begin, np.int64)
        return Pairs(source, source_starts[own], target, target_starts[own], starts, cells[begin:end])


class Text:
    """A bitext, of which the ``chosen`` pairs are walked through, with what ``Filled`` has, and

    - ``sizes``: the number of types of the outputs of direction 0 and 1 (so of the states of direction 1 and 0);
    - ``sharing``: the shared couples; those of ``known`` are among them;
    - ``longest``: the length of the longest chosen sentence;
    - ``first_singles``: int64 (pieces + 1,), the number of the first single of each piece;
    - ``first_outputs``: two int64 (pieces + 1,), the first output of each piece, by direction.
    """

    def __init__(self, bitext: Bitext, chosen: np.ndarray, known: Couples | None = None):
        source, target = bitext.source, bitext.target
        self.bitext, self.chosen, self.sizes = bitext, chosen, (len(target.vocab), len(source.vocab))
        bounds = chunks_of(source.lengths * target.lengths * chosen, CELLS_A_PIECE)
        self.bounds, self.pieces = bounds.tolist(), len(bounds) - 1
        pairs = self._pairs(bitext)
        self.sharing, singles, lone = engine.share(pairs, chosen, len(source.vocab), len(target.vocab), known)
        self.supports: tuple[np.ndarray, np.ndarray] | None = lone[0].astype(np.float64), lone[1].astype(np.float64)
        self.first_singles, *firsts = (
            starts_of(np.add.reduceat(np.where(chosen, counts, 0), bounds[:-1]))
            for counts in (singles, target.lengths, source.lengths)
        )
        self.first_outputs = firsts[0], firsts[1]
        if self.n_shared + int(self.first_singles[-1]) > np.iinfo(np.int32).max:
            raise MemoryError("more than two thousand million different pairs of words")
        self.longest = int(self.lengths.max(initial=0))
        self._remembered: dict[int, Pairs] = {}

    @property
    def lengths(self) -> np.ndarray:
        """Source and target lengths of the chosen pairs."""
        return np.column_stack([self.bitext.source.lengths, self.bitext.target.lengths])[self.chosen]

    @property
    def n_shared(self) -> int:
        """How many couples are shared."""
        return len(self.sharing.couples.columns)

    @staticmethod
    def _pairs(bitext: Bitext) -> Pairs:
        sides = bitext.source, bitext.target
        tokens = [frozen(side.tokens, np.int32) for side in sides]
        starts = [frozen(side.sentence_starts, np.int64) for side in sides]
        nothing = np.empty(0, np.int32)
        return Pairs(tokens[0], starts[0], tokens[1], starts[1], frozen(starts_of([]), np.int64), nothing)

    def plain(self, number: int) -> Pairs:
        """A piece without its cells."""
        first, last = self.bounds[number], self.bounds[number + 1]
        piece, chosen = self.bitext[first:last], self.chosen[first:last]
        if not chosen.all():
            piece = piece.select(chosen)
        return self._pairs(piece)._replace(
            cell_starts=frozen(starts_of(piece.source.lengths * piece.target.lengths), np.int64)
        )

    def piece(self, number: int) -> Pairs:
        """A piece with its cells; they are not to be changed."""
        if number in self._remembered:
            return self._remembered[number]
        pairs = self.plain(number)
        pairs = pairs._replace(cells=np.empty(int(pairs.cell_starts[-1]), np.int32))
        engine.find(pairs, self.sharing, int(self.first_singles[number]))
        if number < _REMEMBERED:
            self._remembered[number] = pairs
        return pairs


Walk = Filled | Text
