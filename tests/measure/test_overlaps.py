"""BLEU and common subsequences against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from corpuscle.measure.overlaps import Candidates, bleu_statistics, common_subsequence, f_statistics


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


def given(candidates, references, item):
    """Texts as candidates for items."""
    flat = [text for texts in references for text in texts]
    codes = [np.frombuffer("".join(texts).encode("utf-32-le"), np.int32) for texts in (candidates, flat)]
    starts = [np.cumsum([0, *map(len, texts)]) for texts in (candidates, flat, references)]
    return Candidates(codes[0], starts[0], codes[1], starts[1], starts[2], np.array(item))


@pytest.mark.parametrize(
    ("candidate", "references", "expected"),
    [
        ("abc", ["abc", "xyz"], 1.0),
        ("abc", ["x"], 0.0),
        ("", [""], 0.0),
        ("abcd", ["abcdefg", "ab"], 4 / 6),
        ("abc", ["abx", "abcde"], 4 / 6),  # of two that are equally near, the first
        ("abc", ["abcde", "abx"], 6 / 8),
    ],
)
def test_f_is_that_of_the_nearest_reference(candidate, references, expected):
    assert f_statistics(given([candidate], [references], [0])).tolist() == [[pytest.approx(expected), 1.0]]


@pytest.mark.parametrize("statistics", [bleu_statistics, f_statistics])
def test_the_statistics_of_many_candidates_are_those_of_each(statistics):
    references = [["abcab", "ab"], ["bcabc"], ["", "cabca", "bbbbb"], ["yyyyyyyyy"], ["xxx", "x"]]
    candidates, item = ["abcb", "bcab", "", "bbbb", "cabc", "abbca", "bbb", "abc"], [1, 0, 2, 2, 1, 0, 3, 4]
    alone = [given([text], [references[i]], [0]) for text, i in zip(candidates, item, strict=True)]
    found = statistics(given(candidates, references, item)).tolist()
    assert found == [statistics(each)[0].tolist() for each in alone]


def test_an_empty_reference_may_be_the_closest_in_length():
    for references in (["", "abcde"], ["abcde", ""]):
        assert bleu_statistics(given(["a"], [references], [0]))[0, 8:].tolist() == [1, 0]
    assert bleu_statistics(given(["ab"], [["abc", "a"]], [0]))[0, 9] == 1  # the shorter of two that are equally close
