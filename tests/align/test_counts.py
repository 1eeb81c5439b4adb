"""The text in chunks: shared couples and singles, found when they are needed, give what kept cells would give."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.align import counts, learner
from corpuscle.align.counts import BitextChunks, Estimation, StoredPairs, pairs_of
from corpuscle.align.distortion import Diagonal, Jumps, Uniform
from corpuscle.align.em_models import Expectation
from corpuscle.align.kernels import fertility as engine
from corpuscle.align.kernels.cooccurrence import couples_of
from corpuscle.scale import workers
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus

DICE = np.random.default_rng(11)


def some_side(words: int, lengths: np.ndarray) -> Corpus:
    """Sentences of words of which few are frequent."""
    draws = np.minimum(DICE.zipf(1.3, lengths.sum()), words)
    cuts = np.split(draws, np.cumsum(lengths)[:-1])
    return Corpus.from_sentences([[f"w{word}" for word in cut] for cut in cuts])


BITEXT = Bitext(*(some_side(200, DICE.integers(1, 9, 300)) for _ in range(2)))
CHOSEN = DICE.random(300) < 0.9


@pytest.fixture
def short_chunks(monkeypatch):
    """Many chunks, of which two are remembered."""
    monkeypatch.setattr(counts, "CELLS_A_CHUNK", 500)
    monkeypatch.setattr(counts, "_REMEMBERED", 2)


def kept_cells(bitext: Bitext):
    pairs = pairs_of(bitext.source, bitext.target)
    return pairs, couples_of(pairs, len(bitext.source.vocab), len(bitext.target.vocab))


def keys_of(couples, types: int) -> np.ndarray:
    return np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts)) * types + couples.columns


@pytest.mark.parametrize("chosen", [np.ones(300, bool), CHOSEN])
def test_couples_with_several_cells_are_shared_and_others_are_numbered_on_the_way(short_chunks, chosen) -> None:
    text, types = BitextChunks(BITEXT, chosen), len(BITEXT.target.vocab)
    pairs, couples = kept_cells(BITEXT.select(chosen))
    every, often = keys_of(couples, types), np.bincount(pairs.cells)
    shared = keys_of(text.sharing.couples, types)
    assert text.count > 5
    assert sorted(shared) == sorted(every[often > 1])
    cells = np.concatenate([text.chunk(number).cells for number in range(text.count)])
    single = cells >= len(shared)
    assert (every[pairs.cells[~single]] == shared[cells[~single]]).all()
    assert (often[pairs.cells[single]] == 1).all()
    assert (cells[single] == len(shared) + np.arange(single.sum())).all()
    assert text.first_singles[-1] == single.sum() == (often == 1).sum()
    alone = every[often == 1]
    assert (text.supports[0] == np.bincount(alone // types, minlength=text.sizes[1])).all()
    assert (text.supports[1] == np.bincount(alone % types, minlength=types)).all()


def test_couples_of_an_older_model_are_shared_wherever_they_meet(short_chunks) -> None:
    everything = np.ones(300, bool)
    _, old = kept_cells(BITEXT[:100])
    text, types = BitextChunks(BITEXT, everything, old), len(BITEXT.target.vocab)
    assert set(keys_of(old, types)) <= set(keys_of(text.sharing.couples, types))
    assert text.n_shared < len(kept_cells(BITEXT)[1].columns)


@pytest.mark.parametrize("bayes", [True, False])
@pytest.mark.parametrize(
    ("law", "agreement"),
    [
        (Uniform(), False),
        (Diagonal(0.1, np.full(2, 4.0)), True),
        (Jumps(0.1, 0.05, np.ones((2, 101))), True),
        (Jumps(0.1, 0.05, np.ones((2, 101))), False),
    ],
)
def test_passes_over_chunks_count_what_passes_over_kept_cells_count(short_chunks, law, agreement, bayes) -> None:
    text = BitextChunks(BITEXT, CHOSEN)
    pairs, couples = kept_cells(BITEXT.select(CHOSEN))
    types = len(BITEXT.target.vocab)

    with workers(2) as pool:
        ems = [
            Expectation(walk, Estimation(0.01, bayes), pool, law, agreement)
            for walk in (text, StoredPairs(pairs, couples, text.sizes))
        ]
        for turn in range(3):
            for em in ems:
                assert np.isfinite(em.finish(turn)).all()
    new, old = (em.counts for em in ems)
    for name, learned in ems[0].law.arrays().items():
        assert np.allclose(learned, ems[1].law.arrays()[name])
    assert all(np.allclose(a, b) for a, b in zip(new.nulls, old.nulls, strict=True))
    place = {key: k for k, key in enumerate(keys_of(couples, types).tolist())}
    shared = [place[key] for key in keys_of(text.sharing.couples, types).tolist()]
    assert np.allclose(new.couples, old.couples[:, shared])
    cells = np.concatenate([text.chunk(number).cells for number in range(text.count)])
    assert np.allclose(new.singles, old.couples[:, pairs.cells[cells >= text.n_shared]])


@pytest.mark.parametrize("method", ["ibm1", "diagonal", "hmm", "fertility"])
def test_models_do_not_depend_on_what_is_remembered(method, short_chunks, monkeypatch, tmp_path) -> None:
    files = []
    for remembered, count in ((0, 1), (2, 3), (1000, 1)):
        monkeypatch.setattr(counts, "_REMEMBERED", remembered)
        learner(method, workers=count).fit(BITEXT).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1] == files[2]


def test_long_sentences_can_be_learned_from() -> None:
    long = Bitext(*(some_side(20, np.array([130, 4, 150])) for _ in range(2)))
    model = learner("fertility", max_length=200).fit(long)
    assert model.provenance_["learned_from"] == 3
    assert model.align(long).links[:, 0].max() > 127


def test_votes_are_counted_and_ties_go_to_none_then_to_the_smaller_state() -> None:
    draws = DICE.integers(-1, 4, (3, 4, 50)).astype(np.int16)
    sizes, states, votes = np.zeros(50, np.uint8), np.zeros(0, np.int16), np.zeros(0, np.uint8)
    for linked in draws:
        room = np.empty(len(states) + linked.size, np.int16), np.empty(len(states) + linked.size, np.uint8)
        end = engine.add_votes(linked, sizes, states, votes, *room)
        states, votes = room[0][:end].copy(), room[1][:end].copy()
    best = np.empty(50, np.int16)
    engine.elect(sizes, states, votes, best)
    counts = (draws.reshape(12, 50)[:, :, None] == np.arange(-1, 4)).sum(axis=0)
    assert sizes.tolist() == (counts > 0).sum(axis=1).tolist() and votes.sum() == 600
    assert best.tolist() == (counts.argmax(axis=1) - 1).tolist()
