"""The shortest projective latent tree: against enumeration of all trees, each scored as an explicit undirected tree."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from corpuscle.grammar.kernels.minimum_evolution import (
    LEAST_SQUARES,
    MEAN,
    Leanings,
    best_evolution,
    best_tree,
    evolution_for,
    marginals,
    prefix_sums,
    sum_evolution,
)

RANDOM = np.random.default_rng(5)


@cache
def bracketings(i: int, j: int):
    """All binary trees over the words [i, j): nested pairs; a word is its number."""
    if j - i == 1:
        return [i]
    return [(left, right) for k in range(i + 1, j) for left in bracketings(i, k) for right in bracketings(k, j)]


def leaves(tree) -> list[int]:
    return [tree] if isinstance(tree, int) else leaves(tree[0]) + leaves(tree[1])


def spans(tree) -> set[tuple[int, int]]:
    if isinstance(tree, int):
        return set()
    words = leaves(tree)
    return {(words[0], words[-1] + 1)} | spans(tree[0]) | spans(tree[1])


def lean_of(tree, lean, root=True) -> float:
    if isinstance(tree, int):
        return 0.0
    own = 0.0 if root else lean[len(leaves(tree[0]))]
    return own + lean_of(tree[0], lean, False) + lean_of(tree[1], lean, False)


def undirected(tree):
    """Edges of the tree without its root, which is the edge between the root's children, as pairs of leaf sets."""
    everything = frozenset(leaves(tree))
    sides = {}  # node (its leaves) -> the leaf sets of its three sides

    def walk(node, beyond):
        if isinstance(node, int):
            return
        left, right = frozenset(leaves(node[0])), frozenset(leaves(node[1]))
        sides[left | right] = (left, right, beyond)
        walk(node[0], everything - left)
        walk(node[1], everything - right)

    for child in tree:
        walk(child, everything - frozenset(leaves(child)))
    below = {side for three in sides.values() for side in three if len(side) < len(everything)}
    return {frozenset((side, everything - side)) for side in below} or {frozenset(map(frozenset, ([0], [1])))}, sides


def brute_length(tree, d, estimator) -> float:
    """The sum of the lengths of all edges, from their definition."""
    edges, sides = undirected(tree)
    ends = {}  # a side of an edge -> the other two sides of the node at that end

    for three in sides.values():
        for side in three:
            ends[frozenset(leaf for other in three if other != side for leaf in other)] = [
                other for other in three if other != side
            ]

    def mean(a, b):
        return float(np.mean([d[x, y] for x in a for y in b]))

    total = 0.0
    for edge in edges:
        one, other = sorted(edge, key=lambda side: (len(side), sorted(side)))
        if len(one) == 1 and len(other) == 1:
            total += mean(one, other)
        elif len(one) == 1:
            a, b = ends[other]
            total += 0.5 * (mean(one, a) + mean(one, b) - mean(a, b))
        else:
            (a, b), (g, h) = ends[one], ends[other]
            weight = 0.5
            if estimator == LEAST_SQUARES:
                weight = (len(a) * len(h) + len(b) * len(g)) / ((len(a) + len(b)) * (len(g) + len(h)))
            crossed = weight * (mean(a, g) + mean(b, h)) + (1 - weight) * (mean(a, h) + mean(b, g))
            total += 0.5 * (crossed - mean(a, b) - mean(g, h))
    return total


def symmetric(n: int) -> np.ndarray:
    d = RANDOM.random((n, n)) * 5
    return np.triu(d, 1) + np.triu(d, 1).T


def leanings(n: int, root: int | None = None, lean=None, spans=None) -> Leanings:
    roots = np.zeros(n + 1) if root is None else np.full(n + 1, -math.inf)
    if root is not None:
        roots[root] = 0.0
    return Leanings(
        roots,
        np.zeros(n + 1) if lean is None else lean,
        np.zeros((n + 1, n + 1)) if spans is None else spans,
    )


def solve(d, estimator, lean):
    n = len(d)
    sums, table = np.zeros((n + 1, n + 1)), evolution_for(n)
    prefix_sums(d, n, sums)
    total = best_evolution(sums, n, estimator, lean, table)
    brackets, lengths, leaves = np.zeros((n - 1, 2), np.int32), np.zeros(n - 1), np.zeros(n)
    best_tree(sums, n, estimator, lean, table, brackets, lengths, leaves)
    return total, brackets, lengths, leaves


@pytest.mark.parametrize("estimator", [MEAN, LEAST_SQUARES])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_the_program_equals_all_trees_for_every_root(n, estimator):
    d = symmetric(n)
    lean, extra = RANDOM.random(n + 1), RANDOM.random((n + 1, n + 1))
    for root in range(1, n):
        scored = []
        for tree in bracketings(0, n):
            if len(leaves(tree[0])) == root:
                more = sum(extra[i, j] for i, j in spans(tree) if j - i < n)
                scored.append((more - brute_length(tree, d, estimator) - lean_of(tree, lean), tree))
        best, tree = max(scored, key=lambda pair: pair[0])
        total, brackets, _, _ = solve(d, estimator, leanings(n, root, lean, extra))
        assert total == pytest.approx(best, abs=1e-9)
        assert {tuple(span) for span in brackets.tolist()} == spans(tree)


