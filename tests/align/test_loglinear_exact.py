"""The log-linear aligner against enumeration of everything it sums over, features told by their definitions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from corpuscle.align.kernels import loglinear as kernels
from corpuscle.align.kernels.loglinear import Direction, workspace
from corpuscle.align.kernels.loglinear_paths import Job, learn
from corpuscle.align.loglinear import LogLinear
from corpuscle.align.loglinear_training import Neighbourhood, guided
from corpuscle.align.settings import FAMILIES, NEIGHBOURHOODS
from corpuscle.scale import workers
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus

ROWS = [
    ("anna likes cats", "cats anna aime"),
    ("likes", "aime anna"),
    ("cats anna", "cats"),
    ("red catsup", "catsups cats"),
]


def bitext_of(rows: list[tuple[str, str]]) -> Bitext:
    return Bitext(
        Corpus.from_sentences([source.split() for source, _ in rows]),
        Corpus.from_sentences([target.split() for _, target in rows]),
    )


def own(source: str | None, target: str | None) -> dict[str, float]:
    """Features of a user's own."""
    found = {"length": 0.25 * (len(source or "") - len(target or ""))}
    return found | ({"nothing": 1.0} if source is None or target is None else {})


def as_prepared(model, pairs):
    return pairs


class Case:
    """One direction of a small text, with any weights, and the features of any alignment by their definitions."""

    def __init__(self, direction: int, null_jump: str = "skip", neighbourhood: str = "cooc", families=FAMILIES, **more):
        self.bitext, self.direction = bitext_of(ROWS), direction
        self.model = LogLinear(
            neighbourhood=neighbourhood, families=families, null_jump=null_jump, classes=2, workers=1, **more
        )
        with workers(1) as pool:
            self.hood = Neighbourhood.learn(self.bitext, neighbourhood, pool)
        self.ready = self.model.encoded(self.bitext, self.hood)[direction]
        self.layout = self.model.layout(direction)
        self.shape = self.layout.shape(null_jump == "remember")
        self.names = self.model.names(direction, np.arange(self.layout.size))
        self.number = {name: k for k, name in enumerate(self.names)}
        self.weights = np.random.default_rng(3 + direction).normal(0, 0.7, self.layout.size)
        sides = (self.bitext.source, self.bitext.target)[:: -1 if direction else 1]
        self.states, self.outputs = sides
        self.classes = [
            {corpus.vocab.word(k): (f"c{v - 4}" if v >= 4 else "c?") for k, v in enumerate(classes.tolist())}
            for corpus, classes in zip(sides, self.model.classes_[:: -1 if direction else 1], strict=True)
        ]
        allowed = self.hood.allowed[direction]
        pairs = zip(self.hood.rows[allowed].tolist(), self.hood.couples.columns[allowed].tolist(), strict=True)
        self.omega = {word: [] for word in [*self.states.vocab.strings[3:], None]}
        for s, t in pairs:
            words = self.bitext.source.vocab.word(s), self.bitext.target.vocab.word(t)
            self.omega[words[direction]].append(words[1 - direction])
        for t in np.flatnonzero(self.hood.from_null[direction]):
            self.omega[None].append(self.outputs.vocab.word(int(t)))

    def learn(self, sentences, clamped=1.0, free=1.0):
        """Sums and gradient of some sentence pairs, by the kernels."""
        learner = kernels.learner_of(self.weights.copy(), np.zeros(self.layout.size), np.zeros(0), 0.0)
        sums, order = np.zeros(2), np.array(sentences)
        work = workspace(*self.ready, self.shape)
        n = len(order)
        direction = Direction(*self.ready, self.shape, learner, work)
        learn(direction, Job(order, 0, n, n, np.zeros(0), 0.0), clamped * n, free * n, sums)
        return sums, learner.gradient

    def lexical(self, x: str | None, t: str) -> Counter:
        """lex(x, t)."""
        found: Counter = Counter()
        model, d = self.model, self.direction
        shown, cx = ("<null>", "<null>") if x is None else (x, self.classes[0][x])
        ct = self.classes[1][t]
        found[f"pair {shown} {t}"] = 1
        found[f"source {shown}"] = found[f"source_class {cx}"] = found[f"classpair {cx} {ct}"] = 1
        values = {}
        if x is not None:
            if x == t:
                found["identity"] = 1
                found[f"identity_length {min(9, math.floor(math.log(len(x) + 1, 1.3)))}"] = 1
            elif min(len(x), len(t)) > 3 and x[:3] == t[:3]:
                found["prefix"] = 1
            longest = max(len(x), len(t))
            alike = (longest - distance(x, t)) / math.sqrt(longest)
            for edge in (2.9, 2.7, 2.5, 2.3, 2.1, 1.9, 1.7, 1.5, 1.3, 1.1, 0.9):
                if alike >= edge - 1e-12:
                    found[f"ortho {edge}"] = 1
                    break
            has = [(x in self.sentence(k)[0], t in self.sentence(k)[1]) for k in range(len(ROWS))]
            dice = 2 * sum(a and b for a, b in has) / (sum(a for a, _ in has) + sum(b for _, b in has))
            for edge in ("0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1", "0.05"):
                if dice >= float(edge):
                    found[f"dice {edge}"] = 1
                    break
            s, g = (t, x) if d else (x, t)
            place = model._features(d).find(np.array([self.states.vocab.id(x)]), np.array([self.outputs.vocab.id(t)]))[
                0
            ]
            row, column = self.bitext.source.vocab.id(s), self.bitext.target.vocab.id(g)
            couple = np.flatnonzero((self.hood.rows == row) & (self.hood.couples.columns == column))[0]
            assert model.couples_.columns[place] == column
            values = {"p(t|x)": self.hood.tables[d].couples[couple], "p(x|t)": self.hood.tables[1 - d].couples[couple]}
            values["sqrt(p(t|x)p(x|t))"] = math.sqrt(float(values["p(t|x)"]) * float(values["p(x|t)"]))
        else:
            values = {"p(t|x)": self.hood.tables[d].null[self.outputs.vocab.id(t)]}
        for name, value in values.items():
            if value >= 1e-3:
                found[f"m1 {name}"] = float(value)
        found["m1log log p(t|x)"] = math.log(max(float(values["p(t|x)"]), 1e-6))
        if model.user_.function is not None:
            for name, value in own(*((t, x) if d else (x, t))).items():
                found[f"user {name}"] += value
        return found

    def sentence(self, k: int) -> tuple[list[str], list[str]]:
        return self.states.words(k), self.outputs.words(k)

    def path(self, words, classes, n, before, memory, after, target) -> Counter:
        """path(before, after): places from 1, 0 is the null word, -1 the start and m + 1 the end."""
        m = len(words)
        found: Counter = Counter()

        def name(place):
            return "<s>" if place == -1 else "</s>" if place == m + 1 else words[place - 1] if place else "<null>"

        def of_class(place):
            return classes[words[place - 1]] if 0 < place <= m else name(place)

        if memory is not None and after != 0:
            d = target - memory
            kind = "S" if d == 0 else ("+" if d > 0 else "-") + {1: "1", 2: "2", 3: "3", 4: "4"}[abs(d)]
            left, right = of_class(memory if memory else -1), of_class(after)
            found[f"jump {kind}"] = found[f"jump_length {kind} {n}"] = 1
            found[f"jump_class {kind} {right}"] = found[f"jump_classes {kind} {left} {right}"] = 1
        block = "bigram" if before > 0 and 0 < after <= m else "bigram_edge"
        found[f"{block} {name(before)} {name(after)}"] = 1
        found[f"bigram_classes {of_class(before)} {of_class(after)}"] = 1
        null = ["<null>" if place == 0 else "word" for place in (before, after)]
        found[f"nulljump {null[0]} {null[1]}"] = 1
        return found

    def total(self, k: int, outputs, alignment) -> Counter:
        """H(t, a) of sentence pair k."""
        words = self.sentence(k)[0]
        m, n = len(words), len(outputs)
        found: Counter = Counter()
        before, memory, copied = -1, 0, 0
        remember = self.model.null_jump == "remember"
        for j, (t, a) in enumerate(zip(outputs, alignment, strict=True), 1):
            x = words[a - 1] if a else None
            found.update(self.lexical(x, t))
            if a:
                found["diag"] += abs(a / m - j / n)
                found[f"diag_class {self.classes[0][x]}"] += abs(a / m - j / n)
            copy = int(a > 0 and x == t and len(t) >= 3)
            found.update(self.path(words, self.classes[0], n, before, memory, a, a))
            if a > 0 and before == a and copy != copied:
                found["cycle"] += 1
            before, copied = a, copy
            memory = a if a else (memory if remember else None)
        found.update(self.path(words, self.classes[0], n, before, memory, m + 1, m + 1))
        return found

    def vector(self, found: Counter) -> np.ndarray:
        """Features as a vector; those of families that are not used are left out."""
        result = np.zeros(self.layout.size)
        for name, value in found.items():
            name = name if name in self.number else name.replace("pair <null>", "pair_null <null>", 1)
            if name in self.number:
                result[self.number[name]] += value
            else:
                assert name.split()[0] not in self.layout.blocks, name
        return result

    def enumerate(self, k: int, clamped: bool, guide=lambda j, a: 0.0) -> tuple[float, np.ndarray, list]:
        """log of the sum over all paths of a sentence pair, what is expected of every feature, and all paths.

        ``guide(j, a)`` is added for every output.
        """
        words, outputs = self.sentence(k)
        paths = []
        for alignment in itertools.product(range(len(words) + 1), repeat=len(outputs)):
            choices = [self.omega[words[a - 1] if a else None] for a in alignment]
            if clamped:
                choices = [[t] if t in allowed else [] for t, allowed in zip(outputs, choices, strict=True)]
            for emitted in itertools.product(*choices):
                vector = self.vector(self.total(k, emitted, alignment))
                more = sum(guide(j, a) for j, a in enumerate(alignment))
                paths.append((float(vector @ self.weights) + more, vector, alignment))
        z = np.logaddexp.reduce([score for score, _, _ in paths])
        return z, sum(math.exp(score - z) * vector for score, vector, _ in paths), paths


