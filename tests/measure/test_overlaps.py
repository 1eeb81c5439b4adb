"""BLEU and common subsequences against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np

from corpuscle.measure.kernels.overlaps import Candidates, bleu_statistics, common_subsequence, f_statistics


def ngrams(sequence, n):
    return Counter(tuple(sequence[i : i + n]) for i in range(len(sequence) - n + 1))


def test_bleu_statistics_are_clipped_counts():
    generator = np.random.default_rng(2)
    for _ in range(50):
        candidate = generator.integers(0, 3, generator.integers(1, 9))
        references = [generator.integers(0, 3, generator.integers(1, 9)) for _ in range(generator.integers(1, 4))]
        given = Candidates(
            candidate,
            np.array([0, len(candidate)]),
            np.concatenate(references),
            np.cumsum([0, *map(len, references)]),
            np.array([0, len(references)]),
            np.array([0]),
        )
        found = bleu_statistics(given)[0]
        for n in range(1, 5):
            most = Counter()
            for reference in references:
                most |= ngrams(reference.tolist(), n)
            assert found[2 * n - 2] == sum((ngrams(candidate.tolist(), n) & most).values())
            assert found[2 * n - 1] == max(0, len(candidate) - n + 1)
        closest = min((abs(len(r) - len(candidate)), len(r)) for r in references)[1]
        assert found[8:].tolist() == [len(candidate), closest]


def lcs(a, b):
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return lcs(a[:-1], b[:-1]) + 1
    return max(lcs(a[:-1], b), lcs(a, b[:-1]))


def test_common_subsequences_and_f():
    generator = np.random.default_rng(4)
    for _ in range(30):
        a, b = (generator.integers(0, 3, generator.integers(0, 7)).astype(np.int32) for _ in range(2))
        assert common_subsequence(a, b) == lcs(a.tolist(), b.tolist())
    given = Candidates(
        np.frombuffer("abcd".encode("utf-32-le"), np.int32),
        np.array([0, 4]),
        np.frombuffer("abedxyz".encode("utf-32-le"), np.int32),
        np.array([0, 4, 7]),
        np.array([0, 2]),
        np.array([0]),
    )
    assert f_statistics(given).tolist() == [[0.75, 1.0]]
