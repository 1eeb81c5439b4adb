"""Counts of analyses in contexts, as sorted 64-bit keys.

A context of a token is its form t with nothing, a neighbour, or the first or last letter of a neighbour (kinds 0 to 6),
and the same without t (kinds 7 to 13). A key is mixed from a context and a value of an analysis: the whole label, or
one of its elements. Keys are even over all 64 bits, so that their first bits lead to the few of a sorted table among
which one is. A column is a pair (target, kind); target -1 counts the context alone.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 4: the matrix of co-occurrence counts B = X'Y, of which z = B_jk x_ij are the numbers that are looked up here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

N_KINDS = 14
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """``keys`` uint64 (n,), ascending; ``counts`` int32 (n,); ``buckets`` int64: where the keys with the same first
    bits begin; ``shift`` uint64: how many bits are not first."""

    keys: np.ndarray
    counts: np.ndarray
    buckets: np.ndarray
    shift: np.uint64


@kernel
def fill_contexts(words, fields, contexts):
    """``words`` uint64 (n,), ``fields`` uint64 (7, n) -> ``contexts`` uint64 (n, 14)."""
    half = len(fields)
    for i in range(len(words)):
        for kind in range(half):
            start = mix(np.uint64(kind + 1) * _PRIME ^ fields[kind, i])
            contexts[i, kind] = mix(start * _PRIME ^ words[i])
            contexts[i, half + kind] = start


@part(inline=True)
def key_of(context, values, label, target):
    """The key of a context with a value."""
    if target < 0:
        return mix(context)
    return mix(context * _PRIME ^ values[label, target])


@kernel
def fill_keys(contexts, labels, values, columns, keys):
    """The keys of tokens with their labels, uint64 (n, n_columns); ``values`` uint64 (n_labels, 1 + n_elements)."""
    for i in range(len(labels)):
        for column in range(len(columns)):
            keys[i, column] = key_of(contexts[i, columns[column, 1]], values, labels[i], columns[column, 0])


@kernel
def look_up(tokens, labels, contexts, values, columns, table, out):
    """The counts of rows (a token with a candidate), float32 (n_rows, n_columns). Candidates of a token mostly have the
    same value of an element as the one before them, and then the same count."""
    for row in range(len(tokens)):
        follows = row > 0 and tokens[row] == tokens[row - 1]
        for column in range(len(columns)):
            target = columns[column, 0]
            if follows and (target < 0 or values[labels[row], target] == values[labels[row - 1], target]):
                out[row, column] = out[row - 1, column]
                continue
            key = key_of(contexts[tokens[row], columns[column, 1]], values, labels[row], target)
            # Keys are even over 64 bits, so a bucket has two to four of them: a scan is quicker than a search.
            bucket = key >> table.shift
            out[row, column] = 0.0
            for at in range(table.buckets[bucket], table.buckets[bucket + np.uint64(1)]):
                if table.keys[at] == key:
                    out[row, column] = table.counts[at]
                    break