def distance(a: str, b: str) -> int:
    """Edit distance."""
    if not a or not b:
        return len(a) + len(b)
    return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))


@pytest.mark.parametrize("null_jump", ["skip", "remember"])
@pytest.mark.parametrize("direction", [0, 1])
def test_sums_and_both_expectations_equal_enumeration(direction, null_jump) -> None:
    case = Case(direction, null_jump, "eb-model1", features=own)
    for k in range(len(ROWS)):
        for clamped in True, False:
            z, expected, _ = case.enumerate(k, clamped)
            sums, gradient = case.learn([k], float(clamped), -float(not clamped))
            assert sums[0 if clamped else 1] == pytest.approx(z, abs=1e-11)
            assert np.abs(gradient - expected).max() < 1e-11
        assert sums[1] >= sums[0]


@pytest.mark.parametrize("null_jump", ["skip", "remember"])
@pytest.mark.parametrize("direction", [0, 1])
def test_a_direction_learns_from_its_links_times_those_of_the_other_one(direction, null_jump) -> None:
    cases = [Case(d, null_jump, "eb-model1") for d in (0, 1)]
    ready, shapes, weights = zip(*((each.ready, each.shape, each.weights) for each in cases), strict=True)
    with workers(1) as pool:
        both = guided(list(ready), list(shapes), list(weights), pool)
    mine, other = cases[direction], cases[1 - direction]
    mine.ready = both[direction]
    for k in range(len(ROWS)):
        z, _, paths = other.enumerate(k, True)
        m, n = (len(side) for side in mine.sentence(k))
        links = np.zeros((n + 1, m))
        for score, _, alignment in paths:
            links[alignment, np.arange(m)] += math.exp(score - z)
        # Outputs here are states there: nothing comes from one if all its links fail.
        from_null = np.maximum(np.prod(1 - links[1:], axis=1), 1e-2)
        factors = np.log(np.column_stack([from_null, np.maximum(links[1:], 1e-3)]))
        z, expected, _ = mine.enumerate(k, True, lambda j, a, factors=factors: factors[j, a])
        sums, gradient = mine.learn([k], 1.0, 0.0)
        assert sums[0] == pytest.approx(z, abs=1e-4)
        assert np.abs(gradient - expected).max() < 1e-4
        assert sums[1] == pytest.approx(mine.enumerate(k, False)[0], abs=1e-11)


