"""Vocabulary shortlists: the few target symbols that a batch of sources can need, instead of all.

Jean, Cho, Memisevic and Bengio, "On using very large target vocabulary for neural machine translation", 2015, section
3.2: the most frequent targets, and for every source symbol of the batch its most probable translations. The output
layer then multiplies these alone. It is not exact: ``coverage`` says how many symbols of references are there. For
characters, of which there are few, it does not pay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.text.vocab import END, UNKNOWN

__all__ = ["Shortlist"]


class Shortlist:
    """Allowed targets. ``always`` (n,) int32: those of every batch; ``likely`` (source_size, m) int32: those of each
    source symbol, -1 where there are fewer."""

    def __init__(self, always: np.ndarray, likely: np.ndarray):
        self.always = np.unique(np.append(always, [END, UNKNOWN])).astype(np.int32)
        self.likely = np.ascontiguousarray(likely, np.int32)

    def __repr__(self) -> str:
        """How many targets."""
        return f"<Shortlist of {len(self.always):,} targets and {self.likely.shape[1]:,} for each source symbol>"

    @classmethod
    def of_table(cls, table: np.ndarray, counts: np.ndarray, frequent: int = 100, best: int = 100) -> Shortlist:
        """From a lexical table (source_size, target_size) of probabilities and counts (target_size,) of targets: the
        ``frequent`` most frequent targets, and the ``best`` of each source symbol that have any probability."""
        rows, columns = np.nonzero(table > 0)
        return cls.of_links(rows, columns, table[rows, columns], counts, len(table), frequent, best)

    @classmethod
    def of_links(
        cls,
        sources: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        counts: np.ndarray,
        size: int,
        frequent: int = 100,
        best: int = 100,
    ) -> Shortlist:
        """From linked symbols, (n,) each, whose weights add up, and counts (target_size,) of targets; ``size``: how
        many source symbols there are."""
        keys, places = np.unique(sources.astype(np.int64) * len(counts) + targets, return_inverse=True)
        rows, columns = np.divmod(keys, len(counts))
        order = np.lexsort((columns, -np.bincount(places, weights, len(keys)), rows))
        rows, columns = rows[order], columns[order]
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        kept = ranks < best
        likely = np.full((size, min(best, 1 + int(ranks.max(initial=-1)))), -1, np.int32)
        likely[rows[kept], ranks[kept]] = columns[kept]
        return cls(np.argsort(-counts, kind="stable")[: min(frequent, np.count_nonzero(counts))], likely)

    def allowed(self, symbols: np.ndarray) -> np.ndarray:
        """The targets that sources with these symbols may have, sorted, int32."""
        found = np.unique(self.likely[np.unique(symbols)])
        return np.union1d(self.always, found[found >= 0]).astype(np.int32)

    def coverage(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> float:
        """The share of the symbols of references that are allowed for their sources."""
        inside = [np.isin(target, self.allowed(source)) for source, target in zip(sources, targets, strict=True)]
        every = np.concatenate([*inside, np.zeros(0, bool)])
        return float(every.mean()) if every.size else 1.0
