"""Adding up the n-gram counts of two texts: two tries become one.

Both tries have the same symbols, so their unigram rows are the same. From there on, level by level: the continuations
of a context of the merged trie are those that its counterparts in the two tries have, merged like two sorted lists. A
suffix needs no search, because each trie knows its own, and every row knows its place in the merged trie. Counting
pieces of a text and merging them gives exactly what counting the whole text gives.

Merging sorted lists: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973, section 5.2.4.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import ROOT, Ngrams
from corpuscle.errors import SettingError

__all__ = ["merge_ngrams"]

_CONTEXTS = 1 << 20


@kernel
def _merge_children(a, b, from_a, from_b, first, last, at, place_a, place_b, new, children):
    """Merge the continuations of the contexts ``first`` to ``last``, from row ``at`` of the level on; returns the next.

    ``from_a``, ``from_b``: int32 (contexts,), the counterpart of each merged context, or -1. ``new``: int32 (5, room)
    receives word, count, suffix and the two counterparts of each merged row, ``children`` how many each context has,
    ``place_a`` and ``place_b`` where the rows of the lower levels of the two tries have gone.
    """
    for context in range(first, last):
        row_a = end_a = row_b = end_b = np.int64(0)
        if from_a[context] >= 0:
            row_a, end_a = np.int64(a.first_child[from_a[context]]), np.int64(a.first_child[from_a[context] + 1])
        if from_b[context] >= 0:
            row_b, end_b = np.int64(b.first_child[from_b[context]]), np.int64(b.first_child[from_b[context] + 1])
        before = at
        while row_a < end_a or row_b < end_b:
            in_a = row_b == end_b or (row_a < end_a and a.words[row_a] <= b.words[row_b])
            in_b = row_a == end_a or (row_b < end_b and b.words[row_b] <= a.words[row_a])
            new[1, at] = 0
            new[3, at] = new[4, at] = -1
            if in_a:
                new[0, at], new[2, at], new[3, at] = a.words[row_a], place_a[a.suffix[row_a]], row_a
                new[1, at] += a.counts[row_a]
                row_a += 1
            if in_b:
                new[0, at], new[2, at], new[4, at] = b.words[row_b], place_b[b.suffix[row_b]], row_b
                new[1, at] += b.counts[row_b]
                row_b += 1
            at += 1
        children[context] = at - before
    return at


def merge_ngrams(a: Ngrams, b: Ngrams) -> Ngrams:
    """The counts of two texts together; both must have been counted with the same symbols and the same order."""
    n_types = int(a.levels[1])
    place_a, place_b = np.zeros(len(a.words), np.int32), np.zeros(len(b.words), np.int32)
    from_a = from_b = np.arange(n_types, dtype=np.int32)
    place_a[:n_types] = place_b[:n_types] = from_a
    levels = [0, n_types]
    words, counts = [from_a], [a.counts[:n_types] + b.counts[:n_types]]
    suffix, first_child = [np.full(n_types, ROOT, np.int32)], []
    for m in range(1, a.order):
        room = int(a.levels[m + 1] - a.levels[m] + b.levels[m + 1] - b.levels[m])
        new, children = np.empty((5, room), np.int32), np.empty(len(from_a), np.int32)
        rows = 0
        for first in range(0, len(from_a), _CONTEXTS):
            last = min(first + _CONTEXTS, len(from_a))
            rows = _merge_children(a, b, from_a, from_b, first, last, rows, place_a, place_b, new, children)
        ends = np.cumsum(children, dtype=np.int64)
        first_child.append(levels[-1] + ends - children)
        from_a, from_b = new[3, :rows].copy(), new[4, :rows].copy()
        numbers = np.arange(levels[-1], levels[-1] + rows, dtype=np.int32)
        place_a[from_a[from_a >= 0]] = numbers[from_a >= 0]
        place_b[from_b[from_b >= 0]] = numbers[from_b >= 0]
        for parts, row in ((words, 0), (counts, 1), (suffix, 2)):
            parts.append(new[row, :rows].copy())
        levels.append(levels[-1] + rows)
    if levels[-1] >= 2**31:
        raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")
    return Ngrams(
        frozen(np.array(levels), np.int64),
        frozen(np.concatenate(words), np.int32),
        frozen(np.concatenate([*first_child, [levels[-1] if a.order > 1 else 0]]), np.int32),
        frozen(np.concatenate(suffix), np.int32),
        frozen(np.concatenate(counts), np.int32),
    )
