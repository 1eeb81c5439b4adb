"""The decoder with reordering against the enumeration of all orders, segmentations and choices."""

import numpy as np
import pytest

from corpuscle.compiled import frozen
from corpuscle.engine.phrase_decoding import Options
from corpuscle.engine.phrase_extraction import trie
from corpuscle.lm import NgramModel
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, FIRST
from corpuscle.translate import kernels as reordering

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
WEIGHTS = {"language": 0.6, "phrase": -0.2, "word": 0.3, "jump": 0.25, "unknown": -3.0}


class World:
    """A random table over a few words, and a language model."""

    def __init__(self, seed):
        self.random = random = Random(seed, "test")
        targets = [[random.choice("xyz") for _ in range(1 + random.below(5))] for _ in range(40)]
        self.lm = NgramModel(order=3, min_count=1).fit(Corpus.from_sentences(targets))
        sources = sorted({tuple(FIRST + random.below(3) for _ in range(1 + random.below(3))) for _ in range(7)})
        padded = np.array([[*s, *[-1] * (3 - len(s))] for s in sources], np.int32)
        nodes, node_of = trie(padded, np.array([len(s) for s in sources]))
        rows = []
        for source, node in zip(sources, node_of.tolist(), strict=True):
            for _ in range(1 + random.below(2)):
                target = [FIRST + random.below(3) for _ in range(1 + random.below(2))]
                rows.append((node, -3.0 * random.uniform(), source, target))
        rows.sort(key=lambda row: (row[0], -row[1]))
        self.table = {}
        for _, score, source, target in rows:
            self.table.setdefault(source, []).append((score, target))
        counts = np.bincount([row[0] for row in rows], minlength=len(nodes.symbols))
        self.options = Options(
            *nodes,
            frozen(np.concatenate([[0], np.cumsum(counts)]), np.int64),
            frozen(np.array([row[1] for row in rows]), np.float64),
            frozen(np.cumsum([0, *(len(row[3]) for row in rows)]), np.int64),
            frozen(np.array([t for row in rows for t in row[3]]), np.int32),
            frozen(np.zeros(len(rows) + 1), np.int64),
            frozen(np.empty(0), np.int32),
        )

    def language(self, words):
        known = [word if word < len(self.lm.vocab_) else 0 for word in words]
        corpus = Corpus(np.array(known, np.int32), np.array([0, len(known)]), self.lm.vocab_)
        return float(self.lm.events(corpus).log_probability.sum())

    def all_translations(self, source, copies, limit):
        """Every order within the limit, segmentation and choice: {output: best score}."""
        best, n = {}, len(source)

        def extend(covered, end, target, score):
            if all(covered):
                total = score + WEIGHTS["language"] * self.language(target)
                best[tuple(target)] = max(best.get(tuple(target), -np.inf), total)
                return
            gap = covered.index(False)
            for p in range(gap, n):
                for length in range(1, min(3, n - p) + 1):
                    last = p + length
                    if any(covered[p:last]) or abs(p - end) > limit or (p > gap and last - gap > limit):
                        continue
                    entries = self.table.get(tuple(source[p:last]), [])
                    if length == 1 and not entries:
                        entries = [(WEIGHTS["unknown"], [copies[p]])]
                    now = [*covered[:p], *[True] * length, *covered[last:]]
                    for value, added in entries:
                        value += WEIGHTS["phrase"] + WEIGHTS["word"] * len(added) - WEIGHTS["jump"] * abs(p - end)
                        extend(now, last, target + added, score + value)

        extend([False] * n, 0, [], 0.0)
        return best

    def limits(self, n_best, limit, beam=5000, threshold=np.inf):
        weights = (WEIGHTS[name] for name in ("language", "phrase", "word", "jump", "unknown"))
        types = len(self.lm.vocab_)
        return reordering.Limits(beam, threshold, 3, n_best, True, limit, *weights, self.lm.initial_state, END, types)

    def decode(self, source, copies, limits):
        automaton = self.lm.automaton_
        estimates = frozen(reordering.estimate(self.options, automaton), np.float64)
        sentences = reordering.Sequences(
            np.array(source, np.int32), np.array([0, len(source)]), np.array(copies, np.int32)
        )
        found = reordering.decode(sentences, reordering.Problem(self.options, automaton, limits, estimates))
        outputs = []
        for i in range(len(found.scores)):
            output, covered = [], []
            for option, p, length in found.segments[found.segment_starts[i] : found.segment_starts[i + 1]].tolist():
                a, b = self.options.target_starts[option : option + 2] if option >= 0 else (0, 0)
                output += self.options.targets[a:b].tolist() if option >= 0 else [-1 - option]
                covered += range(p, p + length)
            assert sorted(covered) == list(range(len(source)))
            outputs.append((tuple(output), float(found.scores[i])))
        return found, outputs


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_without_pruning_the_best_translations_are_those_of_an_exhaustive_search(seed, limit):
    world = World(seed)
    for length in (1, 3, 5):
        # Word 0 is unknown to the table; copied words may be unknown to the language model, too.
        source = [world.random.choice([0, *range(FIRST, FIRST + 3)], [1, 4, 4, 4]) for _ in range(length)]
        copies = [FIRST + world.random.below(5) for _ in source]
        expected = sorted(world.all_translations(source, copies, limit).items(), key=lambda item: -item[1])
        _, best = world.decode(source, copies, world.limits(1, limit))
        assert best[0][1] == pytest.approx(expected[0][1], abs=1e-9)
        assert dict(expected)[best[0][0]] == pytest.approx(expected[0][1], abs=1e-9)
        _, ranked = world.decode(source, copies, world.limits(20, limit))
        assert len(ranked) == min(20, len(expected)) == len({output for output, _ in ranked})
        np.testing.assert_allclose([s for _, s in ranked], [s for _, s in expected[:20]], atol=1e-9)
        for output, score in ranked:
            assert dict(expected)[output] == pytest.approx(score, abs=1e-9)


