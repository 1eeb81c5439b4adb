"""The n-gram trie: counts, links and look-up against plain dictionaries."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.ngrams import smoothing
from corpuscle.engine.ngrams.counting import add_boundaries, count_ngrams
from corpuscle.engine.ngrams.trie import ROOT, chunk_bounds, look_up, truncate

START, END = 1, 2

sentences_of_ids = st.lists(st.lists(st.integers(3, 7), max_size=9), min_size=1, max_size=12)


def stream_of(sentences, left=1):
    tokens = np.array([token for sentence in sentences for token in sentence], np.int32)
    starts = np.cumsum([0, *map(len, sentences)])
    return add_boundaries(tokens, starts, left, START, END)


def dictionary_counts(streams, order):
    counts = Counter()
    for stream in streams:
        for m in range(1, order + 1):
            for i in range(len(stream) - m + 1):
                counts[tuple(stream[i : i + m])] += 1
    return counts


def spelled_out(ngrams):
    """The n-gram of every row as a tuple."""
    grams = [(word,) for word in ngrams.words[: ngrams.levels[1]].tolist()]
    for context in range(len(ngrams.first_child) - 1):
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            assert row == len(grams), "the rows of an order follow their contexts without gaps"
            grams.append((*grams[context], int(ngrams.words[row])))
    return grams


def assert_is_trie_of(ngrams, counts):
    grams = spelled_out(ngrams)
    seen = {gram: count for gram, count in zip(grams, ngrams.counts.tolist(), strict=True) if count}
    assert seen == counts
    for m in range(1, ngrams.order + 1):
        rows = grams[ngrams.levels[m - 1] : ngrams.levels[m]]
        assert rows == sorted(rows)
    for row, gram in enumerate(grams):
        suffix = int(ngrams.suffix[row])
        assert (suffix == ROOT) if len(gram) == 1 else grams[suffix] == gram[1:]


@settings(max_examples=60, deadline=None)
@given(sentences_of_ids, st.integers(1, 9))
def test_counts_links_and_order_of_rows_equal_a_dictionary(sentences, order):
    streams = [[START, *sentence, END] for sentence in sentences]
    ngrams = count_ngrams(stream_of(sentences), 8, order, end=END)
    assert_is_trie_of(ngrams, dictionary_counts(streams, order))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 5))
def test_a_stream_without_boundaries_is_counted_to_its_last_symbol(symbols, order):
    ngrams = count_ngrams(np.array(symbols, np.int32), 6, order)
    assert_is_trie_of(ngrams, dictionary_counts([symbols], order))


@pytest.mark.parametrize("n_types", [300, 70_000])
def test_long_runs_and_large_vocabularies_are_sorted_right(n_types):
    stream = np.random.default_rng(5)
    frequent = stream.integers(3, 9, 3000)
    rare = stream.integers(3, n_types, 3000)
    symbols = np.where(stream.random(3000) < 0.5, frequent, rare).astype(np.int32)
    ngrams = count_ngrams(symbols, n_types, 3)
    assert_is_trie_of(ngrams, dictionary_counts([symbols.tolist()], 3))


def test_the_number_of_workers_changes_nothing():
    symbols = (np.random.default_rng(1).zipf(1.3, 400_000) % 5000).astype(np.int32)
    one, two = (count_ngrams(symbols, 5000, 4, workers=workers) for workers in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_truncation_is_the_same_as_counting_less():
    symbols = stream_of([[3, 4, 5, 3, 4], [4, 5], [], [3, 4, 5]])
    for order in (1, 2, 3):
        for a, b in zip(truncate(count_ngrams(symbols, 6, 4, end=END), order),
                        count_ngrams(symbols, 6, order, end=END), strict=True):  # fmt: skip
            np.testing.assert_array_equal(a, b)


def test_chunks_cover_all_rows_once():
    starts = np.concatenate([[0], np.cumsum(np.random.default_rng(2).integers(0, 50, 1000))])
    bounds = chunk_bounds(starts, 300)
    assert bounds[0] == 0 and bounds[-1] == 1000 and (np.diff(bounds) > 0).all()
    assert chunk_bounds(np.zeros(1, np.int64)).tolist() == [0]


@given(sentences_of_ids, st.integers(1, 5), st.booleans(), st.booleans())
def test_counts_of_counts_are_those_of_the_adjusted_counts(sentences, order, keep_start, raw):
    ngrams = count_ngrams(stream_of(sentences), 8, order, end=END)
    adjusted = smoothing.adjusted_counts(ngrams, START, keep_start, raw)
    wanted = [[np.count_nonzero(adjusted[a:b] == k) for k in range(1, 5)] for a, b in pairwise(ngrams.levels)]
    assert smoothing.count_of_counts(ngrams, START, keep_start, raw).tolist() == wanted


@settings(max_examples=30, deadline=None)
@given(sentences_of_ids, st.lists(st.lists(st.integers(1, 7), min_size=3, max_size=3), min_size=1, max_size=20))
def test_look_up_finds_every_row_and_nothing_else(sentences, queries):
    ngrams = count_ngrams(stream_of(sentences), 8, 4, end=END)
    grams = spelled_out(ngrams)
    trigrams = grams[ngrams.levels[2] : ngrams.levels[3]]
    if trigrams:
        assert look_up(ngrams, np.array(trigrams)).tolist() == list(range(ngrams.levels[2], ngrams.levels[3]))
    for query, row in zip(queries, look_up(ngrams, np.array(queries)).tolist(), strict=True):
        assert (grams[row] == tuple(query)) if row >= 0 else tuple(query) not in grams
