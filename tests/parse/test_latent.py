"""Trees with hidden states by linear algebra: exact with exact moments, whatever the shape; near with sampled trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bench.lm_truth import windows_of_moments
from corpuscle.engine.linalg.cca import diagonal_cca
from corpuscle.engine.linalg.sparse import Rows
from corpuscle.lm.kernels.spectral import estimated_operators, project
from corpuscle.parse.kernels.latent import LEFT, RIGHT, Observables, Trees
from corpuscle.parse.latent import Basis, observables_of, polished, recovered, score_trees
from corpuscle.parse.settings import RerankSettings
from corpuscle.text.vocab import Vocab
from tests.engine.dp.test_charts import all_heads, is_tree
from tests.lm.test_spectral import raw_product

STATES, SYMBOLS, TAGS = 3, 8, 4
SEEN = ([2, 0, 2], [2, 3, 0], [2, 0, 2, 3], [3, 3, 0, 3], [0, 1, 2], [0, 3, 1], [2, 4, 4, 0, 4])
"""Shapes that moments come from: heads."""
CHAINS = ([0, 1, 2, 3], [2, 3, 4, 0], [0, 3, 1, 3], [2, 4, 4, 0, 4], [0, 1, 4, 2])
"""Shapes with many chains of child, head and its head, on both sides."""


class Truth:
    """A random model of words and tags with its exact probabilities by enumeration of all states."""

    def __init__(self, seed: int, distinct: float = 0.0):
        random = np.random.default_rng(seed)
        self.start = random.dirichlet(np.ones(STATES))
        self.steps = random.dirichlet(np.ones(STATES), (2, STATES))  # [side, head's state, state]
        self.steps = (1 - distinct) * self.steps + distinct * np.stack([np.eye(STATES), np.roll(np.eye(STATES), 1, 0)])
        self.words = random.dirichlet(np.ones(SYMBOLS), STATES)
        self.words += distinct * np.eye(STATES, SYMBOLS, 1)
        self.words /= self.words.sum(1, keepdims=True)
        self.tags = random.dirichlet(np.ones(TAGS), STATES)

    def probability(self, words, heads, tags=None):
        total = 0.0
        for states in itertools.product(range(STATES), repeat=len(words)):
            p = 1.0
            for j, (word, head, state) in enumerate(zip(words, heads, states, strict=True)):
                side = LEFT if j < head - 1 else RIGHT
                p *= self.start[state] if head == 0 else self.steps[side, states[head - 1], state]
                p *= self.words[state, word] * (1.0 if tags is None else self.tags[state, tags[j]])
            total += p
        return total

    def all_words(self, heads):
        """How likely each sequence of words is, (SYMBOLS,) * n, by sums over states instead of enumeration."""
        names = "abcdef"[: len(heads)]
        parts, operands = [], []
        for j, head in enumerate(heads):
            parts += [names[j]] if head == 0 else [names[head - 1] + names[j]]
            operands += [self.start if head == 0 else self.steps[LEFT if j < head - 1 else RIGHT]]
            parts += [names[j] + names[j].upper()]
            operands += [self.words]
        return np.einsum(",".join(parts) + "->" + names.upper(), *operands, optimize=True)

    def sample(self, heads, count, random):
        """Words (count, n) of as many trees."""
        states, words = np.zeros((count, len(heads)), int), np.zeros((count, len(heads)), np.int32)
        done: list[int] = []
        while len(done) < len(heads):
            for j, head in enumerate(heads):
                if j not in done and (head == 0 or head - 1 in done):
                    rows = self.start[None] if head == 0 else self.steps[int(j > head - 1)][states[:, head - 1]]
                    states[:, j] = (rows.cumsum(1) < random.random((count, 1))).sum(1).clip(max=STATES - 1)
                    emitted = self.words[states[:, j]].cumsum(1) < random.random((count, 1))
                    words[:, j] = emitted.sum(1).clip(max=SYMBOLS - 1)
                    done.append(j)
        return words


def trees_of(shapes, words, weights, tags=None):
    """Trees from blocks of sentences of one shape: words (count, n), weights (count,)."""
    heads = np.concatenate([np.tile(shape, len(block)) for shape, block in zip(shapes, words, strict=True)])
    lengths = np.concatenate([np.full(len(block), len(shape)) for shape, block in zip(shapes, words, strict=True)])
    symbols = np.concatenate([block.ravel() for block in words]).astype(np.int32)
    marks = symbols if tags is None else np.concatenate([block.ravel() for block in tags]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Trees(symbols, marks, heads.astype(np.int32), starts, np.concatenate(weights).astype(np.float64))


def exact_trees(truth: Truth, shapes=SEEN):
    """Every sequence of words of every shape, as often as it is likely; shapes are not equally frequent."""
    blocks = [np.array(list(itertools.product(range(SYMBOLS), repeat=len(shape))), np.int32) for shape in shapes]
    weights = [truth.all_words(shape).ravel() * (1 + i) for i, shape in enumerate(shapes)]
    return trees_of(shapes, blocks, weights)


def child_and_head(truth: Truth):
    """Exact counts of child and (side, head) for one distribution of the head's states."""
    head = np.array([0.2, 0.5, 0.3])
    return np.hstack([(truth.words.T @ truth.steps[side].T * head) @ truth.words for side in (LEFT, RIGHT)])


