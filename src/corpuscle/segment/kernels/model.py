"""A Pitman-Yor language model of words inside which stands one of letters: words are spelled, so none is unknown.

The words of a text sit in the restaurants of one pool (``engine.restaurants.hierarchy``), the letters of their spelling
in those of another, of variable depth (``engine.restaurants.variable``). Whenever the root of the words opens a table,
it draws a word from the base measure: the word is spelled, its letters and the end-of-word symbol become customers of
the letters, and a *record* keeps at which depth each stopped. When the table closes, a record of that word goes.

    base(w) = spelled(w) * factors[type of w, length of w],     base($) = the probability of a sentence boundary

where spelled(w) is the product of P(letter | the letters before it in the word, and its beginning), and the factors
turn the lengths of spelled words into those that are wanted, see ``lengths``.

A word is a stretch of ``text``, found by hashing its letters; number 0 is the sentence boundary ``$``. Numbers of words
that are no longer used are given to new ones. Letters are numbered as in ``corpuscle.text.vocab``: START begins a word,
END ends it.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 3, equations 5 and 6: their G0 is base, their c_1 .. c_k are the letters of w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine import hashtable
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import (
    FREE,
    NONE,
    Restaurants,
    find_child,
    find_entry,
    free_items,
    give_back,
    grown,
    has_free,
    longer,
    make_child,
    new_pool,
    new_root,
    take,
)
from corpuscle.engine.restaurants.variable import variable_probability

BOUNDARY = np.int64(0)
"""The number of the word ``$``; of the type of all words, or kernels would be compiled once more for it alone."""

START, END = 1, 2
"""The letters that begin and end a word, as in ``corpuscle.text.vocab``."""

# Columns of ``rows``; of free rows the first is FREE and the second the next free one, as in the pools.
BEGIN, LENGTH, LAST_RECORD = range(3)
# Columns of ``records``.
OWNER, AFTER = range(2)
# Rows of ``counters``, whose columns are those of a pool.
WORDS, RECORDS = range(2)
# ``bases``
LETTER_BASE, BOUNDARY_BASE = range(2)

EMPTY_HASH = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)  # as in FNV-1a, which hashes symbol by symbol, too


class Nested(NamedTuple):
    """The whole model.

    - ``words``, ``letters``: the two pools; the root of each is node 0. The deepest context of a letter is
      ``len(letters.path) - 2`` symbols long;
    - ``text``: int32 (n,), the letters in which the words stand; ``masks``: uint16 (letters,), the class of every
      letter as a bit; ``kinds``: uint8 (2048,), the type of a word by the joined masks of its letters;
    - ``rows``: int32 (word_room, 3), of every word BEGIN (in ``text``), LENGTH and LAST_RECORD, the newest record, or
      NONE; ``hashes``: uint64 (word_room,); ``slots``: int32 (power of two), by which ``hashtable`` finds words by
      their hashes;
    - ``records``: int32 (record_room, 2): OWNER, a word, and AFTER: the next newer record of that word, or of the
      newest the oldest; ``orders``: uint8 (record_room, longest word + 1), the depths at which its letters stopped;
    - ``counters``: int64 (2, 3), of words and records how many rows have been used, the first free one and how many;
    - ``factors``: float64 (types, longest word + 1); ``bases``: float64 (2,), of a letter and of ``$``;
    - ``spelling``: int32 (longest word + 2,), room for a word between its START and END.
    """

    words: Restaurants
    letters: Restaurants
    text: np.ndarray
    masks: np.ndarray
    kinds: np.ndarray
    rows: np.ndarray
    hashes: np.ndarray
    slots: np.ndarray
    records: np.ndarray
    orders: np.ndarray
    counters: np.ndarray
    factors: np.ndarray
    bases: np.ndarray
    spelling: np.ndarray


def new_nested(
    text: np.ndarray,
    masks: np.ndarray,
    kinds: np.ndarray,
    *,
    order: int = 2,
    longest: int = 10,
    deepest: int = 10,
    types: int = 1,
    letter_base: float = 0.02,
    boundary_base: float = 0.05,
    stop_prior: tuple[float, float] = (4.0, 1.0),
    room: int = 1 << 10,
) -> Nested:
    """An empty model of words of at most ``longest`` letters; ``deepest``: letters of the longest context of a letter;
    ``room``: of the longest sentence."""
    words = new_pool(order, nodes=16 * room, entries=32 * room, cells=64 * room)
    nodes = 16 * room * (deepest + 2)
    letters = new_pool(deepest + 1, nodes=nodes, entries=nodes, cells=2 * nodes, stop_prior=stop_prior)
    new_root(words, 0)
    new_root(letters, 0)
    counters = np.zeros((2, 3), np.int64)
    counters[:, col.FREE_HEAD] = NONE
    counters[WORDS, col.USED] = 1
    nested = Nested(
        words, letters, np.ascontiguousarray(text, np.int32), np.ascontiguousarray(masks, np.uint16),
        np.ascontiguousarray(kinds, np.uint8), np.zeros((8 * room, 3), np.int32), np.zeros(8 * room, np.uint64),
        np.full(8, NONE, np.int32), np.zeros((8 * room, 2), np.int32), np.zeros((8 * room, longest + 1), np.uint8),
        counters, np.zeros((types, longest + 1)), np.array([letter_base, boundary_base]),
        np.zeros(longest + 2, np.int32),
    )  # fmt: skip
    nested.rows[BOUNDARY, LAST_RECORD] = NONE
    return indexed_words(nested)


def indexed_words(nested: Nested) -> Nested:
    """The same model with an index that fits its room for words."""
    nested = nested._replace(slots=hashtable.new_index(len(nested.rows)))
    _fill_index(nested)
    return nested


def grown_nested(nested: Nested, length: int) -> Nested:
    """The same model with more room wherever it is nearly used up: it ``has_room`` for a sentence of this length."""
    nested = nested._replace(words=grown(nested.words, length + 1), letters=grown(nested.letters, 2 * length))
    for row, names in ((WORDS, ("rows", "hashes")), (RECORDS, ("records", "orders"))):
        items = getattr(nested, names[0])
        if free_items(nested.counters, row, items) <= max(length, len(items) // 4):
            room = 2 * len(items) + length
            replaced: dict[str, Any] = {name: longer(getattr(nested, name), room) for name in names}
            nested = nested._replace(**replaced)
            if row == WORDS:
                nested = indexed_words(nested)
    return nested


@part(bare=True)
def has_room(nested, length):
    """Whether there is room for a sentence of this length; ``grown_nested`` makes it."""
    words, letters = (length + 1) * len(nested.words.path), 2 * length * len(nested.letters.path)
    return (
        free_items(nested.counters, WORDS, nested.rows) > length
        and free_items(nested.counters, RECORDS, nested.records) > length
        and has_free(nested.words, words, words, 4 * words)
        and has_free(nested.letters, letters, letters, 4 * letters)
    )


@part(bare=True)
def hash_step(hash, letter):
    """The hash of a word and one more letter; that of no letters is ``EMPTY_HASH``."""
    return (hash ^ np.uint64(letter + 1)) * _PRIME


@part(bare=True)
def hash_stretch(text, begin, length):
    """The hash of a word that stands at a place."""
    hash = EMPTY_HASH
    for i in range(begin, begin + length):
        hash = hash_step(hash, text[i])
    return hash


@part(bare=True)
def find_word(nested, text, begin, length, hash):
    """The number of the word ``text[begin : begin + length]``, or NONE."""
    slots, hashes, rows = nested.slots, nested.hashes, nested.rows
    slot = hashtable.home(slots, hash)
    while True:
        word = np.int64(slots[slot])
        if word < 0 or (
            hashes[word] == hash
            and rows[word, LENGTH] == length
            and hashtable.same_stretch(nested.text, np.int64(rows[word, BEGIN]), text, begin, length)
        ):
            return word
        slot = hashtable.next_slot(slots, slot)


@part(bare=True)
def find_at(nested, begin, length):
    """The number of the word that stands at a place of the text, or NONE."""
    return find_word(nested, nested.text, begin, length, hash_stretch(nested.text, begin, length))


@kernel(bare=True)
def _fill_index(nested):
    for word in range(1, nested.counters[WORDS, col.USED]):
        if nested.rows[word, BEGIN] != FREE:
            hashtable.enter(nested.slots, nested.hashes, word)


@part(bare=True)
def intern(nested, begin, length):
    """The number of the word that stands at a place of the text, a new one if need be."""
    hash = hash_stretch(nested.text, begin, length)
    word = find_word(nested, nested.text, begin, length, hash)
    if word < 0:
        word = take(nested.counters, WORDS, nested.rows)
        nested.rows[word, BEGIN], nested.rows[word, LENGTH], nested.rows[word, LAST_RECORD] = begin, length, NONE
        nested.hashes[word] = hash
        hashtable.enter(nested.slots, nested.hashes, word)
    return word


@part(bare=True)
def drop_word(nested, word):
    """Give up the number of a word if it was the last of its kind."""
    if find_entry(nested.words, 0, word) < 0:
        hashtable.erase(nested.slots, nested.hashes, word)
        give_back(nested.counters, WORDS, nested.rows, word)


@part(bare=True)
def _spell_out(nested, text, begin, length):
    """``spelling`` := START, the letters of a word, END; returns the type of the word."""
    mask = 0
    spelling = nested.spelling
    spelling[0] = START
    for i in range(length):
        spelling[i + 1] = text[begin + i]
        mask |= nested.masks[text[begin + i]]
    spelling[length + 1] = END
    return np.int64(nested.kinds[mask])


@part(bare=True)
def spell_word(nested, word):
    """``spelling`` := START, the letters of a word with a number, END; returns its length."""
    length = np.int64(nested.rows[word, LENGTH])
    _spell_out(nested, nested.text, np.int64(nested.rows[word, BEGIN]), length)
    return length


@part(bare=True)
def spelled(nested, text, begin, length):
    """The probability of the letters of a word and of its end."""
    _spell_out(nested, text, begin, length)
    letters, spelling = nested.letters, nested.spelling
    deepest = len(letters.path) - 2
    total = 1.0
    for i in range(1, length + 2):
        total *= variable_probability(
            letters, 0, spelling, i, min(i, deepest), np.int64(spelling[i]), nested.bases[LETTER_BASE]
        )
    return total


@part(bare=True)
def base_probability(nested, word):
    """The probability that the base measure generates a word with a number."""
    if word == BOUNDARY:
        return nested.bases[BOUNDARY_BASE]
    begin, length = np.int64(nested.rows[word, BEGIN]), np.int64(nested.rows[word, LENGTH])
    probability = spelled(nested, nested.text, begin, length)
    return probability * nested.factors[_spell_out(nested, nested.text, begin, length), length]


@part(bare=True)
def new_record(nested, word):
    """A record of a word, the newest."""
    records = nested.records
    record, newest = take(nested.counters, RECORDS, records), np.int64(nested.rows[word, LAST_RECORD])
    records[record, OWNER] = word
    records[record, AFTER] = record if newest < 0 else records[newest, AFTER]
    if newest >= 0:
        records[newest, AFTER] = record
    nested.rows[word, LAST_RECORD] = record
    return record


@part(bare=True)
def drop_record(nested, word, record, before):
    """Take out a record of a word; ``before`` is the one that it comes after."""
    if record == before:
        nested.rows[word, LAST_RECORD] = NONE
    else:
        nested.records[before, AFTER] = nested.records[record, AFTER]
        if nested.rows[word, LAST_RECORD] == record:
            nested.rows[word, LAST_RECORD] = before
    give_back(nested.counters, RECORDS, nested.records, record)


@part(bare=True)
def context_of(nested, before, earlier, make):
    """The node of the context ``earlier before``, as far as the order of the model allows; where it does not exist, a
    new one (``make``) or the deepest that does."""
    words, node = nested.words, np.int64(0)
    for back in range(1, len(words.discounts)):  # most recent first: a longer context is a child of a shorter one
        symbol = before if back == 1 else earlier
        child = make_child(words, node, symbol) if make else find_child(words, node, symbol)
        if child < 0:
            break
        node = child
    return node


@part(bare=True)
def word_ends(cuts, first, n, ends):
    """``ends`` := where the words of a sentence end, counted from its beginning; returns how many."""
    count = 0
    for i in range(1, n + 1):
        if i == n or cuts[first + i] != 0:
            ends[count] = i
            count += 1
    return count


@part(bare=True)
def find_numbers(nested, first, ends, count, numbers):
    """``numbers`` := those of the words of a sentence."""
    begin = 0
    for i in range(count):
        numbers[i] = find_at(nested, np.int64(first + begin), np.int64(ends[i] - begin))
        begin = ends[i]


@part(bare=True)
def word_at(numbers, i, count):
    """The i-th word of a sentence; before and behind it stands ``$``."""
    return np.int64(numbers[i]) if 0 <= i < count else np.int64(BOUNDARY)
