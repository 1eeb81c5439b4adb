"""Counts of analyses in contexts: which ones there are, made from tokens and looked up for candidates."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.kernels.counting import N_KINDS, Table, fill_keys, look_up
from corpuscle.model import Array

COUNTS = {
    "counts/keys": Array("uint64", ("keys",), rising=True),
    "counts/values": Array("int32", ("keys",), low=0),
}
_STEP = 4096
_HALF = N_KINDS // 2


def columns_for(method: str, n_elements: int, free: bool, shares: bool, n_kinds: int = _HALF) -> np.ndarray:
    """Which counts a method looks at, int32 (n_columns, 2): target (0: the whole label, then the elements) and kind;
    the count of a label with its form comes first. ``free``: also without the form; ``shares``: behind them, one
    for each, the counts of the contexts alone; ``n_kinds``: of contexts with the form."""
    targets = range(1) if method == "baseline" else range(1 + n_elements)
    kinds, halves = range(1) if method == "uni" else range(n_kinds), (0, n_kinds) if free else (0,)
    columns = [(target, kind + more) for more in halves for target in targets for kind in kinds]
    if shares:
        columns += [(-1, kind) for _, kind in columns]
    return np.array(columns, np.int32)


class Rows(NamedTuple):
    """Candidates of tokens: ``tokens`` int64 (n,), ``labels`` int32 (n,), and where each item begins, ``starts`` int64
    (n_items + 1,)."""

    tokens: np.ndarray
    labels: np.ndarray
    starts: np.ndarray


class Counts(NamedTuple):
    """A table of counts."""

    table: Table

    @classmethod
    def of_keys(cls, keys: np.ndarray, counts: np.ndarray) -> Counts:
        """From sorted keys, uint64 (n,), and their counts, int32 (n,)."""
        bits = max(1, min(30, len(keys).bit_length() - 2))
        shift = np.uint64(64 - bits)
        firsts = np.arange(1 << bits, dtype=np.uint64) << shift
        buckets = np.append(np.searchsorted(keys, firsts), len(keys)).astype(np.int64)
        return cls(Table(keys, counts, buckets, shift))

    @classmethod
    def of(cls, contexts: np.ndarray, labels: np.ndarray, values: np.ndarray, columns: np.ndarray) -> Counts:
        """Count the labels of tokens: int32 (n,), of ``values``, see ``label_hashes``."""
        columns = np.unique(columns, axis=0)
        keys = np.zeros((len(labels), len(columns)), np.uint64)
        for first in range(0, len(labels), _STEP):
            here = slice(first, first + _STEP)
            fill_keys(contexts[here], labels[here], values, columns, keys[here])
        distinct, counts = np.unique(keys.ravel(), return_counts=True)
        return cls.of_keys(distinct, counts.astype(np.int32))

    def added(self, other: Counts) -> Counts:
        """The sums of two tables."""
        keys = np.concatenate([self.table.keys, other.table.keys])
        distinct, at = np.unique(keys, return_inverse=True)
        counts = np.bincount(at, np.concatenate([self.table.counts, other.table.counts]), len(distinct))
        return Counts.of_keys(distinct, counts.astype(np.int32))

    def less(self, other: Counts) -> Counts:
        """The counts without those of some of the tokens, which makes some of them 0."""
        counts = self.table.counts.copy()
        counts[np.searchsorted(self.table.keys, other.table.keys)] -= other.table.counts
        return Counts(self.table._replace(counts=counts))

    def kept(self, min_count: int) -> Counts:
        """The counts that are not smaller than that."""
        enough = self.table.counts >= min_count
        return self if enough.all() else Counts.of_keys(self.table.keys[enough], self.table.counts[enough])

    def look_up(self, rows: Rows, contexts: np.ndarray, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The counts of rows, float32 (n_rows, n_columns)."""
        out = np.zeros((len(rows.tokens), len(columns)), np.float32)
        for first in range(0, len(out), _STEP):
            here = slice(first, first + _STEP)
            look_up(rows.tokens[here], rows.labels[here], contexts, values, columns, self.table, out[here])
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        """As they go into a model file, see ``COUNTS``."""
        return {"counts/keys": self.table.keys, "counts/values": self.table.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Counts:
        """As they stand in a model file."""
        return cls.of_keys(*(arrays[name] for name in COUNTS))


def transformed(counts: np.ndarray, transform: str) -> np.ndarray:
    """What becomes of counts: log(1 + c), c itself, or c / (1 + c of the context), which stands behind the counts."""
    if transform == "log":
        return np.log1p(counts)
    if transform == "raw":
        return counts
    half = counts.shape[1] // 2
    return counts[:, :half] / (1 + counts[:, half:])


def chunks(starts: np.ndarray, rows: int) -> list[tuple[int, int]]:
    """Runs of items with about so many rows each."""
    if len(starts) < 2:
        return []
    edges = np.unique(np.searchsorted(starts, np.arange(0, starts[-1] + rows, rows)).clip(0, len(starts) - 1))
    edges = np.unique(np.concatenate([[0], edges, [len(starts) - 1]]))
    return list(pairwise(edges.tolist()))
