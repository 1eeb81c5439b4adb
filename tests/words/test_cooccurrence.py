"""Counts of words near words, against counting by hand."""

import numpy as np
import pytest

from corpuscle.text import END, START, Corpus
from corpuscle.words import cooccurrence
from corpuscle.words.cooccurrence import Around, At, count_around, count_at
from corpuscle.words.kernels.contexts import FLAT, HARMONIC, LINEAR

CHANCE = np.random.default_rng(1)
TEXT = Corpus.from_sentences([
    [f"w{i}" for i in CHANCE.integers(0, 9, length)] for length in (0, 1, 7, 12, 0, 3, 5, 9, 2, 1, 11)
])
TYPES = len(TEXT.vocab)


def near_by_hand(keeps: np.ndarray, window: int, weighting: int) -> np.ndarray:
    """Every pair of a sentence: their distance is 1 and what is kept between them."""
    counts = np.zeros((TYPES, TYPES))
    for number in range(len(TEXT)):
        words = TEXT.sentence(number)
        for p in range(len(words)):
            for q in range(len(words)):
                distance = 1 + keeps[words[min(p, q) + 1 : max(p, q)]].sum()
                if p != q and distance <= window + 1e-9:
                    weight = {FLAT: 1, LINEAR: (window + 1 - distance) / window, HARMONIC: 1 / distance}[weighting]
                    counts[words[p], words[q]] += keeps[words[p]] * keeps[words[q]] * weight
    return counts


@pytest.fixture(params=[1 << 19, 15], ids=["one chunk", "many chunks"])
def chunks(request, monkeypatch):
    monkeypatch.setattr(cooccurrence, "CHUNK", request.param)
    monkeypatch.setattr(cooccurrence, "ROOM", 30)


@pytest.mark.parametrize("weighting", [FLAT, LINEAR, HARMONIC])
@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("whole", [True, False])
def test_a_weighted_window_counts_every_pair(chunks, window, weighting, whole):
    keeps = np.ones(TYPES) if whole else CHANCE.uniform(size=TYPES)
    keeps[4] = 0.0
    counts = count_around(TEXT, Around(keeps, window, weighting), 2)
    assert counts.dense() == pytest.approx(near_by_hand(keeps, window, weighting))
    assert all((np.diff(counts.columns[a:b]) > 0).all() for a, b in zip(counts.starts, counts.starts[1:], strict=False))


@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize("rows", [(0,), (-2, -1)])
def test_slots_count_what_stands_there_and_boundaries(chunks, rows, bag):
    columns = (-2, -1, 1, 2) if rows == (0,) else (1, 2)
    counts = count_at(TEXT, At(rows, columns, bag, TYPES), 2)
    expected = np.zeros((len(rows) * TYPES, (1 if bag else len(columns)) * TYPES))
    for number in range(len(TEXT)):
        padded = [START, START, *TEXT.sentence(number), END, END]
        for p in range(2, len(padded) - 2):
            for i, row in enumerate(rows):
                for j, column in enumerate(columns):
                    expected[i * TYPES + padded[p + row], (0 if bag else j * TYPES) + padded[p + column]] += 1
    assert np.array_equal(counts.dense(), expected)


def test_workers_change_no_byte(monkeypatch):
    monkeypatch.setattr(cooccurrence, "CHUNK", 10)
    how = Around(CHANCE.uniform(size=TYPES), 3, HARMONIC)
    one, three = (count_around(TEXT, how, count) for count in (1, 3))
    assert one.values.tobytes() == three.values.tobytes() and one.columns.tobytes() == three.columns.tobytes()
