"""Counts of pieces of a text, merged in memory or from disk, are those of the whole text."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.ngrams.counting import count_ngrams
from corpuscle.lm.kernels import counting
from corpuscle.lm.kernels.counting import count_spilled, merge_ngrams, overlapping
from tests.engine.test_ngrams import END, sentences_of_ids, stream_of


@settings(max_examples=40, deadline=None)
@given(sentences_of_ids, st.integers(0, 12), st.integers(1, 5))
def test_merging_the_counts_of_two_halves_is_counting_the_whole(sentences, cut, order):
    halves = [count_ngrams(stream_of(part), 8, order, end=END) for part in (sentences[:cut], sentences[cut:])]
    for a, b in zip(merge_ngrams(*halves), count_ngrams(stream_of(sentences), 8, order, end=END), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", [1, 3, 1 << 10])
@given(sentences=sentences_of_ids, cuts=st.lists(st.integers(0, 12), max_size=4), order=st.integers(1, 5))
def test_merging_any_number_of_chunks_from_disk_is_counting_the_whole(rows, sentences, cuts, order):
    bounds = [0, *sorted(cuts), len(sentences)]
    chunks = [(stream_of(sentences[a:b]), 1) for a, b in pairwise(bounds)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_ROWS", rows)  # so few that runs and rows go back and forth
        merged = count_spilled(chunks, partial(count_ngrams, n_types=8, order=order, end=END))
    for a, b in zip(merged, count_ngrams(stream_of(sentences), 8, order, end=END), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


@given(st.lists(st.integers(3, 6), min_size=12, max_size=60), st.integers(1, 5), st.integers(5, 12))
def test_a_stream_without_ends_can_be_counted_in_chunks_that_overlap(symbols, order, size):
    stream = np.array(symbols, np.int32)
    bounds = [*range(0, len(stream) - order, size), len(stream)]
    merged = count_spilled(overlapping(stream, bounds, order), partial(count_ngrams, n_types=8, order=order))
    for a, b in zip(merged, count_ngrams(stream, 8, order), strict=True):
        np.testing.assert_array_equal(a, b)
