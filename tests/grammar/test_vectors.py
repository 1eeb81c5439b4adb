"""Charts of vectors and what is chosen from them, against all trees of short sentences."""

import math
from itertools import product

import numpy as np
import pytest

from corpuscle.engine.dp import cky
from corpuscle.grammar.kernels.vectors import (
    Latent,
    best_rules,
    inside_vectors,
    items_for,
    outside_vectors,
    pairs_for,
    walk,
)
from corpuscle.grammar.parsing import Fine, Serving, Shares, decode
from corpuscle.random import Random
from tests.engine.dp.test_cky import SYMBOLS, all_trees, grammar, rules_of

RANKS = np.array([2, 3, 1, 2])


def setting(seed, n):
    """Rules with tensors, the root's vectors, and the vectors of words; also the plain grammar that prunes."""
    rules, root = grammar(seed, False)
    random = Random(seed, "vectors", n)
    sizes = RANKS[rules.parents] * RANKS[rules.lefts] * RANKS[rules.rights]
    starts = np.cumsum(sizes) - sizes
    latent = Latent(RANKS, starts, random.uniforms(int(sizes.sum())) - 0.1, pairs_for(rules, SYMBOLS), 3)
    return rules, root, latent, random.uniforms(SYMBOLS, 3), random.uniforms(n, SYMBOLS, 3)


def vector(nodes, case, shares=None):
    """The vector of the first of nodes in preorder, by the definition; returns it and how many nodes it took."""
    rules, _, latent, _, words = case
    symbol, i, j = nodes[0]
    if j - i == 1:
        return words[i, symbol, : RANKS[symbol]], 1
    left, used = vector(nodes[1:], case)
    right, more = vector(nodes[1 + used :], case)
    b, c = nodes[1][0], nodes[1 + used][0]
    r = next(
        r for r in range(len(rules.parents)) if (rules.parents[r], rules.lefts[r], rules.rights[r]) == (symbol, b, c)
    )
    size = RANKS[symbol] * RANKS[b] * RANKS[c]
    tensor = latent.values[latent.starts[r] :][:size].reshape(RANKS[symbol], RANKS[b], RANKS[c])
    return np.einsum("ulr,l,r->u", tensor, left, right), 1 + used + more


def enumerated(case, n):
    """All trees with their weights, which may be of either sign."""
    rules, _, _, roots, _ = case
    trees = all_trees(rules, np.ones(SYMBOLS), np.ones((n, SYMBOLS)))
    weights = {tree: float(roots[tree[0][0], : RANKS[tree[0][0]]] @ vector(tree, case)[0]) for tree in trees}
    return weights, sum(weights.values())


def charted(case, n):
    rules, _, latent, roots, words = case
    items = items_for(np.ones((cky.cells_of(n), SYMBOLS), bool), RANKS)
    vectors, exponents = np.zeros(items.places[-1]), np.zeros(cky.cells_of(n), np.int64)
    for item in range(items.starts[n]):
        symbol, place = items.symbols[item], items.places[item]
        cell = np.searchsorted(items.starts, item, "right") - 1
        vectors[place : place + RANKS[symbol]] = words[cell, symbol, : RANKS[symbol]]
    total, exponent = inside_vectors(n, rules, latent, items, roots, vectors, exponents)
    outside = np.zeros_like(vectors)
    outside_vectors(n, rules, latent, items, roots, vectors, exponents, outside)
    return total * 2.0**exponent, Fine(items, vectors, exponents, outside)


CASES = list(product((1, 2, 3), (1, 2, 3, 4)))


@pytest.mark.parametrize(("seed", "n"), CASES)
def test_totals_and_shares_of_items_are_those_of_all_trees(seed, n):
    case = setting(seed, n)
    weights, whole = enumerated(case, n)
    total, fine = charted(case, n)
    assert total == pytest.approx(whole, rel=1e-10)
    shares = np.zeros((cky.cells_of(n), SYMBOLS))
    for tree, weight in weights.items():
        for symbol, i, j in tree:
            shares[cky.cell_numbers(n, i, j), symbol] += weight / whole
    found = np.add.reduceat(fine.vectors * fine.outside, fine.items.places[:-1]).reshape(shares.shape)
    assert np.allclose(found, shares, atol=1e-10)


def shares_of(case, n):
    """A sentence as ``decode`` wants it, and the shares of items and of rules over all trees."""
    weights, whole = enumerated(case, n)
    _, fine = charted(case, n)
    cells = cky.cells_of(n)
    zero = np.zeros((cells, SYMBOLS))
    chart = cky.Chart(zero, np.zeros(cells, np.int64), zero.astype(np.int32), np.zeros(cells, np.int64))
    items, rules = {}, {}
    for tree, weight in weights.items():
        for node in tree:
            items[node] = items.get(node, 0.0) + weight / whole
        for rule in anchored(tree):
            rules[rule] = rules.get(rule, 0.0) + weight / whole
    return Shares(n, np.ones((n, SYMBOLS)), chart, zero.copy(), fine, 0.0), weights, items, rules


def anchored(tree):
    """The rules of a tree with their places: (parent node, left node, right node); words are rules of their own."""
    spans = {(i, j): (symbol, i, j) for symbol, i, j in tree}
    for symbol, i, j in tree:
        if j - i == 1:
            yield ((symbol, i, j),)
        for k in range(i + 1, j):
            if (i, k) in spans and (k, j) in spans:
                yield (symbol, i, j), spans[i, k], spans[k, j]


@pytest.mark.parametrize(("seed", "n"), CASES)
def test_the_tree_of_least_risk_is_the_best_of_all(seed, n):
    case = setting(seed, n)
    shares, _, items, _ = shares_of(case, n)
    serving = Serving(None, case[2], case[3], None, np.ones(SYMBOLS, bool))
    found = [tuple(node) for node in decode(serving, shares, "brackets", 0.0).tolist()]

    def score(tree):
        best = {}
        for (_, i, j), share in items.items():
            best[i, j] = max(best.get((i, j), 0.0), share)
        return sum(best.get((i, j), 0.0) for _, i, j in tree)

    every = max(score(tree) for tree in enumerated(case, n)[0])
    assert sum(max(items.get(node, 0.0), 0.0) for node in found) >= every - 1e-9


@pytest.mark.parametrize(("seed", "n"), CASES)
def test_the_tree_of_the_most_likely_rules_is_the_best_of_all(seed, n):
    case = setting(seed, n)
    shares, weights, _, rules = shares_of(case, n)
    fine = shares.fine
    scores, ways = np.zeros(len(fine.items.symbols)), np.zeros((len(fine.items.symbols), 3), np.int64)
    best_rules(n, case[0], case[2], *fine[:3], fine.outside, shares.plain(0.0), scores, ways)

    def product_of(tree):
        parts = [max(rules[rule], 0.0) for rule in anchored(tree)]
        return sum(map(math.log, parts)) if min(parts) > 0 else -math.inf

    best = max(map(product_of, weights))
    first = fine.items.starts[-2]
    assert scores[first:].max() == pytest.approx(best)
    if best > -math.inf:
        tree = np.zeros((2 * n - 1, 3), np.int32)
        walk(n, first + int(scores[first:].argmax()), fine.items, ways, tree)
        assert product_of(tuple(map(tuple, tree.tolist()))) == pytest.approx(best)


def test_rules_of_a_tree_are_found():
    assert list(rules_of(((0, 0, 2), (1, 0, 1), (2, 1, 2)))) == [(0, 1, 2)]
