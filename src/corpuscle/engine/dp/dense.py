"""Inside and outside weights of a dense binary grammar, over many sentences of one length at a time.

Symbols are 0..K-1, symbol 0 the root, and every rule A -> B C has a weight, ``rules[A, B K + C]``; weights need not add
up to one. Cells (stretches i..j of the n words) stand by width, short ones first, as in ``cky``, so those of one width
are one block of rows, a row for each cell and sentence. For a width, first the sums over splits,

    pairs[row, B K + C] = sum_k inside[i, k, B] inside[k, j, C]

then all rules at once: inside = pairs rules'. The way back is the same with matrices turned: the outside weights of a
width times the rules say what each pair is worth, and outside' pairs, times the rules at the end, are the expected
counts of rules. Three products of matrices are nearly all of the work, so the time is that of a matrix product.

The emissions of every position are divided by the largest, and all rules by a power of two so that a pair of words
weighs about one; both are put back in the logarithm of the total, and change no count. That is enough for sentences of
some 60 words in double precision.

Baker, "Trainable grammars for speech recognition", 1979; Lari and Young, "The estimation of stochastic context-free
grammars using the inside-outside algorithm", 1990.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.dp.cky import cell_of, cells_of

_ROWS = 512
"""Rows of pairs that are worked on at a time: as many as stay in a cache."""


class Expected(NamedTuple):
    """What is expected of sentences.

    - ``rules``: float64 (K, K K), how often each rule is used, all sentences together, each by its multiplicity;
    - ``words``: float64 (n_sentences, n, K), how likely each symbol stands above each word;
    - ``logarithms``: float64 (n_sentences,), of the total weight of all trees; -inf where there is none;
    - ``spans``: float64 (n_cells, n_sentences), how likely each stretch has a node, if asked for, else empty.
    """

    rules: np.ndarray
    words: np.ndarray
    logarithms: np.ndarray
    spans: np.ndarray


@kernel
def _pair(inside, n, width, symbols, pairs):
    """Fill ``pairs`` (cells of the width, sentences, K K) from ``inside`` (n_cells, sentences, K)."""
    sentences = inside.shape[1]
    for i in range(n + 1 - width):
        for sentence in range(sentences):
            row = pairs[i, sentence]
            row[:] = 0.0
            for k in range(1, width):
                left_cell, right_cell = cell_of(n, i, i + k), cell_of(n, i + k, i + width)
                left, right = inside[left_cell, sentence], inside[right_cell, sentence]
                for b in range(symbols):
                    weight, part = left[b], row[b * symbols : (b + 1) * symbols]
                    for c in range(symbols):
                        part[c] += weight * right[c]


@kernel
def _unpair(worth, inside, n, width, symbols, outside):
    """Give the children of cells of a width their outside weights, from what their pairs are worth."""
    sentences = inside.shape[1]
    for i in range(n + 1 - width):
        for sentence in range(sentences):
            row = worth[i, sentence]
            for k in range(1, width):
                left_cell, right_cell = cell_of(n, i, i + k), cell_of(n, i + k, i + width)
                left, right = inside[left_cell, sentence], inside[right_cell, sentence]
                to_left, to_right = outside[left_cell, sentence], outside[right_cell, sentence]
                for b in range(symbols):
                    weight, part, total = left[b], row[b * symbols : (b + 1) * symbols], 0.0
                    for c in range(symbols):
                        total += part[c] * right[c]
                        to_right[c] += weight * part[c]
                    to_left[b] += total


def _fill(leaves: np.ndarray, rules: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], float]:
    """Inside weights (n_cells, sentences, K), pairs of each width from 2 on, and the logarithm of what rules were
    multiplied by."""
    sentences, n, symbols = leaves.shape
    inside = np.empty((cells_of(n), sentences, symbols))
    inside[:n] = leaves.transpose(1, 0, 2)
    pairs: list[np.ndarray] = []
    factor, first, turned = 1.0, n, rules.T
    for width in range(2, n + 1):
        cells = n + 1 - width
        own = np.empty((cells, sentences, symbols * symbols))
        _pair(inside, n, width, symbols, own)
        np.matmul(own, turned, out=inside[first : first + cells])
        if width == 2:
            largest = float(inside[first : first + cells].max(initial=0.0))
            if largest > 0.0:
                factor = math.ldexp(1.0, int(-math.frexp(largest)[1]))
                turned = turned * factor
                inside[first : first + cells] *= factor
        pairs.append(own)
        first += cells
    return inside, pairs, math.log(factor)


def _batch(
    leaves: np.ndarray, rules: np.ndarray, times: np.ndarray, spans: bool, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, logarithms and spans of a few sentences; adds to ``counts``, which wait to be multiplied by the rules."""
    sentences, n, symbols = leaves.shape
    highest = leaves.max(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        leaves = np.where(highest[..., None] > 0, leaves / highest[..., None], 0.0)
        inside, pairs, logarithm = _fill(leaves, rules)
        totals = inside[-1, :, 0]
        logarithms = np.log(totals) + np.log(highest).sum(axis=1) - (n - 1) * logarithm
        each = np.where(totals > 0, times / totals, 0.0)
    outside = np.zeros_like(inside)
    outside[-1, :, 0] = each
    scaled, last = rules * math.exp(logarithm), len(inside)
    for width in range(n, 1, -1):
        cells, own = n + 1 - width, pairs.pop()
        above = outside[last - cells : last].reshape(-1, symbols)
        counts += (above.T @ own.reshape(len(above), -1)) * math.exp(logarithm)
        worth = (above @ scaled).reshape(own.shape)
        _unpair(worth, inside, n, width, symbols, outside)
        last -= cells
    words = (outside[:n] * inside[:n]).transpose(1, 0, 2)
    if not spans:
        return words, logarithms, np.zeros((0, sentences))
    return words, logarithms, (outside * inside).sum(axis=2)


def inside_outside(leaves: np.ndarray, rules: np.ndarray, times: np.ndarray, *, spans: bool = False) -> Expected:
    """Expectations of sentences of one length: ``leaves`` float64 (n_sentences, n, K), the weight of each symbol above
    each word; ``rules`` float64 (K, K K); ``times`` float64 (n_sentences,), how often each sentence is there, by which
    counts, words and spans are multiplied."""
    sentences, n, symbols = leaves.shape
    counts, step = np.zeros(rules.shape), max(1, _ROWS // cells_of(n))
    found = [
        _batch(leaves[at : at + step], rules, times[at : at + step], spans, counts) for at in range(0, sentences, step)
    ]
    if not found:
        return Expected(counts, np.zeros((0, n, symbols)), np.zeros(0), np.zeros((cells_of(n) * spans, 0)))
    words, logarithms, shares = (list(each) for each in zip(*found, strict=True))
    return Expected(counts * rules, np.concatenate(words), np.concatenate(logarithms), np.concatenate(shares, axis=1))
