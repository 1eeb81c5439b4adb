"""Compiled: the byte scanner, from the bytes of a text to token ids in one pass, and hashes of sentences.

A token is a run of bytes without ASCII white space. While its end is being found its bytes are packed into a 64-bit
key, eight at a time, and the key is looked up in a hash table with open addressing. Up to eight bytes the key *is* the
token, so nothing needs to be compared; longer tokens have a hash as their key and are compared byte by byte. New
types are copied to the end of one byte array, which together with its offsets is already the vocabulary.

The kernels never allocate: when some array is full, or when a chunk of the text is done, they return a code, and
``Scanner`` grows the array or goes on. So each call is short, and memory is the text plus what comes out of it.

The table is not that of ``engine.hashtable``, a floor above this one: a key and its number share a slot
here, so that most tokens are found with one look at memory.

Open addressing: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, section 6.4.

Hashes of sentences are made from those of their words, so that they do not depend on how a vocabulary numbers them: h
is mixed with one word after the other by the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", 2014), see ``corpuscle.random.mix``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: a product with it spreads keys evenly
_LONG = np.uint64(1 << 63)
ROOM_FOR_TOKENS, ROOM_FOR_LINES, ROOM_FOR_TYPES, ROOM_FOR_BYTES, DONE, BAD_UTF8, NUL = range(7)
POSITION, TOKENS, LINES, TYPES, BYTES, NEEDED = range(6)


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


@part
def _absorb(hash, word):
    """One more word of eight bytes into the hash of a long token."""
    hash = (hash ^ word) * _GOLDEN
    return hash ^ (hash >> np.uint64(29))


@part
def _find(table, key, is_long, source, begin, end):
    """The slot of a token, or the free slot where it belongs."""
    slots, bytes, offsets = table
    mask = len(slots) - 1
    # The low bits of a product depend on the low bits of the key alone: all bits are mixed into the slot number.
    hash = (key ^ (key >> np.uint64(32))) * _GOLDEN
    slot = np.int64((hash ^ (hash >> np.uint64(32))) & np.uint64(mask))
    while True:
        value = slots[slot, 1]
        if value == 0:
            return slot
        if slots[slot, 0] == key and (value > _LONG) == is_long:
            if not is_long:
                return slot
            type = np.int64(value ^ _LONG) - 1
            if offsets[type + 1] - offsets[type] == end - begin:
                i = 0
                while i < end - begin and bytes[offsets[type] + i] == source[begin + i]:
                    i += 1
                if i == end - begin:
                    return slot
        slot = (slot + 1) & mask


@part
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
def insert(table, first, last):
    """Enter types ``first`` to ``last`` into the slots; of equal ones the first is kept."""
    for type in range(first, last):
        begin, end = table.offsets[type], table.offsets[type + 1]
        key, is_long = _key(table.bytes, begin, end)
        slot = _find(table, key, is_long, table.bytes, begin, end)
        if table.slots[slot, 1] == 0:
            table.slots[slot, 0] = key
            table.slots[slot, 1] = np.uint64(type + 1) | (_LONG if is_long else np.uint64(0))


@kernel
def look_up(table, first_id, bytes, offsets, first, last, ids):
    """The ids of the words ``first`` to ``last`` of a byte array into ``ids``; 0 where the table has none."""
    for word in range(first, last):
        key, is_long = _key(bytes, offsets[word], offsets[word + 1])
        slot = _find(table, key, is_long, bytes, offsets[word], offsets[word + 1])
        value = table.slots[slot, 1]
        ids[word] = np.int64(value & ~_LONG) - 1 + first_id if value != 0 else 0


@part
def _sequence_length(text, position):
    """How many bytes the well-formed UTF-8 sequence that begins here has; 0 if it is not well formed."""
    lead = text[position]
    if lead < 0xC2 or lead > 0xF4:
        return 0
    length = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if position + length > len(text):
        return 0
    # The second byte is bounded further: no overlong forms, no surrogates, nothing too big.
    low = 0xA0 if lead == 0xE0 else (0x90 if lead == 0xF0 else 0x80)
    high = 0x9F if lead == 0xED else (0x8F if lead == 0xF4 else 0xBF)
    if text[position + 1] < low or text[position + 1] > high:
        return 0
    for i in range(2, length):
        if text[position + i] & 0xC0 != 0x80:
            return 0
    return length


@kernel
def scan(text, limit, table, first_id, counts, tokens, line_ends, state):
    """Scan on from ``state`` to the end of the token or line that reaches ``limit``; returns why it stopped.

    ``tokens`` receives type numbers + first_id, ``line_ends`` the number of tokens so far at each LF, ``counts`` the
    frequencies by id. ``state`` holds the position in the text and how much of each array is in use.
    """
    slots, bytes, offsets = table
    position = state[POSITION]
    n_tokens, n_lines, n_types, n_bytes = state[TOKENS], state[LINES], state[TYPES], state[BYTES]
    valid_until = position
    code = DONE
    while position < limit:
        byte = text[position]
        if byte == 10:
            if n_lines == len(line_ends):
                code = ROOM_FOR_LINES
                break
            line_ends[n_lines] = n_tokens
            n_lines += 1
            position += 1
            continue
        if byte == 32 or 9 <= byte <= 13:
            position += 1
            continue
        if n_tokens == len(tokens):
            code = ROOM_FOR_TOKENS
            break
        # The key of the token, the same as `_key` makes of its bytes, while its end is being found.
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
                        code = BAD_UTF8
                        break
                    valid_until = position + length
            elif byte == 0:
                code = NUL
                break
            word |= np.uint64(byte) << shift
            shift += np.uint64(8)
            position += 1
        if code != DONE:
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
            if 2 * n_types >= len(slots) or n_types + 1 >= len(offsets) or n_types + first_id >= len(counts):
                code = ROOM_FOR_TYPES
            elif n_bytes + position - begin > len(bytes):
                code = ROOM_FOR_BYTES
                state[NEEDED] = position - begin
            if code != DONE:
                position = begin  # the token is read again when there is room
                break
            for i in range(begin, position):
                bytes[n_bytes] = text[i]
                n_bytes += 1
            n_types += 1
            offsets[n_types] = n_bytes
            value = np.uint64(n_types) | (_LONG if is_long else np.uint64(0))
            slots[slot, 0] = key
            slots[slot, 1] = value
        id = np.int64(value & ~_LONG) - 1 + first_id
        counts[id] += 1
        tokens[n_tokens] = id
        n_tokens += 1
    state[POSITION] = position
    state[TOKENS], state[LINES], state[TYPES], state[BYTES] = n_tokens, n_lines, n_types, n_bytes
    return code


@kernel
def hash_sentences(tokens, starts, type_hashes, hashes):
    for i in range(len(hashes)):
        h = _GOLDEN
        for j in range(starts[i], starts[i + 1]):
            h = mix(h + type_hashes[tokens[j]]) + _GOLDEN
        hashes[i] = h
