"""What two short sequences have in common: matching n-grams (BLEU), and the longest common subsequence.

Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation", 2002, section 2.1;
Wagner and Fischer, "The string-to-string correction problem", 1974.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import frozen, kernel

__all__ = ["bleu_statistics", "common_subsequence", "f_statistics"]


@kernel
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
def _occurrences(sequence, gram, begin, n):
    """How often the n-gram at ``gram[begin]`` occurs in a sequence."""
    count = 0
    for i in range(len(sequence) - n + 1):
        same = True
        for k in range(n):
            if sequence[i + k] != gram[begin + k]:
                same = False
                break
        count += same
    return count


@kernel
def _bleu(out, candidates, starts, references, reference_starts, first_reference, item):
    for row in range(len(item)):
        candidate = candidates[starts[row] : starts[row + 1]]
        first, last = first_reference[item[row]], first_reference[item[row] + 1]
        for n in range(1, 5):
            matches = 0
            for i in range(len(candidate) - n + 1):
                # Occurrence number k of an n-gram matches if some reference has more than k of them.
                before = _occurrences(candidate[: i + n - 1], candidate, i, n)
                for r in range(first, last):
                    reference = references[reference_starts[r] : reference_starts[r + 1]]
                    if _occurrences(reference, candidate, i, n) > before:
                        matches += 1
                        break
            out[row, 2 * n - 2] = matches
            out[row, 2 * n - 1] = max(0, len(candidate) - n + 1)
        closest = -1
        for r in range(first, last):
            length = reference_starts[r + 1] - reference_starts[r]
            gap, best = abs(length - len(candidate)), abs(closest - len(candidate))
            if closest < 0 or gap < best or (gap == best and length < closest):
                closest = length
        out[row, 8] = len(candidate)
        out[row, 9] = closest


@kernel
def _f_score(out, candidates, starts, references, reference_starts, first_reference, item):
    for row in range(len(item)):
        candidate = candidates[starts[row] : starts[row + 1]]
        nearest, value = -1, 0.0
        for r in range(first_reference[item[row]], first_reference[item[row] + 1]):
            reference = references[reference_starts[r] : reference_starts[r + 1]]
            common = common_subsequence(candidate, reference)
            distance = len(candidate) + len(reference) - 2 * common
            if nearest < 0 or distance < nearest:
                nearest = distance
                value = 2.0 * common / (len(candidate) + len(reference)) if common else 0.0
        out[row, 0], out[row, 1] = value, 1.0


def _arguments(
    candidates: np.ndarray,
    starts: np.ndarray,
    references: np.ndarray,
    reference_starts: np.ndarray,
    first_reference: np.ndarray,
    item: np.ndarray,
) -> tuple[np.ndarray, ...]:
    return (
        frozen(candidates, np.int32),
        frozen(starts, np.int64),
        frozen(references, np.int32),
        frozen(reference_starts, np.int64),
        frozen(first_reference, np.int64),
        frozen(item, np.int64),
    )


def bleu_statistics(
    candidates: np.ndarray,
    starts: np.ndarray,
    references: np.ndarray,
    reference_starts: np.ndarray,
    first_reference: np.ndarray,
    item: np.ndarray,
) -> np.ndarray:
    """The statistics of corpus BLEU, float64 (n_candidates, 10): matches and totals for n = 1..4, candidate length,
    closest reference length (the shorter of two that are equally close).

    Candidates and references are int32 in CSR form; candidate c belongs to item ``item[c]``, whose references are
    ``first_reference[item]`` to ``first_reference[item + 1]``; several of them clip at the largest count.
    """
    out = np.empty((len(item), 10))
    _bleu(out, *_arguments(candidates, starts, references, reference_starts, first_reference, item))
    return out


def f_statistics(
    candidates: np.ndarray,
    starts: np.ndarray,
    references: np.ndarray,
    reference_starts: np.ndarray,
    first_reference: np.ndarray,
    item: np.ndarray,
) -> np.ndarray:
    """F of each candidate against the reference with the smallest edit distance to it, and 1: float64 (n, 2)."""
    out = np.empty((len(item), 2))
    _f_score(out, *_arguments(candidates, starts, references, reference_starts, first_reference, item))
    return out
