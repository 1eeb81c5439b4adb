"""Word alignments: links between the words of sentence pairs, and matrices of link probabilities.

Positions are zero-based, source first. Files: Pharaoh lines (``0-0 1?2 2-1:0.93``: ``-`` is a sure link, ``?`` or ``p``
a possible one, a number after a colon is a weight), one line per sentence pair; and the format of the NAACL 2003 shared
task (``sentence source target [S|P] [weight]``, all counted from 1), one line a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.files import AnyPath, read_lines, write_atomically
from corpuscle.text.html import show_links, table

_WEIGHT = r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
_LINK = re.compile(rf"([0-9]{{1,9}})([-?p])([0-9]{{1,9}})(?::({_WEIGHT}))?")
_NUMBER = re.compile(r"[0-9]{1,9}")

MOST_EMPTY = 1_000_000
"""A sentence number that is higher by this than a thousand times the line is a mistake, not a corpus: every sentence
needs memory, with or without links."""


@dataclass(frozen=True, eq=False)
class Alignments:
    """The links of many sentence pairs in CSR form.

    - ``links``: int32 (n_links, 2), source and target position;
    - ``starts``: int64 (n_pairs + 1,), pair i has ``links[starts[i]:starts[i + 1]]``, each link once;
    - ``sure``: bool (n_links,), False for links that are merely possible;
    - ``weights``: float64 (n_links,), or None;
    - ``bitext``: the words that are linked, where an aligner has just linked them: for notebooks.
    """

    links: np.ndarray
    starts: np.ndarray
    sure: np.ndarray
    weights: np.ndarray | None = None
    bitext: Bitext | None = None

    def _repr_html_(self) -> str:
        if self.bitext is None:
            links = (self.pair(i).tolist() for i in range(min(10, len(self))))
            rows = enumerate((" ".join(f"{i}-{j}" for i, j in each) for each in links), 1)
            return str(table(("pair", "links"), rows))
        words = zip(self.bitext.source, self.bitext.target, strict=True)
        pairs = ((*sides, list(map(tuple, self.pair(i).tolist()))) for i, sides in enumerate(words))
        return show_links(pairs, len(self))

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[Sequence[tuple[int, int]]],
        sure: Iterable[Sequence[bool]] | None = None,
        weights: Iterable[Sequence[float]] | None = None,
    ) -> Alignments:
        """From the links of each sentence pair; all links are sure unless ``sure`` says otherwise.

        >>> Alignments.from_pairs([[(0, 0), (1, 2)], []]).starts.tolist()
        [0, 2, 2]
        """
        pairs = [list(links) for links in pairs]
        flat = np.array([link for links in pairs for link in links], np.int32).reshape(-1, 2)
        marks = [True] * len(flat) if sure is None else [mark for row in sure for mark in row]
        values = None if weights is None else np.array([weight for row in weights for weight in row], np.float64)
        if len(marks) != len(flat) or (values is not None and len(values) != len(flat)):
            raise ValueError("sure and weights need one value for each link")
        return cls(flat, starts_of(len(links) for links in pairs), np.array(marks, bool), values)

    @classmethod
    def concatenated(cls, parts: Sequence[Alignments]) -> Alignments:
        """Of the alignments of consecutive parts of a text those of the whole. Weights are not kept."""
        links = np.concatenate([np.zeros((0, 2), np.int32), *(part.links for part in parts)])
        sure = np.concatenate([np.zeros(0, bool), *(part.sure for part in parts)])
        return cls(links, starts_of(np.concatenate([np.zeros(0), *(np.diff(part.starts) for part in parts)])), sure)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pair(self, index: int) -> np.ndarray:
        """The links of one sentence pair, int32 (n, 2) (a view)."""
        return self.links[self.starts[index] : self.starts[index + 1]]

    def __getitem__(self, pairs: slice) -> Alignments:
        if pairs.step not in (None, 1):
            raise ValueError("a slice of sentence pairs has step 1; use select() for others")
        return self.select(np.arange(len(self))[pairs])

    def select(self, pairs: np.ndarray) -> Alignments:
        """Any sentence pairs by index or mask, in that order."""
        return self._links(*items_of(self.starts, pairs))

    def _links(self, chosen: np.ndarray, starts: np.ndarray) -> Alignments:
        weights = None if self.weights is None else self.weights[chosen]
        return Alignments(self.links[chosen], starts, self.sure[chosen], weights)

    @property
    def pairs(self) -> np.ndarray:
        """The sentence pair of every link, int64 (n_links,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def filtered(self, kept: np.ndarray) -> Alignments:
        """Some links of the same pairs; ``kept``: bool (n_links,)."""
        return self._links(np.flatnonzero(kept), starts_of(np.bincount(self.pairs[kept], minlength=len(self))))

    def only_sure(self) -> Alignments:
        """Without the links that are merely possible."""
        return self.filtered(self.sure)

    def sorted(self) -> Alignments:
        """The links of each pair by source, then target position."""
        return self._links(np.lexsort((self.links[:, 1], self.links[:, 0], self.pairs)), self.starts)

    def transposed(self) -> Alignments:
        """Target first: the links of the other direction."""
        return Alignments(self.links[:, ::-1].copy(), self.starts, self.sure, self.weights)

    def union(self, other: Alignments) -> Alignments:
        """Links that either has, sorted; sure where either is sure. Weights are not kept."""
        rows, sure, _ = self._joined(other)
        return _from_rows(rows, sure > 0, len(self))

    def intersection(self, other: Alignments) -> Alignments:
        """Links that both have, sorted; sure where both are sure. Weights are not kept."""
        rows, sure, times = self._joined(other)
        return _from_rows(rows[times == 2], sure[times == 2] == 2, len(self))

    def _joined(self, other: Alignments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All distinct (pair, source, target) of two alignments; how often each is sure, and how often it is there."""
        if len(self) != len(other):
            raise ValueError(f"{len(self)} sentence pairs, but the other alignments have {len(other)}")
        rows = np.concatenate([np.column_stack([each.pairs, each.links]) for each in (self, other)])
        order = np.lexsort(rows.T[::-1])  # column by column: np.unique compares whole rows, which takes far longer
        rows, sure = rows[order], np.concatenate([self.sure, other.sure])[order]
        is_new = np.ones(len(rows), bool)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        number = np.cumsum(is_new) - 1
        return rows[is_new], np.bincount(number, weights=sure), np.bincount(number)

    def check_range(self, bitext: Bitext, path: AnyPath | None = None) -> None:
        """Raise an ``InputError`` that names the line unless all links are between words of the bitext."""
        if len(self) != len(bitext):
            raise InputError(path, None, f"alignments of {len(self)} sentence pairs, but the bitext has {len(bitext)}")
        lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])[self.pairs]
        wrong = np.flatnonzero(((self.links < 0) | (self.links >= lengths)).any(axis=1))
        if len(wrong):
            (i, j), (source, target) = self.links[wrong[0]].tolist(), lengths[wrong[0]].tolist()
            reason = f"the link {i}-{j} lies outside a sentence pair of {source} and {target} words"
            raise InputError(path, int(self.pairs[wrong[0]]) + 1, reason)


def _from_rows(rows: Any, sure: Any, pairs: int, weights: np.ndarray | None = None) -> Alignments:
    """Alignments from sorted rows of pair, source, target."""
    rows = np.asarray(rows, np.int64).reshape(-1, 3)
    starts = starts_of(np.bincount(rows[:, 0], minlength=pairs))
    return Alignments(rows[:, 1:].astype(np.int32), starts, np.array(sure, bool), weights)


def _weights(read: Sequence[float | None], path: AnyPath) -> np.ndarray | None:
    """The weights of links as they were read: all have one, or none."""
    if all(weight is None for weight in read):
        return None
    if any(weight is None for weight in read):
        raise InputError(path, None, "some links have weights and others have none")
    if not np.isfinite(values := np.array(read, np.float64)).all():
        raise InputError(path, None, "a weight is too large")
    return values


def read_links(path: AnyPath, sentences: int | None = None) -> Alignments:
    """Read links in either format: a first line of three or more numbers is that of the NAACL shared task, for which
    see ``sentences`` in ``read_naacl``."""
    lines = list(read_lines(path))
    first: list[str] = next((fields for _, line in lines if (fields := line.split())), [])
    if len(first) >= 3 and first[0].isdigit():
        return read_naacl(path, sentences, lines)
    return read_pharaoh(path, lines)


def read_pharaoh(path: AnyPath, lines: Iterable[tuple[int, str]] | None = None) -> Alignments:
    """Read Pharaoh links, one line per sentence pair; a blank line is a pair without links. ``lines``: those of the
    file, if they have been read."""
    rows: list[tuple[int, int, int]] = []
    sure: list[bool] = []
    weights: list[float | None] = []
    number = 0
    for number, line in read_lines(path) if lines is None else lines:
        before = len(rows)
        for token in line.split():
            match = _LINK.fullmatch(token)
            if match is None:
                raise InputError(path, number, f"{token[:40]!r} is not a link such as 3-4, 3?4 or 3-4:0.5")
            rows.append((number - 1, int(match[1]), int(match[3])))
            sure.append(match[2] == "-")
            weights.append(None if match[4] is None else float(match[4]))
            if (weights[0] is None) != (weights[-1] is None):
                raise InputError(path, number, f"{token[:40]!r}: some links have weights and others have none")
        if len(set(rows[before:])) < len(rows) - before:
            raise InputError(path, number, "the same link twice")
    return _from_rows(rows, sure, number, _weights(weights, path))


def write_pharaoh(alignments: Alignments, path: AnyPath) -> None:
    """Write Pharaoh links, with weights if there are any."""
    _check_weights(alignments, path)
    marks = ["-" if sure else "?" for sure in alignments.sure.tolist()]
    texts = [f"{i}{mark}{j}" for (i, j), mark in zip(alignments.links.tolist(), marks, strict=True)]
    if alignments.weights is not None:
        texts = [f"{text}:{weight!r}" for text, weight in zip(texts, alignments.weights.tolist(), strict=True)]
    with write_atomically(path, "w") as output:
        for begin, end in pairwise(alignments.starts.tolist()):
            output.write(" ".join(texts[begin:end]) + "\n")


def _check_weights(alignments: Alignments, path: AnyPath) -> None:
    weights = alignments.weights
    if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
        raise InputError(path, None, "the weights of links are finite and not negative")


def read_naacl(
    path: AnyPath, sentences: int | None = None, lines: Iterable[tuple[int, str]] | None = None
) -> Alignments:
    """Read links in the format of the NAACL 2003 shared task.

    A link given as sure and as possible is sure. ``sentences`` is the number of sentence pairs; without it, it is the
    highest number in the file, since pairs without links do not occur there. ``lines``: those of the file, if they
    have been read.
    """
    found: dict[tuple[int, int, int], tuple[bool, float | None]] = {}
    for number, line in read_lines(path) if lines is None else lines:
        fields = line.split()
        if not 3 <= len(fields) <= 5 or not all(map(_NUMBER.fullmatch, fields[:3])):
            raise InputError(path, number, "expected: sentence source target [S|P] [weight]")
        sentence, source, target = map(int, fields[:3])
        if sentence < 1 or source < 1 or target < 1:
            raise InputError(path, number, "sentences and positions are counted from 1; links to nothing are left out")
        if sentence > (MOST_EMPTY + 1000 * number if sentences is None else sentences):
            raise InputError(path, number, f"there is no sentence {sentence}")
        mark = fields[3] if len(fields) > 3 else "S"
        if mark not in ("S", "P"):
            raise InputError(path, number, f"the mark of a link is S or P, not {mark[:40]!r}")
        if len(fields) == 5 and not re.fullmatch(_WEIGHT, fields[4]):
            raise InputError(path, number, f"{fields[4][:40]!r} is not a weight")
        weight = float(fields[4]) if len(fields) == 5 else None
        key = (sentence - 1, source - 1, target - 1)
        sure = mark == "S"
        if key in found and found[key][0] == sure:
            raise InputError(path, number, "the same link twice")
        if key not in found or sure:
            found[key] = (sure, weight)
    rows = sorted(found)
    count = sentences if sentences is not None else max((row[0] + 1 for row in rows), default=0)
    weights = _weights([found[row][1] for row in rows], path)
    return _from_rows(rows, [found[row][0] for row in rows], count, weights)


def write_naacl(alignments: Alignments, path: AnyPath) -> None:
    """Write links in the format of the NAACL 2003 shared task, with weights if there are any."""
    _check_weights(alignments, path)
    weights = [""] * len(alignments.links)
    if alignments.weights is not None:
        weights = [f" {weight!r}" for weight in alignments.weights.tolist()]
    rows = zip(alignments.pairs.tolist(), alignments.links.tolist(), alignments.sure.tolist(), weights, strict=True)
    with write_atomically(path, "w") as output:
        for pair, (i, j), sure, weight in rows:
            output.write(f"{pair + 1} {i + 1} {j + 1} {'S' if sure else 'P'}{weight}\n")


@dataclass(frozen=True, eq=False)
class AlignmentMatrix:
    """The probability of every possible link of every sentence pair.

    - ``weights``: float32, the matrices of all pairs, row by row, one after the other;
    - ``shapes``: int32 (n_pairs, 2), source and target length of each pair.
    """

    weights: np.ndarray
    shapes: np.ndarray

    def __post_init__(self) -> None:
        if self.shapes.ndim != 2 or self.shapes.shape[1] != 2 or (self.shapes < 0).any():
            raise ValueError("shapes are pairs of lengths")
        if self.weights.ndim != 1 or len(self.weights) != int(self.starts[-1]):
            raise ValueError(f"{self.weights.size} weights for matrices of {int(self.starts[-1])} cells")

    @classmethod
    def from_matrices(cls, matrices: Iterable[np.ndarray]) -> AlignmentMatrix:
        """From one matrix (source length, target length) for each pair."""
        matrices = [np.asarray(matrix, np.float32) for matrix in matrices]
        flat = [matrix.reshape(-1) for matrix in matrices]
        shapes = np.array([matrix.shape for matrix in matrices], np.int32).reshape(-1, 2)
        return cls(np.concatenate(flat) if flat else np.zeros(0, np.float32), shapes)

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each matrix begins in ``weights``, int64 (n_pairs + 1,)."""
        return starts_of(self.shapes.astype(np.int64).prod(axis=1))

    def __len__(self) -> int:
        return len(self.shapes)

    def matrix(self, index: int) -> np.ndarray:
        """The matrix of one pair (a view)."""
        begin, end = self.starts[index : index + 2]
        return self.weights[begin:end].reshape(self.shapes[index])

    def transposed(self) -> AlignmentMatrix:
        return AlignmentMatrix.from_matrices(self.matrix(i).T for i in range(len(self)))

    def links(self, threshold: float = 0.5) -> Alignments:
        """The links whose weight is at least ``threshold``, with their weights."""
        chosen = np.flatnonzero(self.weights >= threshold)
        pairs = np.searchsorted(self.starts, chosen, side="right") - 1
        cells = chosen - self.starts[pairs]
        links = np.column_stack(np.divmod(cells, self.shapes[pairs, 1])).astype(np.int32)
        counts = np.bincount(pairs, minlength=len(self))
        return Alignments(links, starts_of(counts), np.ones(len(links), bool), self.weights[chosen].astype(np.float64))

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model file keeps of it."""
        return {"alignment/weights": self.weights, "alignment/shapes": self.shapes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> AlignmentMatrix:
        return cls(arrays["alignment/weights"], arrays["alignment/shapes"])
