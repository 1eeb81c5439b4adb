"""Scanners and indices: texts become token ids, words become ids, over the compiled passes of ``text.kernels``."""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import InputError
from corpuscle.text import kernels
from corpuscle.text.files import BOM, AnyPath
from corpuscle.text.kernels import LINES, NEEDED, POSITION, TOKENS, TYPES, Table
from corpuscle.text.vocab import FIRST, Vocab

CHUNK = 1 << 23
"""How many bytes (or types) a kernel call handles: a fraction of a second."""


def _slots_for(table: Table, n_types: int, capacity: int) -> np.ndarray:
    """A fresh hash table with room for ``capacity`` types, with those that exist entered."""
    slots = np.zeros((1 << max(10, int(2 * capacity - 1).bit_length()), 2), np.uint64)
    filled = Table(slots, table.bytes, table.offsets)
    for first in range(0, n_types, CHUNK):
        kernels.insert(filled, first, min(n_types, first + CHUNK))
    return slots


class Index:
    """Finds the ids of the words of a vocabulary without making a Python string of any of them."""

    def __init__(self, table: Table):
        self.table = table

    @classmethod
    def of(cls, bytes: np.ndarray, offsets: np.ndarray) -> Index:
        """An index of the types whose UTF-8 bytes stand one after the other, from ``offsets`` on."""
        n_types = len(offsets) - 1
        table = Table(np.empty((0, 2), np.uint64), np.array(bytes, np.uint8), np.array(offsets, np.int64))
        return cls(table._replace(slots=_slots_for(table, n_types, n_types)))

    def look_up(self, bytes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The ids, int32 (n,), of n words given as their UTF-8 bytes one after the other and n + 1 offsets."""
        ids = np.zeros(len(offsets) - 1, np.int32)
        source, offsets = frozen(bytes, np.uint8), np.array(offsets, np.int64)
        for first in range(0, len(ids), CHUNK):
            kernels.look_up(self.table, FIRST, source, offsets, first, min(len(ids), first + CHUNK), ids)
        return ids


class Scanner:
    """Reads texts one after the other into one numbering of types.

    >>> scanner = Scanner()
    >>> scanner.feed(b"to be or\\nnot to be", "hamlet.txt")
    >>> tokens, starts, vocab = scanner.finish()
    >>> tokens.tolist(), starts.tolist(), vocab.strings[3:]
    ([3, 4, 5, 6, 3, 4], [0, 3, 6], ['to', 'be', 'or', 'not'])
    """

    def __init__(self, chunk: int = CHUNK):
        self._chunk = chunk
        empty = Table(np.empty((0, 2), np.uint64), np.empty(1 << 13, np.uint8), np.zeros(1 << 10, np.int64))
        self._table = empty._replace(slots=_slots_for(empty, 0, 1 << 10))
        self._counts = np.zeros(FIRST + (1 << 10), np.int64)
        self._tokens = np.empty(1 << 12, np.int32)
        self._line_ends = np.empty(1 << 10, np.int64)
        self._state = np.zeros(6, np.int64)

    def feed(self, data: bytes, path: AnyPath | None, first_line: int = 1) -> None:
        """Add the lines of a text; ``path`` and the number of its first line are for errors.

        A BOM at the beginning of a file is dropped; text that comes from no file (``path`` None) is taken as it is.
        """
        text = frozen(np.frombuffer(data, np.uint8), np.uint8)
        state = self._state
        lines_before = int(state[LINES])
        begin = len(BOM) if path is not None and first_line == 1 and data.startswith(BOM) else 0
        state[POSITION] = begin
        while state[POSITION] < len(text):
            limit = min(len(text), int(state[POSITION]) + self._chunk)
            code = kernels.scan(text, limit, self._table, FIRST, self._counts, self._tokens, self._line_ends, state)
            if code in (kernels.BAD_UTF8, kernels.NUL):
                line = first_line + int(state[LINES]) - lines_before
                raise InputError(path, line, "invalid UTF-8" if code == kernels.BAD_UTF8 else "NUL byte in text")
            if code != kernels.DONE:
                self._grow(code)
        if len(text) > begin and text[-1] != 10:
            if state[LINES] == len(self._line_ends):
                self._grow(kernels.ROOM_FOR_LINES)
            self._line_ends[state[LINES]] = state[TOKENS]
            state[LINES] += 1

    def _grow(self, code: int) -> None:
        """More room in the array that is full; ``resize`` moves pages instead of copying them where it can, and writes
        zeros to the new ones: a long array grows by little."""
        state = self._state
        if code in (kernels.ROOM_FOR_TOKENS, kernels.ROOM_FOR_LINES):
            array = self._tokens if code == kernels.ROOM_FOR_TOKENS else self._line_ends
            array.resize(len(array) * 5 // 4 if len(array) > 1 << 20 else len(array) * 4, refcheck=False)
        elif code == kernels.ROOM_FOR_BYTES:
            array = self._table.bytes
            array.resize(2 * len(array) + int(state[NEEDED]), refcheck=False)
        else:
            capacity = 2 * (len(self._table.offsets) + 1)
            self._table.offsets.resize(capacity + 1, refcheck=False)
            self._counts.resize(capacity + FIRST, refcheck=False)
            self._table = self._table._replace(slots=_slots_for(self._table, int(state[TYPES]), capacity))

    @property
    def n_lines(self) -> int:
        """How many lines have been read."""
        return int(self._state[LINES])

    def finish(self) -> tuple[np.ndarray, np.ndarray, Vocab]:
        """What has been read; the scanner gives its arrays away and is spent.

        The ids of all tokens, int32 (n_tokens,); where each line begins in them and the end of the last, int64
        (n_lines + 1,); the types in the order in which they were first seen, with their counts.
        """
        _, n_tokens, n_lines, n_types, n_bytes, _ = self._state.tolist()
        bytes, offsets = self._table.bytes, self._table.offsets
        self._tokens.resize(n_tokens, refcheck=False)
        self._counts.resize(n_types + FIRST, refcheck=False)
        bytes.resize(n_bytes, refcheck=False)
        offsets.resize(n_types + 1, refcheck=False)
        starts = np.zeros(n_lines + 1, np.int64)
        starts[1:] = self._line_ends[:n_lines]
        vocab = Vocab(bytes, offsets, self._counts)
        vocab.index = Index(self._table)
        tokens = self._tokens
        del self._tokens, self._counts, self._table, self._line_ends
        return tokens, starts, vocab
