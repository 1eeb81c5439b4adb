"""First words by branching entropy: the entropies by definition, the words by trying all segmentations."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.segment.kernels.boundaries import autonomies, autonomous_words, best_cuts

STRETCHES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=5)


def flat(stretches: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Letters, and where stretches begin."""
    starts = np.concatenate([[0], np.cumsum([len(stretch) for stretch in stretches])])
    return np.array([letter for stretch in stretches for letter in stretch], np.int32), starts


def plain_autonomies(stretches: list[list[int]], longest: int) -> dict[tuple[int, ...], float]:
    """By the words of the definition: every string with its neighbours on both sides, ends being all different."""
    after: dict[tuple[int, ...], list[object]] = {}
    before: dict[tuple[int, ...], list[object]] = {}
    for number, stretch in enumerate(stretches):
        for begin in range(len(stretch)):
            for end in range(begin, min(len(stretch), begin + longest) + 1):
                string = tuple(stretch[begin:end])
                after.setdefault(string, []).append(stretch[end] if end < len(stretch) else ("end", number))
                before.setdefault(string, []).append(stretch[begin - 1] if begin else ("begin", number))

    def entropy(seen: list[object]) -> float:
        return -sum(count / len(seen) * log(count / len(seen)) for count in Counter(seen).values())

    result = {}
    for length in range(1, longest + 1):
        strings = [string for string in after if len(string) == length]
        right = {string: entropy(after[string]) - entropy(after[string[:-1]]) for string in strings}
        left = {string: entropy(before[string]) - entropy(before[string[1:]]) for string in strings}
        for string in strings:
            usual = (sum(right.values()) + sum(left.values())) / len(strings)
            result[string] = right[string] + left[string] - usual
    return result


@given(STRETCHES, st.integers(1, 4))
def test_autonomies_are_those_of_the_definition(stretches, longest):
    text, starts = flat(stretches)
    found = autonomies(text, starts, longest)
    plain = plain_autonomies(stretches, longest)
    for stretch, start in zip(stretches, starts, strict=False):
        for begin, length in product(range(len(stretch)), range(longest + 1)):
            string = tuple(stretch[begin : begin + length])
            expected = plain[string] if 0 < length == len(string) else -np.inf
            assert found[start + begin, length] == pytest.approx(expected, abs=1e-5)


@given(STRETCHES, st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_no_segmentation_has_more_autonomy(stretches, longest, seed):
    text, starts = flat(stretches)
    allowed = np.random.default_rng(seed).random(len(text)) < 0.8
    for begin in range(0, len(text), longest):  # else some stretch could not be cut at all
        allowed[begin] = True
    allowed[starts[:-1]] = True
    scores = autonomies(text, starts, longest)

    def total(start: int, inner: tuple[int, ...]) -> float:
        begins = [0, *(i + 1 for i, cut in enumerate(inner) if cut), len(inner) + 1]
        if any(not allowed[start + begin] for begin in begins[:-1]) or max(np.diff(begins)) > longest:
            return -np.inf
        return sum((end - begin) * scores[start + begin, end - begin] for begin, end in pairwise(begins))

    cuts = autonomous_words(text, starts, allowed, longest)
    for stretch, start in zip(stretches, starts, strict=False):
        assert cuts[start] == 1
        best = max(total(start, inner) for inner in product((0, 1), repeat=len(stretch) - 1))
        own = total(start, tuple(cuts[start + 1 : start + len(stretch)].tolist()))
        assert own == pytest.approx(best, abs=1e-4)
        assert own > -np.inf


def test_words_of_a_random_language_are_found():
    random = np.random.default_rng(7)
    lexicon = [random.integers(0, 12, random.integers(2, 5)).tolist() for _ in range(40)]
    chosen = [random.integers(0, 40, 6) for _ in range(1000)]
    sentences = [[letter for word in words for letter in lexicon[word]] for words in chosen]
    text, starts = flat(sentences)
    truth = np.zeros(len(text), np.uint8)
    place = 0
    for words in chosen:
        for word in words:
            truth[place] = 1
            place += len(lexicon[word])
    cuts = autonomous_words(text, starts, np.ones(len(text), bool), 6)
    found, right = (set(pairwise([*np.flatnonzero(begins), len(text)])) for begins in (cuts, truth))
    assert 2 * len(found & right) / (len(found) + len(right)) > 0.8


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 1000))
def test_the_best_cuts_equal_enumeration(n, longest, seed):
    dice = np.random.default_rng(seed)
    scores, allowed = dice.normal(size=(n, longest + 1)), dice.uniform(size=n) < 0.7
    for t in range(1, n):  # there is a way
        allowed[t] |= not allowed[max(0, t - longest + 1) : t].any()
    scored = {}
    for inner in product([0, 1], repeat=n - 1):
        begins = [0, *(t for t, cut in enumerate(inner, 1) if cut), n]
        lengths = np.diff(begins)
        if lengths.max() <= longest and all(allowed[t] for t in begins[1:-1]):
            scored[1, *inner] = sum(scores[t, k] for t, k in zip(begins[:-1], lengths.tolist(), strict=True))
    cuts = np.zeros(n, np.uint8)
    best_cuts(scores, allowed, np.zeros(n + 1), np.zeros(n + 1, np.int32), cuts)
    assert tuple(cuts.tolist()) == max(scored, key=scored.__getitem__)
