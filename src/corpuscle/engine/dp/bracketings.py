"""All binary bracketings of a sentence, whose weight is the product of one weight for each of their spans.

Spans [i, j) of n words stand in a row: those that begin at word 0 by their ends, then those that begin at word 1, and
so on, n (n + 1) / 2 of them. The score of a span is the logarithm of
its weight. With plus the maximum, or the logarithm of a sum of exponentials,

    inside[i, j] = scores[i, j] + plus_k inside[i, k] + inside[k, j]

and the outside of a span is the plus of what its parents leave, from long spans to short ones. A product of few
probabilities of long strings has no scale that all spans share, hence the logarithms.

The posterior of a span is its share of the weight of all bracketings; the bracketing with the greatest sum of
posteriors has the most right brackets to be expected (minimum risk): the best one by scores that are posteriors.

Klein and Manning, "A generative constituent-context model for improved grammar induction", 2002, section 3; Goodman,
"Parsing algorithms and metrics", 1996, for the greatest sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corpuscle.compiled import kernel, kernel_inline
from corpuscle.engine.dp.semirings import MAX, SUM

__all__ = ["best_brackets", "best_bracketings", "posteriors", "random_splits", "spans_of"]


def spans_of(n: int) -> int:
    """How many spans of at least one word n words have."""
    return n * (n + 1) // 2


def bracketing(semiring: int) -> Any:
    """The kernel that fills the inside scores of one sentence."""

    @kernel
    def fill(scores, n, inside):
        """``scores`` and ``inside``: float64 (n + 1, n + 1); returns the total."""
        for i in range(n):
            inside[i, i + 1] = scores[i, i + 1]
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                j, high, total = i + width, -math.inf, 0.0
                for k in range(i + 1, j):
                    high = max(high, inside[i, k] + inside[k, j])
                if semiring == SUM and high > -math.inf:
                    for k in range(i + 1, j):
                        total += math.exp(inside[i, k] + inside[k, j] - high)
                    high += math.log(total)
                inside[i, j] = scores[i, j] + high
        return inside[0, n]

    return fill


_sum_bracketing, _best_bracketing = bracketing(SUM), bracketing(MAX)


@kernel
def best_brackets(scores, n, inside, brackets):
    """The best bracketing by ``scores``: ``brackets`` int32 (n - 1, 2) gets its spans of at least two words in
    preorder, the whole sentence first; among equals the smallest split. Returns its score."""
    total = _best_bracketing(scores, n, inside)
    stack, height, found = np.empty((n + 1, 2), np.int64), 0, 0
    if n > 1:
        stack[0, 0], stack[0, 1], height = 0, n, 1
    while height:
        height -= 1
        i, j = stack[height]
        brackets[found, 0], brackets[found, 1] = i, j
        found += 1
        split, best = i + 1, -math.inf
        for k in range(i + 1, j):
            value = inside[i, k] + inside[k, j]
            if value > best + 1e-12:
                split, best = k, value
        for a, b in ((split, j), (i, split)):
            if b - a > 1:
                stack[height, 0], stack[height, 1] = a, b
                height += 1
    return total


@kernel_inline
def _square(flat, n, square):
    """Spans in a row as a square (n + 1, n + 1)."""
    at = 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            square[i, j] = flat[at]
            at += 1


@kernel
def best_bracketings(flat, lengths, brackets):
    """``best_brackets`` of many sentences: ``flat`` has the scores of their spans one after the other, ``brackets``
    int32 (sum of n - 1, 2) what they get."""
    longest = 0
    for n in lengths:
        longest = max(longest, n)
    scores, inside = np.zeros((longest + 1, longest + 1)), np.zeros((longest + 1, longest + 1))
    at, put = 0, 0
    for n in lengths:
        if n > 1:
            _square(flat[at:], n, scores)
            best_brackets(scores, n, inside, brackets[put:])
            put += n - 1
        at += n * (n + 1) // 2


@kernel
def posteriors(flat, lengths, shares, totals):
    """How likely every span of many sentences is: ``flat`` float64, the scores of their spans one after the other,
    ``shares`` of the same size gets their posteriors, ``totals`` (n_sentences,) the logarithms of all weight."""
    longest = 0
    for n in lengths:
        longest = max(longest, n)
    room = (longest + 1, longest + 1)
    scores, inside, outside, high = np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room)
    at = 0
    for sentence in range(len(lengths)):
        n = lengths[sentence]
        if n == 0:
            totals[sentence] = 0.0
            continue
        _square(flat[at:], n, scores)
        total = totals[sentence] = _sum_bracketing(scores, n, inside)
        outside[0, n] = 0.0
        for width in range(n - 1, 0, -1):
            for i in range(n - width + 1):
                j, high_, value = i + width, -math.inf, 0.0
                for k in range(i):
                    high[0, k] = outside[k, j] + scores[k, j] + inside[k, i]
                    high_ = max(high_, high[0, k])
                for k in range(j + 1, n + 1):
                    high[0, k] = outside[i, k] + scores[i, k] + inside[j, k]
                    high_ = max(high_, high[0, k])
                for k in range(i):
                    value += math.exp(high[0, k] - high_)
                for k in range(j + 1, n + 1):
                    value += math.exp(high[0, k] - high_)
                outside[i, j] = high_ + math.log(value)
        for i in range(n):
            for j in range(i + 1, n + 1):
                shares[at] = math.exp(inside[i, j] + outside[i, j] - total)
                at += 1


@kernel
def random_splits(lengths, shares):
    """How likely each span is when every span is split at a place drawn uniformly, and its parts again: 1 for words and
    the whole sentence, 1 / w for a span of w words at one end of the sentence, else 2 / (w (w + 1))."""
    at = 0
    for n in lengths:
        for i in range(n):
            for j in range(i + 1, n + 1):
                width = j - i
                if width == 1 or width == n:
                    shares[at] = 1.0
                elif i == 0 or j == n:
                    shares[at] = 1.0 / width
                else:
                    shares[at] = 2.0 / (width * (width + 1))
                at += 1
