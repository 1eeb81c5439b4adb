"""What two short sequences have in common: matching n-grams (BLEU), and the longest common subsequence, edits.

Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation", 2002;
Wagner and Fischer, "The string-to-string correction problem", 1974; Ukkonen, "Algorithms for approximate string
matching", 1985 (the band).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part


class Candidates(NamedTuple):
    """Candidates for items that have references.

    - ``tokens``: int32, those of all candidates; ``starts``: int64 (n_candidates + 1,), where each begins;
    - ``references``, ``reference_starts``: the references of all items likewise;
    - ``first_reference``: int64 (n_items + 1,), the first reference of each item;
    - ``item``: int64 (n_candidates,), which item a candidate is for.
    """

    tokens: np.ndarray
    starts: np.ndarray
    references: np.ndarray
    reference_starts: np.ndarray
    first_reference: np.ndarray
    item: np.ndarray


@part
def _candidate(candidates, row):
    """The tokens of a candidate, and its first reference and the one after its last."""
    item = candidates.item[row]
    tokens = candidates.tokens[candidates.starts[row] : candidates.starts[row + 1]]
    return tokens, candidates.first_reference[item], candidates.first_reference[item + 1]


@part
def _reference(candidates, r):
    return candidates.references[candidates.reference_starts[r] : candidates.reference_starts[r + 1]]


@part
def common_subsequence(a, b):
    """The length of the longest common subsequence of two integer arrays."""
    row = np.zeros(len(b) + 1, np.int64)
    for x in a:
        diagonal = 0
        for j in range(len(b)):
            above = row[j + 1]
            if x == b[j]:
                row[j + 1] = diagonal + 1
            elif row[j] > above:
                row[j + 1] = row[j]
            diagonal = above
    return row[len(b)]


@kernel
def edit_distance(a, b, most):
    """The Levenshtein distance of two integer arrays if it is at most ``most``, else ``most + 1``; in a band of
    2 most + 1 diagonals."""
    n, m = len(a), len(b)
    if abs(n - m) > most:
        return most + 1
    row = np.full(m + 1, most + 1, np.int64)
    for j in range(min(m, most) + 1):
        row[j] = j
    for i in range(1, n + 1):
        first, last = max(1, i - most), min(m, i + most)
        diagonal = row[first - 1]
        row[first - 1] = i if first == 1 else most + 1  # left of the band no distance is small enough
        best = row[first - 1]
        for j in range(first, last + 1):
            above = row[j] if j < i + most else most + 1  # nor above it
            value = min(diagonal + (a[i - 1] != b[j - 1]), above + 1, row[j - 1] + 1)
            diagonal = row[j]
            row[j] = min(value, most + 1)
            best = min(best, row[j])
        if best > most:
            return most + 1
    return min(row[m], most + 1)


@part
def _occurrences(sequence, gram, begin, n):
    """How often the n-gram at ``gram[begin]`` occurs in a sequence."""
    count = 0
    for i in range(len(sequence) - n + 1):
        k = 0
        while k < n and sequence[i + k] == gram[begin + k]:
            k += 1
        count += k == n
    return count


@kernel
def _bleu(candidates, out):
    for row in range(len(out)):
        candidate, first, last = _candidate(candidates, row)
        for n in range(1, 5):
            matches = 0
            for i in range(len(candidate) - n + 1):
                # Occurrence number k of an n-gram matches if some reference has more than k of them.
                before = _occurrences(candidate[: i + n - 1], candidate, i, n)
                for r in range(first, last):
                    if _occurrences(_reference(candidates, r), candidate, i, n) > before:
                        matches += 1
                        break
            out[row, 2 * n - 2] = matches
            out[row, 2 * n - 1] = max(0, len(candidate) - n + 1)
        closest = -1
        for r in range(first, last):
            length = len(_reference(candidates, r))
            gap, best = abs(length - len(candidate)), abs(closest - len(candidate))
            if closest < 0 or gap < best or (gap == best and length < closest):
                closest = length
        out[row, 8] = len(candidate)
        out[row, 9] = closest


@kernel
def _f_score(candidates, out):
    for row in range(len(out)):
        candidate, first, last = _candidate(candidates, row)
        nearest, value = -1, 0.0
        for r in range(first, last):
            reference = _reference(candidates, r)
            common = common_subsequence(candidate, reference)
            distance = len(candidate) + len(reference) - 2 * common
            if nearest < 0 or distance < nearest:
                nearest = distance
                value = 2.0 * common / (len(candidate) + len(reference)) if common else 0.0
        out[row, 0], out[row, 1] = value, 1.0


def _statistics(measure: Any, candidates: Candidates, columns: int) -> np.ndarray:
    """What a kernel says of each candidate, float64 (n_candidates, columns)."""
    out = np.empty((len(candidates.item), columns))
    types = (np.int32, np.int64, np.int32, np.int64, np.int64, np.int64)
    measure(Candidates(*map(frozen, candidates, types)), out)
    return out


def bleu_statistics(candidates: Candidates) -> np.ndarray:
    """The statistics of corpus BLEU, float64 (n_candidates, 10): matches and totals for n = 1..4, candidate length,
    closest reference length (the shorter of two that are equally close). Several references clip at the largest count.
    """
    return _statistics(_bleu, candidates, 10)


def f_statistics(candidates: Candidates) -> np.ndarray:
    """F of each candidate against the reference with the smallest edit distance to it, and 1: float64 (n, 2)."""
    return _statistics(_f_score, candidates, 2)
