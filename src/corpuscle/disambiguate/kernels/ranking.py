"""Counts of analyses in contexts, as sorted 64-bit keys.

A context of a token is its form t with nothing, a neighbour, or the first or last letter of a neighbour (kinds 0 to 6),
and the same without t (kinds 7 to 13). A key is mixed from a context and a value of an analysis: the whole label, or
one of its elements. Keys are even over all 64 bits, so that their first bits lead to the few of a sorted table among
which one is. A column is a pair (target, kind); target -1 counts the context alone.

The words that the documents of a lemma and a document have in common, for many pairs of a lemma and a document.

N_l(w), how often word w is in the documents of lemma l, and tf(w, d), how often it is in document d, are sparse rows.
Pairs come lemma by lemma: the row of a lemma is spread out once, then read at the words of each of its documents.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 4 (the matrix of co-occurrence counts B = X'Y, of which z = B_jk x_ij are the numbers looked up here) and 4.2.

The best analyses of a sentence together, and how likely each is, over a few candidates of every word.

Token j has some candidates with a score each; the score of two candidates that follow each other is ``steps[j, p, q]``,
from p at j - 1 to q at j, in logarithms, -inf where there is no candidate. A sentence is a chain of
``engine.dp.chains``, whose sums run over exponentials: each position is brought to a largest score of 0 before.

Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.chains import Chain, Room, best_chain, best_path, expectations
from corpuscle.random import mix

N_KINDS = 14
_PRIME = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio, odd: keeps the order of what is mixed apart


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
    """The counts of rows (a token with a candidate), float32 (n_rows, n_columns); ``table``: see ``analyses.Counts``.
    Candidates of a token mostly have the same value of an element as the one before them, and then the same count."""
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


class Sparse(NamedTuple):
    """Rows of counts: row i has ``counts[starts[i]:starts[i + 1]]``, int32, at ``columns``, int32, ascending."""

    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray


@kernel
def common_words(lemmas, texts, pairs, room, ends, columns, counts, times):
    """Of ``pairs`` int64 (n, 2) of a row of ``lemmas`` and one of ``texts``, sorted: the ``columns`` that both have,
    their ``counts`` and ``times``, int32, up to ``ends`` (n,). ``room`` int32 (n_columns,): zeros, and left so."""
    at = k = 0
    while k < len(pairs):
        lemma = pairs[k, 0]
        for j in range(lemmas.starts[lemma], lemmas.starts[lemma + 1]):
            room[lemmas.columns[j]] = lemmas.counts[j]
        while k < len(pairs) and pairs[k, 0] == lemma:
            text = pairs[k, 1]
            for j in range(texts.starts[text], texts.starts[text + 1]):
                count = room[texts.columns[j]]
                if count > 0:
                    columns[at], counts[at], times[at] = texts.columns[j], count, texts.counts[j]
                    at += 1
            ends[k] = at
            k += 1
        # Only the cells that were written are cleared: a row is short, the room has a cell for each word.
        for j in range(lemmas.starts[lemma], lemmas.starts[lemma + 1]):
            room[lemmas.columns[j]] = 0


@kernel
def best_sequences(starts, emission, steps, path):
    """``path`` int32 (n,): the candidates of the best sequence of each sentence; ``starts`` of sentences; ``emission``
    (n, s), ``steps`` (n, s, s): scores."""
    s = emission.shape[1]
    nothing = np.zeros(s)
    for sentence in range(len(starts) - 1):
        first, last = starts[sentence], starts[sentence + 1]
        n = last - first
        if n > 0:
            table, scales = np.zeros((n, s)), np.ones(n)
            chain = Chain(nothing, emission[first:last], steps[first:last], nothing)
            best_chain(n, s, chain, table, scales)
            best_path(n, s, chain, table, path[first:last])


@kernel
def expected(starts, emission, steps, shares, taken):
    """The logarithm of the sum over all sequences, of all sentences together; ``shares`` (n, s): the probability of
    each candidate; ``taken`` (n, s, s): of each two that follow each other."""
    s = emission.shape[1]
    ones, logarithm = np.ones(s), 0.0
    for sentence in range(len(starts) - 1):
        first, last = starts[sentence], starts[sentence + 1]
        n = last - first
        if n == 0:
            continue
        weights, ways, turned = np.zeros((n, s)), np.zeros((n, s, s)), np.zeros((n, s, s))
        for j in range(n):
            top, high = -math.inf, -math.inf
            for q in range(s):
                top = max(top, emission[first + j, q])
                for p in range(s):
                    high = max(high, steps[first + j, p, q])
            logarithm += top
            for q in range(s):
                weights[j, q] = math.exp(emission[first + j, q] - top)
                if j > 0:  # nothing leads into the first position
                    for p in range(s):
                        ways[j, p, q] = math.exp(steps[first + j, p, q] - high)
                        turned[j, q, p] = ways[j, p, q]
            if j > 0:
                logarithm += high
        room = Room(shares[first:last], taken[first:last], np.zeros(s), np.zeros(s), np.ones(n))
        logarithm += expectations(n, s, Chain(ones, weights, ways, ones), turned, room)
    return logarithm
