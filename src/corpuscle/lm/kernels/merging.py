"""Adding up the n-gram counts of two texts: two tries become one.

Both tries have the same symbols, so their unigram rows are the same. From there on, level by level: the continuations
of a context of the merged trie are those that its counterparts in the two tries have, merged like two sorted lists. A
suffix needs no search, because each trie knows its own, and every row knows its place in the merged trie. Counting
pieces of a text and merging them gives exactly what counting the whole text gives.

Merging sorted lists: Knuth, "The art of computer programming, vol. 3: sorting and searching", 1973.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, frozen_ngrams
from corpuscle.errors import SettingError

_CONTEXTS = 1 << 20


class _Side(NamedTuple):
    """One of the two tries: ``ngrams``; ``context`` int32 (contexts,), the counterpart of each merged context, or -1;
    ``place`` int32 (rows,), where the rows of the lower levels have gone."""

    ngrams: Ngrams
    context: np.ndarray
    place: np.ndarray


@part(bare=True)
def _children(side, context):
    """The continuations of the counterpart of a merged context: first row, and the one behind the last."""
    row = side.context[context]
    if row < 0:
        return np.int64(0), np.int64(0)
    return np.int64(side.ngrams.first_child[row]), np.int64(side.ngrams.first_child[row + 1])


@kernel
def _merge_children(one, other, first, last, at, new, children):
    """Merge the continuations of the contexts ``first`` to ``last``, from row ``at`` of the level on; returns the next.

    ``new``: int32 (5, room) receives word, count, suffix and the two counterparts of each merged row, ``children`` how
    many each context has.
    """
    a, b = one.ngrams, other.ngrams
    for context in range(first, last):
        row_a, end_a = _children(one, context)
        row_b, end_b = _children(other, context)
        before = at
        while row_a < end_a or row_b < end_b:
            in_a = row_b == end_b or (row_a < end_a and a.words[row_a] <= b.words[row_b])
            in_b = row_a == end_a or (row_b < end_b and b.words[row_b] <= a.words[row_a])
            new[1, at] = 0
            new[3, at] = new[4, at] = -1
            if in_a:
                new[0, at], new[2, at], new[3, at] = a.words[row_a], one.place[a.suffix[row_a]], row_a
                new[1, at] += a.counts[row_a]
                row_a += 1
            if in_b:
                new[0, at], new[2, at], new[4, at] = b.words[row_b], other.place[b.suffix[row_b]], row_b
                new[1, at] += b.counts[row_b]
                row_b += 1
            at += 1
        children[context] = at - before
    return at


def merge_ngrams(a: Ngrams, b: Ngrams) -> Ngrams:
    """The counts of two texts together; both must have been counted with the same symbols and the same order."""
    n_types = int(a.levels[1])
    types, levels = np.arange(n_types, dtype=np.int32), [0, n_types]
    sides = [_Side(ngrams, types, np.zeros(len(ngrams.words), np.int32)) for ngrams in (a, b)]
    for side in sides:
        side.place[:n_types] = types
    words, counts = [types], [a.counts[:n_types] + b.counts[:n_types]]
    suffix, first_child = [np.full(n_types, ROOT, np.int32)], []
    for m in range(1, a.order):
        room = int(a.levels[m + 1] - a.levels[m] + b.levels[m + 1] - b.levels[m])
        contexts, rows = levels[-1] - levels[-2], 0
        new, children = np.empty((5, room), np.int32), np.empty(contexts, np.int32)
        for first in range(0, contexts, _CONTEXTS):
            last = min(first + _CONTEXTS, contexts)
            rows = _merge_children(sides[0], sides[1], first, last, rows, new, children)
        ends = np.cumsum(children, dtype=np.int64)
        first_child.append(levels[-1] + ends - children)
        numbers = np.arange(levels[-1], levels[-1] + rows, dtype=np.int32)
        sides = [side._replace(context=new[3 + i, :rows].copy()) for i, side in enumerate(sides)]
        for side in sides:
            side.place[side.context[side.context >= 0]] = numbers[side.context >= 0]
        for parts, row in ((words, 0), (counts, 1), (suffix, 2)):
            parts.append(new[row, :rows].copy())
        levels.append(levels[-1] + rows)
    if levels[-1] >= 2**31:
        raise SettingError("more than 2^31 distinct n-grams; a lower order has fewer")
    children = np.concatenate([*first_child, [levels[-1] if len(levels) > 2 else 0]])
    return frozen_ngrams(np.array(levels), np.concatenate(words), children, *map(np.concatenate, (suffix, counts)))