def bases(truth: Truth):
    vocab = Vocab.from_words([f"w{i}" for i in range(SYMBOLS - 3)])
    counts = child_and_head(truth)
    left = np.linalg.svd(counts)[0][:, :STATES]
    frequency = counts.sum(1)
    canonical = diagonal_cca(Rows.of(counts), frequency, counts.sum(0), STATES).left
    arbitrary = np.linalg.qr(np.random.default_rng(5).normal(size=(SYMBOLS, STATES)))[0]
    skew = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -0.5], [0.3, 0.0, 1.5]])
    return {
        "svd": Basis(vocab, left, np.ones(SYMBOLS), "plain"),
        "skew": Basis(vocab, left @ skew, np.ones(SYMBOLS), "plain"),
        "cca": Basis(vocab, canonical, frequency, "weighted"),
        "any": Basis(vocab, arbitrary, np.ones(SYMBOLS), "operators"),
    }


def learned(truth, trees, basis, marks=0, **settings) -> Observables:
    return observables_of(trees, basis, RerankSettings(**{"states": STATES, "stops": False, **settings}), marks)[0]


def logs_of(model, words, heads, tags=None):
    words = np.asarray(words, np.int32)
    marks = words if tags is None else np.asarray(tags, np.int32)
    starts = np.array([0, len(words)], np.int64)
    trees = Trees(words, marks, np.zeros(len(words), np.int32), starts, np.ones(1))
    heads = np.asarray(heads, np.int32).ravel()
    return score_trees(model, trees, np.array([0, len(heads) // len(words)]), heads, -99.0, 1)


@pytest.fixture(scope="module")
def truth():
    return Truth(3)


@pytest.fixture(scope="module")
def moments(truth):
    return exact_trees(truth)


SHAPES = [
    [0], [0, 1], [2, 0], [2, 0, 2], [0, 1, 2, 3], [2, 3, 4, 0], [0, 1, 1, 1, 1], [5, 5, 5, 5, 0], [4, 4, 4, 0, 4, 4],
    [3, 3, 0, 3, 3, 5], [2, 0, 4, 2, 4, 2], [3, 4, 0, 3], [0, 0], [0, 1, 0, 3],
]  # fmt: skip


@pytest.mark.parametrize("name", ["svd", "skew", "cca", "any"])
@pytest.mark.parametrize("estimator", ["pairs", "chain"])
@pytest.mark.parametrize("weighting", ["pairs", "nodes"])
def test_with_exact_moments_all_shapes_have_their_exact_probability(truth, moments, name, estimator, weighting):
    model = learned(truth, moments, bases(truth)[name], estimator=estimator, weighting=weighting)
    random = np.random.default_rng(1)
    shapes = SHAPES if weighting == "pairs" else SHAPES[6:11]
    shapes = [*shapes, *(heads for n in (2, 3) for heads in all_heads(n) if is_tree(heads))]
    for heads in shapes:
        words = random.integers(0, SYMBOLS, len(heads))
        found = logs_of(model, words, heads)
        assert found.known.all()
        assert np.exp(found.logs[0]) == pytest.approx(truth.probability(words, heads), rel=1e-8)


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_other_random_models_are_exact_too(seed):
    truth = Truth(seed)
    trees = exact_trees(truth, SEEN[:6])
    for name, estimator in (("cca", "pairs"), ("svd", "chain")):
        model = learned(truth, trees, bases(truth)[name], estimator=estimator)
        for heads in ([3, 1, 0, 3, 4], [2, 0, 2, 3, 3]):
            found = logs_of(model, [1, 7, 3, 3, 0], heads)
            assert np.exp(found.logs[0]) == pytest.approx(truth.probability([1, 7, 3, 3, 0], heads), rel=1e-8)


def test_the_dual_without_frequencies_is_wrong_for_canonical_directions(truth, moments):
    basis = bases(truth)["cca"]
    wrong = learned(truth, moments, basis._replace(way="plain"), estimator="pairs")
    assert abs(np.exp(logs_of(wrong, [1, 2, 3], [2, 0, 2]).logs[0]) / truth.probability([1, 2, 3], [2, 0, 2]) - 1) > 0.1


def test_a_word_and_its_tag_can_both_be_observed(truth):
    shapes = SEEN[:4]
    blocks, tags, weights = [], [], []
    for shape in shapes[:2]:
        for words in itertools.product(range(SYMBOLS), repeat=len(shape)):
            for marks in itertools.product(range(TAGS), repeat=len(shape)):
                blocks.append(words)
                tags.append(marks)
        weights.append(_all_words_and_tags(truth, shape))
    size = SYMBOLS**3 * TAGS**3
    words = [np.array(blocks[:size]), np.array(blocks[size:])]
    marks = [np.array(tags[:size]), np.array(tags[size:])]
    trees = trees_of(shapes[:2], words, weights, marks)
    for estimator in ("pairs", "chain"):
        model = learned(truth, trees, bases(truth)["svd"], TAGS, estimator=estimator)
        for heads in ([2, 3, 4, 0], [2, 4, 4, 0]) if estimator == "chain" else ([2, 0, 2, 3], [0, 1, 1, 3]):
            found = np.exp(logs_of(model, [1, 2, 0, 7], heads, [0, 3, 1, 1]).logs[0])
            assert found == pytest.approx(truth.probability([1, 2, 0, 7], heads, [0, 3, 1, 1]), rel=1e-8)


def _all_words_and_tags(truth, shape):
    names, both = "abc", np.einsum("hw,ht->hwt", truth.words, truth.tags)
    parts, operands = [], []
    for j, head in enumerate(shape):
        parts += [names[j]] if head == 0 else [names[head - 1] + names[j]]
        operands += [truth.start if head == 0 else truth.steps[int(j > head - 1)], both]
        parts += [names[j] + "ABC"[j] + "XYZ"[j]]
    return np.einsum(",".join(parts) + "->ABCXYZ", *operands, optimize=True).ravel()


def test_operators_of_all_words_add_up_to_the_identity(truth, moments):
    for name in ("svd", "cca"):
        model = learned(truth, moments, bases(truth)[name], estimator="pairs")
        total = np.tensordot(model.duals.sum(0), model.maps, 1)
        np.testing.assert_allclose(total, np.eye(STATES), atol=1e-8)
        assert model.end @ model.start == pytest.approx(1.0, rel=1e-8)
    model = learned(truth, moments, bases(truth)["any"], estimator="chain")
    np.testing.assert_allclose(model.operators.sum(0), np.eye(STATES), atol=1e-8)


def plain_value(model, words, heads, reverse=False):
    """A tree from the formula, factor by factor; ``reverse``: in the opposite order."""

    def inside(node):
        left = [j for j in range(node - 1, 0, -1) if heads[j - 1] == node]
        right = [j for j in range(node + 1, len(heads) + 1) if heads[j - 1] == node]
        factors = [np.tensordot(model.steps[int(j > node)].T @ inside(j), model.maps, 1) for j in left + right]
        value = model.duals[words[node - 1]]
        if reverse:  # all factors, that of the word last
            value, factors = model.end, [*reversed(factors), np.tensordot(value, model.maps, 1)]
        for factor in factors:
            value = value @ factor
        return value

    return np.prod([inside(j) @ model.start for j, head in enumerate(heads, 1) if head == 0])


def test_the_order_of_factors_matters_for_estimates_only_and_is_outward(truth, moments):
    words, heads = [0, 5, 2, 7, 1, 1], [3, 3, 0, 3, 3, 5]
    exact = learned(truth, moments, bases(truth)["svd"], estimator="pairs")
    assert plain_value(exact, words, heads) == pytest.approx(plain_value(exact, words, heads, True), rel=1e-8)
    rough = sampled_model(Truth(2, distinct=0.6), 2000, "pairs")
    assert plain_value(rough, words, heads) != pytest.approx(plain_value(rough, words, heads, True), rel=1e-4)
    found = logs_of(rough, words, heads)
    assert found.known[0] and np.exp(found.logs[0]) == pytest.approx(plain_value(rough, words, heads), rel=1e-9)


def sampled_model(truth, count, estimator, seed=1):
    random = np.random.default_rng(seed)
    shapes = SEEN if estimator == "pairs" else CHAINS
    each = count // len(shapes)
    words = [truth.sample(shape, each, random) for shape in shapes]
    trees = trees_of(shapes, words, [np.ones(each)] * len(shapes))
    return learned(truth, trees, bases(truth)["svd"], estimator=estimator)


def errors(truth, model):
    random = np.random.default_rng(9)
    found = []
    for heads in SEEN:
        for words in random.integers(0, SYMBOLS, (15, len(heads))):
            value = logs_of(model, words, heads)
            if value.known[0]:
                found.append(abs(value.logs[0] - np.log(truth.probability(words, heads))))
    return np.median(found)


@pytest.mark.parametrize("estimator", ["pairs", "chain"])
def test_the_error_falls_with_the_square_root_of_the_number_of_trees(estimator):
    truths = [Truth(seed, distinct=0.6) for seed in (2, 5, 6)]
    sizes = (3_000, 30_000, 300_000)
    found = [np.mean([errors(truth, sampled_model(truth, size, estimator)) for truth in truths]) for size in sizes]
    assert all(error < bound for error, bound in zip(found, (0.3, 0.1, 0.03), strict=True))
    assert 4 < found[0] / found[2] < 25  # 10 if the error falls with the square root


def test_a_right_chain_is_a_hidden_markov_model(truth, moments):
    transitions = truth.steps[RIGHT]  # [state, next]
    pi = np.full(STATES, 1 / STATES)
    triples = np.einsum("a,ab,bc,ax,by,cz->zyx", pi, transitions, transitions, *[truth.words] * 3, optimize=True)
    windows = windows_of_moments(triples)
    chain = estimated_operators(windows, project(windows, STATES, "svd"), truth.start @ truth.words)
    model = learned(truth, moments, bases(truth)["cca"], estimator="pairs")
    for words in ([1], [0, 3], [5, 5, 2, 7], [1, 2, 3, 4, 5, 6, 7, 0]):
        sign, log = raw_product(chain, np.array(words))
        assert sign == 1.0
        assert logs_of(model, words, list(range(len(words)))).logs[0] == pytest.approx(log, rel=1e-8)


def test_shared_subtrees_change_nothing():
    rough = sampled_model(Truth(2, distinct=0.6), 3000, "pairs")
    words = [1, 2, 3, 4, 5]
    every = [heads for heads in all_heads(5) if is_tree(heads)]
    together = logs_of(rough, words, every)
    for heads, log, known in list(zip(every, together.logs, together.known, strict=True))[::7]:
        alone = logs_of(rough, words, heads)
        assert alone.logs[0] == log and alone.known[0] == known
    assert (together.logs[~together.known] == -99.0).all()


def test_a_side_without_triples_borrows_the_other(truth):
    trees = exact_trees(truth, [[0, 1, 2], [0, 1, 2, 2]])
    model = learned(truth, trees, bases(truth)["svd"])
    np.testing.assert_array_equal(model.steps[LEFT], model.steps[RIGHT])
    found = np.exp(logs_of(model, [1, 2, 3, 4], [0, 1, 2, 1]).logs[0])
    assert found == pytest.approx(truth.probability([1, 2, 3, 4], [0, 1, 2, 1]), rel=1e-8)


def with_stops(words, heads):
    """A tree with a symbol of stops, 2, as first and last child of every word: words and heads."""
    n = len(words)
    order = [("stop", i, 0) for i in range(n)] + [("word", i, 0) for i in range(n)] + [("stop", i, 1) for i in range(n)]
    return [2 if what == "stop" else words[i] for what, i, _ in order], [
        n + i + 1 if what == "stop" else (n + heads[i] if heads[i] else 0) for what, i, _ in order
    ]


@pytest.mark.parametrize("estimator", ["pairs", "chain"])
def test_stops_are_children_of_every_word(estimator):
    truth, random = Truth(2, distinct=0.6), np.random.default_rng(4)
    words = [np.where(block == 2, 3, block) for block in (truth.sample(shape, 40, random) for shape in SEEN)]
    plain = trees_of(SEEN, words, [np.ones(40)] * len(SEEN))
    stopped = [with_stops(row, shape) for shape, block in zip(SEEN, words, strict=True) for row in block.tolist()]
    explicit = trees_of([heads for _, heads in stopped], [np.array([row]) for row, _ in stopped], [np.ones(1)] * 280)
    vocab = Vocab.from_words([f"w{i}" for i in range(SYMBOLS - 3)])
    rows = np.linalg.qr(np.random.default_rng(5).normal(size=(SYMBOLS, 4)))[0]
    basis = Basis(vocab, rows, np.ones(SYMBOLS), "plain")
    virtual = learned(truth, plain, basis, estimator=estimator, stops=True)
    real = learned(truth, explicit, basis, estimator=estimator)
    for row, heads in (([1, 5, 7], [2, 0, 2]), ([3, 3, 0, 4], [0, 1, 2, 1])):
        found, wanted = logs_of(virtual, row, heads), logs_of(real, *with_stops(row, heads))
        assert found.known[0] == wanted.known[0] and found.logs[0] == pytest.approx(wanted.logs[0], rel=1e-6)


@pytest.mark.parametrize("name", ["svd", "cca"])
def test_states_are_recovered_from_exact_moments_and_estimates_become_positive(truth, moments, name, monkeypatch):
    monkeypatch.setattr("corpuscle.parse.latent._FLOOR", 0.0)
    model = recovered(learned(truth, moments, bases(truth)[name], estimator="pairs"))
    order = np.argsort(model.start)
    np.testing.assert_allclose(model.start[order], np.sort(truth.start), rtol=1e-6)
    np.testing.assert_allclose(model.duals[:, order], truth.words[np.argsort(truth.start)].T, rtol=1e-5)
    for heads in SHAPES[4:10]:
        words = np.arange(len(heads))
        assert np.exp(logs_of(model, words, heads).logs[0]) == pytest.approx(truth.probability(words, heads), rel=1e-6)
    every = [heads for heads in all_heads(4) if is_tree(heads)]
    rough = recovered(sampled_model(truth, 700, "pairs"))
    assert logs_of(rough, [1, 2, 3, 4], every).known.all()


@pytest.mark.parametrize("stops", [False, True])
def test_em_raises_the_likelihood_that_scores_say(stops):
    truth, random = Truth(2, distinct=0.6), np.random.default_rng(4)
    words = [np.where(block == 2, 3, block) for block in (truth.sample(shape, 60, random) for shape in SEEN)]
    trees = trees_of(SEEN, words, [np.ones(60)] * len(SEEN))
    rough = recovered(learned(truth, trees, bases(truth)["svd"], estimator="pairs", stops=stops))
    model, history = polished(rough, trees, 8)
    assert (np.diff(history) > -0.5).all() and history[-1] > history[0] + 1  # the prior is worth less than that
    whole = score_trees(model, trees, np.arange(421), trees.heads, -99.0, 1).logs.sum()
    assert whole >= history[-1] - 0.5
    assert score_trees(rough, trees, np.arange(421), trees.heads, -99.0, 1).logs.sum() == pytest.approx(history[0])
    np.testing.assert_allclose(model.steps.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.duals.sum(axis=0), 1.0)
