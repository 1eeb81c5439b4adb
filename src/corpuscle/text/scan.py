"""The byte scanner: from the bytes of a text to token ids in one pass, compiled.

A token is a run of bytes without ASCII white space. While its end is being found its bytes are packed into a 64-bit
key, eight at a time, and the key is looked up in a hash table with open addressing. Up to eight bytes the key *is* the
token, so nothing needs to be compared; longer tokens have a hash as their key and are compared byte by byte. New
types are copied to the end of one byte array, which together with its offsets is already the vocabulary.

The kernels never allocate: when some array is full, or when a chunk of the text is done, they return a code, and
``Scanner`` grows the array or goes on. So each call is short, and memory is the text plus what comes out of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.errors import InputError
from corpuscle.text.files import BOM, AnyPath
from corpuscle.text.vocab import FIRST, Vocab

__all__ = ["Index", "Scanner"]

CHUNK = 1 << 23
"""How many bytes (or types) a kernel call handles: a fraction of a second."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LONG = np.uint64(1 << 63)
_ROOM_FOR_TOKENS, _ROOM_FOR_LINES, _ROOM_FOR_TYPES, _ROOM_FOR_BYTES, _DONE, _BAD_UTF8, _NUL = range(7)
_POSITION, _TOKENS, _LINES, _TYPES, _BYTES, _NEEDED = range(6)


class Table(NamedTuple):
    """Types and the hash table that finds them.

    - ``slots``: uint64 (2^k, 2), a key and 1 + the number of its type (0: a free slot), the top bit set where the key
      is a hash and not the token itself;
    - ``bytes``: uint8, the types one after the other;
    - ``offsets``: int64, where each type begins in ``bytes``, and after the last one where it ends.
    """

    slots: np.ndarray
    bytes: np.ndarray
    offsets: np.ndarray


@kernel
def _absorb(hash, word):
    """One more word of eight bytes into the hash of a long token."""
    hash = (hash ^ word) * _GOLDEN
    return hash ^ (hash >> np.uint64(29))


@kernel
def _find(table, key, is_long, source, begin, end):
    """The slot of a token, or the free slot where it belongs."""
    slots, bytes, offsets = table
    mask = len(slots) - 1
    hash = (key ^ (key >> np.uint64(32))) * _GOLDEN
    slot = np.int64((hash ^ (hash >> np.uint64(32))) & np.uint64(mask))
    while True:
        value = slots[slot, 1]
        if value == 0:
            return slot
        if slots[slot, 0] == key:
            if not is_long:
                if value < _LONG:
                    return slot
            elif value > _LONG:
                type = np.int64(value ^ _LONG) - 1
                if offsets[type + 1] - offsets[type] == end - begin:
                    same = True
                    for i in range(end - begin):
                        if bytes[offsets[type] + i] != source[begin + i]:
                            same = False
                            break
                    if same:
                        return slot
        slot = (slot + 1) & mask


@kernel
def _key(source, begin, end):
    """The key of a token, and whether it is a hash."""
    if end - begin <= 8:
        key = np.uint64(0)
        for i in range(end - begin):
            key |= np.uint64(source[begin + i]) << np.uint64(8 * i)
        return key, False
    hash = np.uint64(0)
    word = np.uint64(0)
    for i in range(end - begin):
        word |= np.uint64(source[begin + i]) << np.uint64(8 * (i & 7))
        if i & 7 == 7:
            hash = _absorb(hash, word)
            word = np.uint64(0)
    return _absorb(hash, word), True


@kernel
def _insert(table, first, last):
    """Enter types ``first`` to ``last`` into the slots; of equal ones the first is kept."""
    for type in range(first, last):
        begin, end = table.offsets[type], table.offsets[type + 1]
        key, is_long = _key(table.bytes, begin, end)
        slot = _find(table, key, is_long, table.bytes, begin, end)
        if table.slots[slot, 1] == 0:
            table.slots[slot, 0] = key
            table.slots[slot, 1] = np.uint64(type + 1) | (_LONG if is_long else np.uint64(0))


@kernel
def _look_up(table, bytes, offsets, first, last, ids):
    """The ids of the words ``first`` to ``last`` of a byte array into ``ids``; 0 where the table has none."""
    for word in range(first, last):
        key, is_long = _key(bytes, offsets[word], offsets[word + 1])
        slot = _find(table, key, is_long, bytes, offsets[word], offsets[word + 1])
        value = table.slots[slot, 1]
        ids[word] = np.int64(value & ~_LONG) - 1 + FIRST if value != 0 else 0


@kernel
def _sequence_length(text, position):
    """How many bytes the well-formed UTF-8 sequence that begins here has; 0 if it is not well formed."""
    lead = text[position]
    if lead < 0xC2 or lead > 0xF4:
        return 0
    length = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if position + length > len(text):
        return 0
    low, high = 0x80, 0xBF  # the second byte is bounded further: no overlong forms, no surrogates, nothing too big
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F
    if text[position + 1] < low or text[position + 1] > high:
        return 0
    for i in range(2, length):
        if text[position + i] & 0xC0 != 0x80:
            return 0
    return length