@pytest.mark.parametrize("neighbourhood", NEIGHBOURHOODS)
def test_the_gradient_equals_finite_differences(neighbourhood) -> None:
    case = Case(0, "skip", neighbourhood)
    _, gradient = case.learn([0, 1, 2, 3])
    dice = np.random.default_rng(1)
    active = np.flatnonzero(gradient)
    for i in dice.choice(active, min(40, len(active)), replace=False):
        values = []
        for move in 1e-5, -1e-5:
            before = case.weights[i]
            case.weights[i] += move
            sums, _ = case.learn([0, 1, 2, 3])
            values.append(sums[0] - sums[1])
            case.weights[i] = before
        assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


def test_a_batch_is_the_sum_of_its_sentence_pairs() -> None:
    case = Case(1)
    parts = [case.learn([k]) for k in range(4)]
    sums, gradient = case.learn([0, 1, 2, 3])
    assert np.allclose(sums, sum(part[0] for part in parts), atol=1e-12)
    assert np.allclose(gradient, sum(part[1] for part in parts), atol=1e-12)


def test_pairs_alone_in_the_full_neighbourhood_factorise() -> None:
    case = Case(0, "skip", "full", ("pair",))
    for k in range(len(ROWS)):
        words, outputs = case.sentence(k)
        scores = [case.vector(case.lexical(x, t)) @ case.weights for x in [None, *words] for t in case.omega[x]]
        sums, _ = case.learn([k])
        assert sums[1] == pytest.approx(len(outputs) * np.logaddexp.reduce(scores), abs=1e-11)