def test_least_squares_lengths_are_those_of_lstsq():
    d, n = symmetric(6), 6
    pairs = [(a, b) for a in range(n) for b in range(a)]
    for tree in bracketings(0, n)[::7]:
        edges, _ = undirected(tree)
        rows = [[float(len({a, b} & set(next(iter(edge)))) == 1) for edge in edges] for a, b in pairs]
        found = np.linalg.lstsq(np.array(rows), np.array([d[pair] for pair in pairs]), rcond=None)[0]
        assert found.sum() == pytest.approx(brute_length(tree, d, LEAST_SQUARES), abs=1e-9)


def tree_metric(tree, n: int) -> tuple[np.ndarray, float]:
    """Distances along a tree with random lengths over four decades, and their sum."""
    d, total = np.zeros((n, n)), 0.0
    for edge in undirected(tree)[0]:
        length = 10.0 ** RANDOM.uniform(-2, 2)
        total += length
        one, other = edge
        for a in one:
            for b in other:
                d[a, b] += length
                d[b, a] += length
    return d, total


def random_tree(i: int, j: int):
    if j - i == 1:
        return i
    k = int(RANDOM.integers(i + 1, j))
    return random_tree(i, k), random_tree(k, j)


@pytest.mark.parametrize("estimator", [MEAN, LEAST_SQUARES])
def test_an_exact_tree_metric_gives_the_true_tree_and_its_length(estimator):
    for n in range(3, 13):
        for _ in range(12):
            tree = random_tree(0, n)
            d, length = tree_metric(tree, n)
            total, brackets, _, _ = solve(d, estimator, leanings(n, len(leaves(tree[0]))))
            assert {tuple(span) for span in brackets.tolist()} == spans(tree)
            assert -total == pytest.approx(length, rel=1e-9)


def test_what_belongs_to_single_words_changes_no_tree():
    for n in (4, 6, 9):
        d, own = symmetric(n), RANDOM.random(n)
        moved = d + own[:, None] + own[None, :]
        np.fill_diagonal(moved, 0.0)
        for root in range(1, n):
            one, two = solve(d, MEAN, leanings(n, root)), solve(moved, MEAN, leanings(n, root))
            assert (one[1] == two[1]).all()
            assert one[0] - two[0] == pytest.approx(own.sum(), abs=1e-9)


def test_the_best_root_is_as_good_as_the_first():
    for n in (3, 5, 8):
        d = symmetric(n)
        totals = [solve(d, MEAN, leanings(n, root))[0] for root in range(1, n)]
        assert max(totals) == pytest.approx(totals[0], abs=1e-9)
        assert solve(d, MEAN, leanings(n))[0] == pytest.approx(totals[0], abs=1e-9)


def test_equal_trees_give_the_right_branching_one():
    n = 6
    d = np.ones((n, n)) - np.eye(n)
    _, brackets, _, _ = solve(d, MEAN, leanings(n, 1))
    assert brackets.tolist() == [[i, n] for i in range(n - 1)]


@pytest.mark.parametrize("estimator", [MEAN, LEAST_SQUARES])
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_marginals_equal_all_trees(n, estimator):
    d, lean, extra = symmetric(n), RANDOM.random(n + 1), RANDOM.random((n + 1, n + 1))
    given = leanings(n, None, lean, extra)
    given.roots[:] = RANDOM.normal(size=n + 1)
    if n > 3:
        given.roots[2] = -math.inf
    weights: dict = {}
    for tree in bracketings(0, n):
        more = sum(extra[i, j] for i, j in spans(tree) if j - i < n) + given.roots[len(leaves(tree[0]))]
        weights[tree] = math.exp(more - brute_length(tree, d, estimator) - lean_of(tree, lean))
    sums, table = np.zeros((n + 1, n + 1)), evolution_for(n)
    prefix_sums(d, n, sums)
    total = sum_evolution(sums, n, estimator, given, table)
    everything = sum(weights.values())
    assert total == pytest.approx(math.log(everything), abs=1e-9)
    shares, roots = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    marginals(sums, n, estimator, given, table, total, shares, roots)
    for i in range(n):
        for j in range(i + 2, n + 1):
            right = sum(weight for tree, weight in weights.items() if (i, j) in spans(tree)) / everything
            assert shares[i, j] == pytest.approx(right, abs=1e-9)
    for root in range(1, n):
        right = sum(weight for tree, weight in weights.items() if len(leaves(tree[0])) == root) / everything
        assert roots[root] == pytest.approx(right, abs=1e-9)


def test_edge_lengths_are_those_of_the_metric():
    tree = (((0, 1), 2), (3, (4, 5)))
    d, _ = tree_metric(tree, 6)
    total, brackets, lengths, leaf_lengths = solve(d, MEAN, leanings(6, 3))
    for (i, j), length in zip(brackets.tolist()[1:], lengths[1:].tolist(), strict=True):
        inside, outside = list(range(i, j)), [x for x in range(6) if not i <= x < j]
        four = [
            (d[a, c] + d[b, e] - d[a, b] - d[c, e]) / 2
            for a in inside for b in inside for c in outside for e in outside if a != b and c != e
        ]  # fmt: skip
        assert length == pytest.approx(min(four), rel=1e-9)
    assert lengths[1:].sum() - lengths[0] + leaf_lengths.sum() == pytest.approx(-total)  # the root edge is there twice
