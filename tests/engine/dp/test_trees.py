"""Trees against enumeration of all assignments: totals, the best, expected classes and steps, draws; projections."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from corpuscle.engine.dp import chains, trees


def any_weights(seed: int, classes: int, words: int, links: int = 1, sparse: float = 0.0) -> trees.Weights:
    """Distributions, some of their entries zero (and then no distributions any more)."""
    dice = np.random.default_rng(seed)
    first = dice.dirichlet(np.ones(classes))
    steps = dice.dirichlet(np.ones(classes), (links, classes)).transpose(0, 2, 1).copy()
    emission = dice.dirichlet(np.ones(words), classes).T.copy()
    for array in steps, emission:
        array[dice.uniform(size=array.shape) < sparse] = 0.0
    return trees.Weights(first, steps, steps.transpose(0, 2, 1).copy(), emission)


def any_nodes(seed: int, lengths: list[int], words: int, links: int = 1, roots: float = 0.2) -> trees.Nodes:
    """Random forests, parents first; every node has a place of its own."""
    dice = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n = int(starts[-1])
    parents = np.full(n, -1, np.int32)
    for begin, end in itertools.pairwise(starts.tolist()):
        for node in range(begin + 1, end):
            parents[node] = -1 if dice.uniform() < roots else dice.integers(begin, node)
    return trees.Nodes(
        parents,
        dice.integers(links, size=n).astype(np.int32),
        dice.integers(words, size=n).astype(np.int32),
        np.arange(n, dtype=np.int32),
        starts,
    )


def chain_nodes(words: np.ndarray) -> trees.Nodes:
    n = len(words)
    return trees.Nodes(
        np.arange(-1, n - 1, dtype=np.int32), np.zeros(n, np.int32), words.astype(np.int32),
        np.arange(n, dtype=np.int32), np.array([0, n]),
    )  # fmt: skip


def enumerated(nodes: trees.Nodes, weights: trees.Weights) -> dict[tuple[int, ...], float]:
    """The weight of every assignment of a single tree, by the definition."""
    result = {}
    for classes in itertools.product(range(len(weights.first)), repeat=len(nodes.parents)):
        weight = 1.0
        for node, (parent, link, word) in enumerate(zip(*nodes[:3], strict=True)):
            here = classes[node]
            weight *= weights.first[here] if parent < 0 else weights.steps[link, here, classes[parent]]
            weight *= weights.emission[word, here]
        result[classes] = float(weight)
    return result


def expected(nodes: trees.Nodes, weights: trees.Weights, k: int | None = None, epsilon: float = 0.0) -> trees.Counts:
    classes, links = len(weights.first), len(weights.steps)
    counts = trees.Counts.empty(classes, links, int(nodes.places.max()) + 1, len(nodes.starts) - 1)
    trees.expectations(nodes, weights, classes if k is None else k, epsilon, counts)
    return counts


def best(nodes: trees.Nodes, weights: trees.Weights) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(divide="ignore"):
        logs = trees.Weights(*map(np.log, weights))
    classes, scores = np.empty(len(nodes.parents), np.int32), np.empty(len(nodes.starts) - 1)
    trees.best_classes(nodes, logs, classes, scores)
    return classes, scores


def assert_alike(a: trees.Counts, b: trees.Counts, tolerance: float = 1e-12) -> None:
    for name in ("first", "steps", "emission", "likelihoods"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=tolerance, err_msg=name)


cases = pytest.mark.parametrize(
    ("seed", "n", "classes", "links", "sparse"),
    [(1, 6, 3, 1, 0.0), (2, 6, 3, 2, 0.0), (3, 5, 3, 1, 0.2), (4, 6, 2, 1, 0.0), (5, 1, 3, 1, 0.0), (6, 6, 1, 1, 0.0),
     (7, 6, 3, 1, 0.1), (8, 2, 3, 3, 0.0)],
)  # fmt: skip


@cases
def test_totals_and_expectations_equal_enumeration(seed, n, classes, links, sparse):
    nodes, weights = any_nodes(seed, [n], 5, links), any_weights(seed, classes, 5, links, sparse)
    all_of_them = enumerated(nodes, weights)
    total = sum(all_of_them.values())
    counts = expected(nodes, weights)
    assert counts.likelihoods[0] == pytest.approx(math.log(total), abs=1e-13)
    by_hand = trees.Counts.empty(classes, links, n, 1)
    by_hand.likelihoods[0] = math.log(total)
    for assigned, weight in all_of_them.items():
        for node, here in enumerate(assigned):
            by_hand.emission[node, here] += weight / total
            parent = nodes.parents[node]
            if parent < 0:
                by_hand.first[here] += weight / total
            else:
                by_hand.steps[nodes.links[node], here, assigned[parent]] += weight / total
    assert_alike(counts, by_hand, 1e-13)
    assert counts.tallies.tolist() == [n * classes, 0]


@cases
def test_the_best_assignment_equals_enumeration(seed, n, classes, links, sparse):
    nodes, weights = any_nodes(seed, [n], 5, links), any_weights(seed, classes, 5, links, sparse)
    all_of_them = enumerated(nodes, weights)
    found, scores = best(nodes, weights)
    assert scores[0] == pytest.approx(math.log(max(all_of_them.values())), abs=1e-13)
    assert all_of_them[tuple(found.tolist())] == pytest.approx(max(all_of_them.values()), rel=1e-13)


def test_among_equals_the_best_has_the_smallest_classes():
    flat = trees.Weights(np.full(3, 0.5), np.full((1, 3, 3), 0.5), np.full((1, 3, 3), 0.5), np.full((5, 3), 0.5))
    assert best(any_nodes(1, [6], 5), flat)[0].tolist() == [0] * 6


def test_draws_come_as_often_as_their_probability_says():
    nodes, weights = any_nodes(3, [4], 5), any_weights(3, 2, 5)
    all_of_them, draws = enumerated(nodes, weights), 20_000
    total = sum(all_of_them.values())
    many = trees.Nodes(
        np.concatenate([np.where(nodes.parents < 0, -1, nodes.parents + 4 * i) for i in range(draws)]).astype(np.int32),
        *(np.tile(array, draws) for array in nodes[1:4]),
        np.arange(0, 4 * draws + 1, 4),
    )
    classes = np.empty(4 * draws, np.int32)
    trees.random_classes(many, weights, 1, 2, 0, classes)
    seen = Counter(map(tuple, classes.reshape(-1, 4).tolist()))
    for assigned, weight in all_of_them.items():
        p = weight / total
        assert seen[assigned] / draws == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / draws))
    # A tree draws the same wherever it stands among others.
    alone = np.empty(4, np.int32)
    trees.random_classes(nodes, weights, 1, 2, 7, alone)
    np.testing.assert_array_equal(alone, classes[28:32])


def test_a_chain_is_what_the_program_for_chains_says():
    weights, words = any_weights(4, 4, 9), np.random.default_rng(4).integers(9, size=30)
    counts = expected(chain_nodes(words), weights)
    chain = chains.Chain(
        weights.first, weights.emission[words], np.ascontiguousarray(weights.turned), np.ones(4)
    )  # fmt: skip
    room = chains.Room(np.zeros((30, 4)), np.zeros((1, 4, 4)), np.zeros(4), np.zeros(4), np.zeros(30))
    logarithm = chains.expectations(30, 4, chain, weights.steps, room)
    assert counts.likelihoods[0] == pytest.approx(logarithm, abs=1e-12)
    np.testing.assert_allclose(counts.emission, room.table, atol=1e-13)
    np.testing.assert_allclose(counts.steps[0], room.taken[0].T, atol=1e-12)
    with np.errstate(divide="ignore"):
        logs = chains.Chain(*map(np.log, chain))
    paths, scores = np.zeros((1, 30), np.int32), np.zeros(1)
    chains.k_best(30, 4, logs, 1, paths, scores)
    found, score = best(chain_nodes(words), weights)
    np.testing.assert_array_equal(found, paths[0])
    assert score[0] == pytest.approx(scores[0], abs=1e-11)


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_large_trees_do_not_underflow(shape):
    n, weights = 5000, any_weights(5, 6, 50)
    nodes = chain_nodes(np.random.default_rng(5).integers(50, size=n))
    if shape == "star":
        nodes = nodes._replace(parents=np.append(np.int32(-1), np.zeros(n - 1, np.int32)))
    for k in 6, 3:
        counts = expected(nodes, weights, k)
        assert np.isfinite(counts.likelihoods[0]) and counts.likelihoods[0] < -n
        np.testing.assert_allclose(counts.emission.sum(axis=1), 1, atol=1e-12)
    assert best(nodes, weights)[1][0] < expected(nodes, weights).likelihoods[0]


@pytest.mark.parametrize(("k", "epsilon"), [(7, 1e-300), (100, 0.0), (100, 1e-300)])
def test_projections_that_leave_everything_change_nothing(k, epsilon):
    nodes, weights = any_nodes(6, [9, 1, 5, 12], 11, 2), any_weights(6, 7, 11, 2)
    assert_alike(expected(nodes, weights), expected(nodes, weights, k, epsilon))


def by_hand(nodes: trees.Nodes, weights: trees.Weights, keep) -> tuple[float, np.ndarray, np.ndarray]:
    """The recursions of the paper in plain NumPy, with a projection: logarithm, shares, expected steps."""
    n, classes = len(nodes.parents), len(weights.first)
    a, messages = weights.emission[nodes.words].copy(), np.ones((n, classes))
    b, logarithm = np.zeros((n, classes)), 0.0
    for k in range(n - 1, -1, -1):
        logarithm += math.log(a[k].sum())
        b[k] = keep(a[k] / a[k].sum())
        if nodes.parents[k] < 0:
            logarithm += math.log(weights.first @ b[k])
        else:
            messages[k] = b[k] @ weights.steps[nodes.links[k]]
            a[nodes.parents[k]] *= messages[k]
    shares, steps = np.zeros((n, classes)), np.zeros_like(weights.steps)
    for k in range(n):
        if nodes.parents[k] < 0:
            shares[k] = weights.first * b[k] / (weights.first @ b[k])
        else:
            parent = shares[nodes.parents[k]]
            ratios = np.where(parent > 0, parent / np.where(messages[k] > 0, messages[k], 1), 0)
            both = b[k][:, None] * weights.steps[nodes.links[k]] * ratios
            steps[nodes.links[k]] += both / both.sum()
            shares[k] = both.sum(axis=1) / both.sum()
    return logarithm, shares, steps


def keep_k(k):
    def keep(row):
        order = np.lexsort((np.arange(len(row)), -row))[:k]
        return np.where(np.isin(np.arange(len(row)), order), row, 0)

    return keep


def keep_mass(epsilon):
    def keep(row):
        order = np.lexsort((np.arange(len(row)), -row))
        enough = int(np.argmax(np.cumsum(row[order]) >= 1 - epsilon)) + 1
        return np.where(np.isin(np.arange(len(row)), order[:enough]), row, 0)

    return keep


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("k", "epsilon", "keep"),
    [(2, 0.0, keep_k(2)), (5, 0.0, keep_k(5)), (8, 0.1, keep_mass(0.1)), (8, 0.4, keep_mass(0.4))],
)
def test_projections_equal_the_recursions_in_plain_numpy(seed, k, epsilon, keep):
    nodes, weights = any_nodes(seed, [12], 11, 2), any_weights(seed, 8, 11, 2)
    logarithm, shares, steps = by_hand(nodes, weights, keep)
    counts = expected(nodes, weights, k, epsilon)
    assert counts.likelihoods[0] == pytest.approx(logarithm, abs=1e-12)
    np.testing.assert_allclose(counts.emission, shares, atol=1e-13)
    np.testing.assert_allclose(counts.steps, steps, atol=1e-13)
    assert counts.tallies[0] < 12 * 8
    assert logarithm < expected(nodes, weights).likelihoods[0]  # what is dropped is missing from the total


def test_ties_keep_the_smaller_class():
    flat = trees.Weights(np.full(4, 0.25), np.full((1, 4, 4), 0.25), np.full((1, 4, 4), 0.25), np.full((1, 4), 0.1))
    nodes = any_nodes(1, [3], 1)
    for k, epsilon in (2, 0.0), (2, 0.5), (4, 0.5):
        np.testing.assert_array_equal(expected(nodes, flat, k, epsilon).emission, [[0.5, 0.5, 0, 0]] * 3)


def test_a_tree_of_which_a_projection_leaves_nothing_is_done_exactly():
    # The child is most likely of class 0, but no parent of what is seen above has children of class 0.
    steps = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    emission = np.array([[0.9, 0.1], [0.0, 1.0]])
    weights = trees.Weights(np.full(2, 0.5), steps, steps, emission)
    nodes = trees.Nodes(
        np.array([-1, 0], np.int32), np.zeros(2, np.int32), np.array([1, 0], np.int32), np.arange(2, dtype=np.int32),
        np.array([0, 2]),
    )  # fmt: skip
    counts = expected(nodes, weights, 1)
    assert counts.tallies.tolist() == [4, 1]
    assert counts.likelihoods[0] == pytest.approx(math.log(0.5 * 1.0 * 0.1))
    np.testing.assert_allclose(counts.emission, [[0, 1], [0, 1]])
    found, tallies = np.empty(1), np.zeros(2, np.int64)
    trees.likelihoods(nodes, weights, 1, 0.0, found, tallies)
    assert found[0] == counts.likelihoods[0] and tallies.tolist() == [4, 1]


def test_a_tree_without_weight_is_left_out():
    weights = any_weights(1, 3, 5)
    weights.emission[4] = 0.0
    nodes = any_nodes(1, [3, 2], 4)
    alone = expected(nodes, weights)
    nodes.words[1] = 4
    counts = expected(nodes, weights)
    assert counts.likelihoods[0] == -math.inf and counts.likelihoods[1] == alone.likelihoods[1]
    assert counts.emission[:3].sum() == 0 and counts.tallies.tolist() == [6, 0]
    assert best(nodes, weights)[0][:3].tolist() == [-1] * 3
    drawn = np.empty(5, np.int32)
    trees.random_classes(nodes, weights, 1, 1, 0, drawn)
    assert drawn[:3].tolist() == [-1] * 3 and (drawn[3:] >= 0).all()


def test_nodes_that_share_a_place_add_up():
    weights, nodes = any_weights(2, 3, 5), any_nodes(2, [5, 4], 5)
    apart = expected(nodes, weights)
    together = expected(nodes._replace(places=nodes.words), weights)
    sums = np.zeros_like(together.emission)
    np.add.at(sums, nodes.words, apart.emission)
    np.testing.assert_allclose(together.emission, sums, atol=1e-14)


def test_parents_come_first_and_trees_stay_together():
    parents = np.array([1, 3, 1, -1, 5, 6, -1, -1, 7], np.int32)
    order = np.empty(9, np.int32)
    trees.parents_first(parents, order)
    assert order.tolist() == [3, 1, 0, 2, 6, 5, 4, 7, 8]
    trees.parents_first(np.arange(-1, 8, dtype=np.int32), order)
    assert order.tolist() == list(range(9))