@pytest.mark.parametrize("null_jump", ["skip", "remember"])
@pytest.mark.parametrize("direction", [0, 1])
def test_posteriors_and_best_alignments_equal_enumeration(direction, null_jump) -> None:
    case = Case(direction, null_jump)
    weights = [np.zeros(case.model.layout(d).size) for d in (0, 1)]
    weights[direction] = case.weights
    case.model.weights_ = weights[0], weights[1]
    # To align, every word of the sentence is allowed.
    (prepared,) = case.model.map(case.bitext, as_prepared)
    found = case.model.posteriors(prepared, direction)
    paths, scores = case.model.k_best(prepared, direction, 5)
    best = case.model.best(prepared, direction)
    assert (best == paths[0]).all()
    cells, at = prepared.cell_starts, prepared.source_starts if direction else prepared.target_starts
    for k in range(len(ROWS)):
        words, outputs = case.sentence(k)
        for x in [None, *words]:
            case.omega[x] = outputs
        z, _, every = case.enumerate(k, True)
        matrix = np.zeros((len(words) + 1, len(outputs)))
        for score, _, alignment in every:
            for j, a in enumerate(alignment):
                matrix[a, j] += math.exp(score - z)
        links = found.links[cells[k] : cells[k + 1]].reshape(-1, len(case.bitext.target.words(k)))
        assert np.allclose(links.T if direction else links, matrix[1:], atol=1e-6)
        assert np.allclose(found.nulls[at[k] : at[k + 1]], matrix[0], atol=1e-6)
        every.sort(key=lambda path: -path[0])
        for r, (score, _, alignment) in enumerate(every[:5]):
            assert scores[r, k] == pytest.approx(score - z, abs=1e-10)
            assert (paths[r, at[k] : at[k + 1]] + 1).tolist() == list(alignment)
        assert np.isneginf(scores[len(every) :, k]).all()


@pytest.mark.parametrize("adaptive", [False, True])
def test_charging_when_read_equals_charging_after_every_step(adaptive) -> None:
    dice = np.random.default_rng(2)
    n, penalty = 12, 0.1
    lazy, eager = (kernels.learner_of(np.zeros(n), np.zeros(n), np.zeros(n if adaptive else 0), 0.0) for _ in range(2))
    for k in range(200):
        rate = 0.5 * 0.99**k
        active = np.flatnonzero(dice.uniform(size=n) < 0.3)
        for learner in lazy, eager:
            for i in active if learner is lazy else range(n):
                before = kernels.weight(learner, i)
                if i in active:  # a gradient that depends on the weight that was read
                    learner.gradient[i] = math.sin(3 * k + i) + 0.4 * (i % 3) - 0.3 * before
            kernels.step(learner, rate, penalty)
    for learner in lazy, eager:
        kernels.settle(learner)
    assert np.abs(lazy.weights - eager.weights).max() < 1e-14
    assert 0 < (lazy.weights == 0).sum() < n


@pytest.mark.parametrize("adaptive", [False, True])
def test_no_penalty_is_plain_ascent_and_a_huge_one_leaves_nothing(adaptive) -> None:
    slopes = np.random.default_rng(4).normal(size=(30, 5))
    for penalty in 0.0, 1e6:
        learner = kernels.learner_of(np.zeros(5), np.zeros(5), np.zeros(5 if adaptive else 0), 0.0)
        plain, squares = np.zeros(5), np.zeros(5)
        for slope in slopes:
            for i in range(5):
                kernels.weight(learner, i)
            learner.gradient[:] = slope
            kernels.step(learner, 0.1, penalty)
            squares += slope**2
            plain += 0.1 * slope / (np.sqrt(squares + 0.01) if adaptive else 1)
        assert np.allclose(learner.weights, plain if penalty == 0 else 0, atol=1e-14)