@kernel
def _scan(text, limit, table, counts, tokens, line_ends, state):
    """Scan on from ``state`` to the end of the token or line that reaches ``limit``; returns why it stopped.

    ``tokens`` receives type numbers + FIRST, ``line_ends`` the number of tokens so far at each LF, ``counts`` the
    frequencies by id. ``state`` holds the position in the text and how much of each array is in use.
    """
    slots, bytes, offsets = table
    position = state[_POSITION]
    n_tokens, n_lines, n_types, n_bytes = state[_TOKENS], state[_LINES], state[_TYPES], state[_BYTES]
    valid_until = position
    code = _DONE
    while position < limit:
        byte = text[position]
        if byte == 10:
            if n_lines == len(line_ends):
                code = _ROOM_FOR_LINES
                break
            line_ends[n_lines] = n_tokens
            n_lines += 1
            position += 1
            continue
        if byte == 32 or 9 <= byte <= 13:
            position += 1
            continue
        if n_tokens == len(tokens):
            code = _ROOM_FOR_TOKENS
            break
        begin = position
        hash = np.uint64(0)
        word = np.uint64(0)
        shift = np.uint64(0)
        while position < len(text):
            byte = text[position]
            if byte <= 32 and (byte == 32 or 9 <= byte <= 13):
                break
            if shift == 64:
                hash = _absorb(hash, word)
                word = np.uint64(0)
                shift = np.uint64(0)
            if byte >= 128:
                if position >= valid_until:
                    length = _sequence_length(text, position)
                    if length == 0:
                        code = _BAD_UTF8
                        break
                    valid_until = position + length
            elif byte == 0:
                code = _NUL
                break
            word |= np.uint64(byte) << shift
            shift += np.uint64(8)
            position += 1
        if code != _DONE:
            break
        is_long = position - begin > 8
        if is_long:
            key = _absorb(hash, word)
            if shift == 64:  # `_key` absorbs a full last word before it adds the empty rest
                key = _absorb(key, np.uint64(0))
        else:
            key = word
        slot = _find(table, key, is_long, text, begin, position)
        value = slots[slot, 1]
        if value == 0:
            if 2 * n_types >= len(slots) or n_types + 1 >= len(offsets) or n_types + FIRST >= len(counts):
                code = _ROOM_FOR_TYPES
            elif n_bytes + position - begin > len(bytes):
                code = _ROOM_FOR_BYTES
                state[_NEEDED] = position - begin
            if code != _DONE:
                position = begin
                break
            for i in range(begin, position):
                bytes[n_bytes] = text[i]
                n_bytes += 1
            n_types += 1
            offsets[n_types] = n_bytes
            value = np.uint64(n_types) | (_LONG if is_long else np.uint64(0))
            slots[slot, 0] = key
            slots[slot, 1] = value
        id = np.int64(value & ~_LONG) - 1 + FIRST
        counts[id] += 1
        tokens[n_tokens] = id
        n_tokens += 1
    state[_POSITION] = position
    state[_TOKENS], state[_LINES], state[_TYPES], state[_BYTES] = n_tokens, n_lines, n_types, n_bytes
    return code


def _slots_for(table: Table, n_types: int, capacity: int) -> np.ndarray:
    """A fresh hash table with room for ``capacity`` types, with those that exist entered."""
    slots = np.zeros((1 << max(10, int(2 * capacity - 1).bit_length()), 2), np.uint64)
    filled = Table(slots, table.bytes, table.offsets)
    for first in range(0, n_types, CHUNK):
        _insert(filled, first, min(n_types, first + CHUNK))
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
            _look_up(self.table, source, offsets, first, min(len(ids), first + CHUNK), ids)
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
        lines_before = int(state[_LINES])
        begin = len(BOM) if path is not None and first_line == 1 and data.startswith(BOM) else 0
        state[_POSITION] = begin
        while state[_POSITION] < len(text):
            limit = min(len(text), int(state[_POSITION]) + self._chunk)
            code = _scan(text, limit, self._table, self._counts, self._tokens, self._line_ends, state)
            if code in (_BAD_UTF8, _NUL):
                line = first_line + int(state[_LINES]) - lines_before
                raise InputError(path, line, "invalid UTF-8" if code == _BAD_UTF8 else "NUL byte in text")
            if code != _DONE:
                self._grow(code, len(text))
        if len(text) > begin and text[-1] != 10:
            if state[_LINES] == len(self._line_ends):
                self._grow(_ROOM_FOR_LINES, 0)
            self._line_ends[state[_LINES]] = state[_TOKENS]
            state[_LINES] += 1

    def _grow(self, code: int, text_length: int) -> None:
        """More room in the array that is full; ``resize`` moves pages instead of copying them where it can."""
        state = self._state
        if code in (_ROOM_FOR_TOKENS, _ROOM_FOR_LINES):
            array = self._tokens if code == _ROOM_FOR_TOKENS else self._line_ends
            done = max(0.05, state[_POSITION] / max(1, text_length))
            array.resize(int(len(array) * max(1.5, min(20.0, 1.1 / done))), refcheck=False)
        elif code == _ROOM_FOR_BYTES:
            array = self._table.bytes
            array.resize(2 * len(array) + int(state[_NEEDED]), refcheck=False)
        else:
            capacity = 2 * (len(self._table.offsets) + 1)
            self._table.offsets.resize(capacity + 1, refcheck=False)
            self._counts.resize(capacity + FIRST, refcheck=False)
            self._table = self._table._replace(slots=_slots_for(self._table, int(state[_TYPES]), capacity))

    @property
    def n_lines(self) -> int:
        """How many lines have been read."""
        return int(self._state[_LINES])

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
