"""The n-grams of a text, numbered once: what never changes while topics are sampled.

A *row* is an n-gram hw, a *context* is its h; the parent of either lacks the oldest word. Rows are numbered depth by
depth, where depth is the length of h, and within a depth by their parent and then by their oldest word, so the
extensions of a row to the left are consecutive. The same holds for contexts; context 0 is the empty one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Grams(NamedTuple):
    """All n-grams of a text and where its words stand among them.

    - ``row_symbol``: int32 (rows,), the oldest word of a row; ``row_parent``: int32 (rows,), -1 at depth 0;
    - ``row_context``: int32 (rows,); ``row_count``: int32 (rows,), how many words of the text have it;
    - ``row_levels``, ``context_levels``: int64 (depths + 1,), where the rows and contexts of each depth begin;
    - ``context_symbol``: int32 (contexts,), 0 for the empty context; ``context_parent``: int32 (contexts,), -1 for it;
    - ``context_count``: int32 (contexts,);
    - ``longest``: int32 (words,), the row of every word with the longest context that it has;
    - ``available``: uint8 (words,), the depth of that row.
    """

    row_symbol: np.ndarray
    row_parent: np.ndarray
    row_context: np.ndarray
    row_count: np.ndarray
    row_levels: np.ndarray
    context_symbol: np.ndarray
    context_parent: np.ndarray
    context_count: np.ndarray
    context_levels: np.ndarray
    longest: np.ndarray
    available: np.ndarray


class _Level(NamedTuple):
    """The items of one depth: their parents, oldest symbols and counts, and the item of every word that has one."""

    parent: np.ndarray
    symbol: np.ndarray
    counts: np.ndarray
    of_word: np.ndarray


def _extend(of_word: np.ndarray, symbols: np.ndarray, n_types: int, first: int) -> _Level:
    """Items one symbol longer, numbered from ``first`` on; ``of_word`` and ``symbols``: (words,)."""
    keys, of_word, counts = np.unique(
        of_word.astype(np.int64) * n_types + symbols, return_inverse=True, return_counts=True
    )
    parent, symbol = np.divmod(keys, n_types)
    return _Level(parent, symbol, counts, of_word + first)


def number_grams(symbols: np.ndarray, available: np.ndarray, start: int, n_types: int) -> Grams:
    """The n-grams of a stream of symbols in which ``start`` begins every sentence and is not itself a word.

    ``available``: uint8 (n_symbols,), how many symbols before each belong to its longest context.
    """
    words = np.flatnonzero(symbols != start)
    available = available[words]
    zero = np.zeros(len(words), np.int64)
    rows = [_extend(zero, symbols[words], n_types, 0)]
    contexts = [_Level(np.array([-1]), np.array([0]), np.array([len(words)]), zero)]
    rows[0].parent[:] = -1
    row_context = [np.zeros(len(rows[0].parent), np.int64)]
    row_levels, context_levels = [0, len(rows[0].parent)], [0, 1]
    longest = rows[0].of_word.copy()
    chosen = np.arange(len(words))  # the words that have a context of this depth
    for depth in range(1, int(available.max(initial=0)) + 1):
        deeper = np.flatnonzero(available[chosen] >= depth)
        chosen = chosen[deeper]
        before = symbols[words[chosen] - depth]
        rows.append(_extend(rows[-1].of_word[deeper], before, n_types, row_levels[-1]))
        contexts.append(_extend(contexts[-1].of_word[deeper], before, n_types, context_levels[-1]))
        context = np.empty(len(rows[-1].parent), np.int64)
        context[rows[-1].of_word - row_levels[-1]] = contexts[-1].of_word
        row_context.append(context)
        longest[chosen] = rows[-1].of_word
        row_levels.append(row_levels[-1] + len(rows[-1].parent))
        context_levels.append(context_levels[-1] + len(contexts[-1].parent))
    if row_levels[-1] >= 2**31:
        raise ValueError("more than 2^31 n-grams in one text")

    def joined(levels: list[_Level], field: int) -> np.ndarray:
        return np.concatenate([level[field] for level in levels]).astype(np.int32)

    return Grams(
        joined(rows, 1),
        joined(rows, 0),
        np.concatenate(row_context).astype(np.int32),
        joined(rows, 2),
        np.array(row_levels, np.int64),
        joined(contexts, 1),
        joined(contexts, 0),
        joined(contexts, 2),
        np.array(context_levels, np.int64),
        longest.astype(np.int32),
        available,
    )
