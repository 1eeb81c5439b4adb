"""Where data came from: which files, and which line of them a sentence, a tree or a pair is.

A reader notes it once, for all files together; what is cut out of the data later (a slice, some sentences) keeps it, by
remembering which of the items that were read it has. So whoever finds a fault in the data, however far from the reader,
can name the file and mostly the line: ``raise corpus.error("has no words", sentence)``. Data that were made in Python
have no origin. It is no part of the data: nothing compares, hashes or saves it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np

from corpuscle.errors import UnfitData

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Origin:
    """Some of the items that were read from files.

    - ``files``: their names, in the order in which they were read;
    - ``firsts``: the number of the first item of each file, among the items of all files;
    - ``lines``: int64 (n_read,), the line on which each item that was read begins in its file, from 1 on; None: every
      item is a line;
    - ``rows``: which of the items that were read these are: a range, or int64 (n_items,); None: that is not known, for
      items that are no longer those of the files (running text that was cut into sentences);
    - ``word_lines``: in the file, every word of an item has a line of its own, after the comments of the item.

    >>> origin = Origin(("a.txt", "b.txt"), (0, 3), rows=range(5))
    >>> origin.place(0), origin.place(4), origin[2:].place(1)
    (('a.txt', 1), ('b.txt', 2), ('b.txt', 1))
    """

    files: tuple[str, ...]
    firsts: tuple[int, ...] = (0,)
    lines: np.ndarray | None = None
    rows: range | np.ndarray | None = None
    word_lines: bool = False

    @classmethod
    def of(cls, path: str | PathLike[str], lines: Sequence[int] | None = None) -> Origin:
        """That of one file; ``lines``: where its items begin, if they are to be known."""
        if lines is None:
            return cls((fspath(path),))
        return cls((fspath(path),), lines=np.array(lines, np.int64), rows=range(len(lines)))

    def place(self, item: int | None = None) -> tuple[str, int | None]:
        """The file and the line of an item; the first file, without a line, where it is not known."""
        if item is None or self.rows is None:
            return self.files[0], None
        row = int(self.rows[item])
        file = bisect_right(self.firsts, row) - 1
        return self.files[file], row - self.firsts[file] + 1 if self.lines is None else int(self.lines[row])

    def __getitem__(self, items: slice | np.ndarray) -> Origin:
        """The origin of some of the items: a slice, numbers or a mask."""
        if self.rows is None:
            return self
        rows: Any = self.rows
        if isinstance(rows, range) and not isinstance(items, slice):
            rows = np.arange(rows.start, rows.stop, rows.step)
        return replace(self, rows=rows[items])

    def by_item(self) -> Origin:
        """Of items that have other words than in the files, so that these have no lines any more."""
        return replace(self, word_lines=False)

    def loose(self) -> Origin:
        """Of items that are no longer those of the files, so that a fault in one has a file but no line."""
        return Origin(self.files[:1])

    def __reduce__(self) -> tuple[type[Origin], tuple[tuple[str, ...]]]:
        # A piece of a text that goes to another process would take the lines of all the others with it.
        return Origin, (self.files[:1],)


def error_about(data: Any, reason: str, item: int | None = None) -> UnfitData:
    """The error that data, or one of its items, cannot be used, where it stands in its file."""
    origin = getattr(data, "origin", None)
    if origin is None:
        return UnfitData(None, None if item is None else item + 1, reason)
    path, line = origin.place(item)
    return UnfitData(path, line, reason)


class Sourced:
    """Data with an origin."""

    def error(self, reason: str, item: int | None = None) -> UnfitData:
        """The error that these data, or the sentence, tree or pair of this number, cannot be used."""
        return error_about(self, reason, item)


class Listed(Sourced, list[T]):
    """A list of what was read, with its origin; slices have theirs."""

    origin: Origin | None

    def __init__(self, items: Iterable[T] = (), origin: Origin | None = None):
        super().__init__(items)
        self.origin = origin

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Listed[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | Listed[T]:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return Listed(super().__getitem__(index), None if self.origin is None else self.origin[index])
