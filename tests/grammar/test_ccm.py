"""The constituent-context model: against enumeration, its objective, its file."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from corpuscle.errors import Interrupted
from corpuscle.grammar import ConstituentContext, TreeMetric
from corpuscle.learning import Checkpoint
from corpuscle.model import read
from corpuscle.text import Treebank
from corpuscle.words import BrownClasses, class_sources
from tests.grammar.test_minimum_evolution import bracketings, spans
from tests.grammar.test_treemetric import bank
from tests.hostile import survives_hostile_edits


def probabilities(counts, prior):
    """P(type | T), P(type | F) as dictionaries of two lists."""
    values = counts + np.array(prior)
    return values / values.sum(axis=0)


def test_brackets_of_seven_words_equal_132_trees():
    text = bank(40)
    model = ConstituentContext(iterations=3).fit(text)
    words = [*next(iter(text.corpus))[:3] * 2, "dog1"]
    one = Treebank.from_sentences([words], xpos=[["DT", "NN", "VBD"] * 2 + ["NN"]])
    found, scores = model._scores(model.sentences(one))
    n, cells = 7, [(i, i + w) for w in range(1, 8) for i in range(8 - w)]
    logs = [np.vstack([c, [0, 0]]) + np.array([2.0, 8.0]) for c in model.counts_]
    logs = [np.log(each) - np.log(each[:-1].sum(axis=0)) for each in logs]
    trees, weights = bracketings(0, n), []
    assert len(trees) == 132
    for tree in trees:
        inside = spans(tree) | {(i, i + 1) for i in range(n)}
        weights.append(math.exp(sum(
            logs[0][y, int((i, j) not in inside)] + logs[1][c, int((i, j) not in inside)]
            for (i, j), y, c in zip(cells, found.yields.tolist(), found.contexts.tolist(), strict=True)
        )))  # fmt: skip
    best = max(zip(weights, trees, strict=True), key=lambda pair: pair[0])[1]
    brackets = model.brackets(one, confidence=True)
    assert {tuple(span) for span in brackets.spans.tolist()} == spans(best)
    for span, share in zip(brackets.spans.tolist(), brackets.shares.tolist(), strict=True):
        right = sum(w for w, tree in zip(weights, trees, strict=True) if tuple(span) in spans(tree)) / sum(weights)
        assert share == pytest.approx(right, rel=1e-9)
    assert scores.of(found).shape == (28,)
    risk = model.replace(decode="risk")
    for name in ("symbols_", "known_", "tag_map_", "keys_", "counts_"):
        setattr(risk, name, getattr(model, name))

    def expected(tree):
        return sum(w * len(spans(tree) & spans(other)) for w, other in zip(weights, trees, strict=True))

    chosen = {tuple(span) for span in risk.brackets(one).spans.tolist()}
    assert expected(next(tree for tree in trees if spans(tree) == chosen)) == pytest.approx(max(map(expected, trees)))


@pytest.mark.parametrize("settings", [{}, {"start": "random"}, {"empty_spans": True}, {"symbols": "universal"}])
def test_the_objective_never_falls(settings):
    model = ConstituentContext(iterations=12, tolerance=0.0, **settings).fit(bank(80))
    assert len(model.history_) == 12
    assert (np.diff(model.history_) > -1e-9 * np.abs(model.history_[:-1])).all()
    assert model.history_[-1] > model.history_[0]


def test_the_objective_is_the_likelihood_with_its_prior():
    text = Treebank.from_sentences([["a", "b", "c"], ["b", "c"]], xpos=[["A", "B", "C"], ["B", "C"]])
    model = ConstituentContext(iterations=1, tolerance=0.0).fit(text)
    start = ConstituentContext(iterations=0).fit(text)
    logs = [np.log(probabilities(counts, (2.0, 8.0))) for counts in start.counts_]
    total = sum(float((each * np.array([2.0, 8.0])).sum()) for each in logs)
    found, _ = start._scores(start.sentences(text))
    at = 0
    for n in (3, 2):
        cells = [(i, i + w) for w in range(1, n + 1) for i in range(n + 1 - w)]
        types = list(zip(cells, found.yields[at:].tolist(), found.contexts[at:].tolist(), strict=False))[: len(cells)]
        at += len(cells)
        trees = bracketings(0, n)
        total += math.log(sum(
            math.exp(sum(
                logs[0][y, int(j - i > 1 and (i, j) not in spans(tree))]
                + logs[1][c, int(j - i > 1 and (i, j) not in spans(tree))] for (i, j), y, c in types
            )) / len(trees) for tree in trees
        ))  # fmt: skip
    assert model.history_[0] == pytest.approx(total, rel=1e-12)


def test_resuming_ends_in_the_same_bytes(tmp_path):
    text, settings = bank(60), {"iterations": 6, "tolerance": 0.0, "workers": 1}
    whole = ConstituentContext(**settings)
    with whole.checkpoint(text, tmp_path / "a") as checkpoint:
        whole.fit(text, checkpoint=checkpoint).save(tmp_path / "a")

    class Stopping(Checkpoint):
        def after(self, iteration, arrays, **more):
            self._stop.requested = iteration == 3
            super().after(iteration, arrays, **more)

    stopped = ConstituentContext(**settings)
    kept = stopped.checkpoint(text, tmp_path / "b")
    kept.__class__ = Stopping
    with pytest.raises(Interrupted), kept:
        stopped.fit(text, checkpoint=kept)
    again = ConstituentContext(**settings | {"workers": 2})
    with again.checkpoint(text, tmp_path / "b", resume=True) as checkpoint:
        again.fit(text, checkpoint=checkpoint).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_it_survives_its_file_and_takes_classes(tmp_path):
    text = bank(60)
    sources = class_sources(BrownClasses(classes=5).fit(text.corpus))
    for symbols, given in (("fine", None), ("classes", sources), ("universal-classes", sources)):
        model = ConstituentContext(iterations=2, symbols=symbols).fit(text, sources=given)
        model.save(tmp_path / "m")
        loaded = ConstituentContext.from_container(read(tmp_path / "m"))
        assert (loaded.brackets(text).spans == model.brackets(text).spans).all()


def test_random_starts_are_drawn_by_the_seed():
    text = bank(30)
    one, two, same = (ConstituentContext(start="random", seed=seed, iterations=0).fit(text) for seed in (1, 2, 1))
    assert (one.counts_[0] == same.counts_[0]).all()
    assert (one.counts_[0] != two.counts_[0]).any()
    assert all(a < b for a, b in pairwise(one.keys_[0].tolist()))


@pytest.mark.parametrize("learner", [ConstituentContext(iterations=2), TreeMetric(dimensions=6, rank=2)])
def test_hostile_files_are_refused(learner, tmp_path):
    text = bank(20)
    learner.fit(text).save(tmp_path / "m")

    def use(path):
        type(learner).from_container(read(path)).brackets(text, confidence=True)

    assert survives_hostile_edits(tmp_path / "m", use, edits=80) > 10
