"""The monotone decoder against the enumeration of all segmentations."""

import itertools

import numpy as np
import pytest

from corpuscle.compiled import frozen
from corpuscle.engine.phrase_extraction import trie
from corpuscle.lm import NgramModel
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, FIRST
from corpuscle.transliterate.kernels import monotone, windows

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
WEIGHTS = {"language": 0.6, "joint": 0.3, "context": 0.4, "phrase": -0.2, "unknown": -3.0}


class World:
    """A random table over a small alphabet, with all models."""

    def __init__(self, seed):
        random = Random(seed, "test")
        self.random = random
        targets = [[random.choice("xyz") for _ in range(1 + random.below(5))] for _ in range(40)]
        units = [[random.choice("pqrs") for _ in range(1 + random.below(4))] for _ in range(40)]
        self.lm = NgramModel(order=3, min_count=1).fit(Corpus.from_sentences(targets))
        self.joint = NgramModel(order=2, min_count=1).fit(Corpus.from_sentences(units))
        self.pieces = [[], [], []] + [[FIRST + random.below(3) for _ in range(i % 3)] for i in range(4)]
        starts = np.cumsum([0, *map(len, self.pieces)])
        symbols = np.array([symbol for own in self.pieces for symbol in own])
        weights = np.array([random.uniform() for _ in range(64)] * (windows.WEIGHTS // 64))
        self.windows = windows.windows(starts, symbols, np.ones(len(self.pieces)), FIRST + 3, 2, weights)
        sources = sorted({tuple(FIRST + random.below(3) for _ in range(1 + random.below(3))) for _ in range(9)})
        padded = np.array([[*s, *[-1] * (3 - len(s))] for s in sources], np.int32)
        nodes, node_of = trie(padded, np.array([len(s) for s in sources]))
        self.table = {}
        rows = []
        for source, node in zip(sources, node_of.tolist(), strict=True):
            for _ in range(1 + random.below(3)):
                target = [FIRST + random.below(3) for _ in range(random.below(4))]
                pieces = [FIRST + random.below(4) for _ in range(1 + random.below(2))]
                rows.append((node, -3.0 * random.uniform(), source, target, pieces))
        rows.sort(key=lambda row: (row[0], -row[1]))
        for number, (_, score, source, target, pieces) in enumerate(rows):
            self.table.setdefault(source, []).append((number, score, target, pieces))
        counts = np.bincount([row[0] for row in rows], minlength=len(nodes.symbols))
        self.options = monotone.Options(
            *nodes,
            frozen(np.concatenate([[0], np.cumsum(counts)]), np.int64),
            frozen(np.array([row[1] for row in rows]), np.float64),
            frozen(np.cumsum([0, *(len(row[3]) for row in rows)]), np.int64),
            frozen(np.array([t for row in rows for t in row[3]]), np.int32),
            frozen(np.cumsum([0, *(len(row[4]) for row in rows)]), np.int64),
            frozen(np.array([t for row in rows for t in row[4]]), np.int32),
        )

    def score(self, model, symbols):
        corpus = Corpus(np.array(symbols, np.int32), np.array([0, len(symbols)]), model.vocab_)
        return float(model.events(corpus).log_probability.sum())

    def places(self, source):
        """What the model of pieces at their places says, float64 (places, pieces)."""
        out = np.empty((len(source), len(self.pieces)))
        windows.judge(self.windows, frozen(source, np.int32), windows.room(2, len(source)), out)
        return out

    def suits(self, places, p, pieces):
        total = 0.0
        for piece in pieces:
            if self.pieces[piece] and p < len(places):
                total += places[p, piece]
                p += len(self.pieces[piece])
        return total

    def all_rewritings(self, source, copies):
        """Every segmentation and choice, with its score: {output: best score}."""
        best, places = {}, self.places(source)

        def extend(p, target, pieces, score):
            if p == len(source):
                total = score + WEIGHTS["language"] * self.score(self.lm, target)
                total += WEIGHTS["joint"] * self.score(self.joint, pieces)
                best[tuple(target)] = max(best.get(tuple(target), -np.inf), total)
            for length in range(1, min(3, len(source) - p) + 1):
                entries = self.table.get(tuple(source[p : p + length]), [])
                if length == 1 and not entries:
                    copied = [copies[p]] if copies[p] else []
                    entries = [(-1, WEIGHTS["unknown"], copied, [0])]
                for _, value, added, units in entries:
                    value += WEIGHTS["phrase"] + WEIGHTS["context"] * self.suits(places, p, units)
                    extend(p + length, target + added, pieces + units, score + value)

        extend(0, [], [], 0.0)
        return best

    def limits(self, n_best, beam=3000, threshold=np.inf, distinct=True):
        weights = (WEIGHTS[name] for name in ("language", "joint", "context", "phrase", "unknown"))
        states = (self.lm.initial_state, self.joint.initial_state)
        return monotone.Limits(beam, threshold, 3, n_best, distinct, *weights, *states, END)

    def decode(self, source, copies, limits):
        models = monotone.Models(self.lm.automaton_, self.joint.automaton_, self.windows)
        names = monotone.Sequences(np.array(source, np.int32), np.array([0, len(source)]), np.array(copies, np.int32))
        found = monotone.decode(names, monotone.Problem(self.options, models, limits))
        outputs = []
        for i in range(len(found.scores)):
            output, covered = [], 0
            for option, length in found.segments[found.segment_starts[i] : found.segment_starts[i + 1]].tolist():
                if option >= 0:
                    a, b = self.options.target_starts[option : option + 2]
                    output += self.options.targets[a:b].tolist()
                elif option < -1:
                    output.append(-1 - option)
                covered += length
            assert covered == len(source)
            outputs.append((tuple(output), float(found.scores[i])))
        return found, outputs


@pytest.mark.parametrize("seed", range(12))
def test_without_limits_the_best_rewritings_are_those_of_an_exhaustive_search(seed):
    world = World(seed)
    for _ in range(3):
        # Letter 0 is unknown to the table; some unknown letters can be copied, some are dropped.
        letters, length = [0, *range(FIRST, FIRST + 3)], 1 + world.random.below(6)
        source = [world.random.choice(letters, [1, 4, 4, 4]) for _ in range(length)]
        copies = [FIRST + world.random.below(3) if world.random.below(2) else 0 for _ in source]
        expected = sorted(world.all_rewritings(source, copies).items(), key=lambda item: -item[1])
        _, best = world.decode(source, copies, world.limits(1))
        assert best[0][1] == pytest.approx(expected[0][1], abs=1e-9)
        assert dict(expected)[best[0][0]] == pytest.approx(expected[0][1], abs=1e-9)
        _, ranked = world.decode(source, copies, world.limits(20))
        assert len(ranked) == min(20, len(expected)) == len({output for output, _ in ranked})
        np.testing.assert_allclose([s for _, s in ranked], [s for _, s in expected[:20]], atol=1e-9)
        for output, score in ranked:
            assert dict(expected)[output] == pytest.approx(score, abs=1e-9)


def test_scores_are_the_weighted_features_counted_again():
    world = World(3)
    source = [FIRST, FIRST + 1, FIRST + 2, FIRST]
    found, ranked = world.decode(source, [0] * 4, world.limits(10, beam=4, threshold=5.0))
    assert [s for _, s in ranked] == sorted((s for _, s in ranked), reverse=True)
    for i, (output, score) in enumerate(ranked):
        segments = found.segments[found.segment_starts[i] : found.segment_starts[i + 1], 0]
        table = sum(self_score(world, option) for option in segments.tolist())
        assert found.logs[i, 0] == pytest.approx(world.score(world.lm, list(output)), abs=1e-9)
        total = table + len(segments) * WEIGHTS["phrase"] + WEIGHTS["language"] * found.logs[i, 0]
        total += WEIGHTS["joint"] * found.logs[i, 1] + WEIGHTS["context"] * found.logs[i, 2]
        assert total == pytest.approx(score, abs=1e-9)


def self_score(world, option):
    return WEIGHTS["unknown"] if option < 0 else float(world.options.scores[option])


def test_all_derivations_come_in_order_where_outputs_may_repeat():
    world = World(5)
    source = [FIRST, FIRST + 1, FIRST, FIRST + 1]
    _, every = world.decode(source, [0] * 4, world.limits(200, distinct=False))
    _, distinct = world.decode(source, [0] * 4, world.limits(200))
    scores = [score for _, score in every]
    assert scores == sorted(scores, reverse=True)
    first = {}
    for output, score in every:
        first.setdefault(output, score)
    for (output, score), _ in zip(distinct, range(len(first)), strict=False):
        if output in first:
            assert first[output] == pytest.approx(score, abs=1e-9)


def test_a_lattice_that_outgrows_its_room_is_searched_again(monkeypatch):
    world = World(5)
    source = [FIRST, FIRST + 1, FIRST, FIRST + 1]
    _, ranked = world.decode(source, [0] * 4, world.limits(30))
    monkeypatch.setattr(monotone, "_EDGES", 3)
    assert world.decode(source, [0] * 4, world.limits(30))[1] == ranked


def test_a_wider_beam_is_never_worse_and_one_hypothesis_still_gives_an_answer():
    for seed in range(6):
        world = World(seed)
        source = [FIRST + world.random.below(3) for _ in range(8)]
        scores = [world.decode(source, [0] * 8, world.limits(1, beam=beam))[1][0][1] for beam in (1, 500)]
        assert scores[0] <= scores[1] + 1e-12


def test_negative_model_weights_search_the_whole_beam():
    world = World(1)
    source, changed = [FIRST, FIRST + 1, FIRST + 2], WEIGHTS | {"language": -0.4}
    limits = world.limits(1)._replace(language=-0.4)
    before = WEIGHTS.copy()
    try:
        WEIGHTS.update(changed)
        expected = max(world.all_rewritings(source, [0] * 3).values())
    finally:
        WEIGHTS.update(before)
    assert world.decode(source, [0] * 3, limits)[1][0][1] == pytest.approx(expected, abs=1e-9)


def test_an_empty_sequence_has_no_rewriting():
    world = World(1)
    assert world.decode([], [], world.limits(5))[1] == []
    assert list(itertools.chain(world.decode([], [], world.limits(1))[1])) == []
