"""What stands around words: counts of pairs in a window, and exponential smooths.

**Counts**, row by row of a matrix. The positions of a text are sorted by the symbol that decides the row (a counting
sort), then all positions of one row are visited together, and what stands around them is added to one row of numbers
that fits the cache. No pair is ever stored, sorted or hashed. Counts of several texts add up. Two kinds of window:

- ``count_slots``: fixed offsets, each of which may have columns of its own (``block`` b begins at b * types). The text
  is laid out with boundary symbols around each sentence, so something stands at every offset.
- ``count_near``: everything up to a distance, weighted by it. Occurrences of a frequent word count in part: word w is
  kept with the probability k(w), and what is counted is what would be counted on average if each occurrence were kept
  or dropped at random and dropped ones closed up. The distance of two kept words is 1 plus the sum of k between them,
  so a window reaches further where the words between say little. With k = 1 it is a plain window.

**Smooths** of a text: what stood before each token, and what stands after it, the nearer the heavier.

With a vector A[w] for each word w, the left smooth of token t by the rate alpha is

    s_t = (1 - alpha) s_(t-1) + alpha A[x_(t-1)],

zero at the start of a sentence; the right smooth is the same read backwards. A small rate remembers far, a large one
the next word alone; the smooths by several rates stand side by side.

Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from word embeddings", 2015, for
windows, weights and subsampling; Mikolov, Sutskever, Chen, Corrado and Dean, "Distributed representations of words and
phrases and their compositionality", 2013, eq. 5, for k(w); Dhillon, Foster and Ungar, "Multi-view learning of word
embeddings via CCA", 2011, algorithm 1, for smooths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

FLAT, LINEAR, HARMONIC = 0, 1, 2
"""How much a word at distance d counts in a window that reaches to h: 1, (h + 1 - d) / h, or 1 / d."""
_STRIDE = 64
_ROUNDING = 1e-6


class Sorted(NamedTuple):
    """A text by the symbols of its rows.

    - ``text`` int32 (n,): a symbol at every place;
    - ``order`` int64: places, sorted by the row that they belong to; ``starts`` int64 (types + 1,): where each row
      begins.
    """

    text: np.ndarray
    order: np.ndarray
    starts: np.ndarray


class Slots(NamedTuple):
    """Fixed offsets: ``offsets`` int64 (n,), relative places; ``blocks`` int64 (n,), the block of columns of each."""

    offsets: np.ndarray
    blocks: np.ndarray


class Near(NamedTuple):
    """A weighted window: ``keeps`` float64 (types,), k of each symbol; ``sums`` float64 (n,), the sum of k before each
    place, with a gap wider than the window between sentences; ``reach`` h; ``weighting``, one of the three."""

    keeps: np.ndarray
    sums: np.ndarray
    reach: float
    weighting: int


class Room(NamedTuple):
    """Where rows go: ``columns`` int32 and ``values`` float64 (size,); and what they are added up in: ``totals``
    float64 (columns of the matrix,) and ``marks`` uint8, one for 64 of them, both zeros between two rows."""

    columns: np.ndarray
    values: np.ndarray
    totals: np.ndarray
    marks: np.ndarray


def room_for(width: int, size: int) -> Room:
    """Room for ``size`` entries, or at least one full row, of a matrix with ``width`` columns."""
    size = max(size, width)
    marks = np.zeros((width + _STRIDE - 1) // _STRIDE, np.uint8)
    return Room(np.empty(size, np.int32), np.empty(size), np.zeros(width), marks)


@kernel
def sort_by(text, places, offset, types):
    """The places in the order of the symbols at ``offset`` from them, int64 (n,), and where each symbol's begin,
    int64 (types + 1,)."""
    # A counting sort: linear, and places of one symbol stay in the order of the text.
    starts = np.zeros(types + 1, np.int64)
    for place in places:
        starts[text[place + offset] + 1] += 1
    for symbol in range(types):
        starts[symbol + 1] += starts[symbol]
    free = starts[:-1].copy()
    order = np.empty(len(places), np.int64)
    for place in places:
        symbol = text[place + offset]
        order[free[symbol]] = place
        free[symbol] += 1
    return order, starts


@part
def _emit(room, place, factor):
    """Write the totals of a row, times ``factor``, from ``place`` on and clear them; returns where the next row
    begins."""
    columns, values, totals, marks = room
    # A row touches few of all columns: the marks say which stretches of 64 are worth a look.
    for stride in range(len(marks)):
        if marks[stride]:
            marks[stride] = 0
            for column in range(stride * _STRIDE, min((stride + 1) * _STRIDE, len(totals))):
                if totals[column] > 0.0:
                    columns[place] = column
                    values[place] = totals[column] * factor
                    totals[column] = 0.0
                    place += 1
    return place


@kernel
def count_slots(given, slots, first, room):
    """Count what stands at the offsets from the places of each row from ``first`` on, as long as there is room; returns
    where each finished row ends, int64 (rows + 1,), beginning with 0."""
    text, order, starts = given
    types = len(starts) - 1
    ends = np.zeros(types - first + 1, np.int64)
    for row in range(first, types):
        begin = ends[row - first]
        # A row is begun only if it surely fits: it has no more entries than pairs, and than columns.
        if begin + min((starts[row + 1] - starts[row]) * len(slots.offsets), len(room.totals)) > len(room.columns):
            return ends[: row - first + 1]
        for at in range(starts[row], starts[row + 1]):
            for i in range(len(slots.offsets)):
                column = slots.blocks[i] * types + text[order[at] + slots.offsets[i]]
                room.totals[column] += 1.0
                room.marks[column // _STRIDE] = 1
        ends[row - first + 1] = _emit(room, begin, 1.0) if starts[row + 1] > starts[row] else begin
    return ends


@part
def _weight(distance, reach, weighting):
    if weighting == LINEAR:
        return (reach + 1.0 - distance) / reach
    return 1.0 / distance if weighting == HARMONIC else 1.0


@part
def _add_near(given, near, place, room):
    text, keeps, sums, reach = given.text, near.keeps, near.sums, near.reach
    base = sums[place] + keeps[text[place]] - 1.0  # so that the distance is 1 plus the sum of k between the two
    # Both loops end at the edge of a sentence, too: the gap in ``sums`` there is wider than any window.
    for other in range(place + 1, len(text)):
        distance = sums[other] - base
        if distance > reach + _ROUNDING:
            break
        keep = keeps[text[other]]
        if keep > 0.0:
            room.totals[text[other]] += keep * _weight(distance, reach, near.weighting)
            room.marks[text[other] // _STRIDE] = 1
    for back in range(place):
        other = place - 1 - back
        keep = keeps[text[other]]
        distance = sums[place] - sums[other] - keep + 1.0
        if distance > reach + _ROUNDING:
            break
        if keep > 0.0:
            room.totals[text[other]] += keep * _weight(distance, reach, near.weighting)
            room.marks[text[other] // _STRIDE] = 1


@kernel
def count_near(given, near, first, room):
    """Count what stands near the places of each row from ``first`` on, as long as there is room for a full row; returns
    where each finished row ends, int64 (rows + 1,), beginning with 0."""
    starts = given.starts
    types = len(starts) - 1
    ends = np.zeros(types - first + 1, np.int64)
    for row in range(first, types):
        begin = ends[row - first]
        if begin + len(room.totals) > len(room.columns):
            return ends[: row - first + 1]
        ends[row - first + 1] = begin
        if near.keeps[row] > 0.0 and starts[row + 1] > starts[row]:
            for at in range(starts[row], starts[row + 1]):
                _add_near(given, near, given.order[at], room)
            ends[row - first + 1] = _emit(room, begin, near.keeps[row])
    return ends


# ---- smooths


@part
def _forget(row, before, word, rates):
    """Fill a row of smooths (rates * k,) from the row before it and the vector (k,) of the word that comes in."""
    k = len(word)
    for i in range(len(rates)):
        for c in range(k):
            row[i * k + c] = (1.0 - rates[i]) * before[i * k + c] + rates[i] * word[c]


@kernel
def smooths(tokens, starts, vectors, rates):
    """The left and the right smooths of sentences, both float64 (n, rates * k); ``vectors`` (types, k) are A."""
    # Zeros stay where nothing stood before the first token of a sentence, and nothing after the last.
    left = np.zeros((len(tokens), len(rates) * vectors.shape[1]))
    right = np.zeros_like(left)
    for sentence in range(len(starts) - 1):
        for t in range(starts[sentence] + 1, starts[sentence + 1]):
            _forget(left[t], left[t - 1], vectors[tokens[t - 1]], rates)
        for t in range(starts[sentence + 1] - 2, starts[sentence] - 1, -1):
            _forget(right[t], right[t + 1], vectors[tokens[t + 1]], rates)
    return left, right


@kernel
def add_by_word(tokens, rows, sums):
    """Add the row (width,) of each token to that of its word in ``sums`` (types, width)."""
    for t in range(len(tokens)):
        total = sums[tokens[t]]
        for c in range(rows.shape[1]):
            total[c] += rows[t, c]
