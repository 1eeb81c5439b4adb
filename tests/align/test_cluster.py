"""Word alignment on a real cluster of processes: the bytes that threads give."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.align import METHODS, counts, learner, n_best
from corpuscle.samples import generate
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus


@pytest.fixture(scope="module")
def bitext() -> Bitext:
    pairs = generate(1, pairs=120).pairs
    return Bitext(*(Corpus.from_sentences([getattr(p, side).words for p in pairs]) for side in ("source", "target")))


@pytest.mark.parametrize("method", METHODS)
def test_a_cluster_learns_and_aligns_as_threads_do(method, bitext, cluster, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(counts, "CELLS_A_CHUNK", 4000)
    found = []
    for where in ({"workers": 2}, {"cluster": cluster}):
        model = learner(method, passes=2, **where).fit(bitext)
        model.save(tmp_path / "model")
        links = model.align(bitext, "union")
        lists = [] if method == "fertility" else list(n_best(model, bitext[:5], 3, 1))
        found.append([
            (tmp_path / "model").read_bytes(),
            links.links.tobytes(),
            model.matrix(bitext).weights.tobytes(),
            [[(each.links.tolist(), each.probability) for each in ranked] for ranked in lists],
        ])
    assert found[0] == found[1]


def test_going_on_from_a_model_on_a_cluster(bitext, cluster) -> None:
    old = learner("fertility", passes=1, sweeps=2, workers=2).fit(bitext[:60])
    counts = [
        learner("fertility", passes=1, sweeps=2, **where).fit(bitext[60:], base=old).counts_
        for where in ({"workers": 2}, {"cluster": cluster})
    ]
    assert np.array_equal(*counts)