def test_scores_are_the_weighted_features_counted_again():
    world = World(3)
    source = [FIRST, FIRST + 1, FIRST + 2, FIRST, 0, FIRST + 1]
    found, ranked = world.decode(source, [FIRST] * 6, world.limits(10, 3, beam=4, threshold=5.0))
    assert [s for _, s in ranked] == sorted((s for _, s in ranked), reverse=True)
    for i, (output, score) in enumerate(ranked):
        segments = found.segments[found.segment_starts[i] : found.segment_starts[i + 1]].tolist()
        total = sum(float(world.options.scores[o]) if o >= 0 else WEIGHTS["unknown"] for o, *_ in segments)
        ends = [0, *(p + n for _, p, n in segments)]
        jumps = sum(abs(p - end) for (_, p, _), end in zip(segments, ends, strict=False))
        assert found.logs[i].tolist() == pytest.approx([world.language(list(output)), -jumps])
        total += WEIGHTS["phrase"] * len(segments) + WEIGHTS["word"] * len(output)
        total += WEIGHTS["language"] * found.logs[i, 0] + WEIGHTS["jump"] * found.logs[i, 1]
        assert total == pytest.approx(score, abs=1e-9)


def test_a_lattice_that_outgrows_its_room_is_searched_again_and_a_small_beam_still_answers(monkeypatch):
    world = World(5)
    source = [FIRST + world.random.below(3) for _ in range(9)]
    _, ranked = world.decode(source, [FIRST] * 9, world.limits(30, 4, beam=30))
    monkeypatch.setattr(reordering, "_EDGES", 3)
    assert world.decode(source, [FIRST] * 9, world.limits(30, 4, beam=30))[1] == ranked
    assert len(world.decode(source, [FIRST] * 9, world.limits(1, 8, beam=1))[1]) == 1
    assert world.decode([], [], world.limits(1, 4))[1] == []
